package node

import (
	"strings"
	"testing"
)

// same fails unless a continuous aggregate shows what its query gives over the raw rows.
func (c *client) sameAs(view, query string) {
	c.t.Helper()
	c.want("SELECT (SELECT count(*) FROM (SELECT * FROM "+view+" EXCEPT ALL ("+query+")) x) || '/' || (SELECT count(*) FROM (("+query+") EXCEPT ALL SELECT * FROM "+view+") y)", "0/0")
}

// TestContinuousAggregate: it shows what GROUP BY over the raw rows gives, whatever
// is written late, changed or deleted, in compressed chunks as well (timescaledb
// issues 5455 and 8800), before and after a refresh, on the node that has the rows.
func TestContinuousAggregate(t *testing.T) {
	c := demoCluster(t)
	l := dial(t, c.leader())
	l.do("DROP MATERIALIZED VIEW IF EXISTS cd_h, cd_m; DROP TABLE IF EXISTS cd, cdp; CREATE TABLE cdp (i int)")
	l.do("CREATE TABLE cd (time timestamptz NOT NULL, host text, v float8, n bigint, x numeric) WITH (timeseries, tags = 'host', window = '6 hours')")
	hourly := "SELECT time_bucket('1 hour', time) AS hour, host, sum(n) AS s, count(*) AS c, avg(n) AS a, max(v) AS m, first(n, time) AS f, sum(x) AS x, histogram(v, 0, 500, 5) AS h FROM cd WHERE n >= 0 GROUP BY 1, 2"
	monthly := "SELECT host, time_bucket('1 month', time) AS month, count(*) FROM cd GROUP BY host, month HAVING count(*) > 1"
	l.do("CREATE MATERIALIZED VIEW cd_h WITH (timeseries.continuous) AS " + hourly + " WITH NO DATA")
	l.do("CREATE MATERIALIZED VIEW cd_m WITH (timescaledb.continuous) AS " + monthly)
	f := dial(t, c.follower())
	f.do("INSERT INTO cdp VALUES (0)") // brings the catalogue
	f.do("SET timezone = 'UTC'")
	check := func() {
		t.Helper()
		f.sameAs("cd_h", hourly)
		f.sameAs("cd_m", monthly)
	}
	refresh := func() {
		t.Helper()
		f.do("CALL refresh_continuous_aggregate('cd_h', NULL, NULL)")
		f.do("CALL refresh_continuous_aggregate('cd_m', NULL, NULL)")
	}
	stored := func(want string) {
		t.Helper()
		_, scan, _ := strings.Cut(f.rows("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM cd_h"), "Seq Scan on cd ")
		if scan, _, _ = strings.Cut(scan, " loops"); scan != "(actual rows="+want {
			t.Errorf("raw rows read: %q, want %s", scan, want)
		}
	}
	f.do("INSERT INTO cd SELECT '2026-01-01'::timestamptz + i * interval '5 min', h, i, i, i * 1.10 FROM generate_series(0, 287) i, (VALUES ('a'), ('b')) x(h)")
	check()
	f.want("SELECT count(*) FROM show_chunks('cd')", "4") // in chunks from now on
	refresh()
	check()
	stored("0")
	f.do("INSERT INTO cd VALUES ('2026-01-01 03:02+00', 'a', 1000, 1000, 0.001), ('2026-01-01 03:03+00', 'c', 7, 7, NULL)")
	stored("26")
	check()
	f.do("DELETE FROM cd WHERE host = 'b' AND time = '2026-01-01 05:05+00'")
	f.do("UPDATE cd SET n = n + 1 WHERE host = 'a' AND time >= '2026-01-01 10:55+00' AND time < '2026-01-01 11:05+00'")
	f.do("DELETE FROM cd WHERE time >= '2026-01-01 20:00+00' AND time < '2026-01-01 21:00+00'")
	f.do("UPDATE cd SET time = '2026-02-05 00:00+00' WHERE host = 'c'")
	check()
	refresh()
	check()
	stored("0")
	f.do("BEGIN; INSERT INTO cd VALUES ('2026-01-01 07:01+00', 'a', 1, 5, 1)")
	check()
	f.want("SELECT s FROM cd_h WHERE host = 'a' AND hour = '2026-01-01 07:00+00'", "1079")
	f.do("ROLLBACK")
	f.want("SELECT s FROM cd_h WHERE host = 'a' AND hour = '2026-01-01 07:00+00'", "1074")
	f.do("CALL refresh_continuous_aggregate('cd_h', '2026-01-01', '2026-01-02')")
	f.want("SELECT count(*) FROM drop_chunks('cd', '2026-01-01 12:00+00'::timestamptz)", "2")
	f.want("SELECT count(*) FROM cd_h WHERE hour < '2026-01-01 12:00+00'", "24") // what is stored stays
	l.want("SELECT count(*) FROM cd_h", "0")                                     // rows are elsewhere
	f.do("INSERT INTO cdp VALUES (1)")

	l.fails("INSERT INTO cd_h VALUES (now())", "55000")
	f.fails("BEGIN; CALL refresh_continuous_aggregate('cd_h', NULL, NULL)", "25001")
	f.do("ROLLBACK")
	f.fails("CALL refresh_continuous_aggregate('cd', NULL, NULL)", "42809")
	l.fails("REFRESH MATERIALIZED VIEW cd_h", "0A000")
	l.fails("DROP TABLE cd", "2BP01")
	l.fails("DROP VIEW cd_h", "42809")
	for _, sql := range []string{
		"SELECT host, count(*) FROM cd GROUP BY 1",
		"SELECT time_bucket('1 hour', time) b, count(*) FROM cd JOIN cdp ON true GROUP BY 1",
		"SELECT time_bucket('1 hour', time) b, count(*) FROM cd WHERE time > now() GROUP BY 1",
		"SELECT time_bucket('1 hour', time) b, count(*) FROM cd GROUP BY 1 ORDER BY 1",
		"SELECT time_bucket('7 hours', time, 'Europe/Berlin') b, count(*) FROM cd GROUP BY 1",
		"SELECT count(*) FROM cd GROUP BY time_bucket('1 hour', time)",
		"SELECT time_bucket('1 hour', time) b, v, count(*) FROM cd GROUP BY 1, 2",
		"SELECT time_bucket('1 hour', time) b, (SELECT count(*) FROM cdp) FROM cd GROUP BY 1",
	} {
		l.fails("CREATE MATERIALIZED VIEW cd_x WITH (timeseries.continuous) AS "+sql, "0A000")
	}
	l.do("ALTER TABLE cd RENAME TO cd_renamed")
	f.do("INSERT INTO cdp VALUES (2)")
	f.want("SELECT count(*) FROM cd_h WHERE hour < '2026-01-01 12:00+00'", "24")
	l.do("ALTER TABLE cd_renamed RENAME TO cd")
	l.do("ALTER MATERIALIZED VIEW cd_h SET (timescaledb.materialized_only = true)")
	f.do("INSERT INTO cdp VALUES (3)")
	f.do("INSERT INTO cd VALUES ('2027-01-01', 'a', 1, 1, 1)")
	f.want("SELECT count(*) FROM cd_h WHERE hour > '2026-12-01'", "0")
	l.do("TRUNCATE cd")
	f.do("INSERT INTO cdp VALUES (4)")
	f.sameAs("cd_m", monthly)
	l.do("DROP MATERIALIZED VIEW cd_h")
	f.do("INSERT INTO cdp VALUES (5)")
	buckets := "SELECT count(*) FROM ostraka.timeseries WHERE table_name LIKE '\\_buckets\\_%'"
	f.want(buckets, "1")
	l.do("DROP TABLE cd CASCADE")
	f.do("INSERT INTO cdp VALUES (6)")
	f.want(buckets, "0")
}

// TestNestedContinuousAggregates: aggregates of aggregates, and by the clock of a zone
// over its changes, show what their queries give over the raw rows, whatever is written,
// stored and dropped below.
func TestNestedContinuousAggregates(t *testing.T) {
	c := demoCluster(t)
	l := dial(t, c.leader())
	l.do("SET timezone = 'UTC'; DROP TABLE IF EXISTS nd CASCADE")
	l.do("CREATE TABLE nd (time timestamptz NOT NULL, host text, n bigint) WITH (timeseries, tags = 'host', window = '12 hours')")
	on := func(from, bucket, time string) string {
		sum, count := "sum(n)", "count(*)"
		if from != "nd" {
			sum, count = "sum(s)", "sum(c)::bigint"
		}
		return "SELECT " + bucket + "(" + time + ") AS b, host, " + sum + "::numeric AS s, " + count + " AS c FROM " + from + " GROUP BY 1, 2"
	}
	bucket := func(width, zone, time string) string {
		if zone != "" {
			return "time_bucket('" + width + "', " + time + ", '" + zone + "')"
		}
		return "time_bucket('" + width + "', " + time + ")"
	}
	type level struct{ name, from, width, zone string }
	levels := []level{
		{"nd_h", "nd", "1 hour", ""},
		{"nd_q", "nd", "15 min", "Europe/Berlin"},
		{"nd_6", "nd_h", "6 hours", ""},
		{"nd_d", "nd_6", "1 day", ""},
		{"nd_m", "nd_d", "1 month", ""},
		{"nd_z", "nd_h", "1 day", "Europe/Berlin"},
		{"nd_zw", "nd_z", "7 days", "Europe/Berlin"},
		{"nd_zq", "nd_q", "1 day", "Europe/Berlin"},
		{"nd_k", "nd_h", "1 month", "America/Havana"},
	}
	raw := map[string]string{} // what each shows, over raw rows
	for _, v := range levels {
		time := "b"
		if v.from == "nd" {
			time = "time"
		}
		q := strings.ReplaceAll(on(v.from, "\x00", time), "\x00("+time+")", bucket(v.width, v.zone, time))
		l.do("CREATE MATERIALIZED VIEW " + v.name + " WITH (timeseries.continuous) AS " + q)
		raw[v.name] = q
		if v.from != "nd" {
			raw[v.name] = strings.Replace(q, "FROM "+v.from, "FROM ("+raw[v.from]+") "+v.from, 1)
		}
	}
	check := func(when string) {
		t.Helper()
		for _, v := range levels {
			got := l.rows("SELECT (SELECT count(*) FROM (SELECT * FROM " + v.name + " EXCEPT ALL (" + raw[v.name] + ")) x) || '/' || (SELECT count(*) FROM ((" + raw[v.name] + ") EXCEPT ALL SELECT * FROM " + v.name + ") y)")
			if got != "0/0" {
				t.Errorf("%s, %s: %s\n%s\n%s", v.name, when, got, l.rows("SELECT * FROM "+v.name+" ORDER BY 1, 2"), l.rows(raw[v.name]+" ORDER BY 1, 2"))
			}
		}
	}
	refresh := func() {
		t.Helper()
		for _, v := range levels {
			l.do("CALL refresh_continuous_aggregate('" + v.name + "', NULL, NULL)")
		}
	}
	for _, day := range []string{"2026-03-28", "2026-10-24", "2026-10-31"} {
		l.do("INSERT INTO nd SELECT '" + day + " 20:00+00'::timestamptz + i * interval '7 min', h, i FROM generate_series(0, 300) i, (VALUES ('a'), ('b')) x(h)")
	}
	check("before a refresh")
	refresh()
	check("after a refresh")
	l.want("SELECT count(*) > 0 FROM nd_d", "t")
	if got := l.rows("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM nd_zw"); !strings.Contains(got, "Seq Scan on nd (actual rows=0") {
		t.Errorf("raw rows are read where all is stored: %s", got)
	}
	for _, sql := range []string{
		"INSERT INTO nd VALUES ('2026-10-25 00:30+00', 'a', 1000), ('2026-10-25 01:30+00', 'c', 50), ('2026-10-24 21:59+00', 'a', 7), ('2026-10-24 22:00+00', 'a', 9)",
		"DELETE FROM nd WHERE host = 'b' AND time >= '2026-03-29 00:50+00' AND time < '2026-03-29 01:20+00'",
		"UPDATE nd SET n = n + 1 WHERE time >= '2026-11-01 04:30+00' AND time < '2026-11-01 05:30+00'",
	} {
		l.do(sql)
		check(sql)
	}
	l.do("CALL refresh_continuous_aggregate('nd_h', NULL, NULL); ")
	check("after a refresh below")
	refresh()
	check("after another refresh")
	l.do("BEGIN; INSERT INTO nd VALUES ('2026-10-25 00:10+00', 'd', 3)")
	check("in a transaction")
	l.do("ROLLBACK")
	before := l.rows("SELECT * FROM nd_d ORDER BY 1, 2")
	l.do("SELECT count(*) FROM drop_chunks('nd', '2026-10-01'::timestamptz)")
	if after := l.rows("SELECT * FROM nd_d ORDER BY 1, 2"); after != before {
		t.Errorf("stored days after the raw rows are gone:\n%s\n%s", after, before)
	}
	for _, sql := range []string{
		"SELECT time_bucket('30 min', b), count(*) FROM nd_h GROUP BY 1",
		"SELECT time_bucket('90 min', b), count(*) FROM nd_h GROUP BY 1",
		"SELECT time_bucket('1 day', b, 'Asia/Kolkata'), count(*) FROM nd_h GROUP BY 1",
		"SELECT time_bucket('1 day', b), count(*) FROM nd_zq GROUP BY 1",
		"SELECT time_bucket('1 month', b, 'Europe/Berlin'), count(*) FROM nd_zw GROUP BY 1",
	} {
		l.fails("CREATE MATERIALIZED VIEW nd_x WITH (timeseries.continuous) AS "+sql, "0A000")
	}
	l.fails("DROP MATERIALIZED VIEW nd_h", "2BP01")
	l.do("DROP TABLE nd CASCADE")
}

// TestSeriesPolicies: refresh and retention policies are shown with what they did.
func TestSeriesPolicies(t *testing.T) {
	c := demoCluster(t)
	l := dial(t, c.leader())
	l.do("DROP MATERIALIZED VIEW IF EXISTS po_h; DROP TABLE IF EXISTS po; CREATE TABLE po (time timestamptz NOT NULL, host text, n bigint) WITH (timeseries, tags = 'host', window = '1 hour')")
	l.do("CREATE MATERIALIZED VIEW po_h WITH (timeseries.continuous) AS SELECT time_bucket('1 minute', time) AS minute, host, sum(n) AS s FROM po GROUP BY 1, 2")
	l.do("INSERT INTO po SELECT now() - i * interval '10 min', 'a', i FROM generate_series(0, 5) i")
	l.do("SELECT add_continuous_aggregate_policy('po_h', start_offset => '1 month', end_offset => '1 minute', schedule_interval => '1 second')")
	l.fails("SELECT add_continuous_aggregate_policy('po_h', NULL, NULL, '1 h')", "42710")
	l.do("SELECT add_continuous_aggregate_policy('po_h', NULL, NULL, '1 h', if_not_exists => true)")
	l.fails("SELECT add_continuous_aggregate_policy('po', NULL, NULL, '1 h')", "42809")
	l.soon("SELECT count(*) FROM ostraka.timeseries_jobs WHERE relation_name = 'po_h' AND job = 'refresh' AND last_status = 'success' AND runs > 0", "1")
	l.soon("SELECT sum(rows) >= 5 FROM ostraka.timeseries WHERE table_name LIKE '\\_buckets\\_%'", "t")
	l.do("SELECT remove_continuous_aggregate_policy('po_h')")
	l.fails("SELECT remove_continuous_aggregate_policy('po_h')", "42704")
	l.do("SELECT add_retention_policy('po', interval '7 days'), add_retention_policy('po_h', interval '1 year')")
	l.fails("SELECT add_retention_policy('po', interval '7 days')", "42710")
	l.want("SELECT string_agg(relation_name || ' ' || drop_after, ',' ORDER BY relation_name) FROM ostraka.timeseries_jobs WHERE job = 'retention' AND relation_name LIKE 'po%'", "po 7 days,po_h 365 days")
	l.do("SELECT remove_retention_policy('po'), remove_retention_policy('po_h')")
	l.want("SELECT count(*) FROM ostraka.timeseries_jobs WHERE relation_name LIKE 'po%'", "0")
	l.want("SELECT approximate_row_count('po'), hypertable_size('po') >= 0", "6|t")
	l.want("SELECT count(*), bool_and(total_bytes >= 0), count(DISTINCT node_name) FROM hypertable_detailed_size('po_h')", "3|t|3")
	l.fails("SELECT hypertable_size('pg_class')", "42809")
	l.do("DROP TABLE po CASCADE")
}
