package sqltypes

import (
	"math"
	"math/bits"

	"ostraka/sqltypes/pgerror"
)

// Microseconds of the units of time.
const (
	usecSec  = int64(1000000)
	usecMin  = 60 * usecSec
	usecHour = 60 * usecMin
	usecDay  = 24 * usecHour

	postgresEpochJulian = 2451545 // 2000-01-01
	unixEpochJulian     = 2440588 // 1970-01-01

	// Limits, PostgreSQL's: 4713-11-24 BC up to but not including the end.
	minTimestamp = int64(-211813488000000000)
	endTimestamp = int64(9223371331200000000)
	minDate      = int64(-postgresEpochJulian)
	endDate      = int64(2147483494 - postgresEpochJulian)

	// UnixEpochUsec is 1970-01-01 on the scale of timestamps.
	UnixEpochUsec = int64(unixEpochJulian-postgresEpochJulian) * usecDay
)

// The infinities of timestamps and dates.
const (
	TimestampInfinity    = math.MaxInt64
	TimestampNegInfinity = math.MinInt64
	DateInfinity         = math.MaxInt32
	DateNegInfinity      = math.MinInt32
)

// TimestampIsInf and DateIsInf recognise them.
func TimestampIsInf(us int64) bool { return us == TimestampInfinity || us == TimestampNegInfinity }
func DateIsInf(days int64) bool    { return days == DateInfinity || days == DateNegInfinity }

func validTimestamp(us int64) bool { return us >= minTimestamp && us < endTimestamp }
func validDate(days int64) bool    { return days >= minDate && days < endDate }

// civil is a broken-down date and time. Year 0 is 1 BC.
type civil struct {
	year, month, day int
	hour, min, sec   int
	usec             int
}

// dateToJulian is the Julian day number of a proleptic Gregorian date; month may be out of 1…12 by a year.
func dateToJulian(y, m, d int) int {
	if m > 2 {
		m++
		y += 4800
	} else {
		m += 13
		y += 4799
	}
	century := y / 100
	return y*365 - 32167 + y/4 - century + century/4 + 7834*m/256 + d
}

// julianToDate is its inverse.
func julianToDate(jd int) (y, m, d int) {
	julian := uint32(jd) + 32044
	quad := julian / 146097
	extra := (julian-quad*146097)*4 + 3
	julian += 60 + quad*3 + extra/146097
	quad = julian / 1461
	julian -= quad * 1461
	yy := int(julian * 4 / 1461)
	if yy != 0 {
		julian = (julian+305)%365 + 123
	} else {
		julian = (julian+306)%366 + 123
	}
	yy += int(quad * 4)
	quad = julian * 2141 / 65536
	return yy - 4800, int((quad+10)%12) + 1, int(julian - 7834*quad/256)
}

func validJulian(y, m int) bool {
	return (y > -4713 || y == -4713 && m >= 11) && (y < 5874898 || y == 5874898 && m < 6)
}

func isLeap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

var monthDays = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysIn(y, m int) int {
	if m == 2 && isLeap(y) {
		return 29
	}
	return monthDays[m]
}

// dayOfWeek is 0 for Sunday.
func dayOfWeek(julian int) int {
	d := (julian + 1) % 7
	if d < 0 {
		d += 7
	}
	return d
}

// civilOf breaks a finite timestamp (local, without zone) down.
func civilOf(us int64) civil {
	days := us / usecDay
	us -= days * usecDay
	if us < 0 {
		days--
		us += usecDay
	}
	var c civil
	c.year, c.month, c.day = julianToDate(int(days) + postgresEpochJulian)
	c.setTime(us)
	return c
}

// setTime fills the time of day from microseconds since midnight.
func (c *civil) setTime(us int64) {
	c.hour = int(us / usecHour)
	us -= int64(c.hour) * usecHour
	c.min = int(us / usecMin)
	us -= int64(c.min) * usecMin
	c.sec = int(us / usecSec)
	c.usec = int(us - int64(c.sec)*usecSec)
}

func (c *civil) timeOfDay() int64 {
	return ((int64(c.hour)*60+int64(c.min))*60+int64(c.sec))*usecSec + int64(c.usec)
}

// timestamp puts a civil time together; false when it is out of range. west is
// the zone's offset in seconds west of UTC.
func (c *civil) timestamp(west int) (int64, bool) {
	if !validJulian(c.year, c.month) {
		return 0, false
	}
	days := int64(dateToJulian(c.year, c.month, c.day) - postgresEpochJulian)
	hi, lo := bits.Mul64(absU(days), uint64(usecDay))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	us, ok := addInt64(days*usecDay, c.timeOfDay())
	if !ok {
		return 0, false
	}
	if us, ok = addInt64(us, int64(west)*usecSec); !ok || !validTimestamp(us) {
		return 0, false
	}
	return us, true
}

func addInt64(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func subInt64(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

func mulInt64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(absU(a), absU(b))
	neg := (a < 0) != (b < 0)
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && !neg {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

// TimestampOutOfRange and DateOutOfRange are the 22008 of arithmetic.
func TimestampOutOfRange() error {
	return pgerror.New(pgerror.DatetimeValueOutOfRange, "timestamp out of range")
}
func DateOutOfRange() error {
	return pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range")
}
func IntervalOutOfRange() error {
	return pgerror.New(pgerror.DatetimeValueOutOfRange, "interval out of range")
}

// roundUsec rounds to a precision of 0…6 decimals, half away from zero.
func roundUsec(us int64, precision int32) int64 {
	if precision < 0 || precision >= 6 {
		return us
	}
	scale := int64(pow10u[6-precision])
	if us >= 0 {
		return (us + scale/2) / scale * scale
	}
	return -((-us + scale/2) / scale * scale)
}

// RoundTimestamp enforces timestamp(p) and timestamptz(p). Infinities stay.
func RoundTimestamp(us int64, typmod int32) int64 {
	if TimestampIsInf(us) {
		return us
	}
	return roundUsec(us, typmod)
}

// RoundTime enforces time(p) and timetz(p).
func RoundTime(us int64, typmod int32) int64 { return roundUsec(us, typmod) }
