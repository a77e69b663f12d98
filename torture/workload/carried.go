package workload

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/torture/check"
	"ostraka/torture/history"
)

// Carried is Monotonic for clients that go from node to node and carry their
// position: what they have seen and written is seen on the next node too.
func Carried() Workload {
	name := "carried"
	t := table(name, "carry")
	const keys = 3
	return Workload{Name: name,
		Setup: []string{"CREATE TABLE " + t + " (k bigint PRIMARY KEY, n bigint NOT NULL)", "INSERT INTO " + t + " SELECT g, 0 FROM generate_series(0, 2) g"},
		Step: func(ctx context.Context, c *Client) {
			c.Node = c.All[c.Rand.IntN(len(c.All))]
			c.Close()
			if c.carried.session == 0 {
				c.carried.session = int(sessions.Add(1))
			}
			if !c.connect(ctx) {
				c.pause(ctx, 60*time.Millisecond)
				return
			}
			c.session = c.carried.session
			k, write := c.Rand.Int64N(keys), c.Rand.IntN(3) == 0
			m := history.Mop{F: "r", Key: k}
			sql := "SELECT n FROM " + t + " WHERE k = $1"
			if write {
				m.F, sql = "inc", "UPDATE "+t+" SET n = n + 1 WHERE k = $1 RETURNING n"
			}
			position := ""
			ok := c.do(ctx, write, []history.Mop{m}, func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) error {
				if c.carried.position != "" {
					if _, err := conn.Exec(ctx, "SET ostraka.min_position = '"+c.carried.position+"'", pgx.QueryExecModeSimpleProtocol); err != nil {
						return notCommitted{err}
					}
				}
				got, err := ints(ctx, conn, sql, k)
				if err != nil {
					return err
				}
				ms[0].Read = got
				_ = conn.QueryRow(ctx, "SHOW ostraka.position", pgx.QueryExecModeSimpleProtocol).Scan(&position)
				return nil
			})
			switch {
			case ok && position == "":
				c.carried.session, c.carried.position = 0, "" // nothing covers what was seen: start anew
			case ok:
				c.carried.position = position
			}
			c.pause(ctx, 60*time.Millisecond)
		},
		Check: func(h history.History) Result { return Result{Anomalies: check.Monotonic(h)} },
	}
}

// Sequence: values of one sequence through all nodes.
func Sequence() Workload {
	name := "sequence"
	t := table(name, "seq")
	return Workload{Name: name,
		Setup: []string{"CREATE SEQUENCE " + t},
		Step: func(ctx context.Context, c *Client) {
			c.do(ctx, true, []history.Mop{{F: "next"}}, func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) (err error) {
				ms[0].Read, err = ints(ctx, conn, "SELECT nextval('"+t+"')")
				return err
			})
			c.pause(ctx, 60*time.Millisecond)
		},
		Check: func(h history.History) Result { return Result{Anomalies: check.Sequence(h)} },
	}
}
