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
