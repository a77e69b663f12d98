package expr

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rowCtor compiles ROW(…).
func (c *compiler) rowCtor(e *RowCtor) (node, error) {
	args, err := c.list(e.Fields)
	if err != nil {
		return nil, err
	}
	types := make([]*sqltypes.Type, len(e.Fields))
	for i, f := range e.Fields {
		oid := f.Type().OID
		if types[i] = c.types.Find(oid); types[i] == nil {
			return nil, pgerror.NotSupported("row with a field of type %s", typeName(nil, oid))
		}
	}
	return newMap(sqltypes.KBytes, false, args, func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.MakeRecord(types, a), nil
	}), nil
}

// field compiles (composite).field.
func (c *compiler) field(e *Field) (node, error) {
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	num := e.Num
	return newMap(c.kind(e), true, []node{arg}, func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		r := sqltypes.OpenRecord(a[0])
		if num >= r.Len() {
			return sqltypes.Null, nil // a column added after the value was made
		}
		return r.At(num), nil
	}), nil
}

// recordFields are the fields of a composite value.
func recordFields(d sqltypes.Datum) []sqltypes.Datum {
	r := sqltypes.OpenRecord(d)
	out := make([]sqltypes.Datum, r.Len())
	for i := range out {
		out[i] = r.At(i)
	}
	return out
}

// RecordFields splits a composite value into width fields, padded with NULLs.
func RecordFields(d sqltypes.Datum, width int) []sqltypes.Datum {
	out := nulls(width)
	if !d.Null {
		copy(out, recordFields(d))
	}
	return out
}
