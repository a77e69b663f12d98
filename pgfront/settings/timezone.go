package settings

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"ostraka/sqltypes"
)

func checkTimeZone(d *Definition, value string) (string, error) {
	_, name, ok := LoadZone(value)
	if !ok {
		return "", d.invalid(value)
	}
	return name, nil
}

// LoadZone finds a time zone by name (in any case), by a number of hours east of
// Greenwich, or by a POSIX specification without daylight rules ("<+03>-3",
// "+06:30"), and returns its canonical name.
func LoadZone(value string) (loc *time.Location, name string, ok bool) {
	v := strings.TrimSpace(value)
	if v == "" {
		return nil, "", false
	}
	if hours, err := strconv.ParseFloat(v, 64); err == nil {
		if hours < -168 || hours > 168 {
			return nil, "", false
		}
		loc := sqltypes.FixedTimeZone(int(hours * 3600))
		return loc, loc.String(), true
	}
	if loc, ok = sqltypes.LookupTimeZone(v); !ok {
		return nil, "", false
	}
	if name = loc.String(); !strings.EqualFold(name, v) {
		name = strings.ToUpper(v) // a POSIX specification: the location is named by its abbreviation
	}
	return loc, name, true
}
