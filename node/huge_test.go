package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHugeTransaction: a large transaction (with -long 64 MiB, else 12), through a follower, from the
// client and made by the server, is on all nodes as a whole, while small writes go on;
// where it is more than a transaction may have it is refused with 54000 and leaves nothing.
func TestHugeTransaction(t *testing.T) {
	mebi := 12
	if *long {
		mebi = 64
	}
	c := faultyCluster(t, 3, calm, func(cfg *Config) { cfg.MaxTransaction = int64(mebi+2) << 20 })
	cl := dial(t, c.follower())
	cl.do("CREATE TABLE huge (id int PRIMARY KEY, v text); CREATE TABLE small (n int); INSERT INTO small VALUES (0)")
	const mib = 1 << 20
	done := make(chan struct{})
	slowest := time.Duration(0)
	go func() {
		defer close(done)
		w := dial(t, c.leader())
		for end := false; !end; {
			select {
			case <-t.Context().Done():
				end = true
			case done <- struct{}{}:
				end = true
			default:
				begin := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				_, err := w.Exec(ctx, "UPDATE small SET n = n + 1")
				cancel()
				if err != nil {
					t.Errorf("a small write: %v", err)
					return
				}
				slowest = max(slowest, time.Since(begin))
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	tx, err := cl.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	row := strings.Repeat("0123456789abcdef", mib/16)
	for i := range mebi / 2 {
		if _, err := tx.Exec(ctx, "INSERT INTO huge VALUES ($1, $2)", i, row); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Exec(ctx, "INSERT INTO huge SELECT g, repeat('0123456789abcdef', 65536) FROM generate_series($1::int, $2) g", mebi/2, mebi-1); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		dial(t, n).want("SELECT count(*) FROM huge", "0")
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	<-done
	t.Logf("the slowest small write beside it took %v", slowest)
	c.everywhere("SELECT count(*), sum(length(v)), count(DISTINCT v) FROM huge", fmt.Sprintf("%d|%d|1", mebi, mebi*mib))
	// One large value.
	if _, err := cl.Exec(ctx, "INSERT INTO huge VALUES (100, repeat('x', $1))", mebi/2*mib); err != nil {
		t.Error(err)
	}
	c.everywhere("SELECT length(v) FROM huge WHERE id = 100", fmt.Sprint(mebi/2*mib))
	c.same()

	cl.fails(fmt.Sprintf("INSERT INTO huge SELECT g, repeat('0123456789abcdef', 65536) FROM generate_series(1000, 1000 + %d) g", mebi+2), "54000")
	cl.want("SELECT count(*) FROM huge WHERE id >= 1000", "0")
	cl.do("INSERT INTO huge VALUES (2000, 'small')")
	c.everywhere("SELECT count(*) FROM huge", fmt.Sprint(mebi+2))
	c.same()
}
