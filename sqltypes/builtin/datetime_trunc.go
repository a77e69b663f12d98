package builtin

import "ostraka/sqltypes"

func init() {
	bin := func(_ *Call, a []Datum) (Datum, error) {
		if sqltypes.TimestampIsInf(a[1].I) {
			return a[1], nil
		}
		return timestamp(sqltypes.DateBin(sqltypes.IntervalOf(a[0]), a[1].I, a[2].I))
	}
	scalarTable{
		"timestamp_trunc": func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.TruncTimestamp(a[0].S, a[1].I)) },
		"timestamptz_trunc": func(c *Call, a []Datum) (Datum, error) {
			return timestamp(sqltypes.TruncTimestamptz(a[0].S, a[1].I, zoneOf(c)))
		},
		"timestamptz_trunc_zone": func(_ *Call, a []Datum) (Datum, error) {
			return timestamp(sqltypes.TruncTimestamptzZone(a[0].S, a[1].I, a[2].S))
		},
		"interval_trunc": func(_ *Call, a []Datum) (Datum, error) {
			return interval(sqltypes.TruncInterval(a[0].S, sqltypes.IntervalOf(a[1])))
		},
		"timestamp_bin": bin, "timestamptz_bin": bin,
	}.register()
}
