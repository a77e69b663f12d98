package node

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"ostraka/raft/transport"
)

// TestShardReplicaReads: a node reads its own replica of a shard that another one
// leads, as ostraka.read_consistency says: it goes on without the others at level
// local, shows a session's own writes and nothing older than it has shown, is never
// older than bounded allows, and leader and linearizable do not use it.
func TestShardReplicaReads(t *testing.T) {
	c := faultyCluster(t, 3)
	cl := dial(t, c.leader())
	cl.do("SELECT shard_create('one', array['1', '2', '3'])")
	cl.do("SELECT doc.create_collection('c', shard_key => 'k')")
	wait(t, "the shard", func(ctx context.Context) error {
		return cl.QueryRow(ctx, "SELECT 1 FROM ostraka.shards WHERE name = 'one' AND state = 'active'").Scan(new(int))
	})
	cl.written("SELECT chunk_rebalance()")
	var led *Node
	wait(t, "a leader of the shard", func(context.Context) error {
		for _, n := range c.Nodes {
			if h := n.hostedShard(1); h != nil && h.group.Metrics().Ready && h.group.Leadership().IsLeader {
				led = n
				return nil
			}
		}
		return fmt.Errorf("no node leads it")
	})
	c.transfer(led) // so that one node is left that follows everywhere
	lag := c.follower()
	writer := dial(t, led)
	writer.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i)) FROM generate_series(1, 100) i))`)
	const count = "SELECT doc.count('c')"
	local, fresh, strong, mixed := dial(t, lag), dial(t, lag), dial(t, lag), dial(t, lag)
	local.soon(count, "100")
	local.soon(`SELECT count(*) FROM ostraka.chunk_map WHERE shard = 'one'`, "256")
	fresh.do("SET ostraka.read_consistency = bounded; SET ostraka.max_staleness = '150ms'")
	strong.do("SET ostraka.read_consistency = linearizable")
	fresh.want(count, "100")
	mixed.want(count, "100")

	// The log comes late to the node.
	c.net.Set(transport.Edge{From: led.ID(), To: lag.ID(), Rule: transport.Rule{Delay: 350 * time.Millisecond}})
	hits := c.net.Hits()
	for i := 101; i < 105; i++ {
		writer.do(fmt.Sprintf(`SELECT doc.insert('c', '{"_id": %d, "k": %d}')`, i, i))
		begin := time.Now()
		strong.want(count, strconv.Itoa(i))
		if d := 160*time.Millisecond - time.Since(begin); d > 0 {
			<-time.After(d)
		}
		fresh.want(count, strconv.Itoa(i))
		mixed.do("SET ostraka.read_consistency = linearizable")
		mixed.want(count, strconv.Itoa(i))
		mixed.do("SET ostraka.read_consistency = local")
		mixed.want(count, strconv.Itoa(i)) // it has been shown that
	}
	for i := 105; i < 109; i++ {
		local.do(fmt.Sprintf(`SELECT doc.insert('c', '{"_id": %d, "k": %d}')`, i, i))
		local.want(count, strconv.Itoa(i))
		local.want(fmt.Sprintf(`SELECT doc.count('c', '{"k": %d}')`, i), "1")
	}
	if c.net.Hits() == hits {
		t.Error("no message was delayed")
	}
	c.net.Heal()

	// Cut off, it answers from what it has.
	alone := dial(t, lag)
	alone.want(count, "108")
	fresh.want(count, "108")
	c.cut(lag)
	writer.written(`SELECT doc.insert('c', '{"_id": 200, "k": 200}')`)
	alone.want(count, "108")
	alone.want(`SELECT doc.count('c', '{"k": 7}')`, "1")
	alone.do("SET ostraka.request_timeout = '2s'")
	fresh.do("SET ostraka.request_timeout = '2s'")
	wait(t, "the age of the state to pass", func(context.Context) error {
		if got, err := fresh.again(count); err == nil {
			return fmt.Errorf("it answers %s", text(got[0].Rows))
		}
		return nil
	})
	alone.do("SET ostraka.read_consistency = linearizable")
	if _, err := alone.again(count); err == nil {
		t.Error("a linearizable read was answered without the shard's majority")
	}
	c.net.Heal()
	alone.do("SET ostraka.read_consistency = local")
	alone.soon(count, "109")
}
