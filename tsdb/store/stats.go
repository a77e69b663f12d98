package store

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/tsdb/chunk"
)

// TableStats describe what is kept of a table.
type TableStats struct {
	Series     int
	Rows       int64 // exactly: neither overwritten nor deleted
	ChunkRows  int64 // in chunks, overwritten ones and marks of deletion included
	MemoryRows int64 // the same in memory
	Chunks     int64
	Bytes      int64 // of the chunks
	Windows    int
	MinTime    int64 // of the chunks; valid when there are any
	MaxTime    int64
}

// count is what is known of the rows of one series.
type count struct {
	rows    int64 // in chunks
	end     int64 // of the last chunk of the window
	memory  int64
	lo, hi  int64 // in memory, when there are any
	unclear bool  // rows may hide others: only reading them tells
}

// memory notes what a memtable has of a series.
func (c *count) inMemory(h *head) {
	c.unclear = c.unclear || c.memory > 0 || !h.sorted || h.Del != nil
	c.memory += int64(len(h.Time))
	c.lo, c.hi = h.min, h.max
}

// TableStats counts by reading the headers of all chunks, and the times of the series
// that have overlapping chunks or deletions.
func (st *Store) TableStats(ctx context.Context, t *Table) (TableStats, error) {
	return st.tableStats(ctx, t, true)
}

// HeaderStats is TableStats by the headers alone; Rows leaves out the series that
// have overlapping chunks or deletions.
func (st *Store) HeaderStats(ctx context.Context, t *Table) (TableStats, error) {
	return st.tableStats(ctx, t, false)
}

func (st *Store) tableStats(ctx context.Context, t *Table, exact bool) (TableStats, error) {
	out := TableStats{Series: t.SeriesCount()}
	snap := st.Snapshot()
	defer snap.Close()
	counts := map[uint32]*count{}
	of := func(sid uint32) *count {
		c := counts[sid]
		if c == nil {
			c = &count{}
			counts[sid] = c
		}
		return c
	}
	st.mu.RLock()
	for _, m := range []*memtable{snap.mem, snap.frozen} {
		if m == nil {
			continue
		}
		for _, s := range m.used {
			if s.Table == t {
				h := m.heads[s.SID]
				of(s.SID).inMemory(h)
				out.MemoryRows += int64(len(h.Time))
			}
		}
	}
	st.mu.RUnlock()
	p := u64key([]byte{'C'}, t.ID)
	it, err := snap.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: prefixEnd(p)})
	if err != nil {
		return out, named("stats", err)
	}
	defer it.Close()
	window, last := int64(0), uint32(0)
	for it.First(); it.Valid(); it.Next() {
		if out.Chunks&1023 == 0 && ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		id, err := parseChunkKey(it.Key())
		if err != nil {
			return out, err
		}
		h, err := chunk.ReadHeader(it.Value())
		if err != nil {
			return out, named("stats", errDamaged(err))
		}
		if out.Chunks == 0 {
			out.MinTime, out.MaxTime = h.Start, h.End
		}
		if out.Chunks == 0 || id.window != window {
			out.Windows++
			window = id.window
		}
		c := of(id.sid)
		c.unclear = c.unclear || h.Deletes || id.window == window && id.sid == last && c.rows > 0 && h.Start <= c.end || c.memory > 0 && h.Start <= c.hi && h.End >= c.lo
		c.rows += int64(h.Rows)
		c.end, last = h.End, id.sid
		out.Chunks++
		out.ChunkRows += int64(h.Rows)
		out.Bytes += int64(len(it.Value()))
		out.MinTime, out.MaxTime = min(out.MinTime, h.Start), max(out.MaxTime, h.End)
	}
	if err := it.Error(); err != nil {
		return out, named("stats", err)
	}
	var unclear []*Series
	for sid, c := range counts {
		if !c.unclear {
			out.Rows += c.rows + c.memory
		} else if s := st.SeriesByID(sid); s != nil {
			unclear = append(unclear, s)
		}
	}
	if len(unclear) == 0 || !exact {
		return out, nil
	}
	sc := snap.Scan(ctx, t, unclear, All, func(int16) bool { return false })
	defer sc.Close()
	for sc.Next() {
		out.Rows += int64(len(sc.Rows().Time))
	}
	return out, sc.Err()
}

// Usage is what the store as a whole holds: bytes of rows in memory, bytes of the
// newest log segment, series known.
func (st *Store) Usage() (memory, log int64, series int) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.used(), st.wal.bytes(), st.known
}
