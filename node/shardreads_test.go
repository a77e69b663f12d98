package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ostraka/raft/transport"
)

// TestShardReadsAreNewest: a node that hosts no replica of a shard goes on asking the
// replica that led it. One that follows by now, and gets the log late, does not answer
// from what it has.
func TestShardReadsAreNewest(t *testing.T) {
	c := faultyCluster(t, 4, calm)
	cl := dial(t, c.leader())
	cl.do("SELECT shard_create('one', array['1', '2', '3'])")
	cl.do("SELECT doc.create_collection('c', shard_key => 'k')")
	wait(t, "the shard", func(ctx context.Context) error {
		return cl.QueryRow(ctx, "SELECT 1 FROM ostraka.shards WHERE name = 'one' AND state = 'active'").Scan(new(int))
	})
	cl.written("SELECT chunk_rebalance()")
	led := func() *Node {
		var found *Node
		wait(t, "a leader of the shard", func(context.Context) error {
			for _, n := range c.Nodes[:3] {
				if h := n.hostedShard(1); h != nil && h.group.Metrics().Ready {
					found = n
					return nil
				}
			}
			return fmt.Errorf("no node leads it")
		})
		return found
	}
	reader := dial(t, c.Nodes[3])
	insert := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			cl.do(fmt.Sprintf(`SELECT doc.insert('c', '{"_id": %d, "k": %d}')`, i, i))
		}
	}
	insert(0, 40)
	count := "SELECT count(*) FROM doc.find('c') d"
	reader.want(count, "40")
	old := led()
	heir := c.Nodes[0]
	if heir == old {
		heir = c.Nodes[1]
	}
	if err := old.hostedShard(1).group.TransferLeadership(bounded(t), heir.ID()); err != nil {
		t.Fatal(err)
	}
	wait(t, "the old leader to know the new one", func(context.Context) error {
		if l := old.hostedShard(1).group.Leadership().LeaderID; l != heir.ID() {
			return fmt.Errorf("it knows %q", l)
		}
		return nil
	})
	hits := c.net.Hits()
	c.net.Set(transport.Edge{From: heir.ID(), To: old.ID(), Rule: transport.Rule{DropRequests: true}})
	insert(40, 80)
	var n int
	soon, cancel := context.WithTimeout(context.Background(), 3*time.Second) // it may wait for the log
	defer cancel()
	if err := reader.QueryRow(soon, count).Scan(&n); err == nil && n != 80 {
		t.Errorf("the shard's old leader answered %d documents of 80", n)
	}
	if c.net.Hits() == hits {
		t.Error("nothing was lost")
	}
	c.net.Heal()
	again := dial(t, c.Nodes[3])
	wait(t, "all documents", func(ctx context.Context) error {
		if err := again.QueryRow(ctx, count).Scan(&n); err != nil || n != 80 {
			return fmt.Errorf("%d: %w", n, err)
		}
		return nil
	})
}
