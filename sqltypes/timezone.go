package sqltypes

import (
	"encoding/binary"
	"strconv"
	"strings"
	"sync"
	"time"

	"ostraka/sqltypes/pgerror"
)

// zoneAbbrev is one abbreviation of PostgreSQL's Default set: a fixed offset in
// seconds east of UTC, or the zone whose history tells what it meant when.
type zoneAbbrev struct {
	offset int
	dst    bool
	zone   string
}

// zoneIndex maps lower-case names to the database's spelling.
var zoneIndex = sync.OnceValue(func() map[string]string {
	m := make(map[string]string, 700)
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSuffix(name, "\n")
		m[strings.ToLower(name)] = name
	}
	return m
})

// TimeZoneNames lists the zone names, sorted.
func TimeZoneNames() []string { return strings.Split(strings.TrimSuffix(zoneNames, "\n"), "\n") }

var zoneCache sync.Map // lower-case name → *time.Location; bounded by what can be named, see cacheableZone

// LookupTimeZone finds a zone by name, in any case, or by a POSIX specification
// ("UTC+3", "<+03>-3", "PST8PDT,M3.2.0,M11.1.0"). Its String is the database's spelling.
func LookupTimeZone(name string) (*time.Location, bool) {
	lower := strings.ToLower(name)
	if loc, ok := zoneCache.Load(lower); ok {
		return loc.(*time.Location), true
	}
	canonical, known := zoneIndex()[lower]
	if !known {
		return posixZone(name)
	}
	loc := time.UTC
	if canonical != "UTC" {
		var err error
		if loc, err = time.LoadLocation(canonical); err != nil {
			return nil, false
		}
	}
	zoneCache.Store(lower, loc)
	return loc, true
}

// posixZone reads "ABC[+-]hh[:mm[:ss]]"; POSIX offsets are positive west.
func posixZone(s string) (*time.Location, bool) {
	rest, abbrev := s, ""
	if strings.HasPrefix(s, "<") {
		i := strings.IndexByte(s, '>')
		if i < 0 {
			return nil, false
		}
		abbrev, rest = s[1:i], s[i+1:]
	} else {
		i := 0
		for i < len(s) && isAlpha(s[i]) {
			i++
		}
		abbrev, rest = s[:i], s[i:]
	}
	if rest == "" || len(s) > 80 {
		return nil, false
	}
	summer := false
	if i := strings.IndexFunc(rest, func(r rune) bool { return r != '+' && r != '-' && r != ':' && (r < '0' || r > '9') }); i > 0 {
		rest, summer = rest[:i], true
	}
	sign := 1
	if rest[0] == '+' || rest[0] == '-' {
		if rest[0] == '-' {
			sign = -1
		}
		rest = rest[1:]
	}
	total, unit := 0, 3600
	for _, part := range strings.Split(rest, ":") {
		v, err := strconv.Atoi(part)
		if err != nil || v < 0 || unit == 0 || part == "" || !isDigit(part[0]) || unit == 3600 && v > 167 || unit < 3600 && v > 59 {
			return nil, false
		}
		total += v * unit
		unit /= 60
		if unit < 1 {
			unit = 0
		}
	}
	if summer {
		if abbrev == "" {
			return nil, false
		}
		return posixRuleZone(s, strings.ToUpper(abbrev), -sign*total, strings.Contains(s, ","))
	}
	return time.FixedZone(strings.ToUpper(abbrev), -sign*total), true
}

// posixRuleZone is a zone with summer time: by its rules, or by those of the United
// States when it has none. The specification is handed to the standard library as
// the footer of a file of one transition type.
func posixRuleZone(spec, abbrev string, east int, rules bool) (*time.Location, bool) {
	if !rules {
		spec += ",M3.2.0,M11.1.0"
	}
	block := func(version byte) []byte {
		b := append([]byte("TZif"), version)
		b = append(b, make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, 0, 1, uint32(len(abbrev) + 1)} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(int32(east)))
		return append(append(b, 0, 0), abbrev+"\x00"...)
	}
	data := append(block('2'), block('2')...)
	loc, err := time.LoadLocationFromTZData(spec, append(data, "\n"+spec+"\n"...))
	if err != nil {
		return nil, false
	}
	july, january := time.Date(2001, 7, 1, 0, 0, 0, 0, loc), time.Date(2001, 1, 1, 0, 0, 0, 0, loc)
	if _, a := july.Zone(); a == east {
		if _, b := january.Zone(); b == east { // the library did not understand it
			return nil, false
		}
	}
	return loc, true
}

// FixedTimeZone is the zone SET TIME ZONE makes of an offset, in seconds east of
// UTC; its name is in POSIX form: <-03>+03.
func FixedTimeZone(east int) *time.Location {
	sign, inverse, a := byte('+'), byte('-'), east
	if east < 0 {
		sign, inverse, a = '-', '+', -east
	}
	text := func() []byte {
		b := appendInt2(nil, a/3600)
		if a%3600 != 0 {
			b = appendInt2(append(b, ':'), a/60%60)
			if a%60 != 0 {
				b = appendInt2(append(b, ':'), a%60)
			}
		}
		return b
	}()
	return time.FixedZone("<"+string(sign)+string(text)+">"+string(inverse)+string(text), east)
}

// zoneNotRecognized is the 22023 for a zone nobody knows.
func zoneNotRecognized(name string) error {
	return pgerror.New(pgerror.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

// unixOf is the Unix time in seconds of µs since 2000, rounded down.
func unixOf(us int64) int64 {
	s := us / usecSec
	if us%usecSec < 0 {
		s--
	}
	return s - UnixEpochUsec/usecSec
}

// zoneOffset is the offset of loc, in seconds east of UTC, at an instant (µs
// since 2000 UTC), and the abbreviation in force.
func zoneOffset(us int64, loc *time.Location) (east int, abbrev string) {
	if loc == time.UTC {
		return 0, "UTC"
	}
	name, off := time.Unix(unixOf(us), 0).In(loc).Zone()
	return off, name
}

// localOffset is the offset, east of UTC, that loc had at a local time. Of a time
// that occurs twice the later instant is taken, of one that a jump left out the
// offset before the jump.
func localOffset(local int64, loc *time.Location) int {
	if loc == time.UTC {
		return 0
	}
	before, _ := zoneOffset(local-usecDay, loc)
	after, _ := zoneOffset(local+usecDay, loc)
	if before == after {
		// Two changes within two days leave the middle to be asked.
		if mid, _ := zoneOffset(local-int64(before)*usecSec, loc); mid == before {
			return before
		}
	}
	u1, u2 := local-int64(before)*usecSec, local-int64(after)*usecSec
	o1, _ := zoneOffset(u1, loc)
	o2, _ := zoneOffset(u2, loc)
	v1, v2 := o1 == before, o2 == after
	switch {
	case v1 && !v2:
		return before
	case v2 && !v1:
		return after
	}
	if u1 > u2 {
		return before
	}
	return after
}

// TimestampToLocal turns an instant into the local time of loc, LocalToTimestamp
// the other way round; both keep infinities. Errors: 22008.
func TimestampToLocal(us int64, loc *time.Location) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	off, _ := zoneOffset(us, loc)
	r, ok := addInt64(us, int64(off)*usecSec)
	if !ok || !validTimestamp(r) {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

func LocalToTimestamp(us int64, loc *time.Location) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	r, ok := subInt64(us, int64(localOffset(us, loc))*usecSec)
	if !ok || !validTimestamp(r) {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

// zoneSpec is what a zone word in a value or an AT TIME ZONE argument stands for.
type zoneSpec struct {
	fixed bool
	east  int            // fixed: seconds east of UTC
	loc   *time.Location // otherwise
	abbr  string         // an abbreviation whose meaning is looked up in loc's history
}

// findAbbrev looks an abbreviation up (lower case).
func findAbbrev(word string) (zoneSpec, bool) {
	a, ok := zoneAbbrevs[word]
	if !ok {
		return zoneSpec{}, false
	}
	if a.zone == "" {
		return zoneSpec{fixed: true, east: a.offset}, true
	}
	loc, ok := LookupTimeZone(a.zone)
	if !ok {
		return zoneSpec{}, false
	}
	return zoneSpec{loc: loc, abbr: word}, true
}

// eastAtLocal resolves a zone for a local time.
func (z zoneSpec) eastAtLocal(local int64) int {
	if z.fixed {
		return z.east
	}
	east := localOffset(local, z.loc)
	if z.abbr != "" {
		if e, ok := abbrevOffset(z.loc, z.abbr, local-int64(east)*usecSec); ok {
			return e
		}
	}
	return east
}

// eastAt resolves a zone for an instant.
func (z zoneSpec) eastAt(us int64) int {
	if z.fixed {
		return z.east
	}
	if z.abbr != "" {
		if e, ok := abbrevOffset(z.loc, z.abbr, us); ok {
			return e
		}
	}
	e, _ := zoneOffset(us, z.loc)
	return e
}

// abbrevOffset finds what abbr meant in loc at an instant: the offset in force
// then if it goes by that name, else that of the last time before when it did,
// else that of the first time after.
func abbrevOffset(loc *time.Location, abbr string, us int64) (int, bool) {
	t := time.Unix(unixOf(us), 0).In(loc)
	at := t
	for range 300 {
		if name, off := at.Zone(); strings.EqualFold(name, abbr) {
			return off, true
		}
		start, _ := at.ZoneBounds()
		if start.IsZero() {
			break
		}
		at = start.Add(-time.Second)
	}
	at = t
	for range 300 {
		_, end := at.ZoneBounds()
		if end.IsZero() {
			break
		}
		at = end
		if name, off := at.Zone(); strings.EqualFold(name, abbr) {
			return off, true
		}
	}
	return 0, false
}

// findZone resolves the text argument of AT TIME ZONE: an abbreviation, or a
// zone name. Error: 22023.
func findZone(name string) (zoneSpec, error) {
	if z, ok := findAbbrev(strings.ToLower(name)); ok {
		return z, nil
	}
	if loc, ok := LookupTimeZone(name); ok {
		return zoneSpec{loc: loc}, nil
	}
	return zoneSpec{}, zoneNotRecognized(name)
}

// TimestampAtZone is timezone(text, timestamp): a local time of the named zone as an instant.
func TimestampAtZone(us int64, zone string) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	z, err := findZone(zone)
	if err != nil {
		return 0, err
	}
	r, ok := subInt64(us, int64(z.eastAtLocal(us))*usecSec)
	if !ok || !validTimestamp(r) {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

// TimestamptzAtZone is timezone(text, timestamptz): an instant as local time of the named zone.
func TimestamptzAtZone(us int64, zone string) (int64, error) {
	if TimestampIsInf(us) {
		return us, nil
	}
	z, err := findZone(zone)
	if err != nil {
		return 0, err
	}
	r, ok := addInt64(us, int64(z.eastAt(us))*usecSec)
	if !ok || !validTimestamp(r) {
		return 0, TimestampOutOfRange()
	}
	return r, nil
}

// ZoneOffsetAt is the offset of a named zone, seconds east of UTC, at an instant.
func ZoneOffsetAt(zone string, us int64) (int, error) {
	z, err := findZone(zone)
	if err != nil {
		return 0, err
	}
	return z.eastAt(us), nil
}

// TimeZoneAbbreviation is one row of pg_timezone_abbrevs.
type TimeZoneAbbreviation struct {
	Abbrev string
	East   int // seconds east of UTC at the given instant
	DST    bool
}

// TimeZoneAbbreviations lists the abbreviations with what they mean at an instant.
func TimeZoneAbbreviations(us int64) []TimeZoneAbbreviation {
	out := make([]TimeZoneAbbreviation, 0, len(zoneAbbrevs))
	for word, a := range zoneAbbrevs {
		r := TimeZoneAbbreviation{Abbrev: strings.ToUpper(word), East: a.offset, DST: a.dst}
		if a.zone != "" {
			if z, ok := findAbbrev(word); ok {
				r.East = z.eastAt(us)
			}
		}
		out = append(out, r)
	}
	return out
}

// zoneBoundsAt reports whether no change of the zone's offset is before, or after, an instant.
func zoneBoundsAt(us int64, z zoneSpec) (first, last bool) {
	start, end := time.Unix(unixOf(us), 0).In(z.loc).ZoneBounds()
	return start.IsZero(), end.IsZero()
}
