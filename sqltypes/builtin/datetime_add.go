package builtin

import (
	"math"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// addMonths moves a local timestamp by months, to the last day of a shorter month.
func addMonths(us int64, months int32) (int64, bool) {
	c := sqltypes.CivilOf(us)
	c.Month += int(months)
	if c.Month > 12 {
		c.Year += (c.Month - 1) / 12
		c.Month = (c.Month-1)%12 + 1
	} else if c.Month < 1 {
		c.Year += c.Month/12 - 1
		c.Month = c.Month%12 + 12
	}
	c.Day = min(c.Day, sqltypes.DaysInMonth(c.Year, c.Month))
	return c.Timestamp()
}

func addDays(us int64, days int32) (int64, bool) {
	sum := us + int64(days)*usecPerDay
	return sum, (days < 0 || sum >= us) && (days > 0 || sum <= us) && sqltypes.ValidTimestamp(sum)
}

func addUsec(us, add int64) (int64, error) {
	sum := us + add
	if (add >= 0) != (sum >= us) || !sqltypes.ValidTimestamp(sum) {
		return 0, sqltypes.TimestampOutOfRange()
	}
	return sum, nil
}

// addInterval adds months, then days, then time to a local timestamp.
func addInterval(us int64, v sqltypes.Interval) (int64, error) {
	if sqltypes.TimestampIsInf(us) {
		return us, nil
	}
	ok := true
	if v.Months != 0 {
		if us, ok = addMonths(us, v.Months); !ok {
			return 0, sqltypes.TimestampOutOfRange()
		}
	}
	if v.Days != 0 {
		if us, ok = addDays(us, v.Days); !ok {
			return 0, sqltypes.TimestampOutOfRange()
		}
	}
	return addUsec(us, v.Usec)
}

// addIntervalTZ adds months and days in the session's zone, then time.
func addIntervalTZ(c *Call, us int64, v sqltypes.Interval) (int64, error) {
	if sqltypes.TimestampIsInf(us) {
		return us, nil
	}
	for _, part := range []sqltypes.Interval{{Months: v.Months}, {Days: v.Days}} {
		if part == (sqltypes.Interval{}) {
			continue
		}
		local, err := toLocal(c, us)
		if err != nil {
			return 0, err
		}
		if local, err = addInterval(local, part); err != nil {
			return 0, err
		}
		if us, err = fromLocal(c, local); err != nil {
			return 0, err
		}
	}
	return addUsec(us, v.Usec)
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

func plainAdd(_ *Call, us int64, v sqltypes.Interval) (int64, error) { return addInterval(us, v) }

func dateAdd(_ *Call, days int64, v sqltypes.Interval) (int64, error) {
	us, err := dateToTimestamp(days)
	if err != nil {
		return 0, err
	}
	return addInterval(us, v)
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

func datePlusDays(days, add int64) (Datum, error) {
	if sqltypes.DateIsInf(days) {
		return integer(days)
	}
	if sum := days + add; sqltypes.ValidDate(sum) {
		return integer(sum)
	}
	return null, sqltypes.DateOutOfRange()
}

func dateMinusDate(_ *Call, args []Datum) (Datum, error) {
	if sqltypes.DateIsInf(args[0].I) || sqltypes.DateIsInf(args[1].I) {
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "cannot subtract infinite dates"))
	}
	return integer(args[0].I - args[1].I)
}

func timestampMinus(_ *Call, args []Datum) (Datum, error) {
	if sqltypes.TimestampIsInf(args[0].I) || sqltypes.TimestampIsInf(args[1].I) {
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "cannot subtract infinite timestamps"))
	}
	v, err := justifyHours(sqltypes.Interval{Usec: args[0].I - args[1].I})
	return sqltypes.MakeInterval(v), err
}

// dateTime is date + time; dateTimetz is date + timetz.
func dateTime(days, us int64) (Datum, error) {
	at, err := dateToTimestamp(days)
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

// timestampAge is age(): years, months and days as a calendar counts them.
func timestampAge(x, y int64) (Datum, error) {
	if sqltypes.TimestampIsInf(x) || sqltypes.TimestampIsInf(y) {
		return null, sqltypes.TimestampOutOfRange()
	}
	a, b, negative := sqltypes.CivilOf(x), sqltypes.CivilOf(y), x < y
	later := b
	if negative {
		a, b = b, a
		later = b
	}
	usec, sec, minute, hour := a.Usec-b.Usec, a.Sec-b.Sec, a.Min-b.Min, a.Hour-b.Hour
	day, month, year := a.Day-b.Day, a.Month-b.Month, a.Year-b.Year
	borrow := func(v, next *int, unit int) {
		for *v < 0 {
			*v += unit
			*next--
		}
	}
	borrow(&usec, &sec, int(usecPerSec))
	borrow(&sec, &minute, 60)
	borrow(&minute, &hour, 60)
	borrow(&hour, &day, 24)
	for day < 0 {
		day += sqltypes.DaysInMonth(later.Year, later.Month)
		month--
	}
	borrow(&month, &year, 12)
	v := sqltypes.Interval{
		Months: int32(year*12 + month), Days: int32(day),
		Usec: (int64(hour)*3600+int64(minute)*60+int64(sec))*usecPerSec + int64(usec),
	}
	if negative {
		v = opposite(v)
	}
	return sqltypes.MakeInterval(v), nil
}

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

// toTimestamp is to_timestamp(seconds since 1970).
func toTimestamp(_ *Call, args []Datum) (Datum, error) {
	sec := args[0].Float()
	switch {
	case math.IsNaN(sec):
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "timestamp cannot be NaN"))
	case math.IsInf(sec, 1):
		return integer(sqltypes.TimestampInfinity)
	case math.IsInf(sec, -1):
		return integer(sqltypes.TimestampNegInfinity)
	}
	const julianDays = 86400.0
	if sec < julianDays*(0-2440588) || sec >= julianDays*(109203528-2440588) {
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "timestamp out of range: \"%s\"", formatG(sec)))
	}
	us := math.RoundToEven((sec - 10957*86400) * 1e6)
	if us < math.MinInt64 || us >= math.MaxInt64 || !sqltypes.ValidTimestamp(int64(us)) {
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "timestamp out of range: \"%s\"", formatG(sec)))
	}
	return integer(int64(us))
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
		"integer_pl_date(int4,date)":                    func(_ *Call, a []Datum) (Datum, error) { return datePlusDays(a[1].I, a[0].I) },
		"date_pli":                                      func(_ *Call, a []Datum) (Datum, error) { return datePlusDays(a[0].I, a[1].I) },
		"date_mii":                                      func(_ *Call, a []Datum) (Datum, error) { return datePlusDays(a[0].I, -a[1].I) },
		"date_mi":                                       dateMinusDate, "timestamp_mi": timestampMinus,
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
		"float8_timestamptz": toTimestamp,
	}.register()
}
