package node

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/raft/transport"
)

// TestLeaderLosesQuorum: a client of the leader itself commits when the leader has just
// lost its quorum. It is told neither success nor failure but that the outcome is
// unknown (40003), and what to ask; the answer is the truth, whichever it is.
func TestLeaderLosesQuorum(t *testing.T) {
	c := faultyCluster(t, 3)
	dial(t, c.leader()).do("CREATE TABLE quorum (v text)")
	c.everywhere("SELECT count(*) FROM quorum", "0")
	name := regexp.MustCompile(`SELECT (?:pg_xact_status|ostraka_transaction_status)\('[^']+'\)`)
	for _, k := range []struct{ name, status string }{{"kept from all", "aborted"}, {"answers lost", "committed"}} {
		for _, sql := range []string{"INSERT INTO quorum VALUES ('%s')", "BEGIN; INSERT INTO quorum VALUES ('%s'); COMMIT"} {
			status, value := "", ""
			for try := 0; try < 8 && status == ""; try++ {
				old := c.leader()
				cl := dial(t, old)
				cl.written("INSERT INTO quorum VALUES ('before')")
				hits := c.net.Hits()
				if k.status == "aborted" {
					c.cut(old)
				} else {
					for _, n := range c.others(old) {
						c.net.Set(transport.Edge{From: old.ID(), To: n.ID(), Rule: transport.Rule{DropReplies: true}})
					}
				}
				value = fmt.Sprintf("%s %d %d", k.name, len(sql), try)
				_, err := cl.PgConn().Exec(bounded(t), fmt.Sprintf(sql, value)).ReadAll()
				switch code := sqlState(err); code {
				case "40003", "08007":
					ask := name.FindString(err.(*pgconn.PgError).Hint)
					if ask == "" {
						t.Fatalf("%s: hint %q", value, err.(*pgconn.PgError).Hint)
					}
					if c.net.Hits() == hits {
						t.Error("nothing was lost")
					}
					next := c.leaderAmong(c.others(old))
					status = dial(t, next).rows(ask)
				case "40001", "57P03": // it knew before it proposed: certainly not done
				default:
					t.Fatalf("%s: %v", value, err)
				}
				c.net.Heal()
			}
			if status != k.status {
				t.Errorf("%s: the outcome is %q", value, status)
			}
			want := map[string]string{"aborted": "0", "committed": "1"}[k.status]
			c.everywhere("SELECT count(*) FROM quorum WHERE v = '"+value+"'", want)
		}
	}
	c.same()
}
