package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// unit is a date/time field as extract and date_trunc name it.
type unit uint8

const (
	noUnit unit = iota
	microsecond
	millisecond
	second
	minute
	hour
	day
	week
	month
	quarter
	year
	decade
	century
	millennium
	dow
	isodow
	doy
	isoyear
	julian
	epoch
	zone
	zoneHour
	zoneMinute
	otherUnit // a word PostgreSQL knows that is no field (now, ago …)
)

// unitNames are the words for units, cut to ten characters as PostgreSQL does.
var unitNames = map[string]unit{
	"us": microsecond, "usec": microsecond, "usecs": microsecond, "microsecon": microsecond, "usecond": microsecond, "useconds": microsecond,
	"ms": millisecond, "msec": millisecond, "msecs": millisecond, "millisecon": millisecond, "msecond": millisecond, "mseconds": millisecond,
	"s": second, "sec": second, "secs": second, "second": second, "seconds": second,
	"m": minute, "min": minute, "mins": minute, "minute": minute, "minutes": minute,
	"h": hour, "hr": hour, "hrs": hour, "hour": hour, "hours": hour,
	"d": day, "day": day, "days": day,
	"w": week, "week": week, "weeks": week,
	"mon": month, "mons": month, "month": month, "months": month,
	"qtr": quarter, "quarter": quarter,
	"y": year, "yr": year, "yrs": year, "year": year, "years": year,
	"dec": decade, "decs": decade, "decade": decade, "decades": decade,
	"c": century, "cent": century, "century": century, "centuries": century,
	"mil": millennium, "mils": millennium, "millennia": millennium, "millennium": millennium,
	"dow": dow, "isodow": isodow, "doy": doy, "isoyear": isoyear,
	"j": julian, "jd": julian, "julian": julian, "epoch": epoch,
	"timezone": zone, "timezone_h": zoneHour, "timezone_m": zoneMinute,
	"ago": otherUnit, "now": otherUnit, "today": otherUnit, "tomorrow": otherUnit, "yesterday": otherUnit,
}

// findUnit reads a unit name; lower is the name as error messages show it.
func findUnit(name string) (u unit, lower string) {
	lower = sqltypes.TruncateName(strings.Map(func(r rune) rune {
		if r < 0x80 {
			return rune(asciiLower(byte(r)))
		}
		return r
	}, name))
	key := lower
	if len(key) > 10 {
		key = key[:10]
	}
	return unitNames[key], lower
}

// badUnit is the error for a unit that a type does not have or nobody knows.
func badUnit(u unit, name, typ string) *pgerror.Error {
	if u == noUnit {
		return pgerror.New(pgerror.InvalidParameterValue, "unit \"%s\" not recognized for type %s", name, typ)
	}
	return pgerror.New(pgerror.FeatureNotSupported, "unit \"%s\" not supported for type %s", name, typ)
}

const (
	timestampName   = "timestamp without time zone"
	timestamptzName = "timestamp with time zone"
	timeName        = "time without time zone"
	timetzName      = "time with time zone"
)
