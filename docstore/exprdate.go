package docstore

import (
	"fmt"
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	part := func(name string, f func(t time.Time) int) {
		exprOps[name] = exprOp{1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
			if isNull(a[0]) {
				return sqltypes.JSONNullValue, nil
			}
			t, err := dateArg(name, a[0])
			return intJSON(int64(f(t))), err
		}}
	}
	part("$year", time.Time.Year)
	part("$month", func(t time.Time) int { return int(t.Month()) })
	part("$dayOfMonth", time.Time.Day)
	part("$dayOfYear", time.Time.YearDay)
	part("$dayOfWeek", func(t time.Time) int { return int(t.Weekday()) + 1 })
	part("$isoDayOfWeek", func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 })
	part("$isoWeek", func(t time.Time) int { _, w := t.ISOWeek(); return w })
	part("$isoWeekYear", func(t time.Time) int { y, _ := t.ISOWeek(); return y })
	part("$week", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 })
	part("$hour", time.Time.Hour)
	part("$minute", time.Time.Minute)
	part("$second", time.Time.Second)
	part("$millisecond", func(t time.Time) int { return t.Nanosecond() / 1e6 })
	exprOps["$toDate"] = exprOp{1, 1, func(_ *exprEnv, a []JSON) (JSON, error) { return convertTo(a[0], "date") }}
}

// dateArg is a date: {"$date": …}, or text in ISO 8601.
func dateArg(op string, v JSON) (time.Time, error) {
	if t, ok := DateOf(v); ok {
		return t, nil
	}
	if !v.IsZero() && v.Kind() == sqltypes.JSONString {
		if t, ok := ParseDate(v.Str()); ok {
			return t, nil
		}
	}
	return time.Time{}, invalid("%s needs a date, not %s", op, shown(v))
}

// shiftDate adds milliseconds to a date.
func shiftDate(date JSON, ms sqltypes.Datum) (JSON, error) {
	t, _ := DateOf(date)
	d, err := sqltypes.NumericRound(ms, 0)
	if err != nil {
		return JSON{}, err
	}
	n, err := sqltypes.NumericToInt64(d)
	if err != nil {
		return JSON{}, err
	}
	return dateInRange(time.UnixMilli(t.UnixMilli() + n).UTC())
}

// dateInRange refuses what the text form cannot show.
func dateInRange(t time.Time) (JSON, error) {
	if t.Year() < 0 || t.Year() > 9999 {
		return JSON{}, pgerror.New(pgerror.DatetimeFieldOverflow, "date out of range")
	}
	return MakeDate(t), nil
}

func dateToString(_ *exprEnv, a []JSON) (JSON, error) {
	if isNull(a[0]) {
		return orNull(a[2]), nil
	}
	t, err := dateArg("$dateToString", a[0])
	if err != nil {
		return JSON{}, err
	}
	if a[1].IsZero() {
		return sqltypes.JSONStringOf(FormatDate(t)), nil
	}
	if a[1].Kind() != sqltypes.JSONString {
		return JSON{}, invalid("the format of $dateToString must be a string")
	}
	s, err := formatDate(t, a[1].Str())
	return sqltypes.JSONStringOf(s), err
}

func formatDate(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c != '%' {
			b.WriteByte(c)
			continue
		}
		if i++; i == len(format) {
			return "", invalid("unmatched %% at the end of a date format")
		}
		y, w := t.ISOWeek()
		switch format[i] {
		case 'Y':
			fmt.Fprintf(&b, "%04d", t.Year())
		case 'm':
			fmt.Fprintf(&b, "%02d", int(t.Month()))
		case 'd':
			fmt.Fprintf(&b, "%02d", t.Day())
		case 'H':
			fmt.Fprintf(&b, "%02d", t.Hour())
		case 'M':
			fmt.Fprintf(&b, "%02d", t.Minute())
		case 'S':
			fmt.Fprintf(&b, "%02d", t.Second())
		case 'L':
			fmt.Fprintf(&b, "%03d", t.Nanosecond()/1e6)
		case 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case 'w':
			fmt.Fprintf(&b, "%d", int(t.Weekday())+1)
		case 'u':
			fmt.Fprintf(&b, "%d", (int(t.Weekday())+6)%7+1)
		case 'U':
			fmt.Fprintf(&b, "%02d", (t.YearDay()+6-int(t.Weekday()))/7)
		case 'V':
			fmt.Fprintf(&b, "%02d", w)
		case 'G':
			fmt.Fprintf(&b, "%04d", y)
		case 'b':
			b.WriteString(t.Format("Jan"))
		case 'B':
			b.WriteString(t.Format("January"))
		case 'z':
			b.WriteString("+0000")
		case 'Z':
			b.WriteString("+000")
		case '%':
			b.WriteByte('%')
		default:
			return "", invalid("invalid format character %%%c", format[i])
		}
	}
	return b.String(), nil
}

func dateFromString(_ *exprEnv, a []JSON) (JSON, error) {
	if isNull(a[0]) {
		return orNull(a[2]), nil
	}
	t, err := dateArg("$dateFromString", a[0])
	if err != nil {
		if !a[1].IsZero() {
			return a[1], nil
		}
		return JSON{}, err
	}
	return MakeDate(t), nil
}

func unitOf(op string, v JSON) (string, error) {
	if !v.IsZero() && v.Kind() == sqltypes.JSONString {
		switch s := v.Str(); s {
		case "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond":
			return s, nil
		}
	}
	return "", invalid("unknown unit of %s: %s", op, shown(v))
}

var unitLength = map[string]time.Duration{"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute,
	"second": time.Second, "millisecond": time.Millisecond}

func dateTrunc(_ *exprEnv, a []JSON) (JSON, error) {
	if isNull(a[0]) || isNull(a[1]) {
		return sqltypes.JSONNullValue, nil
	}
	t, err := dateArg("$dateTrunc", a[0])
	if err != nil {
		return JSON{}, err
	}
	unit, err := unitOf("$dateTrunc", a[1])
	if err != nil {
		return JSON{}, err
	}
	bin := int64(1)
	if !isNull(a[2]) {
		if bin, err = wholeNumber("binSize", a[2]); err != nil {
			return JSON{}, err
		}
		if bin <= 0 || bin > 1<<31 {
			return JSON{}, invalid("binSize must be positive")
		}
	}
	// Bins are counted from 2000-01-01, weeks from the Sunday after it.
	origin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	floor := func(n, by int64) int64 {
		q := n / by
		if n%by < 0 {
			q--
		}
		return q * by
	}
	switch unit {
	case "year", "quarter", "month":
		by := bin * map[string]int64{"year": 12, "quarter": 3, "month": 1}[unit]
		months := floor(int64(t.Year()-2000)*12+int64(t.Month())-1, by)
		return dateInRange(origin.AddDate(0, int(months), 0))
	case "week":
		origin = origin.AddDate(0, 0, 1)
	}
	by := bin * unitLength[unit].Milliseconds()
	ms := floor(t.UnixMilli()-origin.UnixMilli(), by)
	return dateInRange(time.UnixMilli(origin.UnixMilli() + ms).UTC())
}

func dateAdd(sign int64) exprFunc {
	return func(_ *exprEnv, a []JSON) (JSON, error) {
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		t, err := dateArg("$dateAdd", a[0])
		if err != nil {
			return JSON{}, err
		}
		unit, err := unitOf("$dateAdd", a[1])
		if err != nil {
			return JSON{}, err
		}
		n, err := wholeNumber("amount", a[2])
		if err != nil {
			return JSON{}, err
		}
		if n > 1<<40 || n < -1<<40 {
			return JSON{}, pgerror.New(pgerror.DatetimeFieldOverflow, "date out of range")
		}
		n *= sign
		if months, ok := map[string]int64{"year": 12, "quarter": 3, "month": 1}[unit]; ok {
			m := int64(t.Year())*12 + int64(t.Month()) - 1 + n*months
			if m < 0 || m > 12*10000 {
				return JSON{}, pgerror.New(pgerror.DatetimeFieldOverflow, "date out of range")
			}
			first := time.Date(int(m/12), time.Month(m%12+1), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
			last := first.AddDate(0, 1, -1).Day()
			return dateInRange(first.AddDate(0, 0, min(t.Day(), last)-1))
		}
		return dateInRange(time.UnixMilli(t.UnixMilli() + n*unitLength[unit].Milliseconds()).UTC())
	}
}

// dateDiff counts the boundaries of the unit between two dates.
func dateDiff(_ *exprEnv, a []JSON) (JSON, error) {
	if anyNull(a) {
		return sqltypes.JSONNullValue, nil
	}
	unit, err := unitOf("$dateDiff", a[2])
	if err != nil {
		return JSON{}, err
	}
	var at [2]int64
	for i := range at {
		t, err := dateArg("$dateDiff", a[i])
		if err != nil {
			return JSON{}, err
		}
		months := int64(t.Year())*12 + int64(t.Month()) - 1
		switch unit {
		case "year":
			at[i] = int64(t.Year())
		case "quarter":
			at[i] = months / 3
		case "month":
			at[i] = months
		default:
			by, ms := unitLength[unit].Milliseconds(), t.UnixMilli()
			if unit == "week" {
				ms += 4 * unitLength["day"].Milliseconds() // 1970-01-01 was a Thursday
			}
			at[i] = ms / by
			if ms%by < 0 {
				at[i]--
			}
		}
	}
	return intJSON(at[1] - at[0]), nil
}
