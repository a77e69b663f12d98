package node

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestShardsUnderFailovers: three shards of three replicas each, clients of every
// node, and in turn each node cut off from the others: no acknowledged document is lost,
// none is there twice, and each shard's replicas end equal.
func TestShardsUnderFailovers(t *testing.T) {
	c := faultyCluster(t, 3)
	cl := dial(t, c.leader())
	for _, s := range []string{"one", "two", "three"} {
		cl.do(fmt.Sprintf("SELECT shard_create('%s')", s))
	}
	cl.do("SELECT doc.create_collection('c', shard_key => 'k')")
	wait(t, "three voters of each shard", func(context.Context) error {
		for id := int32(1); id <= 3; id++ {
			if _, err := c.shardSums(id); err != nil {
				return err
			}
		}
		return nil
	})
	cl.written("SELECT chunk_rebalance()")
	const clients = 6
	var stop atomic.Bool
	var wg sync.WaitGroup
	var acked [clients][]int
	var total atomic.Int64
	for i := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var conn *pgx.Conn
			for seq := 0; !stop.Load(); seq++ {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				var err error
				if conn == nil || conn.IsClosed() {
					conn, err = pgx.Connect(ctx, c.Nodes[i%3].DSN())
				}
				if err == nil {
					_, err = conn.Exec(ctx, fmt.Sprintf(`SELECT doc.insert('c', '{"_id": "%d-%d", "k": %d}')`, i, seq, seq*7+i))
				}
				if err == nil {
					acked[i] = append(acked[i], seq)
					total.Add(1)
				}
				if ctx.Err() != nil {
					t.Errorf("a client of node %s hung: %v", c.Nodes[i%3].ID(), err)
				}
				cancel()
			}
			if conn != nil {
				_ = conn.Close(context.Background())
			}
		}()
	}
	more := func(what string) {
		t.Helper()
		from := total.Load()
		wait(t, "writes "+what, func(context.Context) error {
			if n := total.Load() - from; n < 60 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
	}
	more("before")
	for _, n := range c.Nodes {
		hits := c.net.Hits()
		c.cut(n)
		c.leaderAmong(c.others(n))
		more("while node " + n.ID() + " is away")
		if c.net.Hits() == hits {
			t.Error("nothing was lost")
		}
		c.net.Heal()
		more("after node " + n.ID() + " is back")
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d documents acknowledged", total.Load())
	for _, n := range c.Nodes {
		there := map[string]int{}
		wait(t, "all documents through node "+n.ID(), func(ctx context.Context) error {
			clear(there)
			conn, err := pgx.Connect(ctx, n.DSN())
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, "SET ostraka.read_consistency = linearizable"); err != nil {
				return err // this node's replicas may lag behind
			}
			ids, err := conn.Query(ctx, "SELECT d ->> '_id' FROM doc.find('c') d")
			if err != nil {
				return err
			}
			list, err := pgx.CollectRows(ids, pgx.RowTo[string])
			for _, id := range list {
				there[id]++
			}
			return err
		})
		for i := range acked {
			for _, seq := range acked[i] {
				if id := fmt.Sprintf("%d-%d", i, seq); there[id] != 1 {
					t.Errorf("node %s: document %s, which was acknowledged, is there %d times", n.ID(), id, there[id])
				}
			}
		}
		for id, n := range there {
			if n > 1 {
				t.Errorf("document %s is there %d times", id, n)
			}
		}
	}
	for id := int32(1); id <= 3; id++ {
		wait(t, "equal replicas", func(context.Context) error {
			sums, err := c.shardSums(id)
			for _, s := range sums {
				if s != sums[0] {
					return fmt.Errorf("shard %d: %v", id, sums)
				}
			}
			return err
		})
	}
	c.same()
}
