package sqltypes

import (
	"math"
	"strconv"
	"strings"
	"time"

	"ostraka/sqltypes/pgerror"
)

// dateRead gathers what a picture reads from text (to_date, to_timestamp). Zero
// means not given.
type dateRead struct {
	s         string // what is left
	src       string
	mode      byte // 0, 'G' Gregorian, 'I' ISO week
	hh        int
	pm        int
	mi, ss    int
	ssss      int
	d, dd     int
	ddd       int
	mm        int
	ms        int
	year      int
	bc        int
	ww, w, cc int
	j, us     int
	ff        int // digits of the FFn that was read: what the result is rounded to
	yearWidth int
	clock12   bool
	tzSign    int
	tzh, tzm  int
	strict    bool // the standard's rules: see ParseDateItem
}

func formatError(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.InvalidDatetimeFormat, format, args...)
}

// set stores a value once.
func (r *dateRead) set(field *int, v int, key string) error {
	if *field != 0 && *field != v {
		return formatError("conflicting values for \"%s\" field in formatting string", key).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	*field = v
	return nil
}

// cNumber reads like strtol: spaces, sign, digits.
func cNumber(s string) (v int64, n int, overflow bool) {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	from := i
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == digits {
		return 0, 0, false
	}
	v, err := strconv.ParseInt(s[from:i], 10, 64)
	return v, i, err != nil || v < math.MinInt32 || v > math.MaxInt32
}

// number reads an integer of up to width characters into field (nil: ignored)
// and returns how many characters it took.
func (r *dateRead) number(field *int, width int, nodes []pictureNode, i int) (int, error) {
	key := nodes[i].key
	init := r.s
	rest := strings.TrimLeft(r.s, spaces)
	text := rest[:min(width, len(rest))]
	var v int64
	var over bool
	const hint = "If your source string is not fixed-width, try using the \"FM\" modifier."
	if nodes[i].fm || separatorFollows(nodes, i) {
		n := 0
		if v, n, over = cNumber(init); n > 0 {
			rest = init[n:]
		} else {
			rest = init // nothing was read
		}
	} else {
		if len(text) < width {
			return 0, formatError("source string too short for \"%s\" formatting field", key).
				WithDetail("Field requires %d characters, but only %d remain.", width, len(text)).WithHint(hint)
		}
		n := 0
		v, n, over = cNumber(text)
		if n > 0 && n < width {
			return 0, formatError("invalid value \"%s\" for \"%s\"", text, key).
				WithDetail("Field requires %d characters, but only %d could be parsed.", width, n).WithHint(hint)
		}
		rest = rest[n:]
	}
	r.s = rest
	if len(rest) == len(init) {
		return 0, formatError("invalid value \"%s\" for \"%s\"", text, key).WithDetail("Value must be an integer.")
	}
	if over {
		return 0, pgerror.New(pgerror.DatetimeValueOutOfRange, "value for \"%s\" in source string is out of range", key).
			WithDetail("Value must be in the range %d to %d.", math.MinInt32, math.MaxInt32)
	}
	if field != nil {
		if err := r.set(field, int(v), key); err != nil {
			return 0, err
		}
	}
	return len(init) - len(rest), nil
}

// separatorFollows reports that no digit can follow the field, so that it may take all digits there are.
func separatorFollows(nodes []pictureNode, i int) bool {
	if nodes[i].th != 0 || i+1 == len(nodes) {
		return true
	}
	n := nodes[i+1]
	if n.kind == pictureAction {
		switch strings.ToUpper(n.key) {
		case "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "DAY", "DY", "FX", "MONTH", "MON", "OF", "P.M.", "PM", "RM", "TZ", "TZH":
			return true
		}
		return false
	}
	return !isDigit(n.text[0])
}

// word reads one of a list in any case.
func (r *dateRead) word(list []string, key string) (int, error) {
	for i, w := range list {
		if len(r.s) >= len(w) && strings.EqualFold(r.s[:len(w)], w) {
			r.s = r.s[len(w):]
			return i, nil
		}
	}
	got := r.s
	if i := strings.IndexAny(got, " \t\n\r\f"); i >= 0 {
		got = got[:i]
	}
	return 0, formatError("invalid value \"%s\" for \"%s\"", got, key).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

func (r *dateRead) setMode(mode byte) error {
	if mode == 0 {
		return nil
	}
	if r.mode != 0 && r.mode != mode {
		return formatError("invalid combination of date conventions").
			WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
	}
	r.mode = mode
	return nil
}

// patternMode is the calendar a pattern belongs to.
func patternMode(key string) byte {
	switch key {
	case "ID", "IDDD", "IW", "IYYY", "IYY", "IY", "I":
		return 'I'
	case "DDD", "DD", "D", "MM", "MONTH", "MON", "RM", "WW", "W", "YYYY", "YYY", "YY", "Y", "Y,YYY":
		return 'G'
	}
	return 0
}

func (r *dateRead) read(picture string) error {
	nodes := splitPicture(picture, datePatterns, true)
	fx := r.strict
	extra := 0 // characters skipped beyond what the picture has
	skip := func() {
		for r.s != "" && isSpace(r.s[0]) {
			r.s = r.s[1:]
			extra++
		}
	}
	for i, n := range nodes {
		if r.s == "" {
			if r.strict {
				return formatError("input string is too short for datetime format")
			}
			break
		}
		if !fx && (n.kind == pictureAction || i == 0) {
			skip()
			if r.s == "" && n.kind != pictureAction {
				break
			}
		}
		switch n.kind {
		case pictureSpace, pictureSeparator:
			if r.strict {
				if !n.quoted && r.s[0] != n.text[0] {
					return formatError("unmatched format separator \"%s\"", n.text)
				}
				r.s = r.s[1:]
				continue
			}
			if fx {
				r.s = r.s[runeLen(r.s):]
				continue
			}
			extra--
			if r.s != "" && (isSpace(r.s[0]) || isSeparatorChar(r.s[0])) {
				r.s = r.s[1:]
				extra++
			}
			continue
		case pictureChar:
			if r.strict && !strings.HasPrefix(r.s, n.text) {
				return formatError("unmatched format character \"%s\"", n.text)
			}
			if !fx && extra > 0 {
				extra--
			} else {
				r.s = r.s[runeLen(r.s):]
			}
			continue
		}
		if strings.EqualFold(n.key, "FX") {
			fx = true
		} else if err := r.field(nodes, i, extra); err != nil {
			return err
		}
		if !fx {
			extra = 0
			skip()
		}
	}
	if r.strict && strings.TrimLeft(r.s, spaces) != "" {
		return formatError("trailing characters remain in input string after datetime format")
	}
	return nil
}

func (r *dateRead) field(nodes []pictureNode, i, extra int) error {
	n := nodes[i]
	key := strings.ToUpper(n.key)
	if err := r.setMode(patternMode(key)); err != nil {
		return err
	}
	num := func(field *int, width int) error {
		_, err := r.number(field, width, nodes, i)
		return err
	}
	var err error
	switch key {
	case "A.M.", "P.M.", "AM", "PM":
		list := []string{"am", "pm"}
		if len(key) == 4 {
			list = []string{"a.m.", "p.m."}
		}
		v, err := r.word(list, n.key)
		if err != nil {
			return err
		}
		r.clock12 = true
		return r.set(&r.pm, v, n.key)
	case "A.D.", "B.C.", "AD", "BC":
		list := []string{"ad", "bc"}
		if len(key) == 4 {
			list = []string{"a.d.", "b.c."}
		}
		v, err := r.word(list, n.key)
		if err != nil {
			return err
		}
		return r.set(&r.bc, v, n.key)
	case "HH", "HH12":
		err = num(&r.hh, 2)
		r.clock12 = true
	case "HH24":
		err = num(&r.hh, 2)
	case "MI":
		err = num(&r.mi, 2)
	case "SS":
		err = num(&r.ss, 2)
	case "MS":
		width, e := r.number(&r.ms, 3, nodes, i)
		if err = e; err == nil && width < 3 {
			r.ms *= int(pow10u[3-width])
		}
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "US":
		digits := 6
		if key != "US" {
			digits = int(key[2] - '0')
			r.ff = digits
		}
		width, e := r.number(&r.us, digits, nodes, i)
		if err = e; err == nil && width < 6 {
			r.us *= int(pow10u[6-width])
		}
	case "SSSS", "SSSSS":
		err = num(&r.ssss, len(key))
	case "TZ", "OF":
		return pgerror.New(pgerror.FeatureNotSupported, "formatting field \"%s\" is only supported in to_char", n.key)
	case "TZH":
		r.tzSign = 1
		switch {
		case r.s != "" && (r.s[0] == '+' || r.s[0] == '-' || r.s[0] == ' '):
			if r.s[0] == '-' {
				r.tzSign = -1
			}
			r.s = r.s[1:]
		case extra > 0 && len(r.s) < len(r.src) && r.src[len(r.src)-len(r.s)-1] == '-':
			r.tzSign = -1 // the sign was taken for a separator
		}
		err = num(&r.tzh, 2)
	case "TZM":
		if r.tzSign == 0 {
			r.tzSign = 1
		}
		err = num(&r.tzm, 2)
	case "MONTH", "MON":
		list := fullMonths[:]
		if key == "MON" {
			list = shortMonths[1:]
		}
		v, err := r.word(list, n.key)
		if err != nil {
			return err
		}
		return r.set(&r.mm, v+1, n.key)
	case "MM":
		err = num(&r.mm, 2)
	case "DAY", "DY":
		list := fullDays[:]
		if key == "DY" {
			list = shortDays[:]
		}
		v, err := r.word(list, n.key)
		if err != nil {
			return err
		}
		if err := r.set(&r.d, v, n.key); err != nil {
			return err
		}
		r.d++
		return nil
	case "DDD", "IDDD":
		err = num(&r.ddd, 3)
	case "DD":
		err = num(&r.dd, 2)
	case "D":
		err = num(&r.d, 1)
	case "ID":
		if err = num(&r.d, 1); err == nil {
			if r.d++; r.d > 7 {
				r.d = 1
			}
		}
	case "WW", "IW":
		err = num(&r.ww, 2)
	case "Q":
		err = num(nil, 1)
	case "CC":
		err = num(&r.cc, 2)
	case "Y,YYY":
		err = r.millennium(n.key)
	case "YYYY", "IYYY":
		err = num(&r.year, 4)
		r.yearWidth = 4
	case "YYY", "IYY", "YY", "IY", "Y", "I":
		width, e := r.number(&r.year, len(key), nodes, i)
		if err = e; err == nil && width < 4 {
			r.year = yearNear2020(r.year)
		}
		r.yearWidth = len(key)
	case "RM":
		v, err := r.word([]string{"xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i"}, n.key)
		if err != nil {
			return err
		}
		return r.set(&r.mm, 12-v, n.key)
	case "W":
		err = num(&r.w, 1)
	case "J":
		err = num(&r.j, 1)
	}
	if err == nil && n.th != 0 && key != "TZH" && key != "TZM" {
		for range 2 {
			if r.s != "" {
				r.s = r.s[runeLen(r.s):]
			}
		}
	}
	return err
}

// millennium reads "1,999".
func (r *dateRead) millennium(key string) error {
	bad := formatError("invalid input string for \"Y,YYY\"")
	m, n, over := cNumber(r.s)
	if n == 0 || n >= len(r.s) || r.s[n] != ',' || over {
		return bad
	}
	rest := strings.TrimLeft(r.s[n+1:], spaces)
	y, k, _ := cNumber(rest[:min(3, len(rest))])
	if k == 0 {
		return bad
	}
	r.s = rest[k:]
	r.yearWidth = 4
	return r.set(&r.year, int(y+m*1000), key)
}

// yearNear2020 completes a year of fewer than four digits.
func yearNear2020(y int) int {
	switch {
	case y < 70:
		return y + 2000
	case y < 100:
		return y + 1900
	case y < 520:
		return y + 2000
	case y < 1000:
		return y + 1000
	}
	return y
}

// resolve puts the fields together.
func (r *dateRead) resolve() (civil, error) {
	c := civil{year: 0, month: 1, day: 1}
	p := dateParse{julian: true}
	if x := r.ssss; x != 0 {
		c.hour, c.min, c.sec = x/3600, x%3600/60, x%60
	}
	if r.ss != 0 {
		c.sec = r.ss
	}
	if r.mi != 0 {
		c.min = r.mi
	}
	if r.hh != 0 {
		c.hour = r.hh
	}
	if r.clock12 {
		if c.hour < 1 || c.hour > 12 {
			return c, formatError("hour \"%d\" is invalid for the 12-hour clock", c.hour).
				WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
		}
		if r.pm != 0 && c.hour < 12 {
			c.hour += 12
		} else if r.pm == 0 && c.hour == 12 {
			c.hour = 0
		}
	}
	switch {
	case r.year != 0 && r.cc != 0 && r.yearWidth <= 2:
		if r.bc != 0 {
			r.cc = -r.cc
		}
		c.year = r.year % 100
		switch {
		case c.year != 0 && r.cc >= 0:
			c.year += (r.cc - 1) * 100
		case c.year != 0:
			c.year = (r.cc+1)*100 - c.year + 1
		case r.cc >= 0:
			c.year = r.cc * 100
		default:
			c.year = r.cc*100 + 1
		}
		p.seen |= hasYear
	case r.year != 0:
		c.year = r.year
		if r.bc != 0 {
			c.year = -c.year
		}
		if c.year < 0 {
			c.year++
		}
		p.seen |= hasYear
	case r.cc != 0:
		if r.bc != 0 {
			r.cc = -r.cc
		}
		if r.cc >= 0 {
			c.year = (r.cc-1)*100 + 1
		} else {
			c.year = r.cc*100 + 1
		}
		p.seen |= hasYear
	}
	if r.j != 0 {
		c.year, c.month, c.day = julianToDate(r.j)
		p.seen |= hasDate
	}
	if r.ww != 0 {
		if r.mode == 'I' {
			j := isoWeekToJulian(c.year, r.ww)
			if r.d > 1 {
				j += r.d - 2
			} else if r.d == 1 {
				j += 6
			}
			c.year, c.month, c.day = julianToDate(j)
			p.seen |= hasDate
		} else {
			r.ddd = (r.ww-1)*7 + 1
		}
	}
	if r.w != 0 {
		r.dd = (r.w-1)*7 + 1
	}
	if r.dd != 0 {
		c.day = r.dd
		p.seen |= hasDay
	}
	if r.mm != 0 {
		c.month = r.mm
		p.seen |= hasMonth
	}
	if r.ddd != 0 && (c.month <= 1 || c.day <= 1) {
		if c.year == 0 && r.bc == 0 {
			return c, formatError("cannot calculate day of year without year information")
		}
		if r.mode == 'I' {
			c.year, c.month, c.day = julianToDate(isoWeekToJulian(c.year, 1) - 1 + r.ddd)
		} else {
			sum := 0
			m := 1
			for ; m <= 12 && r.ddd > sum+daysIn(c.year, m); m++ {
				sum += daysIn(c.year, m)
			}
			if m > 12 {
				m = 12 // past the end of the year: refused below
				sum -= 31
				sum = min(sum, r.ddd)
			}
			if c.month <= 1 {
				c.month = m
			}
			if c.day <= 1 {
				c.day = r.ddd - sum
			}
		}
		p.seen |= hasMonth | hasDay
	}
	c.usec += r.ms*1000 + r.us
	p.civil = c
	if p.seen != 0 && p.validate() != dateOK {
		return c, dateTextError(dateFieldOverflow, r.src, "timestamp")
	}
	if c.hour < 0 || c.hour >= 24 || c.min < 0 || c.min >= 60 || c.sec < 0 || c.sec >= 60 || c.usec < 0 || c.usec >= int(usecSec) {
		return c, dateTextError(dateFieldOverflow, r.src, "timestamp")
	}
	if r.tzSign != 0 && (r.tzh < 0 || r.tzh > 15 || r.tzm < 0 || r.tzm >= 60) {
		return c, dateTextError(dateZoneOverflow, r.src, "timestamp")
	}
	return c, nil
}

// ParseTimestampAs is to_timestamp(text, picture); text without a zone is local
// time of loc. Errors: 22007, 22008, 22009, 0A000.
func ParseTimestampAs(text, picture string, loc *time.Location) (int64, error) {
	r := dateRead{s: text, src: text}
	if err := r.read(picture); err != nil {
		return 0, err
	}
	c, err := r.resolve()
	if err != nil {
		return 0, err
	}
	if !validJulian(c.year, c.month) {
		return 0, TimestampOutOfRange()
	}
	east := r.tzSign * (r.tzh*3600 + r.tzm*60)
	if r.tzSign == 0 {
		local, ok := c.timestamp(0)
		if !ok {
			return 0, TimestampOutOfRange()
		}
		east = localOffset(local, loc)
	}
	us, ok := c.timestamp(-east)
	if !ok {
		return 0, TimestampOutOfRange()
	}
	if r.ff != 0 {
		us = roundUsec(us, int32(r.ff))
	}
	return us, nil
}

// ParseDateAs is to_date(text, picture).
func ParseDateAs(text, picture string) (int64, error) {
	r := dateRead{s: text, src: text}
	if err := r.read(picture); err != nil {
		return 0, err
	}
	c, err := r.resolve()
	if err != nil {
		return 0, err
	}
	days := int64(dateToJulian(c.year, c.month, c.day) - postgresEpochJulian)
	if !validJulian(c.year, c.month) || !validDate(days) {
		return 0, pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range: \"%s\"", text)
	}
	return days, nil
}
