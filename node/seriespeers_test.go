package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestTimeSeriesCluster: with ostraka.ts_scope = 'cluster' a query reads the rows of
// all nodes, each once, with its conditions, or fails when a node cannot be asked;
// without it a NOTICE tells of rows elsewhere.
func TestTimeSeriesCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three nodes; runs without -short")
	}
	d, err := StartDemo(bounded(t), DemoConfig{Nodes: 3, Dir: t.TempDir(), Heartbeat: 4 * testHeartbeat(), LogLevel: "error"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	c := three{d, t}
	l := dial(t, c.leader())
	l.do("CREATE TABLE sc (time timestamptz NOT NULL, host text, dc text, v float8, n bigint, x numeric, note text) WITH (timeseries, tags = 'host,dc', window = '1 hour')")
	l.do("CREATE MATERIALIZED VIEW sc_h WITH (timeseries.continuous) AS SELECT time_bucket('1 hour', time) AS h, dc, count(*), sum(n), min(x) FROM sc GROUP BY 1, 2")
	l.do("CREATE TABLE plain_hosts (host text, city text); INSERT INTO plain_hosts VALUES ('h1', 'Oslo'), ('it''s', 'Rome')")
	var all []*client
	for i, n := range c.Nodes {
		cl := dial(t, n)
		cl.soon("SELECT count(*) FROM plain_hosts", "2")
		cl.do("SET timezone = 'UTC'")
		all = append(all, cl)
		if i > 0 {
			cl.do("INSERT INTO sc SELECT '2026-01-01'::timestamptz + i * interval '1 min', h, CASE WHEN i % 2 = 0 THEN 'x' END, i / 3.0, i * 10 + " + string(rune('0'+i)) +
				", i * 1.10, CASE WHEN i % 5 = 0 THEN 'note ' || i END FROM generate_series(0, 199) i, (VALUES ('h" + string(rune('0'+i)) + "'), ('it''s')) y(h)")
			cl.do("CALL refresh_continuous_aggregate('sc_h', NULL, NULL)")
		}
	}
	for _, cl := range all {
		cl.want("SELECT count(*) FROM sc", map[bool]string{true: "0", false: "400"}[cl == all[0]])
		cl.do("SET ostraka.ts_scope = 'cluster'")
		cl.want("SELECT count(*), count(DISTINCT host), sum(n), sum(x), count(note) FROM sc", "800|3|797200|87560.00|160")
		cl.want("SELECT count(*), min(time), max(time) FROM sc WHERE host = 'h1' AND time >= '2026-01-01 01:00+00' AND time < '2026-01-01 02:00+00'", "60|2026-01-01 01:00:00+00|2026-01-01 01:59:00+00")
		cl.want("SELECT count(*) FROM sc WHERE host IN ('h2', 'it''s') AND dc IS NULL", "300")
		cl.want("SELECT count(*) FROM sc WHERE host LIKE 'it%' AND n > 1000 AND v < 60", "160")
		cl.want("SELECT city, count(*) FROM sc JOIN plain_hosts USING (host) GROUP BY city ORDER BY city", "Oslo|200 Rome|400")
		cl.want("SELECT time_bucket('2 hours', time) AS b, dc, avg(n) FROM sc WHERE dc = 'x' GROUP BY 1, 2 ORDER BY 1", "2026-01-01 00:00:00+00|x|591.5000000000000000 2026-01-01 02:00:00+00|x|1591.5000000000000000")
		cl.want("SELECT h, dc, count, sum, min FROM sc_h ORDER BY h, dc LIMIT 1", "2026-01-01 00:00:00+00|x|120|34980|0.00")
		cl.want("SELECT note, v, x FROM sc WHERE host = 'h2' AND time = '2026-01-01 00:10+00'", "note 10|3.3333333333333335|11.00")
		cl.do("DELETE FROM sc WHERE host = 'nobody'; RESET ostraka.ts_scope")
	}
	all[1].soon("SELECT count(*) FROM sc", "400")
	for cl, want := range map[*client]string{all[0]: "has no rows on node 1, but has rows on node 2, 3", all[1]: "has rows on node 3 that are not read here"} {
		wait(t, "a notice of rows elsewhere", func(context.Context) error {
			cl.notices = nil
			cl.do("SELECT 1 FROM sc LIMIT 1")
			if len(cl.notices) != 1 || !strings.Contains(cl.notices[0].Message, want) {
				return fmt.Errorf("notices %v", cl.notices)
			}
			return nil
		})
	}
	all[0].do("SET ostraka.ts_scope = 'cluster'")
	if err := c.Nodes[2].Close(); err != nil {
		t.Log(err)
	}
	all[0].want("SELECT node_id, relation::text, rows, error IS NULL FROM ostraka.timeseries WHERE table_name = 'sc' OR table_name IS NULL ORDER BY 1", "2|sc|400|t 3|sc||f")
	_, err = all[0].PgConn().Exec(bounded(t), "SELECT count(*) FROM sc").ReadAll()
	if err == nil || !strings.Contains(err.Error(), "node 3") {
		t.Errorf("with a node missing: %v", err)
	}
}
