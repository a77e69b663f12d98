package sqltypes

import (
	"time"

	"ostraka/sqltypes/pgerror"
)

// TruncTimestamp is date_trunc(field, timestamp). Errors: 22023, 0A000.
func TruncTimestamp(field string, us int64) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	c := civilOf(us)
	if _, err := c.trunc(field, OIDTimestamp); err != nil {
		return 0, err
	}
	r, ok := c.timestamp(0)
	if !ok {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

// TruncTimestamptz is date_trunc(field, timestamptz) on the calendar of loc.
func TruncTimestamptz(field string, us int64, loc *time.Location) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	east, _ := zoneOffset(us, loc)
	c := civilOf(us + int64(east)*usecSec)
	day, err := c.trunc(field, OIDTimestamptz)
	if err != nil {
		return 0, err
	}
	if day {
		// From days upwards the offset is that of the start of the day.
		local, ok := c.timestamp(0)
		if !ok {
			return 0, TimestampOutOfRange()
		}
		east = localOffset(local, loc)
	}
	r, ok := c.timestamp(-east)
	if !ok {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

// TruncTimestamptzZone is date_trunc(field, timestamptz, zone).
func TruncTimestamptzZone(field string, us int64, zone string) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	z, err := findZone(zone)
	if err != nil {
		return 0, err
	}
	if z.fixed || z.abbr != "" {
		return TruncTimestamptz(field, us, time.FixedZone(zone, z.eastAt(us)))
	}
	return TruncTimestamptz(field, us, z.loc)
}

// trunc cuts to a unit; day reports one of at least a day.
func (c *civil) trunc(field string, typ OID) (day bool, err error) {
	unit, lower := truncUnit(field)
	midnight := func() { c.hour, c.min, c.sec, c.usec = 0, 0, 0, 0 }
	switch unit {
	case unitWeek:
		week, year := isoWeek(c.year, c.month, c.day)
		c.year, c.month, c.day = julianToDate(isoWeekToJulian(year, week))
		midnight()
		return true, nil
	case unitMillennium, unitCentury, unitDecade, unitYear, unitQuarter, unitMonth, unitDay:
		y := c.year
		first := func(size int) int {
			if y > 0 {
				return (y+size-1)/size*size - (size - 1)
			}
			return -((size-1-(y-1))/size)*size + 1
		}
		switch unit {
		case unitMillennium:
			c.year = first(1000)
		case unitCentury:
			c.year = first(100)
		case unitDecade:
			if y > 0 {
				c.year = y / 10 * 10
			} else {
				c.year = -((8 - (y - 1)) / 10) * 10
			}
		}
		switch unit {
		case unitMillennium, unitCentury, unitDecade, unitYear:
			c.month = 1
		case unitQuarter:
			c.month = 3*((c.month-1)/3) + 1
		}
		if unit != unitDay {
			c.day = 1
		}
		midnight()
		return true, nil
	case unitHour:
		c.min, c.sec, c.usec = 0, 0, 0
	case unitMinute:
		c.sec, c.usec = 0, 0
	case unitSecond:
		c.usec = 0
	case unitMillisec:
		c.usec = c.usec / 1000 * 1000
	case unitMicrosec:
	default:
		return false, unitError(unit, lower, typ)
	}
	return false, nil
}

// TruncInterval is date_trunc(field, interval).
func TruncInterval(field string, v Interval) (Interval, error) {
	unit, lower := truncUnit(field)
	cut := func(u int64) { v.Usec = v.Usec / u * u }
	months := func(n int32) { v = Interval{Months: v.Months / n * n} }
	switch unit {
	case unitMillennium:
		months(12000)
	case unitCentury:
		months(1200)
	case unitDecade:
		months(120)
	case unitYear:
		months(12)
	case unitQuarter:
		months(3)
	case unitMonth:
		months(1)
	case unitDay:
		v.Usec = 0
	case unitHour:
		cut(usecHour)
	case unitMinute:
		cut(usecMin)
	case unitSecond:
		cut(usecSec)
	case unitMillisec:
		cut(1000)
	case unitMicrosec:
	default:
		err := unitError(unit, lower, OIDInterval).(*pgerror.Error)
		if unit == unitWeek {
			err.WithDetail("Months usually have fractional weeks.")
		}
		return v, err
	}
	return v, nil
}
