package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (t *Txn) lockWait(p engine.WaitPolicy) txn.Wait {
	return txn.Wait{No: p != engine.WaitBlock, Timeout: t.opts.LockTimeout}
}

// lockKey locks a row's or an index entry's key.
func (t *Txn) lockKey(ctx context.Context, key string, mode engine.RowLock) error {
	return lockError(t.term.locks.Acquire(ctx, &t.owner, txn.ClassRow, key, uint8(mode), t.lockWait(engine.WaitBlock)))
}

// LockRelation implements engine.Txn.
func (t *Txn) LockRelation(ctx context.Context, rel sqltypes.OID, mode engine.RelLock, wait engine.WaitPolicy) error {
	if err := t.live(); err != nil {
		return err
	}
	if t.term == nil {
		if mode <= engine.AccessShare {
			return nil // snapshots need no lock
		}
		return errReadOnly()
	}
	db := uint32(t.opts.Database)
	if rel == catalog.ShardsOID || rel == catalog.OwnedOID {
		db = 0 // shared by all databases
	}
	key := txn.RelationKey(db, uint32(rel))
	err := t.term.locks.Acquire(ctx, &t.owner, txn.ClassRelation, key, uint8(mode), t.lockWait(wait))
	if errors.Is(err, txn.ErrNotAvailable) {
		name := ""
		if r := t.s.Catalog(t.opts.Database).Relation(rel); r != nil {
			name = r.Name
		}
		return pgerror.New(pgerror.LockNotAvailable, "could not obtain lock on relation %q", name)
	}
	if err != nil {
		return lockError(err)
	}
	// A descriptor to be changed must be the newest. READ COMMITTED sees it with
	// the next StartStatement; the others cannot leave their snapshot.
	if mode >= engine.ShareUpdateExclusive && t.opts.Isolation != engine.ReadCommitted && t.cat != nil {
		if newest := t.s.Catalog(t.opts.Database); newest != nil && newest != t.base {
			if was := t.base.Relation(rel); was != nil && newest.Relation(rel) != was {
				return errStale(was.Name)
			}
		}
	}
	return nil
}

// LockName implements engine.Txn.
func (t *Txn) LockName(ctx context.Context, scope sqltypes.OID, name string) error {
	if err := t.live(); err != nil {
		return err
	}
	if t.term == nil {
		return errReadOnly()
	}
	db := uint32(t.opts.Database)
	if scope == 0 {
		db = 0
	}
	err := lockError(t.term.locks.Acquire(ctx, &t.owner, txn.ClassRow, nameKey(db, uint32(scope), name), uint8(engine.LockUpdate), t.lockWait(engine.WaitBlock)))
	if err != nil || t.opts.Isolation == engine.ReadCommitted || t.base == nil {
		return err
	}
	// The snapshot cannot be left, and what has been made since is not in it.
	if newest := t.s.Catalog(t.opts.Database); newest != nil && newest != t.base && nameChanged(t.base, newest, scope, name) {
		return errStale(name)
	}
	return nil
}

// nameChanged reports that a name stands for something else in another catalogue.
func nameChanged(was, now *catalog.Catalog, scope sqltypes.OID, name string) bool {
	switch scope {
	case 0:
		return was.RoleByName(name) != now.RoleByName(name) || was.DatabaseByName(name) != now.DatabaseByName(name)
	case engine.NamesOfSchemas:
		return was.SchemaByName(name) != now.SchemaByName(name)
	}
	if f, ok := strings.CutSuffix(name, "()"); ok && !slices.Equal(was.FunctionsByName(scope, f), now.FunctionsByName(scope, f)) {
		return true
	}
	_, a := was.IndexByName(scope, name)
	_, b := now.IndexByName(scope, name)
	return a != b || was.RelationByName(scope, name) != now.RelationByName(scope, name) || was.TypeByName(scope, name) != now.TypeByName(scope, name)
}

// nameKey is no key of a row: those begin with a storage id.
func nameKey(db, scope uint32, name string) string {
	b := binary.BigEndian.AppendUint32([]byte{0xff}, db)
	return string(append(binary.BigEndian.AppendUint32(b, scope), name...))
}

// table prepares a relation for locking or writing rows: it takes a relation lock
// of at least the mode and refuses a descriptor that is no longer the newest.
func (t *Txn) table(ctx context.Context, rel *catalog.Relation, mode engine.RelLock) (*storage.Table, error) {
	if err := t.writable(); err != nil {
		return nil, err
	}
	c := t.checked(rel.OID)
	key := ""
	if c != nil {
		if c.rel == rel && c.mode >= mode {
			return c.tbl, nil
		}
		key = c.key
	} else {
		key = txn.RelationKey(uint32(t.opts.Database), uint32(rel.OID))
	}
	if err := t.term.locks.Acquire(ctx, &t.owner, txn.ClassRelation, key, uint8(mode), t.lockWait(engine.WaitBlock)); err != nil {
		return nil, lockError(err)
	}
	// With the lock held no DDL on the relation can commit any more.
	newest := t.s.Catalog(t.opts.Database)
	if newest == nil {
		return nil, errNoDatabase()
	}
	if newest != t.cat && newest.Relation(rel.OID) != rel && !t.ownDDL(rel) {
		return nil, errStale(rel.Name)
	}
	cat := newest
	if t.cat != nil {
		cat = t.cat
	}
	tbl, err := storage.TableOf(cat, rel)
	if err != nil {
		return nil, err
	}
	x := checkedRel{rel: rel, tbl: tbl, key: key, mode: mode, fresh: slices.Contains(t.made, rel.StorageID)}
	x.alone = newest.Relation(rel.OID) == nil || t.term.locks.Holds(&t.owner, txn.ClassRelation, key, uint8(engine.AccessExclusive))
	if c != nil {
		x.mode = max(mode, c.mode)
		x.claims = c.claims
		*c = x
		return tbl, nil
	}
	if t.rels == nil {
		t.rels = t.fewRels[:0]
	}
	t.rels = append(t.rels, x)
	return tbl, nil
}

// ownDDL reports whether the descriptor is one this transaction made, or will put
// when it has filled the new storage.
func (t *Txn) ownDDL(rel *catalog.Relation) bool {
	if slices.Contains(t.made, rel.StorageID) {
		return true
	}
	for i := range t.ddl {
		if t.ddl[i].Kind == catalog.ObjRelation && t.ddl[i].OID == rel.OID || t.ddl[i].Kind == catalog.ObjType {
			return true
		}
	}
	return false
}

// LockRow implements engine.Txn.
func (t *Txn) LockRow(ctx context.Context, rel *catalog.Relation, ref *engine.RowRef, mode engine.RowLock, wait engine.WaitPolicy, row []sqltypes.Datum) (engine.LockOutcome, error) {
	tbl, err := t.table(ctx, rel, engine.RowShare)
	if err != nil {
		return 0, err
	}
	mark := t.owner.Mark()
	moved := false
	for {
		err := t.term.locks.Acquire(ctx, &t.owner, txn.ClassRow, ref.Key, uint8(mode), t.lockWait(wait))
		if errors.Is(err, txn.ErrNotAvailable) {
			if wait == engine.WaitSkip {
				return engine.Skipped, nil
			}
			return 0, pgerror.New(pgerror.LockNotAvailable, "could not obtain lock on row in relation %q", rel.Name)
		}
		if err != nil {
			return 0, lockError(err)
		}
		if w, own := t.writes.Get(ref.Key); own {
			if w.Seq == ref.Seq {
				return engine.Locked, nil
			}
			return engine.OwnWrite, nil
		}
		out, again, err := t.compare(tbl, ref, mode, row, &moved)
		if err != nil || again {
			if err != nil {
				return 0, err
			}
			continue
		}
		if out == engine.Gone {
			t.term.locks.ReleaseTo(&t.owner, mark)
		}
		return out, nil
	}
}

// compare reads the newest committed version of a locked row. again: it moved to
// another key, which ref now has.
func (t *Txn) compare(tbl *storage.Table, ref *engine.RowRef, mode engine.RowLock, row []sqltypes.Datum, moved *bool) (out engine.LockOutcome, again bool, err error) {
	st := t.s.cur.Load()
	if !st.db.Acquire() {
		return 0, false, errSnapshotTooOld()
	}
	defer func() { err = firstError(err, st.db.Release()) }()
	var r reading
	found, err := r.newest(st.db, nil, ref.Key)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = firstError(err, r.close()) }()
	var xid uint64
	if found {
		if xid, err = storage.XidOf(r.val); err != nil {
			return 0, false, err
		}
		if xid == ref.Xid && !*moved {
			return engine.Locked, false, nil
		}
		if mode == engine.LockKeyShare && !*moved {
			if same, err := t.sameKeys(tbl, ref, r.val); err != nil || same {
				return engine.Locked, false, err
			}
		}
	}
	if to, _ := t.term.locks.MovedTo(ref.Key, ref.Xid); to == txn.Elsewhere && xid != ref.Xid {
		return 0, false, pgerror.New(pgerror.TRSerializationFailure, "tuple to be locked was already moved to another partition due to concurrent update")
	}
	if t.opts.Isolation != engine.ReadCommitted {
		if to, _ := t.term.locks.MovedTo(ref.Key, ref.Xid); !found && to == "" {
			return 0, false, errConcurrentDelete()
		}
		return 0, false, errConcurrentUpdate()
	}
	if xid != ref.Xid {
		if to, by := t.term.locks.MovedTo(ref.Key, ref.Xid); to != "" {
			*ref = engine.RowRef{Key: to, Xid: by}
			*moved = true
			return 0, true, nil
		}
	}
	if !found {
		return engine.Gone, false, nil
	}
	if row != nil {
		if err := tbl.DecodeRow([]byte(ref.Key), r.val, nil, row); err != nil {
			return 0, false, err
		}
	}
	ref.Xid, ref.Seq = xid, 0
	return engine.Changed, false, nil
}

// sameKeys reports whether the newest version of a row has the keys of the one
// that the snapshot has: FOR KEY SHARE does not mind other changes, and the old
// version stays the statement's.
func (t *Txn) sameKeys(tbl *storage.Table, ref *engine.RowRef, newest []byte) (same bool, err error) {
	if err := t.ensure(); err != nil {
		return false, err
	}
	var r reading
	found, err := r.get(&t.view, []byte(ref.Key))
	if err != nil || !found {
		return false, err
	}
	defer func() { err = firstError(err, r.close()) }()
	if xid, err := storage.XidOf(r.val); err != nil || xid != ref.Xid {
		return false, err
	}
	was, is := make([]sqltypes.Datum, len(tbl.Rel.Columns)), make([]sqltypes.Datum, len(tbl.Rel.Columns))
	if err := firstError(tbl.DecodeRow([]byte(ref.Key), r.val, nil, was), tbl.DecodeRow([]byte(ref.Key), newest, nil, is)); err != nil {
		return false, err
	}
	for _, x := range tbl.Indexes {
		if x.Ix.Unique && (!x.Plain() || !x.SameKey(was, is)) {
			return false, nil
		}
	}
	return true, nil
}

// LookupNewest implements engine.Txn.
func (t *Txn) LookupNewest(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, mode engine.RowLock, row []sqltypes.Datum) (ref engine.RowRef, found bool, err error) {
	tbl, err := t.table(ctx, rel, engine.RowShare)
	if err != nil {
		return ref, false, err
	}
	x, err := keyIndex(tbl, ix, key)
	if err != nil {
		return ref, false, err
	}
	if !x.Clustered && !x.Exclusive(key) {
		return ref, false, nil
	}
	k := string(x.AppendKey(nil, key))
	if err := t.lockKey(ctx, k, mode); err != nil {
		return ref, false, err
	}
	if t.reads != nil {
		if err := t.reads.Point(k); err != nil {
			return ref, false, err
		}
	}
	st := t.s.cur.Load()
	if !st.db.Acquire() {
		return ref, false, errSnapshotTooOld()
	}
	defer func() { err = firstError(err, st.db.Release()) }()
	ref, found, err = t.readNewest(st.db, tbl, x, k, row)
	if err == nil && t.reads != nil && ref.Seq == 0 && t.reads.Overtaken(k) {
		// The snapshot must know of the key what the newest state does.
		var r reading
		before, err := r.get(&t.view, []byte(k))
		if err = firstError(err, r.close()); err == nil && before != found {
			err = t.reads.Fail()
		}
		if err != nil {
			return ref, false, err
		}
	}
	return ref, found, err
}

// CountNewest implements engine.Txn. Who commits a row with the key has locked the
// key, here or by deleting such a row, so what is not yet applied is waited for.
func (t *Txn) CountNewest(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum) (int, error) {
	tbl, err := t.table(ctx, rel, engine.RowShare)
	if err != nil {
		return 0, err
	}
	x := tbl.IndexOf(ix)
	if x == nil || len(key) != len(ix.Keys) {
		return 0, pgerror.New(pgerror.InternalError, "index %q of relation %q cannot be counted", ix.Name, rel.Name)
	}
	if !x.Checked(key) {
		return 0, nil
	}
	if err := t.lockKey(ctx, string(x.AppendKey(nil, key)), engine.LockUpdate); err != nil {
		return 0, err
	}
	sc, err := t.ScanNewest(ctx, engine.ScanSpec{Rel: rel, Index: ix, Spans: []engine.Span{{Lo: key, Hi: key, LoInc: true, HiInc: true}}, RowHint: 2})
	if err != nil {
		return 0, err
	}
	defer sc.Close()
	var b expr.Batch
	for n := 0; ; {
		got, err := sc.Next(&b)
		if n += got; got == 0 || n > 1 || err != nil {
			return n, err
		}
	}
}

// readNewest reads the row that a locked unique key leads to.
func (t *Txn) readNewest(db *storage.DB, tbl *storage.Table, x *storage.Index, k string, row []sqltypes.Datum) (ref engine.RowRef, found bool, err error) {
	var r reading
	if found, err = r.newest(db, &t.writes, k); err != nil || !found {
		return ref, false, err
	}
	if !x.Clustered {
		rk, err := tbl.RowKeyOfEntry(nil, []byte(k), r.val)
		if err := firstError(err, r.close()); err != nil {
			return ref, false, err
		}
		k = string(rk)
		if found, err = r.newest(db, &t.writes, k); err != nil || !found {
			return ref, false, err
		}
	}
	ref.Key, ref.Seq = k, r.seq
	if ref.Xid, err = storage.XidOf(r.val); err == nil && row != nil {
		err = tbl.DecodeRow([]byte(k), r.val, nil, row)
	}
	return ref, true, firstError(err, r.close())
}

// MovedElsewhere implements engine.PartitionMover.
func (t *Txn) MovedElsewhere(ref engine.RowRef) {
	if ref.Seq == 0 {
		t.moves = append(t.moves, move{ref.Key, ref.Xid, txn.Elsewhere})
	}
}
