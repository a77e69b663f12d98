package expr

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// subscript compiles a[i], a[l:u] and the assignment to them.
func (c *compiler) subscript(e *Subscript) (node, error) {
	t := c.types.Find(e.Arg.Type().OID)
	if t != nil && t.OID == sqltypes.OIDName && len(e.Upper) == 1 && !e.IsSlice && e.Assign == nil {
		args, err := c.list([]Expr{e.Arg, e.Upper[0]})
		if err != nil {
			return nil, err
		}
		return newMap(c.kind(e), true, args, nameByte), nil
	}
	if t != nil && t.OID == sqltypes.OIDJsonb {
		return c.jsonbSubscript(e)
	}
	if t != nil && t.Elem != 0 && t.Len > 0 {
		return c.fixedPart(e, t)
	}
	if t == nil || t.ElemType == nil {
		return nil, pgerror.NotSupported("subscripting of type %s", typeName(t, e.Arg.Type().OID))
	}
	n := len(e.Upper)
	ops := make([]Expr, 0, 2+2*n)
	ops = append(ops, e.Arg)
	for i := range n {
		var lo Expr
		if i < len(e.Lower) {
			lo = e.Lower[i]
		}
		ops = append(ops, lo, e.Upper[i])
	}
	if e.Assign != nil {
		ops = append(ops, e.Assign)
	}
	args, err := c.list(ops)
	if err != nil {
		return nil, err
	}
	sub := &subscripts{e: e, elem: t.ElemType, n: n}
	switch {
	case e.Assign != nil:
		return newMap(sqltypes.KBytes, false, args, sub.assign), nil
	case e.IsSlice:
		return newMap(sqltypes.KBytes, false, args, sub.slice), nil
	}
	return newMap(c.kind(e), false, args, sub.fetch), nil
}

// nameByte is name[i]: a name is a fixed array of 64 "char", counted from 0.
func nameByte(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
	const nameLen = 64
	i := a[1].I
	switch {
	case a[0].Null || a[1].Null || i < 0 || i >= nameLen:
		return sqltypes.Null, nil
	case int(i) >= len(a[0].S):
		return sqltypes.Int(0), nil
	}
	return sqltypes.Int(int64(int8(a[0].S[i]))), nil
}

// subscripts evaluates array subscripts; operands: the array, then (lower, upper)
// per subscript, then the value to assign.
type subscripts struct {
	e    *Subscript
	elem *sqltypes.Type
	n    int
}

func (x *subscripts) fetch(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
	if a[0].Null {
		return sqltypes.Null, nil
	}
	arr := sqltypes.OpenArray(a[0])
	if arr.NDim() != x.n {
		return sqltypes.Null, nil
	}
	at := 0
	for i := range x.n {
		u := a[2+2*i]
		d := arr.Dim(i)
		k := u.I - int64(d.Lower)
		if u.Null || k < 0 || k >= int64(d.Len) {
			return sqltypes.Null, nil
		}
		at = at*int(d.Len) + int(k)
	}
	return arr.At(at), nil
}

func (x *subscripts) slice(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
	if a[0].Null {
		return sqltypes.Null, nil
	}
	arr := sqltypes.OpenArray(a[0])
	none := sqltypes.MakeArray(x.elem, nil, nil)
	for i := range x.n {
		given := func(k int) bool {
			return k == 0 && i < len(x.e.Lower) && x.e.Lower[i] != nil || k == 1 && x.e.Upper[i] != nil
		}
		for k := range 2 {
			if given(k) && a[1+2*i+k].Null {
				return sqltypes.Null, nil
			}
		}
	}
	if arr.NDim() < x.n || arr.NDim() == 0 {
		return none, nil
	}
	dims := arr.Dims()
	from := make([]int, len(dims))
	out := make([]sqltypes.ArrayDim, len(dims))
	total := 1
	for i, d := range dims {
		lo, hi := int64(d.Lower), int64(d.Lower)+int64(d.Len)-1
		if i < x.n {
			if i < len(x.e.Lower) && x.e.Lower[i] != nil {
				lo = max(lo, a[1+2*i].I)
			} else if !x.e.IsSlice || len(x.e.Lower) == 0 {
				lo = max(lo, 1)
			}
			if x.e.Upper[i] != nil {
				hi = min(hi, a[2+2*i].I)
			}
		}
		if lo > hi {
			return none, nil
		}
		from[i] = int(lo) - int(d.Lower)
		out[i] = sqltypes.ArrayDim{Len: int32(hi - lo + 1), Lower: 1}
		total *= int(out[i].Len)
	}
	elems := make([]sqltypes.Datum, 0, total)
	idx := make([]int, len(dims))
	for range total {
		at := 0
		for i, d := range dims {
			at = at*int(d.Len) + from[i] + idx[i]
		}
		elems = append(elems, arr.At(at))
		for i := len(dims) - 1; i >= 0; i-- {
			if idx[i]++; idx[i] < int(out[i].Len) {
				break
			}
			idx[i] = 0
		}
	}
	return sqltypes.MakeArray(x.elem, out, elems), nil
}

// assign replaces one element, growing a one-dimensional array as needed.
func (x *subscripts) assign(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
	if x.e.IsSlice {
		return x.assignSlice(a)
	}
	for i := range x.n {
		if a[2+2*i].Null {
			return sqltypes.Null, pgerror.New(pgerror.NullValueNotAllowed, "array subscript in assignment must not be null")
		}
	}
	val := a[len(a)-1]
	var arr sqltypes.Array
	if !a[0].Null {
		arr = sqltypes.OpenArray(a[0])
	}
	if arr.NDim() == 0 {
		dims := make([]sqltypes.ArrayDim, x.n)
		for i := range dims {
			dims[i] = sqltypes.ArrayDim{Len: 1, Lower: int32(a[2+2*i].I)}
		}
		if err := sqltypes.CheckArraySize(dims); err != nil {
			return sqltypes.Null, err
		}
		return sqltypes.MakeArray(x.elem, dims, []sqltypes.Datum{val}), nil
	}
	if arr.NDim() != x.n {
		return sqltypes.Null, pgerror.New(pgerror.ArraySubscriptError, "wrong number of array subscripts")
	}
	dims, elems := arr.Dims(), arr.Elements()
	if x.n == 1 {
		d := &dims[0]
		k := a[2].I - int64(d.Lower)
		if k < 0 {
			d.Lower, d.Len = int32(a[2].I), d.Len+int32(-k)
			if err := sqltypes.CheckArraySize(dims); err != nil {
				return sqltypes.Null, err
			}
			pad := nulls(int(-k))
			elems, k = append(pad, elems...), 0
		} else if k >= int64(d.Len) {
			if k >= sqltypes.MaxArrayItems {
				return sqltypes.Null, pgerror.New(pgerror.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", sqltypes.MaxArrayItems)
			}
			elems = append(elems, nulls(int(k)+1-int(d.Len))...)
			d.Len = int32(k) + 1
		}
		elems[k] = val
		return sqltypes.MakeArray(x.elem, dims, elems), nil
	}
	at := 0
	for i, d := range dims {
		k := a[2+2*i].I - int64(d.Lower)
		if k < 0 || k >= int64(d.Len) {
			return sqltypes.Null, pgerror.New(pgerror.ArraySubscriptError, "array subscript out of range")
		}
		at = at*int(d.Len) + int(k)
	}
	elems[at] = val
	return sqltypes.MakeArray(x.elem, dims, elems), nil
}

// assignSlice replaces the elements of a slice; a subscript without a colon is 1:i.
func (x *subscripts) assignSlice(a []sqltypes.Datum) (sqltypes.Datum, error) {
	slices := make([]sqltypes.ArraySlice, x.n)
	for i := range slices {
		s := &slices[i]
		s.HasLower = i < len(x.e.Lower) && x.e.Lower[i] != nil
		s.HasUpper = x.e.Upper[i] != nil
		if s.HasLower && a[1+2*i].Null || s.HasUpper && a[2+2*i].Null {
			return sqltypes.Null, pgerror.New(pgerror.NullValueNotAllowed, "array subscript in assignment must not be null")
		}
		s.Lower, s.Upper = a[1+2*i].I, a[2+2*i].I
		if !s.HasLower && len(x.e.Lower) == 0 {
			s.HasLower, s.Lower = true, 1
		}
	}
	val := a[len(a)-1]
	if val.Null {
		return a[0], nil
	}
	var arr sqltypes.Array
	if !a[0].Null {
		arr = sqltypes.OpenArray(a[0])
	}
	return sqltypes.ArraySetSlice(x.elem, arr, slices, sqltypes.OpenArray(val))
}

func nulls(n int) []sqltypes.Datum {
	out := make([]sqltypes.Datum, n)
	for i := range out {
		out[i] = sqltypes.Null
	}
	return out
}
