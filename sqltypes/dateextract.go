package sqltypes

import (
	"strings"
	"time"

	"ostraka/sqltypes/pgerror"
)

// truncUnit resolves the field name of date_trunc, findUnit that of extract,
// which knows more.
func truncUnit(name string) (unit int, lower string) {
	lower = strings.ToLower(name)
	if w := intervalWords[cutToken(lower)]; w.kind == wordUnits {
		return w.val, lower
	}
	return unitNone, lower
}

func findUnit(name string) (unit int, lower string) {
	if unit, lower = truncUnit(name); unit != unitNone {
		return unit, lower
	}
	w := dateWords[cutToken(lower)]
	switch {
	case w.kind == wordUnits:
		return w.val, lower
	case w.kind == wordReserved && w.val == resEpoch:
		return unitEpoch, lower
	}
	return unitNone, lower
}

func unitError(unit int, lower string, typ OID) error {
	if unit == unitNone {
		return pgerror.New(pgerror.InvalidParameterValue, "unit \"%s\" not recognized for type %s", lower, FormatType(typ, -1))
	}
	return pgerror.New(pgerror.FeatureNotSupported, "unit \"%s\" not supported for type %s", lower, FormatType(typ, -1))
}

// isoWeek is the ISO week and its year.
func isoWeek(y, m, d int) (week, year int) {
	j := dateToJulian(y, m, d)
	monday := func(year int) int { // of ISO week 1
		j4 := dateToJulian(year, 1, 4)
		return j4 - (dayOfWeek(j4)+6)%7
	}
	year = y
	first := monday(year)
	if j < first {
		year--
		first = monday(year)
	} else if next := monday(year + 1); j >= next {
		year++
		first = next
	}
	return (j-first)/7 + 1, year
}

// isoWeekToJulian is the Julian day of the Monday of an ISO week.
func isoWeekToJulian(year, week int) int {
	j4 := dateToJulian(year, 1, 4)
	return (week-1)*7 + j4 - (dayOfWeek(j4)+6)%7
}

func yearPart(unit, y int) int64 {
	shown := func(size int) int64 {
		if y > 0 {
			return int64((y + size - 1) / size)
		}
		return int64(-((size - 1 - (y - 1)) / size))
	}
	switch unit {
	case unitCentury:
		return shown(100)
	case unitMillennium:
		return shown(1000)
	case unitDecade:
		if y >= 0 {
			return int64(y / 10)
		}
		return int64(-((8 - (y - 1)) / 10))
	}
	if y > 0 {
		return int64(y)
	}
	return int64(y - 1)
}

// datePart answers the fields a date has; ok is false for others.
func datePart(unit int, c *civil) (v int64, ok bool) {
	switch unit {
	case unitDay:
		return int64(c.day), true
	case unitMonth:
		return int64(c.month), true
	case unitQuarter:
		return int64((c.month-1)/3 + 1), true
	case unitWeek:
		w, _ := isoWeek(c.year, c.month, c.day)
		return int64(w), true
	case unitYear, unitDecade, unitCentury, unitMillennium:
		return yearPart(unit, c.year), true
	case unitIsoYear:
		_, y := isoWeek(c.year, c.month, c.day)
		if y <= 0 {
			y--
		}
		return int64(y), true
	case unitDow:
		return int64(dayOfWeek(dateToJulian(c.year, c.month, c.day))), true
	case unitIsoDow:
		d := dayOfWeek(dateToJulian(c.year, c.month, c.day))
		if d == 0 {
			d = 7
		}
		return int64(d), true
	case unitDoy:
		return int64(dateToJulian(c.year, c.month, c.day) - dateToJulian(c.year, 1, 1) + 1), true
	}
	return 0, false
}

// clockPart answers the fields a time of day has.
func clockPart(unit int, hour, min, sec, usec int64) (Datum, bool) {
	switch unit {
	case unitMicrosec:
		return Int(sec*usecSec + usec), true
	case unitMillisec:
		return NumericScaled(sec*usecSec+usec, 3), true
	case unitSecond:
		return NumericScaled(sec*usecSec+usec, 6), true
	case unitMinute:
		return Int(min), true
	case unitHour:
		return Int(hour), true
	}
	return Null, false
}

// infinitePart is what a field of an infinite date is: ±Infinity when it grows
// with time, NULL when it comes round again.
func infinitePart(unit int, lower string, negative bool, typ OID) (Datum, error) {
	switch unit {
	case unitYear, unitDecade, unitCentury, unitMillennium, unitJulian, unitIsoYear, unitEpoch:
		if negative {
			return NumericNegInf, nil
		}
		return NumericPosInf, nil
	case unitMicrosec, unitMillisec, unitSecond, unitMinute, unitHour, unitDay, unitMonth, unitQuarter, unitWeek, unitDow, unitIsoDow, unitDoy:
		return Null, nil
	case unitTZ, unitTZHour, unitTZMinute:
		if typ != OIDDate {
			return Null, nil
		}
	}
	return Null, unitError(unit, lower, typ)
}

// The Extract functions are extract(field from value) as numeric; date_part is
// the same as float8. Errors: 22023 unknown field, 0A000 field the type lacks.

// ExtractTimestamp is of a local timestamp.
func ExtractTimestamp(field string, us int64) (Datum, error) {
	return extractCivil(field, us, 0, false)
}

// ExtractTimestamptz is of an instant as seen in loc.
func ExtractTimestamptz(field string, us int64, loc *time.Location) (Datum, error) {
	east := 0
	if !TimestampIsInf(us) {
		east, _ = zoneOffset(us, loc)
	}
	return extractCivil(field, us, east, true)
}

func extractCivil(field string, us int64, east int, zone bool) (Datum, error) {
	typ := OIDTimestamp
	if zone {
		typ = OIDTimestamptz
	}
	unit, lower := findUnit(field)
	if TimestampIsInf(us) {
		return infinitePart(unit, lower, us < 0, typ)
	}
	local := us + int64(east)*usecSec
	c := civilOf(local)
	if d, ok := clockPart(unit, int64(c.hour), int64(c.min), int64(c.sec), int64(c.usec)); ok {
		return d, nil
	}
	if v, ok := datePart(unit, &c); ok {
		return Int(v), nil
	}
	switch unit {
	case unitJulian:
		j := Int(int64(dateToJulian(c.year, c.month, c.day)))
		f, err := NumericDiv(Int(c.timeOfDay()), Int(usecDay))
		if err != nil {
			return Null, err
		}
		return NumericAdd(j, f)
	case unitEpoch:
		return NumericAdd(NumericScaled(us, 6), NumericScaled(-UnixEpochUsec, 6))
	case unitTZ, unitTZHour, unitTZMinute:
		if zone {
			return Int(zonePart(unit, east)), nil
		}
	}
	return Null, unitError(unit, lower, typ)
}

func zonePart(unit, east int) int64 {
	switch unit {
	case unitTZHour:
		return int64(east / 3600)
	case unitTZMinute:
		return int64(east / 60 % 60)
	}
	return int64(east)
}

// ExtractDate is of a date.
func ExtractDate(field string, date int64) (Datum, error) {
	unit, lower := findUnit(field)
	switch unit {
	case unitMicrosec, unitMillisec, unitSecond, unitMinute, unitHour:
		return Null, unitError(unit, lower, OIDDate)
	}
	if DateIsInf(date) {
		return infinitePart(unit, lower, date < 0, OIDDate)
	}
	var c civil
	c.year, c.month, c.day = julianToDate(int(date) + postgresEpochJulian)
	if v, ok := datePart(unit, &c); ok {
		return Int(v), nil
	}
	switch unit {
	case unitJulian:
		return Int(date + postgresEpochJulian), nil
	case unitEpoch:
		return Int((date + postgresEpochJulian - unixEpochJulian) * 86400), nil
	}
	return Null, unitError(unit, lower, OIDDate)
}

// ExtractTime is of a time of day, ExtractTimetz with its zone.
func ExtractTime(field string, us int64) (Datum, error) {
	unit, lower := findUnit(field)
	var c civil
	c.setTime(us)
	if d, ok := clockPart(unit, int64(c.hour), int64(c.min), int64(c.sec), int64(c.usec)); ok {
		return d, nil
	}
	if unit == unitEpoch {
		return NumericScaled(us, 6), nil
	}
	return Null, unitError(unit, lower, OIDTime)
}

func ExtractTimetz(field string, d Datum) (Datum, error) {
	unit, lower := findUnit(field)
	var c civil
	c.setTime(d.I)
	if v, ok := clockPart(unit, int64(c.hour), int64(c.min), int64(c.sec), int64(c.usec)); ok {
		return v, nil
	}
	switch unit {
	case unitEpoch:
		return NumericScaled(d.I+int64(d.Aux)*usecSec, 6), nil
	case unitTZ, unitTZHour, unitTZMinute:
		return Int(zonePart(unit, -int(d.Aux))), nil
	}
	return Null, unitError(unit, lower, OIDTimetz)
}

// ExtractInterval is of an interval.
func ExtractInterval(field string, v Interval) (Datum, error) {
	unit, lower := findUnit(field)
	p := v.parts()
	if d, ok := clockPart(unit, p.hour, p.min, p.sec, p.usec); ok {
		return d, nil
	}
	switch unit {
	case unitDay:
		return Int(p.day), nil
	case unitMonth:
		return Int(p.mon), nil
	case unitQuarter:
		return Int(p.mon/3 + 1), nil
	case unitYear:
		return Int(p.year), nil
	case unitDecade:
		return Int(p.year / 10), nil
	case unitCentury:
		return Int(p.year / 100), nil
	case unitMillennium:
		return Int(p.year / 1000), nil
	case unitEpoch:
		// Years of 365.25 days, months of 30.
		quarters := 1461*p.year + 120*p.mon + 4*p.day
		return NumericAdd(NumericScaled(v.Usec, 6), Int(quarters*21600))
	}
	return Null, unitError(unit, lower, OIDInterval)
}
