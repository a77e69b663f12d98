package sqltypes

import (
	"math"
	"strconv"
)

// iso8601 reads PnYnMnDTnHnMnS and the alternative forms P0001-02-03T04:05:06
// and P00010203T040506.
func (p *intervalParse) iso8601(s string) dateErr {
	if len(s) < 2 || s[0] != 'P' {
		return dateBadFormat
	}
	s = s[1:]
	date, have := true, false
	overflow := func(ok ...bool) bool {
		for _, o := range ok {
			if !o {
				return true
			}
		}
		return false
	}
	for s != "" {
		if s[0] == 'T' {
			date, have = false, false
			s = s[1:]
			continue
		}
		field := s
		v, f, rest, e := isoNumber(s)
		if e != dateOK {
			return e
		}
		unit := byte(0)
		if rest != "" {
			unit = rest[0]
			rest = rest[1:]
		}
		s = rest
		width := integerWidth(field)
		if date {
			switch unit {
			case 'Y':
				if overflow(p.addYears(v, 1), p.addFractYears(f, 1)) {
					return dateFieldOverflow
				}
			case 'M':
				if overflow(p.addMonths(v, 1), p.addFractDays(f, 30)) {
					return dateFieldOverflow
				}
			case 'W':
				if overflow(p.addDays(v, 7), p.addFractDays(f, 7)) {
					return dateFieldOverflow
				}
			case 'D':
				if overflow(p.addDays(v, 1), p.addFraction(f, usecDay)) {
					return dateFieldOverflow
				}
			case 'T', 0, '-':
				if unit != '-' && width == 8 && !have {
					if overflow(p.addYears(v/10000, 1), p.addMonths(v/100%100, 1), p.addDays(v%100, 1), p.addFraction(f, usecDay)) {
						return dateFieldOverflow
					}
					if unit == 0 {
						return dateOK
					}
					date, have = false, false
					continue
				}
				if have {
					return dateBadFormat
				}
				if overflow(p.addYears(v, 1), p.addFractYears(f, 1)) {
					return dateFieldOverflow
				}
				if unit == 0 {
					return dateOK
				}
				if unit == 'T' {
					date, have = false, false
					continue
				}
				done, e := p.isoDateRest(&s)
				if e != dateOK || done {
					return e
				}
				date, have = false, false
				continue
			default:
				return dateBadFormat
			}
		} else {
			switch unit {
			case 'H':
				if !p.addUsec(v, f, usecHour) {
					return dateFieldOverflow
				}
			case 'M':
				if !p.addUsec(v, f, usecMin) {
					return dateFieldOverflow
				}
			case 'S':
				if !p.addUsec(v, f, usecSec) {
					return dateFieldOverflow
				}
			case 0, ':':
				if unit == 0 && width == 6 && !have {
					if overflow(p.addUsec(v/10000, 0, usecHour), p.addUsec(v/100%100, 0, usecMin), p.addUsec(v%100, f, usecSec)) {
						return dateFieldOverflow
					}
					return dateOK
				}
				if have {
					return dateBadFormat
				}
				if !p.addUsec(v, f, usecHour) {
					return dateFieldOverflow
				}
				if unit == 0 {
					return dateOK
				}
				return p.isoTimeRest(s)
			default:
				return dateBadFormat
			}
		}
		have = true
	}
	return dateOK
}

// isoDateRest reads mm[-dd] of the extended form; done when the text ends, else
// a T was read.
func (p *intervalParse) isoDateRest(s *string) (done bool, e dateErr) {
	v, f, rest, e := isoNumber(*s)
	if e != dateOK {
		return false, e
	}
	if !p.addMonths(v, 1) || !p.addFractDays(f, 30) {
		return false, dateFieldOverflow
	}
	if rest == "" {
		return true, dateOK
	}
	if rest[0] == 'T' {
		*s = rest[1:]
		return false, dateOK
	}
	if rest[0] != '-' {
		return false, dateBadFormat
	}
	if v, f, rest, e = isoNumber(rest[1:]); e != dateOK {
		return false, e
	}
	if !p.addDays(v, 1) || !p.addFraction(f, usecDay) {
		return false, dateFieldOverflow
	}
	if rest == "" {
		return true, dateOK
	}
	if rest[0] != 'T' {
		return false, dateBadFormat
	}
	*s = rest[1:]
	return false, dateOK
}

// isoTimeRest reads mm[:ss].
func (p *intervalParse) isoTimeRest(s string) dateErr {
	for i, unit := range []int64{usecMin, usecSec} {
		v, f, rest, e := isoNumber(s)
		if e != dateOK {
			return e
		}
		if !p.addUsec(v, f, unit) {
			return dateFieldOverflow
		}
		if rest == "" {
			return dateOK
		}
		if i == 1 || rest[0] != ':' {
			return dateBadFormat
		}
		s = rest[1:]
	}
	return dateBadFormat
}

// isoNumber reads a number with sign, fraction and exponent off the front.
func isoNumber(s string) (whole int64, frac float64, rest string, e dateErr) {
	if s == "" || !isDigit(s[0]) && s[0] != '-' && s[0] != '.' {
		return 0, 0, s, dateBadFormat
	}
	i := 0
	if s[0] == '-' {
		i++
	}
	from := i
	digits := 0
	for i < len(s) && (isDigit(s[i]) || s[i] == '.') {
		if isDigit(s[i]) {
			digits++
		} else if i > from && containsDot(s[from:i]) {
			break
		}
		i++
	}
	if digits == 0 {
		return 0, 0, s, dateBadFormat
	}
	i = exponentEnd(s, i, 'e')
	v, err := strconv.ParseFloat(s[:i], 64)
	if err != nil {
		return 0, 0, s, dateBadFormat
	}
	if v < -1e15 || v > 1e15 {
		return 0, 0, s, dateFieldOverflow
	}
	w := math.Trunc(v)
	return int64(w), v - w, s[i:], dateOK
}

func containsDot(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == '.' {
			return true
		}
	}
	return false
}

// integerWidth counts the digits of the integer part.
func integerWidth(s string) int {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
