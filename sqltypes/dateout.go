package sqltypes

import "strconv"

var (
	shortMonths = [13]string{"", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	shortDays   = [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

func appendInt2(dst []byte, v int) []byte {
	return append(dst, byte('0'+v/10%10), byte('0'+v%10))
}

// appendPadded writes v ≥ 0 with at least width digits.
func appendPadded(dst []byte, v, width int) []byte {
	var buf [20]byte
	b := strconv.AppendInt(buf[:0], int64(v), 10)
	for i := len(b); i < width; i++ {
		dst = append(dst, '0')
	}
	return append(dst, b...)
}

func shownYear(y int) int {
	if y > 0 {
		return y
	}
	return 1 - y
}

// appendFraction writes ".ddd" without trailing zeros, nothing for 0.
func appendFraction(dst []byte, usec int) []byte {
	if usec == 0 {
		return dst
	}
	dst = appendPadded(append(dst, '.'), usec, 6)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func appendClock(dst []byte, c *civil) []byte {
	dst = append(appendInt2(dst, c.hour), ':')
	dst = append(appendInt2(dst, c.min), ':')
	return appendFraction(appendInt2(dst, c.sec), c.usec)
}

// appendZone writes an offset (seconds east of UTC) as +hh[:mm[:ss]].
func appendZone(dst []byte, east int) []byte {
	sign, a := byte('+'), east
	if east < 0 {
		sign, a = '-', -east
	}
	dst = appendInt2(append(dst, sign), a/3600)
	if a%3600 != 0 {
		dst = appendInt2(append(dst, ':'), a/60%60)
		if a%60 != 0 {
			dst = appendInt2(append(dst, ':'), a%60)
		}
	}
	return dst
}

// AppendDate writes days since 2000-01-01 in the DateStyle.
func AppendDate(dst []byte, f *Formats, days int64) []byte {
	switch days {
	case DateInfinity:
		return append(dst, "infinity"...)
	case DateNegInfinity:
		return append(dst, "-infinity"...)
	}
	var c civil
	c.year, c.month, c.day = julianToDate(int(days) + postgresEpochJulian)
	dst = appendDay(dst, f, &c)
	if c.year <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendDay writes the date without the era.
func appendDay(dst []byte, f *Formats, c *civil) []byte {
	y := shownYear(c.year)
	var first, second int
	sep := byte('/')
	switch f.DateStyle {
	case DateISO:
		dst = append(appendPadded(dst, y, 4), '-')
		dst = append(appendInt2(dst, c.month), '-')
		return appendInt2(dst, c.day)
	case DateGerman:
		first, second, sep = c.day, c.month, '.'
	case DatePostgres:
		sep = '-'
		fallthrough
	default:
		first, second = c.month, c.day
		if f.DateOrder == OrderDMY {
			first, second = second, first
		}
	}
	dst = append(appendInt2(dst, first), sep)
	dst = append(appendInt2(dst, second), sep)
	return appendPadded(dst, y, 4)
}

// AppendTimestamp writes a local timestamp.
func AppendTimestamp(dst []byte, f *Formats, us int64) []byte {
	if TimestampIsInf(us) {
		return appendInfinity(dst, us)
	}
	c := civilOf(us)
	return appendDateTime(dst, f, &c, false, 0, "")
}

// AppendTimestamptz writes an instant in the session's zone.
func AppendTimestamptz(dst []byte, f *Formats, us int64) []byte {
	if TimestampIsInf(us) {
		return appendInfinity(dst, us)
	}
	east, abbrev := zoneOffset(us, f.TimeZone)
	c := civilOf(us + int64(east)*usecSec)
	return appendDateTime(dst, f, &c, true, east, abbrev)
}

func appendInfinity(dst []byte, us int64) []byte {
	if us < 0 {
		dst = append(dst, '-')
	}
	return append(dst, "infinity"...)
}

func appendDateTime(dst []byte, f *Formats, c *civil, zone bool, east int, abbrev string) []byte {
	switch f.DateStyle {
	case DateISO:
		dst = append(appendDay(dst, f, c), ' ')
		dst = appendClock(dst, c)
		if zone {
			dst = appendZone(dst, east)
		}
	case DatePostgres:
		dst = append(dst, shortDays[dayOfWeek(dateToJulian(c.year, c.month, c.day))]...)
		dst = append(dst, ' ')
		if f.DateOrder == OrderDMY {
			dst = append(appendInt2(dst, c.day), ' ')
			dst = append(dst, shortMonths[c.month]...)
		} else {
			dst = append(append(dst, shortMonths[c.month]...), ' ')
			dst = appendInt2(dst, c.day)
		}
		dst = appendClock(append(dst, ' '), c)
		dst = appendPadded(append(dst, ' '), shownYear(c.year), 4)
		if zone {
			if abbrev == "" {
				dst = appendZone(append(dst, ' '), east)
			} else {
				dst = append(append(dst, ' '), cutToken(abbrev)...)
			}
		}
	default:
		dst = append(appendDay(dst, f, c), ' ')
		dst = appendClock(dst, c)
		if zone {
			if abbrev == "" {
				dst = appendZone(dst, east)
			} else {
				dst = append(append(dst, ' '), cutToken(abbrev)...)
			}
		}
	}
	if c.year <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendTime writes µs since midnight, AppendTimetz with a zone (seconds west of UTC).
func AppendTime(dst []byte, us int64) []byte {
	var c civil
	c.setTime(us)
	return appendClock(dst, &c)
}

func AppendTimetz(dst []byte, us int64, west int32) []byte {
	return appendZone(AppendTime(dst, us), -int(west))
}
