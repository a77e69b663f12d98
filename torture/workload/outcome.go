package workload

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/torture/check"
	"ostraka/torture/history"
)

// Outcomes: unique inserts whose lost answers are resolved. A transaction with the
// client's own name is tried again until it has happened, through any node, and
// happens once; one that the database named is asked for, and the answer holds.
func Outcomes() Workload {
	name := "outcome"
	t := table(name, "out")
	readAll := func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) (err error) {
		ms[0].Read, err = ints(ctx, conn, "SELECT v FROM "+t)
		return err
	}
	return Workload{Name: name,
		Setup: []string{"CREATE TABLE " + t + " (v bigint NOT NULL)"},
		Step: func(ctx context.Context, c *Client) {
			v := int64(c.Process)<<32 | int64(c.Rec.Len())
			own := ""
			if c.Rand.IntN(2) == 0 {
				own = fmt.Sprintf("torture-%d", v)
			}
			c.do(ctx, true, []history.Mop{{F: "add", Arg: v}}, func(ctx context.Context, conn *pgx.Conn, _ []history.Mop) error {
				// Longer than other operations: it may have to wait for a leader to ask.
				long, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
				defer cancel()
				if own != "" {
					return c.once(long, conn, own, "INSERT INTO "+t+" VALUES ($1)", v)
				}
				_, err := conn.Exec(ctx, "INSERT INTO "+t+" VALUES ($1)", v)
				return c.resolve(long, err)
			})
			c.pause(ctx, 60*time.Millisecond)
		},
		Final: func(ctx context.Context, c *Client) error { return c.final(ctx, []history.Mop{{F: "r"}}, readAll) },
		Check: func(h history.History) Result {
			got, n := check.Set(h, -1)
			return Result{Anomalies: got, Note: fmt.Sprintf("%d acknowledged or found to be committed, %d lost, %d applied twice, %d unresolved", n.Acknowledged, n.Lost, n.Twice, n.Unknown)}
		},
	}
}

// once tries a transaction with a name until it has happened. An attempt of the
// same name that has committed refuses the next one with 23505.
func (c *Client) once(ctx context.Context, conn *pgx.Conn, name, sql string, args ...any) error {
	unknown := false
	for {
		err := transact(ctx, conn, "BEGIN", func(q queryer) error {
			if _, err := q.Exec(ctx, "SET LOCAL ostraka.transaction_id = '"+name+"'"); err != nil {
				return err
			}
			_, err := q.Exec(ctx, sql, args...)
			return err
		})
		if err == nil {
			return nil
		}
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code == "23505" {
			if !unknown {
				return fmt.Errorf("the transaction %s was refused at its first attempt: %w", name, errWrong)
			}
			return nil
		}
		unknown = unknown || Outcome(err) == history.Unknown
		if !unknown || ctx.Err() != nil {
			return givenUp(err, unknown)
		}
		if conn.IsClosed() {
			if conn = c.elsewhere(ctx); conn == nil {
				return givenUp(err, unknown)
			}
			defer conn.Close(context.WithoutCancel(ctx))
		}
		c.pause(ctx, 200*time.Millisecond)
	}
}

// givenUp is the error of several attempts, the last of which failed with err: when
// the outcome of an earlier one is unknown, so is that of all.
func givenUp(err error, unknown bool) error {
	if unknown && Outcome(err) != history.Unknown {
		return fmt.Errorf("not resolved: %v", err) // not wrapped: it tells of the last attempt only
	}
	return err
}

// errWrong is an answer that no outcome explains; it stays Unknown in the history
// and is counted among the errors.
var errWrong = errors.New("this cannot be")

var outcomeName = regexp.MustCompile(` is '([^']+)'`)

// resolve asks for the outcome that err leaves open, where it names the transaction.
func (c *Client) resolve(ctx context.Context, err error) error {
	var pe *pgconn.PgError
	if err == nil || !errors.As(err, &pe) || pe.Code != "08007" && pe.Code != "40003" {
		return err
	}
	m := outcomeName.FindStringSubmatch(pe.Detail)
	if m == nil {
		return err
	}
	last := errors.New("no node answered")
	for ctx.Err() == nil {
		if conn := c.elsewhere(ctx); conn != nil {
			var status *string
			qerr := conn.QueryRow(ctx, "SELECT ostraka_transaction_status($1)", m[1]).Scan(&status)
			_ = conn.Close(ctx)
			switch {
			case qerr != nil:
				last = qerr
			case status == nil:
				last = errors.New("nothing is known of it")
			case *status == "committed":
				return nil
			case *status == "aborted":
				return notCommitted{fmt.Errorf("%w; found to be aborted", err)}
			default:
				last = errors.New(*status)
			}
		}
		c.pause(ctx, 300*time.Millisecond)
	}
	c.Errors.note(fmt.Errorf("the outcome of %s could not be found out: %v", m[1], last))
	return fmt.Errorf("%w; not resolved: %v", err, last)
}

// elsewhere opens a session on any node; nil when none can be had in time.
func (c *Client) elsewhere(ctx context.Context) *pgx.Conn {
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(ctx, 3*time.Second)
		conn, err := c.All[c.Rand.IntN(len(c.All))].Connect(one)
		cancel()
		if err == nil {
			return conn
		}
		c.pause(ctx, 200*time.Millisecond)
	}
	return nil
}
