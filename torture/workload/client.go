// Package workload is what clients do during a run, and what must be true of it:
// each workload has its tables, its operations and its checker.
//
// A client is one goroutine with one session at a time, on one node, which it
// stays with when its session breaks: every node keeps being asked.
package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/torture/cluster"
	"ostraka/torture/history"
)

// sessions numbers the sessions of a run.
var sessions atomic.Int64

// Client is one client of a workload.
type Client struct {
	Process int
	Node    *cluster.Node
	Rand    *rand.Rand
	Rec     *history.Recorder
	Errors  *Errors
	// Read is the read level of its sessions ("" for the default).
	Read string
	// OpLimit bounds one operation.
	OpLimit time.Duration
	// All are the nodes of the cluster, for clients that ask others too.
	All []*cluster.Node

	carried struct {
		session  int
		position string
	}

	conn    *pgx.Conn
	session int
}

// Errors counts errors by text, for the report.
type Errors struct {
	mu sync.Mutex
	m  map[string]int // guarded by mu
}

func (e *Errors) note(err error) {
	text := err.Error()
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		text = pe.Code + " " + pe.Message
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.m == nil {
		e.m = map[string]int{}
	}
	if len(e.m) < 200 || e.m[text] > 0 {
		e.m[text]++
	}
}

// Counts returns the counts by text.
func (e *Errors) Counts() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]int{}
	for k, v := range e.m {
		out[k] = v
	}
	return out
}

// connect makes sure that there is a session; it reports false when there is none to be had.
func (c *Client) connect(ctx context.Context) bool {
	if c.conn != nil && !c.conn.IsClosed() {
		return true
	}
	c.conn = nil
	cfg, err := pgx.ParseConfig(c.Node.DSN())
	if err != nil {
		panic(err)
	}
	if c.Process%2 == 1 { // both protocols are used
		cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err == nil && c.Read != "" {
		_, err = conn.Exec(ctx, "SET ostraka.read_consistency = '"+c.Read+"'", pgx.QueryExecModeSimpleProtocol)
		if err == nil && c.Read == "bounded" {
			_, err = conn.Exec(ctx, fmt.Sprintf("SET ostraka.max_staleness = %d", staleness.Milliseconds()), pgx.QueryExecModeSimpleProtocol)
		}
		if err != nil {
			conn.Close(ctx)
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			c.Errors.note(err)
		}
		return false
	}
	c.conn, c.session = conn, int(sessions.Add(1))
	return true
}

// Close ends the session.
func (c *Client) Close() {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.conn.Close(ctx)
		c.conn = nil
	}
}

// do runs one operation: f gets a copy of the steps to fill in what it read.
// write tells whether a lost answer leaves the outcome open.
func (c *Client) do(ctx context.Context, write bool, mops []history.Mop, f func(ctx context.Context, conn *pgx.Conn, mops []history.Mop) error) bool {
	if !c.connect(ctx) {
		return false
	}
	o := c.Rec.Call(c.Process, c.session, c.Node.ID, mops...)
	// An operation that has begun is finished: the end of the load does not cut it off.
	one, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.OpLimit)
	defer cancel()
	done := append([]history.Mop(nil), mops...)
	err := f(one, c.conn, done)
	outcome := history.OK
	if err != nil {
		c.Errors.note(err)
		done = mops
		if outcome = Outcome(err); outcome == history.Unknown && !write {
			outcome = history.Fail
		}
	}
	c.Rec.Done(o, done, outcome, err)
	if one.Err() != nil {
		c.Close()
	}
	return err == nil
}

// notCommitted wraps an error of a transaction that never got to its COMMIT.
type notCommitted struct{ error }

func (e notCommitted) Unwrap() error { return e.error }

// Outcome tells what an error says about the operation, by what
// docs/promises.md promises of each code.
func Outcome(err error) history.Outcome {
	var never notCommitted
	if errors.As(err, &never) || errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, errRefused) {
		return history.Fail
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		switch {
		case pe.Code == "40003", pe.Code[:2] == "08", pe.Code == "57P01", pe.Code == "57P02", pe.Code == "XX000", pe.Code == "58030":
			return history.Unknown
		}
		return history.Fail
	}
	if pgconn.SafeToRetry(err) {
		return history.Fail
	}
	return history.Unknown
}

// errRefused is a workload's own reason to take a transaction back.
var errRefused = errors.New("the workload took it back")

// transact runs f in a block.
func transact(ctx context.Context, conn *pgx.Conn, begin string, f func(q queryer) error) error {
	if _, err := conn.Exec(ctx, begin); err != nil {
		return notCommitted{err}
	}
	if err := f(conn); err != nil {
		if !conn.IsClosed() {
			if _, rerr := conn.Exec(ctx, "ROLLBACK"); rerr != nil {
				_ = conn.Close(ctx)
			}
		}
		return notCommitted{err}
	}
	tag, err := conn.Exec(ctx, "COMMIT")
	if err == nil && tag.String() != "COMMIT" {
		return pgx.ErrTxCommitRollback
	}
	if err != nil && !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' {
		_ = conn.Close(ctx)
	}
	return err
}

// queryer is a session or a pool.
type queryer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// pause lets the client think for up to d.
func (c *Client) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(c.Rand.Int64N(int64(d) + 1))):
	}
}
