package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/tsdb/chunk"
)

// busySlack is how many empty cells of time may lie between the rows of one range of
// Busy; maxBusy bounds its ranges: they are joined over wider gaps when there are more.
const (
	busySlack = 64
	maxBusy   = 1 << 17
)

// Busy are ranges that hold the times of all rows of a table, deleted ones maybe, that
// are in the given ranges: ascending, disjoint, and with no more than a few cells of
// time to a row. It takes as long as there are chunks and rows, however far apart.
// The given ranges are ascending and disjoint; what Busy returns may reach over them.
func (s *Snapshot) Busy(ctx context.Context, t *Table, in []Range, cell int64) ([]Range, error) {
	b := &busy{cell: uint64(max(cell, 1)), gap: uint64(min(max(cell, 1), math.MaxInt64/busySlack)) * busySlack}
	for _, times := range s.memoryTimes(t) {
		for i, at := range times {
			if i&0xffff == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			b.add(Range{at, at})
		}
	}
	p := u64key([]byte{'C'}, t.ID)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: prefixEnd(p)})
	if err != nil {
		return nil, named("busy", err)
	}
	err = b.chunks(ctx, it, t, in)
	if e := it.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, named("busy", err)
	}
	b.tidy()
	return b.list, nil
}

// memoryTimes are the times of a table's rows in memory, a list per series.
func (s *Snapshot) memoryTimes(t *Table) [][]int64 {
	s.st.mu.RLock()
	defer s.st.mu.RUnlock()
	var out [][]int64
	for _, m := range []*memtable{s.mem, s.frozen} {
		if m == nil {
			continue
		}
		for _, x := range m.used {
			if x.Table == t {
				out = append(out, m.heads[x.SID].Time)
			}
		}
	}
	return out
}

// busy gathers ranges.
type busy struct {
	list   []Range
	tidied int    // length of list that is ascending and disjoint
	cell   uint64 // of time
	gap    uint64 // ranges that are no farther apart are one
	rows   chunk.Rows
}

func (b *busy) chunks(ctx context.Context, it *pebble.Iterator, t *Table, in []Range) error {
	if len(in) == 0 {
		return nil
	}
	n := 0
	for ok := it.SeekGE(windowKey(t.ID, windowOf(in[0].Lo, t.Window))); ok; ok = it.Next() {
		if n++; n&255 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		id, err := parseChunkKey(it.Key())
		if err != nil {
			return err
		}
		last := int64(math.MaxInt64)
		if id.window <= last-t.Window {
			last = id.window + t.Window - 1
		}
		if at := firstAfter(in, id.window); at == len(in) {
			return it.Error()
		} else if in[at].Lo > last { // nothing is asked for in this window: on to the next
			if !it.SeekGE(windowKey(t.ID, windowOf(in[at].Lo, t.Window))) {
				break
			}
			if id, err = parseChunkKey(it.Key()); err != nil {
				return err
			}
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		h, err := chunk.ReadHeader(v)
		if err != nil {
			return errDamaged(err)
		}
		if !meets(in, h.Start, h.End) {
			continue
		}
		if (uint64(h.End)-uint64(h.Start))/b.cell <= uint64(h.Rows)+busySlack {
			b.add(Range{h.Start, h.End})
			continue
		}
		if err := chunk.Decode(v, func(int16) bool { return false }, &b.rows); err != nil {
			return errDamaged(err)
		}
		for _, at := range b.rows.Time {
			b.add(Range{at, at})
		}
	}
	return it.Error()
}

// add joins a range to the one before, or begins one.
func (b *busy) add(r Range) {
	if n := len(b.list); n > b.tidied {
		if l := &b.list[n-1]; b.near(*l, r) {
			l.Lo, l.Hi = min(l.Lo, r.Lo), max(l.Hi, r.Hi)
			return
		}
	}
	if len(b.list) >= 2*b.tidied+1024 {
		b.tidy()
	}
	b.list = append(b.list, r)
}

func (b *busy) near(x, y Range) bool {
	if x.Lo > y.Lo {
		x, y = y, x
	}
	return y.Lo <= x.Hi || uint64(y.Lo)-uint64(x.Hi) <= b.gap
}

// tidy sorts the ranges and joins those that are near.
func (b *busy) tidy() {
	slices.SortFunc(b.list, func(x, y Range) int { return cmp.Compare(x.Lo, y.Lo) })
	for {
		out := b.list[:0]
		for _, r := range b.list {
			if n := len(out); n > 0 && b.near(out[n-1], r) {
				out[n-1].Hi = max(out[n-1].Hi, r.Hi)
				continue
			}
			out = append(out, r)
		}
		b.list = out
		if len(b.list) <= maxBusy || b.gap > math.MaxInt64 {
			break
		}
		b.gap *= 2
	}
	b.tidied = len(b.list)
}

// firstAfter is the place of the first range that ends at t or later.
func firstAfter(in []Range, t int64) int {
	return sort.Search(len(in), func(i int) bool { return in[i].Hi >= t })
}

// meets reports that [lo, hi] has a time in one of the ranges.
func meets(in []Range, lo, hi int64) bool {
	i := firstAfter(in, lo)
	return i < len(in) && in[i].Lo <= hi
}
