package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/node"
	"ostraka/sqltest"
)

// cluster is three nodes in this process, shared by the tests.
var cluster struct {
	once sync.Once
	demo *node.Demo
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	closePlain()
	if cluster.demo != nil {
		_ = cluster.demo.Close()
	}
	if cluster.dir != "" {
		_ = os.RemoveAll(cluster.dir)
	}
	os.Exit(code)
}

// dsns are the cluster's nodes; the first was the leader at the start.
func dsns(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts three nodes")
	}
	cluster.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if cluster.dir, cluster.err = os.MkdirTemp("", "router-test"); cluster.err == nil {
			cluster.demo, cluster.err = node.StartDemo(ctx, node.DemoConfig{Nodes: 3, Dir: cluster.dir, LogLevel: "error"})
		}
	})
	if cluster.err != nil {
		t.Fatal(cluster.err)
	}
	var out []string
	for _, n := range cluster.demo.Nodes {
		out = append(out, strings.Replace(n.DSN(), "sslmode=prefer", "sslmode=disable", 1))
	}
	return out
}

// start starts a router; the DSN is for clients.
func start(t *testing.T, change func(*Config)) string {
	t.Helper()
	return "postgres://postgres@" + launch(t, change).Addr() + "/postgres?sslmode=disable"
}

func launch(t *testing.T, change func(*Config)) *Router {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	change(&cfg)
	r, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func connect(t *testing.T, dsn string, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = mode
	c, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func exec(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func value[T any](t *testing.T, c *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	if err := c.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

var modes = map[string]pgx.QueryExecMode{
	"simple": pgx.QueryExecModeSimpleProtocol, "extended": pgx.QueryExecModeExec,
	"described": pgx.QueryExecModeDescribeExec, "prepared": pgx.QueryExecModeCacheStatement,
}

// TestSplit: what only reads goes to the replica, everything else to the primary,
// in every protocol, whatever the payload says.
func TestSplit(t *testing.T) {
	nodes := dsns(t)
	dsn := start(t, func(c *Config) { c.Primary, c.Replicas = nodes[0], nodes[1:2] })
	const primary, replica = 1, 2 // a backend's pid begins with its node
	admin := connect(t, nodes[0], pgx.QueryExecModeExec)
	exec(t, admin, "CREATE TABLE split (id int PRIMARY KEY, note text)")
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			c := connect(t, dsn, mode)
			exec(t, c, "DELETE FROM split")
			where := func(want int, sql string, args ...any) {
				t.Helper()
				if got := value[int](t, c, sql, args...); got != want {
					t.Errorf("%s: node %d, want %d", sql, got, want)
				}
			}
			where(replica, "SELECT pg_backend_pid() >> 23")
			where(replica, "SELECT pg_backend_pid() >> 23 WHERE $1::text <> ''", "insert into split; begin_tx")
			where(replica, "SELECT pg_backend_pid() >> 23 WHERE 'insert into split' <> ''")
			exec(t, c, "BEGIN")
			where(primary, "SELECT pg_backend_pid() >> 23")
			exec(t, c, "COMMIT")
			exec(t, c, "BEGIN READ ONLY")
			where(replica, "SELECT pg_backend_pid() >> 23")
			exec(t, c, "COMMIT")
			exec(t, c, "BEGIN")
			if _, err := c.Exec(context.Background(), "SELECT 1/0"); err == nil {
				t.Error("no error")
			}
			exec(t, c, "ROLLBACK")
			where(replica, "SELECT pg_backend_pid() >> 23")
			for i := range 30 {
				exec(t, c, "INSERT INTO split VALUES ($1, 'x')", i)
				if n := value[int](t, c, "SELECT count(*)::int FROM split"); n != i+1 {
					t.Fatalf("read %d rows after %d inserts", n, i+1)
				}
			}
			where(replica, "SELECT pg_backend_pid() >> 23")
			exec(t, c, "SET application_name = 'both sides'")
			for _, sql := range []string{"BEGIN", "BEGIN READ ONLY"} {
				exec(t, c, sql)
				if v := value[string](t, c, "SELECT current_setting('application_name')"); v != "both sides" {
					t.Errorf("%s: %q", sql, v)
				}
				exec(t, c, "COMMIT")
			}
			exec(t, c, "PREPARE p AS SELECT pg_backend_pid() >> 23")
			exec(t, c, "BEGIN")
			where(primary, "EXECUTE p")
			exec(t, c, "COMMIT")
			where(replica, "EXECUTE p")
			exec(t, c, "DEALLOCATE p")
			exec(t, c, "CREATE TEMP TABLE mine (a int)")
			where(primary, "SELECT pg_backend_pid() >> 23")
			exec(t, c, "SELECT * FROM mine")
		})
	}
	t.Run("several statements", func(t *testing.T) {
		c := connect(t, dsn, pgx.QueryExecModeSimpleProtocol)
		if got := value[int](t, c, "SELECT pg_backend_pid() >> 23; DELETE FROM split"); got != primary {
			t.Errorf("node %d", got)
		}
	})
	t.Run("discard", func(t *testing.T) {
		c := connect(t, dsn, pgx.QueryExecModeSimpleProtocol)
		exec(t, c, "DELETE FROM split")
		exec(t, c, "CREATE TEMP TABLE mine (a int)")
		for i := range 10 {
			exec(t, c, "INSERT INTO split VALUES ($1, 'x')", i)
			if n := value[int](t, c, "SELECT count(*)::int FROM split"); n != i+1 {
				t.Fatalf("read %d rows after %d inserts", n, i+1)
			}
			exec(t, c, []string{"DISCARD ALL", "RESET ALL"}[i%2])
			if at := value[int](t, c, "SELECT pg_backend_pid() >> 23"); at != replica {
				t.Errorf("node %d", at)
			}
		}
		exec(t, c, "DELETE FROM split")
	})
	t.Run("pipeline", func(t *testing.T) {
		c := connect(t, dsn, pgx.QueryExecModeExec)
		b := &pgx.Batch{}
		b.Queue("SELECT pg_backend_pid() >> 23")
		b.Queue("INSERT INTO split VALUES ($1, 'x')", 100)
		res := c.SendBatch(context.Background(), b)
		var at int
		if err := res.QueryRow().Scan(&at); err != nil || at != primary {
			t.Errorf("node %d, %v", at, err)
		}
		if err := res.Close(); err != nil {
			t.Error(err)
		}
		n, err := c.CopyFrom(context.Background(), pgx.Identifier{"split"}, []string{"id", "note"}, pgx.CopyFromRows([][]any{{1, "a"}, {2, "b"}}))
		if err != nil || n != 2 {
			t.Errorf("copied %d, %v", n, err)
		}
		if n := value[int](t, c, "SELECT count(*)::int FROM split"); n != 3 {
			t.Errorf("%d rows", n)
		}
	})
	t.Run("listen", func(t *testing.T) {
		c := connect(t, dsn, pgx.QueryExecModeExec)
		exec(t, c, "LISTEN router_test")
		exec(t, admin, "NOTIFY router_test, 'hello'")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		n, err := c.WaitForNotification(ctx)
		if err != nil || n.Payload != "hello" {
			t.Errorf("%v, %v", n, err)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		c := connect(t, dsn, pgx.QueryExecModeExec)
		done := make(chan error, 1)
		go func() {
			_, err := c.Exec(context.Background(), "SELECT pg_sleep(20)")
			done <- err
		}()
		for {
			_ = c.PgConn().CancelRequest(context.Background())
			select {
			case err := <-done:
				if code(err) != "57014" {
					t.Error(err)
				}
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

func code(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return fmt.Sprint(err)
}

// sameAnswers runs test files directly and through a router, with all drivers; each
// run has a database of its own, which prepare makes.
func sameAnswers(ctx context.Context, t *testing.T, files []string, direct, through string, prepare func(db string)) {
	t.Helper()
	for i, path := range files {
		for _, how := range []struct{ name, dsn, driver string }{
			{"direct", direct, "pgx"}, {"router", through, "pgx"}, {"router-extended", through, "pgx-extended"}, {"router-pq", through, "pq"},
		} {
			t.Run(filepath.Base(path)+"/"+how.name, func(t *testing.T) {
				f, err := sqltest.ParseFile(path)
				if err != nil {
					t.Fatal(err)
				}
				db := fmt.Sprintf("%s%d_%s", strings.ToLower(strings.SplitN(t.Name(), "/", 2)[0]), i, strings.ReplaceAll(how.name, "-", "_"))
				prepare(db)
				rep, err := sqltest.Run(ctx, f, sqltest.Options{DSN: strings.Replace(how.dsn, "/postgres?", "/"+db+"?", 1), Driver: sqltest.Drivers()[how.driver]})
				if err != nil {
					t.Fatal(err)
				}
				for _, fail := range rep.Failures {
					t.Error(fail)
				}
			})
		}
	}
}

// TestSameAnswers: test files recorded from PostgreSQL 15 pass through the router.
func TestSameAnswers(t *testing.T) {
	nodes := dsns(t)
	through := start(t, func(c *Config) { c.Primary, c.Replicas = nodes[0], nodes[1:] })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	admin := connect(t, nodes[0], pgx.QueryExecModeExec)
	files, _ := filepath.Glob(filepath.Join("..", "sqltest", "testdata", "core", "*.slt"))
	more, _ := filepath.Glob(filepath.Join("..", "sqltest", "testdata", "json", "*.slt"))
	files = append(files, more...)
	if len(files) == 0 {
		t.Fatal("there are no test files")
	}
	sameAnswers(ctx, t, files, nodes[0], through, func(db string) {
		exec(t, admin, "CREATE DATABASE "+db)
		for _, dsn := range nodes {
			awaitDatabase(t, strings.Replace(dsn, "/postgres?", "/"+db+"?", 1))
		}
	})
}

// awaitDatabase waits until a node has a database.
func awaitDatabase(t *testing.T, dsn string) {
	t.Helper()
	for range 200 {
		c, err := pgx.Connect(context.Background(), dsn)
		if err == nil {
			_ = c.Close(context.Background())
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Fatal("the database does not arrive")
}

// proxy stands between router and server; while hole is set it takes bytes and gives none.
type proxy struct {
	net.Listener
	hole   atomic.Bool
	target string
	mu     sync.Mutex
	conns  []net.Conn // guarded by mu
}

// cut breaks every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

func newProxy(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, target: fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p, "postgres://postgres@" + l.Addr().String() + "/postgres?sslmode=disable"
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
	up, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer up.Close()
	go func() { _, _ = io.Copy(up, c); _ = up.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := up.Read(buf)
		if err != nil {
			return
		}
		if p.hole.Load() {
			continue
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestBlackHole: a server that takes requests and never answers ends every request
// in an error that names it; the other server keeps answering, and it is used
// again after it has recovered.
func TestBlackHole(t *testing.T) {
	nodes := dsns(t)
	p, hidden := newProxy(t, nodes[0])
	rp, replica := newProxy(t, nodes[1])
	dsn := start(t, func(c *Config) {
		c.Primary, c.Replicas, c.RequestTimeout = hidden, []string{replica}, time.Second
	})
	admin := connect(t, nodes[0], pgx.QueryExecModeExec)
	exec(t, admin, "CREATE TABLE hole (id int)")
	c := connect(t, dsn, pgx.QueryExecModeExec)
	exec(t, c, "INSERT INTO hole VALUES (1)")
	value[int](t, c, "SELECT count(*)::int FROM hole")

	p.hole.Store(true)
	for i := range 4 {
		begin := time.Now()
		_, err := c.Exec(context.Background(), "INSERT INTO hole VALUES (2)")
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || !strings.Contains(pe.Message, p.Addr().String()) {
			t.Fatalf("attempt %d: %v", i, err)
		}
		if want := map[bool]string{true: "08007", false: "08001"}[i == 0]; pe.Code != want {
			t.Errorf("attempt %d: %v", i, err)
		}
		if d := time.Since(begin); d > 8*time.Second {
			t.Errorf("attempt %d took %v", i, d)
		}
	}
	other := connect(t, dsn, pgx.QueryExecModeExec)
	value[int](t, other, "SELECT count(*)::int FROM hole")
	p.hole.Store(false)
	recovers(t, c, "INSERT INTO hole VALUES (3)")

	rp.hole.Store(true)
	_, err := other.Exec(context.Background(), "SELECT count(*) FROM hole")
	if code(err) != "57014" || !strings.Contains(err.Error(), rp.Addr().String()) {
		t.Errorf("read: %v", err)
	}
	value[int](t, other, "SELECT count(*)::int FROM hole") // the primary answers
	rp.hole.Store(false)
}

// recovers waits until a statement succeeds, 20 s at most.
func recovers(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for {
		_, err := c.Exec(context.Background(), sql)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", sql, err)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// TestAuthFile: users prove their password at the front; unknown ones are refused.
func TestAuthFile(t *testing.T) {
	nodes := dsns(t)
	path := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(path, []byte("# users\npostgres:se:cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dsn := start(t, func(c *Config) { c.Primary, c.Replicas, c.AuthFile = nodes[0], nodes[1:], path })
	with := func(user string) string { return strings.Replace(dsn, "postgres@", user+"@", 1) }
	c := connect(t, with("postgres:se%3Acret"), pgx.QueryExecModeExec)
	if u := value[string](t, c, "SELECT current_user::text"); u != "postgres" {
		t.Error(u)
	}
	for _, user := range []string{"postgres:wrong", "other:se%3Acret"} {
		if _, err := pgx.Connect(context.Background(), with(user)); code(err) != "28P01" {
			t.Errorf("%s: %v", user, err)
		}
	}
}

// TestConfig: bad configuration is fatal with a message that names the option.
func TestConfig(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte("a:b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := 0
	file := func(text string) string {
		files++
		path := filepath.Join(t.TempDir(), fmt.Sprint("map", files))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sharded := func(change func(*Config)) func(*Config) {
		return func(c *Config) {
			c.Primary, c.Shards, c.ShardKeys = "", []string{"postgres://a/", "postgres://b/"}, []string{"accounts:region"}
			change(c)
		}
	}
	for want, change := range map[string]func(*Config){
		"primary: no server":      func(c *Config) { c.Primary = "" },
		"primary: cannot parse":   func(c *Config) { c.Primary = "postgres://h:port/" },
		"replicas: cannot parse":  func(c *Config) { c.Replicas = []string{"postgres://h:port/"} },
		"listen:":                 func(c *Config) { c.Listen = "nowhere" },
		"reachable from other":    func(c *Config) { c.Listen = "0.0.0.0:0" },
		"tls-cert and tls-key":    func(c *Config) { c.TLSCert = "x" },
		"tls-cert, tls-key: open": func(c *Config) { c.TLSCert, c.TLSKey = "/none", "/none" },
		"request-timeout":         func(c *Config) { c.RequestTimeout = -1 },
		"auth-file: stat":         func(c *Config) { c.AuthFile = "/none" },
		"chmod 600":               func(c *Config) { c.AuthFile = open },
		"loops: must":             func(c *Config) { c.Loops = -1 },
		"connect-timeout":         func(c *Config) { c.ConnectTimeout = 0 },
		"cannot be combined":      func(c *Config) { c.Shards = []string{"postgres://h/"} },
		"shards: no server":       sharded(func(c *Config) { c.Shards = nil }),
		"shards: cannot parse":    sharded(func(c *Config) { c.Shards = []string{"postgres://h:port/"} }),
		"given twice":             sharded(func(c *Config) { c.Shards = []string{"postgres://h/", "postgres://h/"} }),
		"shard-keys: no":          sharded(func(c *Config) { c.ShardKeys = nil }),
		"is not collection:path":  sharded(func(c *Config) { c.ShardKeys = []string{"accounts"} }),
		"shard-keys: a":           sharded(func(c *Config) { c.ShardKeys = []string{"a:$x"} }),
		`shard-keys: "a" is`:      sharded(func(c *Config) { c.ShardKeys = []string{"a:x", "a:y"} }),
		"chunks: 0":               sharded(func(c *Config) { c.Chunks = 0 }),
		"shard-pool-size":         sharded(func(c *Config) { c.PoolSize = 0 }),
		"map: open":               sharded(func(c *Config) { c.Map = "/none" }),
		"map: ":                   sharded(func(c *Config) { c.Map = file(`{"map": [0,`) }),
		"unknown field":           sharded(func(c *Config) { c.Map = file(`{"chunk_map": []}`) }),
		"3 entries for 4 chunks":  sharded(func(c *Config) { c.Map = file(`{"chunks": 4, "map": [0, 1, 0]}`) }),
		"names the unknown shard": sharded(func(c *Config) { c.Map = file(`{"map": [0, 2]}`) }),
		"chunks: -1":              sharded(func(c *Config) { c.Map = file(`{"chunks": -1}`) }),
	} {
		cfg := DefaultConfig()
		cfg.Listen, cfg.Primary = "127.0.0.1:0", "postgres://127.0.0.1:1/"
		change(&cfg)
		r, err := Start(cfg)
		if err == nil {
			_ = r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
