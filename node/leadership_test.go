package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// transfer moves leadership to a node and waits until every node knows.
func (c three) transfer(to *Node) {
	c.t.Helper()
	wait(c.t, "node "+to.ID()+" to lead", func(ctx context.Context) error {
		if l := c.leader(); l != to {
			if err := l.group.TransferLeadership(ctx, to.ID()); err != nil {
				return err
			}
		}
		for _, n := range c.Nodes {
			if n.group.Leadership().LeaderID != to.ID() {
				return fmt.Errorf("node %s does not know", n.ID())
			}
		}
		if m := to.group.Metrics(); m.State != "Leader" || !m.Ready {
			return errors.New("not ready")
		}
		return nil
	})
}

// TestLeadershipMoves: a session goes on working, in both protocols, while its node loses and gains leadership between statements.
func TestLeadershipMoves(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.Nodes[0])
	cl.do("CREATE TABLE moves (id serial, via text)")
	ctx := bounded(t)
	c.transfer(c.Nodes[1])
	if _, err := cl.Prepare(ctx, "mv", "INSERT INTO moves (via) VALUES ($1) RETURNING via"); err != nil { // prepared upstream
		t.Fatal(err)
	}
	if _, err := cl.Prepare(ctx, "rd", "SELECT count(*) FROM moves WHERE via <> $1"); err != nil {
		t.Fatal(err)
	}
	cl.do("PREPARE sq (text) AS INSERT INTO moves (via) VALUES ($1)")
	rows := 0
	for i, to := range []int{1, 0, 2, 0, 1} {
		c.transfer(c.Nodes[to])
		var v string
		var n int
		if err := cl.QueryRow(ctx, "mv", "named").Scan(&v); err != nil || v != "named" {
			t.Fatalf("move %d: %v", i, err)
		}
		cl.do("INSERT INTO moves (via) VALUES ('simple'); EXECUTE sq ('execute')")
		cl.do("EXECUTE mv ('x')")
		rows += 4
		if err := cl.QueryRow(ctx, "rd", "").Scan(&n); err != nil || n != rows {
			t.Fatalf("move %d: %d rows, want %d, %v", i, n, rows, err)
		}
		cl.do("BEGIN")
		if err := cl.QueryRow(ctx, "mv", "block").Scan(&v); err != nil {
			t.Fatalf("move %d: %v", i, err)
		}
		cl.do("COMMIT")
		rows++
	}
	c.everywhere("SELECT count(*), count(DISTINCT id) FROM moves", fmt.Sprintf("%d|%d", rows, rows))
}

// TestLeadershipInBlock: a block that loses its leader fails with 40001 as a whole, whatever savepoints it has, and the session is usable afterwards.
func TestLeadershipInBlock(t *testing.T) {
	c := demoCluster(t)
	c.transfer(c.Nodes[0])
	dial(t, c.Nodes[0]).do("CREATE TABLE inblock (who text)")
	c.everywhere("SELECT count(*) FROM inblock", "0")
	for round, from := range []int{0, 1, 2} { // the leader's own session, and those of two followers
		cl := dial(t, c.Nodes[from])
		cl.do(fmt.Sprintf("BEGIN; INSERT INTO inblock VALUES ('%d'); SAVEPOINT a; INSERT INTO inblock VALUES ('%d')", from, from))
		c.transfer(c.Nodes[1+round%2])
		cl.fails("INSERT INTO inblock VALUES ('late')", "40001")
		cl.fails("SELECT 1", "25P02")
		// Going back to the savepoint cannot bring the first half back.
		if _, err := cl.PgConn().Exec(bounded(t), "ROLLBACK TO a; INSERT INTO inblock VALUES ('half'); COMMIT").ReadAll(); err == nil {
			t.Errorf("round %d: half a transaction was committed", round)
		}
		cl.do("ROLLBACK")
		cl.do("BEGIN; INSERT INTO inblock VALUES ('after'); COMMIT")
		cl.want("SELECT count(*) FROM inblock", fmt.Sprint(round+1))
		cl.do("BEGIN; INSERT INTO inblock VALUES ('late')")
		c.transfer(c.Nodes[2-round%2])
		if e := commitError(cl); e == nil || e.Code != "40001" {
			t.Errorf("round %d: COMMIT after the leader changed: %v", round, e)
		}
		cl.want("SELECT count(*) FROM inblock", fmt.Sprint(round+1))
		c.transfer(c.Nodes[0])
	}
	c.everywhere("SELECT count(*), count(DISTINCT who) FROM inblock", "3|1")
}

// TestLeadershipSavepoint: a block that begins with a savepoint while the leader changes
// works or fails as a whole; it never goes on without its savepoint.
func TestLeadershipSavepoint(t *testing.T) {
	c := demoCluster(t)
	c.transfer(c.Nodes[0])
	dial(t, c.Nodes[0]).do("CREATE TABLE insave (i int)")
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, n := range c.Nodes {
		cl := dial(t, n)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-done:
					return
				default:
				}
				_, err := cl.PgConn().Exec(bounded(t), "BEGIN; SAVEPOINT a; INSERT INTO insave VALUES (1); ROLLBACK TO a; COMMIT").ReadAll()
				if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) && pe.Code == "3B001" {
					t.Error(err)
				}
				if _, err := cl.PgConn().Exec(bounded(t), "ROLLBACK").ReadAll(); err != nil {
					return // the session has ended
				}
			}
		}()
	}
	for i := range 6 {
		c.transfer(c.Nodes[(i+1)%3])
	}
	close(done)
	wg.Wait()
	c.everywhere("SELECT count(*) FROM insave", "0")
}

func commitError(cl *client) *pgconn.PgError {
	_, err := cl.PgConn().Exec(bounded(cl.t), "COMMIT").ReadAll()
	var pe *pgconn.PgError
	errors.As(err, &pe)
	return pe
}

// TestLeadershipTemporary: a session whose temporary tables went with the leader ends with 57P01 instead of missing them.
func TestLeadershipTemporary(t *testing.T) {
	c := demoCluster(t)
	c.transfer(c.Nodes[0])
	for _, n := range []int{0, 1} {
		cl := dial(t, c.Nodes[n])
		cl.do("CREATE TEMP TABLE lt (i int); INSERT INTO lt VALUES (1)")
		c.transfer(c.Nodes[2])
		cl.fails("INSERT INTO lt VALUES (2)", "57P01")
		if !cl.IsClosed() {
			t.Errorf("node %d: the session did not end", n+1)
		}
		c.transfer(c.Nodes[0])
	}
	cl := dial(t, c.Nodes[1])
	cl.do("CREATE TEMP TABLE lt (i int)")
	c.transfer(c.Nodes[1])
	cl.fails("SELECT * FROM lt", "57P01")
}

// TestLeadershipAdvisory: a session whose advisory locks went with the leader ends with 57P01 at once, also when it is
// idle and whichever node it is on, and its locks can be had; one that has given them back goes on.
func TestLeadershipAdvisory(t *testing.T) {
	c := demoCluster(t)
	c.transfer(c.Nodes[0])
	for i, n := range []int{0, 1} {
		from, to := c.Nodes[2*i], c.Nodes[2-2*i]
		if c.leader() != from {
			t.Fatalf("node %s leads", c.leader().ID())
		}
		at := c.Nodes[n]
		holder, past, xact := dial(t, at), dial(t, at), dial(t, at)
		holder.want("SELECT pg_try_advisory_lock(10), pg_try_advisory_lock(10), pg_try_advisory_lock_shared(11)", "t|t|t")
		holder.want("SELECT pg_advisory_unlock(10)", "t") // taken twice, held once
		past.do("SELECT pg_advisory_lock(12), pg_advisory_lock(12); SELECT pg_advisory_unlock(12), pg_advisory_unlock(12), pg_try_advisory_lock(10)")
		xact.do("BEGIN; SELECT pg_advisory_xact_lock(13); COMMIT")
		for _, x := range c.Nodes {
			dial(t, x).want("SELECT pg_try_advisory_lock(10), pg_try_advisory_lock(11)", "f|f")
		}
		c.transfer(to)
		wait(t, "the idle holder to be told", func(ctx context.Context) error {
			for _, x := range c.Nodes {
				var n int
				if err := dial(t, x).QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", holder.PgConn().PID()).Scan(&n); err != nil || n > 0 {
					return fmt.Errorf("%d sessions, %w", n, err)
				}
			}
			return nil
		})
		pe := holder.fails("SELECT 1", "57P01")
		if !strings.Contains(pe.Message, "advisory locks") {
			t.Errorf("%+v", pe)
		}
		for _, x := range c.Nodes {
			cl := dial(t, x)
			cl.want("SELECT pg_try_advisory_lock(10), pg_try_advisory_lock(11)", "t|t")
			cl.do("SELECT pg_advisory_unlock_all()")
			past.do("SELECT 1")
			past.want("SELECT pg_try_advisory_lock(12), pg_advisory_unlock(12)", "t|t")
			xact.do("SELECT 1")
		}
		past.do("SELECT pg_advisory_lock(10)") // in a later leadership
		past.want("SELECT pg_advisory_unlock(10)", "t")
	}
}

// TestLeadershipSequences: values stay unique and increasing while the leader changes.
func TestLeadershipSequences(t *testing.T) {
	c := demoCluster(t)
	dial(t, c.Nodes[0]).do("CREATE SEQUENCE lseq")
	last := 0
	for round := range 6 {
		c.transfer(c.Nodes[round%3])
		for _, n := range c.Nodes {
			cl := dial(t, n)
			for range 3 {
				var v int
				if err := cl.QueryRow(bounded(t), "SELECT nextval('lseq')").Scan(&v); err != nil {
					t.Fatal(err)
				}
				if v <= last {
					t.Fatalf("round %d: %d after %d", round, v, last)
				}
				last = v
			}
		}
	}
}
