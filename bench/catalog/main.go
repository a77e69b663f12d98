// Command catalog times the catalogue queries that clients send at start-up and
// when they introspect a database: it makes a database with many tables, indexes,
// foreign keys and comments, takes every distinct query from recorded transcripts
// (JSON lines, "msgs" with "sql" and text "args") and runs each one cold, right
// after a DDL statement, and warm.
//
//	go run ./bench/catalog -dsn postgres://postgres@127.0.0.1:5433/postgres -transcripts DIR
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// database is where the tables are made; it is dropped and made anew.
const database = "bench_catalog"

func main() {
	dsn := flag.String("dsn", "postgres://postgres@127.0.0.1:5433/postgres", "server to measure")
	dir := flag.String("transcripts", "", "folder of recorded sessions (*.jsonl, searched recursively)")
	tables := flag.Int("tables", 500, "tables to create")
	limit := flag.Duration("limit", 50*time.Millisecond, "print the queries that take longer, cold or warm")
	match := flag.String("match", "", "only queries that match this regular expression")
	flag.Parse()
	if err := run(*dsn, *dir, *match, *tables, *limit); err != nil {
		log.Fatal(err)
	}
}

func run(dsn, dir, match string, tables int, limit time.Duration) error {
	ctx := context.Background()
	conn, err := fresh(ctx, dsn, tables)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	queries, err := load(dir, match)
	if err != nil {
		return err
	}
	var timings []timing
	for _, q := range queries {
		if _, err := conn.Exec(ctx, "CREATE TABLE app0.bench_ddl (a int); DROP TABLE app0.bench_ddl", pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		t := timing{query: q}
		t.cold, t.err = once(ctx, conn, q)
		for range 3 {
			if d, _ := once(ctx, conn, q); t.warm == 0 || d < t.warm {
				t.warm = d
			}
		}
		timings = append(timings, t)
	}
	report(timings, limit)
	return nil
}

type timing struct {
	query      query
	cold, warm time.Duration
	err        error
}

// once runs a query in a transaction of its own, so that a failure leaves nothing behind.
func once(ctx context.Context, conn *pgx.Conn, q query) (time.Duration, error) {
	args := make([][]byte, len(q.args))
	for i, a := range q.args {
		if a != nil {
			args[i] = []byte(*a)
		}
	}
	start := time.Now()
	var err error
	if q.extended {
		err = conn.PgConn().ExecParams(ctx, q.sql, args, nil, nil, nil).Read().Err
	} else {
		_, err = conn.PgConn().Exec(ctx, q.sql).ReadAll()
	}
	return time.Since(start), err
}

func report(timings []timing, limit time.Duration) {
	show := func(name string, of func(timing) time.Duration) {
		slices.SortFunc(timings, func(a, b timing) int { return cmp.Compare(of(b), of(a)) })
		over := 0
		for _, t := range timings {
			if of(t) > limit {
				over++
			}
		}
		at := func(p int) time.Duration { return of(timings[(len(timings)-1)*p/100]).Round(10 * time.Microsecond) }
		fmt.Printf("%s: %d queries, slowest %v, 99th percentile %v, median %v, over %v: %d\n", name, len(timings), at(0), at(1), at(50), limit, over)
	}
	if len(timings) == 0 {
		fmt.Println("no queries")
		return
	}
	show("warm", func(t timing) time.Duration { return t.warm })
	show("cold", func(t timing) time.Duration { return t.cold })
	for _, t := range timings {
		if t.cold > limit || t.warm > limit {
			fmt.Printf("%8.1f ms cold %8.1f ms warm  %s  %.300s\n", ms(t.cold), ms(t.warm), t.query.file, strings.Join(strings.Fields(t.query.sql), " "))
			if t.err != nil {
				fmt.Println("         ", t.err)
			}
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fresh makes the database and connects to it.
func fresh(ctx context.Context, dsn string, tables int) (*pgx.Conn, error) {
	admin, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer admin.Close(ctx)
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + database, "CREATE DATABASE " + database} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Database = database
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	var sql strings.Builder
	for i := range tables {
		schema := fmt.Sprintf("app%d", i%5)
		if i < 5 {
			fmt.Fprintf(&sql, "CREATE SCHEMA %s;\n", schema)
		}
		fmt.Fprintf(&sql, `CREATE TABLE %[1]s.t%[2]d (id serial PRIMARY KEY, name text NOT NULL, code varchar(20) UNIQUE, amount numeric(12,2) DEFAULT 0,
			made timestamptz DEFAULT now(), parent int%[3]s, note text, CONSTRAINT t%[2]d_amount CHECK (amount >= 0));
			CREATE INDEX t%[2]d_name ON %[1]s.t%[2]d (name); CREATE INDEX t%[2]d_parent ON %[1]s.t%[2]d (parent, made DESC);
			COMMENT ON TABLE %[1]s.t%[2]d IS 'table %[2]d'; COMMENT ON COLUMN %[1]s.t%[2]d.name IS 'name of %[2]d';
			`, schema, i, parent(i))
		if i%10 == 0 {
			fmt.Fprintf(&sql, "CREATE VIEW %[1]s.v%[2]d AS SELECT id, name FROM %[1]s.t%[2]d WHERE amount > 0;\n", schema, i)
		}
		if i%25 == 24 || i == tables-1 {
			if _, err := conn.Exec(ctx, sql.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
				return nil, err
			}
			sql.Reset()
		}
	}
	return conn, nil
}

// parent is the foreign key of table i: to the table of the same schema made before it.
func parent(i int) string {
	if i < 5 {
		return ""
	}
	return fmt.Sprintf(" REFERENCES app%d.t%d", i%5, i-5)
}

type query struct {
	file, sql string
	args      []*string
	extended  bool
}

var reads = regexp.MustCompile(`(?is)^\s*(/\*.*?\*/\s*|--[^\n]*\n\s*)*(select|with|show|table|values)\b`)

// load collects the distinct read-only queries about the catalogue.
func load(dir, match string) ([]query, error) {
	want, err := regexp.Compile(match)
	if err != nil {
		return nil, err
	}
	var out []query
	seen := map[string]bool{}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			for _, q := range queriesOf(lines.Bytes()) {
				about := strings.Contains(q.sql, "pg_") || strings.Contains(q.sql, "information_schema")
				if about && !strings.Contains(q.sql, "set_config") && reads.MatchString(q.sql) && !seen[q.sql] && want.MatchString(q.sql) {
					seen[q.sql] = true
					q.file = filepath.Base(path)
					out = append(out, q)
				}
			}
		}
		return lines.Err()
	})
	return out, err
}

// queriesOf takes the queries from one line of a transcript.
func queriesOf(line []byte) []query {
	var cycle struct {
		Msgs []struct {
			T    string    `json:"t"`
			SQL  string    `json:"sql"`
			PF   []int     `json:"pf"`
			Args []*string `json:"args"`
		} `json:"msgs"`
	}
	if json.Unmarshal(line, &cycle) != nil {
		return nil
	}
	var out []query
	for _, m := range cycle.Msgs {
		switch m.T {
		case "Query":
			out = append(out, query{sql: m.SQL})
		case "Parse":
			out = append(out, query{sql: m.SQL, extended: true})
		case "Bind":
			if n := len(out) - 1; n >= 0 && !slices.Contains(m.PF, 1) {
				out[n].args = m.Args
			}
		}
	}
	return out
}
