package sqltypes

import "time"

// CivilTime is a broken-down local date and time, for functions that work on
// calendar fields. Year 0 is 1 BC.
type CivilTime struct {
	Year, Month, Day int
	Hour, Min, Sec   int
	Usec             int
}

// CivilOf breaks a finite local timestamp down.
func CivilOf(us int64) CivilTime {
	c := civilOf(us)
	return CivilTime{c.year, c.month, c.day, c.hour, c.min, c.sec, c.usec}
}

// Timestamp puts the fields together; false when the result is out of range.
func (c CivilTime) Timestamp() (int64, bool) {
	x := civil{c.Year, c.Month, c.Day, c.Hour, c.Min, c.Sec, c.Usec}
	return x.timestamp(0)
}

// JulianDay is the Julian day number of a date, JulianDate its inverse.
func JulianDay(year, month, day int) int       { return dateToJulian(year, month, day) }
func JulianDate(jd int) (year, month, day int) { return julianToDate(jd) }
func DaysInMonth(year, month int) int          { return daysIn(year, month) }
func ValidTimestamp(us int64) bool             { return validTimestamp(us) }
func ValidDate(days int64) bool                { return validDate(days) }
func ValidJulian(year, month int) bool         { return validJulian(year, month) }

// ZoneOffset is the offset of loc at an instant, seconds east of UTC.
func ZoneOffset(us int64, loc *time.Location) int {
	off, _ := zoneOffset(us, loc)
	return off
}
