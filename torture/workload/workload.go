package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/torture/check"
	"ostraka/torture/history"
)

// Workload is one kind of load at one isolation and read level. Its name tells
// them: append@serializable/local.
type Workload struct {
	Name string
	// Read is the read level of its clients' sessions.
	Read string
	// Setup makes its tables.
	Setup []string
	// Step does one operation.
	Step func(ctx context.Context, c *Client)
	// Final reads everything at rest, with c's session, once per node.
	Final func(ctx context.Context, c *Client) error
	// Check decides.
	Check func(h history.History) Result
}

// Result of a check.
type Result struct {
	Anomalies []check.Anomaly
	// Allowed are anomalies that the level does not forbid: seen, counted, no failure.
	Allowed []check.Anomaly
	Note    string // figures for the report
	// Undecided: the checker ran out of time somewhere.
	Undecided bool
}

// table is the workload's own name for a table.
func table(name, kind string) string {
	return kind + "_" + strings.NewReplacer("@", "_", "/", "_", " ", "_", "-", "_").Replace(name)
}

// All are the workloads by name, at every level that promises.md tells about.
func All() []Workload {
	out := []Workload{
		Registers("linearizable"),
		Set("local", -1), Set("bounded", staleness), Set("linearizable", 0),
		Monotonic("local"), Monotonic("bounded"), Monotonic("linearizable"),
		LongFork("local"), LongFork("leader"),
		Bank("read committed", "local"), Bank("repeatable read", "local"), Bank("serializable", "local"),
	}
	for _, iso := range []string{"read committed", "repeatable read", "serializable"} {
		out = append(out, Append(iso, "local"))
	}
	return append(out, Append("serializable", "linearizable"), Append("repeatable read", "leader"), AppendDuringDDL("read committed"), AppendDuringDDL("serializable"),
		Outcomes(), Carried(), Sequence())
}

// staleness is how old bounded reads may be.
const staleness = 700 * time.Millisecond

// Select returns the workloads whose names begin with one of the given words.
func Select(names []string) ([]Workload, error) {
	if len(names) == 0 {
		return All(), nil
	}
	var out []Workload
	for _, n := range names {
		found := false
		for _, w := range All() {
			if strings.HasPrefix(w.Name, n) {
				out, found = append(out, w), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no workload begins with %q", n)
		}
	}
	return out, nil
}

// Registers: reads, writes, compare-and-sets, inserts (compare-and-sets of a row
// that is absent) and deletes of single rows, linearizable.
func Registers(read string) Workload {
	name := "register@" + read
	t := table(name, "reg")
	const perKey, width = 400, 3 // a checker's work grows with the operations of a key
	key := func(c *Client) int64 { return int64(c.Rec.Len()/(perKey*width)*width) + c.Rand.Int64N(width) }
	return Workload{Name: name, Read: read,
		Setup: []string{"CREATE TABLE " + t + " (k bigint PRIMARY KEY, v bigint NOT NULL)"},
		Step: func(ctx context.Context, c *Client) {
			m := history.Mop{Key: key(c)}
			switch c.Rand.IntN(8) {
			case 0, 1:
				m.F, m.Arg = "w", c.Rand.Int64N(5)
			case 2:
				m.F, m.Arg, m.Arg2 = "cas", c.Rand.Int64N(5), c.Rand.Int64N(5)
			case 3:
				m.F, m.Arg, m.Arg2 = "cas", check.Absent, c.Rand.Int64N(5)
			case 4:
				m.F, m.Arg = "w", check.Absent
			default:
				m.F = "r"
			}
			c.do(ctx, m.F != "r", []history.Mop{m}, func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) error {
				switch {
				case m.F == "w" && m.Arg == check.Absent:
					_, err := conn.Exec(ctx, "DELETE FROM "+t+" WHERE k = $1", m.Key)
					return err
				case m.F == "cas" && m.Arg == check.Absent:
					_, err := conn.Exec(ctx, "INSERT INTO "+t+" VALUES ($1, $2)", m.Key, m.Arg2)
					ms[0].Read = []int64{1}
					if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) && pe.Code == "23505" {
						ms[0].Read, err = []int64{0}, nil
					}
					return err
				case m.F == "w":
					_, err := conn.Exec(ctx, "INSERT INTO "+t+" VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v", m.Key, m.Arg)
					return err
				case m.F == "cas":
					tag, err := conn.Exec(ctx, "UPDATE "+t+" SET v = $3 WHERE k = $1 AND v = $2", m.Key, m.Arg, m.Arg2)
					ms[0].Read = []int64{tag.RowsAffected()}
					return err
				}
				got, err := ints(ctx, conn, "SELECT v FROM "+t+" WHERE k = $1", m.Key)
				ms[0].Read = got
				return err
			})
			c.pause(ctx, 60*time.Millisecond)
		},
		Check: func(h history.History) Result {
			got, undecided := check.Registers(h, 20*time.Second)
			return Result{Anomalies: got, Undecided: undecided > 0, Note: fmt.Sprintf("%d registers undecided", undecided)}
		},
	}
}

// Set: unique inserts into a table without keys. fresh is how old an acknowledged
// insert may be that a read does not see; negative: any age.
func Set(read string, fresh time.Duration) Workload {
	name := "set@" + read
	t := table(name, "set")
	readAll := func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) (err error) {
		ms[0].Read, err = ints(ctx, conn, "SELECT v FROM "+t)
		return err
	}
	return Workload{Name: name, Read: read,
		Setup: []string{"CREATE TABLE " + t + " (v bigint NOT NULL)"},
		Step: func(ctx context.Context, c *Client) {
			if c.Rand.IntN(15) == 0 {
				c.do(ctx, false, []history.Mop{{F: "r"}}, readAll)
				return
			}
			v := int64(c.Process)<<32 | int64(c.Rec.Len())
			c.do(ctx, true, []history.Mop{{F: "add", Arg: v}}, func(ctx context.Context, conn *pgx.Conn, _ []history.Mop) error {
				if c.Rand.IntN(3) > 0 {
					_, err := conn.Exec(ctx, "INSERT INTO "+t+" VALUES ($1)", v)
					return err
				}
				return transact(ctx, conn, "BEGIN", func(q queryer) error {
					_, err := q.Exec(ctx, "INSERT INTO "+t+" VALUES ($1)", v)
					return err
				})
			})
			c.pause(ctx, 60*time.Millisecond)
		},
		Final: func(ctx context.Context, c *Client) error {
			return c.final(ctx, []history.Mop{{F: "r"}}, readAll)
		},
		Check: func(h history.History) Result {
			got, n := check.Set(h, fresh)
			return Result{Anomalies: got, Note: fmt.Sprintf("%d acknowledged, %d lost, %d applied twice, %d of unknown outcome of which %d are there, %d failed and there",
				n.Acknowledged, n.Lost, n.Twice, n.Unknown, n.Recovered, n.Resurrected)}
		},
	}
}

// Monotonic: counters that only grow; sessions look that they never go back.
func Monotonic(read string) Workload {
	name := "monotonic@" + read
	t := table(name, "mono")
	const keys = 3
	look := func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) (err error) {
		ms[0].Read, err = ints(ctx, conn, "SELECT n FROM "+t+" WHERE k = $1", ms[0].Key)
		if err == nil && len(ms[0].Read) != 1 {
			ms[0].Read = []int64{-1} // a row that is gone has gone back
		}
		return err
	}
	return Workload{Name: name, Read: read,
		Setup: []string{"CREATE TABLE " + t + " (k bigint PRIMARY KEY, n bigint NOT NULL)", "INSERT INTO " + t + " SELECT g, 0 FROM generate_series(0, 2) g"},
		Step: func(ctx context.Context, c *Client) {
			k := c.Rand.Int64N(keys)
			if c.Rand.IntN(3) > 0 {
				c.do(ctx, false, []history.Mop{{F: "r", Key: k}}, look)
			} else {
				c.do(ctx, true, []history.Mop{{F: "inc", Key: k}}, func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) (err error) {
					ms[0].Read, err = ints(ctx, conn, "UPDATE "+t+" SET n = n + 1 WHERE k = $1 RETURNING n", k)
					return err
				})
			}
			c.pause(ctx, 60*time.Millisecond)
		},
		Final: func(ctx context.Context, c *Client) error {
			for k := range int64(keys) {
				if err := c.final(ctx, []history.Mop{{F: "r", Key: k}}, look); err != nil {
					return err
				}
			}
			return nil
		},
		Check: func(h history.History) Result { return Result{Anomalies: check.Monotonic(h)} },
	}
}

// LongFork: rows written once each, read in pairs.
func LongFork(read string) Workload {
	name := "longfork@" + read
	t := table(name, "fork")
	return Workload{Name: name, Read: read,
		Setup: []string{"CREATE TABLE " + t + " (k bigint PRIMARY KEY)"},
		Step: func(ctx context.Context, c *Client) {
			group := int64(c.Rec.Len() / 12) // clients meet on a group while its rows are written
			if c.Rand.IntN(3) == 0 {
				k := 2*group + c.Rand.Int64N(2)
				c.do(ctx, true, []history.Mop{{F: "w", Key: group, Arg: k}}, func(ctx context.Context, conn *pgx.Conn, _ []history.Mop) error {
					_, err := conn.Exec(ctx, "INSERT INTO "+t+" VALUES ($1) ON CONFLICT DO NOTHING", k)
					return err
				})
			} else {
				block := c.Rand.IntN(2) == 0
				c.do(ctx, false, []history.Mop{{F: "r", Key: group}}, func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) (err error) {
					if !block {
						ms[0].Read, err = ints(ctx, conn, "SELECT k FROM "+t+" WHERE k IN ($1, $2)", 2*group, 2*group+1)
						return err
					}
					return transact(ctx, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", func(q queryer) error {
						for k := 2*group + 1; k >= 2*group; k-- {
							got, err := ints(ctx, q, "SELECT k FROM "+t+" WHERE k = $1", k)
							if err != nil {
								return err
							}
							ms[0].Read = append(ms[0].Read, got...)
						}
						return nil
					})
				})
			}
			c.pause(ctx, 60*time.Millisecond)
		},
		Check: func(h history.History) Result { return Result{Anomalies: check.LongForks(h)} },
	}
}

// ints reads a column of integers.
func ints(ctx context.Context, q queryer, sql string, args ...any) ([]int64, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// final records a read at rest, trying until it succeeds. A table that is not there
// any more has no rows.
func (c *Client) final(ctx context.Context, mops []history.Mop, f func(ctx context.Context, conn *pgx.Conn, mops []history.Mop) error) error {
	var last error
	for {
		if c.connect(ctx) {
			done := append([]history.Mop(nil), mops...)
			o := c.Rec.Call(c.Process, c.session, c.Node.ID, mops...)
			err := f(ctx, c.conn, done)
			if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) && pe.Code == "42P01" {
				copy(done, mops)
				err = nil
			}
			if err == nil {
				c.Rec.Done(o, done, history.OK, nil)
				o.Final = true
				return nil
			}
			c.Rec.Done(o, mops, history.Fail, err)
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s cannot be asked: %w (%v)", c.Node.ID, ctx.Err(), last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
