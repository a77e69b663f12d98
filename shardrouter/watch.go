package shardrouter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// freshWait bounds the wait of a replica that does not know the collection.
const freshWait = 5 * time.Second

// watchSlice is how long shards are asked to wait for changes at a time.
const watchSlice = 250 * time.Millisecond

// token is where a watcher has got to: a place on every shard, and the version of
// the chunk map behind which no change has been seen.
type token struct {
	coll    sqltypes.OID // on shard 0: another collection of the same name has another
	places  map[int32]string
	version uint64
}

const tokenFormat = "1"

func (t *token) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%x:%x", tokenFormat, t.coll, t.version)
	for _, id := range slices.Sorted(maps.Keys(t.places)) {
		fmt.Fprintf(&b, ":%x=%s", id, t.places[id])
	}
	return b.String()
}

func parseToken(s string) (*token, error) {
	bad := pgerror.New(pgerror.InvalidParameterValue, "malformed resume token")
	parts := strings.Split(s, ":")
	if len(parts) < 4 || parts[0] != tokenFormat {
		return nil, bad
	}
	t := &token{places: map[int32]string{}}
	coll, err := strconv.ParseUint(parts[1], 16, 32)
	if err != nil {
		return nil, bad
	}
	t.coll = sqltypes.OID(coll)
	if t.version, err = strconv.ParseUint(parts[2], 16, 64); err != nil {
		return nil, bad
	}
	for _, p := range parts[3:] {
		id, place, ok := strings.Cut(p, "=")
		n, err := strconv.ParseInt(id, 16, 32)
		if !ok || err != nil {
			return nil, bad
		}
		if _, err := engine.ParseFeedPos(place); err != nil {
			return nil, bad
		}
		t.places[int32(n)] = place
	}
	return t, nil
}

// portion is what one shard has answered so far.
type portion struct {
	changes []docstore.JSON
	upto    string // complete up to here
	more    bool   // there are others behind upto
	err     error
}

// watching is one doc.watch.
type watching struct {
	cmd  *docstore.Command
	coll *docstore.Collection // on shard 0
	// shards are those to ask now; ask asks one: fresh, not a replica that may lag behind.
	shards func() []int32
	ask    func(ctx context.Context, shard int32, cmd *docstore.Command, fresh bool) (docstore.Result, error)
	// version of the chunk map at the beginning.
	version uint64
}

// run answers changes; without any, one object that has only a token.
func (w *watching) run(ctx context.Context) (docstore.Result, error) {
	if err := w.coll.MayWatch(); err != nil {
		return docstore.Result{}, err
	}
	at := &token{coll: w.coll.Rel.OID, places: map[int32]string{}, version: w.version}
	known := w.cmd.Name != ""
	if known {
		var err error
		if at, err = parseToken(w.cmd.Name); err != nil {
			return docstore.Result{}, err
		}
		if at.coll != w.coll.Rel.OID {
			return docstore.Result{}, pgerror.New(pgerror.SnapshotTooOld, "the collection of the resume token does not exist any more").
				WithHint("Another one has the name %q now.", w.coll.Name())
		}
		ids := w.shards()
		for id := range at.places {
			if !slices.Contains(ids, id) {
				return docstore.Result{}, pgerror.New(pgerror.SnapshotTooOld, "a shard of the resume token does not exist any more").
					WithHint("Read the collection again and watch it from now on.")
			}
		}
	}
	limit := int(min(max(w.cmd.Take, 1), 10_000))
	deadline := time.Now().Add(w.cmd.Wait)
	for {
		wait := max(0, min(watchSlice, time.Until(deadline)))
		if !known { // first of all, where to begin
			wait = 0
		}
		got, err := w.gather(ctx, at, known, limit, wait)
		if err != nil {
			return docstore.Result{}, err
		}
		docs := w.merge(at, got, limit)
		known = true
		if len(docs) == 0 && time.Now().Before(deadline) {
			continue
		}
		if len(docs) == 0 {
			docs = []docstore.JSON{sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "op", Value: sqltypes.JSONStringOf("none")},
				{Key: "token", Value: sqltypes.JSONStringOf(at.String())}})}
		}
		return docstore.Result{Docs: docstore.Slice(docs)}, nil
	}
}

// gather asks every shard. A document moves with its chunk: its changes are first
// in the feed of one shard, then, under a newer map, in that of another. So when a
// change under a newer map has been seen, all are asked once more, and only then has
// every change under the older one been seen.
func (w *watching) gather(ctx context.Context, at *token, known bool, limit int, wait time.Duration) (map[int32]*portion, error) {
	got := map[int32]*portion{}
	for fresh := false; ; fresh = true {
		ids := w.shards()
		answers := make([]*portion, len(ids))
		one := func(i int) {
			cmd := *w.cmd
			cmd.Take, cmd.Wait = int64(limit), wait
			place, have := at.places[ids[i]]
			switch p := got[ids[i]]; {
			case p != nil:
				cmd.Name = p.upto
			case have:
				cmd.Name = place
			case known:
				cmd.Name = docstore.PlaceOfAll
			default:
				cmd.Name = ""
			}
			answers[i] = w.one(ctx, ids[i], &cmd, fresh)
		}
		var wg sync.WaitGroup
		for i, id := range ids {
			if id != 0 && got[id].open() {
				wg.Go(func() { one(i) })
			}
		}
		for i, id := range ids { // in the goroutine of the session
			if id == 0 && got[id].open() {
				one(i)
			}
		}
		wg.Wait()
		version := at.version
		for i, a := range answers {
			if a == nil {
				continue
			}
			if a.err != nil {
				return nil, a.err
			}
			if p := got[ids[i]]; p == nil {
				got[ids[i]] = a
			} else {
				p.changes, p.upto, p.more = append(p.changes, a.changes...), a.upto, a.more
			}
			for _, c := range a.changes {
				version = max(version, uint64(number(c, "v")))
			}
		}
		if version == at.version {
			return got, nil
		}
		at.version, wait = version, 0
	}
}

// open reports a shard that may have more than it has answered.
func (p *portion) open() bool { return p == nil || !p.more }

func (w *watching) one(ctx context.Context, shard int32, cmd *docstore.Command, fresh bool) *portion {
	res, err := w.ask(ctx, shard, cmd, fresh)
	if err != nil {
		return &portion{err: err}
	}
	p := &portion{}
	if res.Docs != nil {
		if p.changes, err = docstore.ReadAll(res.Docs); err != nil {
			return &portion{err: err}
		}
	}
	if !res.Value.IsZero() {
		p.upto = text(res.Value, docstore.PlaceField)
		more, _ := res.Value.Lookup(docstore.MoreField)
		p.more = !more.IsZero() && more.Bool()
	}
	return p
}

func text(j docstore.JSON, key string) string {
	if v, ok := j.Lookup(key); ok && v.Kind() == sqltypes.JSONString {
		return v.Str()
	}
	return ""
}

func number(j docstore.JSON, key string) int64 {
	if v, ok := j.Lookup(key); ok && v.Kind() == sqltypes.JSONNumber {
		n, _ := sqltypes.NumericToInt64(v.Number())
		return n
	}
	return 0
}

// merge takes up to limit changes, those under an older map first, then by time;
// the order of each shard stays. at moves on.
func (w *watching) merge(at *token, got map[int32]*portion, limit int) []docstore.JSON {
	var out []docstore.JSON
	ids := slices.Sorted(maps.Keys(got))
	for len(out) < limit {
		best := int32(-1)
		for _, id := range ids {
			p := got[id]
			if len(p.changes) == 0 {
				if p.more {
					return out // what comes next of it may belong here
				}
				continue
			}
			if best < 0 || before(p.changes[0], got[best].changes[0]) {
				best = id
			}
		}
		if best < 0 {
			break
		}
		p := got[best]
		c := p.changes[0]
		p.changes = p.changes[1:]
		at.places[best] = text(c, docstore.PlaceField)
		out = append(out, w.shown(c, at))
	}
	for id, p := range got {
		if len(p.changes) == 0 && p.upto != "" {
			at.places[id] = p.upto
		}
	}
	if n := len(out); n > 0 { // the last token is as far as everything is known
		out[n-1] = withToken(out[n-1], at)
	}
	return out
}

func before(a, b docstore.JSON) bool {
	if va, vb := number(a, "v"), number(b, "v"); va != vb {
		return va < vb
	}
	return number(a, "at") < number(b, "at")
}

// shown is a change as the watcher sees it.
func (w *watching) shown(c docstore.JSON, at *token) docstore.JSON {
	pairs := []sqltypes.JSONPair{{Key: "token", Value: sqltypes.JSONStringOf(at.String())}, {Key: "collection", Value: sqltypes.JSONStringOf(w.cmd.Collection)}}
	for _, p := range c.Pairs() {
		switch p.Key {
		case docstore.PlaceField, "v":
		case "at":
			p.Value = docstore.MakeDate(time.UnixMilli(number(c, "at")))
			fallthrough
		default:
			pairs = append(pairs, p)
		}
	}
	return sqltypes.JSONObjectOf(pairs)
}

func withToken(c docstore.JSON, at *token) docstore.JSON {
	return sqltypes.JSONObjectOf(append(c.Pairs(), sqltypes.JSONPair{Key: "token", Value: sqltypes.JSONStringOf(at.String())}))
}

// engineSession is a session that knows its node's engine.
type engineSession interface{ Engine() engine.Engine }

// watchHome is doc.watch of a collection that lives on shard 0.
func watchHome(ctx context.Context, sess SessionContext, cmd *docstore.Command) (docstore.Result, error) {
	_, c, err := homeOf(sess, cmd.Collection)
	if err != nil {
		return docstore.Result{}, err
	}
	w := &watching{cmd: cmd, coll: c, shards: func() []int32 { return []int32{0} },
		ask: func(ctx context.Context, _ int32, cmd *docstore.Command, _ bool) (docstore.Result, error) {
			return askHome(ctx, sess, cmd)
		}}
	return w.run(ctx)
}

// catchUp lets a replica that does not know a collection, although a token of it
// comes from another one, apply what it lacks; it answers the collection, if there is one.
func catchUp(ctx context.Context, sess SessionContext, name string) *docstore.Collection {
	e, ok := sess.(engineSession)
	if !ok {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, freshWait)
	defer cancel()
	if e.Engine().WaitFresh(wait, 0) != nil {
		return nil
	}
	_, c, _ := homeOf(sess, name)
	return c
}

// askHome reads the changes on shard 0; no snapshot is held while it waits.
func askHome(ctx context.Context, sess SessionContext, cmd *docstore.Command) (docstore.Result, error) {
	e, ok := sess.(engineSession)
	if !ok {
		return docstore.Result{}, pgerror.NotSupported("doc.watch here")
	}
	view, _, err := homeOf(sess, cmd.Collection)
	if err != nil {
		return docstore.Result{}, err
	}
	return docstore.Run(ctx, &docstore.State{View: view, Now: sess.Now(), May: sess.MayUse, Feeds: e.Engine()}, cmd)
}

// homeOf is a collection on shard 0, with the catalogue it is in.
func homeOf(sess SessionContext, name string) (catalogView, *docstore.Collection, error) {
	v, release, err := sess.ReadView()
	if err != nil {
		return catalogView{}, nil, err
	}
	defer release()
	view := catalogView{View: v, cat: v.Catalog()}
	c, err := docstore.Lookup(view.cat, name)
	if err == nil && c == nil {
		err = pgerror.New(pgerror.UndefinedTable, "collection %q does not exist", name)
	}
	return view, c, err
}

// catalogView is a view of which only the catalogue is left.
type catalogView struct {
	engine.View
	cat *catalog.Catalog
}

func (v catalogView) Catalog() *catalog.Catalog { return v.cat }

// watchAll is doc.watch of a sharded collection.
func (q *query) watchAll() (docstore.Result, error) {
	b, ok := q.base.(*nodeBase)
	if !ok {
		return q.watchPlain()
	}
	if q.inTxn {
		return docstore.Result{}, pgerror.New(pgerror.ActiveSqlTransaction, "doc.watch() of a sharded collection cannot run inside a transaction block")
	}
	ask := func(_ context.Context, shard int32, cmd *docstore.Command, fresh bool) (docstore.Result, error) {
		return b.askFeed(q, shard, cmd, fresh)
	}
	w := &watching{cmd: q.cmd, coll: b.coll, version: q.top.Shards().Version, ask: ask, shards: func() []int32 {
		ids := []int32{0}
		for _, s := range q.top.Shards().Shards {
			if s.State == catalog.ShardActive {
				ids = append(ids, s.ID)
			}
		}
		return ids
	}}
	return w.run(q.ctx)
}

func (b *nodeBase) askFeed(q *query, shard int32, cmd *docstore.Command, fresh bool) (docstore.Result, error) {
	w := q.watch()
	defer w.end()
	if shard == 0 {
		if fresh {
			if err := b.eng.WaitFresh(w.ctx, 0); err != nil {
				return docstore.Result{}, q.failed(w, shard, err)
			}
		}
		return askHome(w.ctx, b.sess, cmd)
	}
	back, err := b.r.Cluster.Backend(shard, !fresh)
	if err != nil {
		return docstore.Result{}, q.failed(nil, shard, err)
	}
	req := b.request(q, part{shard, catalog.NewChunkSet(len(q.top.Shards().Map))}, cmd)
	res, err := back.Run(w.ctx, req)
	if err == nil && res.Docs != nil {
		var docs []docstore.JSON
		docs, err = docstore.ReadAll(res.Docs)
		res.Docs = docstore.Slice(docs)
	}
	return res, q.failed(w, shard, err)
}
