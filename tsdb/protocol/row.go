package protocol

import (
	"ostraka/sqltypes"
	"ostraka/tsdb/chunk"
)

// fieldOf is one field of the only row of rows.
func fieldOf(rows *chunk.Rows, id int16) sqltypes.Datum {
	for i := range rows.Cols {
		c := &rows.Cols[i]
		if c.ID != id || c.Null != nil && c.Null[0] {
			continue
		}
		switch c.Kind {
		case chunk.Float:
			return sqltypes.Float(c.F64[0])
		case chunk.Int:
			return sqltypes.Int(c.I64[0])
		default:
			return sqltypes.Text(c.Str[0])
		}
	}
	return sqltypes.Null
}
