package builtin

import (
	"math"

	"ostraka/sqltypes"
)

// field is a value of extract: exact, as a scaled integer or a numeric, and the
// float that date_part computes for it.
type field struct {
	exact Datum
	float float64
}

func whole(v int64) (field, bool) { return field{sqltypes.NumericInt(v), float64(v)}, true }

// clockField is a unit of the time of day.
func clockField(u unit, us int64) (field, bool) {
	secs := us / usecPerSec
	sec, usec := secs%60, us%usecPerSec
	switch u {
	case microsecond:
		return whole(sec*usecPerSec + usec)
	case millisecond:
		return field{sqltypes.NumericScaled(sec*usecPerSec+usec, 3), float64(sec)*1000 + float64(usec)/1000}, true
	case second:
		return field{sqltypes.NumericScaled(sec*usecPerSec+usec, 6), float64(sec) + float64(usec)/1e6}, true
	case minute:
		return whole(secs / 60 % 60)
	case hour:
		return whole(secs / 3600)
	}
	return field{}, false
}

// seconds is µs as a field of seconds.
func secondsField(us int64) (field, bool) {
	return field{sqltypes.NumericScaled(us, 6), float64(us) / 1e6}, true
}

// yearUnit is year, decade, century or millennium of a year whose 0 is 1 BC.
func yearUnit(u unit, y int) (field, bool) {
	switch u {
	case year:
		if y <= 0 {
			y--
		}
	case decade:
		if y >= 0 {
			y /= 10
		} else {
			y = -((8 - (y - 1)) / 10)
		}
	case century:
		if y > 0 {
			y = (y + 99) / 100
		} else {
			y = -((99 - (y - 1)) / 100)
		}
	case millennium:
		if y > 0 {
			y = (y + 999) / 1000
		} else {
			y = -((999 - (y - 1)) / 1000)
		}
	}
	return whole(int64(y))
}

// dateField is a unit of a date.
func dateField(u unit, c sqltypes.CivilTime) (field, bool) {
	jd := sqltypes.JulianDay(c.Year, c.Month, c.Day)
	switch u {
	case day:
		return whole(int64(c.Day))
	case month:
		return whole(int64(c.Month))
	case quarter:
		return whole(int64(c.Month-1)/3 + 1)
	case week:
		_, w := isoWeek(c.Year, c.Month, c.Day)
		return whole(int64(w))
	case isoyear:
		y, _ := isoWeek(c.Year, c.Month, c.Day)
		if y <= 0 {
			y--
		}
		return whole(int64(y))
	case year, decade, century, millennium:
		return yearUnit(u, c.Year)
	case dow:
		return whole(int64(weekday(jd)))
	case isodow:
		return whole(int64((weekday(jd)+6)%7 + 1))
	case doy:
		return whole(int64(jd - sqltypes.JulianDay(c.Year, 1, 1) + 1))
	}
	return field{}, false
}

// timestampField is a unit of a local timestamp; epoch is left to the caller.
func timestampField(u unit, us int64) (field, bool) {
	c := sqltypes.CivilOf(us)
	if f, ok := clockField(u, timeOfDay(us)); ok {
		return f, true
	}
	if f, ok := dateField(u, c); ok {
		return f, true
	}
	if u != julian {
		return field{}, false
	}
	jd := sqltypes.JulianDay(c.Year, c.Month, c.Day)
	part, err := sqltypes.NumericDiv(sqltypes.NumericInt(timeOfDay(us)), sqltypes.NumericInt(usecPerDay))
	if err != nil {
		return field{}, false
	}
	exact, err := sqltypes.NumericAdd(sqltypes.NumericInt(int64(jd)), part)
	seconds := float64((c.Hour*60+c.Min)*60+c.Sec) + float64(c.Usec)/1e6
	return field{exact, float64(jd) + seconds/86400}, err == nil
}

// infiniteField is a unit of an infinite timestamp or date: fields that only
// grow are infinite, those that cycle NULL.
func infiniteField(u unit, negative bool) (f field, isNull, ok bool) {
	switch u {
	case year, decade, century, millennium, julian, isoyear, epoch:
		if negative {
			return field{sqltypes.NumericNegInf, math.Inf(-1)}, false, true
		}
		return field{sqltypes.NumericPosInf, math.Inf(1)}, false, true
	case noUnit, otherUnit:
		return field{}, false, false
	}
	return field{}, true, true
}

const unixEpoch = 10957 * usecPerDay // from 1970 to 2000

func epochField(us int64) (field, bool) {
	if sum := us + unixEpoch; sum > us {
		return secondsField(sum)
	}
	exact, err := sqltypes.NumericAdd(sqltypes.NumericScaled(us, 6), sqltypes.NumericScaled(unixEpoch, 6))
	return field{exact, (float64(us) + float64(unixEpoch)) / 1e6}, err == nil
}

// extractor computes a unit of a value. none: the result is NULL.
type extractor func(c *Call, u unit, d Datum) (f field, none, ok bool, err error)

func extractTimestamp(_ *Call, u unit, d Datum) (f field, none, ok bool, err error) {
	if sqltypes.TimestampIsInf(d.I) {
		if u >= zone && u <= zoneMinute {
			return field{}, false, false, nil
		}
		f, none, ok = infiniteField(u, d.I < 0)
		return f, none, ok, nil
	}
	if u == epoch {
		f, ok = epochField(d.I)
	} else {
		f, ok = timestampField(u, d.I)
	}
	return f, false, ok, nil
}

// zoneField is a unit of a zone offset in seconds east of UTC.
func zoneField(u unit, east int64) (field, bool) {
	switch u {
	case zone:
		return whole(east)
	case zoneHour:
		return whole(east / 3600)
	case zoneMinute:
		return whole(east / 60 % 60)
	}
	return field{}, false
}

func extractTimestamptz(c *Call, u unit, d Datum) (f field, none, ok bool, err error) {
	if sqltypes.TimestampIsInf(d.I) {
		f, none, ok = infiniteField(u, d.I < 0)
		return f, none, ok, nil
	}
	if u == epoch {
		f, ok = epochField(d.I)
		return f, false, ok, nil
	}
	if f, ok = zoneField(u, int64(sqltypes.ZoneOffset(d.I, zoneOf(c)))); ok {
		return f, false, true, nil
	}
	local, err := toLocal(c, d.I)
	if err != nil {
		return f, false, true, err
	}
	f, ok = timestampField(u, local)
	return f, false, ok, nil
}

func extractDate(_ *Call, u unit, d Datum) (f field, none, ok bool, err error) {
	if u <= hour && u != noUnit || u >= zone && u != otherUnit {
		return f, false, false, nil
	}
	if sqltypes.DateIsInf(d.I) {
		f, none, ok = infiniteField(u, d.I < 0)
		return f, none, ok, nil
	}
	switch u {
	case epoch:
		f, ok = whole((d.I + 10957) * 86400)
	case julian:
		f, ok = whole(d.I + 2451545)
	default:
		y, m, day := sqltypes.JulianDate(int(d.I) + 2451545)
		f, ok = dateField(u, sqltypes.CivilTime{Year: y, Month: m, Day: day})
	}
	return f, false, ok, nil
}

func extractTime(_ *Call, u unit, d Datum) (f field, none, ok bool, err error) {
	if u == epoch {
		f, ok = secondsField(d.I)
	} else {
		f, ok = clockField(u, d.I)
	}
	return f, false, ok, nil
}

func extractTimetz(_ *Call, u unit, d Datum) (f field, none, ok bool, err error) {
	if u == epoch {
		f, ok = secondsField(d.I + int64(d.Aux)*usecPerSec)
		return f, false, ok, nil
	}
	if f, ok = zoneField(u, -int64(d.Aux)); ok {
		return f, false, true, nil
	}
	f, ok = clockField(u, d.I)
	return f, false, ok, nil
}

func extractInterval(_ *Call, u unit, d Datum) (f field, none, ok bool, err error) {
	v := sqltypes.IntervalOf(d)
	y, m := int64(v.Months/12), int64(v.Months%12)
	switch u {
	case day:
		f, ok = whole(int64(v.Days))
	case month:
		f, ok = whole(m)
	case quarter:
		f, ok = whole(m/3 + 1)
	case year:
		f, ok = whole(y)
	case decade:
		f, ok = whole(y / 10)
	case century:
		f, ok = whole(y / 100)
	case millennium:
		f, ok = whole(y / 1000)
	case epoch:
		// A year has 365.25 days, a month 30.
		quarters := 1461*y + 120*m + 4*int64(v.Days)
		secs := sqltypes.NumericInt(quarters * (86400 / 4))
		exact, e := sqltypes.NumericAdd(secs, sqltypes.NumericScaled(v.Usec, 6))
		fl := float64(v.Usec)/1e6 + 365.25*86400*float64(y) + 30*86400*float64(m) + 86400*float64(v.Days)
		return field{exact, fl}, false, true, e
	default:
		f, ok = clockField(u, v.Usec)
	}
	return f, false, ok, nil
}

// extraction makes extract (numeric) or date_part (float8) for a type.
func extraction(typ string, asFloat bool, get extractor) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		u, lower := findUnit(args[0].S)
		f, none, ok, err := get(c, u, args[1])
		switch {
		case err != nil:
			return null, err
		case !ok:
			return fail(badUnit(u, lower, typ))
		case none:
			return isNull()
		case asFloat:
			return float(f.float)
		}
		return f.exact, nil
	}
}

func init() {
	for _, t := range []struct {
		src, typ string
		get      extractor
	}{
		{"timestamp", timestampName, extractTimestamp}, {"timestamptz", timestamptzName, extractTimestamptz},
		{"time", timeName, extractTime}, {"timetz", timetzName, extractTimetz}, {"interval", "interval", extractInterval},
	} {
		scalarTable{t.src + "_part": extraction(t.typ, true, t.get), "extract_" + t.src: extraction(t.typ, false, t.get)}.register()
	}
	scalarTable{
		"extract_date": extraction("date", false, extractDate),
		"date_part(text,date)": func(c *Call, a []Datum) (Datum, error) {
			us, err := dateToTimestamp(a[1].I)
			if err != nil {
				return null, err
			}
			return extraction(timestampName, true, extractTimestamp)(c, []Datum{a[0], sqltypes.Int(us)})
		},
	}.register()
}
