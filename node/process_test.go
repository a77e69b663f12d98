package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestMain lets this test binary be a node: processes are started as copies of it.
func TestMain(m *testing.M) {
	if os.Getenv("OSTRAKA_TEST_NODE") != "" {
		os.Exit(runTestNode())
	}
	if !raceDetector {
		leaderPatience = 3 * time.Second
	}
	code := m.Run()
	if shared.demo != nil {
		_ = shared.demo.Close()
		_ = os.RemoveAll(sharedDir())
	}
	os.Exit(code)
}

// sharedDir is the directory of the cluster that tests share.
var sharedDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "ostraka-node-")
	if err != nil {
		panic(err)
	}
	return dir
})

func runTestNode() int {
	cfg := DefaultConfig()
	for _, o := range cfg.Options() {
		v := os.Getenv(o.Env())
		if v == "" {
			continue
		}
		switch p := o.Value.(type) {
		case *bool:
			*p, _ = strconv.ParseBool(v)
		case *string:
			*p = v
		case *[]string:
			*p = []string{v}
		case *int64:
			*p, _ = strconv.ParseInt(v, 10, 64)
		case *time.Duration:
			*p, _ = time.ParseDuration(v)
		}
	}
	cfg.HTTP = os.Getenv("OSTRAKA_TEST_HTTP")
	if os.Getenv("OSTRAKA_TEST_SMALL_LOG") != "" {
		trailingEntries, flushInterval = 1, 50*time.Millisecond
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	n, err := Start(ctx, cfg)
	if err == nil {
		err = n.Wait(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node", cfg.NodeID, err)
		return 1
	}
	return 0
}

// process is one node as a process of its own.
type process struct {
	t         *testing.T
	id        string
	dir       string
	sql, raft string
	env       []string
	program   []string // nil: this test binary
	cmd       *exec.Cmd
}

// cluster is a set of processes on loopback.
type cluster struct {
	t     *testing.T
	dir   string
	nodes []*process
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	for range n {
		c.add().start()
	}
	c.waitVoters(n)
	return c
}

// add makes the next node, which joins the first one; it is not started.
func (c *cluster) add() *process {
	id := strconv.Itoa(len(c.nodes) + 1)
	p := &process{t: c.t, id: id, dir: filepath.Join(c.dir, "node-"+id), sql: freeAddr(c.t), raft: freeAddr(c.t)}
	if len(c.nodes) > 0 {
		p.env = []string{"OSTRAKA_JOIN=" + c.nodes[0].raft, "OSTRAKA_SECRET_FILE=" + filepath.Join(c.nodes[0].dir, "cluster.secret")}
	}
	c.nodes = append(c.nodes, p)
	c.t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	program := p.program
	if program == nil {
		program = []string{os.Args[0], "-test.run=^$"}
	}
	p.cmd = exec.Command(program[0], program[1:]...)
	p.cmd.Env = append(append(os.Environ(), "OSTRAKA_TEST_NODE=1", "OSTRAKA_NODE_ID="+p.id, "OSTRAKA_DATA_DIR="+p.dir, "OSTRAKA_LISTEN="+p.sql,
		"OSTRAKA_RAFT_ADDR="+p.raft, "OSTRAKA_LOG_LEVEL=error", "OSTRAKA_HEARTBEAT=300ms", "OSTRAKA_CACHE_BYTES=33554432"), p.env...)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	wait(p.t, "node "+p.id+" to answer", func(ctx context.Context) error { return p.exec(ctx, "SELECT 1") })
}

// kill is kill -9.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

func (p *process) dsn() string {
	return "postgres://postgres@" + p.sql + "/postgres?sslmode=disable&connect_timeout=5"
}

func (p *process) exec(ctx context.Context, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, p.dsn())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, args...)
	return err
}

// query returns one value.
func query[T any](ctx context.Context, p *process, sql string, args ...any) (v T, err error) {
	conn, err := pgx.Connect(ctx, p.dsn())
	if err != nil {
		return v, err
	}
	defer conn.Close(ctx)
	return v, conn.QueryRow(ctx, sql, args...).Scan(&v)
}

// wait polls until f succeeds.
func wait(t *testing.T, what string, f func(ctx context.Context) error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err = f(ctx)
		cancel()
		if err == nil {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Fatalf("waiting for %s: %v", what, err)
}

func (c *cluster) waitVoters(n int) {
	c.t.Helper()
	wait(c.t, fmt.Sprintf("%d voters", n), func(ctx context.Context) error {
		got, err := query[int](ctx, c.nodes[0], "SELECT count(*) FROM ostraka.members WHERE suffrage = 'voter'")
		if err == nil && got != n {
			err = fmt.Errorf("%d voters", got)
		}
		return err
	})
}

// leader finds the node that leads, as the living nodes see it.
func (c *cluster) leader() *process {
	c.t.Helper()
	var found *process
	wait(c.t, "a leader", func(ctx context.Context) error {
		for _, p := range c.nodes {
			if p.cmd == nil {
				continue
			}
			id, err := query[string](ctx, p, "SELECT raft_metrics()->>'leader'")
			if err != nil {
				return err
			}
			for _, q := range c.nodes {
				if q.id == id && q.cmd != nil {
					found = q
					return nil
				}
			}
		}
		return errors.New("no leader is known")
	})
	return found
}

func mustExec(t *testing.T, p *process, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := p.exec(ctx, sql); err != nil {
		t.Fatalf("node %s: %s: %v", p.id, sql, err)
	}
}

// everywhere waits until a query gives the same value on every living node.
func everywhere(c *cluster, sql string, want int64) {
	c.t.Helper()
	for _, p := range c.nodes {
		if p.cmd == nil {
			continue
		}
		wait(c.t, "node "+p.id+": "+sql, func(ctx context.Context) error {
			got, err := query[int64](ctx, p, sql)
			if err == nil && got != want {
				err = fmt.Errorf("got %d, want %d", got, want)
			}
			return err
		})
	}
}

// load runs clients that insert numbered rows and count them in one transaction.
type load struct {
	acked, unknown [8]int64 // by client; guarded by nothing: one goroutine each, read after wait
	seq            [8]int64
	errs           sync.Map // text of an unknown outcome → count
	stop           atomic.Bool
	wg             sync.WaitGroup
}

// run starts the clients; each goes to another living node when its own fails.
func (l *load) run(c *cluster) {
	for i := range l.acked {
		l.wg.Add(1)
		go func() {
			defer l.wg.Done()
			l.client(c, i)
		}()
	}
}

func (l *load) client(c *cluster, i int) {
	var conn *pgx.Conn
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for at := i; !l.stop.Load(); {
		if conn == nil || conn.IsClosed() {
			dial, done := context.WithTimeout(ctx, 2*time.Second)
			var err error
			conn, err = pgx.Connect(dial, c.nodes[at%len(c.nodes)].dsn())
			done()
			if err != nil {
				at++
				continue
			}
		}
		l.seq[i]++
		one, done := context.WithTimeout(ctx, 20*time.Second)
		_, err := conn.Exec(one, "WITH c AS (UPDATE counter SET n = n + 1 WHERE id = $1) INSERT INTO entry (client, seq) VALUES ($1, $2)", i, l.seq[i])
		done()
		switch {
		case err == nil:
			l.acked[i]++
		case certainlyNot(err):
		default:
			l.unknown[i]++
			n, _ := l.errs.LoadOrStore(err.Error(), new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
		}
	}
	if conn != nil {
		_ = conn.Close(ctx)
	}
}

// certainlyNot reports errors that mean the statement had no effect.
func certainlyNot(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		switch pe.Code {
		case "40001", "25006", "57P03", "53300", "40P01":
			return true
		}
		return false
	}
	return pgconn.SafeToRetry(err)
}

// check compares what was acknowledged with what is stored on a node.
func (l *load) check(t *testing.T, p *process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var twice int64
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM (SELECT client, seq FROM entry GROUP BY client, seq HAVING count(*) > 1) d").Scan(&twice); err != nil {
		t.Fatal(err)
	}
	if twice != 0 {
		t.Errorf("node %s: %d writes were applied twice", p.id, twice)
	}
	for i := range l.acked {
		var n, rows int64
		err := conn.QueryRow(ctx, "SELECT n, (SELECT count(*) FROM entry WHERE client = $1) FROM counter WHERE id = $1", i).Scan(&n, &rows)
		if err != nil {
			t.Fatal(err)
		}
		if n != rows {
			t.Errorf("node %s, client %d: counter %d but %d rows: a transaction was torn", p.id, i, n, rows)
		}
		if n < l.acked[i] || n > l.acked[i]+l.unknown[i] {
			t.Errorf("node %s, client %d: %d applied, %d acknowledged, %d unknown", p.id, i, n, l.acked[i], l.unknown[i])
		}
	}
}

func prepareLoad(t *testing.T, p *process) {
	t.Helper()
	mustExec(t, p, "CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL)")
	mustExec(t, p, "CREATE TABLE entry (client int NOT NULL, seq bigint NOT NULL)")
	mustExec(t, p, "INSERT INTO counter SELECT g, 0 FROM generate_series(0, 7) g")
}

// TestProcesses is the cluster's main promise, with processes and kill -9: a row
// written through each node is on all; killing the leader under load loses no
// acknowledged write and applies none twice; restarting all nodes after kill -9
// shows every acknowledged row; an empty fourth node joins after the log was
// truncated and has the data.
func TestProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; runs without -short")
	}
	t.Setenv("OSTRAKA_TEST_SMALL_LOG", "1")
	c := newCluster(t, 3)
	mustExec(t, c.nodes[0], "CREATE TABLE r (id int PRIMARY KEY, node text)")
	for i, p := range c.nodes {
		mustExec(t, p, fmt.Sprintf("INSERT INTO r VALUES (%d, 'node %s')", i, p.id))
	}
	everywhere(c, "SELECT count(*) FROM r", 3)

	prepareLoad(t, c.nodes[1])
	everywhere(c, "SELECT count(*) FROM counter", 8)
	l := &load{}
	l.run(c)
	for range 2 {
		<-time.After(1500 * time.Millisecond)
		p := c.leader()
		p.kill()
		<-time.After(1500 * time.Millisecond)
		p.start()
	}
	<-time.After(time.Second)
	l.stop.Store(true)
	l.wg.Wait()
	var acked, unknown int64
	for i := range l.acked {
		acked, unknown = acked+l.acked[i], unknown+l.unknown[i]
	}
	t.Logf("%d writes acknowledged, %d with unknown outcome", acked, unknown)
	l.errs.Range(func(text, n any) bool {
		t.Logf("%d × %v", n.(*atomic.Int64).Load(), text)
		return true
	})
	if acked == 0 {
		t.Fatal("no write was acknowledged: the test proves nothing")
	}
	total, err := query[int64](context.Background(), c.leader(), "SELECT count(*) FROM entry")
	if err != nil {
		t.Fatal(err)
	}
	everywhere(c, "SELECT count(*) FROM entry", total)
	for _, p := range c.nodes {
		l.check(t, p)
	}

	for _, p := range c.nodes {
		p.kill()
	}
	for _, p := range c.nodes {
		p.start()
	}
	everywhere(c, "SELECT count(*) FROM entry", total)
	for _, p := range c.nodes {
		l.check(t, p)
	}

	wait(t, "the log to be truncated", func(ctx context.Context) error {
		first, err := query[int64](ctx, c.leader(), "SELECT (raft_metrics()->>'first_log')::bigint")
		if err == nil && first < 2 {
			err = fmt.Errorf("the log begins at %d", first)
		}
		return err
	})
	c.add().start()
	c.waitVoters(4)
	everywhere(c, "SELECT count(*) FROM entry", total)
	l.check(t, c.nodes[3])
}
