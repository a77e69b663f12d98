package node

import (
	"strings"
	"sync"
	"testing"
)

// TestTimeSeriesLocal: the table is on every node, its rows on the one they were
// written to, whether that leads or not; a transaction writes either kind.
func TestTimeSeriesLocal(t *testing.T) {
	c := demoCluster(t)
	leader, follower := c.leader(), c.follower()
	l := dial(t, leader)
	l.do("DROP TABLE IF EXISTS ts, plain; CREATE TABLE ts (time timestamptz NOT NULL, host text, v float8, n bigint) WITH (timeseries, tags = 'host')")
	l.do("CREATE TABLE plain (i int)")
	f := dial(t, follower)
	f.do("INSERT INTO plain VALUES (0)") // brings the catalogue
	f.do("INSERT INTO ts VALUES ('2026-01-01 00:00:00+00', 'a', 1.5, 1), ('2026-01-01 00:00:10+00', 'a', 2.5, 2)")
	f.want("SELECT count(*) FROM ts", "2")
	l.notices = nil
	l.want("SELECT count(*) FROM ts", "0")
	if len(l.notices) != 1 || !strings.Contains(l.notices[0].Message, "has no rows on node") {
		t.Errorf("an empty answer without a notice: %v", l.notices)
	}
	f.want("SELECT rows FROM ostraka.timeseries WHERE table_name = 'ts'", "2")
	l.want("SELECT node_id, series, rows FROM ostraka.timeseries WHERE table_name = 'ts'", follower.cfg.NodeID+"|1|2")
	f.do("INSERT INTO ts VALUES ('2026-01-01 00:00:10+00', 'a', 2.5, 2)")
	l.want("SELECT rows, rows_in_memory FROM ostraka.timeseries WHERE table_name = 'ts'", "2|3")
	f.do("BEGIN")
	f.want("SELECT count(*) FROM ts", "2")
	f.do("INSERT INTO ts VALUES ('2026-01-01 00:00:20+00', 'a', 3.5, 3)")
	f.want("SELECT count(*) FROM ts", "3")
	f.do("COMMIT")
	f.want("SELECT sum(v) FROM ts", "7.5")
	for _, cl := range []*client{l, f} {
		cl.do("BEGIN")
		cl.do("INSERT INTO ts VALUES ('2026-01-02 00:00:00+00', 'b', 1, 1)")
		cl.fails("INSERT INTO plain VALUES (1)", "0A000")
		cl.do("ROLLBACK")
		cl.want("SELECT count(*) FROM ts WHERE host = 'b'", "0")
	}
	l.do("BEGIN")
	l.do("INSERT INTO plain VALUES (1)")
	l.fails("INSERT INTO ts VALUES (now(), 'b', 1, 1)", "0A000")
	l.do("ROLLBACK")
	l.do("SET ostraka.ts_scope = 'local'")
	l.fails("SET ostraka.ts_scope = 'elsewhere'", "22023")
	l.want("SHOW ostraka.ts_scope", "node")
	l.do("TRUNCATE ts")
	f.do("INSERT INTO plain VALUES (0)")
	f.want("SELECT count(*) FROM ts", "0")
}

// TestTimeSeriesWrites: the last write of a key wins, statements that read before
// they write lose nothing, and what is changed is what is seen.
func TestTimeSeriesWrites(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.Nodes[0])
	cl.do("DROP TABLE IF EXISTS w; CREATE TABLE w (time timestamptz NOT NULL, host text, n bigint, v float8, note text) WITH (timeseries, tags = 'host')")
	cl.do("INSERT INTO w VALUES ('2026-01-01 00:00:00+00', 'a', 1, 1, 'x')")
	cl.do("INSERT INTO w VALUES ('2026-01-01 00:00:00+00', 'a', 0, NULL, NULL)")
	cl.want("SELECT count(*) FROM w WHERE v IS NULL AND note IS NULL", "1")
	const writers, each = 6, 20
	var wg sync.WaitGroup
	for range writers {
		other := dial(t, c.Nodes[0])
		wg.Go(func() {
			for i := range each {
				if i%2 == 0 {
					other.do("UPDATE w SET n = n + 1 WHERE host = 'a'")
				} else {
					other.do("INSERT INTO w VALUES ('2026-01-01 00:00:00+00', 'a', 1) ON CONFLICT (time, host) DO UPDATE SET n = w.n + 1")
				}
			}
		})
	}
	wg.Wait()
	cl.want("SELECT n FROM w", "120")
	cl.do("UPDATE w SET host = 'b', time = time + interval '1 h'")
	cl.want("SELECT host || extract(hour FROM time AT TIME ZONE 'UTC') FROM w", "b1")
	cl.do("DELETE FROM w")
	cl.want("SELECT count(*) FROM w", "0")
	cl.fails("INSERT INTO w VALUES (NULL, 'a')", "23502")
	cl.fails("INSERT INTO w VALUES ('infinity', 'a')", "22008")
	cl.fails("CREATE INDEX ON w (n)", "0A000")
	cl.fails("CREATE TABLE bad (time timestamptz, v point) WITH (timeseries, tags = '')", "0A000")
	cl.fails("CREATE TABLE bad (v float8) WITH (timeseries, tags = '')", "22023")
}

// TestTimeBucket: half-open, floored on both sides of the origin, by wall clock in a zone.
func TestTimeBucket(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.Nodes[0])
	cl.do("SET timezone = 'UTC'")
	for sql, want := range map[string]string{
		"time_bucket('5 min', timestamptz '1969-12-31 23:58+00')::text":                     "1969-12-31 23:55:00+00",
		"time_bucket('1 week', timestamptz '2026-02-01 00:00+00')::text":                    "2026-01-26 00:00:00+00",
		"time_bucket('1 month', timestamptz '1999-12-31 23:00+00')::text":                   "1999-12-01 00:00:00+00",
		"time_bucket('1 day', timestamptz '2026-02-01 03:00+00', 'Europe/Berlin')::text":    "2026-01-31 23:00:00+00",
		"time_bucket('1 hour', timestamptz '2026-02-01 03:10+00', interval '15 min')::text": "2026-02-01 02:15:00+00",
		"time_bucket(10, -3)::text":    "-10",
		"time_bucket(10, 17, 5)::text": "15",
	} {
		cl.want("SELECT "+sql, want)
	}
	cl.fails("SELECT time_bucket('0 s', now())", "22023")
	cl.fails("SELECT time_bucket_gapfill('1 h', now())", "0A000")
	cl.want("SELECT first(v, t) || last(v, t) FROM (VALUES ('b', 2), ('a', 1), ('c', 3), ('x', NULL)) s(v, t)", "ac")
	cl.want("SELECT histogram(v, 0, 10, 2)::text FROM (VALUES (-1.0), (0), (4), (5), (10)) s(v)", "{1,2,1,1}")
	cl.want("SELECT increase(v, now() + t * interval '1 s') || '/' || delta(v, now() + t * interval '1 s') FROM (VALUES (1, 10.0), (3, 5), (2, 20)) s(t, v)", "15/-5")
}

// TestTimeSeriesRestore: the key of a time-series table, which pg_dump writes after the table, is taken as the one it has.
func TestTimeSeriesRestore(t *testing.T) {
	cl := dial(t, alone(t, t.TempDir(), nil))
	cl.do("CREATE TABLE dumped (\"time\" timestamptz NOT NULL, host text, v float8) WITH (timeseries='true', time_column='time', tags=host)")
	cl.do("ALTER TABLE ONLY dumped ADD CONSTRAINT dumped_host_time_key UNIQUE NULLS NOT DISTINCT (host, \"time\")")
	cl.want("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'dumped'::regclass AND contype = 'u'", `UNIQUE NULLS NOT DISTINCT (host, "time")`)
	cl.do("ALTER TABLE ONLY dumped ADD CONSTRAINT mine UNIQUE NULLS NOT DISTINCT (host, \"time\")")
	cl.do("INSERT INTO dumped VALUES ('2026-01-01', 'a', 1)")
	cl.do("INSERT INTO dumped VALUES ('2026-01-01', 'a', 2) ON CONFLICT ON CONSTRAINT mine DO UPDATE SET v = 3")
	cl.want("SELECT conname, v, to_regclass('dumped_host_time_key') IS NULL FROM pg_constraint, dumped WHERE conrelid = 'dumped'::regclass AND contype = 'u'", "mine|3|t")
	cl.fails("ALTER TABLE ONLY dumped ADD CONSTRAINT another UNIQUE NULLS NOT DISTINCT (host, \"time\")", "0A000")
	cl.fails("ALTER TABLE dumped ADD CONSTRAINT other UNIQUE (host)", "0A000")
	cl.fails("ALTER TABLE dumped ADD PRIMARY KEY (host, \"time\")", "0A000")
}

// TestCreateHypertable: an empty table becomes a time series in TimescaleDB's spelling.
func TestCreateHypertable(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.leader())
	cl.do("DROP TABLE IF EXISTS conditions, full_one; CREATE TABLE conditions (time timestamptz NOT NULL, location text NOT NULL, temperature float8)")
	cl.want("SELECT create_hypertable('conditions', by_range('time'))", "conditions")
	cl.fails("SELECT create_hypertable('conditions', 'time')", "42P07")
	cl.do("INSERT INTO conditions VALUES ('2026-01-01', 'roof', 1), ('2026-01-01', 'roof', 2), ('2026-01-01', 'cellar', 3)")
	cl.want("SELECT count(*) || '/' || sum(temperature) FROM conditions", "2/5")
	cl.want("SELECT relation::text FROM ostraka.timeseries WHERE table_name = 'conditions'", "conditions")
	cl.do("DROP TABLE IF EXISTS ht_a, ht_b, ht_c, ht_d; CREATE TABLE ht_a (time timestamptz NOT NULL, device int, v float8, PRIMARY KEY (device, time))")
	cl.want("SELECT create_hypertable('ht_a', 'time', if_not_exists => TRUE)", "ht_a")
	cl.want("SELECT create_hypertable('ht_a', 'time', chunk_time_interval => interval '1 day', if_not_exists => TRUE)", "ht_a")
	cl.do("CREATE TABLE ht_b (time timestamptz NOT NULL, device int, v float8, PRIMARY KEY (time, device)) WITH (tsdb.hypertable, tsdb.partition_column = 'time')")
	cl.notices = nil
	cl.do("CREATE TABLE ht_c (time timestamptz NOT NULL, device_id int, v float8) WITH (tsdb.hypertable)")
	cl.do("CREATE TABLE ht_d (time timestamptz NOT NULL, v float8, x int); SELECT create_hypertable('ht_d', by_range('time'))")
	if len(cl.notices) != 2 || !strings.Contains(cl.notices[0].Message, "(device_id, time)") || !strings.Contains(cl.notices[1].Message, "(time)") {
		t.Errorf("notices %v", cl.notices)
	}
	for _, table := range []string{"ht_a", "ht_b", "ht_c"} {
		cl.do("INSERT INTO " + table + " VALUES ('2026-01-01', 1, 1), ('2026-01-01', 2, 2), ('2026-01-01', 2, 3)")
		cl.want("SELECT count(*), sum(v) FROM "+table, "2|4")
	}
	cl.do("CREATE EXTENSION IF NOT EXISTS timescaledb; ALTER TABLE ht_a SET (timescaledb.compress, timescaledb.compress_orderby = 'time DESC')")
	cl.do("SELECT add_compression_policy('ht_a', interval '7 days')")
	cl.do("CALL add_columnstore_policy('ht_a', after => interval '7 d')")
	cl.do("CREATE TABLE full_one (time timestamptz, v float8); INSERT INTO full_one VALUES (now(), 1)")
	cl.fails("SELECT create_hypertable('full_one', 'time')", "0A000")
}

// TestTimeSeriesChunks: windows that lie on one side of the bounds as a whole are
// listed, and dropped with their rows; others keep theirs.
func TestTimeSeriesChunks(t *testing.T) {
	c := demoCluster(t)
	l := dial(t, c.leader())
	l.do("DROP TABLE IF EXISTS ch, chn, chp; CREATE TABLE ch (time timestamptz NOT NULL, host text, v float8) WITH (timeseries, tags = 'host', window = '1 day')")
	l.do("CREATE TABLE chn (time bigint NOT NULL, v float8) WITH (timeseries, time_column = 'time', tags = '', window = '100')")
	l.do("CREATE TABLE chp (i int)")
	f := dial(t, c.follower())
	f.do("INSERT INTO chp VALUES (0)") // brings the catalogue
	f.do("SET timezone = 'UTC'")
	f.want("SELECT count(*) FROM show_chunks('ch')", "0")
	f.do("INSERT INTO ch SELECT '1999-12-30 12:00+00'::timestamptz + i * interval '12 h', h, i FROM generate_series(0, 9) i, (VALUES ('a'), ('b')) x(h)")
	f.want("SELECT count(*) FROM show_chunks('ch')", "6")
	f.want("SELECT c FROM show_chunks('ch', older_than => '2000-01-01 00:00+00'::timestamptz) c ORDER BY c LIMIT 1", "[1999-12-30 00:00:00+00, 1999-12-31 00:00:00+00)")
	f.want("SELECT count(*) FROM show_chunks('ch', interval '1 day', interval '100 years')", "6")
	f.want("SELECT count(*) FROM show_chunks('ch', timestamptz '-infinity')", "0")
	f.want("SELECT string_agg(c, ';') FROM drop_chunks('ch', '2000-01-02 18:00+00'::timestamptz, '1999-12-31 06:00+00'::timestamptz) c", "[2000-01-01 00:00:00+00, 2000-01-02 00:00:00+00)")
	f.want("SELECT count(*) || '/' || count(*) FILTER (WHERE time >= '2000-01-01' AND time < '2000-01-02') FROM ch", "16/0")
	f.do("INSERT INTO ch VALUES ('2000-01-01 00:00+00', 'a', 1)")
	f.want("SELECT count(*) FROM ch WHERE time >= '2000-01-01' AND time < '2000-01-02'", "1")
	f.want("SELECT count(*) FROM drop_chunks('ch', '2000-01-01 23:59+00'::timestamptz)", "2")
	f.want("SELECT min(time)::text FROM ch", "2000-01-01 00:00:00+00")
	f.do("BEGIN")
	f.fails("SELECT drop_chunks('ch', interval '1 day')", "25001")
	f.do("ROLLBACK")
	f.do("SET default_transaction_read_only = on")
	f.fails("SELECT drop_chunks('ch', interval '1 day')", "25006")
	f.do("RESET default_transaction_read_only")
	f.fails("SELECT drop_chunks('chp', interval '1 day')", "42809")
	f.fails("SELECT drop_chunks('ch', 5)", "22023")
	f.fails("SELECT drop_chunks('chn', interval '1 day')", "22023")
	f.do("INSERT INTO chn SELECT i * 50, i FROM generate_series(-3, 3) i")
	f.want("SELECT string_agg(c, ';') FROM drop_chunks('chn', 100) c", "[-200, -100);[-100, 0);[0, 100)")
	f.want("SELECT string_agg(time::text, ',' ORDER BY time) FROM chn", "100,150")
	l.do("DROP ROLE IF EXISTS chunk_guest; CREATE ROLE chunk_guest")
	l.do("SET ROLE chunk_guest")
	l.fails("SELECT drop_chunks('ch', interval '1 day')", "42501")
}
