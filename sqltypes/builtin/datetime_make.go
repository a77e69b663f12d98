package builtin

import "ostraka/sqltypes"

// numericZone reads +h, +hh:mm or +hh:mm:ss: seconds east of UTC.
func numericZone(s string) (int64, bool) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	parts, n := []int64{0}, 0
	for _, r := range s[1:] {
		switch {
		case r >= '0' && r <= '9' && n < 4:
			parts[len(parts)-1] = parts[len(parts)-1]*10 + int64(r-'0')
			n++
		case r == ':' && n > 0 && len(parts) < 3:
			parts = append(parts, 0)
			n = 0
		default:
			return 0, false
		}
	}
	if n == 0 {
		return 0, false
	}
	if len(parts) == 1 && n > 2 { // hhmm
		parts = []int64{parts[0] / 100, parts[0] % 100}
	}
	east := int64(0)
	for i, p := range parts {
		east += p * []int64{3600, 60, 1}[i]
	}
	if s[0] == '-' {
		east = -east
	}
	return east, true
}

func makeTimestamptz(c *Call, a []Datum) (Datum, error) {
	zone := ""
	if len(a) > 6 {
		zone = a[6].S
	}
	return timestamp(sqltypes.MakeTimestamptz(a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].Float(), zone, zoneOf(c)))
}

func init() {
	scalarTable{
		"make_date": func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.MakeDate(a[0].I, a[1].I, a[2].I)) },
		"make_time": func(_ *Call, a []Datum) (Datum, error) {
			return timestamp(sqltypes.MakeTime(a[0].I, a[1].I, a[2].Float()))
		},
		"make_timestamp": func(_ *Call, a []Datum) (Datum, error) {
			return timestamp(sqltypes.MakeTimestamp(a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].Float()))
		},
		"make_timestamptz": makeTimestamptz, "make_timestamptz_at_timezone": makeTimestamptz,
		"make_interval": func(_ *Call, a []Datum) (Datum, error) {
			return interval(sqltypes.MakeIntervalFields(a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].I, a[6].Float()))
		},
	}.register()
}
