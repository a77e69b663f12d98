package sqltypes

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDateArithmeticAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	o.exec("set timezone='America/New_York'")
	env := testEnv()
	env.TimeZone, _ = time.LoadLocation("America/New_York")
	loc := env.TimeZone
	r := rand.New(rand.NewPCG(11, 12))
	bad := 0
	show := func(typ string, d Datum, err error) string {
		if err != nil {
			return errText(err)
		}
		if d.Null {
			return "\x00"
		}
		return string(TypeByName(typ).Out(env, nil, d))
	}
	check := func(what, got, want string) {
		if got != want {
			if bad++; bad < 50 {
				t.Errorf("%s\n got %s\nwant %s", what, got, want)
			}
		}
	}
	randTS := func() string {
		switch r.IntN(20) {
		case 0:
			return "infinity"
		case 1:
			return "-infinity"
		case 2:
			return fmt.Sprintf("%04d-0%d-11 01:02:03 BC", 1+r.IntN(4000), 1+r.IntN(9))
		case 3:
			return fmt.Sprintf("%d-12-31 23:59:59.5", 200000+r.IntN(94276))
		}
		s := fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", 1700+r.IntN(400), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
		if r.IntN(2) == 0 {
			s += fmt.Sprintf(".%06d", r.IntN(1000000))
		}
		return s
	}
	randIv := func() string {
		big := 1
		if r.IntN(10) == 0 {
			big = 5000000
		}
		return fmt.Sprintf("%d mons %d days %d us", (r.IntN(60)-30)*big, (r.IntN(100)-50)*big, (int64(r.IntN(2000000000))-1000000000)*int64(r.IntN(2000)))
	}
	fields := []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "isoyear", "julian", "epoch", "dow", "isodow", "doy", "timezone", "timezone_hour", "timezone_minute", "foo", "Y", "j"}
	for range 1500 {
		as, bs, is, ks := randTS(), randTS(), randIv(), randIv()
		a, err := ParseTimestamp(env, as)
		if err != nil {
			t.Fatal(as, err)
		}
		b, _ := ParseTimestamp(env, bs)
		az, err := ParseTimestamptz(env, as)
		if err != nil {
			continue
		}
		bz, _ := ParseTimestamptz(env, bs)
		iv, err := ParseInterval(env, is, -1)
		if err != nil {
			t.Fatal(is, err)
		}
		kv, _ := ParseInterval(env, ks, -1)
		f := fields[r.IntN(len(fields))]
		ok := func(v int64, err error) (Datum, error) { return Int(v), err }
		ivd := func(v Interval, err error) (Datum, error) { return MakeInterval(v), err }
		one := func(sql, typ string, d Datum, err error, params ...string) {
			check(fmt.Sprint(sql, params), show(typ, d, err), o.one("select ("+sql+")::text", params...))
		}
		d, e := ok(TimestampAdd(a, iv))
		one("$1::timestamp + $2::interval", "timestamp", d, e, as, is)
		d, e = ok(TimestamptzAdd(az, iv, loc))
		one("$1::timestamptz + $2::interval", "timestamptz", d, e, as, is)
		d, e = ok(TimestampSubInterval(a, iv))
		one("$1::timestamp - $2::interval", "timestamp", d, e, as, is)
		d, e = ivd(TimestampSub(a, b))
		one("$1::timestamp - $2::timestamp", "interval", d, e, as, bs)
		d, e = ivd(Age(a, b))
		one("age($1::timestamp, $2::timestamp)", "interval", d, e, as, bs)
		if !TimestampIsInf(az) && !TimestampIsInf(bz) {
			la, _ := TimestampToLocal(az, loc)
			lb, _ := TimestampToLocal(bz, loc)
			d, e = ivd(Age(la, lb))
			one("age($1::timestamptz, $2::timestamptz)", "interval", d, e, as, bs)
		}
		d, e = ok(TruncTimestamp(f, a))
		one("date_trunc($2::text, $1::timestamp)", "timestamp", d, e, as, f)
		d, e = ok(TruncTimestamptz(f, az, loc))
		one("date_trunc($2::text, $1::timestamptz)", "timestamptz", d, e, as, f)
		d, e = ok(TruncTimestamptzZone(f, az, "Australia/Sydney"))
		one("date_trunc($2::text, $1::timestamptz, 'Australia/Sydney')", "timestamptz", d, e, as, f)
		d, e = ivd(TruncInterval(f, iv))
		one("date_trunc($2::text, $1::interval)", "interval", d, e, is, f)
		d, e = ExtractTimestamp(f, a)
		one("extract("+f+" from $1::timestamp)", "numeric", d, e, as)
		d, e = ExtractTimestamptz(f, az, loc)
		one("extract("+f+" from $1::timestamptz)", "numeric", d, e, as)
		d, e = ExtractInterval(f, iv)
		one("extract("+f+" from $1::interval)", "numeric", d, e, is)
		d, e = ExtractDate(f, TimestampToDate(a))
		one("extract("+f+" from $1::timestamp::date)", "numeric", d, e, as)
		if tod := TimestampToTime(a); !tod.Null {
			d, e = ExtractTime(f, tod.I)
			one("extract("+f+" from $1::timestamp::time)", "numeric", d, e, as)
			one("$1::timestamp::time + $2::interval", "time", Int(TimeAdd(tod.I, iv)), nil, as, is)
		}
		tz := TimestamptzToTimetz(az, loc)
		one("$1::timestamptz::timetz", "timetz", tz, nil, as)
		if !tz.Null {
			d, e = ExtractTimetz(f, tz)
			one("extract("+f+" from $1::timestamptz::timetz)", "numeric", d, e, as)
		}
		if !TimestampIsInf(b) {
			d, e = ok(DateBin(Interval{0, iv.Days, iv.Usec}, a, b))
			one("date_bin(make_interval(days=>extract(day from $2::interval)::int)+make_interval(secs=>extract(hour from $2::interval)*3600+extract(minute from $2::interval)*60+extract(second from $2::interval)::float8), $1::timestamp, $3::timestamp)", "timestamp", d, e, as, is, bs)
		}
		d, e = ivd(iv.Add(kv))
		one("$1::interval + $2::interval", "interval", d, e, is, ks)
		d, e = ivd(iv.Sub(kv))
		one("$1::interval - $2::interval", "interval", d, e, is, ks)
		m := fmt.Sprint(float64(r.IntN(2000)-1000) / 7)
		mf, _ := ParseFloat(m, 64, "")
		d, e = ivd(iv.Mul(mf))
		one("$1::interval * $2::float8", "interval", d, e, is, m)
		d, e = ivd(iv.Div(mf))
		one("$1::interval / $2::float8", "interval", d, e, is, m)
		d, e = ivd(iv.JustifyHours())
		one("justify_hours($1::interval)", "interval", d, e, is)
		d, e = ivd(iv.JustifyDays())
		one("justify_days($1::interval)", "interval", d, e, is)
		d, e = ivd(iv.JustifyInterval())
		one("justify_interval($1::interval)", "interval", d, e, is)
		check("cmp "+is+" "+ks, fmt.Sprint(CompareInterval(MakeInterval(iv), MakeInterval(kv))), o.one("select interval_cmp($1,$2)", is, ks))
		zone := []string{"PST", "MSK", "Europe/Berlin", "utc", "EST5EDT", "foo", "+03", "<X>-3"}[r.IntN(8)]
		d, e = ok(TimestampAtZone(a, zone))
		one("$1::timestamp at time zone $2::text", "timestamptz", d, e, as, zone)
		d, e = ok(TimestamptzAtZone(az, zone))
		one("$1::timestamptz at time zone $2::text", "timestamp", d, e, as, zone)
		y, mo, da, h, mi := int64(r.IntN(5000)-500), int64(r.IntN(14)), int64(r.IntN(33)), int64(r.IntN(26)), int64(r.IntN(62))
		sec := float64(r.IntN(620)) / 10
		d, e = ok(MakeTimestamp(y, mo, da, h, mi, sec))
		one(fmt.Sprintf("make_timestamp(%d,%d,%d,%d,%d,%g)", y, mo, da, h, mi, sec), "timestamp", d, e)
		d, e = ok(MakeDate(y, mo, da))
		one(fmt.Sprintf("make_date(%d,%d,%d)", y, mo, da), "date", d, e)
		d, e = ok(MakeTime(h, mi, sec))
		one(fmt.Sprintf("make_time(%d,%d,%g)", h, mi, sec), "time", d, e)
		d, e = ok(MakeTimestamptz(2000, 1, 2, 3, 4, sec, zone, loc))
		if sec < 60 {
			one(fmt.Sprintf("make_timestamptz(2000,1,2,3,4,%g,$1::text)", sec), "timestamptz", d, e, zone)
		}
		fl := fmt.Sprint((r.Float64() - 0.5) * []float64{1e3, 1e9, 1e12, 1e14}[r.IntN(4)])
		ff, _ := ParseFloat(fl, 64, "")
		d, e = ok(FloatToTimestamptz(ff))
		one("to_timestamp($1::float8)", "timestamptz", d, e, fl)
	}
}
