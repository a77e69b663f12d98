// Command documents compares document collections with PostgreSQL 15's jsonb and
// a matching index: CPU time per operation, in interleaved rounds on one machine.
//
//	go build -o bin/ostraka ./cmd/ostraka && go run ./bench/documents -program bin/ostraka
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/bench/servers"
)

// workload is one operation in the words of both systems.
type workload struct {
	name string
	// rows says how many operations one statement counts for.
	rows              int
	ostraka, postgres func(i int) (sql string, args []any)
}

func main() {
	program := flag.String("program", "bin/ostraka", "the ostraka binary")
	other := flag.String("other", "", "another ostraka binary, measured in the same rounds")
	docs := flag.Int("docs", 50000, "documents in the collection")
	rounds := flag.Int("rounds", 3, "rounds; the median counts")
	clients := flag.Int("clients", 8, "connections that ask at the same time")
	seconds := flag.Float64("seconds", 1, "length of a measurement")
	only := flag.String("only", "", "regular expression of the operations to measure")
	flag.Parse()
	pick, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(*program, *other, *docs, *rounds, *clients, time.Duration(*seconds*float64(time.Second)), pick); err != nil {
		log.Fatal(err)
	}
}

// document is about 500 bytes with 14 members on two levels.
func document(i int) string {
	return fmt.Sprintf(`{"_id":%d,"name":"user %d","email":"user%d@example.org","age":%d,"region":"r%d","active":%t,"score":%d.%02d,`+
		`"address":{"city":"city %d","street":"%d Long Street","zip":"%05d"},"tags":["t%d","t%d","all"],"bio":"%s"}`,
		i, i, i, i%90, i%50, i%3 == 0, i%1000, i%100, i%200, i%900, i%99999, i%20, i%7, strings.Repeat("lorem ipsum ", 18))
}

func batch(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = document(from + i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

const batchSize = 500

func workloads(docs int) []workload {
	var last atomic.Int64
	last.Store(1 << 24)
	next := func() int { return int(last.Add(batchSize)) }
	fixed := func(sql string) func(int) (string, []any) { return func(int) (string, []any) { return sql, nil } }
	return []workload{
		{"insert_many of 500", batchSize,
			func(int) (string, []any) {
				return "SELECT doc.insert_many('bench', $1)", []any{batch(next(), batchSize)}
			},
			func(int) (string, []any) {
				return "INSERT INTO bench SELECT (d->>'_id')::bigint, d FROM jsonb_array_elements($1::jsonb) d", []any{batch(next(), batchSize)}
			}},
		{"find by _id", 1,
			func(i int) (string, []any) {
				return "SELECT * FROM doc.find('bench', $1)", []any{fmt.Sprintf(`{"_id":%d}`, i*7919%docs)}
			},
			func(i int) (string, []any) {
				return "SELECT doc FROM bench WHERE id = $1", []any{int64(i * 7919 % docs)}
			}},
		{"find by indexed field", 1,
			func(i int) (string, []any) {
				return "SELECT * FROM doc.find('bench', $1)", []any{fmt.Sprintf(`{"email":"user%d@example.org"}`, i*7919%docs)}
			},
			func(i int) (string, []any) {
				return "SELECT doc FROM bench WHERE doc->>'email' = $1", []any{fmt.Sprintf("user%d@example.org", i*7919%docs)}
			}},
		{"find 10 by a range of _id", 1,
			func(i int) (string, []any) {
				at := i * 7919 % (docs - 10)
				return "SELECT * FROM doc.find('bench', $1)", []any{fmt.Sprintf(`{"_id":{"$gte":%d,"$lt":%d}}`, at, at+10)}
			},
			func(i int) (string, []any) {
				at := int64(i * 7919 % (docs - 10))
				return "SELECT doc FROM bench WHERE id >= $1 AND id < $2", []any{at, at + 10}
			}},
		{"filter scan, count", 1,
			fixed(`SELECT doc.count('bench', '{"age":{"$gt":40},"address.city":"city 7","active":true}')`),
			fixed(`SELECT count(*) FROM bench WHERE (doc->>'age')::numeric > 40 AND doc#>>'{address,city}' = 'city 7' AND (doc->>'active')::boolean`)},
		{"update by _id", 1,
			func(i int) (string, []any) {
				return `SELECT doc.update_one('bench', $1, '{"$inc":{"n":1}}')`, []any{fmt.Sprintf(`{"_id":%d}`, i*7919%docs)}
			},
			func(i int) (string, []any) {
				return `UPDATE bench SET doc = jsonb_set(doc, '{n}', to_jsonb(coalesce((doc->>'n')::numeric, 0) + 1)) WHERE id = $1`, []any{int64(i * 7919 % docs)}
			}},
	}
}

func run(program, other string, docs, rounds, clients int, length time.Duration, pick *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "bench-documents-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	pg, err := servers.Postgres(filepath.Join(dir, "pg"), 0)
	if err != nil {
		return err
	}
	defer pg.Close()
	os_, err := servers.Ostraka(program, filepath.Join(dir, "ostraka"), 1)
	if err != nil {
		return err
	}
	defer os_.Close()
	ctx := context.Background()
	list := []*servers.Server{os_, pg}
	if other != "" {
		o, err := servers.Ostraka(other, filepath.Join(dir, "other"), 1)
		if err != nil {
			return err
		}
		defer o.Close()
		list = append(list, o)
	}
	pools := make([][]*pgx.Conn, len(list))
	conns := make([]*pgx.Conn, len(list)) // the first of each pool
	for i, s := range list {
		for range max(1, clients) {
			c, err := pgx.Connect(ctx, s.DSN("postgres"))
			if err != nil {
				return err
			}
			defer c.Close(ctx)
			pools[i] = append(pools[i], c)
		}
		conns[i] = pools[i][0]
	}
	for _, sql := range []string{"CREATE TABLE bench (id bigint PRIMARY KEY, doc jsonb NOT NULL)", "CREATE INDEX ON bench ((doc->>'email'))"} {
		if _, err := conns[1].Exec(ctx, sql); err != nil {
			return err
		}
	}
	for k, c := range conns {
		if k == 1 {
			continue
		}
		if _, err := c.Exec(ctx, `SELECT doc.create_index('bench', '"email"')`); err != nil {
			return err
		}
		for at := 0; at < docs; at += batchSize {
			if _, err := c.Exec(ctx, "SELECT doc.insert_many('bench', $1)", batch(at, batchSize)); err != nil {
				return err
			}
		}
	}
	for at := 0; at < docs; at += batchSize {
		if _, err := conns[1].Exec(ctx, "INSERT INTO bench SELECT (d->>'_id')::bigint, d FROM jsonb_array_elements($1::jsonb) d", batch(at, batchSize)); err != nil {
			return err
		}
	}
	if _, err := conns[1].Exec(ctx, "VACUUM ANALYZE bench"); err != nil {
		return err
	}
	fmt.Printf("%-24s %14s %14s %10s", "CPU per operation", "ostraka", "postgres", "ratio")
	if other != "" {
		fmt.Printf(" %14s %10s", "other", "ratio")
	}
	fmt.Println()
	for _, w := range workloads(docs) {
		if !pick.MatchString(w.name) {
			continue
		}
		got := make([][]float64, len(list))
		for range rounds {
			for k := range list {
				per, err := measure(ctx, list[k], pools[k], w, k != 1, length)
				if err != nil {
					return fmt.Errorf("%s on %s: %w", w.name, list[k].Name, err)
				}
				got[k] = append(got[k], per)
			}
		}
		a, b := median(got[0]), median(got[1])
		fmt.Printf("%-24s %11.1f µs %11.1f µs %9.2fx", w.name, a, b, b/a)
		if other != "" {
			c := median(got[2])
			fmt.Printf(" %11.1f µs %9.2fx", c, b/c)
		}
		fmt.Println()
	}
	return nil
}

// measure runs an operation on all connections for a while and returns CPU µs for one.
func measure(ctx context.Context, s *servers.Server, pool []*pgx.Conn, w workload, ostraka bool, length time.Duration) (float64, error) {
	op := w.postgres
	if ostraka {
		op = w.ostraka
	}
	var n atomic.Int64
	errs := make([]error, len(pool))
	start, cpu := time.Now(), s.CPU()
	var wg sync.WaitGroup
	for k, c := range pool {
		wg.Go(func() {
			for errs[k] == nil && time.Since(start) < length {
				sql, args := op(int(n.Add(1)))
				rows, err := c.Query(ctx, sql, args...)
				if err == nil {
					rows.Close()
					err = rows.Err()
				}
				errs[k] = err
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return float64((s.CPU() - cpu).Microseconds()) / float64(int(n.Load())*w.rows), nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
