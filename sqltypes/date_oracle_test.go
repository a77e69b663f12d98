package sqltypes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var dateSamples = []string{
	"2001-02-03", "2001-2-3", "1/8/1999", "1/18/1999", "18/1/1999", "01/02/03", "1999-Jan-08", "Jan-08-1999", "08-Jan-1999",
	"99-Jan-08", "08-Jan-99", "Jan-08-99", "19990108", "990108", "1999.008", "J2451187", "January 8, 99 BC", "jan 8 1999", "8 jan 1999",
	"1999 jan 8", "2001-02-29", "2000-02-29", "2001-13-01", "2001-01-32", "0001-01-01 BC", "4713-11-24 BC", "4714-11-24 BC", "5874897-12-31", "5874898-01-01",
	"294276-12-31 23:59:59.999999", "294277-01-01", "infinity", "-infinity", "+infinity", "epoch", "allballs", "2001-02-03 allballs",
	"2001-02-03 04:05:06.789", "2001-02-03T04:05:06", "20010203T040506", "2001-02-03 040506", "20010203 040506.789", "2001-02-03 04:05", "2001-02-03 4:05 PM", "2001-02-03 12:00 AM", "2001-02-03 13:00 PM",
	"2001-02-03 04:05:06+02", "2001-02-03 04:05:06 -08:00", "2001-02-03 04:05:06 +0530", "2001-02-03 04:05:06 PST", "2001-02-03 04:05:06 America/New_York", "2001-07-03 04:05:06 europe/berlin",
	"2001-02-03 04:05:06 PDT", "2001-02-03 04:05:06 MET DST", "2001-02-03 04:05:06z", "2001-02-03 04:05:06 zulu", "2001-02-03 24:00:00", "2001-02-03 24:00:01", "2001-02-03 23:59:60", "2001-02-03 25:00",
	"2001-02-03 04:60", "2001-02-03 04:05:61", "2001-02-03 04:05:06+16", "2001-02-03 04:05:06+15:59:59", "2001-02-03 04:05:06 foo", "2001-02-03 04:05:06 Foo/Bar", "Sat Feb 03 04:05:06 2001 PST", "Sat 03 Feb 04:05:06 2001",
	"Feb 3 04:05:06 2001 MSK", "2012-02-03 04:05:06 MSK", "2001 034", "2001034", "2001-034", "2001.034 04:05", "04:05:06", "04:05", "040506", "0405", "4:05 am", "04:05:06.789-08", "040506-08", "04:05-08:00", "040506.789+08", "04:05:06 PST", "04:05:06 America/New_York",
	"2003-04-12 04:05:06 America/New_York", "24:00:00", "24:00:00.01", "23:59:60", "t040506", "2001-02-03 at 04:05", "on 2001-02-03", "", " ", "x", "2001-02", "2001", "20", "2001-02-03-04", "2001/02/03", "2001-02/03", "2001.02.03", "3.2.2001", "2/3", "feb", "feb 2001", "y2001m02d03", "y2001m02d03h04mm05s06.7",
	"2001-02-03 04:05:06.7891234", "2001-02-03 04:05:06.9999999", "1/1/2000 0:0:0", "2000-00-00", "0000-01-01", "-1-01-01", "2001-02-03 BC", "J2451187.5", "J2451187-08", "j 2451187", "julian 2451187 04:05", "2001-02-03 j", "2001-02-03 04", "2001-02-03 04 05 06", "20010203040506", "100000101", "12345", "123456", "1234567",
	"2010-03-14 02:30 America/New_York", "2010-11-07 01:30 America/New_York", "1883-11-18 12:03 America/New_York", "1850-01-01 00:00 America/New_York", "2001-02-03 04:05:06 EST5EDT", "2001-02-03 04:05 UTC+3", "2001-02-03 04:05 <+03>-3", "2001-02-03 04:05 -3", "2001-02-03 04:05:06,789", "2001-02-03 04:05:06 a.m.", "Tuesday", "tuesday 2001-02-03", "2001-02-03 tues",
	"99999-01-01", "999999-01-01", "2001-1", "19970210 173201 -0800", "1997.041 17:32:01 UTC", "97/02/10 17:32:01 UTC", "15 02 1997", "Feb-10-1997 17:32:01-07:00", "10 feb 97", "Mon Feb 10 17:32:01.4 1997 PST", "20011227T040506+08", "20011227 T040506.789-08", "2001-12-27T04:05:06.789-08", "2001-12-27 T 04:05:06", "27/12/2001 04:05:06.789-08", "12/27/2001 04:05:06.789-08", "J2452271+08", "J2452271T040506+08", "J2452271 04:05:06+08", "J2452271T040506.789-08",
	"04:05:06 2001-02-03", "04:05:06 +02 2001-02-03", "1 jan 2001 1 feb", "jan jan 2001", "2001-02-03 04:05 05:06", "2001-02-03 am", "am 2001-02-03 04:05", "2001-02-03 04:05 bc", "now x", "12 am", "04:05 dst", "2001-02-03 04:05:06+", "2001-02-03 04:05:06 -", "2001-02-03 \x01", "é", "1.1.1", "a-b", "4-4-4-4", "jan-1-2-3", "1999-01-08 04:05:06 LMT", "1999-01-08 04:05:06 EST EDT", "1.5", ".5", "2001.", "::", "4:", "4:5:", "4:5:6.", "4:5:6.x", "1:2.3", "2001-02-03 1:2.3", "99999999999999999999", "2001-99999999999-1", "4:99999999999", "2001-02-03 04:05+99999999999",
}

func TestDateTextAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"2001-02-03", "04:05:06", "jan", "5", "1999", "PST", "+03", "pm", "bc", "America/New_York", "J2451187", "t", "20010203", "040506", "feb-7-97", "12", "z", "dst", "y", "mm", "1.5", "tue", "at", "-08:30", "'", ","}
	samples := append([]string(nil), dateSamples...)
	for range 1500 {
		n := 1 + r.IntN(4)
		var parts []string
		for range n {
			parts = append(parts, pieces[r.IntN(len(pieces))])
		}
		samples = append(samples, strings.Join(parts, []string{" ", "", " "}[r.IntN(3)]))
	}
	styles := []struct {
		set   string
		style DateStyle
		order DateOrder
		zone  string
	}{{"ISO, MDY", DateISO, OrderMDY, "UTC"}, {"SQL, DMY", DateSQL, OrderDMY, "America/New_York"}, {"Postgres, MDY", DatePostgres, OrderMDY, "Europe/Berlin"}, {"German, YMD", DateGerman, OrderYMD, "Asia/Kolkata"}, {"Postgres, DMY", DatePostgres, OrderDMY, "Australia/Sydney"}}
	bad := 0
	for _, st := range styles {
		o.exec("set datestyle = '" + st.set + "'; set timezone = '" + st.zone + "'")
		loc, _ := time.LoadLocation(st.zone)
		env := testEnv()
		env.DateStyle, env.DateOrder, env.TimeZone = st.style, st.order, loc
		env.TxnTime = time.Now().UnixMicro() + UnixEpochUsec
		for _, s := range samples {
			if strings.IndexByte(s, 0) >= 0 || strings.Contains(s, "now") || strings.Contains(s, "to") {
				continue
			}
			for _, typ := range []string{"date", "timestamp", "timestamptz", "time", "timetz"} {
				want := o.one("select $1::"+typ+"::text", s)
				ty := TypeByName(typ)
				got := ""
				if d, err := ty.In(env, s, -1); err != nil {
					got = errText(err)
				} else {
					got = string(ty.Out(env, nil, d))
				}
				if got != want && !strings.Contains(got, "not recognized") {
					bad++
					if bad < 60 {
						t.Errorf("%s %s %q\n got %s\nwant %s", st.set, typ, s, got, want)
					}
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d differences", bad)
	}
}

var intervalSamples = []string{
	"1 day", "1 year 2 mons 3 days 04:05:06.789", "-1 day", "1 day ago", "@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs ago", "1-2", "1-2 3 4:05:06", "-1-2 +3 -4:05:06", "1.5 years", "1.5 months", "1.5 weeks", "1.5 days", "1.5 hours", "0.1 centuries", "1 mil", "1 decade 2 centuries", "P1Y2M3DT4H5M6S", "P0001-02-03T04:05:06", "P00010203T040506", "PT5M", "P1.5Y", "P-1Y-2M", "PT-0.5S", "P", "PT", "P1", "P1YT", "P1S", "PT1Y", "5", "1:2", "1:2:3", "1:2.3", "-1:2:3", "100:00", "1 02:03", "1 day 2", "1 2", "1 day 1 day", "1 second 1 ms", "1.5 second 1 ms", "1 ms", "1 us", "1.5 us", "1 quarter", "infinity", "epoch", "", "x", "1 x", "day", "ago", "178956970 years", "178956971 years", "2147483647 days", "2147483648 days", "9223372036854775807 us", "9223372036854775808 us", "1e5 days", "1.e days", ".5 day", "-.5 day", "1 day -04:00", "1 day +04:00", "1 week 2 days", "4 hours 1", "1 month -1 days", "-1 month 1 day 01:00", "1 year -1 month", "00:00:00", "-00:00:01", "1 microsecond", "1 microsecondsxyz", "1 millennium", "2 c", "3 h 4 m 5 s", "1 mon 2 min", "1y", "1d2h3m4s", "12 month", "P1W", "P1Y1W", "PT36H", "P2Y10M15DT10H30M20S", "P-0001-02-03", "P1-2-3", "P20010101", "PT010203", "PT01:02", "PT01:02:03.5", "  1   day  ", "1,day", "1 day, 2 hours", "2562047788 hours", "2562047789 hours", "-2562047788:00:54.775808", "-2562047788:00:54.775809", "1.1.1 days", "+1 day", "+ 1 day", "- 1 day", "1-13", "1-2-3", "-1-2", "1 ago", "1 day ago ago", "1 hour ago 1 day", "04:05:06 1 day", "0.000001 s", "0.0000005 s", "0.0000015 s", "1.9999999 s", "0.7 days", "0.333333 month", "1.75 weeks", "1.25 year", "0.04 year",
}

func TestIntervalAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	r := rand.New(rand.NewPCG(5, 6))
	samples := append([]string(nil), intervalSamples...)
	units := []string{"year", "mon", "day", "hour", "min", "sec", "week", "decade", "ms", "us", "", ":30", ":10:20.5", "-3"}
	for range 1500 {
		var parts []string
		for range 1 + r.IntN(4) {
			n := fmt.Sprint(r.IntN(400) - 150)
			if r.IntN(3) == 0 {
				n += "." + fmt.Sprint(r.IntN(1000))
			}
			u := units[r.IntN(len(units))]
			if strings.HasPrefix(u, ":") || u == "-3" {
				n += u
			} else {
				n += " " + u
			}
			parts = append(parts, n)
		}
		if r.IntN(5) == 0 {
			parts = append(parts, "ago")
		}
		samples = append(samples, strings.Join(parts, " "))
	}
	bad := 0
	for i, style := range []string{"postgres", "postgres_verbose", "sql_standard", "iso_8601"} {
		o.exec("set intervalstyle = '" + style + "'")
		env := testEnv()
		env.IntervalStyle = IntervalStyle(i)
		for _, s := range samples {
			want := o.one("select $1::interval::text", s)
			got := ""
			if v, err := ParseInterval(env, s, -1); err != nil {
				got = errText(err)
			} else {
				got = string(AppendInterval(nil, env.IntervalStyle, v))
			}
			if got != want {
				if bad++; bad < 40 {
					t.Errorf("%s %q\n got %s\nwant %s", style, s, got, want)
				}
			}
		}
	}
	o.exec("set intervalstyle = 'postgres'")
	for spelling, fields := range map[string]int{"year": maskYear, "month": maskMonth, "year to month": maskYear | maskMonth, "day": maskDay, "hour": maskHour, "minute": maskMinute, "second": maskSecond, "day to hour": maskDay | maskHour, "hour to second": maskHour | maskMinute | maskSecond, "minute to second": maskMinute | maskSecond, "hour to minute": maskHour | maskMinute} {
		for _, s := range []string{"1", "1-2", "1:2", "1:2:3.4567", "1 2:3", "5 years 3 mons 2 days 12:34:56.789", "1.5"} {
			want := o.one("select interval '" + s + "' " + spelling + " ::text")
			got := ""
			if v, err := ParseInterval(testEnv(), s, IntervalTypMod(fields, -1)); err != nil {
				got = errText(err)
			} else {
				got = string(AppendInterval(nil, IntervalPostgres, v))
			}
			if got != want {
				t.Errorf("%s %q\n got %s\nwant %s", spelling, s, got, want)
			}
		}
	}
}
