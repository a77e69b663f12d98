package node

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/raft/transport"
)

// TestTransactionStatus: every transaction's outcome can be asked for, on any node, also after the leader changed.
func TestTransactionStatus(t *testing.T) {
	c := demoCluster(t)
	leader := c.leader()
	cl := dial(t, leader)
	cl.do("CREATE TABLE outcomes (v int)")
	begin := func(cl *client, sql string) string {
		cl.do("BEGIN")
		xid := cl.rows("SELECT pg_current_xact_id()")
		if sql != "" {
			cl.do(sql)
		}
		return xid
	}
	committed := begin(cl, "INSERT INTO outcomes VALUES (1)")
	cl.do("COMMIT")
	empty := begin(cl, "")
	cl.do("COMMIT")
	aborted := begin(cl, "INSERT INTO outcomes VALUES (2)")
	cl.do("ROLLBACK")
	open := begin(cl, "INSERT INTO outcomes VALUES (3)")
	large := begin(dial(t, c.follower()), "INSERT INTO outcomes SELECT 0 FROM generate_series(1, 100000)") // staged in the log, not committed
	check := func(want map[string]string) {
		t.Helper()
		for _, n := range c.Nodes {
			q := dial(t, n)
			for xid, st := range want {
				q.want("SELECT pg_xact_status('"+xid+"'), txid_status("+xid+")", st+"|"+st)
			}
		}
	}
	check(map[string]string{committed: "committed", empty: "committed", aborted: "aborted", open: "in progress", large: "in progress"})
	other := dial(t, leader)
	other.fails("SELECT pg_xact_status('1000000000')", "22023")
	other.want("SELECT pg_xact_status('2')", "committed")
	for _, n := range c.Nodes {
		if n != leader {
			c.transfer(n)
			break
		}
	}
	check(map[string]string{committed: "committed", empty: "committed", aborted: "aborted", open: "aborted", large: "aborted"})
}

// TestTransactionID: a client's name for a transaction lets it commit once, through any node and leader, and tells whether it has.
func TestTransactionID(t *testing.T) {
	c := demoCluster(t)
	leader := c.leader()
	dial(t, leader).do("CREATE TABLE named (v int)")
	for i, n := range c.Nodes {
		cl := dial(t, n)
		id := fmt.Sprintf("order-%d", i)
		cl.want("SELECT ostraka_transaction_status('"+id+"')", "")
		cl.do("BEGIN; SET LOCAL ostraka.transaction_id = '" + id + "'; INSERT INTO named VALUES (1)")
		dial(t, c.Nodes[(i+1)%3]).want("SELECT ostraka_transaction_status('"+id+"')", "in progress")
		cl.do("COMMIT")
		cl.do("INSERT INTO named VALUES (2)") // it was for one transaction
		c.transfer(c.Nodes[(i+2)%3])
		again := dial(t, c.Nodes[(i+1)%3])
		again.want("SELECT ostraka_transaction_status('"+id+"')", "committed")
		again.do("BEGIN; SET LOCAL ostraka.transaction_id = '" + id + "'; INSERT INTO named VALUES (1)")
		again.fails("COMMIT", "23505")
		again.do("BEGIN; SET LOCAL ostraka.transaction_id = '" + id + "x'; INSERT INTO named VALUES (3); ROLLBACK")
		again.want("SELECT ostraka_transaction_status('"+id+"x')", "")
	}
	c.everywhere("SELECT string_agg(v::text, ',' ORDER BY v) FROM named", "1,1,1,2,2,2")
}

// TestLostOutcome: when the leader is lost with a forwarded statement, the error names what to ask for, and the answer is right.
func TestLostOutcome(t *testing.T) {
	c := faultyCluster(t, 3)
	dial(t, c.leader()).do("CREATE TABLE lost (v text PRIMARY KEY)")
	name := regexp.MustCompile(`ostraka_transaction_status\('([0-9a-f]{16}\.\d+)'\)`)
	for _, kind := range []string{"committed", "aborted"} {
		old := c.leader()
		f := c.others(old)[0]
		cl := dial(t, f)
		cl.do("INSERT INTO lost VALUES ('" + kind + " before')")
		holder := dial(t, old)
		if kind == "aborted" {
			holder.do("BEGIN; LOCK TABLE lost IN ACCESS EXCLUSIVE MODE")
		} else {
			c.net.Set(transport.Edge{From: f.ID(), To: old.ID(), Rule: transport.Rule{DropReplies: true}}) // it runs, and the answer does not come
		}
		failed := make(chan error, 1)
		ctx := bounded(t)
		go func() {
			_, err := cl.PgConn().Exec(ctx, "INSERT INTO lost VALUES ('"+kind+"')").ReadAll()
			failed <- err
		}()
		if kind == "aborted" {
			dial(t, old).soon("SELECT count(*) FROM pg_locks WHERE NOT granted", "1")
		} else {
			dial(t, c.others(old)[1]).soon("SELECT count(*) FROM lost WHERE v = 'committed'", "1")
		}
		c.cut(old)
		err := <-failed
		if sqlState(err) != "08007" {
			t.Fatalf("%s: %v", kind, err)
		}
		m := name.FindStringSubmatch(err.(*pgconn.PgError).Hint)
		if m == nil {
			t.Fatalf("%s: hint %q", kind, err.(*pgconn.PgError).Hint)
		}
		c.leaderAmong(c.others(old))
		cl.want("SELECT ostraka_transaction_status('"+m[1]+"')", kind)
		c.net.Heal()
		want := map[string]string{"committed": "2", "aborted": "1"}[kind]
		cl.want("SELECT count(*) FROM lost WHERE v LIKE '"+kind+"%'", want)
		c.everywhere("SELECT count(*) FROM lost WHERE v LIKE '"+kind+"%'", want)
	}
}
