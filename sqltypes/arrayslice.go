package sqltypes

import (
	"math"

	"ostraka/sqltypes/pgerror"
)

func subscriptError(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.ArraySubscriptError, format, args...)
}

// ArraySlice says which part of a dimension is meant; a bound that was left out
// is the array's own.
type ArraySlice struct {
	Lower, Upper       int64
	HasLower, HasUpper bool
}

// ArraySetSlice is the assignment a[l:u]… = src: elements of src, row-major,
// replace those of the slice. A one-dimensional array grows as needed, gaps are
// NULL; an empty one takes its dimensions from the slice, whose bounds must then
// be given. Errors: 2202E, 54000.
func ArraySetSlice(elem *Type, arr Array, slices []ArraySlice, src Array) (Datum, error) {
	if arr.NDim() == 0 {
		return newFromSlice(elem, slices, src)
	}
	if arr.NDim() < len(slices) {
		return Null, subscriptError("wrong number of array subscripts")
	}
	dims, elems := arr.Dims(), arr.Elements()
	from := make([]int, len(dims)) // first element of the slice, counted from the lower bound
	span := make([]int, len(dims))
	for i := range dims {
		d := &dims[i]
		lo, hi := int64(d.Lower), int64(d.Lower)+int64(d.Len)-1
		if i < len(slices) {
			if slices[i].HasLower {
				lo = slices[i].Lower
			}
			if slices[i].HasUpper {
				hi = slices[i].Upper
			}
		}
		if lo > hi {
			return Null, subscriptError("upper bound cannot be less than lower bound")
		}
		if len(dims) > 1 && (lo < int64(d.Lower) || hi >= int64(d.Lower)+int64(d.Len)) {
			return Null, subscriptError("array subscript out of range")
		}
		if len(dims) == 1 {
			var err error
			if elems, err = growVector(d, elems, lo, hi); err != nil {
				return Null, err
			}
		}
		from[i], span[i] = int(lo-int64(d.Lower)), int(hi-lo+1)
	}
	total := 1
	for _, n := range span {
		total *= n
	}
	if total > src.Len() {
		return Null, subscriptError("source array too small")
	}
	idx := make([]int, len(dims))
	for k := range total {
		at := 0
		for i, d := range dims {
			at = at*int(d.Len) + from[i] + idx[i]
		}
		elems[at] = src.At(k)
		for i := len(dims) - 1; i >= 0; i-- {
			if idx[i]++; idx[i] < span[i] {
				break
			}
			idx[i] = 0
		}
	}
	return MakeArray(elem, dims, elems), nil
}

// growVector extends a one-dimensional array with NULLs to reach from lo to hi.
func growVector(d *ArrayDim, elems []Datum, lo, hi int64) ([]Datum, error) {
	before := max(int64(d.Lower)-lo, 0)
	after := max(hi-(int64(d.Lower)+int64(d.Len)-1), 0)
	if n := before + int64(d.Len) + after; n > MaxArrayItems || lo < math.MinInt32 || hi > math.MaxInt32 {
		return nil, pgerror.New(pgerror.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", MaxArrayItems)
	}
	if before == 0 && after == 0 {
		return elems, nil
	}
	out := make([]Datum, before+int64(len(elems))+after)
	for i := range out {
		out[i] = Null
	}
	copy(out[before:], elems)
	d.Lower -= int32(before)
	d.Len += int32(before + after)
	return out, nil
}

func newFromSlice(elem *Type, slices []ArraySlice, src Array) (Datum, error) {
	dims := make([]ArrayDim, len(slices))
	total := int64(1)
	for i, s := range slices {
		if !s.HasLower || !s.HasUpper {
			return Null, subscriptError("array slice subscript must provide both boundaries").
				WithDetail("When assigning to a slice of an empty array value, slice boundaries must be fully specified.")
		}
		n := min(max(s.Upper-s.Lower+1, -1), MaxArrayItems+1) // what is out of bounds is refused below
		dims[i] = ArrayDim{Len: int32(n), Lower: int32(s.Lower)}
	}
	if err := CheckArraySize(dims); err != nil {
		return Null, err
	}
	for _, d := range dims {
		total *= int64(d.Len)
	}
	if total > int64(src.Len()) {
		return Null, subscriptError("source array too small")
	}
	return MakeArray(elem, dims, src.Elements()[:total]), nil
}
