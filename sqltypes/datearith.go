package sqltypes

import (
	"math"
	"strconv"
	"time"

	"ostraka/sqltypes/pgerror"
)

// Arithmetic on timestamps (µs since 2000-01-01), dates (days since) and times
// (µs since midnight). Infinite operands follow PostgreSQL 15: adding to an
// infinity leaves it, subtracting two of them is an error.

func rangeError(format string, args ...any) error {
	return pgerror.New(pgerror.DatetimeValueOutOfRange, format, args...)
}

// addMonths moves a civil date, keeping the day within the month.
func (c *civil) addMonths(n int64) bool {
	if n == 0 {
		return true
	}
	m := int64(c.year)*12 + int64(c.month-1) + n
	y := m / 12
	if m%12 < 0 {
		y--
	}
	if y > 6000000 || y < -6000000 {
		return false
	}
	c.year, c.month = int(y), int(m-y*12)+1
	c.day = min(c.day, daysIn(c.year, c.month))
	return true
}

// TimestampAdd is timestamp + interval. Error: 22008.
func TimestampAdd(us int64, v Interval) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	var ok bool
	if v.Months != 0 {
		c := civilOf(us)
		if !c.addMonths(int64(v.Months)) {
			return 0, TimestampOutOfRange()
		}
		if us, ok = c.timestamp(0); !ok {
			return 0, TimestampOutOfRange()
		}
	}
	if v.Days != 0 {
		if us, ok = addInt64(us, int64(v.Days)*usecDay); !ok || int64(v.Days) > math.MaxInt64/usecDay {
			return 0, TimestampOutOfRange()
		}
		if int64(v.Days) < math.MinInt64/usecDay || !validTimestamp(us) {
			return 0, TimestampOutOfRange()
		}
	}
	if us, ok = addInt64(us, v.Usec); !ok || !validTimestamp(us) {
		return 0, TimestampOutOfRange()
	}
	return us, nil
}

// TimestamptzAdd is timestamptz + interval: months and days are counted on the
// calendar of loc, the rest as elapsed time.
func TimestamptzAdd(us int64, v Interval, loc *time.Location) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	for _, step := range [...]Interval{{Months: v.Months}, {Days: v.Days}} {
		if step == (Interval{}) {
			continue
		}
		local, err := TimestampToLocal(us, loc)
		if err != nil {
			return 0, err
		}
		if local, err = TimestampAdd(local, step); err != nil {
			return 0, err
		}
		if us, err = LocalToTimestamp(local, loc); err != nil {
			return 0, err
		}
	}
	r, ok := addInt64(us, v.Usec)
	if !ok || !validTimestamp(r) {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

// Negate is -v; false when a part overflows.
func (v Interval) Negate() (Interval, bool) {
	if v.Months == math.MinInt32 || v.Days == math.MinInt32 || v.Usec == math.MinInt64 {
		return v, false
	}
	return Interval{-v.Months, -v.Days, -v.Usec}, true
}

// TimestampSubInterval and TimestamptzSubInterval are timestamp - interval.
func TimestampSubInterval(us int64, v Interval) (int64, error) {
	n, ok := v.Negate()
	if !ok {
		return 0, IntervalOutOfRange()
	}
	return TimestampAdd(us, n)
}

func TimestamptzSubInterval(us int64, v Interval, loc *time.Location) (int64, error) {
	n, ok := v.Negate()
	if !ok {
		return 0, IntervalOutOfRange()
	}
	return TimestamptzAdd(us, n, loc)
}

// TimestampSub is timestamp - timestamp (also of instants): days and time.
func TimestampSub(a, b int64) (Interval, error) {
	if TimestampIsInf(a) || TimestampIsInf(b) {
		return Interval{}, rangeError("cannot subtract infinite timestamps")
	}
	d, ok := subInt64(a, b)
	if !ok {
		return Interval{}, IntervalOutOfRange()
	}
	return Interval{Usec: d}.JustifyHours()
}

// Age is age(a, b): the difference in years, months, days and time, each counted
// on the calendar. For instants give local times.
func Age(a, b int64) (Interval, error) {
	// PostgreSQL 15 takes infinity for the number it is stored as; so is it here.
	if a == TimestampNegInfinity || b == TimestampNegInfinity {
		return Interval{}, TimestampOutOfRange()
	}
	x, y := civilOf(a), civilOf(b)
	neg := a < b
	sign := 1
	if neg {
		sign = -1
	}
	usec, sec := sign*(x.usec-y.usec), sign*(x.sec-y.sec)
	mn, hour := sign*(x.min-y.min), sign*(x.hour-y.hour)
	day, mon, year := sign*(x.day-y.day), sign*(x.month-y.month), sign*(x.year-y.year)
	if usec < 0 {
		usec += int(usecSec)
		sec--
	}
	if sec < 0 {
		sec += 60
		mn--
	}
	if mn < 0 {
		mn += 60
		hour--
	}
	if hour < 0 {
		hour += 24
		day--
	}
	for day < 0 {
		if neg {
			day += daysIn(x.year, x.month)
		} else {
			day += daysIn(y.year, y.month)
		}
		mon--
	}
	for mon < 0 {
		mon += 12
		year--
	}
	us := ((int64(hour)*60+int64(mn))*60+int64(sec))*usecSec + int64(usec)
	return Interval{int32(sign * (year*12 + mon)), int32(sign * day), int64(sign) * us}, nil
}

// DateBin is date_bin: the start of the bin that ts falls in. Errors: 0A000, 22008.
func DateBin(stride Interval, ts, origin int64) (int64, error) {
	if TimestampIsInf(ts) {
		return ts, nil
	}
	if TimestampIsInf(origin) {
		return 0, rangeError("origin out of range")
	}
	if stride.Months != 0 {
		return 0, pgerror.New(pgerror.FeatureNotSupported, "timestamps cannot be binned into intervals containing months or years")
	}
	d, ok := mulInt64(int64(stride.Days), usecDay)
	if !ok {
		return 0, IntervalOutOfRange()
	}
	if d, ok = addInt64(d, stride.Usec); !ok {
		return 0, IntervalOutOfRange()
	}
	if d <= 0 {
		return 0, rangeError("stride must be greater than zero")
	}
	diff, ok := subInt64(ts, origin)
	if !ok {
		return 0, IntervalOutOfRange()
	}
	mod := diff % d
	r, ok := addInt64(origin, diff-mod)
	if ok && mod < 0 {
		r, ok = subInt64(r, d)
	}
	if !ok || !validTimestamp(r) {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

// DateAdd is date + integer; DateSub date - date.
func DateAdd(date, n int64) (int64, error) {
	if DateIsInf(date) {
		return date, nil
	}
	if r := date + n; validDate(r) {
		return r, nil
	}
	return 0, DateOutOfRange()
}

func DateSub(a, b int64) (int64, error) {
	if DateIsInf(a) || DateIsInf(b) {
		return 0, rangeError("cannot subtract infinite dates")
	}
	return a - b, nil
}

// DateToTimestamp and DateToTimestamptz are midnight of the date.
func DateToTimestamp(date int64) (int64, error) {
	switch {
	case date == DateInfinity:
		return TimestampInfinity, nil
	case date == DateNegInfinity:
		return TimestampNegInfinity, nil
	case date >= endTimestamp/usecDay:
		return 0, rangeError("date out of range for timestamp")
	}
	return date * usecDay, nil
}

func DateToTimestamptz(date int64, loc *time.Location) (int64, error) {
	us, err := DateToTimestamp(date)
	if err != nil || TimestampIsInf(us) {
		return us, err
	}
	r, ok := subInt64(us, int64(localOffset(us, loc))*usecSec)
	if !ok || !validTimestamp(r) {
		return 0, rangeError("date out of range for timestamp")
	}
	return r, nil
}

// TimestampToDate is the day of a timestamp; of an instant give the local time.
func TimestampToDate(us int64) int64 {
	switch us {
	case TimestampInfinity:
		return DateInfinity
	case TimestampNegInfinity:
		return DateNegInfinity
	}
	return floorDiv64(us, usecDay)
}

func floorDiv64(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// TimestampToTime is the time of day; Null for an infinity.
func TimestampToTime(us int64) Datum {
	if TimestampIsInf(us) {
		return Null
	}
	return Int(us - floorDiv64(us, usecDay)*usecDay)
}

// TimestamptzToTimetz is the local time of day with its zone.
func TimestamptzToTimetz(us int64, loc *time.Location) Datum {
	if TimestampIsInf(us) {
		return Null
	}
	east, _ := zoneOffset(us, loc)
	d := TimestampToTime(us + int64(east)*usecSec)
	d.Aux = int32(-east)
	return d
}

// TimeAdd is time ± interval within the day (give a negated interval to subtract);
// months and days do not count.
func TimeAdd(us int64, v Interval) int64 {
	r := (us%usecDay + v.Usec%usecDay) % usecDay
	if r < 0 {
		r += usecDay
	}
	return r
}

// TimeToTimetz gives a time the session's zone, as of the given instant.
func TimeToTimetz(us, now int64, loc *time.Location) Datum {
	today := floorDiv64(now, usecDay)
	return Datum{I: us, Aux: int32(-localOffset(today*usecDay+us, loc))}
}

// TimetzAtOffset is timezone(interval or zone, timetz): the same moment in a zone
// so many seconds east of UTC.
func TimetzAtOffset(d Datum, east int) Datum {
	us := (d.I + (int64(d.Aux)+int64(east))*usecSec) % usecDay
	if us < 0 {
		us += usecDay
	}
	return Datum{I: us, Aux: int32(-east)}
}

// MakeDate, MakeTime, MakeTimestamp build values of their fields; a negative year is BC.
func MakeDate(year, month, day int64) (int64, error) {
	y := year
	if year < 0 {
		y = year + 1
	}
	text := func() string { return dateFields(y, month, day) } // PostgreSQL shows the internal year
	if year == 0 || month < 1 || month > 12 || day < 1 || day > 31 || year > 6000000 || year < -6000000 || int(day) > daysIn(int(y), int(month)) {
		return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "date field value out of range: %s", text())
	}
	if !validJulian(int(y), int(month)) {
		return 0, rangeError("date out of range: %s", text())
	}
	d := int64(dateToJulian(int(y), int(month), int(day)) - postgresEpochJulian)
	if !validDate(d) {
		return 0, rangeError("date out of range: %s", text())
	}
	return d, nil
}

func dateFields(y, m, d int64) string {
	b := strconv.AppendInt(nil, y, 10)
	b = appendPaddedSigned(append(b, '-'), m)
	return string(appendPaddedSigned(append(b, '-'), d))
}

// appendPaddedSigned is C's %02d.
func appendPaddedSigned(dst []byte, v int64) []byte {
	if v < 0 {
		return strconv.AppendInt(dst, v, 10)
	}
	return appendPadded(dst, int(v), 2)
}

func timeFields(h, m int64, s float64) string {
	b := strconv.AppendInt(nil, h, 10)
	b = appendPaddedSigned(append(b, ':'), m)
	sec := appendG(nil, s, 6)
	b = append(b, ':')
	if len(sec) < 2 {
		b = append(b, '0')
	}
	return string(append(b, sec...))
}

func MakeTime(hour, min int64, sec float64) (int64, error) {
	bad := func() error {
		return pgerror.New(pgerror.DatetimeFieldOverflow, "time field value out of range: %s", timeFields(hour, min, sec))
	}
	if sec != sec {
		return 0, bad()
	}
	s := math.RoundToEven(sec * 1e6)
	if hour < 0 || min < 0 || min > 59 || s < 0 || s > 60e6 || hour > 24 || hour == 24 && (min > 0 || s > 0) {
		return 0, bad()
	}
	us := (hour*60+min)*usecMin + int64(s)
	if us > usecDay {
		return 0, bad()
	}
	return us, nil
}

func MakeTimestamp(year, month, day, hour, min int64, sec float64) (int64, error) {
	y := year
	if year < 0 {
		y = year + 1
	}
	if year == 0 || month < 1 || month > 12 || day < 1 || day > 31 || year > 6000000 || year < -6000000 || int(day) > daysIn(int(y), int(month)) {
		return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "date field value out of range: %s", dateFields(year, month, day))
	}
	if !validJulian(int(y), int(month)) {
		return 0, rangeError("date out of range: %s", dateFields(year, month, day))
	}
	t, err := MakeTime(hour, min, sec)
	if err != nil {
		return 0, err
	}
	days := int64(dateToJulian(int(y), int(month), int(day)) - postgresEpochJulian)
	us, ok := mulInt64(days, usecDay)
	if ok {
		us, ok = addInt64(us, t)
	}
	if !ok || !validTimestamp(us) {
		return 0, rangeError("timestamp out of range: %s %s", dateFields(year, month, day), timeFields(hour, min, sec))
	}
	return us, nil
}

// MakeTimestamptz reads the fields as local time of a zone: the session's (zone
// ""), or one given by name, abbreviation or offset.
func MakeTimestamptz(year, month, day, hour, min int64, sec float64, zone string, loc *time.Location) (int64, error) {
	us, err := MakeTimestamp(year, month, day, hour, min, sec)
	if err != nil {
		return 0, err
	}
	if zone == "" {
		return LocalToTimestamp(us, loc)
	}
	var z zoneSpec
	if z.east, err = numericZone(zone); err == nil && (isDigit(zone[0]) || zone[0] == '+' || zone[0] == '-') {
		z.fixed = true
	} else if err != nil {
		return 0, err
	} else if z, err = findZone(zone); err != nil {
		return 0, err
	}
	r, ok := subInt64(us, int64(z.eastAtLocal(us))*usecSec)
	if !ok || !validTimestamp(r) {
		return 0, rangeError("timestamp out of range")
	}
	return r, nil
}

// numericZone reads an offset such as "+03:30"; other text gives 0 without error.
func numericZone(zone string) (int, error) {
	if zone == "" || !isDigit(zone[0]) && zone[0] != '+' && zone[0] != '-' {
		return 0, nil
	}
	if isDigit(zone[0]) {
		return 0, pgerror.New(pgerror.InvalidParameterValue, "invalid input syntax for type %s: \"%s\"", "numeric time zone", zone).
			WithHint("Numeric time zones must have \"-\" or \"+\" as first character.")
	}
	east, e := parseOffset(zone)
	switch e {
	case dateOK:
		return east, nil
	case dateZoneOverflow:
		return 0, pgerror.New(pgerror.InvalidParameterValue, "numeric time zone \"%s\" out of range", zone)
	}
	return 0, zoneNotRecognized(zone)
}

// FloatToTimestamptz is to_timestamp(double precision): seconds since 1970. Error: 22008.
func FloatToTimestamptz(sec float64) (int64, error) {
	switch {
	case sec != sec:
		return 0, rangeError("timestamp cannot be NaN")
	case math.IsInf(sec, 1):
		return TimestampInfinity, nil
	case math.IsInf(sec, -1):
		return TimestampNegInfinity, nil
	}
	text := func() error { return rangeError("timestamp out of range: \"%s\"", appendG(nil, sec, 6)) }
	if sec < float64(minTimestamp-UnixEpochUsec)/1e6 || sec >= float64(endTimestamp/usecSec-UnixEpochUsec/usecSec) {
		return 0, text()
	}
	us := math.RoundToEven((sec + float64(UnixEpochUsec/usecSec)) * 1e6)
	if us < float64(minTimestamp) || us >= float64(endTimestamp) {
		return 0, text()
	}
	return int64(us), nil
}
