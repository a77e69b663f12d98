package expr

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rowCtor compiles ROW(…).
func (c *compiler) rowCtor(e *RowCtor) (node, error) {
	return nil, pgerror.NotSupported("row value")
}

// field compiles (composite).field.
func (c *compiler) field(e *Field) (node, error) {
	return nil, pgerror.NotSupported("field selection")
}

// recordFields are the fields of a composite value.
func recordFields(sqltypes.Datum) []sqltypes.Datum { return nil }

// RecordFields splits a composite value into width fields, padded with NULLs.
func RecordFields(d sqltypes.Datum, width int) []sqltypes.Datum {
	out := nulls(width)
	if !d.Null {
		copy(out, recordFields(d))
	}
	return out
}

// MakeRecord builds a composite value of type ct.
func MakeRecord(types TypeFinder, ct sqltypes.ColumnType, fields []sqltypes.Datum) sqltypes.Datum {
	return sqltypes.Null
}
