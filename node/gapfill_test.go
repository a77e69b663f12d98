package node

import "testing"

// TestTimeBucketGapfill: buckets without rows appear once per group between the
// bounds; locf carries, interpolate draws a line, both may look outside.
func TestTimeBucketGapfill(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.Nodes[0])
	cl.do("SET timezone = 'UTC'; DROP TABLE IF EXISTS g; CREATE TABLE g (time timestamptz NOT NULL, host text, v float8, n bigint) WITH (timeseries, tags = 'host')")
	cl.do("INSERT INTO g VALUES ('2026-01-01 01:10+00', 'a', 1, 10), ('2026-01-01 03:10+00', 'a', 3, 30), ('2026-01-01 02:10+00', 'b', 5, 50)")
	rows := func(sql string) string {
		return "SELECT string_agg(concat_ws(' ', " + sql + ", ';') FROM "
	}
	span := "time >= '2026-01-01 00:00+00' AND time < '2026-01-01 05:00+00'"
	cl.want(rows("host, extract(hour FROM b), coalesce(a::text, '-'), coalesce(l::text, '-'), coalesce(i::text, '-'), s)")+
		"(SELECT time_bucket_gapfill('1 hour', time) b, host, avg(v) a, locf(avg(v)) l, interpolate(avg(v)) i, coalesce(sum(n), 0) s FROM g WHERE "+span+" GROUP BY 1, host ORDER BY host, b) x",
		"a 0 - - - 0;a 1 1 1 1 10;a 2 - 1 2 0;a 3 3 3 3 30;a 4 - 3 - 0;b 0 - - - 0;b 1 - - - 0;b 2 5 5 5 50;b 3 - 5 - 0;b 4 - 5 - 0")
	cl.want(rows("extract(hour FROM b), l, i)")+
		"(SELECT time_bucket_gapfill('1 hour', time) b, locf(avg(v), (SELECT 7.5::float8)) l, interpolate(sum(n)::bigint, (SELECT ('2026-01-01 00:00+00'::timestamptz, 0::bigint)), "+
		"(SELECT ('2026-01-01 05:00+00'::timestamptz, 50::bigint))) i FROM g WHERE host = 'a' AND "+span+" GROUP BY b ORDER BY b) x", "0 7.5 0;1 1 10;2 1 20;3 3 30;4 3 40")
	// Conditions on the outside apply after the filling; a group without rows at all is one.
	cl.want("SELECT count(*) FROM (SELECT time_bucket_gapfill('1 hour', time) b, host, locf(avg(v)) l FROM g WHERE "+span+" GROUP BY 1, host) x WHERE host = 'a' AND l = 3", "2")
	cl.want("SELECT count(*) FROM (SELECT time_bucket_gapfill('1 hour', time) b, avg(v) FROM g WHERE host = 'zz' AND "+span+" GROUP BY b) x", "5")
	cl.want("SELECT count(*) FROM (SELECT time_bucket_gapfill('1 hour', time) b, host, avg(v) FROM g WHERE host = 'zz' AND "+span+" GROUP BY b, host) x", "0")
	cl.want(rows("b)")+"(SELECT time_bucket_gapfill('1 month', time, 'Europe/Berlin', start => '2026-03-05', finish => '2026-04-03') b FROM g WHERE host = 'zz' GROUP BY b ORDER BY b) x",
		"2026-02-28 23:00:00+00;2026-03-31 22:00:00+00")
	// Any table can be filled, by integers as well; NULLs of rows stay unless they count as missing.
	cl.want(rows("b, coalesce(m::text, '-'), coalesce(l::text, '-'), coalesce(k::text, '-'))")+
		"(SELECT time_bucket_gapfill(2, t, 0, 10) b, max(v) m, locf(max(v)) l, locf(max(v), treat_null_as_missing => true) k FROM (VALUES (1, 5), (4, NULL), (7, 8)) s(t, v) GROUP BY b ORDER BY b) x",
		"0 5 5 5;2 - 5 5;4 - - 5;6 8 8 8;8 - 8 8")
	cl.fails("SELECT time_bucket_gapfill('1 hour', time) b FROM g GROUP BY b", "22023")
	cl.fails("SELECT time_bucket_gapfill('1 hour', time) FROM g", "0A000")
	cl.fails("SELECT locf(1)", "0A000")
	cl.fails("SELECT time_bucket_gapfill('1 hour', time) b, time_bucket_gapfill('2 hours', time) c FROM g WHERE "+span+" GROUP BY 1, 2", "0A000")
}
