package shard

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// freeze keeps what the statement sees of the buffer.
func (t *Txn) freeze() {
	if t.stmt == nil {
		t.stmt = emptyBuffer
		if t.writes.Len() > 0 {
			t.stmt = t.writes.Copy()
		}
	}
}

// put adds a write; what the statement sees of the buffer stays as it was.
func (t *Txn) put(key string, val []byte) uint32 {
	t.freeze()
	if t.reads != nil && t.failed == nil {
		if err := t.reads.Write(key); err != nil {
			t.fail(err)
		}
	}
	seq := t.writes.Put(key, val)
	if t.stream != nil {
		t.stream.put(key, txn.Write{Val: val, Seq: seq})
	} else if t.writes.Bytes() > streamAfter*int64(t.s.opts.StageThreshold) && t.xid.Load() != 0 {
		t.startStream()
	}
	if t.writes.Memory() > t.s.opts.SpillBytes {
		if err := t.writes.Spill(t.s.opts.SpillDir); err != nil {
			t.fail(spillError(err))
		}
	}
	return seq
}

func spillError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return pgerror.Wrap(err, pgerror.DiskFull, "could not write the changes of a large transaction to a temporary file: no space left on device")
	}
	return pgerror.Wrap(err, pgerror.IoError, "could not use the temporary file of a large transaction")
}

// room refuses a transaction that has grown past the maximum, and waits while the
// log is behind what it stages.
func (t *Txn) room(ctx context.Context) error {
	if t.writes.Bytes() > t.s.opts.MaxTxnBytes {
		return errTooLarge(t.s.opts.MaxTxnBytes)
	}
	if _, err := t.assignXid(ctx); err != nil {
		return err
	}
	if t.stream != nil {
		return t.stream.ready(ctx, streamsInFlight-1)
	}
	return nil
}

// entryKey is what an index says about one row.
type entryKey struct {
	vals    []sqltypes.Datum
	belongs bool
}

// eachKey calls f for every key that a row has in a secondary index.
func eachKey(wt *engine.WriteTarget, x *storage.Index, row []sqltypes.Datum, scratch []sqltypes.Datum, f func(vals []sqltypes.Datum) error) error {
	if wt.EvalMany != nil && !x.Plain() {
		keys, err := wt.EvalMany(x.Ix, row)
		for i := 0; i < len(keys) && err == nil; i++ {
			err = f(keys[i])
		}
		return err
	}
	k, err := keyOf(wt, x, row, scratch)
	if err != nil || !k.belongs {
		return err
	}
	return f(k.vals)
}

// keyOf evaluates the key of a secondary index for a row.
func keyOf(wt *engine.WriteTarget, x *storage.Index, row []sqltypes.Datum, scratch []sqltypes.Datum) (entryKey, error) {
	if x.Plain() {
		return entryKey{x.KeyOfRow(scratch[:0], row), true}, nil
	}
	if wt.Eval == nil {
		return entryKey{}, pgerror.New(pgerror.InternalError, "index %q needs an evaluator", x.Ix.Name)
	}
	vals, belongs, err := wt.Eval(x.Ix, row)
	return entryKey{vals, belongs}, err
}

// Insert implements engine.Txn.
func (t *Txn) Insert(ctx context.Context, wt *engine.WriteTarget, row []sqltypes.Datum, arbiters []*catalog.Index) (engine.RowRef, *engine.Conflict, error) {
	var ref engine.RowRef
	tbl, err := t.table(ctx, wt.Rel, engine.RowExclusive)
	if err != nil {
		return ref, nil, err
	}
	if err := t.room(ctx); err != nil {
		return ref, nil, err
	}
	if ref.Xid, err = t.assignXid(ctx); err != nil {
		return ref, nil, err
	}
	mark := t.owner.Mark()
	w := takeScratch()
	defer w.release()
	if tbl.Key != nil {
		k := tbl.Key.AppendKeyOfRow(w.key[:0], row)
		if err := tbl.Key.CheckKey(k); err != nil {
			return ref, nil, err
		}
		ref.Key = string(k)
	} else {
		id, err := t.term.nextRowID(tbl)
		if err != nil {
			return ref, nil, err
		}
		ref.Key = string(tbl.AppendHiddenKey(w.key[:0], id))
	}
	// All unique keys are claimed before anything is written, those of arbiters first:
	// a row that conflicts there is not looked at further.
	for _, first := range []bool{true, false} {
		if first && arbiters == nil {
			continue
		}
		c, err := t.claimKeys(ctx, wt, tbl, ref.Key, row, arbiters, first, w)
		if c != nil || err != nil {
			t.term.locks.ReleaseTo(&t.owner, mark)
			return ref, c, err
		}
	}
	for _, x := range tbl.Indexes {
		err := eachKey(wt, x, row, w.vals[:], func(vals []sqltypes.Datum) error { return t.putEntry(tbl, x, vals, ref.Key) })
		if err != nil {
			return ref, nil, err
		}
	}
	ref.Seq = t.put(ref.Key, tbl.AppendRow(nil, ref.Xid, row))
	t.s.usage(tbl).Inserted.Add(1)
	return ref, nil, t.failed
}

// claimKeys claims a new row's keys in the unique indexes that are arbiters, or in those that are not.
func (t *Txn) claimKeys(ctx context.Context, wt *engine.WriteTarget, tbl *storage.Table, rowKey string, row []sqltypes.Datum, arbiters []*catalog.Index, areArbiters bool, w *scratch) (*engine.Conflict, error) {
	if tbl.Key != nil && isArbiter(arbiters, tbl.Key.Ix) == areArbiters {
		c, err := t.claim(ctx, tbl, tbl.Key, rowKey, tbl.Key.KeyOfRow(w.vals[:0], row), arbiters)
		if c != nil || err != nil {
			return c, err
		}
	}
	for _, x := range tbl.Indexes {
		if !x.Ix.Unique || isArbiter(arbiters, x.Ix) != areArbiters {
			continue
		}
		var c *engine.Conflict
		err := eachKey(wt, x, row, w.vals[:], func(vals []sqltypes.Datum) (err error) {
			if c == nil && x.Exclusive(vals) {
				c, err = t.claim(ctx, tbl, x, string(x.AppendKey(nil, vals)), vals, arbiters)
			}
			return err
		})
		if c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil
}

func (t *Txn) putEntry(tbl *storage.Table, x *storage.Index, vals []sqltypes.Datum, rowKey string) error {
	key, val := tbl.AppendEntry(x, nil, nil, vals, []byte(rowKey))
	if err := x.CheckKey(key); err != nil {
		return err
	}
	t.put(string(key), val)
	return nil
}

// alone reports whether keys of the relation need no locks.
func (t *Txn) alone(rel *catalog.Relation) bool {
	c := t.checked(rel.OID)
	return c != nil && c.alone
}

// claim locks a key that is about to be inserted and answers who has it: a
// Conflict if ix is an arbiter, else 23505.
func (t *Txn) claim(ctx context.Context, tbl *storage.Table, x *storage.Index, key string, vals []sqltypes.Datum, arbiters []*catalog.Index) (*engine.Conflict, error) {
	arbiter := isArbiter(arbiters, x.Ix)
	st := t.s.cur.Load()
	if !st.db.Acquire() {
		return nil, errSnapshotTooOld()
	}
	defer st.db.Release()
	var tp *top
	if x.Clustered {
		tp = t.term.tops.table(tbl.Rel.StorageID)
	}
	if arbiter && (tp == nil || !tp.above(key)) {
		// The common case of ON CONFLICT: the row is there and stays. Waiting for
		// those who delete it or change its key is enough.
		ref, found, err := t.readNewest(st.db, tbl, x, key, nil)
		if err == nil && found && ref.Seq == 0 {
			mark := t.owner.Mark()
			if err := t.lockKey(ctx, key, engine.LockKeyShare); err != nil {
				return nil, err
			}
			ref, found, err = t.readNewest(st.db, tbl, x, key, nil)
			t.term.locks.ReleaseTo(&t.owner, mark)
			if err == nil && found {
				return t.conflict(ctx, tbl, x, ref)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	absent := false
	if b := t.bulkOf(tbl, x); b != nil {
		var err error
		if absent, err = b.claim(ctx, t, st.db, key); err != nil {
			return nil, err
		}
		absent = absent && t.reads == nil
	} else if !t.alone(tbl.Rel) {
		if err := t.lockKey(ctx, key, engine.LockUpdate); err != nil {
			return nil, err
		}
	}
	if tp != nil {
		free, err := tp.note(t.s, st.db, x.Prefix, key)
		if err != nil || free {
			return nil, err
		}
	}
	if absent {
		return nil, nil
	}
	var r reading
	var found bool
	var err error
	if c := t.checked(tbl.Rel.OID); x.Clustered && c != nil && c.fresh {
		w, ok := t.writes.Get(key)
		found = ok && w.Val != nil
	} else {
		found, err = r.newest(st.db, &t.writes, key)
	}
	if err != nil || !found {
		return nil, err
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	if t.reads != nil { // that it is there; of a key that is free our own write tells enough
		note := t.reads.Point
		if !arbiter && r.seq == 0 {
			// If both have seen that the key is free, trying again helps.
			note = t.reads.Duplicate
		}
		if err := note(key); err != nil {
			return nil, err
		}
	}
	if !arbiter {
		return nil, t.uniqueViolation(tbl, x, vals)
	}
	ref, found, err := t.readNewest(st.db, tbl, x, key, nil)
	if err != nil || !found {
		return nil, err
	}
	return t.conflict(ctx, tbl, x, ref)
}

func isArbiter(arbiters []*catalog.Index, ix *catalog.Index) bool {
	if arbiters == nil {
		return false
	}
	for _, a := range arbiters {
		if a.OID == ix.OID {
			return true
		}
	}
	return len(arbiters) == 0
}

func (t *Txn) conflict(ctx context.Context, tbl *storage.Table, x *storage.Index, ref engine.RowRef) (*engine.Conflict, error) {
	c := &engine.Conflict{Index: x.Ix, Ref: ref, Own: ref.Seq > t.stmtSeq}
	if t.opts.Isolation != engine.ReadCommitted && ref.Seq == 0 {
		// PostgreSQL's ExecCheckTupleVisible: the row must be one the snapshot has.
		if err := t.ensure(); err != nil {
			return nil, err
		}
		t.see()
		var r reading
		found, err := r.get(&t.view, []byte(ref.Key))
		if err != nil {
			return nil, err
		}
		var xid uint64
		if found {
			xid, err = storage.XidOf(r.val)
		}
		if err := firstError(err, r.close()); err != nil {
			return nil, err
		}
		if xid != ref.Xid {
			return nil, errConcurrentUpdate()
		}
	}
	return c, nil
}

// uniqueViolation is PostgreSQL's 23505.
func (t *Txn) uniqueViolation(tbl *storage.Table, x *storage.Index, vals []sqltypes.Datum) error {
	return t.keyError(tbl, x, "duplicate key value violates unique constraint %q", "Key (%s)=(%s) already exists.", vals)
}

func (t *Txn) keyError(tbl *storage.Table, x *storage.Index, message, detail string, vals []sqltypes.Datum) error {
	names := make([]string, len(x.Ix.Keys))
	texts := make([]string, len(x.Ix.Keys))
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	for i, k := range x.Ix.Keys {
		names[i] = k.Expr
		if k.Attr > 0 {
			names[i] = quoteIdent(tbl.Rel.Columns[k.Attr-1].Name)
		}
		texts[i] = "null"
		if !vals[i].Null {
			texts[i] = string(x.Type(i).Out(env, nil, vals[i]))
		}
	}
	schema := ""
	if cat := t.Catalog(); cat != nil {
		if s := cat.Schema(tbl.Rel.Schema); s != nil {
			schema = s.Name
		}
	}
	return pgerror.New(pgerror.UniqueViolation, message, x.Ix.Name).
		WithDetail(detail, strings.Join(names, ", "), strings.Join(texts, ", ")).
		WithTable(schema, tbl.Rel.Name).WithConstraint(x.Ix.Name)
}

// quoteIdent quotes an identifier when PostgreSQL's quote_identifier would
// because of its characters.
func quoteIdent(s string) string {
	safe := s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] == '_')
	for i := 0; safe && i < len(s); i++ {
		c := s[i]
		safe = c >= 'a' && c <= 'z' || c == '_' || c >= '0' && c <= '9'
	}
	if safe {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// Update implements engine.Txn.
func (t *Txn) Update(ctx context.Context, wt *engine.WriteTarget, ref engine.RowRef, old, row []sqltypes.Datum) (engine.RowRef, error) {
	tbl, err := t.table(ctx, wt.Rel, engine.RowExclusive)
	if err != nil {
		return ref, err
	}
	if err := t.room(ctx); err != nil {
		return ref, err
	}
	xid, err := t.assignXid(ctx)
	if err != nil {
		return ref, err
	}
	to := engine.RowRef{Key: ref.Key, Xid: xid}
	if tbl.Key != nil {
		w := takeScratch()
		defer w.release()
		k := tbl.Key.AppendKeyOfRow(w.key[:0], row)
		if string(k) != ref.Key {
			if err := tbl.Key.CheckKey(k); err != nil {
				return ref, err
			}
			to.Key = string(k)
			if err := t.lockKey(ctx, ref.Key, engine.LockUpdate); err != nil {
				return ref, err
			}
			if _, err := t.claim(ctx, tbl, tbl.Key, to.Key, tbl.Key.KeyOfRow(nil, row), nil); err != nil {
				return ref, err
			}
		}
	}
	if err := t.updateEntries(ctx, wt, tbl, ref.Key, to.Key, old, row); err != nil {
		return ref, err
	}
	if to.Key != ref.Key {
		t.put(ref.Key, nil)
		t.moves = append(t.moves, move{ref.Key, ref.Xid, to.Key})
	}
	to.Seq = t.put(to.Key, tbl.AppendRow(nil, xid, row))
	t.s.usage(tbl).Updated.Add(1)
	return to, t.failed
}

// indexChange is what an update does to one index.
type indexChange struct {
	x        *storage.Index
	from, to entryKey
}

func (t *Txn) updateEntries(ctx context.Context, wt *engine.WriteTarget, tbl *storage.Table, oldKey, newKey string, old, row []sqltypes.Datum) error {
	var changes []indexChange
	for _, x := range tbl.Indexes {
		if oldKey == newKey && x.Plain() && x.SameKey(old, row) {
			continue
		}
		if wt.EvalMany != nil && !x.Plain() {
			if err := t.updateMany(ctx, wt, tbl, x, oldKey, newKey, old, row); err != nil {
				return err
			}
			continue
		}
		from, err := keyOf(wt, x, old, nil)
		if err != nil {
			return err
		}
		to, err := keyOf(wt, x, row, nil)
		if err != nil {
			return err
		}
		if !from.belongs && !to.belongs {
			continue
		}
		fromKey, toKey := "", ""
		if from.belongs {
			fromKey = string(x.AppendKey(nil, from.vals))
		}
		if to.belongs {
			toKey = string(x.AppendKey(nil, to.vals))
		}
		if fromKey == toKey && oldKey == newKey {
			continue
		}
		if fromKey != toKey {
			if from.belongs && (x.Exclusive(from.vals) || x.Checked(from.vals)) {
				if err := t.lockKey(ctx, fromKey, engine.LockUpdate); err != nil {
					return err
				}
			}
			if to.belongs && x.Exclusive(to.vals) {
				if _, err := t.claim(ctx, tbl, x, toKey, to.vals, nil); err != nil {
					return err
				}
			}
		}
		changes = append(changes, indexChange{x, from, to})
	}
	for _, c := range changes {
		if c.from.belongs {
			key, _ := tbl.AppendEntry(c.x, nil, nil, c.from.vals, []byte(oldKey))
			t.put(string(key), nil)
		}
		if c.to.belongs {
			if err := t.putEntry(tbl, c.x, c.to.vals, newKey); err != nil {
				return err
			}
		}
	}
	return nil
}

// updateMany changes the entries of a row in an index with any number of keys.
func (t *Txn) updateMany(ctx context.Context, wt *engine.WriteTarget, tbl *storage.Table, x *storage.Index, oldKey, newKey string, old, row []sqltypes.Datum) error {
	before := map[string]bool{} // entries' keys; true: to stay
	var gone [][]sqltypes.Datum
	err := eachKey(wt, x, old, nil, func(vals []sqltypes.Datum) error {
		before[string(x.AppendKey(nil, vals))] = false
		gone = append(gone, vals)
		return nil
	})
	if err != nil {
		return err
	}
	var added [][]sqltypes.Datum
	err = eachKey(wt, x, row, nil, func(vals []sqltypes.Datum) error {
		key := string(x.AppendKey(nil, vals))
		if _, had := before[key]; had {
			before[key] = true
			if oldKey == newKey {
				return nil
			}
		} else if x.Exclusive(vals) {
			if _, err := t.claim(ctx, tbl, x, key, vals, nil); err != nil {
				return err
			}
		}
		added = append(added, vals)
		return nil
	})
	if err != nil {
		return err
	}
	for _, vals := range gone {
		key := string(x.AppendKey(nil, vals))
		if before[key] && oldKey == newKey {
			continue
		}
		if !before[key] && x.Exclusive(vals) {
			if err := t.lockKey(ctx, key, engine.LockUpdate); err != nil {
				return err
			}
		}
		entry, _ := tbl.AppendEntry(x, nil, nil, vals, []byte(oldKey))
		t.put(string(entry), nil)
	}
	for _, vals := range added {
		if err := t.putEntry(tbl, x, vals, newKey); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements engine.Txn.
func (t *Txn) Delete(ctx context.Context, wt *engine.WriteTarget, ref engine.RowRef, old []sqltypes.Datum) error {
	tbl, err := t.table(ctx, wt.Rel, engine.RowExclusive)
	if err != nil {
		return err
	}
	if err := t.room(ctx); err != nil {
		return err
	}
	if _, err := t.assignXid(ctx); err != nil {
		return err
	}
	w := takeScratch()
	defer w.release()
	for _, x := range tbl.Indexes {
		err := eachKey(wt, x, old, w.vals[:], func(vals []sqltypes.Datum) error {
			key, _ := tbl.AppendEntry(x, nil, nil, vals, []byte(ref.Key))
			if (x.Exclusive(vals) || x.Checked(vals)) && !t.alone(wt.Rel) {
				if err := t.lockKey(ctx, string(x.AppendKey(nil, vals)), engine.LockUpdate); err != nil {
					return err
				}
			}
			t.put(string(key), nil)
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.put(ref.Key, nil)
	t.s.usage(tbl).Deleted.Add(1)
	return t.failed
}
