package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/tsdb/chunk"
)

// background flushes when there is enough in memory, and compacts.
func (st *Store) background() {
	defer close(st.done)
	for {
		select {
		case <-st.stop:
			return
		case <-st.wake:
		}
		st.mu.RLock()
		full := st.mem.bytes >= st.opt.FlushBytes || st.mem.seqFull(st.seq) || st.used() >= st.opt.MaxBytes
		st.mu.RUnlock()
		if !full {
			continue
		}
		if err := st.Flush(); err != nil {
			st.opt.Logger.Error("time series could not be flushed", "error", err)
			select { // a full disk may be cleared: try again, but not at once
			case <-st.stop:
				return
			case <-time.After(time.Second):
				st.kick()
			}
			continue
		}
		if err := st.compactDirty(st.opt.CompactAfter); err != nil {
			st.opt.Logger.Error("time series could not be compacted", "error", err)
		}
	}
}

// Flush writes all rows in memory to chunks and drops the log before them.
func (st *Store) Flush() error {
	st.work.Lock()
	defer st.work.Unlock()
	return st.flushLocked()
}

func (st *Store) flushLocked() error {
	if err := st.freeze(); err != nil {
		return err
	}
	st.mu.RLock()
	m, segment := st.frozen, st.mem.wal
	st.mu.RUnlock()
	if m == nil {
		return nil
	}
	err := st.writeChunks(m, m.wal, segment)
	st.mu.Lock()
	st.broken = err
	if err == nil {
		st.frozen = nil
	}
	close(st.flush)
	st.flush = make(chan struct{})
	st.mu.Unlock()
	if err != nil {
		return err
	}
	return st.wal.removeBelow(segment)
}

// freeze makes the memory read-only and begins a new one, with a log segment of
// its own. After a failed flush the old one is still there, to be written again.
func (st *Store) freeze() error {
	st.order.Lock()
	defer st.order.Unlock()
	st.mu.RLock()
	skip := st.frozen != nil || st.mem.rows == 0
	st.mu.RUnlock()
	if skip {
		return nil
	}
	segment, err := st.wal.rotate()
	if err != nil {
		st.fatal(err)
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.drain()
	st.frozen = st.mem
	st.mem = &memtable{base: st.seq, wal: segment, heads: make([]*head, len(st.byID))}
	st.mem.stage, st.frozen.stage = st.frozen.stage, stage{}
	if n := len(st.frozen.used); n > 0 && n <= 100_000 {
		rows := int(st.frozen.rows) / n
		st.mem.expect = min(rows+rows/8, maxReserve)
	}
	// The rotation has put all of it on disk.
	for v := st.visible.Load(); v < st.seq && !st.visible.CompareAndSwap(v, st.seq); v = st.visible.Load() {
	}
	return nil
}

const (
	writeBatchBytes = 4 << 20
	maxReserve      = 8192 // rows of a series that room is made for at once
)

// writeChunks writes a memtable as chunks of generation gen and then notes that the log
// is needed from segment needed on only.
func (st *Store) writeChunks(m *memtable, gen, needed uint64) error {
	b := st.db.NewBatch()
	defer func() { b.Close() }()
	commit := func() error {
		if err := b.Commit(pebble.NoSync); err != nil {
			return named("flush", err)
		}
		b.Reset()
		return nil
	}
	slices.SortFunc(m.used, func(a, b *Series) int { return int(int64(a.SID) - int64(b.SID)) })
	var buf []byte
	var key []byte
	touched := map[windowID]bool{}
	for _, s := range m.used {
		if s.Table.gone {
			continue
		}
		if !s.persisted {
			if err := b.Set(seriesKey(s.Table.ID, s.SID), []byte(tagKey(s.Tags)), nil); err != nil {
				return named("flush", err)
			}
		}
		h := m.heads[s.SID]
		rows := &h.Rows
		if !h.sorted {
			rows = sortRows(rows, len(h.Time), true)
		}
		for at := 0; at < len(rows.Time); {
			w := windowOf(rows.Time[at], s.Table.Window)
			end := at + 1
			for end < len(rows.Time) && end-at < st.opt.ChunkRows && windowOf(rows.Time[end], s.Table.Window) == w {
				end++
			}
			buf = chunk.Encode(buf[:0], rows, at, end)
			key = chunkKey(key, s.Table.ID, w, s.SID, rows.Time[at], gen)
			if err := b.Set(key, buf, nil); err != nil {
				return named("flush", err)
			}
			touched[windowID{s.Table.ID, w}] = true
			at = end
		}
		if b.Len() > writeBatchBytes {
			if err := commit(); err != nil {
				return err
			}
		}
	}
	if err := b.Set(metaLog, binary.BigEndian.AppendUint64(nil, needed), nil); err != nil {
		return named("flush", err)
	}
	if err := commit(); err != nil {
		return err
	}
	if err := st.db.Flush(); err != nil {
		return named("flush", err)
	}
	for _, s := range m.used {
		s.persisted = true
	}
	for w := range touched {
		st.dirty[w]++
	}
	return nil
}

// DropRange removes the rows of all windows that lie in [lo, hi) as a whole, as
// range deletions; rows of windows that reach out of it stay. It is durable when
// it returns. It returns the range that was dropped.
func (st *Store) DropRange(t *Table, lo, hi int64) (from, to int64, err error) {
	st.work.Lock()
	defer st.work.Unlock()
	from = windowOf(lo, t.Window)
	if from < lo {
		if from += t.Window; from < lo {
			return 0, 0, nil
		}
	}
	to = windowOf(hi, t.Window)
	if from >= to {
		return 0, 0, nil
	}
	if err := st.flushLocked(); err != nil {
		return 0, 0, err
	}
	if err := st.db.DeleteRange(windowKey(t.ID, from), windowKey(t.ID, to), pebble.NoSync); err != nil {
		return 0, 0, named("drop", err)
	}
	for w := range st.dirty {
		if w.table == t.ID && w.window >= from && w.window < to {
			delete(st.dirty, w)
		}
	}
	return from, to, named("drop", st.db.Flush())
}

// DropTable removes a table with all its series and rows. It is durable when it returns.
func (st *Store) DropTable(id uint64) error {
	st.work.Lock()
	defer st.work.Unlock()
	st.order.Lock()
	st.mu.Lock()
	t := st.tables[id]
	if t != nil {
		t.gone = true
		for _, s := range t.all {
			if st.byID[s.SID] == s {
				st.known--
				st.tags -= tagBytes(s.Tags)
			}
		}
	}
	st.mu.Unlock()
	st.order.Unlock()
	if t == nil {
		return nil
	}
	// The log must not name the table any more when its definition goes.
	if err := st.flushLocked(); err != nil {
		return err
	}
	b := st.db.NewBatch()
	defer b.Close()
	for _, p := range [][]byte{u64key([]byte{'C'}, id), u64key([]byte{'S'}, id), tableKey(id)} {
		if err := b.DeleteRange(p, prefixEnd(p), nil); err != nil {
			return named("drop", err)
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return named("drop", err)
	}
	if err := st.db.Flush(); err != nil {
		return named("drop", err)
	}
	for w := range st.dirty {
		if w.table == id {
			delete(st.dirty, w)
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.tables, id)
	for _, s := range t.all {
		if st.byID[s.SID] == s && int(s.SID) < len(st.byID)-1 {
			st.byID[s.SID] = nil
		}
	}
	return nil
}

// EstimateRows is about how many rows a table has.
func (st *Store) EstimateRows(t *Table) int64 {
	p := u64key([]byte{'C'}, t.ID)
	bytes, err := st.db.EstimateDiskUsage(p, prefixEnd(p))
	if err != nil {
		return 0
	}
	rows := int64(bytes) / int64(3*max(len(t.Fields()), 1))
	st.mu.RLock()
	defer st.mu.RUnlock()
	// What is in memory is of all tables; few are written to at a time.
	rows += st.mem.rows
	if st.frozen != nil {
		rows += st.frozen.rows
	}
	return rows
}

// Seq is the number of the newest visible record: it grows with every write.
func (st *Store) Seq() uint64 { return st.visible.Load() }

// Windows lists the starts of a table's windows that have chunks.
func (st *Store) Windows(ctx context.Context, t *Table) ([]int64, error) {
	p := u64key([]byte{'C'}, t.ID)
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: prefixEnd(p)})
	if err != nil {
		return nil, named("windows", err)
	}
	var out []int64
	for ok := it.First(); ok; {
		id, err := parseChunkKey(it.Key())
		if err != nil {
			it.Close()
			return nil, err
		}
		out = append(out, id.window)
		if id.window > 1<<63-1-t.Window {
			break
		}
		ok = it.SeekGE(windowKey(t.ID, id.window+t.Window))
		if ctx.Err() != nil {
			it.Close()
			return nil, context.Cause(ctx)
		}
	}
	return out, named("windows", it.Close())
}

func (id windowID) String() string { return fmt.Sprintf("table %d window %d", id.table, id.window) }
