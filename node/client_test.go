package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// three is a cluster of three nodes in this process, shared by the tests of this package.
type three struct {
	*Demo
	t *testing.T
}

var shared struct {
	demo *Demo
	used map[string]bool // tests that have left their tables there
}

// demoCluster returns the shared cluster with every node ready.
func demoCluster(t *testing.T) three {
	t.Helper()
	if testing.Short() {
		t.Skip("starts three nodes; runs without -short")
	}
	if shared.used[t.Name()] { // -count: the test wants a cluster without them
		if err := shared.demo.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(sharedDir()); err != nil {
			t.Fatal(err)
		}
		shared.demo, shared.used = nil, nil
	}
	if shared.demo == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		d, err := StartDemo(ctx, DemoConfig{Nodes: 3, Dir: sharedDir(), Heartbeat: 4 * testHeartbeat(), LogLevel: "error"})
		if err != nil {
			t.Fatal(err)
		}
		shared.demo, shared.used = d, map[string]bool{}
	}
	shared.used[t.Name()] = true
	return three{shared.demo, t}
}

// leader is the node that leads now, follower one that does not.
func (c three) leader() *Node {
	c.t.Helper()
	var found *Node
	wait(c.t, "a leader", func(context.Context) error {
		for _, n := range c.Nodes {
			if m := n.group.Metrics(); m.State == "Leader" && m.Ready {
				found = n
				return nil
			}
		}
		return errors.New("none")
	})
	return found
}

func (c three) follower() *Node {
	c.t.Helper()
	l := c.leader()
	for _, n := range c.Nodes {
		if n != l {
			return n
		}
	}
	return nil
}

// client is a connection with the shorthands of these tests.
type client struct {
	*pgx.Conn
	t       *testing.T
	notices []*pgconn.Notice
}

func dial(t *testing.T, n *Node, options ...string) *client {
	t.Helper()
	c := &client{t: t}
	cfg, err := pgx.ParseConfig(n.DSN() + strings.Join(append([]string{""}, options...), "&"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.notices = append(c.notices, n) }
	if c.Conn, err = pgx.ConnectConfig(bounded(t), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// bounded is a context of the test that ends after 30 seconds.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// do runs statements in the simple protocol; the tag of the last is returned.
func (c *client) do(sql string) string {
	c.t.Helper()
	res, err := c.again(sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return res[len(res)-1].CommandTag.String()
}

// again runs statements as a careful client does: what lost its leader, and is
// certain not to have happened (40001), is run again if no block was open before.
func (c *client) again(sql string) (res []*pgconn.Result, err error) {
	for idle := c.PgConn().TxStatus() == 'I'; ; {
		res, err = c.PgConn().Exec(bounded(c.t), sql).ReadAll()
		if sqlState(err) != "40001" || !idle || !strings.Contains(err.Error(), "leadership") {
			return res, err
		}
		if c.PgConn().TxStatus() != 'I' {
			if _, err := c.PgConn().Exec(bounded(c.t), "ROLLBACK").ReadAll(); err != nil {
				return nil, err
			}
		}
	}
}

// rows is the answer of a query string as text: columns by |, rows by blanks.
func (c *client) rows(sql string) string {
	c.t.Helper()
	res, err := c.again(sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return text(res[len(res)-1].Rows)
}

func text(rows [][][]byte) string {
	var out []string
	for _, r := range rows {
		var cells []string
		for _, v := range r {
			cells = append(cells, string(v))
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return strings.Join(out, " ")
}

// want compares a query's answer.
func (c *client) want(sql, want string) {
	c.t.Helper()
	if got := c.rows(sql); got != want {
		c.t.Errorf("%s: got %q, want %q", sql, got, want)
	}
}

// fails runs a statement that must fail with a SQLSTATE.
func (c *client) fails(sql, code string) *pgconn.PgError {
	c.t.Helper()
	_, err := c.PgConn().Exec(bounded(c.t), sql).ReadAll()
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Code != code {
		c.t.Fatalf("%s: got %v, want SQLSTATE %s", sql, err, code)
	}
	return pe
}

// written runs a statement until it is done, where nothing but the leader's having
// moved keeps it from being.
func (c *client) written(sql string) {
	c.t.Helper()
	wait(c.t, sql, func(context.Context) error {
		_, err := c.again(sql)
		if code := sqlState(err); err != nil && code != "40001" && code != "57P03" {
			c.t.Fatalf("%s: %v", sql, err)
		}
		return err
	})
}

// soon waits until a query gives an answer.
func (c *client) soon(sql, want string) {
	c.t.Helper()
	wait(c.t, sql, func(ctx context.Context) error {
		if got := c.rows(sql); got != want {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}

// everywhere waits until every node's own replica answers the same.
func (c three) everywhere(sql, want string) {
	c.t.Helper()
	for _, n := range c.Nodes {
		dial(c.t, n).soon(sql, want)
	}
}

// exchange sends messages and sums up the answers to the last ReadyForQuery that they ask for.
func exchange(t *testing.T, c *client, send []pgproto3.FrontendMessage) string {
	t.Helper()
	fe := c.PgConn().Frontend()
	ready := 0
	skip := false
	for _, m := range send {
		fe.Send(m)
		switch m.(type) {
		case *pgproto3.Sync:
			ready, skip = ready+1, false
		case *pgproto3.Query:
			if !skip {
				ready++
			}
		default:
			skip = true // a Query between messages of a series is skipped when they fail
		}
	}
	if _, ok := send[len(send)-1].(*pgproto3.Query); ok && skip {
		ready++ // it ends the series
	}
	if err := fe.Flush(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for ready > 0 {
		m, err := fe.Receive()
		if err != nil {
			t.Fatalf("%v after %v", err, out)
		}
		switch m := m.(type) {
		case *pgproto3.ParseComplete:
			out = append(out, "1")
		case *pgproto3.BindComplete:
			out = append(out, "2")
		case *pgproto3.CommandComplete:
			out = append(out, "C:"+string(m.CommandTag))
		case *pgproto3.ErrorResponse:
			out = append(out, "E:"+m.Code)
		case *pgproto3.RowDescription:
			out = append(out, "T")
		case *pgproto3.DataRow:
			out = append(out, "D")
		case *pgproto3.NoData:
			out = append(out, "n")
		case *pgproto3.NotificationResponse:
			out = append(out, "A:"+m.Payload)
		case *pgproto3.ReadyForQuery:
			out = append(out, "Z:"+string(m.TxStatus))
			ready--
		}
	}
	return strings.Join(out, " ")
}
