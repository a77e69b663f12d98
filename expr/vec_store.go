package expr

import (
	"sync"

	"ostraka/sqltypes"
)

// noScale marks a numeric vector that has no value yet.
const noScale = -1

// NewVec makes an empty vector with room for BatchSize values.
func NewVec(k sqltypes.Kind) *Vec {
	v := &Vec{}
	v.Reset(k)
	v.Ensure(BatchSize)
	return v
}

var vecPools [sqltypes.KDatum + 1]sync.Pool

// GetVec takes an empty vector of BatchSize values from the pool; PutVec gives
// it back. Only the owner of a vector may put it back, and once.
func GetVec(k sqltypes.Kind) *Vec {
	if v, _ := vecPools[k].Get().(*Vec); v != nil {
		v.Reset(k)
		return v
	}
	return NewVec(k)
}

func PutVec(v *Vec) {
	if v == nil {
		return
	}
	clear(v.Str)
	clear(v.Dat)
	vecPools[v.Kind].Put(v)
}

// Reset empties the vector for values of a kind; its storage is kept.
func (v *Vec) Reset(k sqltypes.Kind) {
	if k != v.Kind {
		n := v.Len()
		v.Kind = k
		v.Wide = false
		v.Ensure(n)
	}
	v.Null, v.Wide, v.Scale = nil, false, noScale
}

// Len is the number of values there is room for.
func (v *Vec) Len() int {
	switch v.Kind {
	case sqltypes.KInt:
		return len(v.I64)
	case sqltypes.KFloat:
		return len(v.F64)
	case sqltypes.KNumeric:
		if v.Wide {
			return len(v.Dat)
		}
		return len(v.I64)
	case sqltypes.KBytes:
		return len(v.Str)
	}
	return len(v.Dat)
}

// Ensure makes room for n values.
func (v *Vec) Ensure(n int) {
	switch v.Kind {
	case sqltypes.KInt:
		v.I64 = grown(v.I64, n)
	case sqltypes.KFloat:
		v.F64 = grown(v.F64, n)
	case sqltypes.KNumeric:
		if v.Wide {
			v.Dat = grown(v.Dat, n)
		} else {
			v.I64 = grown(v.I64, n)
		}
	case sqltypes.KBytes:
		v.Str = grown(v.Str, n)
	default:
		v.Dat = grown(v.Dat, n)
	}
	if v.Null != nil {
		v.Null = grown(v.Null, (n+63)>>6)
	}
}

// grown returns s with length at least n; growth doubles, so that appending is amortised.
func grown[S ~[]T, T any](s S, n int) S {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		return s[:cap(s)]
	}
	m := max(n, 2*len(s))
	t := make(S, m)
	copy(t, s)
	return t
}

// SetNull makes value i NULL.
func (v *Vec) SetNull(i int) {
	if v.Null == nil {
		v.needNull()
	}
	v.Null.Set(i)
}

// needNull gives the vector a bitmap without a bit set.
func (v *Vec) needNull() {
	n := (max(v.Len(), BatchSize) + 63) >> 6
	if len(v.nulls) >= n {
		v.Null = v.nulls
		clear(v.Null)
		return
	}
	v.nulls = make(Bitmap, n)
	v.Null = v.nulls
}

// Set stores d as value i, which must have been neither set nor NULL since Reset.
func (v *Vec) Set(i int, d sqltypes.Datum) {
	if d.Null {
		v.SetNull(i)
		return
	}
	switch v.Kind {
	case sqltypes.KInt:
		v.I64[i] = d.I
	case sqltypes.KFloat:
		v.F64[i] = d.Float()
	case sqltypes.KNumeric:
		v.setNumeric(i, d)
	case sqltypes.KBytes:
		v.Str[i] = d.S
	default:
		v.Dat[i] = d
	}
}

func (v *Vec) setNumeric(i int, d sqltypes.Datum) {
	if !v.Wide {
		if d.S == "" {
			if v.Scale == noScale {
				v.Scale = d.Aux
			}
			if v.Scale == d.Aux {
				v.I64[i] = d.I
				return
			}
		}
		v.Widen()
	}
	v.Dat[i] = d
}

// Widen turns a numeric vector into the form with a scale per value.
func (v *Vec) Widen() {
	if v.Wide {
		return
	}
	n := len(v.I64)
	v.Wide = true
	v.Dat = grown(v.Dat, n)
	if v.Scale != noScale {
		for i, x := range v.I64 {
			v.Dat[i] = sqltypes.Datum{I: x, Aux: v.Scale}
		}
	}
}

// matchScale prepares a numeric vector to receive values of src.
func (v *Vec) matchScale(src *Vec) (direct bool) {
	if v.Wide {
		return false
	}
	if src.Wide {
		v.Widen()
		return false
	}
	if v.Scale == noScale {
		v.Scale = src.Scale
	}
	if v.Scale == src.Scale || src.Scale == noScale {
		return true
	}
	v.Widen()
	return false
}

// CopySel copies the values at the rows sel of src to the same rows.
func (v *Vec) CopySel(src *Vec, sel []uint16) {
	switch v.Kind {
	case sqltypes.KInt:
		for _, i := range sel {
			v.I64[i] = src.I64[i]
		}
	case sqltypes.KFloat:
		for _, i := range sel {
			v.F64[i] = src.F64[i]
		}
	case sqltypes.KNumeric:
		if v.matchScale(src) {
			for _, i := range sel {
				v.I64[i] = src.I64[i]
			}
		} else {
			for _, i := range sel {
				v.Dat[i] = src.numeric(int(i))
			}
		}
	case sqltypes.KBytes:
		for _, i := range sel {
			v.Str[i] = src.Str[i]
		}
	default:
		for _, i := range sel {
			v.Dat[i] = src.Dat[i]
		}
	}
	if src.Null != nil {
		for _, i := range sel {
			if src.Null.Get(int(i)) {
				v.SetNull(int(i))
			}
		}
	}
}

// numeric reads value i without looking at its null bit.
func (v *Vec) numeric(i int) sqltypes.Datum {
	if v.Wide {
		return v.Dat[i]
	}
	return sqltypes.Datum{I: v.I64[i], Aux: v.Scale}
}

// Gather appends, from position at on, the values of src at rows sel. There must
// be room (Ensure).
func (v *Vec) Gather(at int, src *Vec, sel []uint16) {
	n := len(sel)
	switch v.Kind {
	case sqltypes.KInt:
		dst := v.I64[at : at+n]
		for k, i := range sel {
			dst[k] = src.I64[i]
		}
	case sqltypes.KFloat:
		dst := v.F64[at : at+n]
		for k, i := range sel {
			dst[k] = src.F64[i]
		}
	case sqltypes.KNumeric:
		if v.matchScale(src) {
			dst := v.I64[at : at+n]
			for k, i := range sel {
				dst[k] = src.I64[i]
			}
		} else {
			for k, i := range sel {
				v.Dat[at+k] = src.numeric(int(i))
			}
		}
	case sqltypes.KBytes:
		dst := v.Str[at : at+n]
		for k, i := range sel {
			dst[k] = src.Str[i]
		}
	default:
		dst := v.Dat[at : at+n]
		for k, i := range sel {
			dst[k] = src.Dat[i]
		}
	}
	if src.Null != nil {
		for k, i := range sel {
			if src.Null.Get(int(i)) {
				v.SetNull(at + k)
			}
		}
	}
}

// GatherRows is Gather from a vector that may be longer than a batch; a negative
// row gives NULL.
func (v *Vec) GatherRows(at int, src *Vec, rows []int32) {
	switch v.Kind {
	case sqltypes.KInt:
		dst := v.I64[at : at+len(rows)]
		for k, i := range rows {
			if i >= 0 {
				dst[k] = src.I64[i]
			}
		}
	case sqltypes.KFloat:
		dst := v.F64[at : at+len(rows)]
		for k, i := range rows {
			if i >= 0 {
				dst[k] = src.F64[i]
			}
		}
	case sqltypes.KNumeric:
		if v.matchScale(src) {
			dst := v.I64[at : at+len(rows)]
			for k, i := range rows {
				if i >= 0 {
					dst[k] = src.I64[i]
				}
			}
		} else {
			for k, i := range rows {
				if i >= 0 {
					v.Dat[at+k] = src.numeric(int(i))
				}
			}
		}
	case sqltypes.KBytes:
		dst := v.Str[at : at+len(rows)]
		for k, i := range rows {
			if i >= 0 {
				dst[k] = src.Str[i]
			}
		}
	default:
		dst := v.Dat[at : at+len(rows)]
		for k, i := range rows {
			if i >= 0 {
				dst[k] = src.Dat[i]
			}
		}
	}
	for k, i := range rows {
		if i < 0 || src.Null.Get(int(i)) {
			v.SetNull(at + k)
		}
	}
}

// Fill sets the rows sel to one value.
func (v *Vec) Fill(d sqltypes.Datum, sel []uint16) {
	for _, i := range sel {
		v.Set(int(i), d)
	}
}

// Bytes is about how much memory n values take, strings included.
func (v *Vec) Bytes(n int) int64 {
	switch v.Kind {
	case sqltypes.KBytes:
		b := int64(n) * 16
		for _, s := range v.Str[:n] {
			b += int64(len(s))
		}
		return b
	case sqltypes.KNumeric:
		if !v.Wide {
			return int64(n) * 8
		}
		fallthrough
	case sqltypes.KDatum:
		b := int64(n) * 32
		for i := range v.Dat[:n] {
			b += int64(len(v.Dat[i].S))
		}
		return b
	}
	return int64(n) * 8
}

// identity is the selection of all rows.
var identity = func() (s [BatchSize]uint16) {
	for i := range s {
		s[i] = uint16(i)
	}
	return
}()

// Selection returns the rows of the batch that exist, ascending; not to be changed.
func (b *Batch) Selection() []uint16 {
	if b.Sel != nil {
		return b.Sel
	}
	return identity[:b.N]
}

// All is the selection of rows 0…n-1; not to be changed.
func All(n int) []uint16 { return identity[:n] }

// Row reads physical row i of every column into dst; columns that are absent read as NULL.
func (b *Batch) Row(i int, dst []sqltypes.Datum) {
	for k, c := range b.Cols {
		if c == nil {
			dst[k] = sqltypes.Null
			continue
		}
		dst[k] = c.Datum(i)
	}
}

// NewBatch makes a batch with an own empty vector per column.
func NewBatch(kinds []sqltypes.Kind) *Batch {
	b := &Batch{Cols: make([]*Vec, len(kinds))}
	for i, k := range kinds {
		b.Cols[i] = NewVec(k)
	}
	return b
}

// Reset empties a batch made by NewBatch.
func (b *Batch) Reset() {
	b.N, b.Sel = 0, nil
	for _, c := range b.Cols {
		c.Reset(c.Kind)
	}
}

// Append adds a row to a batch made by NewBatch; there must be room.
func (b *Batch) Append(row []sqltypes.Datum) {
	for i, c := range b.Cols {
		c.Set(b.N, row[i])
	}
	b.N++
}

// Full reports whether no row can be added.
func (b *Batch) Full() bool { return b.N >= BatchSize }

// CopyAt copies value j of src to position i, which must not have been set since Reset.
func (v *Vec) CopyAt(i int, src *Vec, j int) { v.Set(i, src.Datum(j)) }
