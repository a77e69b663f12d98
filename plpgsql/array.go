package plpgsql

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// cutArray cuts an array for FOREACH: its elements, or arrays of the last n dimensions.
func cutArray(d sqltypes.Datum, t *sqltypes.Type, n int) (items []sqltypes.Datum, typ sqltypes.OID, err error) {
	a := sqltypes.OpenArray(d)
	if n > a.NDim() {
		return nil, 0, pgerror.New(pgerror.ArraySubscriptError, "slice dimension (%d) is out of the valid range 0..%d", n, a.NDim())
	}
	if n == 0 {
		return a.Elements(), t.Elem, nil
	}
	dims := a.Dims()[a.NDim()-n:]
	size := 1
	for _, d := range dims {
		size *= int(d.Len)
	}
	elem := sqltypes.TypeByOID(t.Elem)
	if t.ElemType != nil {
		elem = t.ElemType
	}
	all := a.Elements()
	for i := 0; size > 0 && i+size <= len(all); i += size {
		items = append(items, sqltypes.MakeArray(elem, dims, all[i:i+size]))
	}
	return items, t.OID, nil
}
