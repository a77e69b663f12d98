package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestRemovedNode: a node that was taken out of the cluster is not ready and does not
// answer from tables that stand still, whether it was there at the time or not; it can
// be looked into, and works again when it is a member again.
func TestRemovedNode(t *testing.T) {
	c := faultyCluster(t, 3)
	lead := c.leader()
	out := c.follower()
	cl := dial(t, out)
	cl.do("CREATE TABLE removed (id int PRIMARY KEY, v int); INSERT INTO removed VALUES (1, 1)")
	cl.do("SELECT doc.create_collection('removed_docs'); SELECT doc.insert('removed_docs', '{\"a\": 1}')")
	cl.do("CREATE TABLE removed_series (time timestamptz NOT NULL, v float8) WITH (timeseries, tags = '')")
	c.everywhere("SELECT v FROM removed", "1")
	cl.do("INSERT INTO removed_series VALUES (now(), 1)")
	var rest []string
	for _, n := range c.others(out) {
		rest = append(rest, n.ID())
	}
	for _, away := range []bool{false, true} {
		if away {
			c.cut(out)
		}
		dial(t, lead).do("SELECT raft_change_membership(ARRAY[" + strings.Join(rest, ",") + "])")
		dial(t, lead).do("UPDATE removed SET v = v + 1")
		if away {
			cl.want("SELECT count(*) FROM removed", "1") // it cannot know
			c.net.Heal()
		}
		wait(t, "the node to know that it is removed", func(context.Context) error {
			if err := out.Ready(); !errors.Is(err, errNotMember) {
				return fmt.Errorf("ready: %v", err)
			}
			return nil
		})
		for _, sql := range []string{
			"SELECT v FROM removed WHERE id = 1", "SELECT sum(v) FROM removed", "BEGIN READ ONLY; SELECT v FROM removed",
			"WITH x AS (SELECT v FROM removed) SELECT 1 WHERE EXISTS (SELECT * FROM x)", "COPY removed TO STDOUT",
			"SELECT doc.count('removed_docs')", "SELECT doc.find_one('removed_docs', '{\"a\": 1}')", "SELECT * FROM doc.find('removed_docs')",
		} {
			pe := cl.fails(sql, "57P03")
			if !strings.Contains(pe.Message, "not a member") {
				t.Errorf("%s: %s", sql, pe.Message)
			}
			cl.do("ROLLBACK")
		}
		var v int
		if err := cl.QueryRow(bounded(t), "SELECT v FROM removed WHERE id = $1", 1).Scan(&v); sqlState(err) != "57P03" {
			t.Errorf("the extended protocol: %d, %v", v, err)
		}
		dial(t, out).fails("UPDATE removed SET v = 0", "57P03")
		cl.want("SELECT 1, (SELECT count(*) FROM pg_class WHERE relname = 'removed'), (SELECT count(*) FROM removed_series)", "1|1|1")
		cl.want("SELECT raft_metrics()->>'leader'", "")
		dial(t, lead).do("SELECT raft_add_learner(" + out.ID() + ", '" + out.RaftAddr() + "')")
		dial(t, lead).do("SELECT raft_change_membership(ARRAY[1, 2, 3])")
		wait(t, "the node to be ready", func(context.Context) error { return out.Ready() })
		lead = c.leader()
	}
	dial(t, lead).want("SELECT v FROM removed", "3")
	c.everywhere("SELECT v FROM removed", "3")
	c.same()
}
