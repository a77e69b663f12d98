package node

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestLeaderKilled kills the leader's process under sessions of a follower: one
// that is idle goes on without an error, one in a block gets 40001 and goes on, a
// statement that may have run says that its outcome is unknown and is not run
// again, and sequence values stay unique and increasing.
func TestLeaderKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; runs without -short")
	}
	c := newCluster(t, 3)
	mustExec(t, c.nodes[0], "CREATE TABLE killed (id bigint PRIMARY KEY, client int); CREATE SEQUENCE kseq; CREATE TABLE held (id int PRIMARY KEY, n int); INSERT INTO held VALUES (1, 0), (2, 0)")
	everywhere(c, "SELECT count(*) FROM held", 2)
	for round := range 2 {
		leader := c.leader()
		var follower *process
		for _, p := range c.nodes {
			if p != leader {
				follower = p
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		connect := func(p *process) *pgx.Conn {
			conn, err := pgx.Connect(ctx, p.dsn())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			return conn
		}
		exec := func(conn *pgx.Conn, sql string, args ...any) {
			t.Helper()
			if _, err := conn.Exec(ctx, sql, args...); err != nil {
				var pe *pgconn.PgError
				if errors.As(err, &pe) {
					t.Log(pe.Detail)
				}
				t.Fatalf("round %d: %s: %v", round, sql, err)
			}
		}
		idle, block, waiting, blocker := connect(follower), connect(follower), connect(follower), connect(leader)
		exec(idle, "UPDATE held SET n = n WHERE id = $1", 2)
		exec(block, "BEGIN")
		exec(block, "INSERT INTO held VALUES (10, 0)")
		exec(blocker, "BEGIN")
		exec(blocker, "UPDATE held SET n = n + 1 WHERE id = 1")
		outcome := make(chan error, 1)
		go func() {
			_, err := waiting.Exec(ctx, "UPDATE held SET n = n + 100 WHERE id = 1")
			outcome <- err
		}()
		wait(t, "the statement to wait", func(ctx context.Context) error {
			n, err := query[int](ctx, leader, "SELECT count(*) FROM pg_locks WHERE NOT granted")
			if err == nil && n == 0 {
				err = errors.New("it does not wait")
			}
			return err
		})

		load := startSequences(c, leader)
		<-load.some // values are being handed out
		leader.kill()
		killed := time.Now()
		exec(idle, "UPDATE held SET n = n + 1 WHERE id = $1", 2)
		t.Logf("round %d: a session of node %s went on after %v", round, follower.id, time.Since(killed))
		code := func(err error) string {
			var pe *pgconn.PgError
			if errors.As(err, &pe) {
				return pe.Code
			}
			return fmt.Sprint(err)
		}
		if got := code(<-outcome); got != "08007" {
			t.Errorf("round %d: the waiting statement: %s, want 08007", round, got)
		}
		_, err := block.Exec(ctx, "INSERT INTO held VALUES (11, 0)")
		if got := code(err); got != "40001" {
			t.Errorf("round %d: in the block: %s, want 40001", round, got)
		}
		exec(block, "ROLLBACK")
		exec(block, "INSERT INTO held VALUES ($1, 0)", 20+round)
		exec(waiting, "UPDATE held SET n = n WHERE id = 1")
		if n, err := query[int](ctx, follower, "SELECT n FROM held WHERE id = 1"); err != nil || n != 0 {
			t.Errorf("round %d: n = %d, %v: something that was not committed is there", round, n, err)
		}
		load.check(t)
		leader.start()
		everywhere(c, "SELECT n FROM held WHERE id = 2", int64(round+1))
		everywhere(c, "SELECT count(*) FROM held WHERE id >= 10", int64(round+1))
	}
}

// sequences are clients that take values and store them, each in one statement.
type sequences struct {
	some chan struct{} // closed when the first value was acknowledged
	once sync.Once
	stop atomic.Bool
	wg   sync.WaitGroup
	got  [3][]int64
	c    *cluster
}

func startSequences(c *cluster, not *process) *sequences {
	s := &sequences{some: make(chan struct{}), c: c}
	var nodes []*process
	for _, p := range c.nodes {
		if p != not {
			nodes = append(nodes, p)
		}
	}
	for i := range s.got {
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			for !s.stop.Load() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				v, err := query[int64](ctx, nodes[i%len(nodes)], "INSERT INTO killed VALUES (nextval('kseq'), $1) RETURNING id", i)
				cancel()
				if err == nil {
					s.got[i] = append(s.got[i], v)
					s.once.Do(func() { close(s.some) })
				}
			}
		}()
	}
	return s
}

func (s *sequences) check(t *testing.T) {
	t.Helper()
	s.stop.Store(true)
	s.wg.Wait()
	var all []int64
	for i, got := range s.got {
		if !sort.SliceIsSorted(got, func(a, b int) bool { return got[a] < got[b] }) {
			t.Errorf("client %d saw values that do not increase: %v", i, got)
		}
		all = append(all, got...)
	}
	sort.Slice(all, func(a, b int) bool { return all[a] < all[b] })
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			t.Errorf("the value %d was given twice", all[i])
		}
	}
	n, err := query[int](context.Background(), s.c.leader(), "SELECT count(*) FROM killed WHERE id = ANY ($1)", all)
	if err != nil || n != len(all) {
		t.Errorf("%d of %d acknowledged rows, %v", n, len(all), err)
	}
}
