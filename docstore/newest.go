package docstore

import (
	"context"
	"errors"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// Bounds of what is read without a snapshot: more documents than these, looked at
// or answered, are left to an ordinary scan.
const (
	maxNewestSeen = 256
	maxNewest     = 64
	maxNewestSize = 1 << 20
)

var errMany = errors.New("docstore: too many documents for the short way")

// FindNewest answers a find of few documents from the newest applied state, without
// a snapshot: the short way of reads by _id or by an index. done is false when
// the command has to go the ordinary way; nothing has happened then. cat is the
// newest catalogue; c is the collection in it and r says what the session sees.
func FindNewest(ctx context.Context, eng engine.Engine, cat *catalog.Catalog, c *Collection, st *State, cmd *Command) (docs []JSON, done bool, err error) {
	if cmd.Take == 0 || cmd.Skip != 0 || !cmd.Sort.IsZero() || cmd.Filter.IsZero() || cmd.Filter.Kind() != sqltypes.JSONObject || cmd.Filter.Len() == 0 {
		return nil, false, nil
	}
	if st.May != nil && !st.May(c.Rel, false) {
		return nil, false, notReadable(c.Name())
	}
	proj, err := CompileProjection(cmd.Projection)
	if err != nil {
		return nil, false, err
	}
	limit := maxNewest + 1
	if cmd.Take > 0 && cmd.Take < maxNewest {
		limit = int(cmd.Take)
	}
	if v, x, ok := c.singleEquality(cmd.Filter); ok {
		if x == nil {
			docs, done, err = c.byID(ctx, eng, cat, v)
		} else {
			docs, done, err = c.byIndex(ctx, eng, cat, x, v, limit)
		}
	} else {
		docs, done, err = c.byPlan(ctx, eng, cat, st, cmd, limit)
	}
	if err != nil || !done || proj.root == nil {
		return docs, done, err
	}
	proj.Bind(ctx, st.Now)
	for i := range docs {
		if docs[i], err = proj.Apply(docs[i]); err != nil {
			return nil, false, err
		}
	}
	return docs, true, nil
}

// singleEquality recognises {"path": scalar} over _id (x is nil) or a field with an
// index of its own: what needs no plan.
func (c *Collection) singleEquality(f JSON) (v JSON, x *Index, ok bool) {
	if f.Len() != 1 {
		return JSON{}, nil, false
	}
	if v = f.Value(0); v.IsContainer() {
		return JSON{}, nil, false
	}
	key := f.Key(0)
	if key == "_id" {
		return v, nil, true
	}
	x = c.single[key]
	return v, x, x != nil
}

// singles are the indexes over exactly one field that an equality can always use:
// unique ones first.
func (c *Collection) singles() map[string]*Index {
	out := map[string]*Index{}
	for _, x := range c.Indexes {
		if !x.Ix.Ready || x.Spec.Text || x.partial != nil || x.Spec.Sparse || len(x.Spec.Fields) != 1 {
			continue
		}
		if have := out[x.Spec.Fields[0].Path]; have == nil || x.Spec.Unique && !have.Spec.Unique {
			out[x.Spec.Fields[0].Path] = x
		}
	}
	return out
}

func (c *Collection) byID(ctx context.Context, eng engine.Engine, cat *catalog.Catalog, id JSON) ([]JSON, bool, error) {
	var buf [48]byte
	key := [1]sqltypes.Datum{{S: string(AppendKey(buf[:0], id))}}
	var dst [1]sqltypes.Datum
	found, stale, err := eng.GetNewest(ctx, cat, c.Rel, nil, key[:], docColumn, dst[:])
	if err != nil || stale || !found {
		return nil, !stale && err == nil, err
	}
	return []JSON{sqltypes.JSONOf(dst[0])}, true, nil
}

var docColumn = []int16{attrDoc}

// byIndex reads the documents that have one value as a key of an index over one
// field: each has it once, and all of them match.
func (c *Collection) byIndex(ctx context.Context, eng engine.Engine, cat *catalog.Catalog, x *Index, v JSON, limit int) (docs []JSON, done bool, err error) {
	var buf [64]byte
	key := sqltypes.Datum{S: string(AppendKey(buf[:0], v))}
	size := 0
	stale, err := eng.ReadNewest(ctx, cat, func(r engine.NewestReader) error {
		return r.Same(c.Rel, x.Ix, key, attrDoc, func(_, val string) (bool, error) {
			if size += len(val); len(docs) >= maxNewest || size > maxNewestSize {
				return false, errMany
			}
			docs = append(docs, sqltypes.JSONOf(sqltypes.Text(val)))
			return len(docs) < limit, nil
		})
	})
	return settleNewest(docs, stale, err)
}

// byPlan compiles and plans as every find does.
func (c *Collection) byPlan(ctx context.Context, eng engine.Engine, cat *catalog.Catalog, st *State, cmd *Command, limit int) (docs []JSON, done bool, err error) {
	f, err := CompileFilter(cmd.Filter)
	if err != nil {
		return nil, false, err
	}
	f.bind(ctx, st.Now)
	if !c.mayBeShort(f) {
		return nil, false, nil
	}
	stale, err := eng.ReadNewest(ctx, cat, func(nr engine.NewestReader) error {
		r := &runner{st: st, newest: nr}
		a, err := r.plan(ctx, c, f, nil)
		if err != nil {
			return err
		}
		if a.spans == nil || len(a.union) > 0 || len(a.spans) > 16 {
			return errMany
		}
		var seen map[string]struct{}
		if a.several {
			seen = map[string]struct{}{}
		}
		for _, sp := range a.spans {
			if err := collectNewest(nr, c, a.index, sp, a.reverse, f, limit, seen, &docs); err != nil || len(docs) >= limit && limit <= maxNewest {
				return err
			}
		}
		return nil
	})
	return settleNewest(docs, stale, err)
}

// mayBeShort reports that some condition could be answered by few reads.
func (c *Collection) mayBeShort(f *Filter) bool {
	for _, n := range f.conj {
		if n.path.Text == "_id" {
			return true
		}
		for _, x := range c.Indexes {
			if x.Spec.Fields[0].Path == n.path.Text {
				return true
			}
		}
	}
	return false
}

func settleNewest(docs []JSON, stale bool, err error) ([]JSON, bool, error) {
	switch {
	case err == errMany || err == nil && stale:
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return docs, true, nil
}

// collectNewest adds the documents of a span that match (nil: all do) until there
// are limit of them; errMany when there is too much to look at.
func collectNewest(r engine.NewestReader, c *Collection, x *Index, span engine.Span, reverse bool, f *Filter, limit int, seen map[string]struct{}, docs *[]JSON) error {
	var ix *catalog.Index
	if x != nil {
		ix = x.Ix
	}
	looked, size := 0, 0
	return r.Rows(c.Rel, ix, span, reverse, attrDoc, func(key, val string) (bool, error) {
		if looked++; looked > maxNewestSeen {
			return false, errMany
		}
		if f != nil {
			if ok, err := f.Match(sqltypes.JSONOf(sqltypes.Text(val))); err != nil || !ok {
				return err == nil, err
			}
		}
		if seen != nil {
			if _, dup := seen[key]; dup {
				return true, nil
			}
			seen[string([]byte(key))] = struct{}{}
		}
		if size += len(val); len(*docs) >= maxNewest || size > maxNewestSize {
			return false, errMany
		}
		*docs = append(*docs, sqltypes.JSONOf(sqltypes.Text(string([]byte(val)))))
		return len(*docs) < limit, nil
	})
}
