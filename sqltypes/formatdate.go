package sqltypes

import (
	"fmt"
	"strings"
	"time"

	"ostraka/sqltypes/pgerror"
)

// datePatterns are the patterns of date pictures; all but the mixed-case ones
// come in upper and lower case.
var datePatterns = func() []string {
	mixed := []string{"Day", "Dy", "Month", "Mon"}
	for _, k := range strings.Fields(`A.D. A.M. AD AM B.C. BC CC DAY DDD DD DY D FF1 FF2 FF3 FF4 FF5 FF6 FX HH24 HH12 HH
		IDDD ID IW IYYY IYY IY I J MI MM MONTH MON MS OF P.M. PM Q RM SSSSS SSSS SS TZH TZM TZ US WW W Y,YYY YYYY YYY YY Y`) {
		mixed = append(mixed, k, strings.ToLower(k))
	}
	return mixed
}()

var (
	fullMonths = [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	fullDays   = [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	romanMonth = [12]string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}
)

// dateShown is what a date picture shows.
type dateShown struct {
	year, month, day     int
	hour, min, sec, usec int
	yday, wday           int
	interval             bool
	hasZone              bool
	east                 int
	zoneName             string
}

// FormatTimestamp is to_char(timestamp, picture); Null for an infinity or an
// empty picture. FormatTimestamptz shows an instant in loc.
func FormatTimestamp(us int64, picture string) (Datum, error) {
	if TimestampIsInf(us) || picture == "" {
		return Null, nil
	}
	return formatDate(shownOf(us), picture)
}

func FormatTimestamptz(us int64, picture string, loc *time.Location) (Datum, error) {
	if TimestampIsInf(us) || picture == "" {
		return Null, nil
	}
	east, name := zoneOffset(us, loc)
	d := shownOf(us + int64(east)*usecSec)
	d.hasZone, d.east, d.zoneName = true, east, name
	return formatDate(d, picture)
}

func shownOf(local int64) *dateShown {
	c := civilOf(local)
	j := dateToJulian(c.year, c.month, c.day)
	return &dateShown{year: c.year, month: c.month, day: c.day, hour: c.hour, min: c.min, sec: c.sec, usec: c.usec,
		wday: dayOfWeek(j), yday: j - dateToJulian(c.year, 1, 1) + 1}
}

// FormatInterval is to_char(interval, picture). Error: 22007 for patterns that need a date.
func FormatInterval(v Interval, picture string) (Datum, error) {
	if picture == "" {
		return Null, nil
	}
	p := v.parts()
	d := &dateShown{year: int(p.year), month: int(p.mon), day: int(p.day), hour: int(p.hour), min: int(p.min), sec: int(p.sec),
		usec: int(p.usec), interval: true}
	d.yday = (d.year*12+d.month)*30 + d.day
	j := (dateToJulian(d.year, d.month, d.day) + 1) % 7
	if j < 0 {
		j += 7
	}
	d.wday = j
	return formatDate(d, picture)
}

func formatDate(d *dateShown, picture string) (Datum, error) {
	var dst []byte
	for _, n := range splitPicture(picture, datePatterns, true) {
		if n.kind != pictureAction {
			dst = append(dst, n.text...)
			continue
		}
		from := len(dst)
		var err error
		var number bool
		if dst, number, err = d.append(dst, n); err != nil {
			return Null, err
		}
		if number && n.th != 0 {
			dst = append(dst, ordinalSuffix(dst[from:], n.th == 'T')...)
		}
	}
	return Bytes(dst), nil
}

// shownYear is the year as people count it; intervals have none to convert.
func (d *dateShown) shownYear(y int) int {
	if d.interval || y > 0 {
		return y
	}
	return 1 - y
}

// append writes one pattern; number says whether an ordinal suffix may follow.
func (d *dateShown) append(dst []byte, n pictureNode) (_ []byte, number bool, err error) {
	plain := func(v, width int) []byte {
		if n.fm {
			width = 0
		}
		return fmt.Appendf(dst, "%0*d", width, v)
	}
	num := func(v, width int) []byte { // the sign comes on top of the width
		if v < 0 {
			width++
		}
		return plain(v, width)
	}
	word := func(s string, width int) []byte {
		dst = append(dst, s...)
		for i := len(s); i < width && !n.fm && !n.tm; i++ {
			dst = append(dst, ' ')
		}
		return dst
	}
	byCase := func(s string) string { // as the pattern is spelled
		switch {
		case n.key == strings.ToUpper(n.key):
			return strings.ToUpper(s)
		case n.key == strings.ToLower(n.key):
			return strings.ToLower(s)
		}
		return s
	}
	if d.interval {
		switch strings.ToUpper(n.key) {
		case "A.D.", "B.C.", "AD", "BC", "TZ", "TZH", "TZM", "OF", "MONTH", "MON", "DAY", "DY", "D", "ID":
			return nil, false, pgerror.New(pgerror.InvalidDatetimeFormat, "invalid format specification for an interval value").
				WithHint("Intervals are not tied to specific calendar dates.")
		}
	}
	switch key := strings.ToUpper(n.key); key {
	case "A.M.", "P.M.", "AM", "PM":
		s := "AM"
		if h := d.hour % 24; h >= 12 {
			s = "PM"
		}
		if len(key) == 4 {
			s = s[:1] + "." + s[1:] + "."
		}
		return append(dst, byCase(s)...), false, nil
	case "A.D.", "B.C.", "AD", "BC":
		s := "AD"
		if d.year <= 0 {
			s = "BC"
		}
		if len(key) == 4 {
			s = s[:1] + "." + s[1:] + "."
		}
		return append(dst, byCase(s)...), false, nil
	case "HH", "HH12":
		h := d.hour % 12
		if h == 0 {
			h = 12
		}
		w := 2
		if d.hour < 0 {
			w = 3
			if h < 0 {
				w = 2 // num adds one for the sign
			}
		}
		return num(h, w), true, nil
	case "HH24":
		return num(d.hour, 2), true, nil
	case "MI":
		return num(d.min, 2), true, nil
	case "SS":
		return num(d.sec, 2), true, nil
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		k := int(key[2] - '0')
		return fmt.Appendf(dst, "%0*d", k, d.usec/int(pow10u[6-k])), true, nil
	case "MS":
		return fmt.Appendf(dst, "%03d", d.usec/1000), true, nil
	case "US":
		return fmt.Appendf(dst, "%06d", d.usec), true, nil
	case "SSSS", "SSSSS":
		return fmt.Appendf(dst, "%d", (d.hour*60+d.min)*60+d.sec), true, nil
	case "TZ":
		if d.hasZone {
			dst = append(dst, byCase(strings.ToUpper(d.zoneName))...)
		}
		return dst, false, nil
	case "TZH", "TZM", "OF":
		sign, a := byte('+'), d.east
		if a < 0 {
			sign, a = '-', -a
		}
		switch key {
		case "TZH":
			return fmt.Appendf(append(dst, sign), "%02d", a/3600), false, nil
		case "TZM":
			return fmt.Appendf(dst, "%02d", a%3600/60), false, nil
		}
		w := 2
		if n.fm {
			w = 0
		}
		dst = fmt.Appendf(append(dst, sign), "%0*d", w, a/3600)
		if a%3600 != 0 {
			dst = fmt.Appendf(dst, ":%02d", a%3600/60)
		}
		return dst, false, nil
	case "MONTH":
		return word(byCase(fullMonths[d.month-1]), 9), false, nil
	case "MON":
		return append(dst, byCase(shortMonths[d.month])...), false, nil
	case "MM":
		return num(d.month, 2), true, nil
	case "DAY":
		return word(byCase(fullDays[d.wday]), 9), false, nil
	case "DY":
		return append(dst, byCase(shortDays[d.wday])...), false, nil
	case "DDD":
		return plain(d.yday, 3), true, nil
	case "IDDD":
		_, y := isoWeek(d.year, d.month, d.day)
		return num(dateToJulian(d.year, d.month, d.day)-isoWeekToJulian(y, 1)+1, 3), true, nil
	case "DD":
		return plain(d.day, 2), true, nil
	case "D":
		return fmt.Appendf(dst, "%d", d.wday+1), true, nil
	case "ID":
		w := d.wday
		if w == 0 {
			w = 7
		}
		return fmt.Appendf(dst, "%d", w), true, nil
	case "WW":
		return plain((d.yday-1)/7+1, 2), true, nil
	case "IW":
		week, _ := isoWeek(d.year, d.month, d.day)
		return plain(week, 2), true, nil
	case "Q":
		if d.month == 0 {
			return dst, false, nil
		}
		return fmt.Appendf(dst, "%d", (d.month-1)/3+1), true, nil
	case "CC":
		c := d.year / 100
		if !d.interval {
			if d.year > 0 {
				c = (d.year-1)/100 + 1
			} else {
				c = d.year/100 - 1
			}
		}
		if c > 99 || c < -99 {
			return fmt.Appendf(dst, "%d", c), true, nil
		}
		return num(c, 2), true, nil
	case "Y,YYY":
		y := d.shownYear(d.year)
		return fmt.Appendf(dst, "%d,%03d", y/1000, y-y/1000*1000), true, nil
	case "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I":
		y := d.year
		if key[0] == 'I' {
			_, y = isoWeek(d.year, d.month, d.day)
		}
		y = d.shownYear(y)
		w := len(key)
		if w < 4 {
			wide := y
			y %= int(pow10u[w])
			if wide < 0 && y >= 0 {
				w++
			}
		}
		return num(y, w), true, nil
	case "RM":
		if d.month == 0 && d.year == 0 {
			return dst, false, nil
		}
		m := d.month
		switch {
		case m == 0 && d.year >= 0:
			m = 12
		case m == 0:
			m = 1
		case m < 0:
			m += 13
		}
		n.tm = false // pads even then
		return word(byCase(romanMonth[m-1]), 4), false, nil
	case "W":
		return fmt.Appendf(dst, "%d", (d.day-1)/7+1), true, nil
	case "J":
		return fmt.Appendf(dst, "%d", dateToJulian(d.year, d.month, d.day)), true, nil
	}
	return dst, false, nil // FX
}
