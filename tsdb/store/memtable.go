package store

import (
	"slices"

	"ostraka/sqltypes"
	"ostraka/tsdb/chunk"
)

// memtable holds rows that are not in chunks yet. It is append-only: a row is
// never changed, a newer one of the same time is appended. So a reader that took
// the slices under Store.mu may read them afterwards without it.
type memtable struct {
	heads []*head // by series number; nil: none
	used  []*Series
	bytes int64
	rows  int64
	base  uint64 // sequence number before the first row
	// wal is the first log segment with rows of this memtable.
	wal uint64
	// expect is how many rows a series had in the memtable before, on average.
	expect int
	// stage has rows that are not in the heads yet; rows and bytes count them.
	stage stage
}

// head is the rows of one series, in order of arrival.
type head struct {
	chunk.Rows
	seqs   []uint32 // of each row: sequence number - memtable.base, ascending
	sorted bool     // times ascend strictly
	min    int64
	max    int64
}

const headBytes = 256 // of an empty head, about

func (m *memtable) head(s *Series) *head {
	if int(s.SID) >= len(m.heads) {
		m.heads = append(m.heads, make([]*head, max(int(s.SID)+1-len(m.heads), len(m.heads)/2+64))...)
	}
	h := m.heads[s.SID]
	if h == nil {
		h = &head{sorted: true}
		fields := s.Table.fields
		h.Cols = make([]chunk.Column, len(fields))
		for i, f := range fields {
			h.Cols[i].ID, h.Cols[i].Kind = f.ID, f.Kind
		}
		if m.expect > 0 {
			m.reserve(h)
		}
		m.heads[s.SID] = h
		m.used = append(m.used, s)
		m.bytes += headBytes
	}
	return h
}

// reserve makes room for as many rows as are expected.
func (m *memtable) reserve(h *head) {
	h.Time, h.seqs = make([]int64, 0, m.expect), make([]uint32, 0, m.expect)
	for i := range h.Cols {
		switch c := &h.Cols[i]; c.Kind {
		case chunk.Float:
			c.F64 = make([]float64, 0, m.expect)
		case chunk.Int:
			c.I64 = make([]int64, 0, m.expect)
		}
	}
}

// place appends the row's time.
func (m *memtable) place(h *head, t int64, seq uint64) int {
	n := len(h.Time)
	switch {
	case n == 0:
		h.min, h.max = t, t
	case t > h.max:
		h.max = t
	default:
		h.sorted = false
		h.min = min(h.min, t)
	}
	h.Time = append(h.Time, t)
	h.seqs = append(h.seqs, uint32(seq-m.base))
	if h.Del != nil {
		h.Del = append(h.Del, false)
	}
	m.rows++
	return n
}

func (m *memtable) put(s *Series, t int64, seq uint64, vals []sqltypes.Datum) {
	h := m.head(s)
	if len(h.Cols) < len(vals) {
		m.widen(h, s.Table.fields)
	}
	n := m.place(h, t, seq)
	size := int64(rowBytes)
	for i := range h.Cols {
		c := &h.Cols[i]
		null := i >= len(vals) || vals[i].Null
		if null && c.Null == nil {
			c.Null = make([]bool, n, max(16, n+1))
		}
		if c.Null != nil {
			c.Null = append(c.Null, null)
		}
		switch c.Kind {
		case chunk.Float:
			f := 0.0
			if !null {
				f = vals[i].Float()
			}
			c.F64 = append(c.F64, f)
			size += 8
		case chunk.Int:
			v := int64(0)
			if !null {
				v = vals[i].I
			}
			c.I64 = append(c.I64, v)
			size += 8
		default:
			v := ""
			if !null {
				v = vals[i].S
			}
			c.Str = append(c.Str, v)
			size += 16 + int64(len(v))
		}
	}
	m.bytes += size
}

func (m *memtable) remove(s *Series, t int64, seq uint64) {
	m.put(s, t, seq, nil)
	m.heads[s.SID].delete()
}

// delete makes the last row a mark of deletion.
func (h *head) delete() {
	if h.Del == nil {
		h.Del = make([]bool, len(h.Time), cap(h.Time))
	}
	h.Del[len(h.Time)-1] = true
}

// widen adds columns for fields that came after the head was made. Readers hold
// the old slice of columns, so it is copied.
func (m *memtable) widen(h *head, fields []Field) {
	cols := append([]chunk.Column(nil), h.Cols...)
	n := len(h.Time)
	for _, f := range fields[len(cols):] {
		c := chunk.Column{ID: f.ID, Kind: f.Kind, Null: make([]bool, n)}
		for i := range c.Null {
			c.Null[i] = true
		}
		switch f.Kind {
		case chunk.Float:
			c.F64 = make([]float64, n)
		case chunk.Int:
			c.I64 = make([]int64, n)
		default:
			c.Str = make([]string, n)
		}
		cols = append(cols, c)
	}
	h.Cols = cols
}

// view is what a reader sees of a head: the rows up to a sequence number.
type view struct {
	rows   chunk.Rows
	n      int
	sorted bool
	min    int64
	max    int64
}

// view copies the head's slice headers; Store.mu is held for reading.
func (m *memtable) view(sid uint32, seq uint64) (v view, ok bool) {
	if m == nil || int(sid) >= len(m.heads) || m.heads[sid] == nil {
		return v, false
	}
	h := m.heads[sid]
	n := len(h.seqs)
	if seq < m.base {
		return v, false
	}
	if d := seq - m.base; n > 0 && uint64(h.seqs[n-1]) > d {
		n, _ = slices.BinarySearchFunc(h.seqs, d, func(a uint32, d uint64) int {
			if uint64(a) <= d {
				return -1
			}
			return 1
		})
	}
	if n == 0 {
		return v, false
	}
	v = view{n: n, sorted: h.sorted, min: h.min, max: h.max}
	v.rows.Time = h.Time[:n]
	if h.Del != nil {
		// The mark of the last row is set after the row is appended, under the same lock.
		v.rows.Del = h.Del[:n]
	}
	v.rows.Cols = append([]chunk.Column(nil), h.Cols...)
	return v, true
}
