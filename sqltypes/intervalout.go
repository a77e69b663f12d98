package sqltypes

import "strconv"

// intervalParts splits an interval for output; every part has its own sign.
type intervalParts struct {
	year, mon, day int64
	hour, min, sec int64
	usec           int64
}

func (v Interval) parts() intervalParts {
	t := v.Usec
	p := intervalParts{year: int64(v.Months) / 12, mon: int64(v.Months) % 12, day: int64(v.Days)}
	p.hour = t / usecHour
	t -= p.hour * usecHour
	p.min = t / usecMin
	t -= p.min * usecMin
	p.sec = t / usecSec
	p.usec = t - p.sec*usecSec
	return p
}

func abs64(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// appendSeconds writes |sec|.|usec|, two digits for the seconds when fill.
func appendSeconds(dst []byte, sec, usec int64, fill bool) []byte {
	width := 1
	if fill {
		width = 2
	}
	dst = appendPadded(dst, int(abs64(sec)), width)
	return appendFraction(dst, int(abs64(usec)))
}

// AppendInterval writes an interval in an IntervalStyle.
func AppendInterval(dst []byte, style IntervalStyle, v Interval) []byte {
	p := v.parts()
	switch style {
	case IntervalSQLStandard:
		return p.sqlStandard(dst)
	case IntervalISO8601:
		return p.iso(dst)
	case IntervalPostgresVerbose:
		return p.verbose(dst)
	}
	return p.postgres(dst)
}

func (p intervalParts) postgres(dst []byte) []byte {
	zero, before := true, false
	part := func(v int64, unit string) {
		if v == 0 {
			return
		}
		if !zero {
			dst = append(dst, ' ')
		}
		if before && v > 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, v, 10)
		dst = append(append(dst, ' '), unit...)
		if v != 1 {
			dst = append(dst, 's')
		}
		before = v < 0
		zero = false
	}
	part(p.year, "year")
	part(p.mon, "mon")
	part(p.day, "day")
	if zero || p.hour != 0 || p.min != 0 || p.sec != 0 || p.usec != 0 {
		if !zero {
			dst = append(dst, ' ')
		}
		if p.hour < 0 || p.min < 0 || p.sec < 0 || p.usec < 0 {
			dst = append(dst, '-')
		} else if before {
			dst = append(dst, '+')
		}
		dst = append(appendPadded(dst, int(abs64(p.hour)), 2), ':')
		dst = append(appendPadded(dst, int(abs64(p.min)), 2), ':')
		dst = appendSeconds(dst, p.sec, p.usec, true)
	}
	return dst
}

func (p intervalParts) verbose(dst []byte) []byte {
	dst = append(dst, '@')
	zero, before := true, false
	part := func(v int64, unit string) {
		if v == 0 {
			return
		}
		if zero {
			before = v < 0
			v = abs64(v)
		} else if before {
			v = -v
		}
		dst = strconv.AppendInt(append(dst, ' '), v, 10)
		dst = append(append(dst, ' '), unit...)
		if v != 1 {
			dst = append(dst, 's')
		}
		zero = false
	}
	part(p.year, "year")
	part(p.mon, "mon")
	part(p.day, "day")
	part(p.hour, "hour")
	part(p.min, "min")
	if p.sec != 0 || p.usec != 0 {
		dst = append(dst, ' ')
		if p.sec < 0 || p.sec == 0 && p.usec < 0 {
			if zero {
				before = true
			} else if !before {
				dst = append(dst, '-')
			}
		} else if before {
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, p.sec, p.usec, false), " sec"...)
		if abs64(p.sec) != 1 || p.usec != 0 {
			dst = append(dst, 's')
		}
		zero = false
	}
	if zero {
		dst = append(dst, " 0"...)
	}
	if before {
		dst = append(dst, " ago"...)
	}
	return dst
}

func (p intervalParts) iso(dst []byte) []byte {
	if p == (intervalParts{}) {
		return append(dst, "PT0S"...)
	}
	dst = append(dst, 'P')
	part := func(v int64, unit byte) {
		if v != 0 {
			dst = append(strconv.AppendInt(dst, v, 10), unit)
		}
	}
	part(p.year, 'Y')
	part(p.mon, 'M')
	part(p.day, 'D')
	if p.hour != 0 || p.min != 0 || p.sec != 0 || p.usec != 0 {
		dst = append(dst, 'T')
	}
	part(p.hour, 'H')
	part(p.min, 'M')
	if p.sec != 0 || p.usec != 0 {
		if p.sec < 0 || p.usec < 0 {
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, p.sec, p.usec, false), 'S')
	}
	return dst
}

func (p intervalParts) sqlStandard(dst []byte) []byte {
	all := [...]int64{p.year, p.mon, p.day, p.hour, p.min, p.sec, p.usec}
	neg, pos := false, false
	for _, v := range all {
		neg = neg || v < 0
		pos = pos || v > 0
	}
	yearMonth := p.year != 0 || p.mon != 0
	dayTime := p.day != 0 || p.hour != 0 || p.min != 0 || p.sec != 0 || p.usec != 0
	standard := !(neg && pos) && !(yearMonth && dayTime)
	sign := func(negative bool) byte {
		if negative {
			return '-'
		}
		return '+'
	}
	clock := func() {
		dst = append(strconv.AppendInt(dst, abs64(p.hour), 10), ':')
		dst = append(appendPadded(dst, int(abs64(p.min)), 2), ':')
		dst = appendSeconds(dst, p.sec, p.usec, true)
	}
	yearMonthText := func() {
		dst = append(strconv.AppendInt(dst, abs64(p.year), 10), '-')
		dst = strconv.AppendInt(dst, abs64(p.mon), 10)
	}
	if neg && standard {
		dst = append(dst, '-')
	}
	switch {
	case !neg && !pos:
		return append(dst, '0')
	case !standard:
		// Signs for all, so that mixed ones cannot be misread.
		dst = append(dst, sign(p.year < 0 || p.mon < 0))
		yearMonthText()
		dst = append(dst, ' ', sign(p.day < 0))
		dst = append(strconv.AppendInt(dst, abs64(p.day), 10), ' ', sign(p.hour < 0 || p.min < 0 || p.sec < 0 || p.usec < 0))
		clock()
	case yearMonth:
		yearMonthText()
	case p.day != 0:
		dst = append(strconv.AppendInt(dst, abs64(p.day), 10), ' ')
		clock()
	default:
		clock()
	}
	return dst
}
