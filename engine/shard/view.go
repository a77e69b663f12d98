package shard

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// view implements engine.View over one snapshot. buf, when not nil, holds the
// transaction's own writes that the view sees.
type view struct {
	s    *Shard
	st   *state
	snap *storage.Snapshot
	at   time.Time // when snap was taken
	cat  *catalog.Catalog
	buf  *txn.Buffer
	// reads, when not nil, is told what was read (SERIALIZABLE).
	reads *txn.Serial
	// newest: the view is of the newest state, not of the transaction's snapshot.
	newest bool
}

var _ engine.View = (*view)(nil)

// View opens a read-only snapshot of the newest applied local state.
func (s *Shard) View(ctx context.Context, db sqltypes.OID) (engine.View, error) {
	v := &view{s: s}
	v.open()
	if v.cat = v.st.cats.Database(db); v.cat == nil {
		v.Close()
		return nil, errNoDatabase()
	}
	return v, nil
}

func (v *view) open() {
	v.st, v.snap = v.s.snapshot()
	v.at = v.s.opts.Now()
}

func (v *view) Close() {
	if v.snap == nil {
		return
	}
	if err := v.snap.Close(); err != nil {
		v.s.log.Error("closing a snapshot", "error", err)
	}
	if err := v.st.db.Release(); err != nil {
		v.s.log.Error("closing a state", "error", err)
	}
	v.snap = nil
}

func (v *view) Catalog() *catalog.Catalog    { return v.cat }
func (v *view) Position() commitlog.Position { return v.st.applied.Position }

func (v *view) alive() error {
	if v.snap == nil {
		return errFinished()
	}
	return v.s.usable(v.st, v.at)
}

// EstimateBytes implements engine.View.
func (v *view) EstimateBytes(rel *catalog.Relation, ix *catalog.Index) int64 {
	if v.alive() != nil {
		return 0
	}
	id := rel.StorageID
	if ix != nil && !ix.Clustered {
		id = ix.StorageID
	}
	lo, hi := storage.DataRange(id)
	return v.st.db.EstimateBytes(lo, hi)
}

// keyIndex finds the codec of a complete unique key.
func keyIndex(tbl *storage.Table, ix *catalog.Index, key []sqltypes.Datum) (*storage.Index, error) {
	x := tbl.IndexOf(ix)
	if x == nil {
		return nil, pgerror.New(pgerror.InternalError, "relation %q has no such key", tbl.Rel.Name)
	}
	if len(key) != x.NumCols() {
		return nil, pgerror.New(pgerror.InternalError, "key of %d columns for index %q of %d", len(key), x.Ix.Name, x.NumCols())
	}
	return x, nil
}

// Get implements engine.View.
func (v *view) Get(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (engine.RowRef, bool, error) {
	var ref engine.RowRef
	if err := v.alive(); err != nil {
		return ref, false, err
	}
	tbl, err := storage.TableOf(v.cat, rel)
	if err != nil {
		return ref, false, err
	}
	x, err := keyIndex(tbl, ix, key)
	if err != nil {
		return ref, false, err
	}
	if !x.Clustered && !x.Exclusive(key) {
		return ref, false, nil // a NULL equals nothing
	}
	use := v.s.usage(tbl)
	use.Read(x, 1, 0)
	buf := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buf)
	*buf = x.AppendKey((*buf)[:0], key)
	k := *buf
	if v.reads != nil {
		if err := v.reads.Point(string(k)); err != nil {
			return ref, false, err
		}
	}
	if !x.Clustered {
		var e reading
		found, err := e.get(v, k)
		if err != nil || !found {
			return ref, false, err
		}
		k, err = tbl.RowKeyOfEntry(nil, k, e.val)
		if err := firstError(err, e.close()); err != nil {
			return ref, false, err
		}
		if v.reads != nil {
			if err := v.reads.Point(string(k)); err != nil {
				return ref, false, err
			}
		}
	}
	var r reading
	found, err := r.get(v, k)
	if err != nil || !found {
		return ref, false, err
	}
	use.Read(x, 0, 1)
	ref.Seq = r.seq
	if ref.Xid, err = storage.XidOf(r.val); err == nil {
		err = tbl.DecodeRow(k, r.val, colsOrNone(cols), dst)
	}
	ref.Key = string(k)
	return ref, true, firstError(err, r.close())
}

// keyBuffers hold keys while they are looked up (pebble makes them escape).
var keyBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 128); return &b }}

// colsOrNone keeps "no columns" apart from nil, which DecodeRow takes for all.
func colsOrNone(cols []int16) []int16 {
	if cols == nil {
		return []int16{}
	}
	return cols
}

// reading is one value that was read and what is to be closed after.
type reading struct {
	val    []byte
	seq    uint32
	closer interface{ Close() error }
}

// get reads a key through the view's own writes and its snapshot.
func (r *reading) get(v *view, key []byte) (bool, error) {
	if v.buf != nil && v.buf.Len() > 0 {
		if w, ok := v.buf.Get(unsafe.String(unsafe.SliceData(key), len(key))); ok {
			r.val, r.seq = w.Val, w.Seq
			return w.Val != nil, nil
		}
	}
	val, closer, found, err := storage.GetSnapshot(v.snap, key)
	r.val, r.closer = val, closer
	return found, err
}

// newest reads a key through buf and the newest applied state.
func (r *reading) newest(db *storage.DB, buf *txn.Buffer, key string) (bool, error) {
	if buf != nil && buf.Len() > 0 {
		if w, ok := buf.Get(key); ok {
			r.val, r.seq = w.Val, w.Seq
			return w.Val != nil, nil
		}
	}
	val, closer, found, err := db.Get(unsafe.Slice(unsafe.StringData(key), len(key)))
	r.val, r.closer, r.seq = val, closer, 0
	return found, err
}

func (r *reading) close() error {
	if r.closer == nil {
		return nil
	}
	c := r.closer
	r.closer, r.val = nil, nil
	return c.Close()
}

// GetNewest implements engine.Engine.
func (s *Shard) GetNewest(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (found, stale bool, err error) {
	ddl := s.ddl.Load()
	st := s.cur.Load()
	if ddl&1 != 0 || st.cats.Database(cat.DB) != cat || !st.db.Acquire() {
		return false, true, nil
	}
	defer func() { err = firstError(err, st.db.Release()) }()
	tbl, err := storage.TableOf(cat, rel)
	if err != nil {
		return false, false, err
	}
	x, err := keyIndex(tbl, ix, key)
	if err != nil {
		return false, false, err
	}
	if !x.Clustered && !x.Exclusive(key) {
		return false, false, nil
	}
	buf := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buf)
	*buf = x.AppendKey((*buf)[:0], key)
	k := *buf
	if x.Clustered {
		if found, err = getByKey(st, tbl, k, cols, dst); err != nil {
			return false, false, err
		}
	} else if found, err = getByIndex(st.db, tbl, k, cols, dst); err != nil {
		return false, false, err
	}
	if s.ddl.Load() != ddl {
		return false, true, nil
	}
	n := int64(0)
	if found {
		n = 1
	}
	s.usage(tbl).Read(x, 1, n)
	return found, false, nil
}

// getByKey reads a row by its key.
func getByKey(st *state, tbl *storage.Table, key []byte, cols []int16, dst []sqltypes.Datum) (found bool, err error) {
	kept, at, ok := st.rows.Row(key)
	if ok {
		return true, tbl.DecodeRow(key, unsafe.Slice(unsafe.StringData(kept), len(kept)), colsOrNone(cols), dst)
	}
	val, closer, found, err := st.db.Get(key)
	if err != nil || !found {
		return false, err
	}
	st.rows.PutRow(at, string(key), string(val))
	return true, firstError(tbl.DecodeRow(key, val, colsOrNone(cols), dst), closer.Close())
}

// getByIndex reads the row that a unique index's key leads to. Two reads need one state.
func getByIndex(db *storage.DB, tbl *storage.Table, key []byte, cols []int16, dst []sqltypes.Datum) (found bool, err error) {
	snap := db.NewSnapshot()
	defer func() { err = firstError(err, snap.Close()) }()
	val, closer, found, err := storage.GetSnapshot(snap, key)
	if err != nil || !found {
		return false, err
	}
	rowKey, err := tbl.RowKeyOfEntry(nil, key, val)
	if err := firstError(err, closer.Close()); err != nil {
		return false, err
	}
	if val, closer, found, err = storage.GetSnapshot(snap, rowKey); err != nil || !found {
		return false, err
	}
	return true, firstError(tbl.DecodeRow(rowKey, val, colsOrNone(cols), dst), closer.Close())
}
