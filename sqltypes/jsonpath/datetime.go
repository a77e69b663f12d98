package jsonpath

import (
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// value is an item while a path runs: JSON, or what .datetime() made of a string.
type value struct {
	sqltypes.JSON
	when *sqltypes.DateItem
}

// kindDatetime is the kind of a value that .datetime() made: no JSON value has it.
const kindDatetime sqltypes.JSONKind = 100

func of(j sqltypes.JSON) value { return value{JSON: j} }

func (v value) Kind() sqltypes.JSONKind {
	if v.when != nil {
		return kindDatetime
	}
	return v.JSON.Kind()
}

// typeName is what .type() says.
func (v value) typeName() string {
	if v.when == nil {
		return v.JSON.Kind().String()
	}
	return sqltypes.FormatType(v.when.Type, -1)
}

// Zone lets comparisons of dates and times use a time zone (the functions with _tz).
type Zone struct {
	Location *time.Location
	Now      int64 // µs since 2000-01-01 UTC
}

// standardPictures are what .datetime() without a template tries.
var standardPictures = func() []string {
	out := []string{"yyyy-mm-dd"}
	for _, day := range []string{"", "yyyy-mm-dd ", "yyyy-mm-dd\"T\""} {
		for _, clock := range []string{"HH24:MI:SS", "HH24:MI:SS.US"} {
			for _, zone := range []string{"TZH:TZM", "TZH", ""} {
				out = append(out, day+clock+zone)
			}
		}
	}
	return out
}()

func (x *evaluator) datetime(n *node, j value, out *found) (bool, error) {
	if j.Kind() != sqltypes.JSONString {
		return false, jsonError(pgerror.InvalidArgumentForSqlJsonDatetimeFunction, "jsonpath item method .%s() can only be applied to a string", "datetime")
	}
	var item sqltypes.DateItem
	var err error
	if n.flags == "template" {
		if err := sqltypes.StrictSeparator(n.text); err != nil {
			return false, hard{err}
		}
		if item, err = sqltypes.ParseDateItem(j.Str(), n.text); err != nil {
			return false, err
		}
	} else {
		for _, p := range standardPictures {
			if item, err = sqltypes.ParseDateItem(j.Str(), p); err == nil {
				break
			}
		}
		if err != nil {
			return false, pgerror.New(pgerror.InvalidArgumentForSqlJsonDatetimeFunction, "datetime format is not recognized: \"%s\"", j.Str()).
				WithHint("Use a datetime template argument to specify the input data format.")
		}
	}
	if n.next == nil && out == nil {
		return true, nil
	}
	return x.follow(n, value{sqltypes.JSONStringOf(item.Text()), &item}, out)
}

// compareDates is compare for two values of .datetime().
func (x *evaluator) compareDates(op kind, a, b value) (truth, error) {
	var loc *time.Location
	now := int64(0)
	if x.zone != nil {
		loc, now = x.zone.Location, x.zone.Now
	}
	c, comparable, err := sqltypes.CompareDateItems(*a.when, *b.when, loc, now)
	switch {
	case err != nil:
		return isUnknown, hard{err}
	case !comparable:
		return isUnknown, nil
	}
	return ordered(op, c), nil
}
