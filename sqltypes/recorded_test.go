package sqltypes

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record testdata/datetime.txt anew from the PostgreSQL of OSTRAKA_ORACLE_DSN")

// TestRecordedDateTime compares date, time and interval input with what a
// PostgreSQL 15 (ISO, MDY, UTC) answered: lines of type, input and text or error.
func TestRecordedDateTime(t *testing.T) {
	const file = "testdata/datetime.txt"
	if *update {
		o := pgOracle(t)
		var b strings.Builder
		for typ, samples := range map[string][]string{"date": dateSamples, "timestamp": dateSamples, "timestamptz": dateSamples, "time": dateSamples, "timetz": dateSamples, "interval": intervalSamples} {
			for _, s := range samples {
				// What depends on today's date is left to the test against the oracle.
				if typ == "timetz" && (strings.Contains(s, "/") || strings.Contains(s, "EST5")) {
					continue
				}
				b.WriteString(typ + "\t" + strconv.Quote(s) + "\t" + strconv.Quote(o.one("select $1::"+typ+"::text", s)) + "\n")
			}
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	env := testEnv()
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		in, err1 := strconv.Unquote(f[1])
		want, err2 := strconv.Unquote(f[2])
		if err1 != nil || err2 != nil {
			t.Fatal(line)
		}
		typ := TypeByName(f[0])
		got := ""
		if d, err := typ.In(env, in, -1); err != nil {
			got = errText(err)
		} else {
			got = string(typ.Out(env, nil, d))
		}
		if got != want {
			t.Errorf("%s %q\n got %s\nwant %s", f[0], in, got, want)
		}
	}
}
