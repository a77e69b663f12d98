package tsdb

import (
	"context"
	"errors"
	"math"
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/store"
)

// RefreshQuery gives f the rows of a continuous aggregate's query over the raw rows
// whose time is in [lo, hi), as they are now; a row is only valid during the call.
type RefreshQuery func(ctx context.Context, lo, hi int64, f func(row []sqltypes.Datum) error) error

// RefreshResult counts what a refresh did.
type RefreshResult struct {
	Buckets int64 // computed anew
	Rows    int64 // written
}

// refreshBuckets is how many buckets are computed in one go, unless a raw window
// has more.
const refreshBuckets = 4096

// Refresh stores the buckets of a continuous aggregate that lie in [lo, hi) as a
// whole and are not stored, or are out of date. Each part of it is one record of
// the log: buckets, and marks that they are up to date. Buckets whose rows are
// written meanwhile stay without a mark. One refresh of an aggregate runs at a time.
func (db *DB) Refresh(ctx context.Context, view, storeRel *catalog.Relation, from []*catalog.Relation, lo, hi int64, query RefreshQuery) (res RefreshResult, err error) {
	if err := db.opt.Refused(); err != nil {
		return res, err
	}
	var tables []*store.Table // of the raw rows, and of the buckets between
	for _, r := range from {
		_, t, err := db.Relation(r)
		if err != nil {
			return res, err
		}
		if t != nil {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 || tables[0].ID != from[0].StorageID { // this node has no rows
		return res, nil
	}
	raw := tables[0]
	rel, table, err := db.Define(storeRel)
	if err != nil {
		return res, err
	}
	bs := view.Rollup.Buckets
	m, err := db.beginRefresh(ctx, rel.Rel.StorageID, raw.ID, bs)
	if err != nil {
		return res, err
	}
	defer func() {
		db.marks.gate.Lock()
		m.mu.Lock()
		m.dirty, m.all = nil, false
		m.mu.Unlock()
		db.marks.gate.Unlock()
		<-m.refresh
	}()
	todo, err := db.toRefresh(ctx, m, tables, table, lo, hi)
	if err != nil {
		return res, err
	}
	w := &refresher{db: db, m: m, rel: rel, table: table, query: query, res: &res}
	for _, r := range todo {
		if err := w.stretch(ctx, r, uint64(raw.Window)); err != nil {
			return res, err
		}
	}
	return res, nil
}

// beginRefresh waits for its turn and has writers note what they touch from now on.
func (db *DB) beginRefresh(ctx context.Context, storeID, raw uint64, bs sqltypes.Buckets) (*marks, error) {
	db.marks.gate.Lock()
	m, err := db.defineMarks(storeID, raw, bs)
	db.marks.gate.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case m.refresh <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	// What has been written when the gate is ours is visible to every later snapshot.
	db.marks.gate.Lock()
	defer db.marks.gate.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dirty, m.all = map[int64]struct{}{}, false
	clear(m.gone)
	return m, nil
}

// toRefresh are the ranges without marks where there may be rows, or stored buckets
// that are out of date; each list is of ranges that have nothing else between them.
func (db *DB) toRefresh(ctx context.Context, m *marks, tables []*store.Table, stored *store.Table, lo, hi int64) ([][]store.Range, error) {
	snap := db.st.Snapshot()
	defer snap.Close()
	hull, any := store.Range{Lo: math.MaxInt64, Hi: math.MinInt64}, false
	for _, t := range tables {
		h, some, err := snap.Hull(ctx, t)
		if err != nil {
			return nil, err
		}
		if some {
			hull.Lo, hull.Hi, any = min(hull.Lo, h.Lo), max(hull.Hi, h.Hi), true
		}
	}
	if !any {
		return nil, nil
	}
	// An unbounded refresh needs no bound that is one of a bucket: what is before the
	// first row and after the last is left out below.
	if lo <= hull.Lo {
		if start, err := floorBuckets(m.buckets, hull.Lo); err == nil {
			lo = start
		}
	} else if start, err := floorBuckets(m.buckets, lo); err != nil {
		return nil, err
	} else if start < lo {
		if lo, err = nextBucket(m.buckets, start); err != nil {
			return nil, err
		}
	}
	last, err := floorBuckets(m.buckets, min(hi, hull.Hi))
	if err != nil {
		return nil, err
	}
	end := last
	if hull.Hi < hi { // the last bucket with rows, if the range has all of it
		if end, err = nextBucket(m.buckets, last); err != nil || end > hi {
			end = last
		}
	}
	if lo >= end {
		return nil, nil
	}
	rng := store.Range{Lo: lo, Hi: end - 1}
	valid, err := m.marked(ctx, snap, rng)
	if err != nil {
		return nil, err
	}
	stale := without(rng, valid)
	var busy []store.Range
	for _, t := range append(slices.Clone(tables), stored) {
		list, err := snap.Busy(ctx, t, stale, cellLength(m.buckets))
		if err != nil {
			return nil, err
		}
		busy = append(busy, list...)
	}
	busy = joined(busy)
	var out [][]store.Range
	for _, r := range stale {
		for len(busy) > 0 && busy[0].Hi < r.Lo {
			busy = busy[1:]
		}
		n := 0
		for n < len(busy) && busy[n].Lo <= r.Hi {
			n++
		}
		if n > 0 {
			out = append(out, both([]store.Range{r}, busy[:n]))
		}
	}
	return out, nil
}

// cellLength is about how long a cell is.
func cellLength(b sqltypes.Buckets) int64 {
	w := Width{Usec: b.Width, Months: b.Months}
	if b.Zone != "" {
		w = cellWidth(b)
	}
	if w.Months > 0 {
		return min(w.Months, 10_000) * 31 * day
	}
	return w.Usec
}

// refresher computes and writes buckets.
type refresher struct {
	db    *DB
	m     *marks
	rel   *Relation
	table *store.Table
	query RefreshQuery
	res   *RefreshResult
}

// stretch refreshes the buckets of ranges that have nothing between them, part by part.
func (w *refresher) stretch(ctx context.Context, list []store.Range, window uint64) error {
	limit := refreshBuckets
	var from, next int64 // the first bucket not computed, if it is after the start of list[0]
	for started := false; len(list) > 0; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		var starts []int64
		rest, at, on := list, from, started
		for len(rest) > 0 {
			if !on || at < rest[0].Lo {
				start, err := floorBuckets(w.m.buckets, rest[0].Lo)
				if err != nil {
					return err
				}
				if !on || start > at {
					at = start
				}
			}
			on = true
			if at > rest[0].Hi {
				rest = rest[1:]
				continue
			}
			if n := len(starts); n >= limit && (limit < refreshBuckets || n >= 64*refreshBuckets || uint64(at)-uint64(starts[0]) >= window) {
				break
			}
			end, err := nextBucket(w.m.buckets, at)
			if err != nil {
				return err
			}
			starts = append(starts, at)
			at, next = end, end
		}
		if len(starts) == 0 {
			return nil
		}
		err := w.part(ctx, starts, next)
		if pgerror.Is(err, pgerror.ProgramLimitExceeded) && len(starts) > 1 {
			limit = len(starts) / 2
			continue
		}
		if err != nil {
			return err
		}
		list, from, started = rest, at, true
	}
	return nil
}

// part computes the buckets that begin at starts, up to end, and commits them.
func (w *refresher) part(ctx context.Context, starts []int64, end int64) error {
	b := w.db.st.NewBatch()
	snap := w.db.st.Snapshot()
	defer snap.Close()
	sc := snap.Scan(ctx, w.table, nil, store.Range{Lo: starts[0], Hi: end - 1}, func(int16) bool { return false })
	defer sc.Close()
	for sc.Next() {
		for _, t := range sc.Rows().Time {
			b.Delete(sc.Series(), t)
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	tx := txn{db: w.db, batch: b}
	rows := int64(0)
	err := w.query(ctx, starts[0], end, func(row []sqltypes.Datum) error {
		s, err := tx.place(w.rel, w.table, row)
		if err != nil {
			return err
		}
		rows++
		tx.put(w.rel, w.table, s, row)
		if int64(b.Size()) > w.db.maxTxn {
			return pgerror.New(pgerror.ProgramLimitExceeded, "a refresh of a continuous aggregate writes too many rows")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.commit(ctx, b, starts); err != nil {
		return err
	}
	w.res.Buckets += int64(len(starts))
	w.res.Rows += rows
	return nil
}

// commit marks the buckets that nobody has written to since the refresh began, and
// writes everything at once.
func (w *refresher) commit(ctx context.Context, b *store.Batch, starts []int64) error {
	w.db.marks.gate.Lock()
	defer w.db.marks.gate.Unlock()
	w.m.mu.Lock()
	high := w.m.high
	for _, t := range starts {
		if _, dirty := w.m.dirty[t]; dirty || w.m.all {
			continue
		}
		b.Put(w.m.series, t, nil)
		high = max(high, t)
	}
	// Before the marks are there: a writer must look for them from now on.
	w.m.high = high
	w.m.mu.Unlock()
	err := w.db.st.Append(ctx, b, true)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// RefreshBounds are the times for "as far as there are rows".
const (
	RefreshFrom = math.MinInt64
	RefreshTo   = math.MaxInt64
)
