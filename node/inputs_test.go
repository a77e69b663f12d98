package node

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Inputs from public reports about comparable systems, with what PostgreSQL 15 answers, on
// the leader and on a follower.

func TestReportedInputs(t *testing.T) {
	c := demoCluster(t)
	for i, n := range []*Node{c.leader(), c.follower()} {
		cl := dial(t, n)
		sync := &pgproto3.Sync{}
		series := func(sql string, more ...pgproto3.FrontendMessage) []pgproto3.FrontendMessage {
			return append([]pgproto3.FrontendMessage{&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}}, more...)
		}
		check := func(name string, send []pgproto3.FrontendMessage, want string) {
			t.Helper()
			if got := exchange(t, cl, send); got != want {
				t.Errorf("node %d, %s: got %s, want %s", i, name, got, want)
			}
		}
		cl.do("DROP TABLE IF EXISTS d1, w, d13c, d13p; CREATE TABLE d1 (a int); CREATE TABLE w (a bigint, b int, f boolean)")

		// An error in a pipeline undoes what came before it and skips what comes after it.
		run := &pgproto3.Execute{}
		send := series("INSERT INTO d1 VALUES (1)", run)
		send = append(send, &pgproto3.Parse{Query: "SELEKT"})
		send = append(send, series("INSERT INTO d1 VALUES (2)", run)...)
		check("pipeline", append(send, sync), "1 2 C:INSERT 0 1 E:42601 Z:I")
		cl.want("SELECT count(*) FROM d1", "0")

		// BEGIN has no rows.
		check("BEGIN", series("BEGIN", &pgproto3.Describe{ObjectType: 'P'}, run, sync), "1 2 n C:BEGIN Z:T")
		check("COMMIT", series("COMMIT", run, sync), "1 2 C:COMMIT Z:I")

		// Parameters narrower than the column, beside one of unknown type.
		seven := []byte{0, 0, 0, 7}
		check("widths", []pgproto3.FrontendMessage{
			&pgproto3.Parse{Query: "INSERT INTO w VALUES ($1, $2, $3)", ParameterOIDs: []uint32{23, 23, 0}},
			&pgproto3.Bind{ParameterFormatCodes: []int16{1}, Parameters: [][]byte{seven, seven, nil}}, run, sync}, "1 2 C:INSERT 0 1 Z:I")
		cl.want("SELECT a, b, f IS NULL FROM w", "7|7|t")

		// The type of a parameter that is cast inside a call.
		sd, err := cl.Prepare(bounded(t), "d4", "select n from generate_series(0,$1::int) n")
		if err != nil || len(sd.ParamOIDs) != 1 || sd.ParamOIDs[0] != 23 {
			t.Errorf("%+v %v", sd, err)
		}

		// COPY of a query.
		var out strings.Builder
		tag, err := cl.PgConn().CopyTo(bounded(t), &out, `COPY (SELECT 1 a, NULL::text b, 'x,"y' c) TO STDOUT (FORMAT csv, HEADER)`)
		if err != nil || tag.String() != "COPY 1" || out.String() != "a,b,c\n1,,\"x,\"\"y\"\n" {
			t.Errorf("%q %v %v", out.String(), tag, err)
		}
		out.Reset()
		tag, err = cl.PgConn().CopyTo(bounded(t), &out, `COPY (SELECT 1 a, NULL::text b) TO STDOUT (FORMAT binary)`)
		const signature = "PGCOPY\n\xff\r\n\x00"
		if want := signature + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01\xff\xff\xff\xff" + "\xff\xff"; err != nil || tag.String() != "COPY 1" || out.String() != want {
			t.Errorf("%q %v %v", out.String(), tag, err)
		}

		// Cursors.
		cl.do("BEGIN; DECLARE c CURSOR FOR SELECT generate_series(1,3)")
		cl.want("FETCH 2 FROM c", "1 2")
		cl.do("MOVE 1 FROM c")
		cl.want("FETCH ALL FROM c", "")
		cl.do("COMMIT")
		cl.fails("DECLARE c CURSOR FOR SELECT 1", "25P01")

		// Type queries of drivers.
		cl.want(`SELECT count(*) > 50 FROM (SELECT oid,typname,typreceive,typbasetype,typrelid,typarray FROM pg_catalog.pg_type
			WHERE (typreceive != 0 OR typsend != 0) AND typtype != 'r' AND typreceive::TEXT != 'array_recv') s`, "t")
		cl.want("SELECT typsend FROM pg_type WHERE typname = 'trigger'", "-")

		// Deferrable foreign keys.
		cl.do(`CREATE TABLE d13p (id int PRIMARY KEY); CREATE TABLE d13c (id int REFERENCES d13p DEFERRABLE INITIALLY DEFERRED)`)
		cl.do("BEGIN; INSERT INTO d13c VALUES (1); INSERT INTO d13p VALUES (1); COMMIT")
		cl.do("BEGIN; INSERT INTO d13c VALUES (2)")
		cl.fails("COMMIT", "23503")

		// Cancellation, with the right key.
		other := dial(t, n)
		start := time.Now()
		timer := time.AfterFunc(200*time.Millisecond, func() { _ = other.PgConn().CancelRequest(bounded(t)) })
		other.fails("SELECT pg_sleep(30)", "57014")
		timer.Stop()
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("cancelled after %v", d)
		}

		// Advisory locks of two numbers, between sessions on two nodes.
		holder, rival := dial(t, n), dial(t, c.leader())
		holder.want("SELECT pg_try_advisory_lock(1, 2)", "t")
		rival.want("SELECT pg_try_advisory_lock(1, 2)", "f")
		holder.want("SELECT pg_advisory_unlock(1, 2)", "t")
		holder.want("SELECT pg_advisory_unlock(1, 2)", "f")
		if len(holder.notices) != 1 || holder.notices[0].Code != "01000" {
			t.Errorf("%+v", holder.notices)
		}
	}
}

// TestAdvisoryNodeGone: what a session held is free when its node is gone.
func TestAdvisoryNodeGone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three nodes; runs without -short")
	}
	d, err := StartDemo(bounded(t), DemoConfig{Nodes: 3, Dir: t.TempDir(), Heartbeat: 4 * testHeartbeat(), LogLevel: "error"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // one node is gone
	c := three{d, t}
	gone := c.follower()
	holder, rival := dial(t, gone), dial(t, c.leader())
	holder.want("SELECT pg_try_advisory_lock(1, 2)", "t")
	rival.want("SELECT pg_try_advisory_lock(1, 2)", "f")
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	rival.soon("SELECT pg_try_advisory_lock(1, 2)", "t")
}
