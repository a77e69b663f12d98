package tsdb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// Which buckets of a continuous aggregate are stored and up to date is written in a
// table of the store with a row, a mark, per such bucket. A batch that writes raw
// rows deletes the marks of their buckets in the same record of the log, so that no
// crash can part them; a refresh writes buckets and marks in one record. Reading
// takes marks, buckets and raw rows from one snapshot.

// markBit is set in the ids of tables of marks; the rest is the storage id of the
// table that has the buckets.
const markBit = 1 << 62

// maxDirty bounds the buckets that a refresh remembers as written to meanwhile, and
// the ones known to have no mark.
const maxDirty = 1 << 16

// marks are those of one continuous aggregate and the raw table it was made from.
type marks struct {
	store, raw uint64 // storage ids
	buckets    sqltypes.Buckets
	series     *store.Series

	refresh chan struct{} // has room for the one refresh at a time

	mu sync.Mutex
	// high: no bucket after it has a mark. Guarded by mu, as all below.
	high int64
	// dirty are the buckets written to since the refresh began; nil: none runs. all:
	// too many to tell.
	dirty map[int64]struct{}
	all   bool
	// gone are buckets that have no mark for sure.
	gone map[int64]struct{}
}

// marksTable finds marks.
type marksTable struct {
	// gate is held shared by writers from looking for marks until their rows are
	// visible, and alone by a refresh when it begins and when it commits.
	gate sync.RWMutex

	mu    sync.RWMutex
	byRaw map[uint64][]*marks // guarded by mu; the lists are replaced, not changed
}

func (t *marksTable) of(raw uint64) []*marks {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byRaw[raw]
}

func (t *marksTable) find(storeID, raw uint64) *marks {
	for _, m := range t.of(raw) {
		if m.store == storeID {
			return m
		}
	}
	return nil
}

func (t *marksTable) add(m *marks) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byRaw == nil {
		t.byRaw = map[uint64][]*marks{}
	}
	t.byRaw[m.raw] = append(slices.Clone(t.byRaw[m.raw]), m)
}

// forget drops the marks of a table of buckets.
func (t *marksTable) forget(storeID uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for raw, list := range t.byRaw {
		t.byRaw[raw] = slices.DeleteFunc(slices.Clone(list), func(m *marks) bool { return m.store == storeID })
	}
}

// newMarks are the marks of a series, whose tags are the raw table and the buckets.
func newMarks(s *store.Series) (*marks, error) {
	m := &marks{store: s.Table.ID &^ markBit, series: s, high: math.MinInt64, refresh: make(chan struct{}, 1), gone: map[int64]struct{}{}}
	var err error
	if m.raw, err = strconv.ParseUint(s.Tags[0].Value, 10, 64); err != nil {
		return nil, fmt.Errorf("tsdb: marks of table %d: %w", m.store, err)
	}
	if err = json.Unmarshal([]byte(s.Tags[1].Value), &m.buckets); err != nil {
		return nil, fmt.Errorf("tsdb: marks of table %d: %w", m.store, err)
	}
	return m, nil
}

// loadMarks finds what the store has of marks when it is opened.
func (db *DB) loadMarks() {
	snap := db.st.Snapshot()
	defer snap.Close()
	for _, t := range db.st.Tables() {
		if t.ID&markBit == 0 {
			continue
		}
		for _, s := range t.Select(nil) {
			m, err := newMarks(s)
			if err != nil {
				db.log.Error("continuous aggregate", "error", err)
				continue
			}
			m.high = math.MaxInt64
			if hull, any, err := snap.Hull(context.Background(), t); err == nil && any {
				m.high = hull.Hi
			}
			db.marks.add(m)
		}
	}
}

// defineMarks finds or makes marks.
func (db *DB) defineMarks(storeID, raw uint64, b sqltypes.Buckets) (*marks, error) {
	if m := db.marks.find(storeID, raw); m != nil {
		return m, nil
	}
	spec, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	width := b.Width
	if b.Months > 0 {
		width = min(b.Months, 10_000) * 31 * day
	}
	window := int64(math.MaxInt64 / 4)
	if width < window/4096 {
		window = width * 4096
	}
	t, err := db.st.Define(store.TableSpec{ID: storeID | markBit, Tags: 2, Window: window})
	if err != nil {
		return nil, err
	}
	s, err := db.st.Series(t, []store.Tag{{Value: strconv.FormatUint(raw, 10)}, {Value: string(spec)}})
	if err != nil {
		return nil, err
	}
	m, err := newMarks(s)
	if err == nil {
		db.marks.add(m)
	}
	return m, err
}

// removed are marks that a batch deletes.
type removed struct {
	m    *marks
	list []int64
}

// done notes that they are gone.
func (r removed) done() {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	if r.m.dirty != nil {
		return // the refresh may set them again
	}
	for _, b := range r.list {
		if len(r.m.gone) >= maxDirty {
			clear(r.m.gone)
		}
		r.m.gone[b] = struct{}{}
	}
}

// invalidate adds to a batch the removal of the marks of all buckets that it writes
// to. The gate is held shared.
func (db *DB) invalidate(b *store.Batch) ([]removed, error) {
	var out []removed
	for _, sp := range slices.Clone(b.Spans()) {
		for _, m := range db.marks.of(sp.Table.ID) {
			first, err := floorBuckets(m.buckets, sp.Lo)
			if err != nil {
				return nil, err
			}
			m.mu.Lock()
			idle := m.dirty == nil && first > m.high
			m.mu.Unlock()
			if idle {
				continue
			}
			r, err := m.invalidate(b, sp.Table)
			if err != nil {
				return nil, err
			}
			if len(r.list) > 0 {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func (m *marks) invalidate(b *store.Batch, t *store.Table) (removed, error) {
	touched, err := touchedBuckets(m.buckets, b, t)
	if err != nil {
		return removed{}, err
	}
	r := removed{m: m}
	m.mu.Lock()
	defer m.mu.Unlock()
	for x := range touched {
		if m.dirty != nil && !m.all {
			m.dirty[x] = struct{}{}
			m.all = len(m.dirty) > maxDirty
		}
		if _, known := m.gone[x]; x <= m.high && !known {
			b.Delete(m.series, x)
			r.list = append(r.list, x)
		}
	}
	return r, nil
}

// touchedBuckets are the buckets of the rows that a batch writes to a table.
func touchedBuckets(bs sqltypes.Buckets, b *store.Batch, t *store.Table) (map[int64]struct{}, error) {
	out := map[int64]struct{}{}
	from, to := int64(1), int64(0) // the bucket of the row before
	err := b.Each(func(op store.Op) error {
		if op.Series.Table != t || op.Time >= from && op.Time < to {
			return nil
		}
		start, err := floorBuckets(bs, op.Time)
		if err != nil {
			return err
		}
		from = start
		if to, err = nextBucket(bs, start); err != nil {
			to = start + 1
		}
		out[start] = struct{}{}
		return nil
	})
	return out, err
}

// marked are the ranges of time, within rng, whose buckets have marks in a snapshot.
func (m *marks) marked(ctx context.Context, snap *store.Snapshot, rng store.Range) ([]store.Range, error) {
	var out []store.Range
	lo, err := floorBuckets(m.buckets, rng.Lo)
	if err != nil {
		lo = rng.Lo // before all buckets that can be told
	}
	sc := snap.Scan(ctx, m.series.Table, []*store.Series{m.series}, store.Range{Lo: lo, Hi: rng.Hi}, nil)
	defer sc.Close()
	for sc.Next() {
		for _, t := range sc.Rows().Time {
			end, err := nextBucket(m.buckets, t)
			if err != nil {
				continue
			}
			if n := len(out); n > 0 && out[n-1].Hi == t-1 {
				out[n-1].Hi = end - 1
				continue
			}
			out = append(out, store.Range{Lo: t, Hi: end - 1})
		}
	}
	return out, sc.Err()
}

// part is the times that conditions on the state of buckets leave of rng: nil when
// there are none.
func (r *reader) part(ctx context.Context, conds []engine.Cond, rng store.Range) ([]store.Range, error) {
	var part []store.Range
	for _, c := range conds {
		if c.Op != 's' && c.Op != 'r' || len(c.Values) != 2 {
			continue
		}
		var valid []store.Range
		if m := r.db.marks.find(uint64(c.Values[0].I), uint64(c.Values[1].I)); m != nil {
			var err error
			if valid, err = m.marked(ctx, r.snapshot(), rng); err != nil {
				return nil, err
			}
			if valid, err = r.lessOwn(m, valid); err != nil {
				return nil, err
			}
		}
		if part == nil {
			part = []store.Range{rng}
		}
		if c.Op == 'r' {
			valid = without(rng, valid)
		}
		part = both(part, valid)
	}
	return part, nil
}

// lessOwn takes out the buckets that the transaction itself has written to.
func (r *reader) lessOwn(m *marks, valid []store.Range) ([]store.Range, error) {
	if r.txn == nil || r.txn.batch == nil || len(valid) == 0 {
		return valid, nil
	}
	t := r.db.st.Table(m.raw)
	if t == nil {
		return valid, nil
	}
	touched, err := touchedBuckets(m.buckets, r.txn.batch, t)
	if err != nil || len(touched) == 0 {
		return valid, err
	}
	out := valid[:0:0]
	list := slices.SortedFunc(maps.Keys(touched), cmp.Compare[int64])
	var holes []store.Range
	for _, b := range list {
		if end, err := nextBucket(m.buckets, b); err == nil {
			holes = append(holes, store.Range{Lo: b, Hi: end - 1})
		}
	}
	for _, v := range valid {
		out = append(out, without(v, holes)...)
	}
	return out, nil
}
