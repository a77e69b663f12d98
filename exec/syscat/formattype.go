package syscat

import (
	"ostraka/sqltypes"
	_ "ostraka/sqltypes/builtin" // registered first: format_type here replaces the one without a session
)

func init() {
	// format_type knows which types the search path finds.
	register(map[string]scalar{
		"format_type": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			if a[0].Null {
				return sqltypes.Null, nil
			}
			mod := sqltypes.NoTypMod
			if !a[1].Null {
				mod = int32(a[1].I)
			}
			return text(l.typeName(argOID(a[0]), mod)), nil
		},
	})
}
