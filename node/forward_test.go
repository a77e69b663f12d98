package node

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	_ "github.com/lib/pq"
)

// TestForwardEachNode: a write through each node succeeds and is on all nodes.
func TestForwardEachNode(t *testing.T) {
	c := demoCluster(t)
	dial(t, c.Nodes[0]).do("CREATE TABLE each (id int PRIMARY KEY, v text)")
	for i, n := range c.Nodes {
		cl := dial(t, n)
		cl.soon("SELECT count(*) FROM pg_class WHERE relname = 'each'", "1")
		if tag := cl.do(fmt.Sprintf("INSERT INTO each VALUES (%d, 'simple'), (%d, 'simple')", 10*i, 10*i+1)); tag != "INSERT 0 2" {
			t.Errorf("tag %q", tag)
		}
		if tag, err := cl.Exec(bounded(t), "INSERT INTO each VALUES ($1, $2)", 10*i+2, "extended"); err != nil || tag.String() != "INSERT 0 1" {
			t.Errorf("tag %v: %v", tag, err)
		}
		// The session's own writes are visible at once.
		cl.want(fmt.Sprintf("SELECT count(*) FROM each WHERE id / 10 = %d", i), "3")
	}
	c.everywhere("SELECT count(*), sum(id) FROM each", "9|99")
}

// TestForwardWithDelete: WITH … DELETE … RETURNING on a follower deletes everywhere and returns its rows.
func TestForwardWithDelete(t *testing.T) {
	c := demoCluster(t)
	const del = "WITH t AS (DELETE FROM wd WHERE id <= %s RETURNING *) SELECT * FROM t ORDER BY id"
	cl := dial(t, c.follower())
	cl.do("CREATE TABLE wd (id int PRIMARY KEY, v text); INSERT INTO wd SELECT g, 'v' || g FROM generate_series(1, 9) g")
	cl.want(fmt.Sprintf(del, "2"), "1|v1 2|v2")
	c.everywhere("SELECT count(*) FROM wd", "7")
	rows, err := cl.Query(bounded(t), fmt.Sprintf(del, "$1"), 4)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		ID int
		V  string
	}])
	if err != nil || fmt.Sprint(got) != "[{3 v3} {4 v4}]" {
		t.Errorf("pgx: %v, %v", got, err)
	}
	c.everywhere("SELECT count(*) FROM wd", "5")
	db, err := sql.Open("postgres", strings.Replace(c.follower().DSN(), "sslmode=prefer", "sslmode=disable", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, arg := range [][]any{nil, {8}} {
		q := fmt.Sprintf(del, "6")
		if arg != nil {
			q = fmt.Sprintf(del, "$1")
		}
		r, err := db.QueryContext(bounded(t), q, arg...)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r.Next() {
			n++
		}
		if err := r.Err(); err != nil || n != 2 {
			t.Errorf("lib/pq, %d: %d rows, %v", i, n, err)
		}
		_ = r.Close()
	}
	c.everywhere("SELECT id FROM wd", "9")
}

// TestForwardErrors: an error that is relayed has every field of the leader's own.
func TestForwardErrors(t *testing.T) {
	c := demoCluster(t)
	l, f := dial(t, c.leader()), dial(t, c.follower())
	f.do(`CREATE TABLE err (id int PRIMARY KEY, n int CHECK (n > 0), m int NOT NULL); INSERT INTO err VALUES (1, 1, 1)`)
	l.soon("SELECT count(*) FROM err", "1")
	for _, sql := range []string{
		"INSERT INTO err VALUES (1, 1, 1)", "INSERT INTO err VALUES (2, -1, 1)", "INSERT INTO err VALUES (2, 1, NULL)",
		"INSERT INTO err VALUES (2, 1)  RETURNING nothere", "INSERT INTO nothere VALUES (1)", "UPDATE err SET n = 1/0", "INSERT INTO err VALUES ('x', 1, 1)",
		"DELETE FROM err WHERE id = ", "DROP TABLE nothere", "CREATE TABLE err (i int)", "SELECT 1; INSERT INTO err VALUES (3, 'é'::int, 2)",
		"SELECT nextval('nosuch')", "ALTER TABLE err ADD COLUMN n int",
	} {
		_, el := l.PgConn().Exec(bounded(t), sql).ReadAll()
		_, ef := f.PgConn().Exec(bounded(t), sql).ReadAll()
		var a, b *pgconn.PgError
		if !errors.As(el, &a) || !errors.As(ef, &b) {
			t.Errorf("%s: leader %v, follower %v", sql, el, ef)
			continue
		}
		x, y := *a, *b
		x.Line, y.Line, x.File, y.File, x.Routine, y.Routine = 0, 0, "", "", "", ""
		if x != y {
			t.Errorf("%s:\nleader   %+v\nfollower %+v", sql, x, y)
		}
	}
	var pe *pgconn.PgError
	if _, err := f.Exec(bounded(t), "INSERT INTO err VALUES ($1, $2, $3)", 1, 1, 1); !errors.As(err, &pe) || pe.ConstraintName != "err_pkey" || pe.TableName != "err" {
		t.Errorf("extended: %v", err)
	}
	f.want("SELECT count(*) FROM err", "1")
	// The named statement that failed can be used again.
	if _, err := f.Exec(bounded(t), "INSERT INTO err VALUES ($1, $2, $3)", 2, 1, 1); err != nil {
		t.Error(err)
	}
}

// TestForwardNotices: notices of the leader arrive.
func TestForwardNotices(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE IF NOT EXISTS noted (i int)")
	f.do("CREATE TABLE IF NOT EXISTS noted (i int)")
	if len(f.notices) != 1 || f.notices[0].Code != "42P07" || f.notices[0].Severity != "NOTICE" {
		t.Errorf("notices: %+v", f.notices)
	}
	f.do("SET client_min_messages = warning")
	f.do("CREATE TABLE IF NOT EXISTS noted (i int)")
	if len(f.notices) != 1 {
		t.Errorf("client_min_messages is not known to the leader: %+v", f.notices[1:])
	}
}

// TestForwardBlocks: explicit blocks with reads, writes, savepoints and errors behave as on the leader.
func TestForwardBlocks(t *testing.T) {
	c := demoCluster(t)
	f, other := dial(t, c.follower()), dial(t, c.leader())
	f.do("CREATE TABLE blk (id int PRIMARY KEY)")
	f.do("BEGIN")
	f.want("SELECT count(*) FROM blk", "0")
	f.do("INSERT INTO blk VALUES (1)")
	f.want("SELECT count(*) FROM blk", "1")
	other.want("SELECT count(*) FROM blk", "0")
	f.do("SAVEPOINT a; INSERT INTO blk VALUES (2)")
	f.fails("INSERT INTO blk VALUES (1)", "23505")
	f.fails("SELECT 1", "25P02")
	f.do("ROLLBACK TO a")
	f.want("SELECT count(*) FROM blk", "1")
	f.do("INSERT INTO blk VALUES (3); RELEASE a")
	if tag := f.do("COMMIT"); tag != "COMMIT" {
		t.Error(tag)
	}
	f.want("SELECT id FROM blk ORDER BY id", "1 3")
	other.want("SELECT id FROM blk ORDER BY id", "1 3")

	f.do("BEGIN; INSERT INTO blk VALUES (4)")
	f.do("ROLLBACK")
	f.do("BEGIN; INSERT INTO blk VALUES (5)")
	f.fails("SELECT 1/0", "22012")
	if tag := f.do("COMMIT"); tag != "ROLLBACK" {
		t.Error(tag)
	}
	f.fails("INSERT INTO blk VALUES (6); INSERT INTO blk VALUES (1)", "23505")
	f.want("SELECT id FROM blk ORDER BY id", "1 3")

	tx, err := f.Begin(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := tx.Exec(bounded(t), "INSERT INTO blk VALUES ($1)", 7); err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(bounded(t), "SELECT count(*) FROM blk WHERE id >= $1", 3).Scan(&n); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if err := tx.Commit(bounded(t)); err != nil {
		t.Fatal(err)
	}
	f.want("SELECT count(*) FROM blk", "3")
	f.do("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM blk")
	other.do("INSERT INTO blk VALUES (8)")
	f.want("SELECT count(*) FROM blk; SHOW transaction_isolation", "repeatable read")
	f.want("SELECT count(*) FROM blk", "3")
	f.do("COMMIT")
}

// TestForwardReadOnly: READ ONLY blocks stay on the follower and refuse writes.
func TestForwardReadOnly(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE ro (i int)")
	before := c.leader().front.registry.Activities()
	ro := dial(t, c.follower())
	ro.soon("SELECT count(*) FROM ro", "0")
	ro.do("BEGIN READ ONLY")
	ro.want("SELECT count(*) FROM ro", "0")
	if after := c.leader().front.registry.Activities(); len(after) > len(before) {
		t.Errorf("a READ ONLY block opened a session on the leader")
	}
	ro.fails("INSERT INTO ro VALUES (1)", "25006")
	ro.do("ROLLBACK")
}

// TestForwardPrepared: statements prepared by SQL and by the protocol, read and write, in and out of blocks.
func TestForwardPrepared(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE prep (id int PRIMARY KEY)")
	f.do("PREPARE ins (int) AS INSERT INTO prep VALUES ($1); PREPARE cnt AS SELECT count(*) FROM prep")
	if tag := f.do("EXECUTE ins (1)"); tag != "INSERT 0 1" {
		t.Error(tag)
	}
	f.do("EXECUTE ins (2)")
	f.want("EXECUTE cnt", "2")
	f.do("BEGIN; EXECUTE ins (3)")
	f.want("EXECUTE cnt", "3")
	f.do("ROLLBACK")
	f.do("DEALLOCATE ins; PREPARE ins (int) AS INSERT INTO prep VALUES ($1 + 100)")
	f.do("EXECUTE ins (1)")
	f.want("SELECT id FROM prep ORDER BY id", "1 2 101")
	f.fails("EXECUTE ins (1)", "23505")
	f.do("BEGIN; CREATE TABLE prep2 (i int); PREPARE p2 AS INSERT INTO prep2 VALUES (7); EXECUTE p2; COMMIT")
	f.want("SELECT i FROM prep2", "7")

	ctx := bounded(t)
	if _, err := f.Prepare(ctx, "named", "INSERT INTO prep VALUES ($1) RETURNING id"); err != nil {
		t.Fatal(err)
	}
	var id int
	for i := 200; i < 203; i++ {
		if err := f.QueryRow(ctx, "named", i).Scan(&id); err != nil || id != i {
			t.Fatal(id, err)
		}
		if err := f.QueryRow(ctx, "named", i).Scan(&id); err == nil {
			t.Fatal("a duplicate was accepted")
		}
	}
	f.want("EXECUTE named (300)", "300")
	f.do("BEGIN")
	if err := f.QueryRow(ctx, "named", 301).Scan(&id); err != nil {
		t.Fatal(err)
	}
	f.do("COMMIT")
	f.want("SELECT count(*) FROM prep WHERE id >= 300", "2")
}

// TestForwardPipeline: local reads and forwarded writes in one pipeline answer in order; an error skips to Sync and undoes the series.
func TestForwardPipeline(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE pipe (id int PRIMARY KEY)")
	b := &pgx.Batch{}
	b.Queue("SELECT 41 + $1::int", 1)
	b.Queue("INSERT INTO pipe VALUES ($1)", 1)
	b.Queue("SELECT count(*) FROM pipe")
	b.Queue("INSERT INTO pipe VALUES ($1)", 2)
	b.Queue("SELECT count(*) FROM pipe WHERE id <= $1", 2)
	r := f.SendBatch(bounded(t), b)
	var n int
	for i, want := range []int{42, -1, 1, -1, 2} {
		if want < 0 {
			if tag, err := r.Exec(); err != nil || tag.String() != "INSERT 0 1" {
				t.Fatalf("%d: %v %v", i, tag, err)
			}
		} else if err := r.QueryRow().Scan(&n); err != nil || n != want {
			t.Fatalf("%d: %v %v, want %d", i, n, err, want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	b = &pgx.Batch{}
	b.Queue("INSERT INTO pipe VALUES ($1)", 3)
	b.Queue("SELECT 1 / $1::int", 0)
	b.Queue("INSERT INTO pipe VALUES ($1)", 4)
	if err := f.SendBatch(bounded(t), b).Close(); err == nil {
		t.Fatal("the pipeline did not fail")
	}
	f.want("SELECT count(*) FROM pipe", "2")
	if f.PgConn().TxStatus() != 'I' {
		t.Errorf("status %c", f.PgConn().TxStatus())
	}
}

// TestForwardPipelineErrors: an error found here comes after the answers of the leader to what was sent before it, and before what
// follows up to Sync; an error of the leader's comes first when it is the first.
func TestForwardPipelineErrors(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE pipe_err (id int PRIMARY KEY)")
	insert := func(sql string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Execute{}}
	}
	sync, query := &pgproto3.Sync{}, &pgproto3.Query{String: "SELECT 1"}
	for _, x := range []struct {
		name string
		send []pgproto3.FrontendMessage
		want string
	}{
		{"Parse fails", append(append(insert("INSERT INTO pipe_err VALUES (1)"), insert("SELEKT")...), sync), "1 2 C:INSERT 0 1 E:42601 Z:I"},
		{"Bind fails", append(insert("INSERT INTO pipe_err VALUES (1)"), &pgproto3.Bind{PreparedStatement: "none"}, sync), "1 2 C:INSERT 0 1 E:26000 Z:I"},
		{"Execute fails", append(insert("INSERT INTO pipe_err VALUES (1)"), &pgproto3.Execute{Portal: "none"}, sync), "1 2 C:INSERT 0 1 E:34000 Z:I"},
		{"Describe fails", append(insert("INSERT INTO pipe_err VALUES (1)"), &pgproto3.Describe{ObjectType: 'S', Name: "none"}, sync), "1 2 C:INSERT 0 1 E:26000 Z:I"},
		{"both fail", append(append(insert("INSERT INTO pipe_err SELECT 1 / (g - 1) FROM generate_series(1, 1) g"), insert("SELEKT")...), sync), "1 2 E:22012 Z:I"},
		{"a query before Sync", append(insert("INSERT INTO pipe_err SELECT 1 / (g - 1) FROM generate_series(1, 1) g"), query, sync, query), "1 2 E:22012 Z:I T D C:SELECT 1 Z:I"},
	} {
		if got := exchange(t, f, x.send); got != x.want {
			t.Errorf("%s: got %s, want %s", x.name, got, x.want)
		}
	}
	f.want("SELECT count(*) FROM pipe_err", "0")
}

// TestForwardQueryInSeries: a query string behind messages without a Sync belongs to their transaction as a whole.
func TestForwardQueryInSeries(t *testing.T) {
	c := demoCluster(t)
	for _, n := range []*Node{c.leader(), c.follower()} {
		f := dial(t, n)
		f.do("DROP TABLE IF EXISTS series; CREATE TABLE series (id int PRIMARY KEY)")
		insert := []pgproto3.FrontendMessage{&pgproto3.Parse{Query: "INSERT INTO series VALUES (1)"}, &pgproto3.Bind{}, &pgproto3.Execute{}}
		query := func(sql string) []pgproto3.FrontendMessage {
			return append(append([]pgproto3.FrontendMessage{}, insert...), &pgproto3.Query{String: sql})
		}
		for _, x := range []struct{ sql, want, left string }{
			{"INSERT INTO series VALUES (2); INSERT INTO series VALUES (1)", "1 2 C:INSERT 0 1 C:INSERT 0 1 E:23505 Z:I", ""},
			{"INSERT INTO series VALUES (2); SELECT 1 / (count(*) - 2) FROM series; INSERT INTO series VALUES (3)", "1 2 C:INSERT 0 1 C:INSERT 0 1 E:22012 Z:I", ""},
			{"INSERT INTO series VALUES (2); ROLLBACK; INSERT INTO series VALUES (3)", "1 2 C:INSERT 0 1 C:INSERT 0 1 C:ROLLBACK C:INSERT 0 1 Z:I", "3"},
			{"INSERT INTO series VALUES (2); BEGIN; INSERT INTO series VALUES (3)", "1 2 C:INSERT 0 1 C:INSERT 0 1 C:BEGIN C:INSERT 0 1 Z:T", "1,2,3"},
			{"INSERT INTO series VALUES (2); INSERT INTO series VALUES (3)", "1 2 C:INSERT 0 1 C:INSERT 0 1 C:INSERT 0 1 Z:I", "1,2,3"},
			{"INSERT INTO series VALUES (2)", "1 2 C:INSERT 0 1 C:INSERT 0 1 Z:I", "1,2"},
		} {
			if got := exchange(t, f, query(x.sql)); got != x.want {
				t.Errorf("node %s: %s: got %s, want %s", n.ID(), x.sql, got, x.want)
			}
			f.do("COMMIT")
			f.want("SELECT coalesce(string_agg(id::text, ',' ORDER BY id), '') FROM series", x.left)
			f.do("DELETE FROM series")
		}
	}
}

// TestForwardCopy: COPY in both directions through a follower.
func TestForwardCopy(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE cp (id int PRIMARY KEY, v text)")
	n, err := f.CopyFrom(bounded(t), pgx.Identifier{"cp"}, []string{"id", "v"}, pgx.CopyFromSlice(20000, func(i int) ([]any, error) {
		return []any{i, strings.Repeat("x", 20)}, nil
	}))
	if err != nil || n != 20000 {
		t.Fatal(n, err)
	}
	f.want("SELECT count(*) FROM cp", "20000")
	if _, err := f.PgConn().CopyFrom(bounded(t), strings.NewReader("20001\ta\nbad\tb\n"), "COPY cp FROM STDIN"); err == nil || !strings.Contains(err.Error(), "22P02") {
		t.Errorf("bad data: %v", err)
	}
	f.want("SELECT count(*) FROM cp", "20000")
	var out strings.Builder
	if _, err := f.PgConn().CopyTo(bounded(t), &out, "COPY (WITH d AS (DELETE FROM cp WHERE id < 2 RETURNING id) SELECT id FROM d ORDER BY 1) TO STDOUT"); err != nil || out.String() != "0\n1\n" {
		t.Errorf("%q %v", out.String(), err)
	}
	f.do("BEGIN; DELETE FROM cp WHERE id > 3")
	out.Reset()
	if _, err := f.PgConn().CopyTo(bounded(t), &out, "COPY cp TO STDOUT"); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%q %v", out.String(), err)
	}
	f.do("ROLLBACK")
	f.want("SELECT count(*) FROM cp", "19998")
}

// TestForwardCursors: cursors in a block, and one WITH HOLD beyond it.
func TestForwardCursors(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE cur (id int PRIMARY KEY); BEGIN; INSERT INTO cur SELECT generate_series(1, 5)")
	f.do("DECLARE c SCROLL CURSOR FOR SELECT id FROM cur ORDER BY id")
	f.want("FETCH 2 FROM c", "1 2")
	f.want("FETCH PRIOR FROM c", "1")
	if tag := f.do("MOVE LAST FROM c"); tag != "MOVE 1" {
		t.Error(tag)
	}
	f.do("CLOSE c; DECLARE h CURSOR WITH HOLD FOR SELECT id FROM cur ORDER BY id; FETCH 1 FROM h; COMMIT")
	f.want("FETCH 2 FROM h", "2 3")
	f.do("CLOSE h")
	f.fails("FETCH 1 FROM h", "34000")
	f.do("DECLARE w CURSOR WITH HOLD FOR SELECT 7")
	f.want("FETCH 1 FROM w", "7")
}

// TestForwardSettings: what a session sets holds for what is forwarded, and a rollback undoes it there too.
func TestForwardSettings(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower(), "DateStyle=German")
	const show = "WITH d AS (INSERT INTO sett VALUES (1) RETURNING current_date) SELECT DATE '2001-02-03'::text, current_setting('my.own', true), current_user, session_user FROM d"
	f.do("CREATE ROLE setter; CREATE TABLE sett (i int); GRANT INSERT, SELECT ON sett TO setter; CREATE SCHEMA sp; CREATE TABLE sp.there (i int)")
	f.want(show, "03.02.2001||postgres|postgres")
	f.do("SET DateStyle = 'SQL, DMY'; SET my.own = 'it''s \\é'; SET ROLE setter")
	f.want(show, "03/02/2001|it's \\é|setter|postgres")
	f.do("RESET ROLE; SET SESSION AUTHORIZATION setter")
	f.want(show, "03/02/2001|it's \\é|setter|setter")
	f.fails("DROP TABLE sett", "42501")
	f.do("RESET SESSION AUTHORIZATION; RESET DateStyle")
	f.want(show, "03.02.2001|it's \\é|postgres|postgres")
	f.do("SET search_path = sp; INSERT INTO there VALUES (5); RESET search_path")
	f.fails("INSERT INTO there VALUES (6)", "42P01")
	f.do("SET DateStyle = ISO; INSERT INTO sett VALUES (1)")
	f.do("BEGIN; SET LOCAL DateStyle = 'Postgres, MDY'")
	f.want(show, "02-03-2001|it's \\é|postgres|postgres")
	f.do("ROLLBACK; RESET DateStyle")
	f.want(show, "03.02.2001|it's \\é|postgres|postgres")
	f.do("BEGIN; INSERT INTO sett VALUES (1); SAVEPOINT a; SET DateStyle = ISO; INSERT INTO sett VALUES (1); ROLLBACK TO a")
	f.want(show, "03.02.2001|it's \\é|postgres|postgres")
	f.do("COMMIT")
}

// TestForwardEncoding: text in the client's encoding is understood by the leader and comes back in it.
func TestForwardEncoding(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE lat (v text); SET client_encoding = LATIN1")
	f.want("INSERT INTO lat VALUES ('caf\xe9') RETURNING v, length(v)", "caf\xe9|4")
	r := f.PgConn().ExecParams(bounded(t), "INSERT INTO lat VALUES ($1) RETURNING v, 'n\xe9'", [][]byte{[]byte("th\xe9")}, nil, nil, nil).Read()
	if r.Err != nil || text(r.Rows) != "th\xe9|n\xe9" {
		t.Errorf("%q %v", text(r.Rows), r.Err)
	}
	u := dial(t, c.leader())
	u.soon("SELECT string_agg(v, ' ' ORDER BY v) FROM lat", "café thé")
}

// TestForwardTemporary: temporary tables of a session on a follower.
func TestForwardTemporary(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TEMP TABLE tmp (i int); INSERT INTO tmp VALUES (1), (2)")
	f.want("SELECT count(*) FROM tmp", "2")
	var n int
	if err := f.QueryRow(bounded(t), "SELECT sum(i) FROM tmp WHERE i > $1", 0).Scan(&n); err != nil || n != 3 {
		t.Error(n, err)
	}
	dial(t, c.follower()).fails("SELECT count(*) FROM tmp", "42P01")
	f.do("DISCARD TEMP")
	f.fails("SELECT count(*) FROM tmp", "42P01")
}

// TestForwardSequences: nextval is unique over nodes; currval and lastval are the session's.
func TestForwardSequences(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE SEQUENCE sq; CREATE TABLE ser (id serial, v int)")
	f.want("SELECT nextval('sq')", "1")
	f.want("SELECT currval('sq'), lastval()", "1|1")
	dial(t, c.leader()).want("SELECT nextval('sq')", "2")
	f.want("SELECT currval('sq')", "1")
	f.want("INSERT INTO ser (v) VALUES (1) RETURNING id", "1")
	f.want("SELECT lastval()", "1")
	f.do("SELECT setval('sq', 100)")
	f.want("SELECT nextval('sq')", "101")
	dial(t, c.follower()).fails("SELECT currval('sq')", "55000")
	f.do("DISCARD SEQUENCES")
	f.fails("SELECT lastval()", "55000")
}

// TestForwardAdvisory: a session advisory lock excludes sessions of other nodes and ends with its session.
func TestForwardAdvisory(t *testing.T) {
	c := demoCluster(t)
	f, l := dial(t, c.follower()), dial(t, c.leader())
	f.want("SELECT pg_try_advisory_lock(4711)", "t")
	l.want("SELECT pg_try_advisory_lock(4711)", "f")
	f.want("SELECT pg_advisory_unlock(4711)", "t")
	l.want("SELECT pg_try_advisory_lock(4711)", "t")
	f.want("SELECT pg_try_advisory_lock(4711)", "f")
	l.want("SELECT pg_advisory_unlock(4711)", "t")
	f.want("SELECT pg_try_advisory_lock(4711)", "t")
	_ = f.Close(bounded(t))
	l.soon("SELECT pg_try_advisory_lock(4711)", "t")
	l.do("SELECT pg_advisory_unlock_all()")
}

// TestForwardNotify: a notification reaches listeners on every node, exactly once and only after the commit.
func TestForwardNotify(t *testing.T) {
	c := demoCluster(t)
	var ls []*client
	for _, n := range c.Nodes {
		cl := dial(t, n)
		cl.do("LISTEN ch")
		ls = append(ls, cl)
	}
	f := dial(t, c.follower())
	f.do("BEGIN; NOTIFY ch, 'undone'; ROLLBACK")
	f.do("BEGIN; NOTIFY ch, 'first'")
	f.do("SELECT pg_notify('ch', 'second'); COMMIT")
	f.do("NOTIFY ch, 'third'")
	for i, cl := range ls {
		for _, want := range []string{"first", "second", "third"} {
			n, err := cl.WaitForNotification(bounded(t))
			if err != nil || n.Payload != want {
				t.Fatalf("node %d: %+v %v, want %s", i+1, n, err, want)
			}
		}
	}
	// A listener that notifies itself is told before its command ends, and under its own process id.
	own := dial(t, c.follower())
	own.do("LISTEN own")
	for range 20 {
		if got := exchange(t, own, []pgproto3.FrontendMessage{&pgproto3.Query{String: "NOTIFY own, 'me'"}}); got != "C:NOTIFY A:me Z:I" {
			t.Fatalf("got %s", got)
		}
	}
	if got := exchange(t, own, []pgproto3.FrontendMessage{&pgproto3.Query{String: "LISTEN once; NOTIFY once, 'one transaction'"}}); got != "C:LISTEN C:NOTIFY A:one transaction Z:I" {
		t.Errorf("got %s", got)
	}
	own.do("NOTIFY own")
	if n, err := own.WaitForNotification(bounded(t)); err != nil || n.PID != own.PgConn().PID() {
		t.Errorf("%+v %v: the sender is %d", n, err, own.PgConn().PID())
	}
	f.do("NOTIFY ch, 'last'")
	for i, cl := range ls {
		if n, err := cl.WaitForNotification(bounded(t)); err != nil || n.Payload != "last" {
			t.Errorf("node %d: %+v %v: not exactly once", i+1, n, err)
		}
	}
}

// TestForwardLarge: a large result of a forwarded statement is relayed whole.
func TestForwardLarge(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE big (id int PRIMARY KEY, v text); INSERT INTO big SELECT g, repeat('x', 500) FROM generate_series(1, 20000) g")
	rows, err := f.Query(bounded(t), "UPDATE big SET v = v || 'y' RETURNING id, v")
	if err != nil {
		t.Fatal(err)
	}
	n, size := 0, 0
	for rows.Next() {
		n++
		size += len(rows.RawValues()[1])
	}
	if rows.Err() != nil || n != 20000 || size != 20000*501 {
		t.Errorf("%d rows, %d bytes, %v", n, size, rows.Err())
	}
	if rows.CommandTag().String() != "UPDATE 20000" {
		t.Error(rows.CommandTag())
	}
}

// TestForwardCancel: CancelRequest and statement_timeout end a forwarded statement, and only that one.
func TestForwardCancel(t *testing.T) {
	c := demoCluster(t)
	f, l := dial(t, c.follower()), dial(t, c.leader())
	f.do("CREATE TABLE cancel (id int PRIMARY KEY, n int); INSERT INTO cancel VALUES (1, 0)")
	l.do("BEGIN; UPDATE cancel SET n = 1")
	f.do("SET statement_timeout = '300ms'")
	if e := f.fails("UPDATE cancel SET n = 2", "57014"); !strings.Contains(e.Message, "statement timeout") {
		t.Error(e.Message)
	}
	f.do("RESET statement_timeout; SELECT 1; DELETE FROM cancel WHERE id = 2")
	done := make(chan error, 1)
	go func() {
		_, err := f.PgConn().Exec(context.Background(), "UPDATE cancel SET n = 3").ReadAll()
		done <- err
	}()
	wait(t, "the statement to wait", func(context.Context) error {
		if len(done) > 0 {
			t.Fatalf("the statement has not waited: %v", <-done)
		}
		if l.rows("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0" {
			return errors.New("it does not wait")
		}
		return nil
	})
	if err := f.PgConn().CancelRequest(bounded(t)); err != nil {
		t.Fatal(err)
	}
	var pe *pgconn.PgError
	if err := <-done; !errors.As(err, &pe) || pe.Code != "57014" || !strings.Contains(pe.Message, "user request") {
		t.Errorf("%v", err)
	}
	l.do("COMMIT")
	for range 20 {
		f.do("UPDATE cancel SET n = n + 1")
	}
	f.want("SELECT n FROM cancel", "21")
}

// TestForwardDDL: a table made through a follower can be used there at once, and a read that fails to bind on a lagging one waits.
func TestForwardDDL(t *testing.T) {
	c := demoCluster(t)
	f, l := dial(t, c.follower()), dial(t, c.leader())
	for i := range 5 {
		f.do(fmt.Sprintf("CREATE TABLE ddl%d (i int)", i))
		f.want(fmt.Sprintf("SELECT count(*) FROM ddl%d", i), "0")
		l.do(fmt.Sprintf("CREATE TABLE ddm%d (i int)", i))
		f.want(fmt.Sprintf("SELECT count(*) FROM ddm%d", i), "0")
		l.do(fmt.Sprintf("CREATE TABLE ddn%d (i int)", i))
		if _, err := f.Exec(bounded(t), fmt.Sprintf("SELECT i FROM ddn%d WHERE i = $1", i), 1); err != nil {
			t.Error(err)
		}
	}
	f.do("BEGIN; CREATE TABLE ddlb (i int); ALTER TABLE ddlb ADD j int; INSERT INTO ddlb VALUES (1, 2)")
	f.want("SELECT j FROM ddlb", "2")
	f.do("ROLLBACK")
	f.fails("SELECT 1 FROM ddlb", "42P01")
}

// TestConcurrentIncrements: 32 clients over three nodes incrementing one row get no error, and the sum is right.
func TestConcurrentIncrements(t *testing.T) {
	c := demoCluster(t)
	f := dial(t, c.follower())
	f.do("CREATE TABLE inc (id int PRIMARY KEY, n int); INSERT INTO inc VALUES (1, 0)")
	c.everywhere("SELECT count(*) FROM inc", "1")
	const clients, each = 32, 10
	errs := make(chan error, clients)
	for i := range clients {
		cl := dial(t, c.Nodes[i%3])
		go func() {
			for range each {
				if _, err := cl.Exec(context.Background(), "UPDATE inc SET n = n + 1"); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range clients {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	c.everywhere("SELECT n FROM inc", fmt.Sprint(clients*each))
}

// TestWritesDuringDDL: autocommit writes, foreign keys included, never see that
// concurrent DDL replaces their tables, and DDL that waits for other DDL undoes none of it.
func TestWritesDuringDDL(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.leader())
	cl.do("CREATE TABLE dp (id int PRIMARY KEY, n int)")
	cl.do("CREATE TABLE dc (id int PRIMARY KEY, p int REFERENCES dp ON UPDATE CASCADE ON DELETE CASCADE)")
	cl.do("INSERT INTO dp VALUES (1, 0); INSERT INTO dc VALUES (1, 1)")
	done := make(chan error, 2)
	for _, table := range []string{"dp", "dc"} {
		ddl := dial(t, c.leader())
		go func() {
			for i := range 10 {
				if _, err := ddl.Exec(context.Background(), fmt.Sprintf("ALTER TABLE %s ADD COLUMN x%d int", table, i)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	running := 2
	for i := 0; running > 0; i++ {
		for _, sql := range []string{"INSERT INTO dp (id, n) VALUES (2, 0)", "INSERT INTO dc (id, p) VALUES (2, 2)", "UPDATE dp SET id = 3 WHERE id = 2",
			"UPDATE dp SET n = n + 1", "DELETE FROM dp WHERE id = 3"} {
			if _, err := cl.Exec(context.Background(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		select {
		case err := <-done:
			if running--; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	cl.want("SELECT count(*) FROM dc", "1")
	cl.want("SELECT count(*) FROM information_schema.columns WHERE table_name IN ('dp', 'dc')", "24")
	cl.do("DROP TABLE dc, dp")
}
