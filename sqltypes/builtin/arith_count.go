package builtin

import (
	"math"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// int8inc and int8inc_any are count's transition functions, which users make
// aggregates of.
func init() {
	inc := func(_ *Call, a []Datum) (Datum, error) {
		if a[0].I == math.MaxInt64 {
			return fail(pgerror.New(pgerror.NumericValueOutOfRange, "bigint out of range"))
		}
		return sqltypes.Int(a[0].I + 1), nil
	}
	scalarTable{"int8inc": inc, "int8inc_any": inc}.register()
}
