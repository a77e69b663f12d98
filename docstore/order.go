package docstore

import (
	"strings"
	"time"

	"ostraka/sqltypes"
)

// Class is a value's place among the types, in BSON's order.
type Class uint8

// Missing is below null only where the two are kept apart; Compare treats them
// alike.
const (
	ClassMissing Class = 0
	ClassEmpty   Class = 5 // an empty array, as a sort key
	ClassNull    Class = 10
	ClassNumber  Class = 20
	ClassString  Class = 30
	ClassObject  Class = 40
	ClassArray   Class = 50
	ClassBool    Class = 80
	ClassDate    Class = 90
)

// ClassOf is the class of a value.
func ClassOf(j JSON) Class {
	if j.IsZero() {
		return ClassNull
	}
	switch j.Kind() {
	case sqltypes.JSONNumber:
		return ClassNumber
	case sqltypes.JSONString:
		return ClassString
	case sqltypes.JSONBool:
		return ClassBool
	case sqltypes.JSONArray:
		return ClassArray
	case sqltypes.JSONObject:
		if _, ok := DateOf(j); ok {
			return ClassDate
		}
		return ClassObject
	}
	return ClassNull
}

// Compare is the one order of document values. A zero JSON (missing) is null.
// Numbers compare as exact decimals; objects by their members in stored order
// (class, name, value), then by how many there are; arrays element by element.
func Compare(a, b JSON) int {
	ca, cb := ClassOf(a), ClassOf(b)
	if ca != cb {
		return int(ca) - int(cb)
	}
	return compareSame(ca, a, b)
}

func compareSame(c Class, a, b JSON) int {
	switch c {
	case ClassNumber:
		return sqltypes.NumericCmp(a.Number(), b.Number())
	case ClassString:
		return strings.Compare(a.Str(), b.Str())
	case ClassBool:
		switch {
		case a.Bool() == b.Bool():
			return 0
		case b.Bool():
			return -1
		}
		return 1
	case ClassDate:
		x, _ := DateOf(a)
		y, _ := DateOf(b)
		return x.Compare(y)
	case ClassArray:
		n, m := a.Len(), b.Len()
		for i := 0; i < n && i < m; i++ {
			if c := Compare(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
		return n - m
	case ClassObject:
		n, m := a.Len(), b.Len()
		for i := 0; i < n && i < m; i++ {
			x, y := a.Value(i), b.Value(i)
			cx, cy := ClassOf(x), ClassOf(y)
			if cx != cy {
				return int(cx) - int(cy)
			}
			if c := strings.Compare(a.Key(i), b.Key(i)); c != 0 {
				return c
			}
			if c := compareSame(cx, x, y); c != 0 {
				return c
			}
		}
		return n - m
	}
	return 0
}

// Equal is Compare == 0.
func Equal(a, b JSON) bool { return Compare(a, b) == 0 }

const dateKey = "$date"

// DateOf reads a date: {"$date": text in ISO 8601} or {"$date": ms since 1970}.
func DateOf(j JSON) (time.Time, bool) {
	if j.Kind() != sqltypes.JSONObject || j.Len() != 1 || j.Key(0) != dateKey {
		return time.Time{}, false
	}
	v := j.Value(0)
	switch v.Kind() {
	case sqltypes.JSONString:
		return ParseDate(v.Str())
	case sqltypes.JSONNumber:
		ms, err := sqltypes.NumericToInt64(v.Number())
		if err != nil {
			return time.Time{}, false
		}
		return time.UnixMilli(ms).UTC(), true
	}
	return time.Time{}, false
}

var dateLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02"}

// ParseDate reads an ISO 8601 date or time; without a zone it is UTC.
func ParseDate(s string) (time.Time, bool) {
	if len(s) < 8 || len(s) > 40 {
		return time.Time{}, false
	}
	for _, l := range dateLayouts {
		if t, err := time.Parse(l, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// MakeDate is the document form of a time, in milliseconds.
func MakeDate(t time.Time) JSON {
	return sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: dateKey, Value: sqltypes.JSONStringOf(FormatDate(t))}})
}

// FormatDate prints a time as dates are printed.
func FormatDate(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
