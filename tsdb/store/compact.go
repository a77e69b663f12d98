package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/tsdb/chunk"
)

func errDamaged(err error) error {
	if errors.Is(err, chunk.ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

func tagText(s *Series) string {
	if s == nil {
		return "?"
	}
	var parts []string
	for _, t := range s.Tags {
		parts = append(parts, t.Value)
	}
	return "(" + strings.Join(parts, ",") + ")"
}

// Compact merges all small and overlapping chunks.
func (st *Store) Compact() error {
	if err := st.Flush(); err != nil {
		return err
	}
	return st.compactDirty(1)
}

// compactDirty compacts windows that were flushed into at least so often.
func (st *Store) compactDirty(after int) error {
	st.work.Lock()
	defer st.work.Unlock()
	var list []windowID
	for w, n := range st.dirty {
		if n >= after {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b windowID) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.window, b.window))
	})
	for _, w := range list {
		select {
		case <-st.stop:
			return nil
		default:
		}
		if err := st.compactWindow(w); err != nil {
			return err
		}
		delete(st.dirty, w)
	}
	return nil
}

// compactWindow rewrites the cells of a window whose chunks are small or overlap.
func (st *Store) compactWindow(w windowID) error {
	p := windowKey(w.table, w.window)
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: prefixEnd(p)})
	if err != nil {
		return named("compact", err)
	}
	defer it.Close()
	b := st.db.NewBatch()
	defer func() { b.Close() }()
	var items []item
	var keys [][]byte
	var cur chunkID
	flush := func() error {
		if err := st.compactCell(b, w, cur.sid, items, keys); err != nil {
			return err
		}
		items, keys = items[:0], keys[:0]
		if b.Len() > writeBatchBytes {
			if err := b.Commit(pebble.NoSync); err != nil {
				return named("compact", err)
			}
			b.Reset()
		}
		return nil
	}
	for it.First(); it.Valid(); it.Next() {
		id, err := parseChunkKey(it.Key())
		if err != nil {
			return err
		}
		if len(items) > 0 && id.sid != cur.sid {
			if err := flush(); err != nil {
				return err
			}
		}
		cur = id
		h, err := chunk.ReadHeader(it.Value())
		if err != nil {
			return named("compact "+w.String(), errDamaged(err))
		}
		items = append(items, item{raw: slices.Clone(it.Value()), start: h.Start, end: h.End, rank: id.gen, deletes: h.Deletes})
		keys = append(keys, slices.Clone(it.Key()))
	}
	if err := it.Error(); err != nil {
		return named("compact", err)
	}
	if len(items) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return named("compact", err)
	}
	return nil
}

// compactCell replaces the chunks of a cell, in one batch so that a reader sees
// either the old or the new ones. Chunks that are full and alone stay as they are.
func (st *Store) compactCell(b *pebble.Batch, w windowID, sid uint32, items []item, keys [][]byte) error {
	for i := 0; i < len(items); {
		// A run: chunks that overlap, or neighbours of which one is not full.
		end, rank, k := items[i].end, items[i].rank, i+1
		need := items[i].deletes
		rows, err := chunkRows(items[i].raw)
		if err != nil {
			return err
		}
		for k < len(items) {
			n, err := chunkRows(items[k].raw)
			if err != nil {
				return err
			}
			if items[k].start > end && (rows >= st.opt.ChunkRows*3/4 && n >= st.opt.ChunkRows*3/4 || rows%st.opt.ChunkRows == 0) {
				break
			}
			need = true
			rows += n
			end, rank = max(end, items[k].end), max(rank, items[k].rank)
			k++
		}
		if need {
			if err := st.rewrite(b, w, sid, items[i:k], keys[i:k], rank); err != nil {
				return err
			}
		}
		i = k
	}
	return nil
}

func chunkRows(raw []byte) (int, error) {
	h, err := chunk.ReadHeader(raw)
	return h.Rows, errDamaged(err)
}

func (st *Store) rewrite(b *pebble.Batch, w windowID, sid uint32, items []item, keys [][]byte, gen uint64) error {
	src := make([]source, len(items))
	for i := range items {
		r := &chunk.Rows{}
		if err := chunk.Decode(items[i].raw, nil, r); err != nil {
			return named("compact "+w.String(), errDamaged(err))
		}
		src[i] = source{rows: r, rank: items[i].rank}
	}
	// Every chunk of the cell that these rows overlap is among the items, so marks
	// of deletion have done their work.
	r := mergeSources(src, false)
	for _, k := range keys {
		if err := b.Delete(k, nil); err != nil {
			return named("compact", err)
		}
	}
	var buf, key []byte
	for at := 0; at < len(r.Time); at += st.opt.ChunkRows {
		buf = chunk.Encode(buf[:0], r, at, min(at+st.opt.ChunkRows, len(r.Time)))
		key = chunkKey(key, w.table, w.window, sid, r.Time[at], gen)
		if err := b.Set(key, buf, nil); err != nil {
			return named("compact", err)
		}
	}
	return nil
}
