package settings

import (
	"math"
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// Normalize checks a value that a user gave for the parameter and returns its
// canonical text (numbers in the base unit). Errors are 22023.
func (d *Definition) Normalize(value string) (string, error) {
	switch d.Kind {
	case Bool:
		b, ok := ParseBool(value)
		if !ok {
			return "", pgerror.New(pgerror.InvalidParameterValue, `parameter "%s" requires a Boolean value`, d.Name)
		}
		if b && d.Name == "default_with_oids" {
			return "", pgerror.New(pgerror.FeatureNotSupported, "tables declared WITH OIDS are not supported")
		}
		if b {
			return "on", nil
		}
		return "off", nil
	case Integer:
		f, err := d.number(value)
		if err != nil {
			return "", err
		}
		f = math.RoundToEven(f)
		if f < d.Min || f > d.Max {
			return "", d.outOfRange(strconv.FormatInt(int64(f), 10))
		}
		return strconv.FormatInt(int64(f), 10), nil
	case Real:
		f, err := d.number(value)
		if err != nil {
			return "", err
		}
		if f < d.Min || f > d.Max || math.IsNaN(f) {
			return "", d.outOfRange(strconv.FormatFloat(f, 'g', 6, 64))
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case Enum:
		for _, e := range d.Enum {
			if strings.EqualFold(e, value) {
				return e, nil
			}
		}
		// Hidden spellings that PostgreSQL accepts for enums that once were booleans.
		if b, ok := ParseBool(value); ok {
			want := "off"
			if b {
				want = "on"
			}
			for _, e := range d.Enum {
				if e == want {
					return e, nil
				}
			}
		}
		return "", d.invalid(value).WithHint("Available values: %s.", strings.Join(d.Enum, ", "))
	}
	if check := checks[d.Name]; check != nil {
		return check(d, value)
	}
	return value, nil
}

func (d *Definition) invalid(value string) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, d.Name, value)
}

func (d *Definition) outOfRange(value string) error {
	u := d.Unit
	if u != "" {
		u = " " + u
	}
	return pgerror.New(pgerror.InvalidParameterValue, `%s%s is outside the valid range for parameter "%s" (%s .. %s)`,
		value, u, d.Name, d.bound(d.Min), d.bound(d.Max))
}

func (d *Definition) bound(f float64) string {
	if d.Kind == Integer {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// number parses digits with an optional unit and converts to the base unit.
func (d *Definition) number(value string) (float64, error) {
	s := strings.TrimSpace(value)
	end := 0
	for end < len(s) && strings.IndexByte("+-.0123456789eExXabcdefABCDEF", s[end]) >= 0 {
		end++
	}
	var f float64
	var err error
	for ; end > 0; end-- {
		if f, err = parseNumber(s[:end]); err == nil {
			break
		}
	}
	if end == 0 {
		return 0, d.invalid(value)
	}
	unit := strings.TrimSpace(s[end:])
	if unit == "" {
		return f, nil
	}
	base, list, hint := memoryUnits, memoryUnits, memoryHint
	switch d.Unit {
	case "":
		return 0, d.invalid(value)
	case "ms", "s", "min":
		base, list, hint = timeUnits, timeUnits, timeHint
	}
	for _, u := range list {
		if u.name == unit {
			return f * u.factor / factorOf(base, d.Unit), nil
		}
	}
	return 0, d.invalid(value).WithHint("%s", hint)
}

func parseNumber(s string) (float64, error) {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		i, err := strconv.ParseInt(s, 0, 64)
		return float64(i), err
	}
	if strings.ContainsAny(s, "abcdfABCDFxX") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

type unit struct {
	name   string
	factor float64 // in bytes, or in µs
}

var memoryUnits = []unit{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
var timeUnits = []unit{{"d", 86400e6}, {"h", 3600e6}, {"min", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}

const (
	memoryHint = `Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".`
	timeHint   = `Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`
)

func factorOf(units []unit, name string) float64 {
	if name == "8kB" {
		return 8192
	}
	for _, u := range units {
		if u.name == name {
			return u.factor
		}
	}
	return 1
}

// Show prints a canonical value as SHOW does: numbers with the largest unit that divides them.
func (d *Definition) Show(value string) string {
	if d.Unit == "" || d.Kind != Integer && d.Kind != Real {
		if d.Kind == Real {
			if f, err := strconv.ParseFloat(value, 64); err == nil {
				return strconv.FormatFloat(f, 'g', 6, 64)
			}
		}
		return value
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	if f <= 0 {
		if f == 0 && d.Kind == Real {
			return value + d.Unit
		}
		return value
	}
	units := memoryUnits
	if d.Unit == "ms" || d.Unit == "s" || d.Unit == "min" {
		units = timeUnits
	}
	abs := f * factorOf(units, d.Unit)
	for _, u := range units {
		q := abs / u.factor
		if q == math.Trunc(q) {
			return strconv.FormatFloat(q, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatFloat(f, 'g', 6, 64) + d.Unit
}

// ParseBool reads a boolean as PostgreSQL's parse_bool: unique prefixes of
// true, false, yes, no; on, off (of); 1, 0.
func ParseBool(s string) (value, ok bool) {
	s = strings.ToLower(s)
	switch {
	case s == "":
		return false, false
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
		return true, true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "off", s == "of", s == "0":
		return false, true
	}
	return false, false
}
