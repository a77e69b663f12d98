package node

import "testing"

// TestUpsertWaits: INSERT … ON CONFLICT DO UPDATE waits for the row's lock and
// then, above READ COMMITTED, finds a version that its snapshot does not have:
// 40001, not an update of what it never saw. One that was deleted is no longer in
// the way (as PostgreSQL has it).
func TestUpsertWaits(t *testing.T) {
	c := demoCluster(t)
	n := c.leader()
	a, b, watch := dial(t, n), dial(t, n), dial(t, n)
	a.do("CREATE TABLE upsert_waits (k int PRIMARY KEY, v int)")
	for _, other := range []struct{ sql, code string }{{"UPDATE upsert_waits SET v = v + 10", "40001"}, {"DELETE FROM upsert_waits", ""}} {
		for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE", "READ COMMITTED"} {
			a.do("TRUNCATE upsert_waits; INSERT INTO upsert_waits VALUES (1, 0)")
			a.do("BEGIN ISOLATION LEVEL " + level)
			a.want("SELECT v FROM upsert_waits", "0")
			b.do("BEGIN")
			b.do(other.sql)
			done := make(chan struct{})
			go func() {
				defer close(done)
				watch.soon("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted", "t")
				b.do("COMMIT")
			}()
			const upsert = "INSERT INTO upsert_waits AS t VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET v = t.v + 1"
			if level == "READ COMMITTED" || other.code == "" {
				a.do(upsert)
				<-done
				a.do("COMMIT")
			} else {
				a.fails(upsert, other.code)
				<-done
				a.do("ROLLBACK")
			}
		}
	}
	a.do("DROP TABLE upsert_waits")
}
