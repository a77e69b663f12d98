package store

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/tsdb/chunk"
)

// TableStats describe what is kept of a table.
type TableStats struct {
	Series     int
	Rows       int64 // in chunks, overwritten ones included, and in memory
	MemoryRows int64
	Chunks     int64
	Bytes      int64 // of the chunks
	Windows    int
	MinTime    int64 // of the chunks; valid when there are any
	MaxTime    int64
}

// TableStats counts by reading the headers of all chunks.
func (st *Store) TableStats(ctx context.Context, t *Table) (TableStats, error) {
	out := TableStats{Series: t.SeriesCount()}
	snap := st.Snapshot()
	defer snap.Close()
	st.mu.RLock()
	for _, m := range []*memtable{snap.mem, snap.frozen} {
		if m == nil {
			continue
		}
		for _, s := range m.used {
			if s.Table == t {
				out.MemoryRows += int64(len(m.heads[s.SID].Time))
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
	window := int64(0)
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
		out.Chunks++
		out.Rows += int64(h.Rows)
		out.Bytes += int64(len(it.Value()))
		out.MinTime, out.MaxTime = min(out.MinTime, h.Start), max(out.MaxTime, h.End)
	}
	out.Rows += out.MemoryRows
	return out, named("stats", it.Error())
}

// Usage is what the store as a whole holds: bytes of rows in memory, bytes of the
// newest log segment, series known.
func (st *Store) Usage() (memory, log int64, series int) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.used(), st.wal.bytes(), st.known
}
