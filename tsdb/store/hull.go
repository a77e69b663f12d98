package store

import (
	"context"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/tsdb/chunk"
)

// Hull is a range that holds the times of all rows of a table: it begins with a
// window, and ends with the last row, one that was deleted maybe. It is false when
// there are no rows.
func (s *Snapshot) Hull(ctx context.Context, t *Table) (out Range, ok bool, err error) {
	out = Range{math.MaxInt64, math.MinInt64}
	s.st.mu.RLock()
	for _, m := range []*memtable{s.mem, s.frozen} {
		if m == nil {
			continue
		}
		for _, x := range m.used {
			if x.Table == t {
				h := m.heads[x.SID]
				out.Lo, out.Hi = min(out.Lo, h.min), max(out.Hi, h.max)
			}
		}
	}
	s.st.mu.RUnlock()
	p := u64key([]byte{'C'}, t.ID)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: prefixEnd(p)})
	if err != nil {
		return out, false, named("hull", err)
	}
	defer func() {
		if e := it.Close(); err == nil {
			err = named("hull", e)
		}
	}()
	if !it.First() {
		return out, out.Lo <= out.Hi, nil
	}
	first, err := parseChunkKey(it.Key())
	if err != nil {
		return out, false, err
	}
	out.Lo = min(out.Lo, first.window)
	if !it.Last() {
		return out, out.Lo <= out.Hi, nil
	}
	last, err := parseChunkKey(it.Key())
	if err != nil {
		return out, false, err
	}
	n := 0
	for ok := it.SeekGE(windowKey(t.ID, last.window)); ok; ok = it.Next() {
		if n++; n&1023 == 0 && ctx.Err() != nil {
			return out, false, context.Cause(ctx)
		}
		h, err := chunk.ReadHeader(it.Value())
		if err != nil {
			return out, false, named("hull", errDamaged(err))
		}
		out.Hi = max(out.Hi, h.End)
	}
	return out, out.Lo <= out.Hi, nil
}

// Any reports whether a table has rows, or had some that were not merged away yet.
func (s *Snapshot) Any(t *Table) (bool, error) {
	s.st.mu.RLock()
	for _, m := range []*memtable{s.mem, s.frozen} {
		if m == nil {
			continue
		}
		for _, x := range m.used {
			if x.Table == t {
				s.st.mu.RUnlock()
				return true, nil
			}
		}
	}
	s.st.mu.RUnlock()
	p := u64key([]byte{'C'}, t.ID)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: prefixEnd(p)})
	if err != nil {
		return false, named("any", err)
	}
	some := it.First()
	return some, named("any", it.Close())
}
