package shard

import (
	"context"
	"strings"
	"unsafe"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/rowcache"
	"ostraka/engine/storage"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ReadNewest implements engine.Engine.
func (s *Shard) ReadNewest(ctx context.Context, cat *catalog.Catalog, read func(r engine.NewestReader) error) (stale bool, err error) {
	ddl := s.ddl.Load()
	st := s.cur.Load()
	if ddl&1 != 0 || st.cats.Database(cat.DB) != cat || !st.db.Acquire() {
		return true, nil
	}
	r := newestReader{ctx: ctx, db: st.db, rows: st.rows, cat: cat}
	defer func() { err = firstError(err, r.close(), st.db.Release()) }()
	if err := read(&r); err != nil {
		return false, err
	}
	return s.ddl.Load() != ddl, nil
}

// newestReader reads with one iterator, whose state is that of its first use.
type newestReader struct {
	ctx  context.Context
	db   *storage.DB
	rows *rowcache.Cache
	cat  *catalog.Catalog
	it   *storage.Iter
}

func (r *newestReader) close() error {
	if r.it == nil {
		return nil
	}
	return r.it.Close()
}

// iter is the iterator with these bounds.
func (r *newestReader) iter(lo, hi []byte) (*storage.Iter, error) {
	if r.it != nil {
		r.it.SetBounds(lo, hi)
		return r.it, nil
	}
	var err error
	r.it, err = r.db.NewIter(r.ctx, lo, hi)
	return r.it, err
}

// at resolves a span.
func (r *newestReader) at(rel *catalog.Relation, ix *catalog.Index, span engine.Span) (tbl *storage.Table, x *storage.Index, sp byteSpan, ok bool, err error) {
	if tbl, err = storage.TableOf(r.cat, rel); err != nil {
		return nil, nil, sp, false, err
	}
	if ix != nil && !ix.Clustered {
		if x = tbl.IndexOf(ix); x == nil {
			return nil, nil, sp, false, pgerror.New(pgerror.InternalError, "relation %q has no index %q", rel.Name, ix.Name)
		}
	}
	one := [1]engine.Span{span}
	spans, err := byteSpans(tbl, x, one[:])
	if err != nil || len(spans) == 0 {
		return nil, nil, sp, false, err
	}
	return tbl, x, spans[0], true, nil
}

func (r *newestReader) Any(rel *catalog.Relation, ix *catalog.Index, span engine.Span) (bool, error) {
	_, _, sp, ok, err := r.at(rel, ix, span)
	if !ok || err != nil {
		return false, err
	}
	it, err := r.iter(sp.lo, sp.hi)
	if err != nil {
		return false, err
	}
	return it.First(), storage.ReadError(it.Error())
}

// Entries of an index are read in portions before their rows are; the first is
// small, for most lookups find one row.
const (
	firstEntries = 4
	moreEntries  = 64
)

func (r *newestReader) Rows(rel *catalog.Relation, ix *catalog.Index, span engine.Span, reverse bool, attr int16, f func(key, val string) (bool, error)) error {
	tbl, x, sp, ok, err := r.at(rel, ix, span)
	if !ok || err != nil {
		return err
	}
	if x == nil {
		_, err := r.portion(sp, reverse, -1, func(key, val []byte) (bool, error) { return row(tbl, key, val, attr, f) })
		return err
	}
	lo, hi := storage.DataRange(rel.StorageID)
	var keys [][]byte
	for size := firstEntries; ; size = moreEntries {
		keys = keys[:0]
		last, err := r.portion(sp, reverse, size, func(key, val []byte) (bool, error) {
			k, err := tbl.RowKeyOfEntry(nil, key, val)
			keys = append(keys, k)
			return true, err
		})
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		it, err := r.iter(lo, hi)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if !it.SeekGE(k) || string(it.Key()) != string(k) {
				if err := it.Error(); err != nil {
					return storage.ReadError(err)
				}
				return pgerror.New(pgerror.IndexCorrupted, "index %q points to a row that does not exist", ix.Name)
			}
			val, err := it.ValueAndErr()
			if err != nil {
				return storage.ReadError(err)
			}
			if more, err := row(tbl, k, val, attr, f); !more || err != nil {
				return err
			}
		}
		if len(keys) < size {
			return nil
		}
		if reverse {
			sp.hi = last
		} else {
			sp.lo = append(last, 0)
		}
	}
}

// Same implements engine.NewestReader: the keys of the rows and the rows are looked
// for in memory first. They have to be of one state, so their stamps are looked at
// again when all have been read.
func (r *newestReader) Same(rel *catalog.Relation, ix *catalog.Index, value sqltypes.Datum, attr int16, f func(key, val string) (bool, error)) error {
	one := [1]sqltypes.Datum{value}
	span := engine.Span{Lo: one[:], Hi: one[:], LoInc: true, HiInc: true}
	all := func() error {
		return r.Rows(rel, ix, span, false, attr, func(key, val string) (bool, error) { return f(key, strings.Clone(val)) })
	}
	tbl, x, sp, ok, err := r.at(rel, ix, span)
	if !ok || err != nil {
		return err
	}
	if x == nil || rowcache.FirstColumn(sp.lo) != len(sp.lo) {
		return all()
	}
	keys, at, known := r.rows.Keys(sp.lo)
	if !known {
		if !r.rows.Holds(at) {
			return all()
		}
		_, err := r.portion(sp, false, firstEntries, func(key, val []byte) (bool, error) {
			k, err := tbl.RowKeyOfEntry(nil, key, val)
			keys = append(keys, string(k))
			return true, err
		})
		if err != nil {
			return err
		}
		if len(keys) == firstEntries { // there may be more
			return all()
		}
		r.rows.PutKeys(at, string(sp.lo), keys)
	}
	var vals [firstEntries]string
	var stamps [firstEntries]rowcache.Stamp
	current := true
	for i, k := range keys {
		var found bool
		if vals[i], stamps[i], found, err = cachedRow(r.db, r.rows, k); err != nil {
			return err
		}
		current = current && found
	}
	for i := range keys {
		current = current && r.rows.Holds(stamps[i])
	}
	if !current || !r.rows.Holds(at) {
		return all()
	}
	for i, k := range keys {
		v, err := tbl.VarValue(unsafe.Slice(unsafe.StringData(vals[i]), len(vals[i])), attr)
		if err != nil {
			return err
		}
		if more, err := f(k, unsafe.String(unsafe.SliceData(v), len(v))); !more || err != nil {
			return err
		}
	}
	return nil
}

// cachedRow reads a row of the newest state by its key; at tells whether it still is.
func cachedRow(db *storage.DB, rows *rowcache.Cache, key string) (val string, at rowcache.Stamp, found bool, err error) {
	k := unsafe.Slice(unsafe.StringData(key), len(key))
	if val, at, found = rows.Row(k); found {
		return val, at, true, nil
	}
	b, closer, found, err := db.Get(k)
	if err != nil || !found {
		return "", at, false, err
	}
	val = string(b)
	rows.PutRow(at, key, val)
	return val, at, true, closer.Close()
}

func row(tbl *storage.Table, key, val []byte, attr int16, f func(key, val string) (bool, error)) (bool, error) {
	v, err := tbl.VarValue(val, attr)
	if err != nil {
		return false, err
	}
	return f(unsafe.String(unsafe.SliceData(key), len(key)), unsafe.String(unsafe.SliceData(v), len(v)))
}

// portion calls f for up to n (negative: all) entries of a span; last is a copy of
// the key of the last one.
func (r *newestReader) portion(sp byteSpan, reverse bool, n int, f func(key, val []byte) (bool, error)) (last []byte, err error) {
	it, err := r.iter(sp.lo, sp.hi)
	if err != nil {
		return nil, err
	}
	valid := false
	if reverse {
		valid = it.Last()
	} else {
		valid = it.First()
	}
	for ; valid; n-- {
		val, err := it.ValueAndErr()
		if err != nil {
			return nil, storage.ReadError(err)
		}
		if n == 1 {
			last = append(last, it.Key()...)
		}
		if more, err := f(it.Key(), val); !more || err != nil || n == 1 {
			return last, err
		}
		if reverse {
			valid = it.Prev()
		} else {
			valid = it.Next()
		}
	}
	if err := it.Error(); err != nil {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		return nil, storage.ReadError(err)
	}
	return nil, nil
}
