// Command tpch compares analytical queries and loading with PostgreSQL 15 on one
// machine: the same generated data in the shape of TPC-H on both, interleaved
// rounds, medians. PostgreSQL runs without parallel workers, with JIT off and on,
// and the better of the two counts. Ratios are of the servers' CPU time, for COPY
// of the elapsed time too (PostgreSQL ÷ Ostraka: above 1 Ostraka is better).
//
//	go build -o bin/ostraka ./cmd/ostraka
//	go run ./bench/tpch -program bin/ostraka -sf 0.1 -rounds 5
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/bench/servers"
)

var queries = []struct{ name, sql string }{
	{"Q1", `SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
		sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
		FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90' day GROUP BY l_returnflag, l_linestatus ORDER BY 1, 2`},
	{"Q6", `SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'
		AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24`},
	{"join", `SELECT count(*), sum(n), sum(q) FROM (SELECT o_orderkey, count(*) n, sum(l_quantity) q FROM lineitem JOIN orders ON l_orderkey = o_orderkey
		GROUP BY o_orderkey) t`},
}

// copyRows is how many rows the timed COPY loads.
const copyRows = 1_000_000

func main() {
	program := flag.String("program", "bin/ostraka", "the ostraka binary")
	scale := flag.Float64("sf", 0.1, "scale factor: 1 has 6 million lines")
	rounds := flag.Int("rounds", 5, "interleaved rounds")
	table := flag.String("dump", "", "write the data of customer, orders or lineitem to standard output and stop")
	flag.Parse()
	var err error
	switch *table {
	case "customer":
		err = customers(os.Stdout, *scale)
	case "orders":
		err = orders(os.Stdout, nil, *scale)
	case "lineitem":
		err = orders(nil, os.Stdout, *scale)
	case "":
		err = bench(context.Background(), *program, *scale, *rounds)
	default:
		err = fmt.Errorf("no table %q", *table)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// system is a server with a session.
type system struct {
	*servers.Server
	conn *pgx.Conn
}

func bench(ctx context.Context, program string, scale float64, rounds int) error {
	dir, err := os.MkdirTemp("", "ostraka-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_ = os.Chmod(dir, 0o755)
	pg, err := servers.Postgres(filepath.Join(dir, "postgresql"), 0)
	if err != nil {
		return err
	}
	defer pg.Close()
	node, err := servers.Ostraka(program, filepath.Join(dir, "ostraka"), 1)
	if err != nil {
		return err
	}
	defer node.Close()
	both := []*system{{Server: pg}, {Server: node}}
	for _, s := range both {
		if s.conn, err = pgx.Connect(ctx, s.DSN("postgres")); err != nil {
			return err
		}
		defer s.conn.Close(ctx)
		if err := s.load(ctx, scale); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	for _, set := range []string{"SET max_parallel_workers_per_gather = 0", "SET work_mem = '512MB'"} {
		for _, s := range both {
			if _, err := s.conn.Exec(ctx, set); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	fmt.Printf("sf %g, %d rounds, CPU ms\n%-6s %10s %10s %10s %8s\n", scale, rounds, "query", "pg", "pg jit", "ostraka", "ratio")
	for _, q := range queries {
		if err := compare(ctx, both, q.name, q.sql, rounds); err != nil {
			return err
		}
	}
	return compareCopy(ctx, both, rounds)
}

func (s *system) load(ctx context.Context, scale float64) error {
	for _, q := range schema {
		if _, err := s.conn.Exec(ctx, q); err != nil {
			return err
		}
	}
	for _, t := range []struct {
		name string
		gen  func(io.Writer) error
	}{
		{"customer", func(w io.Writer) error { return customers(w, scale) }},
		{"orders", func(w io.Writer) error { return orders(w, nil, scale) }},
		{"lineitem", func(w io.Writer) error { return orders(nil, w, scale) }},
	} {
		if err := s.copyIn(ctx, t.name, t.gen); err != nil {
			return err
		}
	}
	_, err := s.conn.Exec(ctx, "ANALYZE")
	return err
}

func (s *system) copyIn(ctx context.Context, table string, gen func(io.Writer) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(gen(w)) }()
	_, err := s.conn.PgConn().CopyFrom(ctx, r, "COPY "+table+" FROM STDIN")
	_ = r.CloseWithError(err)
	return err
}

// cost is what one run used.
type cost struct{ cpu, wall time.Duration }

func (s *system) run(ctx context.Context, sql string) (cost, string, error) {
	before, start := s.CPU(), time.Now()
	rows, err := s.conn.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return cost{}, "", err
	}
	out := ""
	for rows.Next() {
		for _, v := range rows.RawValues() {
			out += string(v) + "|"
		}
		out += "\n"
	}
	return cost{s.CPU() - before, time.Since(start)}, out, rows.Err()
}

func compare(ctx context.Context, both []*system, name, sql string, rounds int) error {
	costs := make([][]cost, 3) // PostgreSQL, with JIT, Ostraka
	for range rounds + 1 {
		want := ""
		for i := range costs {
			s := both[i/2]
			if i < 2 {
				if _, err := s.conn.Exec(ctx, "SET jit = "+[]string{"off", "on"}[i]); err != nil {
					return err
				}
			}
			c, got, err := s.run(ctx, sql)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", s.Name, name, err)
			}
			if i == 0 {
				want = got
			} else if got != want {
				return fmt.Errorf("%s answers differ:\n%s\n%s", name, want, got)
			}
			costs[i] = append(costs[i], c)
		}
	}
	var m [3]float64
	for i := range costs {
		m[i] = median(costs[i][1:], func(c cost) time.Duration { return c.cpu }) // the first round warms up
	}
	fmt.Printf("%-6s %10.0f %10.0f %10.0f %7.2fx\n", name, m[0], m[1], m[2], min(m[0], m[1])/m[2])
	return nil
}

func compareCopy(ctx context.Context, both []*system, rounds int) error {
	costs := make([][]cost, 2)
	for range rounds {
		for i, s := range both {
			for _, q := range []string{"DROP TABLE IF EXISTS copied", "CREATE TABLE copied (id bigint PRIMARY KEY, k int NOT NULL, t text, n numeric(12,2))"} {
				if _, err := s.conn.Exec(ctx, q); err != nil {
					return err
				}
			}
			before, start := s.CPU(), time.Now()
			if err := s.copyIn(ctx, "copied", copied); err != nil {
				return fmt.Errorf("%s: COPY: %w", s.Name, err)
			}
			costs[i] = append(costs[i], cost{s.CPU() - before, time.Since(start)})
		}
	}
	cpu, wall := func(c cost) time.Duration { return c.cpu }, func(c cost) time.Duration { return c.wall }
	fmt.Printf("COPY of %d rows, ms: CPU pg %.0f, ostraka %.0f, %.2fx; elapsed pg %.0f, ostraka %.0f, %.2fx\n", copyRows,
		median(costs[0], cpu), median(costs[1], cpu), median(costs[0], cpu)/median(costs[1], cpu),
		median(costs[0], wall), median(costs[1], wall), median(costs[0], wall)/median(costs[1], wall))
	return nil
}

// copied generates the rows of the timed COPY.
func copied(w io.Writer) error {
	var b []byte
	for i := range copyRows {
		b = fmt.Appendf(b, "%d\t%d\trow number %d of a table\t%d.%02d\n", i+1, i%1000, i, i%100_000, i%100)
		if len(b) > 60<<10 || i == copyRows-1 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// median of a cost in milliseconds.
func median(list []cost, f func(cost) time.Duration) float64 {
	var v []float64
	for _, c := range list {
		v = append(v, float64(f(c))/float64(time.Millisecond))
	}
	slices.Sort(v)
	return v[len(v)/2]
}
