package workload

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/torture/check"
	"ostraka/torture/history"
)

// Append: transactions of list appends and reads, over two tables, by primary key
// and by an index. The lists tell which transaction depends on which.
func Append(isolation, read string) Workload {
	return appends("append@"+isolation+"/"+read, isolation, read)
}

// AppendDuringDDL is Append while the tables' columns and indexes come and go.
func AppendDuringDDL(isolation string) Workload {
	w := appends("append-ddl@"+isolation, isolation, "")
	step, base := w.Step, table(w.Name, "app")
	w.Step = func(ctx context.Context, c *Client) {
		if c.Rand.IntN(50) == 0 && c.connect(ctx) {
			one, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.OpLimit)
			defer cancel()
			t := base + [2]string{"_a", "_b"}[c.Rand.IntN(2)]
			n := c.Rand.IntN(4)
			sql := []string{
				fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS c%d bigint DEFAULT %d", t, n, n),
				fmt.Sprintf("ALTER TABLE %s DROP COLUMN IF EXISTS c%d", t, n),
				fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s_i%d ON %s (sk)", t, n, t),
				fmt.Sprintf("DROP INDEX IF EXISTS %s_i%d", t, n),
				fmt.Sprintf("ALTER TABLE %s ALTER COLUMN sk TYPE bigint USING sk + 0", t),
			}[c.Rand.IntN(5)]
			if _, err := c.conn.Exec(one, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				c.Errors.note(err)
			}
			if one.Err() != nil {
				c.Close()
			}
		}
		step(ctx, c)
	}
	return w
}

func appends(name, isolation, read string) Workload {
	base := table(name, "app")
	tables := [2]string{base + "_a", base + "_b"}
	var element atomic.Int64
	const width, perWindow = 6, 300 // keys in use at a time; operations before they move on
	var setup []string
	for _, t := range tables {
		setup = append(setup, "CREATE TABLE "+t+" (k bigint PRIMARY KEY, sk bigint NOT NULL, v bigint[] NOT NULL)", "CREATE INDEX ON "+t+" (sk)")
	}
	appendTo := func(ctx context.Context, c *Client, q queryer, m history.Mop, how int) error {
		t := tables[m.Key%2]
		if how == 0 {
			tag, err := q.Exec(ctx, "UPDATE "+t+" SET v = v || $2::bigint WHERE sk = $1", m.Key, m.Arg)
			if err != nil || tag.RowsAffected() > 0 {
				return err
			}
		}
		_, err := q.Exec(ctx, "INSERT INTO "+t+" (k, sk, v) VALUES ($1, $1, ARRAY[$2::bigint]) ON CONFLICT (k) DO UPDATE SET v = "+t+".v || EXCLUDED.v", m.Key, m.Arg)
		return err
	}
	readFrom := func(ctx context.Context, q queryer, m *history.Mop, column string) error {
		err := q.QueryRow(ctx, "SELECT v FROM "+tables[m.Key%2]+" WHERE "+column+" = $1", m.Key).Scan(&m.Read)
		if err == pgx.ErrNoRows {
			m.Read, err = nil, nil
		}
		return err
	}
	begin := "BEGIN ISOLATION LEVEL " + strings.ToUpper(isolation)
	return Workload{Name: name, Read: read, Setup: setup,
		Step: func(ctx context.Context, c *Client) {
			window := int64(c.Rec.Len()/perWindow) * width
			var mops []history.Mop
			writes := false
			for range 1 + c.Rand.IntN(4) {
				m := history.Mop{F: "r", Key: window + c.Rand.Int64N(width)}
				if c.Rand.IntN(2) == 0 {
					m.F, m.Arg, writes = "append", element.Add(1), true
				}
				mops = append(mops, m)
			}
			columns := [2]string{"k", "sk"}
			how := make([]int, len(mops))
			for i := range how {
				how[i] = c.Rand.IntN(2)
			}
			run := func(ctx context.Context, q queryer, ms []history.Mop) error {
				for i := range ms {
					var err error
					if ms[i].F == "append" {
						err = appendTo(ctx, c, q, ms[i], how[i])
					} else {
						err = readFrom(ctx, q, &ms[i], columns[how[i]])
					}
					if err != nil {
						return err
					}
				}
				return nil
			}
			c.do(ctx, writes, mops, func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) error {
				if len(ms) == 1 && how[0] == 1 && isolation == "read committed" {
					return run(ctx, conn, ms) // on its own, without a block
				}
				b := begin
				if !writes && how[0] == 0 {
					b += " READ ONLY"
				}
				return transact(ctx, conn, b, func(q queryer) error { return run(ctx, q, ms) })
			})
			c.pause(ctx, 60*time.Millisecond)
		},
		Final: func(ctx context.Context, c *Client) error {
			for key := range int64(c.Rec.Len()/perWindow+1) * width {
				if err := c.final(ctx, []history.Mop{{F: "r", Key: key}}, func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) error {
					return readFrom(ctx, conn, &ms[0], "k")
				}); err != nil {
					return err
				}
			}
			return nil
		},
		Check: func(h history.History) Result {
			all := check.Appends(h)
			res := Result{Anomalies: check.Only(all, check.Levels[isolation])}
			for _, a := range all {
				if !check.Levels[isolation][a.Kind] {
					res.Allowed = append(res.Allowed, a)
				}
			}
			if len(res.Allowed) > 0 {
				res.Note = fmt.Sprintf("allowed at this level and seen: %v", check.Kinds(res.Allowed))
			}
			return res
		},
	}
}
