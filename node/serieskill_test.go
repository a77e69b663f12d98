package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestSeriesKilled: kill -9 in the middle of writes, changes and refreshes loses no
// acknowledged row, and the continuous aggregate still shows what the rows give.
func TestSeriesKilled(t *testing.T) {
	c := newCluster(t, 1)
	p := c.nodes[0]
	mustExec(t, p, "CREATE TABLE k (time timestamptz NOT NULL, host text, n bigint) WITH (timeseries, tags = 'host', window = '1 hour')")
	grouped := "SELECT time_bucket('1 minute', time) AS m, host, count(*), sum(n) FROM k GROUP BY 1, 2"
	mustExec(t, p, "CREATE MATERIALIZED VIEW km WITH (timeseries.continuous) AS "+grouped)
	acked := int64(0)
	for round := range 3 {
		ctx, stop := context.WithCancel(bounded(t))
		done := make(chan int64)
		go func() { // one writer of rows with growing numbers, a late change now and then
			n := acked
			defer func() { done <- n }()
			conn, err := pgx.Connect(ctx, p.dsn())
			if err != nil {
				return
			}
			defer conn.Close(context.Background())
			for {
				_, err := conn.Exec(ctx, "INSERT INTO k SELECT '2026-01-01'::timestamptz + i * interval '1 s', 'h' || i % 3, i FROM generate_series($1::bigint, $1::bigint + 9) i", n)
				if err != nil {
					return
				}
				n += 10
				if n%50 == 0 {
					if _, err := conn.Exec(ctx, "UPDATE k SET n = n + 1000000 WHERE time = '2026-01-01'::timestamptz + $1::bigint * interval '1 s'", n/2); err != nil {
						return
					}
				}
			}
		}()
		refreshed := make(chan struct{})
		go func() {
			defer close(refreshed)
			for ctx.Err() == nil {
				if p.exec(ctx, "CALL refresh_continuous_aggregate('km', NULL, NULL)") != nil {
					return
				}
			}
		}()
		target := acked + int64(200*(round+1))
		wait(t, "rows to be written", func(ctx context.Context) error {
			n, err := query[int64](ctx, p, "SELECT count(*) FROM k")
			if err == nil && n < target {
				err = fmt.Errorf("%d rows", n)
			}
			return err
		})
		p.kill()
		acked = <-done
		<-refreshed
		stop()
		p.start()
		ctx, stop = context.WithTimeout(bounded(t), 20*time.Second)
		lost, err := query[int64](ctx, p, "SELECT count(*) FROM generate_series(0, $1::bigint - 1) i WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.n % 1000000 = i)", acked)
		if err != nil || lost > 0 {
			t.Fatalf("round %d: %d of %d acknowledged rows are lost (%v)", round, lost, acked, err)
		}
		differ, err := query[int64](ctx, p, "SELECT (SELECT count(*) FROM (SELECT * FROM km EXCEPT ALL ("+grouped+")) x) + (SELECT count(*) FROM (("+grouped+") EXCEPT ALL SELECT * FROM km) y)")
		if err != nil || differ > 0 {
			t.Fatalf("round %d: %d buckets differ (%v)", round, differ, err)
		}
		stop()
	}
}
