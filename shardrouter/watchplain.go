package shardrouter

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ostraka/docstore"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// A plain server answers doc.watch as to any client, with resume tokens of its own. The
// router's token holds one of each server. Keys do not move between plain servers, so
// the changes of one document come from one server, in its order.

// plainTokenFormat begins the tokens of a router.
const plainTokenFormat = "p1"

// plainToken is where a watcher has got to: a token of every server by its id.
type plainToken map[int32]string

func (t plainToken) String() string {
	var b strings.Builder
	b.WriteString(plainTokenFormat)
	for _, id := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, ":%x=%s", id, base64.RawURLEncoding.EncodeToString([]byte(t[id])))
	}
	return b.String()
}

// parsePlainToken reads a token, which has to name each of the servers.
func parsePlainToken(s string, servers []part) (plainToken, error) {
	bad := pgerror.New(pgerror.InvalidParameterValue, "malformed resume token")
	parts := strings.Split(s, ":")
	if parts[0] != plainTokenFormat {
		return nil, bad
	}
	t := plainToken{}
	for _, p := range parts[1:] {
		id, place, ok := strings.Cut(p, "=")
		n, err := strconv.ParseInt(id, 16, 32)
		raw, err2 := base64.RawURLEncoding.DecodeString(place)
		if !ok || err != nil || err2 != nil || len(raw) == 0 {
			return nil, bad
		}
		t[int32(n)] = string(raw)
	}
	same := len(t) == len(servers)
	for _, p := range servers {
		same = same && t[p.shard] != ""
	}
	if !same {
		return nil, pgerror.New(pgerror.SnapshotTooOld, "the servers of the resume token are not those of the router").
			WithHint("Read the collection again and watch it from now on.")
	}
	return t, nil
}

// watchPlain is doc.watch of a collection that plain servers share.
func (q *query) watchPlain() (docstore.Result, error) {
	if q.inTxn {
		return docstore.Result{}, pgerror.New(pgerror.ActiveSqlTransaction, "doc.watch() of a sharded collection cannot run inside a transaction block")
	}
	var all []part
	for _, s := range q.top.Shards().Shards {
		all = append(all, part{shard: s.ID})
	}
	at := plainToken{}
	if q.cmd.Name != "" {
		var err error
		if at, err = parsePlainToken(q.cmd.Name, all); err != nil {
			return docstore.Result{}, err
		}
	}
	limit := int(min(max(q.cmd.Take, 1), 10_000))
	deadline := time.Now().Add(q.cmd.Wait)
	for {
		wait := max(0, min(watchSlice, time.Until(deadline)))
		if len(at) == 0 { // first of all, where to begin
			wait = 0
		}
		got, err := q.plainChanges(all, at, limit, wait)
		if err != nil {
			return docstore.Result{}, err
		}
		docs := mergePlain(at, got, limit)
		if len(docs) == 0 && time.Now().Before(deadline) {
			if q.ctx.Err() != nil {
				return docstore.Result{}, q.ctx.Err()
			}
			continue
		}
		if len(docs) == 0 {
			docs = []docstore.JSON{sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "op", Value: sqltypes.JSONStringOf("none")},
				{Key: "token", Value: sqltypes.JSONStringOf(at.String())}})}
		}
		return docstore.Result{Docs: docstore.Slice(docs)}, nil
	}
}

// plainChanges asks every server; at moves on where one has nothing.
func (q *query) plainChanges(all []part, at plainToken, limit int, wait time.Duration) (map[int32][]docstore.JSON, error) {
	out := q.parallel(all, func(p part) *docstore.Command {
		cmd := *q.cmd
		cmd.Name, cmd.Take, cmd.Wait = at[p.shard], int64(limit), wait
		return &cmd
	})
	if _, err := firstFailure(out); err != nil {
		closeAll(out)
		return nil, err
	}
	got := map[int32][]docstore.JSON{}
	for i, o := range out {
		if o.res.Docs == nil {
			continue
		}
		docs, err := docstore.ReadAll(o.res.Docs)
		if err != nil {
			closeAll(out[i+1:])
			return nil, err
		}
		if len(docs) == 1 && text(docs[0], "op") == "none" {
			at[o.shard] = text(docs[0], "token")
			continue
		}
		got[o.shard] = docs
	}
	return got, nil
}

// mergePlain takes up to limit changes by time; the order of each server stays.
func mergePlain(at plainToken, got map[int32][]docstore.JSON, limit int) []docstore.JSON {
	var out []docstore.JSON
	ids := slices.Sorted(maps.Keys(got))
	for len(out) < limit {
		best := int32(-1)
		for _, id := range ids {
			if len(got[id]) > 0 && (best < 0 || docstore.Compare(field(got[id][0], "at"), field(got[best][0], "at")) < 0) {
				best = id
			}
		}
		if best < 0 {
			break
		}
		c := got[best][0]
		got[best] = got[best][1:]
		at[best] = text(c, "token")
		pairs := c.Pairs()
		for i, p := range pairs {
			if p.Key == "token" {
				pairs[i].Value = sqltypes.JSONStringOf(at.String())
			}
		}
		out = append(out, sqltypes.JSONObjectOf(pairs))
	}
	return out
}

func field(j docstore.JSON, key string) docstore.JSON {
	v, _ := j.Lookup(key)
	return v
}
