package expr

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// fixedPart compiles p[i] and the assignment to it, for types that are fixed arrays of
// floats (point, line) or points (box, lseg); subscripts count from 0.
func (c *compiler) fixedPart(e *Subscript, t *sqltypes.Type) (node, error) {
	elem := c.types.Find(t.Elem)
	if elem == nil || len(e.Upper) != 1 || e.IsSlice {
		return nil, pgerror.NotSupported("subscripting of type %s", typeName(t, t.OID))
	}
	ops := []Expr{e.Arg, e.Upper[0]}
	if e.Assign != nil {
		ops = append(ops, e.Assign)
	}
	args, err := c.list(ops)
	if err != nil {
		return nil, err
	}
	size := int64(elem.Len)
	n := int64(t.Len) / size
	if e.Assign != nil {
		return newMap(sqltypes.KBytes, false, args, func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
			i := a[1].I
			switch {
			case a[1].Null:
				return sqltypes.Null, pgerror.New(pgerror.NullValueNotAllowed, "array subscript in assignment must not be null")
			case a[0].Null || a[2].Null: // PostgreSQL keeps fixed arrays as they are
				return a[0], nil
			case i < 0 || i >= n:
				return sqltypes.Null, pgerror.New(pgerror.ArraySubscriptError, "array subscript out of range")
			}
			s := a[0].S
			return sqltypes.Text(s[:i*size] + string(elem.Send(nil, nil, a[2])) + s[(i+1)*size:]), nil
		}), nil
	}
	return newMap(c.kind(e), true, args, func(st *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		i := a[1].I
		if a[0].Null || a[1].Null || i < 0 || i >= n {
			return sqltypes.Null, nil
		}
		return elem.Recv(nil, []byte(a[0].S[i*size:(i+1)*size]), -1)
	}), nil
}
