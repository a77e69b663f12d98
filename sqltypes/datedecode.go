package sqltypes

import (
	"math"
	"strings"
)

// decode reads the fields of a date, timestamp or (timeOnly) time. For a
// timestamp without a date it answers dateBadFormat; for a time without its date
// the date parts stay zero.
func (p *dateParse) decode(fields []dateField, timeOnly bool) dateErr {
	prefix := unitNone // a unit word that labels the next field
	for i, f := range fields {
		mask := 0
		var e dateErr
		switch f.kind {
		case fieldDate:
			mask, e = p.dateOrZone(fields, i, f.text, &prefix, timeOnly)
		case fieldTime:
			if prefix != unitNone && !timeOnly {
				if prefix != unitTime {
					return dateBadFormat
				}
				prefix = unitNone
			}
			mask, e = p.clock(f.text)
			if e == dateOK && !timeOnly && p.timeOverflows() {
				e = dateFieldOverflow
			}
		case fieldZone:
			mask, e = hasZone, p.setOffset(f.text)
		case fieldNumber:
			switch {
			case prefix != unitNone:
				mask, e = p.labelled(f.text, prefix)
				prefix = unitNone
			case timeOnly:
				mask, e = p.bareTimeNumber(fields, i, f.text)
			default:
				mask, e = p.bareNumber(f.text)
			}
		case fieldString, fieldSpecial:
			var skip bool
			mask, skip, e = p.word(fields, i, &prefix, timeOnly)
			if skip {
				continue
			}
		}
		if e != dateOK {
			return e
		}
		if mask&p.seen != 0 {
			return dateBadFormat
		}
		p.seen |= mask
	}
	if p.special != 0 {
		return dateOK
	}
	if e := p.validate(); e != dateOK {
		return e
	}
	if e := p.applyMeridian(); e != dateOK {
		return e
	}
	if timeOnly {
		if p.timeOverflows() {
			return dateFieldOverflow
		}
		if p.seen&hasTime != hasTime || p.seen&hasDST != 0 && p.seen&hasZone == 0 {
			return dateBadFormat
		}
		if d := p.seen & hasDate; d != 0 && d != hasDate { // "m2" alone
			return dateBadFormat
		}
		return dateOK
	}
	if p.seen&hasDate != hasDate {
		return dateBadFormat
	}
	if p.seen&hasDST != 0 && (p.seen&hasZone == 0 || p.zone.loc != nil && p.zone.abbr == "") {
		return dateBadFormat
	}
	return dateOK
}

// dateOrZone reads a field that has separators: a date, or when the date is
// there already, a zone name or hhmmss-zz.
func (p *dateParse) dateOrZone(fields []dateField, i int, s string, prefix *int, timeOnly bool) (int, dateErr) {
	if timeOnly {
		if i == 0 && len(fields) >= 2 && (fields[len(fields)-1].kind == fieldDate || fields[1].kind == fieldTime) {
			return p.dateText(s, p.seen)
		}
		if isDigit(s[0]) {
			return p.timeWithOffset(s, hasDate)
		}
		return p.zoneName(s)
	}
	if *prefix == unitJulian {
		// A Julian day with a zone attached: J2451187-08.
		v, rest, e := atoiC(s)
		if e != dateOK || v < 0 {
			return 0, dateFieldOverflow
		}
		p.year, p.month, p.day = julianToDate(v)
		p.julian = true
		*prefix = unitNone
		p.hour, p.min, p.sec, p.usec = 0, 0, 0, 0
		return hasDate | hasTime | hasZone, p.setOffset(rest)
	}
	if *prefix == unitNone && p.seen&(hasMonth|hasDay) != hasMonth|hasDay {
		return p.dateText(s, p.seen)
	}
	if isDigit(s[0]) || *prefix != unitNone {
		if *prefix != unitNone {
			if *prefix != unitTime {
				return 0, dateBadFormat
			}
			*prefix = unitNone
		}
		return p.timeWithOffset(s, p.seen)
	}
	return p.zoneName(s)
}

// timeWithOffset reads hhmmss-zz.
func (p *dateParse) timeWithOffset(s string, seen int) (int, dateErr) {
	if p.seen&hasTime == hasTime {
		return 0, dateBadFormat
	}
	i := strings.IndexByte(s, '-')
	if i < 0 {
		return 0, dateBadFormat
	}
	if e := p.setOffset(s[i:]); e != dateOK {
		return 0, e
	}
	mask, e := p.runTogether(s[:i], seen)
	return mask | hasZone, e
}

func (p *dateParse) zoneName(s string) (int, dateErr) {
	loc, ok := LookupTimeZone(s)
	if !ok {
		p.unknownZone = s
		return 0, dateBadFormat
	}
	p.zone, p.zoneSet = zoneSpec{loc: loc}, true
	return hasZone, dateOK
}

// labelled reads a number whose unit was named before it: y2001, J2451187, t1020.
func (p *dateParse) labelled(s string, unit int) (int, dateErr) {
	v, rest, e := atoiC(s)
	if e != dateOK {
		return 0, e
	}
	if rest != "" {
		if rest[0] != '.' || unit != unitJulian && unit != unitTime && unit != unitSecond {
			return 0, dateBadFormat
		}
	}
	switch unit {
	case unitYear:
		p.year = v
		return hasYear, dateOK
	case unitMonth:
		if p.seen&hasMonth != 0 && p.seen&hasHour != 0 {
			p.min = v
			return hasMinute, dateOK
		}
		p.month = v
		return hasMonth, dateOK
	case unitDay:
		p.day = v
		return hasDay, dateOK
	case unitHour:
		p.hour = v
		return hasHour, dateOK
	case unitMinute:
		p.min = v
		return hasMinute, dateOK
	case unitSecond:
		p.sec = v
		if rest == "" {
			return hasSecond, dateOK
		}
		us, ok := fractionUsec(rest)
		if !ok {
			return 0, dateBadFormat
		}
		p.usec = us
		return hasAllSecs, dateOK
	case unitTZ:
		return hasZone, p.setOffset(s)
	case unitJulian:
		if v < 0 {
			return 0, dateFieldOverflow
		}
		p.year, p.month, p.day = julianToDate(v)
		p.julian = true
		if rest == "" {
			return hasDate, dateOK
		}
		f, ok := fraction(rest)
		if !ok {
			return 0, dateBadFormat
		}
		p.setTime(int64(f * float64(usecDay)))
		return hasDate | hasTime, dateOK
	case unitTime:
		mask, e := p.runTogether(s, p.seen|hasDate)
		if e == dateOK && mask != hasTime {
			e = dateBadFormat
		}
		return mask, e
	}
	return 0, dateBadFormat
}

func (p *dateParse) bareNumber(s string) (int, dateErr) {
	point := strings.IndexByte(s, '.')
	switch {
	case point >= 0 && p.seen&hasDate == 0:
		return p.dateText(s, p.seen)
	case point > 2:
		return p.runTogether(s, p.seen)
	case point < 0 && len(s) >= 6 && (p.seen&hasDate == 0 || p.seen&hasTime == 0):
		return p.runTogether(s, p.seen)
	}
	return p.number(s, p.seen, p.textMonth)
}

func (p *dateParse) bareTimeNumber(fields []dateField, i int, s string) (int, dateErr) {
	point := strings.IndexByte(s, '.')
	switch {
	case point >= 0 && i == 0 && len(fields) >= 2 && fields[len(fields)-1].kind == fieldDate:
		return p.dateText(s, p.seen)
	case point > 2:
		return p.runTogether(s, p.seen|hasDate)
	case point >= 0:
		return 0, dateBadFormat
	case len(s) > 4:
		return p.runTogether(s, p.seen|hasDate)
	}
	return p.number(s, p.seen|hasDate, false)
}

// word reads letters: a zone abbreviation, a month, "now", "pm" …
func (p *dateParse) word(fields []dateField, i int, prefix *int, timeOnly bool) (mask int, skip bool, e dateErr) {
	s := fields[i].text
	if z, ok := findAbbrev(s); ok {
		p.zone, p.zoneSet = z, true
		return hasZone, false, dateOK
	}
	w := dateWords[cutToken(s)]
	switch w.kind {
	case wordIgnore:
		return 0, true, dateOK
	case wordReserved:
		mask, e = p.reserved(w.val, timeOnly)
		return mask, false, e
	case wordMonth:
		mask = hasMonth
		if p.seen&hasMonth != 0 && !p.textMonth && p.seen&hasDay == 0 && p.month >= 1 && p.month <= 31 {
			p.day = p.month
			mask = hasDay
		}
		p.textMonth = true
		p.month = w.val
		if timeOnly {
			return 0, false, dateBadFormat
		}
		return mask, false, dateOK
	case wordDSTMod:
		// A modifier: "met dst" is one hour east of met.
		if p.zoneSet && p.zone.fixed {
			p.zone.east += w.val
		}
		return hasDST, false, dateOK
	case wordAMPM:
		p.meridian = merAM + w.val
		return hasAMPM, false, dateOK
	case wordEra:
		p.bc = w.val == 1
		return hasEra, false, dateOK
	case wordDayOfWeek:
		if timeOnly {
			return 0, false, dateBadFormat
		}
		return hasDow, false, dateOK
	case wordUnits:
		*prefix = w.val
		return 0, false, dateOK
	case wordISOTime:
		// A time has to follow: hhmmss, hh:mm:ss or hhmmss-zz.
		if !timeOnly && p.seen&hasDate != hasDate || i+1 >= len(fields) ||
			fields[i+1].kind != fieldNumber && fields[i+1].kind != fieldTime && fields[i+1].kind != fieldDate {
			return 0, false, dateBadFormat
		}
		*prefix = w.val
		return 0, false, dateOK
	}
	mask, e = p.zoneName(s)
	if e != dateOK {
		p.unknownZone = "" // a word that is nothing is a bad format, not a bad zone
	}
	return mask, false, e
}

func (p *dateParse) reserved(val int, timeOnly bool) (int, dateErr) {
	switch val {
	case resNow:
		c, east := p.now()
		p.civil = c
		if timeOnly {
			p.year, p.month, p.day = 0, 0, 0
			if !p.zoneSet {
				p.zone = zoneSpec{fixed: true, east: east}
				p.zoneSet = true
			}
			return hasTime, dateOK
		}
		p.zone, p.zoneSet = zoneSpec{fixed: true, east: east}, true
		return hasDate | hasTime | hasZone, dateOK
	case resZulu:
		p.hour, p.min, p.sec, p.usec = 0, 0, 0, 0
		p.zone, p.zoneSet = zoneSpec{fixed: true}, true
		return hasTime | hasZone, dateOK
	}
	if timeOnly {
		return 0, dateBadFormat
	}
	switch val {
	case resToday, resTomorrow, resYesterday:
		c, _ := p.now()
		j := dateToJulian(c.year, c.month, c.day)
		if val == resTomorrow {
			j++
		} else if val == resYesterday {
			j--
		}
		p.year, p.month, p.day = julianToDate(j)
		p.julian = true // the year is on the internal count already
		return hasDate, dateOK
	}
	p.special = val
	return hasDate | hasTime | hasZone, dateOK
}

// epochCivil is 1970-01-01.
var epochCivil = civil{year: 1970, month: 1, day: 1}

// parseTimestamp reads a timestamp: local µs, and the zone when withZone.
func parseTimestamp(env *Env, s string, withZone bool, typ string) (int64, error) {
	p := newDateParse(env)
	fields, ok := splitDate(s)
	if !ok {
		return 0, dateTextError(dateBadFormat, s, typ)
	}
	if e := p.decode(fields, false); e != dateOK {
		if p.unknownZone != "" {
			return 0, zoneNotRecognized(p.unknownZone)
		}
		return 0, dateTextError(e, s, typ)
	}
	switch p.special {
	case resLate:
		return TimestampInfinity, nil
	case resEarly:
		return TimestampNegInfinity, nil
	case resEpoch:
		p.civil = epochCivil
		p.zone, p.zoneSet = zoneSpec{fixed: true}, true
	}
	west := 0
	if withZone {
		west = -p.east()
	}
	us, ok := p.timestamp(west)
	if !ok {
		return 0, timestampTextRange(s)
	}
	return us, nil
}

// east resolves the zone of a complete date and time.
func (p *dateParse) east() int {
	c := p.civil
	if !validJulian(c.year, c.month) {
		return 0
	}
	local := int64(dateToJulian(c.year, c.month, c.day) - postgresEpochJulian)
	if local > math.MaxInt64/usecDay-1 || local < math.MinInt64/usecDay+1 {
		return 0
	}
	us := local*usecDay + c.timeOfDay()
	if p.zoneSet {
		return p.zone.eastAtLocal(us)
	}
	return zoneSpec{loc: p.formats.TimeZone}.eastAtLocal(us)
}
