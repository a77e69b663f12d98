package builtin

import (
	"strings"

	"ostraka/sqltypes"
)

// formatted makes a to_char whose picture is the second argument.
func formatted(f func(c *Call, d Datum, picture string) (string, error)) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		s, err := f(c, args[0], args[1].S)
		if err != nil {
			return null, err
		}
		return text(s)
	}
}

func init() {
	// Roman numbers of bigint go through integer.
	bigints := formatted(func(_ *Call, d Datum, p string) (string, error) {
		if strings.Contains(strings.ToUpper(p), "RN") && d.I != int64(int32(d.I)) {
			return "", width4.outOfRange()
		}
		return sqltypes.FormatInt(d.I, p)
	})
	integers := formatted(func(_ *Call, d Datum, p string) (string, error) { return sqltypes.FormatInt(d.I, p) })
	scalarTable{
		"int4_to_char": integers, "int8_to_char": bigints,
		"numeric_to_char":   formatted(func(_ *Call, d Datum, p string) (string, error) { return sqltypes.FormatNumeric(d, p) }),
		"float4_to_char":    formatted(func(_ *Call, d Datum, p string) (string, error) { return sqltypes.FormatFloat(d.Float(), 32, p) }),
		"float8_to_char":    formatted(func(_ *Call, d Datum, p string) (string, error) { return sqltypes.FormatFloat(d.Float(), 64, p) }),
		"timestamp_to_char": func(_ *Call, a []Datum) (Datum, error) { return sqltypes.FormatTimestamp(a[0].I, a[1].S) },
		"timestamptz_to_char": func(c *Call, a []Datum) (Datum, error) {
			return sqltypes.FormatTimestamptz(a[0].I, a[1].S, zoneOf(c))
		},
		"interval_to_char": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.FormatInterval(sqltypes.IntervalOf(a[0]), a[1].S)
		},
		"numeric_to_number": func(_ *Call, a []Datum) (Datum, error) { return sqltypes.ParseNumberAs(a[0].S, a[1].S) },
		"to_date":           func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.ParseDateAs(a[0].S, a[1].S)) },
		"to_timestamp": func(c *Call, a []Datum) (Datum, error) {
			return timestamp(sqltypes.ParseTimestampAs(a[0].S, a[1].S, zoneOf(c)))
		},
	}.register()
}
