package node

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/raft/transport"
)

// TestDeafLeaderClients: nobody can reach the leader, which reaches everybody. Clients
// of all nodes get an answer or an error, each in bounded time; the leader steps
// down, writes go on, and nothing acknowledged is lost.
func TestDeafLeaderClients(t *testing.T) {
	c := faultyCluster(t, 3)
	old := c.leader()
	dial(t, old).do("CREATE TABLE deaf (client int, seq int)")
	c.everywhere("SELECT count(*) FROM deaf", "0")
	const clients, limit = 6, 15 * time.Second
	var wg sync.WaitGroup
	var stop atomic.Bool
	var slowest atomic.Int64
	acked := make([]map[int]bool, clients)
	var answered [clients]atomic.Int64
	for i := range clients {
		acked[i] = map[int]bool{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			var conn *pgx.Conn
			for seq := 0; !stop.Load(); seq++ {
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				begin := time.Now()
				var err error
				if conn == nil || conn.IsClosed() {
					conn, err = pgx.Connect(ctx, c.Nodes[i%3].DSN())
				}
				if err == nil {
					if _, err = conn.Exec(ctx, "INSERT INTO deaf VALUES ($1, $2)", i, seq); err == nil {
						acked[i][seq] = true
						answered[i].Add(1)
					}
				}
				if ctx.Err() != nil {
					t.Errorf("a client of node %s hung for %v: %v", c.Nodes[i%3].ID(), limit, err)
				}
				cancel()
				if d := int64(time.Since(begin)); d > slowest.Load() {
					slowest.Store(d)
				}
			}
			if conn != nil {
				_ = conn.Close(context.Background())
			}
		}()
	}
	hits := c.net.Hits()
	for _, n := range c.others(old) {
		c.net.Set(transport.Edge{From: n.ID(), To: old.ID(), Rule: transport.Rule{DropRequests: true}})
	}
	begin := time.Now()
	wait(t, "the deaf leader to step down", func(context.Context) error {
		if l := c.leader(); l == old {
			return fmt.Errorf("node %s leads", l.ID())
		}
		return nil
	})
	t.Logf("another node leads after %v", time.Since(begin))
	for _, n := range c.others(old) {
		dial(t, n).written("INSERT INTO deaf VALUES (-1, 0)")
	}
	wait(t, "every client of the others to be served", func(context.Context) error {
		for i := range answered {
			if c.Nodes[i%3] != old && answered[i].Load() == 0 {
				return fmt.Errorf("client %d of node %s", i, c.Nodes[i%3].ID())
			}
		}
		return nil
	})
	stop.Store(true)
	wg.Wait()
	if c.net.Hits() == hits {
		t.Error("nothing was dropped")
	}
	c.net.Heal()
	n := 2
	for i := range acked {
		n += len(acked[i])
		var seqs []int
		for s := range acked[i] {
			seqs = append(seqs, s)
		}
		var there int
		if err := dial(t, c.leader()).QueryRow(bounded(t), "SELECT count(DISTINCT seq) FROM deaf WHERE client = $1 AND seq = ANY ($2)", i, seqs).Scan(&there); err != nil || there != len(seqs) {
			t.Errorf("client %d: %d of %d acknowledged rows, %v", i, there, len(seqs), err)
		}
	}
	dial(t, c.leader()).want("SELECT count(*) FROM (SELECT 1 FROM deaf WHERE client >= 0 GROUP BY client, seq HAVING count(*) > 1) twice", "0")
	t.Logf("%d rows acknowledged, the slowest statement took %v", n, time.Duration(slowest.Load()))
	c.same()
}
