package sqltypes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestPicturesAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	o.exec("set timezone='America/New_York'")
	loc, _ := time.LoadLocation("America/New_York")
	env := testEnv()
	env.TimeZone = loc
	r := rand.New(rand.NewPCG(21, 22))
	bad := 0
	check := func(what, got, want string) {
		if got != want {
			if bad++; bad < 60 {
				t.Errorf("%s\n got %q\nwant %q", what, got, want)
			}
		}
	}
	showD := func(d Datum, err error) string {
		if err != nil {
			return errText(err)
		}
		if d.Null {
			return "\x00"
		}
		return d.S
	}
	showS := func(s string, err error) string { return showD(Text(s), err) }
	pick := func(list []string, n int) string {
		var b strings.Builder
		for range 1 + r.IntN(n) {
			b.WriteString(list[r.IntN(len(list))])
		}
		return b.String()
	}
	datePieces := append(append([]string(nil), datePatterns...), " ", "-", "/", ":", "FM", "TH", "th", `"lit"`, "x", ", ", "TM")
	numPieces := []string{"9", "9", "99", "0", "0", ",", ".", "D", "G", "FM", "S", "MI", "PL", "SG", "PR", "V", "TH", "th", " ", "x", `"t"`, "L", "B", "RN", "EEEE"}
	for range 2500 {
		ts := fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d.%06d", 1+r.IntN(2500), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000000))
		if r.IntN(10) == 0 {
			ts += " BC"
		}
		us, err := ParseTimestamp(env, ts)
		if err != nil {
			t.Fatal(ts, err)
		}
		tz, _ := ParseTimestamptz(env, ts)
		f := pick(datePieces, 4)
		d, err := FormatTimestamp(us, f)
		check("ts "+ts+" "+f, showD(d, err), o.one("select to_char($1::timestamp,$2)", ts, f))
		d, err = FormatTimestamptz(tz, f, loc)
		check("tstz "+ts+" "+f, showD(d, err), o.one("select to_char($1::timestamptz,$2)", ts, f))
		is := fmt.Sprintf("%d mons %d days %d ms", r.IntN(60)-30, r.IntN(60)-30, r.IntN(400000000)-200000000)
		iv, _ := ParseInterval(env, is, -1)
		if !strings.Contains(strings.ToUpper(f), "ID") && !strings.Contains(strings.ToUpper(f), "I") {
			d, err = FormatInterval(iv, f)
			check("iv "+is+" "+f, showD(d, err), o.one("select to_char($1::interval,$2)", is, f))
		}

		n := randNumeric(r)
		if len(n) > 14 {
			n = n[:10]
		}
		nd, err := ParseNumeric(n)
		if err != nil {
			continue
		}
		f = pick(numPieces, 8)
		s, err := FormatNumeric(nd, f)
		check("num "+n+" "+f, showS(s, err), o.one("select to_char($1::numeric,$2)", n, f))
		i := r.IntN(20000) - 10000
		s, err = FormatInt(int64(i), f)
		if strings.Contains(f, "V") {
			continue // PostgreSQL multiplies in int4, which overflows
		}
		check(fmt.Sprint("int ", i, " ", f), showS(s, err), o.one("select to_char($1::int4,$2)", fmt.Sprint(i), f))
		fl := float64(r.IntN(2000000)-1000000) / 1000
		s, err = FormatFloat(fl, 64, f)
		check(fmt.Sprint("float ", fl, " ", f), showS(s, err), o.one("select to_char($1::float8,$2)", fmt.Sprint(fl), f))

		// And back.
		in := pick([]string{"1", "23", ".", ",", "-", "+", " ", "4.5", "<", ">", "x", "12,345.6"}, 5)
		d, err = ParseNumberAs(in, f)
		if err == nil && !d.Null {
			d = Text(NumericString(d))
		}
		check("to_number "+in+" "+f, showD(d, err), o.one("select to_number($1,$2)", in, f))
	}
	texts := []string{"2001-02-03 04:05:06", "20010203", "1 Feb 2001", "february 3 2001", "12:30 pm", "2001 034", "97/10", "1,997", "Sat", "III", "200102", "2001-02-03T04:05:06.789", " 2001  02", "-44-02-01", "2001-05 6", "2005-1-1 -08", "44 BC", "24:61", "19 97", "1st", "2451187", "x", "12 am", "13 pm", "2001-W05-3"}
	pictures := []string{"YYYY-MM-DD HH24:MI:SS", "YYYYMMDD", "DD Mon YYYY", "Month DD YYYY", "HH12:MI AM", "YYYY DDD", "YY/MM", "Y,YYY", "Dy", "RM", "YYYYMM", `YYYY-MM-DD"T"HH24:MI:SS.MS`, "YYYY MM", "FXYYYY-MM-DD", "YYYY-MM-DD TZH", "YYYY BC", "HH24:MI", "CC YY", "DDth", "J", "SSSSS", "IYYY-\"W\"IW-ID", "YYYY-WW", "YYYY MM W", "YYY", "Y", "MONTH", "YYYY-MM-DD TZ", "FMDD FMMM", "Q YYYY", "DD MON", "HH:MI:SS.US", "YYYY.MM.DD", "MM/DD/YY", "YYYY/IW", "D", "FF3", "MS", "YYYY-MM-DD HH:MI PM"}
	for range 3000 {
		in, f := texts[r.IntN(len(texts))], pictures[r.IntN(len(pictures))]
		if r.IntN(2) == 0 {
			f = pick(datePieces, 4)
		}
		if strings.Contains(f, "TM") {
			continue
		}
		v, err := ParseDateAs(in, f)
		got := ""
		if err != nil {
			got = errText(err)
		} else {
			got = string(AppendDate(nil, &env.Formats, v))
		}
		check("to_date "+in+" | "+f, got, o.one("select to_date($1,$2)", in, f))
		if v, err = ParseTimestampAs(in, f, loc); err != nil {
			got = errText(err)
		} else {
			got = string(AppendTimestamptz(nil, &env.Formats, v))
		}
		check("to_timestamp "+in+" | "+f, got, o.one("select to_timestamp($1,$2)", in, f))
	}
	if bad > 0 {
		t.Errorf("%d differences", bad)
	}
}
