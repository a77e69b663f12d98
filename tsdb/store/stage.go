package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"ostraka/tsdb/chunk"
)

// stage is where rows wait in the form of the log until there are enough of them to
// be put into the heads series by series: a head is a handful of places in memory, and
// to visit them for every single row costs more than everything else that a write does.
// What reads drains it first, see Store.Snapshot.
type stage struct {
	buf     []byte
	records []stagedRecord
	rows    int
	order   []stagedRow // room for drain
	other   []stagedRow
	count   []int32
}

type stagedRecord struct {
	seq uint64
	end int // in buf
}

// stagedRow is a row in the stage.
type stagedRow struct {
	sid uint32
	seq uint32 // sequence number - memtable.base
	t   int64
	at  int // of its values in buf; of none when it is a deletion: -1
}

const (
	minStage      = 64 << 10 // rows
	maxStage      = 256 << 10
	maxStageBytes = 16 << 20
	stagePerHead  = 64 // rows of a series that are worth a visit to its head
)

// add takes a record's operations, which are rows only.
func (m *memtable) add(seq uint64, ops []byte, rows int) {
	g := &m.stage
	g.buf = append(g.buf, ops...)
	g.records = append(g.records, stagedRecord{seq, len(g.buf)})
	g.rows += rows
	m.rows += int64(rows)
	m.bytes += int64(len(ops))
}

// full reports that the stage should be drained.
func (m *memtable) full() bool {
	g := &m.stage
	return len(g.buf) >= maxStageBytes || g.rows >= min(max(stagePerHead*len(m.used), minStage), maxStage)
}

// drain puts the staged rows into the heads. Store.mu is held for writing. An error
// means that the rows are not what Batch makes.
func (m *memtable) drain(st *Store) error {
	g := &m.stage
	if len(g.records) == 0 {
		return nil
	}
	if err := g.locate(m.base, st); err != nil {
		return err
	}
	g.bySeries()
	m.rows -= int64(g.rows) // place counts them again
	m.bytes -= int64(len(g.buf))
	for i := 0; i < len(g.order); {
		s := st.seriesByID(g.order[i].sid)
		end := i + 1
		for end < len(g.order) && g.order[end].sid == s.SID {
			end++
		}
		if !s.Table.gone {
			if err := m.load(s, g.order[i:end], g.buf); err != nil {
				return err
			}
		}
		i = end
	}
	g.buf, g.records, g.rows = g.buf[:0], g.records[:0], 0
	return nil
}

// locate lists the rows, in the order of writing.
func (g *stage) locate(base uint64, st *Store) error {
	g.order = g.order[:0]
	at := 0
	for _, r := range g.records {
		sid, t := uint32(0), int64(0)
		for at < r.end {
			op := g.buf[at]
			at++
			ds, k := binary.Varint(g.buf[at:r.end])
			at += max(k, 0)
			dt, k2 := binary.Varint(g.buf[at:r.end])
			at += max(k2, 0)
			if k <= 0 || k2 <= 0 {
				return errShortRecord
			}
			sid, t = uint32(int64(sid)+ds), t+dt
			s := st.seriesByID(sid)
			row := stagedRow{sid, uint32(r.seq - base), t, at}
			switch {
			case op == opDelete:
				if s == nil {
					continue
				}
				row.at = -1
			case op != opRow || s == nil:
				return fmt.Errorf("time series: operation %q on series %d among rows", op, sid)
			default:
				n, ok := skipValues(g.buf[at:r.end], s.Table.fields)
				if !ok {
					return errShortRecord
				}
				at += n
			}
			g.order = append(g.order, row)
		}
	}
	return nil
}

// skipValues is the length of a row's values.
func skipValues(b []byte, fields []Field) (int, bool) {
	n, at := binary.Uvarint(b)
	if at <= 0 || n > uint64(len(fields)) {
		return 0, false
	}
	null := b[at:]
	at += (int(n) + 7) / 8
	for i := range int(n) {
		if at > len(b) {
			return 0, false
		}
		if null[i/8]&(1<<(i&7)) != 0 {
			continue
		}
		switch fields[i].Kind {
		case chunk.Float:
			at += 8
		case chunk.Int:
			_, k := binary.Varint(b[at:])
			if k <= 0 {
				return 0, false
			}
			at += k
		default:
			size, k := binary.Uvarint(b[at:])
			if k <= 0 || size > uint64(len(b)) {
				return 0, false
			}
			at += k + int(size)
		}
	}
	return at, at <= len(b)
}

// bySeries sorts the rows by series; those of one stay in the order of writing.
func (g *stage) bySeries() {
	lo, hi := uint32(math.MaxUint32), uint32(0)
	sorted := true
	for i := range g.order {
		sid := g.order[i].sid
		sorted = sorted && sid >= hi
		lo, hi = min(lo, sid), max(hi, sid)
	}
	if sorted {
		return
	}
	if n := int(hi-lo) + 1; n <= 4*len(g.order)+1024 {
		if cap(g.count) < n+1 {
			g.count = make([]int32, n+1)
		}
		count := g.count[:n+1]
		clear(count)
		for i := range g.order {
			count[g.order[i].sid-lo+1]++
		}
		for i := 1; i < len(count); i++ {
			count[i] += count[i-1]
		}
		if cap(g.other) < len(g.order) {
			g.other = make([]stagedRow, len(g.order), cap(g.order))
		}
		out := g.other[:len(g.order)]
		for i := range g.order {
			at := &count[g.order[i].sid-lo]
			out[*at] = g.order[i]
			*at++
		}
		g.order, g.other = out, g.order
		return
	}
	slices.SortStableFunc(g.order, func(a, b stagedRow) int { return cmp.Compare(a.sid, b.sid) })
}

// load appends rows of one series to its head.
func (m *memtable) load(s *Series, rows []stagedRow, buf []byte) error {
	h := m.head(s)
	if len(h.Cols) < len(s.Table.fields) {
		m.widen(h, s.Table.fields)
	}
	for i := range rows {
		r := &rows[i]
		n := m.place(h, r.t, uint64(r.seq)+m.base)
		if r.at < 0 {
			m.bytes += h.nulls(0, n) + rowBytes
			h.delete()
			continue
		}
		size, ok := h.values(buf[r.at:], n)
		if !ok {
			return errShortRecord
		}
		m.bytes += size + rowBytes
	}
	return nil
}

// rowBytes is what a row takes beside its values.
const rowBytes = 12

// nulls appends NULL to the columns from column i on; the head has n rows before.
func (h *head) nulls(i, n int) (size int64) {
	for ; i < len(h.Cols); i++ {
		size += appendNull(&h.Cols[i], n)
	}
	return size
}

func appendNull(c *chunk.Column, n int) int64 {
	if c.Null == nil {
		c.Null = make([]bool, n, max(16, n+1))
	}
	c.Null = append(c.Null, true)
	switch c.Kind {
	case chunk.Float:
		c.F64 = append(c.F64, 0)
		return 8
	case chunk.Int:
		c.I64 = append(c.I64, 0)
		return 8
	}
	c.Str = append(c.Str, "")
	return 16
}

// values appends a row's values as Batch.Put has written them.
func (h *head) values(b []byte, n int) (size int64, ok bool) {
	vals, k := binary.Uvarint(b)
	if k <= 0 || vals > uint64(len(h.Cols)) {
		return 0, false
	}
	null := b[k:]
	b = null[(vals+7)/8:]
	for i := range int(vals) {
		c := &h.Cols[i]
		if null[i/8]&(1<<(i&7)) != 0 {
			size += appendNull(c, n)
			continue
		}
		if c.Null != nil {
			c.Null = append(c.Null, false)
		}
		switch c.Kind {
		case chunk.Float:
			c.F64 = append(c.F64, math.Float64frombits(binary.LittleEndian.Uint64(b)))
			b = b[8:]
			size += 8
		case chunk.Int:
			v, k := binary.Varint(b)
			c.I64 = append(c.I64, v)
			b = b[k:]
			size += 8
		default:
			l, k := binary.Uvarint(b)
			c.Str = append(c.Str, string(b[k:k+int(l)]))
			b = b[k+int(l):]
			size += 16 + int64(l)
		}
	}
	return size + h.nulls(int(vals), n), true
}
