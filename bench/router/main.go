// Command router measures what routing costs. It compares the CPU time per
// statement of `ostraka router` with PgBouncer's, before the same PostgreSQL 15, and
// that of a find by shard key over 1, 3 and 16 shards, in interleaved rounds on one
// machine.
//
//	go build -o bin/ostraka ./cmd/ostraka && go run ./bench/router -program bin/ostraka
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/bench/servers"
)

func main() {
	program := flag.String("program", "bin/ostraka", "the ostraka binary")
	rounds := flag.Int("rounds", 5, "rounds")
	length := flag.Duration("length", 2*time.Second, "length of one measurement")
	shards := flag.Bool("shards", true, "measure finds over shards too")
	flag.Parse()
	if err := run(*program, *rounds, *length, *shards); err != nil {
		log.Fatal(err)
	}
}

func run(program string, rounds int, length time.Duration, shards bool) error {
	dir, err := os.MkdirTemp("", "bench-router-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // the user postgres works in it
		return err
	}
	if err := passing(program, dir, rounds, length); err != nil || !shards {
		return err
	}
	return finding(program, dir, rounds, length)
}

// passing compares the router with PgBouncer.
func passing(program, dir string, rounds int, length time.Duration) error {
	pg, err := servers.Postgres(filepath.Join(dir, "pg"), 0)
	if err != nil {
		return err
	}
	defer pg.Close()
	transaction, err := pgbouncer(dir, "transaction", pg.Port)
	if err != nil {
		return err
	}
	defer transaction.Close()
	session, err := pgbouncer(dir, "session", pg.Port)
	if err != nil {
		return err
	}
	defer session.Close()
	port := servers.FreePort()
	router, err := servers.Process("ostraka router", port, exec.Command(program, "router", "--listen", fmt.Sprintf("127.0.0.1:%d", port),
		"--primary", fmt.Sprintf("postgres://postgres@127.0.0.1:%d/?sslmode=disable", pg.Port)))
	if err != nil {
		return err
	}
	defer router.Close()
	fmt.Println("CPU per statement of what is in front of PostgreSQL (SELECT 1, µs, user and system; the least disturbed quarter of the rounds):")
	for _, c := range []struct {
		name    string
		mode    pgx.QueryExecMode
		bouncer *servers.Server
	}{
		{"simple", pgx.QueryExecModeSimpleProtocol, transaction},
		{"unnamed", pgx.QueryExecModeExec, transaction},
		{"prepared", pgx.QueryExecModeCacheStatement, session}, // which PgBouncer 1.18 cannot pool by transactions
	} {
		for _, clients := range []int{1, 8, 32} {
			var costs [2][]float64
			var rates [2][]float64
			for round := range rounds {
				for i := range 2 {
					i = (i + round) % 2 // nobody is always the first
					s := []*servers.Server{router, c.bouncer}[i]
					cost, rate, err := measure(s, s.DSN("postgres"), c.mode, clients, length, "SELECT 1")
					if err != nil {
						return fmt.Errorf("%s: %w", s.Name, err)
					}
					costs[i], rates[i] = append(costs[i], cost), append(rates[i], rate)
				}
			}
			r, b := quartile(costs[0]), quartile(costs[1])
			fmt.Printf("  %-10s %3d clients  router %6.1f  PgBouncer %6.1f  ratio %.2f  (median ratio %.2f; %.0f and %.0f statements/s)\n", c.name, clients, r, b, r/b,
				median(costs[0])/median(costs[1]), median(rates[0]), median(rates[1]))
		}
	}
	return nil
}

// quartile is the lower quartile: on a machine that does other things too, noise only adds.
func quartile(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/4]
}

// pgbouncer starts PgBouncer; pool is the unit of pooling.
func pgbouncer(dir, pool string, pgPort int) (*servers.Server, error) {
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		return nil, fmt.Errorf("PgBouncer is not installed: %w", err)
	}
	port := servers.FreePort()
	conf := fmt.Sprintf(`[databases]
postgres = user=postgres host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
max_client_conn = 1000
default_pool_size = 200
log_connections = 0
log_disconnections = 0
`, pgPort, port, pool)
	path := filepath.Join(dir, "pgbouncer-"+pool+".ini")
	if err := os.WriteFile(path, []byte(conf), 0o644); err != nil {
		return nil, err
	}
	return servers.Process("PgBouncer", port, servers.AsPostgres(bin, path))
}

// measure runs a statement on several connections at once and answers the CPU time
// of s per statement in µs, and statements per second.
func measure(s *servers.Server, dsn string, mode pgx.QueryExecMode, clients int, length time.Duration, sql string, args ...func(n int64) any) (cost, rate float64, err error) {
	ctx := context.Background()
	conns := make([]*pgx.Conn, clients)
	for i := range conns {
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			return 0, 0, err
		}
		cfg.DefaultQueryExecMode = mode
		if conns[i], err = pgx.ConnectConfig(ctx, cfg); err != nil {
			return 0, 0, err
		}
		defer conns[i].Close(ctx)
	}
	var n atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, clients)
	work := func(d time.Duration) {
		end := time.Now().Add(d)
		for i, c := range conns {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for time.Now().Before(end) && errs[i] == nil {
					k := n.Add(1)
					vals := make([]any, len(args))
					for a := range args {
						vals[a] = args[a](k)
					}
					rows, err := c.Query(ctx, sql, vals...)
					if err == nil {
						rows.Close()
						err = rows.Err()
					}
					errs[i] = err
				}
			}()
		}
		wg.Wait()
	}
	work(200 * time.Millisecond)
	n.Store(0)
	was, begin := s.CPU(), time.Now()
	work(length)
	took, used := time.Since(begin), s.CPU()-was
	return float64(used.Microseconds()) / float64(n.Load()), float64(n.Load()) / took.Seconds(), errors.Join(errs...)
}

// finding measures finds by shard key in clusters of different numbers of shards.
func finding(program, dir string, rounds int, length time.Duration) error {
	counts := []int{1, 3, 16}
	var nodes []*servers.Server
	defer func() {
		for _, s := range nodes {
			s.Close()
		}
	}()
	for _, n := range counts {
		s, err := servers.Ostraka(program, filepath.Join(dir, fmt.Sprintf("shards-%d", n)), 1)
		if err != nil {
			return err
		}
		nodes = append(nodes, s)
		if err := fill(s, n); err != nil {
			return err
		}
	}
	costs := make([][]float64, len(counts))
	for range rounds {
		for i, s := range nodes {
			cost, _, err := measure(s, s.DSN("postgres"), pgx.QueryExecModeCacheStatement, 8, length, "SELECT doc.find('accounts', $1)",
				func(n int64) any { return fmt.Sprintf(`{"region": "r%d"}`, n%1000) })
			if err != nil {
				return err
			}
			costs[i] = append(costs[i], cost)
		}
	}
	fmt.Println("CPU of the node per find by shard key (µs; median of rounds):")
	for i, n := range counts {
		fmt.Printf("  %2d shards  %6.1f  ratio %.2f\n", n, median(costs[i]), median(costs[i])/median(costs[0]))
	}
	return nil
}

func fill(s *servers.Server, shards int) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	sql := []string{"SELECT doc.create_collection('accounts', shard_key => 'region')", `SELECT doc.create_index('accounts', '{"region": 1}')`}
	for i := range shards {
		sql = append(sql, fmt.Sprintf("SELECT shard_create('s%d')", i))
	}
	sql = append(sql, "SELECT chunk_rebalance()",
		`SELECT doc.insert_many('accounts', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'region', 'r' || i % 1000, 'n', i)) FROM generate_series(1, 5000) i))`)
	for _, q := range sql {
		if _, err := c.Exec(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
