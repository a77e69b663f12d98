package sqltypes

import (
	"math"
	"strconv"
	"strings"
)

// intervalParse gathers the parts of an interval with overflow checks.
type intervalParse struct {
	years, months, days int64 // each within int32
	usec                int64
}

func fitsInt32(v int64) bool { return v >= math.MinInt32 && v <= math.MaxInt32 }

func (p *intervalParse) addMonths(v, per int64) bool {
	m, ok := mulInt64(v, per)
	if !ok {
		return false
	}
	p.months, ok = addInt64(p.months, m)
	return ok && fitsInt32(p.months)
}

func (p *intervalParse) addYears(v, per int64) bool {
	y, ok := mulInt64(v, per)
	if !ok {
		return false
	}
	p.years, ok = addInt64(p.years, y)
	return ok && fitsInt32(p.years)
}

func (p *intervalParse) addDays(v, per int64) bool {
	d, ok := mulInt64(v, per)
	if !ok {
		return false
	}
	p.days, ok = addInt64(p.days, d)
	return ok && fitsInt32(p.days)
}

// addUsec adds v whole units and the fraction f of one.
func (p *intervalParse) addUsec(v int64, f float64, unit int64) bool {
	u, ok := mulInt64(v, unit)
	if !ok {
		return false
	}
	if p.usec, ok = addInt64(p.usec, u); !ok {
		return false
	}
	return p.addFraction(f, unit)
}

func (p *intervalParse) addFraction(f float64, unit int64) bool {
	if f == 0 {
		return true
	}
	f *= float64(unit)
	u := int64(f)
	if f -= float64(u); f > 0.5 {
		u++
	} else if f < -0.5 {
		u--
	}
	var ok bool
	p.usec, ok = addInt64(p.usec, u)
	return ok
}

// addFractDays adds the fraction f of a unit of so many days.
func (p *intervalParse) addFractDays(f float64, days int) bool {
	if f == 0 {
		return true
	}
	f *= float64(days)
	d := int64(f)
	if !p.addDays(d, 1) {
		return false
	}
	return p.addFraction(f-float64(d), usecDay)
}

// addFractYears adds the fraction f of so many years, in whole months.
func (p *intervalParse) addFractYears(f float64, years int) bool {
	return p.addMonths(int64(math.RoundToEven(f*float64(years)*12)), 1)
}

// ParseInterval reads an interval: verbose units, SQL standard or ISO 8601. The
// typmod's fields say what a number without a unit is. Errors: 22007, 22008, 22015.
func ParseInterval(env *Env, s string, typmod int32) (Interval, error) {
	fieldsMask, _ := IntervalFieldsPrecision(typmod)
	var p intervalParse
	e := dateBadFormat
	if fields, ok := splitDate(s); ok {
		e = p.decode(fields, fieldsMask, env != nil && env.IntervalStyle == IntervalSQLStandard)
	}
	if e == dateBadFormat {
		p = intervalParse{}
		e = p.iso8601(s)
	}
	if e == dateFieldOverflow {
		e = dateIntervalOverflow
	}
	if e != dateOK {
		return Interval{}, dateTextError(e, s, "interval")
	}
	months := p.years*12 + p.months
	if !fitsInt32(months) {
		return Interval{}, IntervalOutOfRange()
	}
	return AdjustInterval(Interval{int32(months), int32(p.days), p.usec}, typmod), nil
}

// clock reads [h]h:mm[:ss[.f]] of any number of hours.
func (p *intervalParse) clock(s string, fields int) (int, dateErr) {
	num := func() (int64, bool) {
		i := 0
		if i < len(s) && (s[0] == '+' || s[0] == '-') {
			i++
		}
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == 0 {
			return 0, true
		}
		v, err := strconv.ParseInt(s[:i], 10, 64)
		s = s[i:]
		return v, err == nil
	}
	hour, ok := num()
	if !ok {
		return 0, dateFieldOverflow
	}
	if s == "" || s[0] != ':' {
		return 0, dateBadFormat
	}
	s = s[1:]
	min, ok := num()
	if !ok {
		return 0, dateFieldOverflow
	}
	sec, usec := int64(0), 0
	switch {
	case s == "":
		if fields == maskMinute|maskSecond {
			hour, min, sec = 0, hour, min
		}
	case s[0] == '.':
		if usec, ok = fractionUsec(s); !ok {
			return 0, dateBadFormat
		}
		hour, min, sec = 0, hour, min
	case s[0] == ':':
		s = s[1:]
		if sec, ok = num(); !ok {
			return 0, dateFieldOverflow
		}
		if s != "" {
			if usec, ok = fractionUsec(s); !ok {
				return 0, dateBadFormat
			}
		}
	default:
		return 0, dateBadFormat
	}
	if hour < 0 || min < 0 || min > 59 || sec < 0 || sec > 60 || usec < 0 || usec > int(usecSec) {
		return 0, dateFieldOverflow
	}
	p.usec = 0
	if !p.addUsec(hour, 0, usecHour) || !p.addUsec(min, 0, usecMin) || !p.addUsec(sec, 0, usecSec) || !p.addUsec(int64(usec), 0, 1) {
		return 0, dateFieldOverflow
	}
	return hasTime, dateOK
}

// rightmostUnit is the unit of a number without one, by the typmod's fields.
func rightmostUnit(fields int) int {
	switch fields {
	case maskYear:
		return unitYear
	case maskMonth, maskYear | maskMonth:
		return unitMonth
	case maskDay:
		return unitDay
	case maskHour, maskDay | maskHour:
		return unitHour
	case maskMinute, maskHour | maskMinute, maskDay | maskHour | maskMinute:
		return unitMinute
	}
	return unitSecond
}

// decode reads fields from right to left, so that a unit is known before its number.
func (p *intervalParse) decode(fields []dateField, range_ int, sqlStandard bool) dateErr {
	forceNegative := false
	if sqlStandard && len(fields) > 0 && fields[0].text[0] == '-' {
		// A leading sign is that of every field, unless others have their own.
		forceNegative = true
		for _, f := range fields[1:] {
			if f.text[0] == '-' || f.text[0] == '+' {
				forceNegative = false
				break
			}
		}
	}
	unit, seen := unitNone, 0
	before := false
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		mask := 0
		switch f.kind {
		case fieldTime:
			m, e := p.clock(f.text, range_)
			if e != dateOK {
				return e
			}
			if forceNegative && p.usec > 0 {
				p.usec = -p.usec
			}
			mask = m
			unit = unitDay
		case fieldZone, fieldDate, fieldNumber:
			if f.kind == fieldZone && strings.IndexByte(f.text[1:], ':') >= 0 {
				q := *p
				if m, e := q.clock(f.text[1:], range_); e == dateOK {
					*p = q
					if f.text[0] == '-' {
						p.usec = -p.usec
					}
					if forceNegative && p.usec > 0 {
						p.usec = -p.usec
					}
					mask = m
					unit = unitDay
					break
				}
			}
			if unit == unitNone {
				unit = rightmostUnit(range_)
			}
			m, e := p.amount(f.text, &unit, forceNegative)
			if e != dateOK {
				return e
			}
			mask = m
		default:
			w := intervalWords[cutToken(f.text)]
			switch w.kind {
			case wordUnits:
				unit = w.val
			case wordAgo:
				before = true
				unit = unitEpoch // a number needs a unit before "ago"
			default:
				return dateBadFormat
			}
		}
		if mask&seen != 0 {
			return dateBadFormat
		}
		seen |= mask
	}
	if seen == 0 {
		return dateBadFormat
	}
	if before {
		if p.usec == math.MinInt64 || p.days == math.MinInt32 || p.months == math.MinInt32 || p.years == math.MinInt32 {
			return dateFieldOverflow
		}
		p.usec, p.days, p.months, p.years = -p.usec, -p.days, -p.months, -p.years
	}
	return dateOK
}

// amount adds a number of a unit; unit becomes what a number to its left would be.
func (p *intervalParse) amount(s string, unit *int, forceNegative bool) (int, dateErr) {
	i := 0
	if s[0] == '+' || s[0] == '-' {
		i++
	}
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	var v int64
	if num := s[:i]; strings.Trim(num, "+-") != "" {
		var err error
		if v, err = strconv.ParseInt(num, 10, 64); err != nil {
			return 0, dateFieldOverflow
		}
	}
	rest := s[i:]
	f := 0.0
	switch {
	case rest == "":
	case rest[0] == '-': // years-months
		m, tail, e := atoiC(rest[1:])
		if e != dateOK || m < 0 || m >= 12 {
			return 0, dateFieldOverflow
		}
		if tail != "" {
			return 0, dateBadFormat
		}
		*unit = unitMonth
		if s[0] == '-' {
			m = -m
		}
		var ok bool
		if v, ok = mulInt64(v, 12); !ok {
			return 0, dateFieldOverflow
		}
		if v, ok = addInt64(v, int64(m)); !ok {
			return 0, dateFieldOverflow
		}
	case rest[0] == '.':
		var ok bool
		if f, ok = fraction(rest); !ok {
			return 0, dateBadFormat
		}
		if s[0] == '-' {
			f = -f
		}
	default:
		return 0, dateBadFormat
	}
	if forceNegative {
		if v > 0 {
			v = -v
		}
		if f > 0 {
			f = -f
		}
	}
	mask, ok := 0, false
	switch *unit {
	case unitMicrosec:
		mask, ok = hasMicro, p.addUsec(v, f, 1)
	case unitMillisec:
		mask, ok = hasMilli, p.addUsec(v, f, 1000)
	case unitSecond:
		mask = hasSecond
		if f != 0 {
			mask = hasAllSecs
		}
		ok = p.addUsec(v, f, usecSec)
	case unitMinute:
		mask, ok = hasMinute, p.addUsec(v, f, usecMin)
	case unitHour:
		mask, ok = hasHour, p.addUsec(v, f, usecHour)
		*unit = unitDay
	case unitDay:
		mask, ok = hasDay, p.addDays(v, 1) && p.addFraction(f, usecDay)
	case unitWeek:
		mask, ok = hasWeek, p.addDays(v, 7) && p.addFractDays(f, 7)
	case unitMonth:
		mask, ok = hasMonth, p.addMonths(v, 1) && p.addFractDays(f, 30)
	case unitYear:
		mask, ok = hasYear, p.addYears(v, 1) && p.addFractYears(f, 1)
	case unitDecade:
		mask, ok = hasDecade, p.addYears(v, 10) && p.addFractYears(f, 10)
	case unitCentury:
		mask, ok = hasCentury, p.addYears(v, 100) && p.addFractYears(f, 100)
	case unitMillennium:
		mask, ok = hasMillennium, p.addYears(v, 1000) && p.addFractYears(f, 1000)
	default:
		return 0, dateBadFormat
	}
	if !ok {
		return 0, dateFieldOverflow
	}
	return mask, dateOK
}
