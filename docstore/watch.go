package docstore

import (
	"context"
	"time"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// MayWatch refuses to watch a collection that does not record its changes (55000).
func (c *Collection) MayWatch() error {
	if c.record != nil {
		return nil
	}
	return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "collection %q does not record its changes", c.Name()).
		WithHint("Use doc.record_changes(collection).")
}

// PlaceOfAll is the place, in OpWatch, of a watcher that knows of a shard's part of a
// collection only since there is one: all its changes are wanted.
const PlaceOfAll = "all"

// Bounds of one reading of changes.
const (
	maxChangesBytes = 8 << 20
	maxChanges      = 10_000
)

// Fields of what OpWatch answers: a change has PlaceField in addition to what is
// recorded; the value of the answer has PlaceField, up to where it is complete,
// and MoreField when it is so only because there was too much.
const (
	PlaceField = "place"
	MoreField  = "more"
)

// watch reads the recorded changes behind a place; when there are none it waits for
// some, as long as the command says.
func (r *runner) watch(ctx context.Context, cmd *Command) (Result, error) {
	if r.st.Feeds == nil {
		return Result{}, pgerror.NotSupported("doc.watch here")
	}
	filter, err := CompileFilter(cmd.Filter)
	if err != nil {
		return Result{}, err
	}
	filter.bind(ctx, r.st.Now)
	c, err := r.collection(cmd.Collection, false)
	if err != nil {
		return Result{}, err
	}
	if c != nil && c.record == nil {
		c = nil // a shard's part that is not yet told to
	}
	w := &watching{r: r, c: c, filter: filter, limit: maxChanges, from: cmd.Name}
	if cmd.Take >= 0 && cmd.Take < maxChanges {
		w.limit = int(cmd.Take)
	}
	deadline := time.Now().Add(cmd.Wait)
	for woken := false; ; woken = true {
		feed, err := w.read(ctx)
		if err != nil {
			return Result{}, err
		}
		left := time.Until(deadline)
		if len(w.out) > 0 || w.more || left <= 0 || w.c == nil {
			pairs := []sqltypes.JSONPair{{Key: PlaceField, Value: sqltypes.JSONStringOf(feed.Upto.String())}}
			if w.more {
				pairs = append(pairs, sqltypes.JSONPair{Key: MoreField, Value: sqltypes.JSONBoolOf(true)})
			}
			return Result{Docs: Slice(w.out), Value: sqltypes.JSONObjectOf(pairs)}, nil
		}
		next := feed.Upto.Position
		next.Index++
		wait, cancel := context.WithTimeout(ctx, left)
		err = r.st.Feeds.WaitApplied(wait, next)
		if err == nil && woken { // by what was of no interest: others write a lot, look less often
			select {
			case <-time.After(watchPause):
			case <-wait.Done():
			}
		}
		ended := wait.Err() != nil
		cancel()
		if err != nil && (ctx.Err() != nil || !ended) || ctx.Err() != nil {
			return Result{}, firstOf(err, context.Cause(ctx))
		}
		w.from = feed.Upto.String()
	}
}

// watchPause is how long a watcher lets go by between looking in vain and looking again.
const watchPause = 5 * time.Millisecond

func firstOf(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// watching is one OpWatch under way.
type watching struct {
	r      *runner
	c      *Collection // nil: there is nothing recorded (yet)
	filter *Filter
	from   string
	limit  int
	out    []JSON
	more   bool
}

func errTooOld(name string) error {
	return pgerror.New(pgerror.SnapshotTooOld, "changes of collection %q behind the token are no longer kept", name).
		WithHint("Read the collection again and watch it from now on; doc.record_changes() says how long changes are kept.")
}

// read reads once.
func (w *watching) read(ctx context.Context) (engine.Feed, error) {
	eng := w.r.st.Feeds
	if w.c == nil {
		return engine.Feed{Upto: engine.EndOf(eng.Applied())}, nil
	}
	var after engine.FeedPos
	switch w.from {
	case "":
		feed, err := eng.ReadFeed(ctx, w.c.Rel, after, nil)
		return feed, err
	case PlaceOfAll:
	default:
		var err error
		if after, err = engine.ParseFeedPos(w.from); err != nil {
			return engine.Feed{}, invalid("malformed resume token")
		}
	}
	bytes, complete := 0, false
	feed, err := eng.ReadFeed(ctx, w.c.Rel, after, func(pos engine.FeedPos, val []byte) (bool, error) {
		change := sqltypes.JSONOf(sqltypes.Text(string(val)))
		op, _ := change.Lookup("op")
		if op.Kind() == sqltypes.JSONString && op.Str() == opStart {
			all, _ := change.Lookup("all")
			complete = complete || truthy(all)
			return true, nil
		}
		if ok, err := w.filter.Match(change); err != nil || !ok {
			return err == nil, err
		}
		if bytes += len(val); len(w.out) >= w.limit || bytes > maxChangesBytes && len(w.out) > 0 {
			w.more = true
			return false, nil
		}
		w.out = append(w.out, sqltypes.JSONObjectOf(append(change.Pairs(), sqltypes.JSONPair{Key: PlaceField, Value: sqltypes.JSONStringOf(pos.String())})))
		return true, nil
	})
	if err != nil {
		return feed, err
	}
	if w.more { // the last one was not taken
		feed.Upto = after
		if n := len(w.out); n > 0 {
			place, _ := w.out[n-1].Lookup(PlaceField)
			if feed.Upto, err = engine.ParseFeedPos(place.Str()); err != nil {
				return feed, err
			}
		}
	}
	if feed.Upto.Less(after) { // this replica is behind the one that made the token
		feed.Upto = after
	}
	// A feed that begins with the collection itself has everything.
	if after.Less(feed.Oldest) && !complete {
		return feed, errTooOld(w.c.Name())
	}
	return feed, nil
}
