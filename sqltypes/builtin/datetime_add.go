package builtin

import (
	"ostraka/sqltypes"
)

func addUsec(us, add int64) (int64, error) {
	sum := us + add
	if (add >= 0) != (sum >= us) || !sqltypes.ValidTimestamp(sum) {
		return 0, sqltypes.TimestampOutOfRange()
	}
	return sum, nil
}

// addIntervalTZ counts months and days on the calendar of the session's zone.
func addIntervalTZ(c *Call, us int64, v sqltypes.Interval) (int64, error) {
	return sqltypes.TimestamptzAdd(us, v, zoneOf(c))
}

// opposite is -v, wrapping as PostgreSQL's subtraction does.
func opposite(v sqltypes.Interval) sqltypes.Interval {
	return sqltypes.Interval{Months: -v.Months, Days: -v.Days, Usec: -v.Usec}
}

func same1(v sqltypes.Interval) sqltypes.Interval { return v }

// plusInterval makes + and - of a timestamp-like argument and an interval, at
// the argument numbers given.
func plusInterval(at, interval int, sign func(sqltypes.Interval) sqltypes.Interval, add func(c *Call, us int64, v sqltypes.Interval) (int64, error)) func(*Call, []Datum) (Datum, error) {
	return func(c *Call, args []Datum) (Datum, error) {
		return timestamp(add(c, args[at].I, sign(sqltypes.IntervalOf(args[interval]))))
	}
}

func plainAdd(_ *Call, us int64, v sqltypes.Interval) (int64, error) {
	return sqltypes.TimestampAdd(us, v)
}

func dateAdd(_ *Call, days int64, v sqltypes.Interval) (int64, error) {
	us, err := sqltypes.DateToTimestamp(days)
	if err != nil {
		return 0, err
	}
	return sqltypes.TimestampAdd(us, v)
}

// timeAdd wraps around midnight.
func timeAdd(_ *Call, us int64, v sqltypes.Interval) (int64, error) {
	return timeOfDay(us + v.Usec%usecPerDay), nil
}

func timetzPlus(at, interval int, sign func(sqltypes.Interval) sqltypes.Interval) func(*Call, []Datum) (Datum, error) {
	return func(_ *Call, args []Datum) (Datum, error) {
		v := sign(sqltypes.IntervalOf(args[interval]))
		return Datum{I: timeOfDay(args[at].I + v.Usec%usecPerDay), Aux: args[at].Aux}, nil
	}
}

func timestampMinus(_ *Call, args []Datum) (Datum, error) {
	return interval(sqltypes.TimestampSub(args[0].I, args[1].I))
}

// dateTime is date + time; dateTimetz is date + timetz.
func dateTime(days, us int64) (Datum, error) {
	at, err := sqltypes.DateToTimestamp(days)
	if err != nil {
		return null, err
	}
	if sqltypes.TimestampIsInf(at) {
		return integer(at)
	}
	if at += us; !sqltypes.ValidTimestamp(at) {
		return null, sqltypes.TimestampOutOfRange()
	}
	return integer(at)
}

func dateTimetz(date, t Datum) (Datum, error) {
	return dateTime(date.I, t.I+int64(t.Aux)*usecPerSec)
}

func timestampAge(x, y int64) (Datum, error) { return interval(sqltypes.Age(x, y)) }

func timestamptzAge(c *Call, x, y int64) (Datum, error) {
	a, err := toLocal(c, x)
	if err != nil {
		return null, err
	}
	b, err := toLocal(c, y)
	if err != nil {
		return null, err
	}
	return timestampAge(a, b)
}

// today is the session's local midnight of the transaction's day.
func today(c *Call) (int64, error) {
	now, err := toLocal(c, c.Env.TxnTime)
	return floorDiv(now, usecPerDay) * usecPerDay, err
}

func init() {
	scalarTable{
		"timestamp_pl_interval":   plusInterval(0, 1, same1, plainAdd),
		"timestamp_mi_interval":   plusInterval(0, 1, opposite, plainAdd),
		"timestamptz_pl_interval": plusInterval(0, 1, same1, addIntervalTZ),
		"timestamptz_mi_interval": plusInterval(0, 1, opposite, addIntervalTZ),
		"date_pl_interval":        plusInterval(0, 1, same1, dateAdd),
		"date_mi_interval":        plusInterval(0, 1, opposite, dateAdd),
		"time_pl_interval":        plusInterval(0, 1, same1, timeAdd),
		"time_mi_interval":        plusInterval(0, 1, opposite, timeAdd),
		"timetz_pl_interval":      timetzPlus(0, 1, same1),
		"timetz_mi_interval":      timetzPlus(0, 1, opposite),
		// Written in SQL as the commuted operator.
		"interval_pl_timestamp(interval,timestamp)":     plusInterval(1, 0, same1, plainAdd),
		"interval_pl_timestamptz(interval,timestamptz)": plusInterval(1, 0, same1, addIntervalTZ),
		"interval_pl_date(interval,date)":               plusInterval(1, 0, same1, dateAdd),
		"interval_pl_time(interval,time)":               plusInterval(1, 0, same1, timeAdd),
		"interval_pl_timetz(interval,timetz)":           timetzPlus(1, 0, same1),
		"integer_pl_date(int4,date)":                    func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.DateAdd(a[1].I, a[0].I)) },
		"date_pli":                                      func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.DateAdd(a[0].I, a[1].I)) },
		"date_mii":                                      func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.DateAdd(a[0].I, -a[1].I)) },
		"date_mi":                                       func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.DateSub(a[0].I, a[1].I)) }, "timestamp_mi": timestampMinus,
		"time_mi_time": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.MakeInterval(sqltypes.Interval{Usec: a[0].I - a[1].I}), nil
		},
		"datetime_timestamp":         func(_ *Call, a []Datum) (Datum, error) { return dateTime(a[0].I, a[1].I) },
		"timedate_pl(time,date)":     func(_ *Call, a []Datum) (Datum, error) { return dateTime(a[1].I, a[0].I) },
		"datetimetz_timestamptz":     func(_ *Call, a []Datum) (Datum, error) { return dateTimetz(a[0], a[1]) },
		"timetzdate_pl(timetz,date)": func(_ *Call, a []Datum) (Datum, error) { return dateTimetz(a[1], a[0]) },
		"timestamptz(date,time)": func(c *Call, a []Datum) (Datum, error) {
			d, err := dateTime(a[0].I, a[1].I)
			if err != nil {
				return null, err
			}
			return timestamp(fromLocal(c, d.I))
		},
		"timestamp_age":   func(_ *Call, a []Datum) (Datum, error) { return timestampAge(a[0].I, a[1].I) },
		"timestamptz_age": func(c *Call, a []Datum) (Datum, error) { return timestamptzAge(c, a[0].I, a[1].I) },
		"age(timestamp)": func(c *Call, a []Datum) (Datum, error) {
			now, err := today(c)
			if err != nil {
				return null, err
			}
			return timestampAge(now, a[0].I)
		},
		"age(timestamptz)": func(c *Call, a []Datum) (Datum, error) {
			now, err := today(c)
			if err != nil {
				return null, err
			}
			local, err := toLocal(c, a[0].I)
			if err != nil {
				return null, err
			}
			return timestampAge(now, local)
		},
		"float8_timestamptz": func(_ *Call, a []Datum) (Datum, error) { return timestamp(sqltypes.FloatToTimestamptz(a[0].Float())) },
	}.register()
}
