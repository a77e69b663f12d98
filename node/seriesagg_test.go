package node

import (
	"fmt"
	"strings"
	"testing"
)

// TestSeriesAggregates: grouping that runs over the chunks of a time-series table
// gives, to the last bit, what the same rows in an ordinary table give.
func TestSeriesAggregates(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.leader())
	cl.do("DROP TABLE IF EXISTS sa, sb; CREATE TABLE sb (time timestamptz NOT NULL, host text, dc text, v float8, w float4, n bigint, k int, s text)")
	cl.do("CREATE TABLE sa (time timestamptz NOT NULL, host text, dc text, v float8, w float4, n bigint, k int, s text) WITH (timeseries, tags = 'host,dc', window = '3 hours')")
	cl.do("INSERT INTO sb SELECT '1999-12-31 20:00+00'::timestamptz + i * interval '97 s', h, CASE WHEN h = 'c' THEN NULL ELSE 'x' || (length(h) % 2) END, " +
		"CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' ELSE i / 3.0 END, i, (i * 7919) % 1000 - 500, NULLIF(i % 13, 5), CASE WHEN i % 3 = 0 THEN 's' || i END " +
		"FROM generate_series(0, 400) i, (VALUES ('a'), ('bb'), ('c'), ('dd')) x(h) ORDER BY h, i")
	cl.do("INSERT INTO sa SELECT * FROM sb WHERE extract(epoch FROM time)::bigint % 3 <> 0")
	cl.want("SELECT count(*) > 0 FROM show_chunks('sa')", "t") // to chunks
	cl.do("INSERT INTO sa SELECT * FROM sb WHERE extract(epoch FROM time)::bigint % 3 = 0")
	aggs := "count(*), count(v), sum(v), avg(v), min(v), max(v), sum(w), min(w), sum(n), avg(n), min(n), max(n), sum(k), avg(k), max(k), first(v, time), last(n, time), first(s, time), last(s, time), min(time), max(time)"
	for _, group := range []string{"", "time_bucket('10 min', time)", "time_bucket('1 month', time)", "time_bucket('1 h', time, '2000-01-01 00:20+00'::timestamptz)", "host", "dc", "host, dc, time_bucket('5 min', time)", "dc, time_bucket('1 day', time)"} {
		for _, where := range []string{"true", "time >= '1999-12-31 22:00+00' AND time < '2000-01-01 01:00+00'", "host IN ('a', 'c', 'zz')", "dc IS NULL", "host LIKE '%d' AND time > '2000-01-01'",
			"time_bucket('10 min', time) >= '1999-12-31 23:05+00' AND time_bucket('10 min', time) <= '2000-01-01 00:05+00'", "time_bucket('1 month', time) = '2000-01-01+00'", "host = 'none'", "v > 10"} {
			query := func(table string) string {
				q := "SELECT " + aggs + " FROM " + table + " WHERE " + where
				if group != "" {
					q = "SELECT " + group + ", " + aggs + " FROM " + table + " WHERE " + where + " GROUP BY " + group
				}
				return strings.ReplaceAll(q, "first(", "first(")
			}
			// first and last take, of equal times, the row met first: told apart only where there is one series.
			a, b := query("sa"), query("sb")
			if !strings.Contains(group, "host") {
				drop := ", first(v, time), last(n, time), first(s, time), last(s, time)"
				sums := ", sum(v), avg(v)"
				a, b = strings.Replace(strings.Replace(a, drop, "", 1), sums, "", 1), strings.Replace(strings.Replace(b, drop, "", 1), sums, "", 1)
			}
			cl.want(fmt.Sprintf("SELECT (SELECT count(*) FROM ((%s) EXCEPT ALL (%s)) x) || '/' || (SELECT count(*) FROM ((%s) EXCEPT ALL (%s)) y)", a, b, b, a), "0/0")
		}
	}
	cl.do("BEGIN; INSERT INTO sa VALUES ('2000-01-01 00:00:01+00', 'a', 'x1', 5, 5, 5, 5, 's')") // not in chunks, nor in memory
	cl.want("SELECT count(*), sum(n) - (SELECT sum(n) FROM sb) FROM sa", "1605|5")
	cl.do("ROLLBACK")
	cl.want("SELECT count(*) FROM sa GROUP BY time_bucket(NULL::interval, time)", "1604")
	cl.fails("SELECT count(*) FROM sa WHERE 1 / (length(host) - 1) > 5 GROUP BY host", "22012")
}
