package node

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPartialAggregates: what an aggregation over the time series of all nodes gives is
// what the same rows give in one ordinary table, whichever node has which of them, and
// other nodes send groups, not rows, where the aggregates allow it.
func TestPartialAggregates(t *testing.T) {
	c := demoCluster(t)
	l := dial(t, c.leader())
	cols := "(time timestamptz NOT NULL, host text, dc text, v float8, w float4, n bigint, k int, x numeric, s text, ok bool)"
	l.do("DROP TABLE IF EXISTS pa, pb; CREATE TABLE pb " + cols + "; CREATE TABLE pa " + cols + " WITH (timeseries, tags = 'host,dc', window = '3 hours')")
	l.do("INSERT INTO pb SELECT '2026-03-29 00:00+00'::timestamptz + i * interval '97 s' + length(h) * interval '1 ms', h, CASE WHEN h = 'c' THEN NULL ELSE 'x' || (length(h) % 2) END, " +
		"CASE i % 7 WHEN 0 THEN NULL ELSE i / 4.0 END, i, (i::bigint * 7919) % 1000 * 9000000000000000 / 1000, NULLIF(i % 13, 5), CASE WHEN i % 11 <> 3 THEN i * 1.10 END, " +
		"CASE WHEN i % 3 = 0 THEN 's''\\' || i END, i % 5 > 0 FROM generate_series(0, 300) i, (VALUES ('a'), ('bb'), ('c'), ('dd''d')) y(h) ORDER BY h, i")
	l.do("INSERT INTO pa SELECT * FROM pb WHERE extract(epoch FROM time)::bigint % 3 = 0")
	var all []*client
	for i, n := range c.Nodes {
		cl := dial(t, n)
		cl.soon("SELECT count(*) FROM pb", "1204")
		cl.do("SET timezone = 'UTC'")
		if i < 2 { // the leader may be any of them: rows then stand on the nodes unevenly
			cl.do(fmt.Sprintf("INSERT INTO pa SELECT * FROM pb WHERE extract(epoch FROM time)::bigint %% 3 = %d", i+1))
		}
		cl.do("SET ostraka.ts_scope = 'cluster'")
		all = append(all, cl)
	}
	aggs := []string{"count(*)", "count(v)", "count(s)", "sum(v)", "avg(v)", "sum(w)", "avg(w)", "sum(n)", "avg(n)", "sum(k)", "avg(k)", "sum(x)", "avg(x)", "min(v)", "max(v)", "min(w)",
		"min(n)", "max(k)", "min(x)", "max(x)", "min(s)", "max(s)", "min(time)", "max(time)", "first(v, time)", "last(n, time)", "first(s, time)", "last(x, time)",
		"stddev(k)", "var_pop(n)", "variance(x)", "round(stddev(v)::numeric, 9)", "round(var_pop(w)::numeric, 6)", "histogram(v, 0, 100, 4)", "bool_and(ok)", "bool_or(ok)", "bit_and(k)",
		"sum(n) FILTER (WHERE ok)", "count(*) FILTER (WHERE s LIKE 's%1')", "sum(k + 1)", "max(abs(v))", "count(DISTINCT k)", "rate(v, time)", "string_agg(s, ',' ORDER BY time, host)"}
	groups := []string{"", "host", "dc", "time_bucket('10 min', time)", "time_bucket('1 month', time), host", "time_bucket('2 hours', time, 'Europe/Berlin'), dc", "date_trunc('hour', time)",
		"time_bucket('5 min', time), host, dc", "k % 3", "ok", "upper(host)"}
	wheres := []string{"true", "time >= '2026-03-29 02:00+00' AND time < '2026-03-29 05:00+00'", "host IN ('a', 'dd''d', 'zz')", "dc IS NULL", "host LIKE '%d' AND time > '2026-03-29 03:00+00'",
		"v > 10 AND NOT ok", "s = 's''\\30' OR k BETWEEN 2 AND 4", "host = 'none'", "x IS NOT NULL AND n <> 0", "time > now() - interval '1000 years'"}
	rapid.Check(t, func(rt *rapid.T) {
		cl := rapid.SampledFrom(all).Draw(rt, "node")
		list := rapid.SliceOfNDistinct(rapid.SampledFrom(aggs), 1, 6, rapid.ID[string]).Draw(rt, "aggregates")
		group := rapid.SampledFrom(groups).Draw(rt, "group")
		where := rapid.SampledFrom(wheres).Draw(rt, "where")
		query := func(table string) string {
			q := "SELECT " + strings.Join(list, ", ")
			if group != "" {
				q += ", " + group
			}
			if q += " FROM " + table + " WHERE " + where; group != "" {
				q += " GROUP BY " + group
			}
			return q
		}
		a, b := query("pa"), query("pb")
		got := cl.rows(fmt.Sprintf("SELECT (SELECT count(*) FROM ((%s) EXCEPT ALL (%s)) x) || '/' || (SELECT count(*) FROM ((%s) EXCEPT ALL (%s)) y)", a, b, b, a))
		if got != "0/0" {
			rt.Fatalf("%s\n%s, for an ordinary table %s", a, cl.rows(a), cl.rows(b))
		}
	})
	plan := func(q, want string) {
		t.Helper()
		if got := all[0].rows("EXPLAIN (COSTS OFF) " + q); !strings.Contains(got, want) {
			t.Errorf("%s\n%s, want %s", q, got, want)
		}
	}
	plan("SELECT host, avg(v), stddev(k) FROM pa WHERE v > 1 GROUP BY host", "Other Nodes: Partial Aggregates")
	plan("SELECT count(DISTINCT v) FROM pa", "Other Nodes: Rows")
	if got := all[0].rows("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT host, avg(v) FROM pa GROUP BY host"); !strings.Contains(got, "Groups from Other Nodes: ") {
		t.Error(got)
	}
}
