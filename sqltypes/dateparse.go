package sqltypes

import (
	"math"
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// dateErr is why date text was refused.
type dateErr uint8

const (
	dateOK dateErr = iota
	dateBadFormat
	dateFieldOverflow
	dateMDOverflow // month or day out of range: the datestyle may be another
	dateIntervalOverflow
	dateZoneOverflow
)

func dateTextError(e dateErr, s, typ string) error {
	switch e {
	case dateFieldOverflow:
		return pgerror.New(pgerror.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s)
	case dateMDOverflow:
		return pgerror.New(pgerror.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s).
			WithHint("Perhaps you need a different \"datestyle\" setting.")
	case dateIntervalOverflow:
		return pgerror.New(pgerror.IntervalFieldOverflow, "interval field value out of range: \"%s\"", s)
	case dateZoneOverflow:
		return pgerror.New(pgerror.InvalidTimeZoneDisplacementValue, "time zone displacement out of range: \"%s\"", s)
	}
	return pgerror.New(pgerror.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", typ, s)
}

// Which parts of a date and time have been seen.
const (
	hasYear = 1 << iota
	hasMonth
	hasDay
	hasDoy
	hasHour
	hasMinute
	hasSecond
	hasZone
	hasDST    // DST modifier
	hasAMPM   //
	hasEra    //
	hasDow    //
	hasMilli  //
	hasMicro  //
	hasWeek   //
	hasDecade //
	hasCentury
	hasMillennium

	hasDate    = hasYear | hasMonth | hasDay
	hasAllSecs = hasSecond | hasMilli | hasMicro
	hasTime    = hasHour | hasMinute | hasAllSecs
)

const (
	mer24 = iota
	merAM
	merPM
)

// dateParse is the state of reading one date, time or timestamp.
type dateParse struct {
	env     *Env
	formats Formats
	civil
	yday        int
	seen        int // parts seen, has* bits
	special     int // resEpoch, resLate, resEarly; else 0
	textMonth   bool
	twoDigits   bool // the year had one or two digits
	julian      bool
	bc          bool
	meridian    int
	zone        zoneSpec
	zoneSet     bool   // zone is fixed by the text
	unknownZone string // a zone name nobody knows
}

func newDateParse(env *Env) *dateParse {
	p := &dateParse{env: env, formats: DefaultFormats()}
	if env != nil {
		p.formats = env.Formats
	}
	return p
}

// atoiC reads an optional sign and digits like strtol for an int; rest is what follows.
func atoiC(s string) (v int, rest string, e dateErr) {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	from := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == from {
		return 0, s, dateOK
	}
	n, err := strconv.ParseInt(s[:i], 10, 32)
	if err != nil {
		return 0, s[i:], dateFieldOverflow
	}
	return int(n), s[i:], dateOK
}

// fraction reads ".ddd" up to the end of s.
func fraction(s string) (float64, bool) {
	if s == "." {
		return 0, true
	}
	if s == "" || s[0] != '.' {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "xXpP_iInN") {
		return 0, false
	}
	return f, true
}

func fractionUsec(s string) (int, bool) {
	f, ok := fraction(s)
	return int(math.RoundToEven(f * 1e6)), ok
}

func (c *civil) timeOverflows() bool {
	return c.hour < 0 || c.hour > 24 || c.min < 0 || c.min > 59 || c.sec < 0 || c.sec > 60 || c.usec < 0 ||
		c.usec > int(usecSec) || c.timeOfDay() > usecDay
}

// clock reads h:m[:s[.f]] (or m:s.f) into the civil time.
func (p *dateParse) clock(s string) (int, dateErr) {
	var e dateErr
	if p.hour, s, e = atoiC(s); e != dateOK {
		return 0, e
	}
	if s == "" || s[0] != ':' {
		return 0, dateBadFormat
	}
	if p.min, s, e = atoiC(s[1:]); e != dateOK {
		return 0, e
	}
	p.sec, p.usec = 0, 0
	switch {
	case s == "":
	case s[0] == '.':
		us, ok := fractionUsec(s)
		if !ok {
			return 0, dateBadFormat
		}
		p.hour, p.min, p.sec, p.usec = 0, p.hour, p.min, us
	case s[0] == ':':
		if p.sec, s, e = atoiC(s[1:]); e != dateOK {
			return 0, e
		}
		if s != "" {
			us, ok := fractionUsec(s)
			if !ok {
				return 0, dateBadFormat
			}
			p.usec = us
		}
	default:
		return 0, dateBadFormat
	}
	if p.hour < 0 || p.min < 0 || p.min > 59 || p.sec < 0 || p.sec > 60 || p.usec < 0 || p.usec > int(usecSec) {
		return 0, dateFieldOverflow
	}
	return hasTime, dateOK
}

// parseOffset reads +hh[:mm[:ss]] or +hhmm as seconds east of UTC.
func parseOffset(s string) (east int, e dateErr) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, dateBadFormat
	}
	hr, rest, e := atoiC(s[1:])
	if e != dateOK {
		return 0, dateZoneOverflow
	}
	mn, sec := 0, 0
	switch {
	case rest != "" && rest[0] == ':':
		if mn, rest, e = atoiC(rest[1:]); e != dateOK {
			return 0, dateZoneOverflow
		}
		if rest != "" && rest[0] == ':' {
			if sec, rest, e = atoiC(rest[1:]); e != dateOK {
				return 0, dateZoneOverflow
			}
		}
	case rest == "" && len(s) > 3:
		hr, mn = hr/100, hr%100
	}
	if hr < 0 || hr > 15 || mn < 0 || mn > 59 || sec < 0 || sec > 59 {
		return 0, dateZoneOverflow
	}
	east = hr*3600 + mn*60 + sec
	if s[0] == '-' {
		east = -east
	}
	if rest != "" {
		return 0, dateBadFormat
	}
	return east, dateOK
}

func (p *dateParse) setOffset(s string) dateErr {
	east, e := parseOffset(s)
	if e == dateOK {
		p.zone, p.zoneSet = zoneSpec{fixed: true, east: east}, true
	}
	return e
}

// dateText reads a field with separators, such as 2001-02-03, as a date.
func (p *dateParse) dateText(s string, seen int) (int, dateErr) {
	var parts []string
	for s != "" {
		for s != "" && !isDigit(s[0]) && !isAlpha(s[0]) {
			s = s[1:]
		}
		if s == "" {
			return 0, dateBadFormat
		}
		i := 0
		if isDigit(s[0]) {
			for i < len(s) && isDigit(s[i]) {
				i++
			}
		} else {
			for i < len(s) && isAlpha(s[i]) {
				i++
			}
		}
		parts = append(parts, s[:i])
		s = s[i:]
		if s != "" {
			s = s[1:]
		}
	}
	mask := 0
	textMonth := false
	for i, part := range parts {
		if !isAlpha(part[0]) {
			continue
		}
		w := dateWords[cutToken(part)]
		if w.kind == wordIgnore {
			parts[i] = ""
			continue
		}
		if w.kind != wordMonth || seen&hasMonth != 0 {
			return 0, dateBadFormat
		}
		p.month = w.val
		textMonth = true
		seen |= hasMonth
		mask |= hasMonth
		parts[i] = ""
	}
	for _, part := range parts {
		if part == "" {
			continue
		}
		got, e := p.number(part, seen, textMonth)
		if e != dateOK {
			return 0, e
		}
		if seen&got != 0 {
			return 0, dateBadFormat
		}
		seen |= got
		mask |= got
	}
	if seen&^(hasDoy|hasZone) != hasDate {
		return 0, dateBadFormat
	}
	return mask, dateOK
}

// number decides which part of a date a bare number is, from what was seen
// before and the DateStyle order.
func (p *dateParse) number(s string, seen int, textMonth bool) (int, dateErr) {
	v, rest, e := atoiC(s)
	if e != dateOK {
		return 0, e
	}
	if len(rest) == len(s) {
		return 0, dateBadFormat
	}
	if rest != "" {
		if rest[0] != '.' {
			return 0, dateBadFormat
		}
		if len(s)-len(rest) > 2 {
			return p.runTogether(s, seen|hasDate)
		}
		us, ok := fractionUsec(rest)
		if !ok {
			return 0, dateBadFormat
		}
		p.usec = us
	}
	n := len(s)
	if n == 3 && seen&hasDate == hasYear && v >= 1 && v <= 366 {
		p.yday = v
		return hasDoy | hasMonth | hasDay, dateOK
	}
	order := p.formats.DateOrder
	mask := 0
	switch seen & hasDate {
	case 0:
		switch {
		case n >= 3 || order == OrderYMD:
			mask, p.year = hasYear, v
		case order == OrderDMY:
			mask, p.day = hasDay, v
		default:
			mask, p.month = hasMonth, v
		}
	case hasYear:
		mask, p.month = hasMonth, v
	case hasMonth:
		if textMonth && (n >= 3 || order == OrderYMD) {
			mask, p.year = hasYear, v
		} else {
			mask, p.day = hasDay, v
		}
	case hasYear | hasMonth:
		if textMonth && n >= 3 && p.twoDigits {
			// The first number was the day after all.
			mask = hasDay
			p.day, p.year, p.twoDigits = p.year, v, false
		} else {
			mask, p.day = hasDay, v
		}
	case hasDay:
		mask, p.month = hasMonth, v
	case hasMonth | hasDay:
		mask, p.year = hasYear, v
	case hasDate:
		return p.runTogether(s, seen)
	default:
		return 0, dateBadFormat
	}
	if mask == hasYear {
		p.twoDigits = n <= 2
	}
	return mask, dateOK
}

// runTogether reads yyyymmdd, hhmmss or hhmm, the time perhaps with a fraction.
func (p *dateParse) runTogether(s string, seen int) (int, dateErr) {
	atoi := func(s string) int {
		v, _, _ := atoiC(s)
		return v
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		end := i + 1
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		f, _ := fraction(s[i:end])
		p.usec = int(math.RoundToEven(f * 1e6))
		s = s[:i]
	} else if seen&hasDate != hasDate && len(s) >= 6 {
		n := len(s)
		p.day, p.month, p.year = atoi(s[n-2:]), atoi(s[n-4:n-2]), atoi(s[:n-4])
		if _, _, e := atoiC(s[:n-4]); e != dateOK {
			return 0, dateFieldOverflow
		}
		if n-4 == 2 {
			p.twoDigits = true
		}
		return hasDate, dateOK
	}
	if seen&hasTime != hasTime {
		switch len(s) {
		case 6:
			p.hour, p.min, p.sec = atoi(s[:2]), atoi(s[2:4]), atoi(s[4:])
			return hasTime, dateOK
		case 4:
			p.hour, p.min, p.sec = atoi(s[:2]), atoi(s[2:]), 0
			return hasTime, dateOK
		}
	}
	return 0, dateBadFormat
}

// validate brings the year to the internal count and checks month and day.
func (p *dateParse) validate() dateErr {
	if p.seen&hasYear != 0 && !p.julian {
		switch {
		case p.bc:
			if p.year <= 0 {
				return dateFieldOverflow
			}
			p.year = -(p.year - 1)
		case p.twoDigits:
			if p.year < 0 {
				return dateFieldOverflow
			}
			if p.year < 70 {
				p.year += 2000
			} else if p.year < 100 {
				p.year += 1900
			}
		case p.year <= 0:
			return dateFieldOverflow
		}
	}
	if p.seen&hasDoy != 0 {
		p.year, p.month, p.day = julianToDate(dateToJulian(p.year, 1, 1) + p.yday - 1)
	}
	if p.seen&hasMonth != 0 && (p.month < 1 || p.month > 12) {
		return dateMDOverflow
	}
	if p.seen&hasDay != 0 && (p.day < 1 || p.day > 31) {
		return dateMDOverflow
	}
	if p.seen&hasDate == hasDate && p.day > daysIn(p.year, p.month) {
		return dateFieldOverflow
	}
	return dateOK
}

func (p *dateParse) applyMeridian() dateErr {
	if p.meridian != mer24 && p.hour > 12 {
		return dateFieldOverflow
	}
	if p.meridian == merAM && p.hour == 12 {
		p.hour = 0
	} else if p.meridian == merPM && p.hour != 12 {
		p.hour += 12
	}
	return dateOK
}

// now is the statement's transaction time as local civil time.
func (p *dateParse) now() (c civil, east int) {
	var us int64
	if p.env != nil {
		us = p.env.TxnTime
	}
	east, _ = zoneOffset(us, p.formats.TimeZone)
	return civilOf(us + int64(east)*usecSec), east
}

func (p *dateParse) setDate(c civil) { p.year, p.month, p.day = c.year, c.month, c.day }
