package docstore

import (
	"context"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// target is a document that is locked and matches, as it is now.
type target struct {
	doc JSON
	key string
	ref engine.RowRef
}

func (t *target) row() []sqltypes.Datum {
	return []sqltypes.Datum{sqltypes.Text(t.key), t.doc.Datum()}
}

// eachLocked calls f for the documents that match, each locked and newest, in
// the order asked for; at most limit of them (negative: all).
func (r *runner) eachLocked(ctx context.Context, p *found, mode engine.RowLock, wait engine.WaitPolicy, skip, limit int64, f func(t *target) error) error {
	if limit == 0 {
		return nil
	}
	one := func(doc JSON, ref engine.RowRef) (more bool, err error) {
		t := target{doc: doc, ref: ref}
		row := make([]sqltypes.Datum, 2)
		out, err := r.st.Txn.LockRow(ctx, p.c.Rel, &t.ref, mode, wait, row)
		if err != nil {
			return false, err
		}
		switch out {
		case engine.Gone, engine.Skipped, engine.OwnWrite:
			return true, nil
		case engine.Changed:
			t.doc = sqltypes.JSONOf(row[attrDoc-1])
			ok, err := p.filter.Match(t.doc)
			if err != nil || !ok {
				return true, err
			}
		}
		if skip > 0 {
			skip--
			return true, nil
		}
		id, _ := t.doc.Lookup("_id")
		t.key = string(AppendKey(nil, id))
		if err := f(&t); err != nil {
			return false, err
		}
		if limit > 0 {
			limit--
		}
		return limit != 0, nil
	}
	if key, ok := p.access.point(); ok {
		doc, ref, ok, err := r.byKey(ctx, p, key)
		if ok && err == nil {
			_, err = one(doc, ref)
		}
		return err
	}
	hint := 0
	if limit > 0 && p.filter.All() {
		hint = int(min(limit+skip, 1<<20))
	}
	s, err := r.open(ctx, p.access, p.filter, true, hint)
	if err != nil {
		return err
	}
	defer s.Close()
	if p.sort == nil || p.access.sorted {
		for {
			doc, ref, ok, err := s.next()
			if err != nil || !ok {
				return err
			}
			if more, err := one(doc, ref); !more || err != nil {
				return err
			}
		}
	}
	t := topN{sort: p.sort, limit: -1}
	var refs []engine.RowRef
	for {
		doc, ref, ok, err := s.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := t.add(doc, len(refs)); err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	for _, k := range t.sorted() {
		if more, err := one(k.doc, refs[k.ref]); !more || err != nil {
			return err
		}
	}
	return nil
}

// byKey reads the document of an _id, if it matches, as the statement sees it with
// what it has written itself.
func (r *runner) byKey(ctx context.Context, p *found, key sqltypes.Datum) (doc JSON, ref engine.RowRef, ok bool, err error) {
	var dst [1]sqltypes.Datum
	end := r.st.Txn.NestStatement()
	ref, ok, err = r.st.Txn.Get(ctx, p.c.Rel, nil, []sqltypes.Datum{key}, docColumn, dst[:])
	end()
	if err != nil || !ok {
		return JSON{}, ref, false, err
	}
	doc = sqltypes.JSONOf(dst[0])
	if ok, err = p.filter.Match(doc); err != nil || !ok || r.accept != nil && !r.accept(doc) {
		return JSON{}, ref, false, err
	}
	return doc, ref, true, nil
}

// update serves update, update_one, replace_one and find_one_and_update.
func (r *runner) update(ctx context.Context, cmd *Command) (Result, error) {
	up, err := CompileUpdate(cmd.Update, cmd.Op == OpReplaceOne, cmd.ArrayFilters)
	if err != nil {
		return Result{}, err
	}
	up.now, up.ctx = r.st.Now, ctx
	proj, err := CompileProjection(cmd.Projection)
	if err != nil {
		return Result{}, err
	}
	p, err := r.prepare(ctx, cmd, true)
	if err != nil {
		return Result{}, err
	}
	up.filter = p.filter
	limit := int64(1)
	if cmd.Op == OpUpdate {
		limit = -1
	}
	var res Result
	if p.c != nil {
		err = r.eachLocked(ctx, p, engine.LockNoKeyUpdate, engine.WaitBlock, 0, limit, func(t *target) error {
			res.Matched++
			doc, err := r.change(ctx, p.c, up, t)
			if err != nil {
				return err
			}
			if doc.Datum().S != t.doc.Datum().S {
				res.Modified++
			}
			if cmd.Op == OpFindAndUpdate {
				res.Value = t.doc
				if cmd.ReturnNew {
					res.Value = doc
				}
			}
			return nil
		})
		if err != nil {
			return Result{}, err
		}
	}
	if res.Matched == 0 && cmd.Upsert {
		doc, id, err := r.upsert(ctx, cmd, up, p)
		if err != nil {
			return Result{}, err
		}
		res.Upserted, res.IDs = 1, []JSON{id}
		if cmd.Op == OpFindAndUpdate && cmd.ReturnNew {
			res.Value = doc
		}
	}
	if !res.Value.IsZero() {
		if res.Value, err = proj.Bind(ctx, r.st.Now).Apply(res.Value); err != nil {
			return Result{}, err
		}
	}
	return res, nil
}

// change applies an update to one locked document.
func (r *runner) change(ctx context.Context, c *Collection, up *Update, t *target) (JSON, error) {
	doc, err := up.Apply(t.doc, false)
	if err != nil {
		return JSON{}, err
	}
	if doc.Datum().S == t.doc.Datum().S {
		return doc, nil
	}
	was, _ := t.doc.Lookup("_id")
	id, ok := doc.Lookup("_id")
	if !ok || !Equal(was, id) {
		return JSON{}, invalid("the field _id of a document cannot be changed")
	}
	key, ok := c.Option("shard_key")
	if ok = ok && r.accept != nil; r.keep != "" {
		key, ok = r.keep, true
	}
	if ok {
		path, err := ParsePath(key)
		if err != nil {
			return JSON{}, err
		}
		x, _ := path.Get(t.doc)
		y, _ := path.Get(doc)
		if !Equal(x, y) {
			return JSON{}, pgerror.NotSupported("changing the shard key %q of a document", key).
				WithHint("Delete the document and insert it with the new key.")
		}
	}
	old := t.row()
	if _, err = r.st.Txn.Update(ctx, c.target, t.ref, old, []sqltypes.Datum{old[0], doc.Datum()}); err != nil {
		return doc, c.explainDuplicate(err, doc)
	}
	op := "update"
	if !up.replace.IsZero() {
		op = "replace"
	}
	return doc, r.wrote(ctx, c, t.doc, doc, op)
}

// upsert inserts the document that the filter's equalities and the update make.
func (r *runner) upsert(ctx context.Context, cmd *Command, up *Update, p *found) (doc, id JSON, err error) {
	base, err := p.filter.seed()
	if err != nil {
		return JSON{}, JSON{}, err
	}
	if doc, err = up.Apply(base, true); err != nil {
		return JSON{}, JSON{}, err
	}
	if want, ok := base.Lookup("_id"); ok {
		if got, ok := doc.Lookup("_id"); ok && !Equal(want, got) {
			return JSON{}, JSON{}, invalid("the field _id of a document cannot be changed")
		}
	}
	if doc, id, err = r.withID(doc); err != nil {
		return JSON{}, JSON{}, err
	}
	c, _, err := r.ensure(ctx, cmd.Collection, nil)
	if err != nil {
		return JSON{}, JSON{}, err
	}
	return doc, id, r.put(ctx, c, doc, id)
}

// UpsertKey is the value a path would have in the document that an upsert
// inserts, zero when it would be missing: what routes an upsert.
func UpsertKey(cmd *Command, path string) (JSON, error) {
	up, err := CompileUpdate(cmd.Update, cmd.Op == OpReplaceOne, cmd.ArrayFilters)
	if err != nil {
		return JSON{}, err
	}
	f, err := CompileFilter(cmd.Filter)
	if err != nil {
		return JSON{}, err
	}
	base, err := f.seed()
	if err != nil {
		return JSON{}, err
	}
	doc, err := up.Apply(base, true)
	if err != nil {
		return JSON{}, err
	}
	p, err := ParsePath(path)
	if err != nil {
		return JSON{}, err
	}
	v, _ := p.Get(doc)
	return v, nil
}

// seed is the document that a filter's equalities describe.
func (f *Filter) seed() (JSON, error) {
	doc := sqltypes.JSONObjectOf(nil)
	for _, n := range f.conj {
		l, ok := n.pred.(*compareLeaf)
		if !ok || l.op != cmpEq || l.val.IsZero() {
			continue
		}
		var err error
		if doc, err = setPath(doc, n.path, l.val); err != nil {
			return JSON{}, err
		}
	}
	return doc, nil
}

func (r *runner) delete(ctx context.Context, cmd *Command) (Result, error) {
	p, err := r.prepare(ctx, cmd, true)
	if err != nil || p.c == nil {
		return Result{}, err
	}
	limit := int64(-1)
	if cmd.Op == OpDeleteOne {
		limit = 1
	}
	var res Result
	err = r.eachLocked(ctx, p, engine.LockUpdate, engine.WaitBlock, 0, limit, func(t *target) error {
		res.Deleted++
		if err := r.st.Txn.Delete(ctx, p.c.target, t.ref, t.row()); err != nil {
			return err
		}
		return r.wrote(ctx, p.c, t.doc, JSON{}, "delete")
	})
	if err != nil {
		return Result{}, err
	}
	return res, nil
}
