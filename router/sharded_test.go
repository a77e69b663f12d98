package router

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/node"
)

// plain are three servers that do not know of each other, shared by the tests.
var plain struct {
	once  sync.Once
	demos []*node.Demo
	dir   string
	err   error
}

// plainServers are their DSNs; a fourth one is for comparison.
func plainServers(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts four servers")
	}
	plain.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if plain.dir, plain.err = os.MkdirTemp("", "router-plain"); plain.err != nil {
			return
		}
		for i := range 4 {
			var d *node.Demo
			if d, plain.err = node.StartDemo(ctx, node.DemoConfig{Nodes: 1, Dir: fmt.Sprintf("%s/%d", plain.dir, i), LogLevel: "error"}); plain.err != nil {
				return
			}
			plain.demos = append(plain.demos, d)
		}
	})
	if plain.err != nil {
		t.Fatal(plain.err)
	}
	var out []string
	for _, d := range plain.demos {
		out = append(out, strings.Replace(d.Nodes[0].DSN(), "sslmode=prefer", "sslmode=disable", 1))
	}
	return out
}

func closePlain() {
	for _, d := range plain.demos {
		_ = d.Close()
	}
	if plain.dir != "" {
		_ = os.RemoveAll(plain.dir)
	}
}

// before starts a router before three plain servers.
func before(t *testing.T, change func(*Config), keys ...string) string {
	t.Helper()
	servers := plainServers(t)
	return start(t, func(c *Config) {
		c.Shards, c.ShardKeys = servers[:3], keys
		if change != nil {
			change(c)
		}
	})
}

// text runs a query whose one row has one column.
func textOf(t *testing.T, c *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	var v *string
	if err := c.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if v == nil {
		return "NULL"
	}
	return *v
}

// TestPlainShards: documents are spread over servers that do not know it, and
// statements of every shape see them as on one server, in every protocol.
func TestPlainShards(t *testing.T) {
	servers := plainServers(t)
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			coll := "acc_" + name
			dsn := before(t, nil, coll+":region", "ev_"+name+":tenant_id")
			c := connect(t, dsn, mode)
			exec(t, c, "SELECT doc.create_collection('"+coll+"', shard_key => 'region')")
			for i, region := range []string{"eu", "us", "apac", "sa", "af", "me"} {
				exec(t, c, fmt.Sprintf(`SELECT doc.insert('%s', '{"_id": %d, "region": "%s", "n": %d}')`, coll, i, region, i))
			}
			if n := textOf(t, c, "SELECT doc.count('"+coll+"')::text"); n != "6" {
				t.Errorf("count %s", n)
			}
			if n := value[int64](t, c, "SELECT doc.count('"+coll+"')"); n != 6 {
				t.Errorf("count %d", n)
			}
			shares := 0
			for i, s := range servers[:3] {
				direct := connect(t, s, pgx.QueryExecModeExec)
				n := value[int64](t, direct, "SELECT doc.count('"+coll+"')")
				if n == 0 || n == 6 {
					t.Errorf("server %d has %d documents", i, n)
				}
				shares += int(n)
			}
			if shares != 6 {
				t.Errorf("the servers have %d documents", shares)
			}
			for _, x := range [][2]string{
				{`SELECT doc.find_one('COLL', '{"region": "us"}')->>'n'`, "1"},
				{`SELECT string_agg(d->>'n', ',') FROM doc.find('COLL', sort => '{"n": -1}', skip => 1, take => 3) d`, "4,3,2"},
				{`SELECT d->>'n' FROM doc.find('COLL', '{"region": "sa"}') d`, "3"},
				{`SELECT count(*)::text FROM doc.find('COLL') d JOIN generate_series(1, 3) g ON g = (d->>'n')::int`, "3"},
				{`SELECT d::text FROM doc.aggregate('COLL', '[{"$group": {"_id": null, "a": {"$avg": "$n"}}}]') d`, `{"a": 2.5, "_id": null}`},
				{`SELECT doc.update('COLL', '{}', '{"$inc": {"n": 10}}')->>'modified'`, "6"},
				{`SELECT doc.update_one('COLL', '{"n": {"$gt": 10}}', '{"$inc": {"n": -10}}')->>'modified'`, "1"},
				{`SELECT doc.find('COLL', '{"region": "eu"}', projection => '{"_id": 0, "region": 1}')::text`, `{"region": "eu"}`},
				{`WITH x AS (SELECT doc.find('COLL') AS d) SELECT count(*)::text FROM x`, "6"},
				{`SELECT (SELECT count(*) FROM doc.find('COLL'))::text`, "6"},
				{`SELECT (SELECT doc.count('COLL', (SELECT '{"region": "eu"}'::jsonb)))::text`, "1"},
				{`SELECT (SELECT doc.count('other'))::text`, "0"},
				{`SELECT string_agg(v::text, ' ') FROM doc.distinct('COLL', 'region') v`, `"af" "apac" "eu" "me" "sa" "us"`},
				{`SELECT doc.delete('COLL', '{"region": {"$in": ["eu", "us"]}}')::text`, "2"},
				{`SELECT doc.insert_many('COLL', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'region', i)) FROM generate_series(100, 103) i))::text`, "[100, 101, 102, 103]"},
			} {
				sql := strings.ReplaceAll(x[0], "COLL", coll)
				if got := textOf(t, c, sql); got != x[1] {
					t.Errorf("%s: %s, not %s", sql, got, x[1])
				}
			}
			// A parameter may name the collection, and be anything else.
			if mode != pgx.QueryExecModeSimpleProtocol {
				if n := value[int64](t, c, "SELECT doc.count($1, $2)", coll, `{"region": "sa"}`); n != 1 {
					t.Errorf("%d documents by parameters", n)
				}
				if n := value[string](t, c, "SELECT x::text || $3 FROM doc.count($1, $2) x", coll, `{"region": "sa"}`, "!"); n != "1!" {
					t.Error(n)
				}
			}
			for sql, want := range map[string]string{
				`SELECT doc.update('COLL', '{"region": "sa"}', '{"$set": {"region": "x"}}')`:              "0A000",
				`SELECT doc.create_index('COLL', '{"n": 1}', "unique" => true)`:                           "0A000",
				`CREATE VIEW v AS SELECT doc.find('COLL')`:                                                "0A000",
				`EXPLAIN (ANALYZE) SELECT doc.find('COLL')`:                                               "0A000",
				`SELECT doc.insert('COLL', jsonb_build_object('region', i)) FROM generate_series(1, 3) i`: "0A000",
				`SELECT doc.create_collection('nokey', shard_key => 'x')`:                                 "0A000",
				`SELECT doc.find('COLL', '{"$nope": 1}')`:                                                 "0A000",
				`SELECT doc.find('COLL', 'x')`:                                                            "22P02",
				`SELECT nope(doc.find('COLL'))`:                                                           "42883",
			} {
				sql = strings.ReplaceAll(sql, "COLL", coll)
				if _, err := c.Exec(context.Background(), sql); code(err) != want {
					t.Errorf("%s: %v, not %s", sql, err, want)
				}
			}
		})
	}
}

// TestPlainBlocks: a block stays on one server; a second one is refused before
// anything is done, with savepoints.
func TestPlainBlocks(t *testing.T) {
	dsn := before(t, nil, "blk:k")
	ctx := context.Background()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement} {
		c := connect(t, dsn, mode)
		exec(t, c, "CREATE TABLE IF NOT EXISTS blk_t (a int)")
		exec(t, c, "SELECT doc.delete('blk', '{}')")
		on := keysBy(t, c, "blk", plainNames(t))
		insert := func(k string, id int) string {
			return fmt.Sprintf(`SELECT doc.insert('blk', '{"_id": %d, "k": %s}')`, id, k)
		}
		count := func(want int64) {
			t.Helper()
			if n := value[int64](t, c, "SELECT doc.count('blk')"); n != want {
				t.Errorf("%d documents, not %d", n, want)
			}
		}
		fails := func(sql, want string) {
			t.Helper()
			if _, err := c.Exec(ctx, sql); code(err) != want {
				t.Errorf("%s: %v", sql, err)
			}
		}
		exec(t, c, "BEGIN")
		exec(t, c, insert(on[1], 1))
		exec(t, c, "SAVEPOINT a")
		exec(t, c, insert(on[1], 2))
		exec(t, c, "ROLLBACK TO a")
		fails(insert(on[2], 3), "0A000")
		fails("SELECT 1", "25P02")
		exec(t, c, "ROLLBACK TO a")
		fails("INSERT INTO blk_t VALUES (1)", "0A000")
		exec(t, c, "ROLLBACK TO a")
		fails("SELECT doc.count('blk')", "0A000")
		exec(t, c, "ROLLBACK TO a")
		exec(t, c, "COMMIT")
		count(1)
		exec(t, c, "BEGIN")
		exec(t, c, insert(on[2], 4))
		exec(t, c, "ROLLBACK")
		count(1)
		// Tables and documents of the first server change in one transaction.
		exec(t, c, "BEGIN")
		exec(t, c, "INSERT INTO blk_t VALUES (1)")
		exec(t, c, insert(on[0], 5))
		fails(insert(on[1], 6), "0A000")
		exec(t, c, "ROLLBACK")
		exec(t, c, "BEGIN")
		exec(t, c, "INSERT INTO blk_t VALUES (1)")
		exec(t, c, insert(on[0], 5))
		exec(t, c, "COMMIT")
		count(2)
		exec(t, c, "BEGIN READ ONLY")
		fails(insert(on[0], 7), "25006")
		exec(t, c, "ROLLBACK")
		exec(t, c, "SET ROLE postgres")
		fails("SELECT doc.count('blk')", "0A000")
		exec(t, c, "RESET ROLE")
		count(2)
	}
	// Statements that come together are a block.
	c := connect(t, dsn, pgx.QueryExecModeSimpleProtocol)
	if _, err := c.Exec(ctx, `SELECT doc.insert('blk', '{"k": 0}'); SELECT 1/0`); code(err) != "22012" {
		t.Error(err)
	}
	if n := value[int64](t, c, "SELECT doc.count('blk')"); n != 2 {
		t.Errorf("%d documents", n)
	}
	b := &pgx.Batch{}
	for i := range 3 {
		b.Queue("SELECT doc.insert('blk', $1)", fmt.Sprintf(`{"_id": %d, "k": 0}`, 100+i))
	}
	b.Queue("SELECT 7")
	if err := connect(t, dsn, pgx.QueryExecModeExec).SendBatch(ctx, b).Close(); err != nil {
		t.Error(err)
	}
	if n := value[int64](t, c, "SELECT doc.count('blk')"); n != 5 {
		t.Errorf("%d documents", n)
	}
}

func plainNames(t *testing.T) []string {
	var out []string
	for _, dsn := range plainServers(t) {
		cfg, err := pgconn.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s:%d", cfg.Host, cfg.Port))
	}
	return out
}

// TestPlainSameAnswers: the same test files pass on one server and through a router
// before three.
func TestPlainSameAnswers(t *testing.T) {
	servers := plainServers(t)
	through := before(t, nil, "accounts:region")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	files := []string{"testdata/documents.slt"}
	for _, name := range []string{"queries", "transactions", "on_conflict"} {
		files = append(files, "../sqltest/testdata/core/"+name+".slt")
	}
	sameAnswers(ctx, t, files, servers[3], through, func(db string) {
		for _, s := range servers {
			exec(t, connect(t, s, pgx.QueryExecModeExec), "CREATE DATABASE "+db)
		}
	})
}

// TestPlainCounters: a command with the shard key asks one server, the others see
// nothing; collections that are not sharded are the first server's.
func TestPlainCounters(t *testing.T) {
	servers := plainServers(t)
	cfg := DefaultConfig()
	cfg.Listen, cfg.Shards, cfg.ShardKeys = "127.0.0.1:0", servers[:3], []string{"counted:k"}
	r, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := connect(t, "postgres://postgres@"+r.Addr()+"/postgres?sslmode=disable", pgx.QueryExecModeExec)
	on := keysBy(t, c, "counted", plainNames(t))
	asked := func(sql string) (out [3]int64) {
		t.Helper()
		for i := range out {
			out[i] = -r.sharding.requests[i].Load()
		}
		exec(t, c, sql)
		for i := range out {
			out[i] += r.sharding.requests[i].Load()
		}
		return out
	}
	for i, k := range on {
		var want [3]int64
		want[i] = 1
		for _, sql := range []string{`SELECT doc.insert('counted', '{"k": %s}')`, `SELECT doc.find('counted', '{"k": %s}')`, `SELECT doc.count('counted', '{"k": {"$eq": %s}}')`,
			`SELECT doc.update('counted', '{"k": %s}', '{"$set": {"v": 1}}')`, `SELECT * FROM doc.aggregate('counted', '[{"$match": {"k": %s}}, {"$count": "n"}]')`} {
			if got := asked(fmt.Sprintf(sql, k)); got != want {
				t.Errorf("%s asked %v, not %v", sql, got, want)
			}
		}
	}
	if got := asked("SELECT doc.count('counted')"); got != [3]int64{1, 1, 1} {
		t.Errorf("a count asked %v", got)
	}
	if got := asked("SELECT doc.insert('elsewhere', '{}'), doc.count('elsewhere')"); got != [3]int64{} {
		t.Errorf("another collection asked %v", got)
	}
	if got := asked(`SELECT doc.update_one('counted', '{"v": 1}', '{"$set": {"v": 2}}')`); got[0]+got[1]+got[2] != 1 {
		t.Errorf("update_one went on after its hit: %v", got)
	}
}

// TestPlainPrepare: PREPARE and EXECUTE of SQL and cursors see the documents of all
// servers, whichever protocol brings them.
func TestPlainPrepare(t *testing.T) {
	dsn := before(t, nil, "prep:k")
	ctx := context.Background()
	run := func(c *pgx.Conn, sql string) error {
		if c.Config().DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
			_, err := c.PgConn().Exec(ctx, sql).ReadAll()
			return err
		}
		return c.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil).Read().Err
	}
	exec := func(t *testing.T, c *pgx.Conn, sql string) {
		t.Helper()
		if err := run(c, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for name, mode := range map[string]pgx.QueryExecMode{"simple": pgx.QueryExecModeSimpleProtocol, "extended": pgx.QueryExecModeExec} {
		c, x := connect(t, dsn, mode), connect(t, dsn, pgx.QueryExecModeSimpleProtocol)
		exec(t, c, "SELECT doc.delete('prep', '{}')")
		exec(t, c, `SELECT doc.insert_many('prep', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i, 'n', i)) FROM generate_series(1, 30) i))`)
		prepare := []string{
			`PREPARE all_of AS SELECT doc.count('prep')::text`,
			`PREPARE direct AS SELECT doc.count('prep', $1)`,
			`PREPARE larger(jsonb, int) AS SELECT count(*) + $2 FROM doc.find('prep', $1) d WHERE (d->>'n')::int > $2`,
			`PREPARE put(jsonb) AS SELECT doc.insert('prep', $1)`,
		}
		for _, sql := range prepare {
			exec(t, c, sql)
			if name != "simple" { // EXECUTE is for the simple protocol
				exec(t, x, sql)
			}
		}
		if name == "simple" {
			x = c
		}
		for _, q := range [][2]string{
			{"EXECUTE all_of", "30"},
			{`EXECUTE direct('{"n": {"$lte": 10}}')`, "10"},
			{`EXECUTE direct(jsonb_build_object('k', 2 + 1))`, "1"},
			{`EXECUTE direct(NULL)`, "30"},
			{`EXECUTE larger('{"n": {"$lte": 20}}', 5)`, "20"},
			{`EXECUTE put('{"_id": 31, "k": "new"}')`, "31"},
			{"EXECUTE all_of", "31"},
			{`SELECT doc.delete('prep', '{"_id": 31}')::text`, "1"},
		} {
			if got := textOf(t, x, q[0]); got != q[1] {
				t.Errorf("%s: %s, not %s", q[0], got, q[1])
			}
		}
		for _, q := range [][2]string{
			{prepare[0], "42P05"},
			{"EXECUTE direct", "42601"},
			{"EXECUTE nope", "26000"},
			{"EXPLAIN EXECUTE all_of", "0A000"},
			{`EXECUTE direct('{"$nope": 1}')`, "0A000"},
			{`PREPARE w AS SELECT doc.insert('prep', '{}') FROM generate_series(1, 2)`, ""},
			{"EXECUTE w", "0A000"},
		} {
			sql, want := q[0], q[1]
			err := run(x, sql)
			if want == "" && err != nil || want != "" && code(err) != want {
				t.Errorf("%s: %v, not %s", sql, err, want)
			}
		}
		// What SQL has prepared can be bound, and what was prepared by the protocol executed.
		res := x.PgConn().ExecPrepared(ctx, "direct", [][]byte{[]byte(`{"k": 7}`)}, nil, nil).Read()
		if res.Err != nil || len(res.Rows) != 1 || string(res.Rows[0][0]) != "1" {
			t.Errorf("bound: %v", res.Err)
		}
		if _, err := x.Prepare(ctx, "by_protocol", "SELECT doc.count('prep')::text"); err != nil {
			t.Fatal(err)
		}
		if got := textOf(t, x, "EXECUTE by_protocol"); got != "30" {
			t.Errorf("by protocol: %s", got)
		}
		if name != "simple" {
			if err := run(c, "EXECUTE all_of"); code(err) != "0A000" {
				t.Errorf("EXECUTE in the extended protocol: %v", err)
			}
		}
		exec(t, x, "DEALLOCATE direct")
		if err := run(x, "EXECUTE direct('{}')"); code(err) != "26000" {
			t.Errorf("deallocated: %v", err)
		}

		exec(t, c, "DECLARE cur SCROLL CURSOR WITH HOLD FOR SELECT (d->>'n')::int FROM doc.find('prep') d ORDER BY 1")
		for _, q := range [][2]string{{"FETCH cur", "1"}, {"FETCH ABSOLUTE 30 FROM cur", "30"}, {"FETCH PRIOR FROM cur", "29"}} {
			if got := textOf(t, c, q[0]); got != q[1] {
				t.Errorf("%s: %s, not %s", q[0], got, q[1])
			}
		}
		exec(t, c, "CLOSE cur")
		// The documents of one other server, in its block.
		exec(t, c, "BEGIN")
		exec(t, c, `SELECT doc.update('prep', '{"k": 9}', '{"$set": {"n": 90}}')`)
		exec(t, c, `DECLARE cur CURSOR FOR SELECT d->>'n' FROM doc.find('prep', '{"k": 9}') d`)
		if got := textOf(t, c, "FETCH cur"); got != "90" {
			t.Errorf("in the block: %s", got)
		}
		exec(t, c, "ROLLBACK")
		exec(t, c, "DECLARE kept CURSOR WITH HOLD FOR SELECT count(*)::text FROM doc.find('prep')")
		if got := textOf(t, c, "FETCH kept"); got != "30" {
			t.Errorf("held: %s", got)
		}
		exec(t, c, "CLOSE kept")
		if err := run(c, `DECLARE w CURSOR WITH HOLD FOR SELECT doc.insert('prep', '{"k": 1}')`); code(err) != "0A000" {
			t.Errorf("a cursor that writes: %v", err)
		}
	}
}

// TestPlainWatch: the changes of all servers are watched together; a token goes on where
// it ended, and nothing is lost or comes twice.
func TestPlainWatch(t *testing.T) {
	dsn := before(t, nil, "wat:k")
	for name, mode := range map[string]pgx.QueryExecMode{"simple": pgx.QueryExecModeSimpleProtocol, "extended": pgx.QueryExecModeExec} {
		c := connect(t, dsn, mode)
		exec(t, c, "SELECT doc.drop_collection('wat')")
		exec(t, c, "SELECT doc.create_collection('wat', shard_key => 'k')")
		if _, err := c.Exec(context.Background(), "SELECT * FROM doc.watch('wat')"); code(err) != "55000" {
			t.Errorf("%s: not recorded: %v", name, err)
		}
		exec(t, c, "SELECT doc.record_changes('wat')")
		token := textOf(t, c, "SELECT d->>'token' FROM doc.watch('wat') d")
		exec(t, c, `SELECT doc.insert_many('wat', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i, 'n', 0)) FROM generate_series(1, 20) i))`)
		exec(t, c, `SELECT doc.update('wat', '{}', '{"$inc": {"n": 1}}')`)
		exec(t, c, `SELECT doc.delete('wat', '{"k": {"$lte": 5}}')`)
		seen := map[string]int{}
		last := map[string]string{}
		for range 100 {
			rows, err := c.Query(context.Background(), "SELECT d->>'op', coalesce(d->>'id', ''), d->>'token' FROM doc.watch('wat', resume_after => $1, take => 7, max_await => 100) d", token)
			if err != nil {
				t.Fatal(err)
			}
			end := false
			for rows.Next() {
				var op, id string
				if err := rows.Scan(&op, &id, &token); err != nil {
					t.Fatal(err)
				}
				end = op == "none"
				seen[op]++
				if order := last[id] + op; !end && order != "insert" && order != "insertupdate" && order != "updatedelete" {
					t.Errorf("document %s: %s after %q", id, op, last[id])
				}
				last[id] = op
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			if end {
				break
			}
		}
		if seen["insert"] != 20 || seen["update"] != 20 || seen["delete"] != 5 || seen["none"] != 1 {
			t.Errorf("%s: %v", name, seen)
		}
		for _, bad := range []string{"x", "p1:1=x", "p1:1=", "p1:zz=YQ", "p1:1=YQ:2=YQ:3=YQ"} {
			if _, err := c.Exec(context.Background(), "SELECT * FROM doc.watch('wat', resume_after => '"+bad+"')"); code(err) != "22023" && code(err) != "72000" {
				t.Errorf("%s: %q: %v", name, bad, err)
			}
		}
	}
}
