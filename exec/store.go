package exec

import (
	"ostraka/expr"
	"ostraka/sqltypes"
)

// store keeps rows in memory, column by column, addressable by row number.
type store struct {
	cols []*expr.Vec // nil: a column nobody needs
	n    int
	// bytes counts what the rows take, strings included.
	bytes int64
	view  []*expr.Vec
}

func newStore(kinds []sqltypes.Kind, used need) *store {
	s := &store{cols: make([]*expr.Vec, len(kinds))}
	for i, k := range kinds {
		if used.has(i) {
			v := &expr.Vec{}
			v.Reset(k)
			s.cols[i] = v
		}
	}
	return s
}

// reset forgets all rows and their memory.
func (s *store) reset() {
	for i, c := range s.cols {
		if c != nil {
			v := &expr.Vec{}
			v.Reset(c.Kind)
			s.cols[i] = v
		}
	}
	s.n, s.bytes = 0, 0
}

// clear forgets all rows and keeps their memory for others.
func (s *store) clear() {
	for _, c := range s.cols {
		if c != nil {
			c.Reset(c.Kind)
		}
	}
	s.n, s.bytes = 0, 0
}

// append adds the rows sel of the given columns.
func (s *store) append(cols []*expr.Vec, sel []uint16) int64 {
	before := s.bytes
	for i, c := range s.cols {
		if c == nil {
			continue
		}
		c.Ensure(s.n + len(sel))
		if cols[i] == nil {
			for k := range sel {
				c.SetNull(s.n + k)
			}
			continue
		}
		c.Gather(s.n, cols[i], sel)
		s.bytes += vecBytes(cols[i], sel)
	}
	s.n += len(sel)
	return s.bytes - before
}

// vecBytes estimates the memory of the selected values.
func vecBytes(v *expr.Vec, sel []uint16) int64 {
	switch v.Kind {
	case sqltypes.KBytes:
		b := int64(16 * len(sel))
		for _, i := range sel {
			b += int64(len(v.Str[i]))
		}
		return b
	case sqltypes.KDatum:
		return int64(len(sel)) * 40
	case sqltypes.KNumeric:
		if v.Wide {
			return int64(len(sel)) * 56
		}
	}
	return int64(len(sel)) * 8
}

// appendRow adds one row of Datums.
func (s *store) appendRow(row []sqltypes.Datum) int64 {
	b := int64(0)
	for i, c := range s.cols {
		if c == nil {
			continue
		}
		c.Ensure(s.n + 1)
		c.Set(s.n, row[i])
		b += 16 + int64(len(row[i].S))
	}
	s.n++
	s.bytes += b
	return b
}

// row reads row i into dst.
func (s *store) row(i int, dst []sqltypes.Datum) {
	for k, c := range s.cols {
		if c == nil {
			dst[k] = sqltypes.Null
			continue
		}
		dst[k] = c.Datum(i)
	}
}

// slice points out at rows from…from+n-1 of the first len(out.Cols)… columns without copying.
func (s *store) slice(from, n int, visible int, out *batch) {
	if s.view == nil {
		s.view = make([]*expr.Vec, len(s.cols))
		for i, c := range s.cols {
			if c != nil {
				s.view[i] = &expr.Vec{}
			}
		}
	}
	for i, c := range s.cols {
		if c != nil {
			sliceVec(s.view[i], c, from, n)
		}
	}
	out.N, out.Sel = n, nil
	out.Cols, out.refs = s.view[:visible], s.view[visible:]
}

// sliceVec makes v show n values of c starting at from.
func sliceVec(v, c *expr.Vec, from, n int) {
	v.Kind, v.Scale, v.Wide = c.Kind, c.Scale, c.Wide
	v.I64, v.F64, v.Str, v.Dat, v.Null = nil, nil, nil, nil, nil
	switch {
	case c.Kind == sqltypes.KFloat:
		v.F64 = c.F64[from : from+n]
	case c.Kind == sqltypes.KBytes:
		v.Str = c.Str[from : from+n]
	case c.Kind == sqltypes.KDatum || c.Wide:
		v.Dat = c.Dat[from : from+n]
	default:
		v.I64 = c.I64[from : from+n]
	}
	if c.Null == nil {
		return
	}
	if from&63 == 0 {
		v.Null = c.Null[from>>6:]
		return
	}
	v.Null = make(expr.Bitmap, (n+63)>>6)
	for i := range n {
		if c.Null.Get(from + i) {
			v.Null.Set(i)
		}
	}
}

// gather copies the rows (negative: NULLs) of the store into dst at position at.
func (s *store) gather(dst []*expr.Vec, at int, rows []int32) {
	for i, c := range s.cols[:min(len(s.cols), len(dst))] {
		if c != nil && dst[i] != nil {
			dst[i].GatherRows(at, c, rows)
		}
	}
}

// ownBatch makes a batch with vectors of its own for the needed columns.
func ownBatch(kinds []sqltypes.Kind, used need, refs int) *batch {
	b := &batch{}
	b.Cols = make([]*expr.Vec, len(kinds))
	for i, k := range kinds {
		if used.has(i) {
			b.Cols[i] = expr.NewVec(k)
		}
	}
	for _, k := range refKinds(refs) {
		b.refs = append(b.refs, expr.NewVec(k))
	}
	return b
}

// reset empties a batch made by ownBatch.
func (b *batch) reset() {
	b.N, b.Sel = 0, nil
	for _, c := range b.Cols {
		if c != nil {
			c.Reset(c.Kind)
		}
	}
	for _, c := range b.refs {
		c.Reset(c.Kind)
	}
}

// all lists the columns and reference vectors together, in scratch's storage.
func (b *batch) all(scratch []*expr.Vec) []*expr.Vec {
	return append(append(scratch[:0], b.Cols...), b.refs...)
}
