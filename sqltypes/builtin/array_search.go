package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// arrayPosition is array_position with and without a start subscript.
func arrayPosition(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	a := sqltypes.OpenArray(args[0])
	if a.NDim() > 1 {
		return fail(pgerror.NotSupported("searching for elements in multidimensional arrays"))
	}
	if len(args) > 2 && args[2].Null {
		return arrayError(pgerror.NullValueNotAllowed, "initial position must not be null")
	}
	if a.NDim() == 0 {
		return isNull()
	}
	compare, err := equalityOf(c, a.Elem)
	if err != nil {
		return null, err
	}
	lower, from := int64(a.Dim(0).Lower), int64(0)
	if len(args) > 2 {
		from = max(args[2].I-lower, 0)
	}
	for i := from; i < int64(a.Len()); i++ {
		if same(compare, a.At(int(i)), args[1]) {
			return integer(i + lower)
		}
	}
	return isNull()
}

func arrayPositions(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	a := sqltypes.OpenArray(args[0])
	if a.NDim() > 1 {
		return fail(pgerror.NotSupported("searching for elements in multidimensional arrays"))
	}
	var found []Datum
	if a.NDim() == 1 {
		compare, err := equalityOf(c, a.Elem)
		if err != nil {
			return null, err
		}
		for i, e := range a.Elements() {
			if same(compare, e, args[1]) {
				found = append(found, sqltypes.Int(int64(i)+int64(a.Dim(0).Lower)))
			}
		}
	}
	return makeArray(sqltypes.OIDInt4, found)
}

func arrayRemove(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	a := sqltypes.OpenArray(args[0])
	if a.NDim() > 1 {
		return fail(pgerror.NotSupported("removing elements from multidimensional arrays"))
	}
	if a.NDim() == 0 {
		return args[0], nil
	}
	compare, err := equalityOf(c, a.Elem)
	if err != nil {
		return null, err
	}
	var kept []Datum
	for _, e := range a.Elements() {
		if !same(compare, e, args[1]) {
			kept = append(kept, e)
		}
	}
	if len(kept) == a.Len() {
		return args[0], nil
	}
	t, err := elemType(c, a.Elem)
	if err != nil {
		return null, err
	}
	return sqltypes.MakeArray(t, []sqltypes.ArrayDim{{Len: int32(len(kept)), Lower: a.Dim(0).Lower}}, kept), nil
}

func arrayReplace(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	a := sqltypes.OpenArray(args[0])
	if a.Len() == 0 {
		return args[0], nil
	}
	compare, err := equalityOf(c, a.Elem)
	if err != nil {
		return null, err
	}
	t, err := elemType(c, a.Elem)
	if err != nil {
		return null, err
	}
	elems := append([]Datum(nil), a.Elements()...)
	for i, e := range elems {
		if same(compare, e, args[1]) {
			elems[i] = args[2]
		}
	}
	return sqltypes.MakeArray(t, a.Dims(), elems), nil
}

// containsAll reports whether every element of b is in a; a NULL is in nothing.
func containsAll(c *Call, a, b Datum) (bool, error) {
	x, y := sqltypes.OpenArray(a), sqltypes.OpenArray(b)
	if y.Len() == 0 {
		return true, nil
	}
	compare, err := equalityOf(c, y.Elem)
	if err != nil {
		return false, err
	}
	xs := x.Elements()
next:
	for _, e := range y.Elements() {
		if e.Null {
			return false, nil
		}
		for _, h := range xs {
			if !h.Null && compare(h, e) == 0 {
				continue next
			}
		}
		return false, nil
	}
	return true, nil
}

func arrayContains(c *Call, args []Datum) (Datum, error) {
	ok, err := containsAll(c, args[0], args[1])
	return sqltypes.Bool(ok), err
}

func arrayContained(c *Call, args []Datum) (Datum, error) {
	ok, err := containsAll(c, args[1], args[0])
	return sqltypes.Bool(ok), err
}

func arrayOverlap(c *Call, args []Datum) (Datum, error) {
	x, y := sqltypes.OpenArray(args[0]), sqltypes.OpenArray(args[1])
	if x.Len() == 0 || y.Len() == 0 {
		return boolean(false)
	}
	compare, err := equalityOf(c, y.Elem)
	if err != nil {
		return null, err
	}
	xs := x.Elements()
	for _, e := range y.Elements() {
		for _, h := range xs {
			if !e.Null && !h.Null && compare(h, e) == 0 {
				return boolean(true)
			}
		}
	}
	return boolean(false)
}

func widthBucketArray(c *Call, args []Datum) (Datum, error) {
	a := sqltypes.OpenArray(args[1])
	if a.NDim() > 1 {
		return arrayError(pgerror.ArraySubscriptError, "thresholds must be one-dimensional array")
	}
	if a.HasNulls() {
		return arrayError(pgerror.NullValueNotAllowed, "thresholds array must not contain NULLs")
	}
	if a.Len() == 0 {
		return integer(0)
	}
	compare, err := equalityOf(c, a.Elem)
	if err != nil {
		return null, err
	}
	lo, hi := 0, a.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if compare(args[0], a.At(mid)) < 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return integer(int64(lo))
}

func init() {
	comparePolymorphic("array_*", "btarraycmp")
	scalarTable{
		"array_position": arrayPosition, "array_position_start": arrayPosition, "array_positions": arrayPositions,
		"array_remove": arrayRemove, "array_replace": arrayReplace,
		"arraycontains": arrayContains, "arraycontained": arrayContained, "arrayoverlap": arrayOverlap,
		"width_bucket_array": widthBucketArray,
	}.register()
}
