package shard

import (
	"bytes"
	"context"
	"slices"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/storage"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// schemaWriter implements engine.CatalogWriter. Put and Drop cannot fail; what is
// wrong with a descriptor (a key on a type that has no key encoding) is answered
// by the next call that can, Commit at the latest.
type schemaWriter struct{ t *Txn }

// Schema implements engine.Txn.
func (t *Txn) Schema() engine.CatalogWriter { return schemaWriter{t} }

func (w schemaWriter) change(c catalog.Change) {
	w.t.ddl = append(w.t.ddl, c)
	if w.t.base != nil {
		if c.DB == w.t.opts.Database || c.Kind.Shared() {
			w.t.cat = w.t.cat.With(w.t.ddl[len(w.t.ddl)-1:])
		}
	}
}

func (w schemaWriter) put(desc any) { w.change(catalog.Put(w.t.opts.Database, desc)) }

func (w schemaWriter) drop(kind catalog.ObjectKind, oid sqltypes.OID) {
	w.change(catalog.Drop(w.t.opts.Database, kind, oid))
}

func (w schemaWriter) NewOID(ctx context.Context) (sqltypes.OID, error) {
	if err := w.t.writable(); err != nil {
		return 0, err
	}
	return sqltypes.OID(w.t.newOID()), nil
}

func (w schemaWriter) NewStorageID(ctx context.Context) (uint64, error) {
	if err := w.t.writable(); err != nil {
		return 0, err
	}
	return w.t.newStorageID(), nil
}

func (w schemaWriter) PutSchema(d *catalog.Schema)     { w.put(d) }
func (w schemaWriter) DropSchema(oid sqltypes.OID)     { w.drop(catalog.ObjSchema, oid) }
func (w schemaWriter) PutType(d *catalog.UserType)     { w.put(d) }
func (w schemaWriter) DropType(oid sqltypes.OID)       { w.drop(catalog.ObjType, oid) }
func (w schemaWriter) PutFunction(d *catalog.Function) { w.put(d) }
func (w schemaWriter) DropFunction(oid sqltypes.OID)   { w.drop(catalog.ObjFunction, oid) }
func (w schemaWriter) PutOperator(d *catalog.Operator) { w.put(d) }
func (w schemaWriter) DropOperator(oid sqltypes.OID)   { w.drop(catalog.ObjOperator, oid) }
func (w schemaWriter) PutCast(d *catalog.Cast)         { w.put(d) }
func (w schemaWriter) DropCast(oid sqltypes.OID)       { w.drop(catalog.ObjCast, oid) }
func (w schemaWriter) PutPublication(d *catalog.Publication) {
	w.put(d)
}
func (w schemaWriter) DropPublication(oid sqltypes.OID) { w.drop(catalog.ObjPublication, oid) }
func (w schemaWriter) PutSubscription(d *catalog.Subscription) {
	w.put(d)
}
func (w schemaWriter) DropSubscription(oid sqltypes.OID) { w.drop(catalog.ObjSubscription, oid) }
func (w schemaWriter) PutRole(d *catalog.Role)           { w.put(d) }
func (w schemaWriter) DropRole(oid sqltypes.OID)         { w.drop(catalog.ObjRole, oid) }
func (w schemaWriter) PutDatabase(d *catalog.Database)   { w.put(d) }
func (w schemaWriter) PutDefaultACL(d *catalog.DefaultACL) {
	w.put(d)
}
func (w schemaWriter) PutStats(d *catalog.TableStats) { w.put(d) }
func (w schemaWriter) PutShards(d *catalog.Shards)    { w.put(d) }
func (w schemaWriter) PutOwned(d *catalog.Owned)      { w.put(d) }
func (w schemaWriter) DropRelation(oid sqltypes.OID)  { w.drop(catalog.ObjRelation, oid) }

// DeleteStorage also tells those who have read there: to serializable transactions it is a write.
func (w schemaWriter) DeleteStorage(storageID uint64) {
	if w.t.reads != nil && !slices.Contains(w.t.made, storageID) {
		if err := w.t.reads.WritePrefix(string(storage.AppendDataPrefix(nil, storageID))); err != nil {
			w.t.fail(err)
		}
	}
	w.t.dropped = append(w.t.dropped, storageID)
}

// PutRelation continues the relation's layouts and checks that its keys can be stored.
func (w schemaWriter) PutRelation(d *catalog.Relation) {
	cat := w.t.Catalog()
	r, err := catalog.WithLayouts(d, cat.Relation(d.OID), cat.Type)
	if err == nil {
		_, err = storage.TableOf(cat, r)
	}
	if err != nil {
		w.t.fail(err)
		return
	}
	if c := w.t.checked(d.OID); c != nil {
		*c = checkedRel{rel: c.rel, key: c.key} // to be checked again
	}
	w.put(r)
}

// DropDatabase drops the database's rows and descriptors too.
func (w schemaWriter) DropDatabase(oid sqltypes.OID) {
	if cat := w.t.s.Catalog(oid); cat != nil {
		for _, ch := range catalog.Everything(cat) {
			if r, ok := ch.Desc.(*catalog.Relation); ok {
				w.t.dropped = append(w.t.dropped, catalog.StorageIDs(r)...)
				if r.Kind == catalog.KindCollection {
					w.t.DropFeed(r)
				}
			}
			ch.Desc = nil
			w.t.ddl = append(w.t.ddl, ch)
		}
	}
	w.drop(catalog.ObjDatabase, oid)
}

// fail makes the transaction answer err from now on.
func (t *Txn) fail(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// BuildIndex implements engine.CatalogWriter.
func (w schemaWriter) BuildIndex(ctx context.Context, wt *engine.WriteTarget, ix *catalog.Index) error {
	t := w.t
	tbl, err := t.table(ctx, wt.Rel, engine.ShareUpdateExclusive)
	if err != nil {
		return err
	}
	x := tbl.IndexOf(ix)
	if x == nil || x.Clustered {
		return pgerror.New(pgerror.InternalError, "index %q is not a secondary index of relation %q", ix.Name, wt.Rel.Name)
	}
	if err := t.ensure(); err != nil {
		return err
	}
	v := &view{s: t.s, cat: t.cat}
	v.open()
	defer v.Close()
	return t.eachRow(ctx, v, tbl, func(key string, row []sqltypes.Datum) error {
		return eachKey(wt, x, row, nil, func(vals []sqltypes.Datum) error {
			ek, ev := tbl.AppendEntry(x, nil, nil, vals, []byte(key))
			if err := x.CheckKey(ek); err != nil {
				return err
			}
			dup := false
			switch {
			case x.Exclusive(vals):
				_, dup = t.writes.Get(string(ek))
			case x.Checked(vals):
				lo := x.AppendKey(nil, vals)
				dup = t.writes.Cursor(string(lo), string(storage.PrefixEnd(bytes.Clone(lo))), false).Valid()
			}
			if dup {
				return t.keyError(tbl, x, "could not create unique index %q", "Key (%s)=(%s) is duplicated.", vals)
			}
			t.put(string(ek), ev)
			return t.room(ctx)
		})
	})
}

// eachRow calls f for every row of a table as v and the own writes show it.
func (t *Txn) eachRow(ctx context.Context, v *view, tbl *storage.Table, f func(key string, row []sqltypes.Datum) error) error {
	lo, hi := storage.DataRange(tbl.Rel.StorageID)
	it, err := storage.NewSnapshotIter(ctx, v.snap, lo, hi)
	if err != nil {
		return err
	}
	defer it.Close()
	own := t.writes.Copy()
	cur := own.Cursor(string(lo), string(hi), false)
	it.First()
	n := 0
	for it.Valid() || cur.Valid() {
		if n++; n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var key string
		var val []byte
		switch {
		case cur.Valid() && (!it.Valid() || cur.Key() <= string(it.Key())):
			key, val = cur.Key(), cur.Write().Val
			if it.Valid() && string(it.Key()) == key {
				it.Next()
			}
			cur.Next()
			if val == nil {
				continue
			}
			if err := t.rowTo(tbl, key, val, f); err != nil {
				return err
			}
		default:
			if err := t.rowTo(tbl, string(it.Key()), it.Value(), f); err != nil {
				return err
			}
			it.Next()
		}
	}
	return it.Error()
}

func (t *Txn) rowTo(tbl *storage.Table, key string, val []byte, f func(string, []sqltypes.Datum) error) error {
	row := make([]sqltypes.Datum, len(tbl.Rel.Columns))
	if err := tbl.DecodeRow([]byte(key), val, nil, row); err != nil {
		return err
	}
	return f(key, row)
}

// CopyDatabase implements engine.CatalogWriter.
func (w schemaWriter) CopyDatabase(ctx context.Context, template, db sqltypes.OID) error {
	t := w.t
	if err := t.writable(); err != nil {
		return err
	}
	v := &view{s: t.s}
	v.open()
	defer v.Close()
	cat := v.st.cats.Database(template)
	if cat == nil {
		return errNoDatabase()
	}
	for _, ch := range catalog.Everything(cat) {
		ch.DB = db
		if r, ok := ch.Desc.(*catalog.Relation); ok {
			c := catalog.CopyRelation(r)
			for _, id := range catalog.StorageIDPointers(c) {
				to := t.newStorageID()
				if err := t.copyStorage(ctx, v, *id, to); err != nil {
					return err
				}
				if c.Sequence != nil && id == &c.Sequence.StorageID {
					state, found, err := readSequence(v.st.db, *id)
					if err != nil {
						return err
					}
					if found {
						t.addSequence(to, state, false)
					}
				}
				*id = to
			}
			ch.Desc = c
		}
		t.ddl = append(t.ddl, ch)
	}
	return nil
}

// copyStorage copies everything under a storage id to another one.
func (t *Txn) copyStorage(ctx context.Context, v *view, from, to uint64) error {
	lo, hi := storage.DataRange(from)
	prefix := storage.AppendDataPrefix(nil, to)
	it, err := storage.NewSnapshotIter(ctx, v.snap, lo, hi)
	if err != nil {
		return err
	}
	defer it.Close()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_, rest, _ := storage.SplitData(it.Key())
		t.put(string(append(prefix[:len(prefix):len(prefix)], rest...)), append([]byte(nil), it.Value()...))
		if err := t.room(ctx); err != nil {
			return err
		}
	}
	return it.Error()
}
