package node

import (
	"testing"
)

// TestStatementStatistics: pg_stat_statements counts calls and rows by normalised
// text in both protocols, hides others' statements, and can be reset.
func TestStatementStatistics(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.leader())
	cl.do("CREATE TABLE counted (a int PRIMARY KEY, b text)")
	cl.do("INSERT INTO counted SELECT g, 'x' FROM generate_series(1, 100) g")
	cl.do("SELECT pg_stat_statements_reset()")
	for _, sql := range []string{"SELECT b FROM counted WHERE a = 1", "SELECT b FROM counted WHERE a = 2", "select  b from counted where a = 300 -- none"} {
		cl.do(sql)
	}
	cl.do("UPDATE counted SET b = 'y' WHERE a <= 10")
	for i := range 3 {
		rows, err := cl.Query(bounded(t), "SELECT a FROM counted WHERE a > $1 LIMIT 5", i)
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	const by = " FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query "
	cl.want("SELECT calls, rows, min_exec_time <= mean_exec_time AND mean_exec_time <= max_exec_time AND total_exec_time > 0"+by+"ILIKE '%where a = $1%'", "3|2|t")
	cl.want("SELECT calls, rows"+by+"= 'UPDATE counted SET b = $1 WHERE a <= $2'", "1|10")
	cl.want("SELECT calls, rows"+by+"= 'SELECT a FROM counted WHERE a > $1 LIMIT $2'", "3|15")
	cl.do("CREATE ROLE peeper LOGIN; CREATE ROLE watcher LOGIN; GRANT pg_read_all_stats TO watcher")
	cl.do("SET ROLE peeper")
	cl.want("SELECT count(*) FILTER (WHERE query <> '<insufficient privilege>') FROM pg_stat_statements WHERE userid = 10", "0")
	cl.fails("SELECT pg_stat_statements_reset()", "42501")
	cl.do("RESET ROLE; SET ROLE watcher")
	cl.want("SELECT count(*) > 3 FROM pg_stat_statements WHERE userid = 10 AND query <> '<insufficient privilege>'", "t")
	cl.do("RESET ROLE")
	cl.do("SELECT pg_stat_statements_reset(0, 0, (SELECT queryid" + by + "= 'UPDATE counted SET b = $1 WHERE a <= $2'))")
	cl.want("SELECT count(*)"+by+"LIKE 'UPDATE counted%'", "0")
	cl.want("SELECT dealloc, stats_reset <= now() FROM pg_stat_statements_info", "0|t")
	cl.want("SELECT count(*) FROM pg_class WHERE relname LIKE 'pg_stat_statements%'", "0") // not among what PostgreSQL has
}

// TestActivity: pg_stat_activity shows the transaction's id, and to other roles only that a session is there.
func TestActivity(t *testing.T) {
	c := demoCluster(t)
	a, b := dial(t, c.leader()), dial(t, c.leader())
	a.do("CREATE TABLE seen (a int); CREATE ROLE stranger LOGIN")
	a.do("BEGIN; INSERT INTO seen VALUES (1)")
	b.want("SELECT state, backend_xid IS NOT NULL, xact_start <= now(), query FROM pg_stat_activity WHERE backend_xid IS NOT NULL",
		"idle in transaction|t|t|BEGIN; INSERT INTO seen VALUES (1)")
	b.do("SET ROLE stranger")
	b.want("SELECT count(*) > 0 FROM pg_stat_activity WHERE query = '<insufficient privilege>' AND state IS NULL AND usename = 'postgres'", "t")
	b.do("RESET ROLE")
	a.do("COMMIT")
	b.soon("SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL", "0")
}

// TestTableStatistics: the statistics views count scans and rows of tables and indexes.
func TestTableStatistics(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.leader())
	cl.do("CREATE TABLE used (a int PRIMARY KEY, b int); CREATE INDEX used_b ON used (b)")
	cl.do("INSERT INTO used SELECT g, g % 10 FROM generate_series(1, 100) g")
	const table = "SELECT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup FROM pg_stat_user_tables WHERE relname = 'used'"
	cl.want(table, "0|0|0|0|100|0|0|100")
	cl.do("SELECT count(b) FROM used")
	cl.want("SELECT b FROM used WHERE a = 7", "7")
	cl.want("SELECT b FROM used WHERE a = 700", "")
	cl.want(table, "1|100|2|1|100|0|0|100")
	cl.do("DELETE FROM used WHERE a = 1")
	cl.do("UPDATE used SET b = 3 WHERE a = 2")
	cl.want("SELECT n_tup_ins, n_tup_upd, n_tup_del, n_live_tup FROM pg_stat_user_tables WHERE relname = 'used'", "100|1|1|99")
	cl.want("SELECT idx_scan > 0, idx_tup_fetch > 0 FROM pg_stat_user_indexes WHERE indexrelname = 'used_pkey'", "t|t")
	cl.want("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'used_b'", "0")
}
