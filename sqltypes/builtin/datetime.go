package builtin

import (
	"cmp"
	"math"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

const (
	usecPerSec  = int64(1_000_000)
	usecPerHour = 3600 * usecPerSec
	usecPerDay  = 24 * usecPerHour
)

// zoneOf is the session's time zone.
func zoneOf(c *Call) *time.Location {
	if c.Env != nil && c.Env.TimeZone != nil {
		return c.Env.TimeZone
	}
	return time.UTC
}

func outOfRange(what string) *pgerror.Error {
	return pgerror.New(pgerror.DatetimeValueOutOfRange, "%s out of range", what)
}

// dateToTimestamp is midnight of a date; dates reach further than timestamps.
func dateToTimestamp(days int64) (int64, error) {
	switch days {
	case sqltypes.DateInfinity:
		return sqltypes.TimestampInfinity, nil
	case sqltypes.DateNegInfinity:
		return sqltypes.TimestampNegInfinity, nil
	}
	if days >= math.MaxInt64/usecPerDay {
		return 0, pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range for timestamp")
	}
	return days * usecPerDay, nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// timestampToDate is the day of a local timestamp.
func timestampToDate(us int64) int64 {
	switch us {
	case sqltypes.TimestampInfinity:
		return sqltypes.DateInfinity
	case sqltypes.TimestampNegInfinity:
		return sqltypes.DateNegInfinity
	}
	return floorDiv(us, usecPerDay)
}

func timeOfDay(us int64) int64 { return us - floorDiv(us, usecPerDay)*usecPerDay }

// toLocal and fromLocal convert between instants and local time of the session.
func toLocal(c *Call, us int64) (int64, error)   { return sqltypes.TimestampToLocal(us, zoneOf(c)) }
func fromLocal(c *Call, us int64) (int64, error) { return sqltypes.LocalToTimestamp(us, zoneOf(c)) }

func timestamp(us int64, err error) (Datum, error) {
	if err != nil {
		return null, err
	}
	return integer(us)
}

func dateTimestamp(_ *Call, args []Datum) (Datum, error) {
	return timestamp(dateToTimestamp(args[0].I))
}

func dateTimestamptz(c *Call, args []Datum) (Datum, error) {
	us, err := dateToTimestamp(args[0].I)
	if err != nil {
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range for timestamp"))
	}
	return timestamp(fromLocal(c, us))
}

func timestampDate(_ *Call, args []Datum) (Datum, error) { return integer(timestampToDate(args[0].I)) }

func timestamptzDate(c *Call, args []Datum) (Datum, error) {
	us, err := toLocal(c, args[0].I)
	if err != nil {
		return null, err
	}
	return integer(timestampToDate(us))
}

func timestampTime(_ *Call, args []Datum) (Datum, error) {
	if sqltypes.TimestampIsInf(args[0].I) {
		return isNull()
	}
	return integer(timeOfDay(args[0].I))
}

func timestamptzTime(c *Call, args []Datum) (Datum, error) {
	if sqltypes.TimestampIsInf(args[0].I) {
		return isNull()
	}
	us, err := toLocal(c, args[0].I)
	if err != nil {
		return null, err
	}
	return integer(timeOfDay(us))
}

func timestamptzTimetz(c *Call, args []Datum) (Datum, error) {
	if sqltypes.TimestampIsInf(args[0].I) {
		return isNull()
	}
	east := sqltypes.ZoneOffset(args[0].I, zoneOf(c))
	return Datum{I: timeOfDay(args[0].I + int64(east)*usecPerSec), Aux: int32(-east)}, nil
}

// timeTimetz adds the zone that the session has today at that time.
func timeTimetz(c *Call, args []Datum) (Datum, error) {
	now, err := toLocal(c, c.Env.TxnTime)
	if err != nil {
		return null, err
	}
	local := floorDiv(now, usecPerDay)*usecPerDay + args[0].I
	us, err := fromLocal(c, local)
	if err != nil {
		return null, err
	}
	return Datum{I: args[0].I, Aux: int32((us - local) / usecPerSec)}, nil
}

// mixedOrder compares values of different date types as timestamps; a date too
// late for a timestamp is above all of them.
func mixedOrder(left, right func(c *Call, v int64) (int64, int)) func(*Call) func(a, b Datum) int {
	return func(c *Call) func(a, b Datum) int {
		return func(a, b Datum) int {
			x, xOver := left(c, a.I)
			y, yOver := right(c, b.I)
			if xOver != yOver {
				return cmp.Compare(xOver, yOver)
			}
			return cmp.Compare(x, y)
		}
	}
}

func asTimestamp(_ *Call, v int64) (int64, int) { return v, 0 }

func dateAsTimestamp(_ *Call, v int64) (int64, int) {
	us, err := dateToTimestamp(v)
	if err != nil {
		return 0, 1
	}
	return us, 0
}

func localAsInstant(c *Call, v int64) (int64, int) {
	us, err := fromLocal(c, v)
	if err != nil {
		if v < 0 {
			return 0, -1
		}
		return 0, 1
	}
	return us, 0
}

func dateAsInstant(c *Call, v int64) (int64, int) {
	us, over := dateAsTimestamp(c, v)
	if over != 0 || sqltypes.TimestampIsInf(us) {
		return us, over
	}
	return localAsInstant(c, us)
}

func init() {
	for _, name := range []string{"date", "time", "timestamp"} {
		compareOps(name+"_*", compareInt, nil)
		scalarTable{name + "_cmp": compareProc(compareInt), name + "_larger": larger(compareInt), name + "_smaller": smaller(compareInt)}.register()
	}
	compareOps("timetz_*", sqltypes.CompareTimetz, nil)
	compareOps("interval_*", sqltypes.CompareInterval, nil)
	for name, order := range map[string]func(a, b Datum) int{"timetz": sqltypes.CompareTimetz, "interval": sqltypes.CompareInterval} {
		scalarTable{name + "_cmp": compareProc(order), name + "_larger": larger(order), name + "_smaller": smaller(order)}.register()
	}
	type side = func(*Call, int64) (int64, int)
	for pattern, sides := range map[string][2]side{
		"date_*_timestamp":        {dateAsTimestamp, asTimestamp},
		"timestamp_*_date":        {asTimestamp, dateAsTimestamp},
		"date_*_timestamptz":      {dateAsInstant, asTimestamp},
		"timestamptz_*_date":      {asTimestamp, dateAsInstant},
		"timestamp_*_timestamptz": {localAsInstant, asTimestamp},
		"timestamptz_*_timestamp": {asTimestamp, localAsInstant},
	} {
		order := mixedOrder(sides[0], sides[1])
		compareOpsOf(pattern, order, nil)
		cmpName := pattern[:len(pattern)-len(pattern[indexStar(pattern):])] + "cmp" + pattern[indexStar(pattern)+1:]
		scalarTable{cmpName: func(c *Call, a []Datum) (Datum, error) { return compareProc(order(c))(c, a) }}.register()
	}
	finite := func(test func(int64) bool) sqltypes.ScalarFunc {
		return func(_ *Call, a []Datum) (Datum, error) { return boolean(!test(a[0].I)) }
	}
	scalarTable{
		"date_timestamp": dateTimestamp, "date_timestamptz": dateTimestamptz,
		"timestamp_date": timestampDate, "timestamptz_date": timestamptzDate,
		"timestamp_time": timestampTime, "timestamptz_time": timestamptzTime, "timestamptz_timetz": timestamptzTimetz,
		"timestamp_timestamptz": func(c *Call, a []Datum) (Datum, error) { return timestamp(fromLocal(c, a[0].I)) },
		"timestamptz_timestamp": func(c *Call, a []Datum) (Datum, error) { return timestamp(toLocal(c, a[0].I)) },
		"time_timetz":           timeTimetz,
		"timetz_time":           func(_ *Call, a []Datum) (Datum, error) { return integer(a[0].I) },
		"time_interval": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.MakeInterval(sqltypes.Interval{Usec: a[0].I}), nil
		},
		"interval_time": func(_ *Call, a []Datum) (Datum, error) { return integer(timeOfDay(a[0].I)) },
		"date_finite":   finite(sqltypes.DateIsInf), "timestamp_finite": finite(sqltypes.TimestampIsInf),
		"interval_finite": func(*Call, []Datum) (Datum, error) { return boolean(true) },
		"timestamp_scale": scaleTimestamp, "timestamptz_scale": scaleTimestamp,
		"time_scale": func(_ *Call, a []Datum) (Datum, error) { return integer(sqltypes.RoundTime(a[0].I, int32(a[1].I))) },
		"timetz_scale": func(_ *Call, a []Datum) (Datum, error) {
			return Datum{I: sqltypes.RoundTime(a[0].I, int32(a[1].I)), Aux: a[0].Aux}, nil
		},
		"interval_scale": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.MakeInterval(sqltypes.AdjustInterval(sqltypes.IntervalOf(a[0]), int32(a[1].I))), nil
		},
	}.register()
}

// scaleTimestamp is the cast to timestamp(p) and timestamptz(p).
func scaleTimestamp(_ *Call, args []Datum) (Datum, error) {
	p := args[1].I
	if !sqltypes.TimestampIsInf(args[0].I) && p != -1 && (p < 0 || p > 6) {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "timestamp(%d) precision must be between %d and %d", p, 0, 6))
	}
	return integer(sqltypes.RoundTimestamp(args[0].I, int32(p)))
}

func indexStar(s string) int {
	for i := range s {
		if s[i] == '*' {
			return i
		}
	}
	return len(s)
}
