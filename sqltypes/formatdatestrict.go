package sqltypes

import (
	"strings"
	"time"

	"ostraka/sqltypes/pgerror"
)

// DateItem is a value of jsonpath's .datetime(): a date, time or timestamp, with
// the zone it was written in.
type DateItem struct {
	Type OID   // date, time, timetz, timestamp or timestamptz
	V    int64 // days; µs of the day; µs of the local timestamp; µs of the instant
	East int   // seconds east of UTC, of the types with a zone
}

// strictPicture reports which parts of a date and time a picture reads.
func strictPicture(nodes []pictureNode) (dated, timed, zoned bool) {
	for _, n := range nodes {
		if n.kind != pictureAction {
			continue
		}
		switch strings.ToUpper(n.key) {
		case "FX":
		case "A.M.", "P.M.", "AM", "PM", "HH", "HH12", "HH24", "MI", "SS", "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "SSSS", "SSSSS":
			timed = true
		case "TZ", "OF", "TZH", "TZM":
			zoned = true
		default:
			dated = true
		}
	}
	return dated, timed, zoned
}

// StrictSeparator finds a character that a picture of the standard's kind may not have.
func StrictSeparator(picture string) error {
	for _, n := range splitPicture(picture, datePatterns, true) {
		if n.kind != pictureAction && !n.quoted && !strings.Contains("-./,':; ", n.text) {
			return formatError("invalid datetime format separator: \"%s\"", n.text)
		}
	}
	return nil
}

// ParseDateItem reads text by a picture as the SQL standard has it (parse_datetime):
// every character must match, and the picture decides the type. The picture has
// passed StrictSeparator.
func ParseDateItem(text, picture string) (DateItem, error) {
	r := dateRead{s: text, src: text, strict: true}
	if err := r.read(picture); err != nil {
		return DateItem{}, err
	}
	c, err := r.resolve()
	if err != nil {
		return DateItem{}, err
	}
	dated, timed, zoned := strictPicture(splitPicture(picture, datePatterns, true))
	precision := int32(-1)
	if r.ff != 0 {
		precision = int32(r.ff)
	}
	east := r.tzSign * (r.tzh*3600 + r.tzm*60)
	switch {
	case dated && timed:
		item := DateItem{Type: OIDTimestamp}
		if zoned {
			item.Type, item.East = OIDTimestamptz, east
		}
		us, ok := c.timestamp(-item.East)
		if !ok || !validJulian(c.year, c.month) {
			return DateItem{}, TimestampOutOfRange()
		}
		item.V = roundUsec(us, precision)
		return item, nil
	case dated && zoned:
		return DateItem{}, formatError("datetime format is zoned but not timed")
	case dated:
		days := int64(dateToJulian(c.year, c.month, c.day) - postgresEpochJulian)
		if !validJulian(c.year, c.month) || !validDate(days) {
			return DateItem{}, pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range: \"%s\"", text)
		}
		return DateItem{Type: OIDDate, V: days}, nil
	case timed:
		item := DateItem{Type: OIDTime, V: roundUsec(c.timeOfDay(), precision)}
		if zoned {
			item.Type, item.East = OIDTimetz, east
		}
		return item, nil
	}
	return DateItem{}, formatError("datetime format is not dated and not timed")
}

// Text is the item in ISO 8601, as it stands in JSON.
func (d DateItem) Text() string {
	var c civil
	var out []byte
	switch d.Type {
	case OIDDate:
		c.year, c.month, c.day = julianToDate(int(d.V) + postgresEpochJulian)
	case OIDTime, OIDTimetz:
		c.setTime(d.V)
	default:
		c = civilOf(d.V + int64(d.East)*usecSec)
	}
	if d.Type != OIDTime && d.Type != OIDTimetz {
		out = appendDay(out, &Formats{DateStyle: DateISO}, &c)
	}
	if d.Type != OIDDate {
		if len(out) > 0 {
			out = append(out, 'T')
		}
		out = appendClock(out, &c)
	}
	if d.Type == OIDTimetz || d.Type == OIDTimestamptz {
		out = appendZone(out, d.East)
		if d.East%3600 == 0 {
			out = append(out, ":00"...)
		}
	}
	if d.Type != OIDTime && d.Type != OIDTimetz && c.year <= 0 {
		out = append(out, " BC"...)
	}
	return string(out)
}

// ZoneNeeded is the error of a comparison that would need the session's time zone.
func ZoneNeeded(from, to OID) error {
	return pgerror.New(pgerror.FeatureNotSupported, "cannot convert value from %s to %s without time zone usage", TypeByOID(from).Name, TypeByOID(to).Name).
		WithHint("Use *_tz() function for time zone support.")
}

// CompareDateItems orders two items; comparable is false for a time and a date. A
// comparison that needs a zone is an error unless loc is given; now is the instant
// whose offset a time without zone gets.
func CompareDateItems(a, b DateItem, loc *time.Location, now int64) (order int, comparable bool, err error) {
	isTime := func(d DateItem) bool { return d.Type == OIDTime || d.Type == OIDTimetz }
	if isTime(a) != isTime(b) {
		return 0, false, nil
	}
	zoned := func(d DateItem) bool { return d.Type == OIDTimetz || d.Type == OIDTimestamptz }
	if zoned(a) != zoned(b) && loc == nil {
		if zoned(b) {
			return 0, false, ZoneNeeded(a.Type, b.Type)
		}
		return 0, false, ZoneNeeded(b.Type, a.Type)
	}
	if isTime(a) {
		if !zoned(a) && !zoned(b) {
			return cmpInt64(a.V, b.V), true, nil
		}
		timetz := func(d DateItem) Datum {
			if d.Type == OIDTime {
				return TimeToTimetz(d.V, now, loc)
			}
			return Datum{I: d.V, Aux: int32(-d.East)}
		}
		return CompareTimetz(timetz(a), timetz(b)), true, nil
	}
	instant := func(d DateItem) int64 {
		us := d.V
		if d.Type == OIDDate {
			us *= usecDay
		}
		if d.Type != OIDTimestamptz && (zoned(a) || zoned(b)) {
			us -= int64(localOffset(us, loc)) * usecSec
		}
		return us
	}
	return cmpInt64(instant(a), instant(b)), true, nil
}
