package node

import (
	"strings"
	"testing"

	"ostraka/pgfront/session"
)

// TestLateForward: what a follower has sent to its leader and given up on may
// arrive when that node leads no longer, or again in a later term. It is refused
// then; it is neither passed on nor executed under a name that nobody asks for.
func TestLateForward(t *testing.T) {
	c := demoCluster(t)
	old := c.leader()
	dial(t, old).do("CREATE TABLE late (v int)")
	var f, other *Node
	for _, n := range c.Nodes {
		switch {
		case n == old:
		case f == nil:
			f = n
		default:
			other = n
		}
	}
	up, err := forwarder{n: f, group: f.group}.Open(bounded(t), session.Identity{SessionUser: "postgres", Role: "postgres", Database: "postgres", Node: f.ID()})
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	send := func(sql string) (answer string) {
		t.Helper()
		if err := up.Send('Q', append([]byte(sql), 0)); err != nil {
			t.Fatal(err)
		}
		if err := up.Flush(); err != nil {
			t.Fatal(err)
		}
		for {
			kind, body, err := up.Receive(bounded(t))
			switch {
			case err != nil:
				t.Fatal(err)
			case kind == 'E' || kind == 'C':
				answer += string(kind) + strings.ReplaceAll(string(body), "\x00", " ")
			case kind == 'Z':
				return answer
			}
		}
	}
	if got := send("INSERT INTO late VALUES (1)"); !strings.HasPrefix(got, "CINSERT") {
		t.Fatal(got)
	}
	c.transfer(other)
	for _, leads := range []*Node{other, old} {
		if leads == old {
			c.transfer(old)
		}
		for _, sql := range []string{"INSERT INTO late VALUES (2)", "BEGIN; INSERT INTO late VALUES (3); COMMIT"} {
			if got := send(sql); !strings.Contains(got, "40001") {
				t.Errorf("node %s leads, %s: %s", leads.ID(), sql, got)
			}
			send("ROLLBACK")
		}
		if !up.Stale() {
			t.Errorf("node %s leads: the follower would go on with its session", leads.ID())
		}
	}
	c.everywhere("SELECT count(*) FROM late", "1")
	dial(t, c.leader()).do("DROP TABLE late")
}
