package settings

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones must not depend on the machine
)

func checkTimeZone(d *Definition, value string) (string, error) {
	_, name, ok := LoadZone(value)
	if !ok {
		return "", d.invalid(value)
	}
	return name, nil
}

var zoneNames struct {
	once  sync.Once
	lower map[string]string
}

// LoadZone finds a time zone by name (in any case), by a number of hours east of
// Greenwich, or by a POSIX specification without daylight rules ("<+03>-3"),
// and returns its canonical name.
func LoadZone(value string) (loc *time.Location, name string, ok bool) {
	v := strings.TrimSpace(value)
	if v == "" {
		return nil, "", false
	}
	if hours, err := strconv.ParseFloat(v, 64); err == nil {
		if hours < -168 || hours > 168 {
			return nil, "", false
		}
		return fixedZone(int(hours * 3600))
	}
	if loc, name, ok := namedZone(v); ok {
		return loc, name, true
	}
	return posixZone(v)
}

func namedZone(v string) (*time.Location, string, bool) {
	if strings.EqualFold(v, "utc") || strings.EqualFold(v, "gmt") || strings.EqualFold(v, "zulu") {
		up := strings.ToUpper(v)
		if up == "ZULU" {
			up = "Zulu"
		}
		return time.FixedZone(up, 0), up, true
	}
	if strings.EqualFold(v, "local") || strings.ContainsAny(v, "<>. ") {
		return nil, "", false
	}
	zoneNames.once.Do(readZoneNames)
	name, known := zoneNames.lower[strings.ToLower(v)]
	if !known {
		name = v
	}
	for _, n := range []string{name, titleZone(v), strings.ToUpper(v)} {
		if loc, err := time.LoadLocation(n); err == nil {
			return loc, n, true
		}
	}
	return nil, "", false
}

// readZoneNames learns the spelling of zone names from the system, where it has a database.
func readZoneNames() {
	zoneNames.lower = map[string]string{}
	const root = "/usr/share/zoneinfo"
	_ = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		if e.IsDir() && (rel == "posix" || rel == "right") {
			return filepath.SkipDir
		}
		if !e.IsDir() && !strings.Contains(rel, ".") {
			zoneNames.lower[strings.ToLower(rel)] = rel
		}
		return nil
	})
}

// titleZone spells "america/new_york" as the database does.
func titleZone(v string) string {
	b := []byte(strings.ToLower(v))
	up := true
	for i, c := range b {
		if up && c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
		up = c == '/' || c == '_' || c == '-'
	}
	return string(b)
}

// posixZone reads NAME[+-]hh[:mm[:ss]], the sign west-positive.
func posixZone(v string) (*time.Location, string, bool) {
	rest := v
	if strings.HasPrefix(v, "<") {
		end := strings.IndexByte(v, '>')
		if end < 2 {
			return nil, "", false
		}
		rest = v[end+1:]
	} else {
		n := 0
		for n < len(v) && (v[n] >= 'a' && v[n] <= 'z' || v[n] >= 'A' && v[n] <= 'Z') {
			n++
		}
		if n < 3 {
			return nil, "", false
		}
		rest = v[n:]
	}
	if rest == "" {
		return nil, "", false
	}
	sign := -1
	switch rest[0] {
	case '-':
		sign, rest = 1, rest[1:]
	case '+':
		rest = rest[1:]
	}
	secs, unit := 0, 3600
	for part := range strings.SplitSeq(rest, ":") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 167 || unit == 0 {
			return nil, "", false
		}
		secs += n * unit
		unit /= 60
	}
	return time.FixedZone(v, sign*secs), v, true
}

// fixedZone names an offset as PostgreSQL does: -5 hours is "<-05>+05".
func fixedZone(secs int) (*time.Location, string, bool) {
	abs, sign, back := secs, "+", "-"
	if secs < 0 {
		abs, sign, back = -secs, "-", "+"
	}
	hm := twoDigits(abs / 3600)
	if abs%3600 != 0 {
		hm += ":" + twoDigits(abs/60%60)
		if abs%60 != 0 {
			hm += ":" + twoDigits(abs%60)
		}
	}
	name := "<" + sign + hm + ">" + back + hm
	return time.FixedZone(name, secs), name, true
}

func twoDigits(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
