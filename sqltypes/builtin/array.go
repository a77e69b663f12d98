package builtin

import (
	"strconv"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// arrayElements returns the elements of a non-null array in row-major order.
func arrayElements(d Datum) ([]Datum, error) { return sqltypes.OpenArray(d).Elements(), nil }

// makeArray makes a one-dimensional array of a built-in element type.
func makeArray(elem sqltypes.OID, elems []Datum) (Datum, error) {
	return sqltypes.MakeVector(sqltypes.TypeByOID(elem), elems), nil
}

// elemType is the element type of the array d, or an error that names it.
func elemType(c *Call, oid sqltypes.OID) (*sqltypes.Type, error) {
	if t := sqltypes.LookupType(c.Env, oid); t != nil {
		return t, nil
	}
	return nil, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", oid)
}

// equalityOf returns the comparison of an element type.
func equalityOf(c *Call, oid sqltypes.OID) (func(a, b Datum) int, error) {
	t, err := elemType(c, oid)
	if err != nil {
		return nil, err
	}
	if t.Compare == nil {
		return nil, pgerror.New(pgerror.UndefinedFunction, "could not identify an equality operator for type %s", sqltypes.FormatType(oid, -1))
	}
	return t.Compare, nil
}

func same(compare func(a, b Datum) int, a, b Datum) bool {
	if a.Null || b.Null {
		return a.Null && b.Null
	}
	return compare(a, b) == 0
}

func arrayError(code pgerror.Code, format string, args ...any) (Datum, error) {
	return fail(pgerror.New(code, format, args...))
}

// dimension makes array_lower, array_upper and array_length.
func dimension(f func(sqltypes.ArrayDim) int64) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		a, n := sqltypes.OpenArray(args[0]), args[1].I
		if n <= 0 || n > int64(a.NDim()) {
			return isNull()
		}
		return integer(f(a.Dim(int(n - 1))))
	}
}

func arrayDims(_ *Call, args []Datum) (Datum, error) {
	a := sqltypes.OpenArray(args[0])
	if a.NDim() == 0 {
		return isNull()
	}
	var out []byte
	for _, d := range a.Dims() {
		out = append(out, '[')
		out = strconv.AppendInt(out, int64(d.Lower), 10)
		out = append(out, ':')
		out = strconv.AppendInt(out, int64(d.Lower)+int64(d.Len)-1, 10)
		out = append(out, ']')
	}
	return text(string(out))
}

// argElem is the element type of the array argument number i.
func argElem(c *Call, i int) (*sqltypes.Type, error) {
	t, err := elemType(c, c.ArgTypes[i].OID)
	if err != nil {
		return nil, err
	}
	if t.ElemType != nil {
		return t.ElemType, nil
	}
	return elemType(c, t.Elem)
}

// arrayPush appends or prepends one element to an empty or one-dimensional array.
func arrayPush(front bool) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		arg, elem := 0, args[1%len(args)]
		if front {
			arg, elem = 1, args[0]
		}
		t, err := argElem(c, arg)
		if err != nil {
			return null, err
		}
		dims, elems := []sqltypes.ArrayDim{{Len: 1, Lower: 1}}, []Datum{elem}
		if array := args[arg]; !array.Null {
			a := sqltypes.OpenArray(array)
			switch a.NDim() {
			case 0:
			case 1:
				d := a.Dim(0)
				if front {
					elems = append(elems, a.Elements()...)
				} else {
					elems = append(a.Elements(), elem)
				}
				if int64(d.Lower)+int64(d.Len) > 1<<31-1 {
					return fail(width4.outOfRange())
				}
				dims = []sqltypes.ArrayDim{{Len: d.Len + 1, Lower: d.Lower}}
			default:
				return arrayError(pgerror.DataException, "argument must be empty or one-dimensional array")
			}
		}
		if err := sqltypes.CheckArraySize(dims); err != nil {
			return null, err
		}
		return sqltypes.MakeArray(t, dims, elems), nil
	}
}

// arrayCat concatenates two arrays, or an array and one of one dimension less.
func arrayCat(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return args[1], nil
	}
	if args[1].Null {
		return args[0], nil
	}
	a, b := sqltypes.OpenArray(args[0]), sqltypes.OpenArray(args[1])
	if a.NDim() == 0 {
		return args[1], nil
	}
	if b.NDim() == 0 {
		return args[0], nil
	}
	incompatible := func(detail string, detailArgs ...any) (Datum, error) {
		return fail(pgerror.New(pgerror.ArraySubscriptError, "cannot concatenate incompatible arrays").WithDetail(detail, detailArgs...))
	}
	da, db := a.Dims(), b.Dims()
	dims := append([]sqltypes.ArrayDim(nil), da...)
	switch len(da) - len(db) {
	case 0:
		dims[0].Len += db[0].Len
		for i := 1; i < len(da); i++ {
			if da[i] != db[i] {
				return incompatible("Arrays with differing element dimensions are not compatible for concatenation.")
			}
		}
	case 1:
		dims[0].Len++
		for i := range db {
			if da[i+1] != db[i] {
				return incompatible("Arrays with differing dimensions are not compatible for concatenation.")
			}
		}
	case -1:
		dims = append([]sqltypes.ArrayDim(nil), db...)
		dims[0].Len++
		for i := range da {
			if db[i+1] != da[i] {
				return incompatible("Arrays with differing dimensions are not compatible for concatenation.")
			}
		}
	default:
		return incompatible("Arrays of %d and %d dimensions are not compatible for concatenation.", len(da), len(db))
	}
	if err := sqltypes.CheckArraySize(dims); err != nil {
		return null, err
	}
	t, err := elemType(c, a.Elem)
	if err != nil {
		return null, err
	}
	elems := make([]Datum, 0, a.Len()+b.Len())
	elems = append(append(elems, a.Elements()...), b.Elements()...)
	return sqltypes.MakeArray(t, dims, elems), nil
}

func init() {
	lengthOf := dimension(func(d sqltypes.ArrayDim) int64 { return int64(d.Len) })
	scalarTable{
		"array_length": lengthOf,
		"array_lower":  dimension(func(d sqltypes.ArrayDim) int64 { return int64(d.Lower) }),
		"array_upper":  dimension(func(d sqltypes.ArrayDim) int64 { return int64(d.Lower) + int64(d.Len) - 1 }),
		"array_ndims": func(_ *Call, a []Datum) (Datum, error) {
			if n := sqltypes.OpenArray(a[0]).NDim(); n > 0 {
				return integer(int64(n))
			}
			return isNull()
		},
		"array_cardinality": func(_ *Call, a []Datum) (Datum, error) { return integer(int64(sqltypes.OpenArray(a[0]).Len())) },
		"array_dims":        arrayDims,
		"array_append":      arrayPush(false), "array_prepend": arrayPush(true), "array_cat": arrayCat,
	}.register()
}
