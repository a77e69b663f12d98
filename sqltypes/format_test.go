package sqltypes

import (
	"testing"
	"time"
)

// Results recorded from PostgreSQL 15.
func TestPictures(t *testing.T) {
	us, _ := ParseTimestamp(testEnv(), "2001-02-03 16:05:06.789")
	for f, want := range map[string]string{
		"YYYY-MM-DD HH24:MI:SS.MS": "2001-02-03 16:05:06.789", "FMDay, DDth FMMonth YYYY": "Saturday, 03rd February 2001",
		"Day|Month|": "Saturday |February |", "HH12:MI AM": "04:05 PM", "IYYY-IW-ID": "2001-05-6", "Q J DDD WW W CC": "1 2451944 034 05 1 21",
		`"lit" YY\"x`: `lit 01"x`, "RM FMRM": "II   II",
	} {
		if d, err := FormatTimestamp(us, f); err != nil || d.S != want {
			t.Errorf("%s: %q %v, want %q", f, d.S, err, want)
		}
	}
	for _, c := range [][3]string{
		{"1234.5", "9,999.99", " 1,234.50"}, {"-1234.5", "FM9G999D99", "-1,234.5"}, {"0.1", "9.9", "  .1"}, {"0.1", "0.9", " 0.1"},
		{"12345", "999", " ###"}, {"12", "99TH", " 12TH"}, {"-5", "9PR", "<5>"}, {"485", "RN", "        CDLXXXV"}, {"1234.5", "9.99EEEE", " 1.23e+03"},
		{"5", "S99", " +5"}, {"5", "99S", " 5+"}, {"-5", "MI9", "-5"}, {"12", "99V9", " 120"}, {"12", "0000", " 0012"},
	} {
		if s, err := FormatNumeric(num(t, c[0]), c[1]); err != nil || s != c[2] {
			t.Errorf("%s %s: %q %v, want %q", c[0], c[1], s, err, c[2])
		}
	}
	if v, err := ParseTimestampAs("05 Dec 2000 1:30 PM", "DD Mon YYYY HH:MI AM", time.UTC); err != nil || string(AppendTimestamp(nil, &isoFormats, v)) != "2000-12-05 13:30:00" {
		t.Error(v, err)
	}
	if d, err := ParseNumberAs("-34,338,492.5", "S99G999G999D9"); err != nil || NumericString(d) != "-34338492.5" {
		t.Error(NumericString(d), err)
	}
}

func FuzzPictures(f *testing.F) {
	f.Add("2001-02-03", "YYYY-MM-DD")
	f.Add("1,234-", "9G999S")
	f.Fuzz(func(t *testing.T, text, picture string) {
		_, _ = ParseTimestampAs(text, picture, time.UTC)
		_, _ = ParseNumberAs(text, picture)
		_, _ = FormatTimestamp(0, picture)
		_, _ = FormatInterval(Interval{-1, -2, -3}, picture)
		_, _ = FormatNumeric(Datum{I: -12345, Aux: 3}, picture)
		_, _ = FormatFloat(-1.5e10, 64, picture)
	})
}
