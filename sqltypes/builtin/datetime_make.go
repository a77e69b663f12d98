package builtin

import (
	"math"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// makeDay is the date of year, month and day; a negative year is BC.
func makeDay(y, m, d int64) (int64, error) {
	astronomical := y
	switch {
	case y == 0:
		return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d", y, m, d)
	case y < 0:
		astronomical = y + 1
		y = astronomical // errors show it so
	}
	if m < 1 || m > 12 || d < 1 || d > int64(sqltypes.DaysInMonth(int(astronomical), int(m))) {
		return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d", y, m, d)
	}
	if !sqltypes.ValidJulian(int(astronomical), int(m)) {
		return 0, pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range: %d-%02d-%02d", y, m, d)
	}
	days := int64(sqltypes.JulianDay(int(astronomical), int(m), int(d))) - 2451545
	if !sqltypes.ValidDate(days) {
		return 0, pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range: %d-%02d-%02d", y, m, d)
	}
	return days, nil
}

// makeClock is the time of day of hour, minute and seconds.
func makeClock(h, m int64, sec float64) (int64, error) {
	usec := math.RoundToEven(sec * 1e6)
	valid := !math.IsNaN(sec) && h >= 0 && h <= 24 && m >= 0 && m <= 59 && sec >= 0 && sec <= 60 && usec <= 60e6
	us := (h*60+m)*60*usecPerSec + int64(usec)
	if !valid || us > usecPerDay {
		return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "time field value out of range: %d:%02d:%s", h, m, pad2(formatG(sec)))
	}
	return us, nil
}

// pad2 pads as C's %02g does.
func pad2(s string) string {
	if len(s) < 2 {
		return "0" + s
	}
	return s
}

func makeDate(_ *Call, args []Datum) (Datum, error) {
	return timestamp(makeDay(args[0].I, args[1].I, args[2].I))
}

func makeTime(_ *Call, args []Datum) (Datum, error) {
	return timestamp(makeClock(args[0].I, args[1].I, args[2].Float()))
}

func makeLocal(args []Datum) (int64, error) {
	days, err := makeDay(args[0].I, args[1].I, args[2].I)
	if err != nil {
		return 0, err
	}
	us, err := makeClock(args[3].I, args[4].I, args[5].Float())
	if err != nil {
		return 0, err
	}
	at, ok := mulInt64(days, usecPerDay)
	if !ok || !sqltypes.ValidTimestamp(at+us) {
		return 0, pgerror.New(pgerror.DatetimeValueOutOfRange, "timestamp out of range: %d-%02d-%02d %d:%02d:%s",
			args[0].I, args[1].I, args[2].I, args[3].I, args[4].I, pad2(formatG(args[5].Float())))
	}
	return at + us, nil
}

func makeTimestamp(_ *Call, args []Datum) (Datum, error) { return timestamp(makeLocal(args)) }

func makeTimestamptz(c *Call, args []Datum) (Datum, error) {
	local, err := makeLocal(args)
	if err != nil {
		return null, err
	}
	if len(args) < 7 {
		return timestamp(fromLocal(c, local))
	}
	zone := args[6].S
	if zone != "" && zone[0] >= '0' && zone[0] <= '9' {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "invalid input syntax for type %s: \"%s\"", "numeric time zone", zone).
			WithHint("Numeric time zones must have \"-\" or \"+\" as first character."))
	}
	if east, ok := numericZone(zone); ok {
		return integer(local - east*usecPerSec)
	}
	us, err := sqltypes.TimestampAtZone(local, zone)
	return timestamp(us, err)
}

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

func init() {
	scalarTable{
		"make_date": makeDate, "make_time": makeTime, "make_timestamp": makeTimestamp,
		"make_timestamptz": makeTimestamptz, "make_timestamptz_at_timezone": makeTimestamptz,
	}.register()
}
