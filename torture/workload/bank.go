package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/torture/check"
	"ostraka/torture/history"
)

// Bank: money moves between accounts; nobody ever sees it made or lost.
//
// At READ COMMITTED a transfer is done by statements that are right on their own;
// at the levels above it reads both balances and writes what it computed.
func Bank(isolation, read string) Workload {
	name := "bank@" + isolation + "/" + read
	t := table(name, "bank")
	const accounts, each = 8, 100
	begin := "BEGIN ISOLATION LEVEL " + strings.ToUpper(isolation)
	readAll := func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) (err error) {
		ms[0].Read, err = ints(ctx, conn, "SELECT balance FROM "+t+" ORDER BY id")
		return err
	}
	// In two halves a read is only consistent above READ COMMITTED.
	inHalves := func(ctx context.Context, conn *pgx.Conn, ms []history.Mop) error {
		return transact(ctx, conn, begin, func(q queryer) error {
			for _, half := range []string{"id < 4", "id >= 4"} {
				got, err := ints(ctx, q, "SELECT balance FROM "+t+" WHERE "+half)
				if err != nil {
					return err
				}
				ms[0].Read = append(ms[0].Read, got...)
			}
			return nil
		})
	}
	return Workload{Name: name, Read: read,
		Setup: []string{"CREATE TABLE " + t + " (id bigint PRIMARY KEY, balance bigint NOT NULL)",
			fmt.Sprintf("INSERT INTO %s SELECT g, %d FROM generate_series(0, %d) g", t, each, accounts-1)},
		Step: func(ctx context.Context, c *Client) {
			from, to, amount := c.Rand.Int64N(accounts), c.Rand.Int64N(accounts), 1+c.Rand.Int64N(20)
			switch {
			case c.Rand.IntN(2) == 0 && isolation != "read committed":
				c.do(ctx, false, []history.Mop{{F: "r"}}, inHalves)
			case c.Rand.IntN(2) == 0:
				c.do(ctx, false, []history.Mop{{F: "r"}}, readAll)
			case from != to:
				c.do(ctx, true, []history.Mop{{F: "transfer", Key: from, Arg: to, Arg2: amount}}, func(ctx context.Context, conn *pgx.Conn, _ []history.Mop) error {
					return transact(ctx, conn, begin, func(q queryer) error {
						if isolation == "read committed" {
							return moveInPlace(ctx, q, t, from, to, amount)
						}
						return moveRead(ctx, q, t, from, to, amount)
					})
				})
			}
			c.pause(ctx, 60*time.Millisecond)
		},
		Final: func(ctx context.Context, c *Client) error { return c.final(ctx, []history.Mop{{F: "r"}}, readAll) },
		Check: func(h history.History) Result { return Result{Anomalies: check.Bank(h, accounts*each)} },
	}
}

func moveInPlace(ctx context.Context, q queryer, t string, from, to, amount int64) error {
	tag, err := q.Exec(ctx, "UPDATE "+t+" SET balance = balance - $2 WHERE id = $1 AND balance >= $2", from, amount)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return errRefused
	}
	_, err = q.Exec(ctx, "UPDATE "+t+" SET balance = balance + $2 WHERE id = $1", to, amount)
	return err
}

func moveRead(ctx context.Context, q queryer, t string, from, to, amount int64) error {
	var have, there int64
	if err := q.QueryRow(ctx, "SELECT balance FROM "+t+" WHERE id = $1", from).Scan(&have); err != nil {
		return err
	}
	if err := q.QueryRow(ctx, "SELECT balance FROM "+t+" WHERE id = $1", to).Scan(&there); err != nil {
		return err
	}
	if have < amount {
		return errRefused
	}
	if _, err := q.Exec(ctx, "UPDATE "+t+" SET balance = $2 WHERE id = $1", from, have-amount); err != nil {
		return err
	}
	_, err := q.Exec(ctx, "UPDATE "+t+" SET balance = $2 WHERE id = $1", to, there+amount)
	return err
}
