package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// isoWeek returns the ISO 8601 year (0 is 1 BC) and week of a date.
func isoWeek(y, m, d int) (isoYear, week int) {
	today := sqltypes.JulianDay(y, m, d)
	start := isoYearStart(y)
	if today < start {
		y--
		start = isoYearStart(y)
	} else if next := isoYearStart(y + 1); today >= next {
		y++
		start = next
	}
	return y, (today-start)/7 + 1
}

// isoYearStart is the Julian day of the Monday of week 1.
func isoYearStart(y int) int {
	fourth := sqltypes.JulianDay(y, 1, 4)
	return fourth - weekday(fourth-1)
}

// weekday is 0 for Sunday.
func weekday(jd int) int { return ((jd+1)%7 + 7) % 7 }

// truncCivil cuts a local timestamp to a unit.
func truncCivil(us int64, u unit) (int64, bool) {
	c := sqltypes.CivilOf(us)
	switch u {
	case millennium:
		if c.Year > 0 {
			c.Year = (c.Year+999)/1000*1000 - 999
		} else {
			c.Year = -((999-(c.Year-1))/1000)*1000 + 1
		}
	case century:
		if c.Year > 0 {
			c.Year = (c.Year+99)/100*100 - 99
		} else {
			c.Year = -((99-(c.Year-1))/100)*100 + 1
		}
	case decade:
		if c.Year > 0 {
			c.Year = c.Year / 10 * 10
		} else {
			c.Year = -((8 - (c.Year - 1)) / 10) * 10
		}
	case quarter:
		c.Month = 3*((c.Month-1)/3) + 1
	case week:
		jd := sqltypes.JulianDay(c.Year, c.Month, c.Day)
		c.Year, c.Month, c.Day = sqltypes.JulianDate(jd - weekday(jd-1))
	}
	if u >= year && u <= millennium {
		c.Month = 1
	}
	if u >= month && u <= millennium {
		c.Day = 1
	}
	if u >= day {
		c.Hour = 0
	}
	if u >= hour {
		c.Min = 0
	}
	if u >= minute {
		c.Sec = 0
	}
	if u >= second {
		c.Usec = 0
	}
	if u == millisecond {
		c.Usec = c.Usec / 1000 * 1000
	}
	return c.Timestamp()
}

func truncUnit(name, typ string) (unit, *pgerror.Error) {
	u, lower := findUnit(name)
	if u < microsecond || u > millennium {
		return 0, badUnit(u, lower, typ)
	}
	return u, nil
}

func truncTimestamp(_ *Call, args []Datum) (Datum, error) {
	if sqltypes.TimestampIsInf(args[1].I) {
		return args[1], nil
	}
	u, err := truncUnit(args[0].S, timestampName)
	if err != nil {
		return fail(err)
	}
	us, ok := truncCivil(args[1].I, u)
	if !ok {
		return null, sqltypes.TimestampOutOfRange()
	}
	return integer(us)
}

// truncInstant cuts in a zone; below a day the zone's offset stays what it was.
func truncInstant(us int64, u unit, toZone, fromZone func(int64) (int64, error)) (Datum, error) {
	local, err := toZone(us)
	if err != nil {
		return null, err
	}
	cut, ok := truncCivil(local, u)
	if !ok {
		return null, sqltypes.TimestampOutOfRange()
	}
	if u < day {
		return integer(us - (local - cut))
	}
	return timestamp(fromZone(cut))
}

func truncTimestamptz(c *Call, args []Datum) (Datum, error) {
	if sqltypes.TimestampIsInf(args[1].I) {
		return args[1], nil
	}
	u, err := truncUnit(args[0].S, timestamptzName)
	if err != nil {
		return fail(err)
	}
	return truncInstant(args[1].I, u,
		func(us int64) (int64, error) { return toLocal(c, us) }, func(us int64) (int64, error) { return fromLocal(c, us) })
}

func truncTimestamptzZone(_ *Call, args []Datum) (Datum, error) {
	if sqltypes.TimestampIsInf(args[1].I) {
		return args[1], nil
	}
	if _, err := sqltypes.ZoneOffsetAt(args[2].S, args[1].I); err != nil {
		return null, err
	}
	u, err := truncUnit(args[0].S, timestamptzName)
	if err != nil {
		return fail(err)
	}
	zone := args[2].S
	return truncInstant(args[1].I, u,
		func(us int64) (int64, error) { return sqltypes.TimestamptzAtZone(us, zone) },
		func(us int64) (int64, error) { return sqltypes.TimestampAtZone(us, zone) })
}

func truncInterval(_ *Call, args []Datum) (Datum, error) {
	u, lower := findUnit(args[0].S)
	v := sqltypes.IntervalOf(args[1])
	if u == week {
		return fail(badUnit(u, lower, "interval").WithDetail("Months usually have fractional weeks."))
	}
	if u < microsecond || u > millennium {
		return fail(badUnit(u, lower, "interval"))
	}
	if m := map[unit]int32{millennium: 12000, century: 1200, decade: 120, year: 12, quarter: 3}[u]; m != 0 {
		v.Months = v.Months / m * m
	}
	if u >= month {
		v.Days = 0
	}
	cut := map[unit]int64{hour: usecPerHour, minute: 60 * usecPerSec, second: usecPerSec, millisecond: 1000, microsecond: 1}[u]
	if cut == 0 {
		v.Usec = 0
	} else {
		v.Usec = v.Usec / cut * cut
	}
	return interval(v, nil)
}

// binTimestamp is date_bin(stride, source, origin).
func binTimestamp(_ *Call, args []Datum) (Datum, error) {
	stride, us, origin := sqltypes.IntervalOf(args[0]), args[1].I, args[2].I
	if sqltypes.TimestampIsInf(us) {
		return args[1], nil
	}
	if sqltypes.TimestampIsInf(origin) {
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "origin out of range"))
	}
	if stride.Months != 0 {
		return fail(pgerror.New(pgerror.FeatureNotSupported, "timestamps cannot be binned into intervals containing months or years"))
	}
	days, ok := mulInt64(int64(stride.Days), usecPerDay)
	width := days + stride.Usec
	if !ok || (stride.Usec >= 0) != (width >= days) {
		return null, sqltypes.IntervalOutOfRange()
	}
	if width <= 0 {
		return fail(pgerror.New(pgerror.DatetimeValueOutOfRange, "stride must be greater than zero"))
	}
	diff := us - origin
	if (origin <= 0) != (diff >= us) && diff != us {
		return null, sqltypes.IntervalOutOfRange()
	}
	rest := diff % width
	if rest < 0 {
		rest += width
	}
	result := us - rest
	if result > us || !sqltypes.ValidTimestamp(result) {
		return null, sqltypes.TimestampOutOfRange()
	}
	return integer(result)
}

func init() {
	scalarTable{
		"timestamp_trunc": truncTimestamp, "timestamptz_trunc": truncTimestamptz, "timestamptz_trunc_zone": truncTimestamptzZone,
		"interval_trunc": truncInterval, "timestamp_bin": binTimestamp, "timestamptz_bin": binTimestamp,
	}.register()
}
