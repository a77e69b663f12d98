package docstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ostraka/engine"
	"ostraka/engine/commitlog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Recording says that the changes of a collection's documents are kept, for
// watchers, and for how long. They stand in the relation's feed, in the order of
// commits, written by the transaction that makes the change.
type Recording struct {
	// Seconds is the age at which a change may go, Changes how many are kept at most.
	Seconds, Changes int64
	// Before keeps the document as it was, too.
	Before bool
}

// Defaults of Recording.
const (
	defaultKeepSeconds = 24 * 60 * 60
	defaultKeepChanges = 1_000_000
)

const changesOption = "changes"

func (r *Recording) option() string {
	return fmt.Sprintf("%s=%d,%d,%t", changesOption, r.Seconds, r.Changes, r.Before)
}

// Recording is nil when changes are not kept.
func (c *Collection) Recording() *Recording { return c.record }

func readRecording(c *Collection) (*Recording, error) {
	o, ok := c.Option(changesOption)
	if !ok {
		return nil, nil
	}
	r := &Recording{}
	if _, err := fmt.Sscanf(o, "%d,%d,%t", &r.Seconds, &r.Changes, &r.Before); err != nil {
		return nil, pgerror.New(pgerror.DataCorrupted, "collection %q has a malformed option %s=%s", c.Name(), changesOption, o)
	}
	return r, nil
}

// recordingOf reads the options of OpRecordChanges; nil: they are no longer kept.
func recordingOf(o JSON) (*Recording, error) {
	r := &Recording{Seconds: defaultKeepSeconds, Changes: defaultKeepChanges}
	on := true
	for _, p := range o.Pairs() {
		if p.Value.Kind() == sqltypes.JSONNull {
			continue
		}
		var err error
		switch p.Key {
		case "on":
			on = truthy(p.Value)
		case "keep_seconds":
			r.Seconds, err = wholeNumber(p.Key, p.Value)
		case "keep_changes":
			r.Changes, err = wholeNumber(p.Key, p.Value)
		case "before":
			r.Before = truthy(p.Value)
		default:
			err = pgerror.NotSupported("option %q of record_changes", p.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.Seconds <= 0 || r.Changes <= 0 {
		return nil, invalid("keep_seconds and keep_changes must be positive")
	}
	if !on {
		return nil, nil
	}
	return r, nil
}

// Options is what OpRecordChanges is given to make another collection record as r says.
func (r *Recording) Options() JSON {
	return sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "keep_seconds", Value: intJSON(r.Seconds)}, {Key: "keep_changes", Value: intJSON(r.Changes)},
		{Key: "before", Value: sqltypes.JSONBoolOf(r.Before)}})
}

// recordChanges turns recording on, with other bounds, or off.
func (r *runner) recordChanges(ctx context.Context, cmd *Command) (Result, error) {
	rec, err := recordingOf(cmd.Options)
	if err != nil {
		return Result{}, err
	}
	answer := Result{Value: sqltypes.JSONBoolOf(rec != nil)}
	c, err := r.collection(cmd.Collection, true)
	if c != nil && rec != nil && c.record != nil && *c.record == *rec {
		return answer, nil
	}
	if err == nil && c != nil {
		c, err = r.owned(ctx, cmd.Collection)
	}
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return Result{}, noCollection(cmd.Collection)
	}
	rel := *c.Rel
	rel.Options = slices.DeleteFunc(slices.Clone(rel.Options), func(o string) bool { return strings.HasPrefix(o, changesOption+"=") })
	if rec != nil {
		rel.Options = append(rel.Options, rec.option())
	}
	r.st.Txn.Schema().PutRelation(&rel)
	switch {
	case rec == nil:
		r.dropChanges(c)
	case c.record == nil:
		// What was left of an earlier recording has a hole behind it.
		r.dropChanges(c)
		empty, err := r.isEmpty(ctx, c)
		if err != nil {
			return Result{}, err
		}
		start := sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "op", Value: sqltypes.JSONStringOf(opStart)}, {Key: "all", Value: sqltypes.JSONBoolOf(empty)}})
		if err := r.st.Txn.AppendFeed(ctx, c.Rel, []byte(start.Datum().S)); err != nil {
			return Result{}, err
		}
	}
	return answer, nil
}

// maxPosition is behind every entry.
var maxPosition = commitlog.Position{Epoch: 1<<64 - 1, Index: 1<<64 - 1}

func (r *runner) dropChanges(c *Collection) {
	r.st.Txn.TrimFeed(c.Rel, engine.FeedPos{Position: maxPosition, Ordinal: 1<<32 - 1, Seq: 1<<32 - 1})
}

func (r *runner) isEmpty(ctx context.Context, c *Collection) (bool, error) {
	n, err := r.count(ctx, &Command{Op: OpCount, Collection: c.Name(), Take: 1})
	return err == nil && !truthy(n.Value), err
}

// opStart is not a change: it is the first thing in a feed. With all nothing had
// been in the collection before.
const opStart = "start"

// wrote notes a change of a document: was is zero for a new one, is for one that
// was deleted; op is what a watcher is told.
func (r *runner) wrote(ctx context.Context, c *Collection, was, is JSON, op string) error {
	if c.record != nil {
		doc := is
		if doc.IsZero() {
			doc = was
		}
		id, _ := doc.Lookup("_id")
		pairs := []sqltypes.JSONPair{{Key: "op", Value: sqltypes.JSONStringOf(op)}, {Key: "id", Value: id}, {Key: "at", Value: intJSON(r.st.Now.UnixMilli())}}
		if r.st.MapVersion > 0 {
			pairs = append(pairs, sqltypes.JSONPair{Key: "v", Value: intJSON(int64(r.st.MapVersion))})
		}
		if !is.IsZero() {
			pairs = append(pairs, sqltypes.JSONPair{Key: "doc", Value: is})
			if !was.IsZero() {
				pairs = append(pairs, sqltypes.JSONPair{Key: "changed", Value: changedFields(was, is)})
			}
		}
		if c.record.Before && !was.IsZero() {
			pairs = append(pairs, sqltypes.JSONPair{Key: "before", Value: was})
		}
		if err := r.st.Txn.AppendFeed(ctx, c.Rel, []byte(sqltypes.JSONObjectOf(pairs).Datum().S)); err != nil {
			return err
		}
	}
	if r.st.Wrote == nil {
		return nil
	}
	return r.st.Wrote(ctx, c.Name(), was, is)
}

// changedFields are the names of the members that differ.
func changedFields(was, is JSON) JSON {
	var out []JSON
	for i, n := 0, is.Len(); i < n; i++ {
		k := is.Key(i)
		if old, ok := was.Lookup(k); !ok || old.Datum().S != is.Value(i).Datum().S {
			out = append(out, sqltypes.JSONStringOf(k))
		}
	}
	for i, n := 0, was.Len(); i < n; i++ {
		if _, ok := is.Lookup(was.Key(i)); !ok {
			out = append(out, sqltypes.JSONStringOf(was.Key(i)))
		}
	}
	return sqltypes.JSONArrayOf(out)
}

// trimPage bounds the changes that one trimming looks at.
const trimPage = 1 << 20

// TrimChanges removes recorded changes that are too old or too many; the newest one
// that is looked at always stays. It answers how many it has removed.
func TrimChanges(ctx context.Context, eng engine.Engine, st *State, c *Collection) (int64, error) {
	if c.record == nil {
		return 0, nil
	}
	limit := st.Now.Add(-time.Duration(c.record.Seconds) * time.Second).UnixMilli()
	total, old := int64(0), int64(0)
	var places []engine.FeedPos
	_, err := eng.ReadFeed(ctx, c.Rel, engine.FeedPos{}, func(pos engine.FeedPos, val []byte) (bool, error) {
		if total++; total > trimPage {
			return false, nil
		}
		places = append(places, pos)
		if old == total-1 { // all before are too old
			at, _ := sqltypes.JSONOf(sqltypes.Text(string(val))).Lookup("at")
			ms, err := int64(0), error(nil)
			if !at.IsZero() {
				ms, err = sqltypes.NumericToInt64(at.Number())
			}
			if err != nil {
				return false, err
			}
			if ms < limit {
				old = total
			}
		}
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	n := int64(len(places))
	drop := min(max(old, n-c.record.Changes), n)
	// The first that stays is where a watcher may have got to.
	if drop < 2 {
		return 0, nil
	}
	st.Txn.TrimFeed(c.Rel, places[drop-1])
	return drop - 1, nil
}
