package builtin

import (
	"cmp"
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

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
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

func timestamptzDate(c *Call, args []Datum) (Datum, error) {
	us, err := toLocal(c, args[0].I)
	if err != nil {
		return null, err
	}
	return integer(sqltypes.TimestampToDate(us))
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
	us, err := sqltypes.DateToTimestamp(v)
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
		"date_timestamp": func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.DateToTimestamp(a[0].I)) },
		"date_timestamptz": func(c *Call, a []Datum) (Datum, error) {
			return timestamp(sqltypes.DateToTimestamptz(a[0].I, zoneOf(c)))
		},
		"timestamp_date":   func(_ *Call, a []Datum) (Datum, error) { return integer(sqltypes.TimestampToDate(a[0].I)) },
		"timestamptz_date": timestamptzDate,
		"timestamp_time":   func(_ *Call, a []Datum) (Datum, error) { return sqltypes.TimestampToTime(a[0].I), nil },
		"timestamptz_time": timestamptzTime, "timestamptz_timetz": func(c *Call, a []Datum) (Datum, error) {
			if sqltypes.TimestampIsInf(a[0].I) {
				return isNull()
			}
			return sqltypes.TimestamptzToTimetz(a[0].I, zoneOf(c)), nil
		},

		"timestamp_timestamptz": func(c *Call, a []Datum) (Datum, error) { return timestamp(fromLocal(c, a[0].I)) },
		"timestamptz_timestamp": func(c *Call, a []Datum) (Datum, error) { return timestamp(toLocal(c, a[0].I)) },
		"time_timetz": func(c *Call, a []Datum) (Datum, error) {
			return sqltypes.TimeToTimetz(a[0].I, c.Env.TxnTime, zoneOf(c)), nil
		},
		"timetz_time": func(_ *Call, a []Datum) (Datum, error) { return integer(a[0].I) },
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
