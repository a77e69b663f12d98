package docstore

import (
	"context"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// writeStage is $out and $merge: the last stage of a pipeline that writes.
type writeStage struct {
	into       string
	out        bool
	on         []*Path
	matched    string // replace, merge, keepExisting, fail
	notMatched string // insert, discard, fail
	counts     Counts
}

func makeOut(arg JSON, _ int) (stage, error) {
	if arg.Kind() != sqltypes.JSONString {
		return nil, invalid("$out needs the name of a collection")
	}
	return &writeStage{into: arg.Str(), out: true}, nil
}

func makeMerge(arg JSON, _ int) (stage, error) {
	w := &writeStage{matched: "merge", notMatched: "insert"}
	if arg.Kind() == sqltypes.JSONString {
		arg = obj("into", arg)
	}
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$merge needs an object or the name of a collection")
	}
	for _, p := range arg.Pairs() {
		s := textOf(p.Value)
		switch p.Key {
		case "into":
			w.into = s
		case "on":
			list := []JSON{p.Value}
			if p.Value.Kind() == sqltypes.JSONArray {
				list = p.Value.Elems()
			}
			for _, v := range list {
				path, err := ParsePath(textOf(v))
				if err != nil {
					return nil, err
				}
				w.on = append(w.on, path)
			}
		case "whenMatched":
			switch s {
			case "replace", "merge", "keepExisting", "fail":
				w.matched = s
			default:
				return nil, pgerror.NotSupported("whenMatched %s of $merge", s)
			}
		case "whenNotMatched":
			switch s {
			case "insert", "discard", "fail":
				w.notMatched = s
			default:
				return nil, pgerror.NotSupported("whenNotMatched %s of $merge", s)
			}
		default:
			return nil, pgerror.NotSupported("argument %q of $merge", p.Key)
		}
	}
	if w.into == "" {
		return nil, invalid("$merge needs into")
	}
	return w, nil
}

// open writes everything; the stage answers no documents.
func (w *writeStage) open(ctx context.Context, r *runner, in Cursor) (Cursor, error) {
	if r.st.Txn == nil {
		return nil, pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute a pipeline with $out or $merge in a read-only transaction")
	}
	c, _, err := r.ensure(ctx, w.into, nil)
	if err != nil {
		return nil, err
	}
	sub := &runner{st: r.st, own: true}
	if w.out {
		// The input is read first: it may be of the same collection.
		docs, err := collect(ctx, in)
		if err != nil {
			return nil, err
		}
		if _, err := sub.delete(ctx, &Command{Op: OpDelete, Collection: w.into, Take: -1}); err != nil {
			return nil, err
		}
		for _, d := range docs {
			if err := w.insert(ctx, sub, c, d); err != nil {
				return nil, err
			}
		}
	} else if err := drain(ctx, in, func(doc JSON) error { return w.merge(ctx, sub, c, doc) }); err != nil {
		return nil, err
	}
	in.Close()
	return Slice(nil), nil
}

func (w *writeStage) insert(ctx context.Context, r *runner, c *Collection, doc JSON) error {
	doc, id, err := r.withID(doc)
	if err != nil {
		return err
	}
	w.counts.Inserted++
	return r.put(ctx, c, doc, id)
}

func (w *writeStage) merge(ctx context.Context, r *runner, c *Collection, doc JSON) error {
	on := w.on
	if on == nil {
		on = []*Path{{Text: "_id", parts: []string{"_id"}, index: []int{-1}}}
	}
	var pairs []sqltypes.JSONPair
	known := true
	for _, p := range on {
		v, ok := p.Get(doc)
		known = known && ok
		pairs = append(pairs, sqltypes.JSONPair{Key: p.Text, Value: obj("$eq", orNull(v))})
	}
	found := false
	if known {
		p, err := r.prepare(ctx, &Command{Collection: w.into, Filter: sqltypes.JSONObjectOf(pairs)}, true)
		if err != nil {
			return err
		}
		err = r.eachLocked(ctx, p, engine.LockNoKeyUpdate, engine.WaitBlock, 0, 1, func(t *target) error {
			found = true
			w.counts.Matched++
			up := &Update{replace: doc, now: r.st.Now}
			switch w.matched {
			case "keepExisting":
				return nil
			case "fail":
				return pgerror.New(pgerror.UniqueViolation, "$merge found a matching document in collection %q", w.into)
			case "merge":
				up.replace = sqltypes.JSONObjectOf(append(t.doc.Pairs(), doc.Pairs()...))
			}
			now, err := r.change(ctx, c, up, t)
			if err == nil && now.Datum().S != t.doc.Datum().S {
				w.counts.Modified++
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if found {
		return nil
	}
	switch w.notMatched {
	case "discard":
		return nil
	case "fail":
		return pgerror.New(pgerror.NoDataFound, "$merge found no matching document in collection %q", w.into)
	}
	return w.insert(ctx, r, c, doc)
}
