package raft_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/engine/commitlog"
	"ostraka/engine/commitlog/logtest"
	"ostraka/raft"
	"ostraka/raft/transport"
)

// cluster is a group on several nodes of this process, over real TCP on
// loopback, with one fault matrix.
type cluster struct {
	t      *testing.T
	ctx    context.Context
	faults *transport.Faults
	nodes  map[string]*node // written by the test's goroutine
	opts   clusterOptions

	mu   sync.Mutex
	live map[string]*raft.Group // groups of running nodes, for load; guarded by mu
}

type clusterOptions struct {
	timers          raft.Timers
	trailingEntries uint64
	secret          string
	maxPayload      int
	slept           func() (time.Duration, bool)
	noReadLease     bool
	pebble          bool // states in pebble, on a disk that can lose power
}

// replica is an applier that a test can look into.
type replica interface {
	commitlog.Applier
	WaitApplied(context.Context, commitlog.Position) error
	Flush() commitlog.Position
	Violation() error
	payloads() []string
	close()
}

// recorder is a replica in memory.
type recorder struct{ *logtest.Recorder }

func (r recorder) payloads() []string {
	recs := r.Records()
	out := make([]string, len(recs))
	for i, x := range recs {
		out[i] = string(x.Payload)
	}
	return out
}

func (recorder) close() {}

type node struct {
	id    string
	addr  string
	dir   string
	fs    *vfs.MemFS // with pebble states: the node's disk
	state replica
	host  *raft.Host
	group *raft.Group
	up    bool
}

func ids(from, to int) (out []string) {
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// newCluster starts nodes 1…n; node 1 is bootstrapped, the others are voters.
func newCluster(t *testing.T, n int, opts clusterOptions) *cluster {
	t.Helper()
	if opts.timers.Heartbeat == 0 {
		opts.timers = fastTimers
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	c := &cluster{t: t, ctx: ctx, faults: transport.NewFaults(1), nodes: map[string]*node{}, opts: opts, live: map[string]*raft.Group{}}
	t.TempDir() // is removed when all nodes have been closed
	t.Cleanup(c.close)
	for _, id := range ids(1, n) {
		c.add(id)
	}
	if err := c.nodes["1"].group.Bootstrap(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids(2, n) {
		if _, err := c.nodes["1"].group.AddLearner(ctx, id, c.nodes[id].addr); err != nil {
			t.Fatal(err)
		}
	}
	if n > 1 {
		if _, err := c.nodes["1"].group.ChangeMembership(ctx, ids(1, n)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// add makes a new node and starts it.
func (c *cluster) add(id string) *node {
	c.t.Helper()
	n := &node{id: id}
	if c.opts.pebble {
		n.dir, n.fs = "disk", vfs.NewCrashableMem()
	} else {
		n.dir, n.state = c.t.TempDir(), recorder{logtest.NewRecorder()}
	}
	c.nodes[id] = n
	c.start(n)
	return n
}

func (c *cluster) start(n *node) {
	c.t.Helper()
	addr := n.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		c.t.Fatal(err)
	}
	n.addr = ln.Addr().String()
	cfg := raft.HostConfig{
		NodeID:   n.id,
		Dir:      n.dir,
		Listener: ln,
		Timers:   c.opts.timers,
		Faults:   c.faults,
		Secret:   []byte(c.opts.secret),
		Slept:    c.opts.slept,

		NoReadLease: c.opts.noReadLease,
		Fatal:       func(err error) { c.t.Errorf("node %s: fatal: %v", n.id, err) },
	}
	if os.Getenv("RAFT_LOG") != "" {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if n.fs != nil {
		cfg.FS = n.fs
		if n.state, err = openPebbleState(n.fs, "disk/state"); err != nil {
			c.t.Fatal(err)
		}
	}
	if n.host, err = raft.OpenHost(cfg); err != nil {
		c.t.Fatal(err)
	}
	if n.group, err = n.host.OpenGroup(raft.GroupConfig{Applier: n.state, TrailingEntries: c.opts.trailingEntries, MaxPayload: c.opts.maxPayload}); err != nil {
		c.t.Fatal(err)
	}
	n.up = true
	c.mu.Lock()
	c.live[n.id] = n.group
	c.mu.Unlock()
}

// stop ends a node without warning to the others.
func (c *cluster) stop(n *node) {
	c.mu.Lock()
	delete(c.live, n.id)
	c.mu.Unlock()
	if n.up {
		n.up = false
		if err := n.host.Close(); err != nil {
			c.t.Errorf("node %s: close: %v", n.id, err)
		}
		n.state.close()
	}
}

// crash stops a node and leaves of its state what was flushed.
func (c *cluster) crash(n *node) {
	c.stop(n)
	n.state = recorder{n.state.(recorder).Crash()}
}

func (c *cluster) close() {
	c.faults.Heal()
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		wg.Go(func() { c.stop(n) }) // each touches only its own node
	}
	wg.Wait()
	for _, n := range c.nodes {
		if err := n.state.Violation(); err != nil {
			c.t.Errorf("node %s: %v", n.id, err)
		}
	}
}

// leader waits until one of the given nodes (or any) leads.
func (c *cluster) leader(among ...string) *node {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		for _, n := range c.nodes {
			if n.up && (len(among) == 0 || slices.Contains(among, n.id)) && n.group.Leadership().IsLeader {
				return n
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	c.t.Fatalf("no leader among %v", among)
	return nil
}

func (c *cluster) followers(leader *node) (out []*node) {
	for _, id := range slices.Sorted(func(yield func(string) bool) {
		for id := range c.nodes {
			if !yield(id) {
				return
			}
		}
	}) {
		if n := c.nodes[id]; n != leader && n.up {
			out = append(out, n)
		}
	}
	return out
}

// propose finds the leader and proposes p until it is acknowledged; after an
// unknown outcome, which a busy machine may cause, it is marked as another.
func (c *cluster) propose(p string) commitlog.Position {
	c.t.Helper()
	for {
		l := c.leader()
		pos, err := l.group.Propose(c.ctx, l.group.Leadership().Term, []byte(p))
		switch {
		case err == nil:
			return pos
		case errors.Is(err, commitlog.ErrNotAppended):
		case errors.Is(err, commitlog.ErrAmbiguous) && c.ctx.Err() == nil:
			p += "'"
		default:
			c.t.Fatalf("proposing %.40s: %v", p, err)
		}
	}
}

// eventually waits for a condition.
func (c *cluster) eventually(what string, f func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for !f() {
		if time.Now().After(deadline) {
			c.t.Fatalf("never: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// converge waits until the nodes that are up hold the same, proposes a marker to
// make sure that everything before it is settled, and returns the payloads.
func (c *cluster) converge() []string {
	c.t.Helper()
	pos := c.propose(fmt.Sprintf("marker-%d", time.Now().UnixNano()))
	var want []string
	for _, n := range c.nodes {
		if !n.up {
			continue
		}
		if err := n.state.WaitApplied(c.ctx, pos); err != nil {
			c.t.Fatalf("node %s: %v", n.id, err)
		}
		got := n.state.payloads()
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			c.t.Fatalf("node %s holds %d payloads, another %d, or in another order", n.id, len(got), len(want))
		}
	}
	return want
}

// load proposes from several clients through whatever leader there is, until
// stopped, and remembers what was said about each payload.
type load struct {
	c    *cluster
	stop atomic.Bool
	wg   sync.WaitGroup

	mu        sync.Mutex
	acked     []string
	notAdded  []string
	ambiguous []string
	seq       int
}

func (c *cluster) load(clients int, among ...string) *load {
	l := &load{c: c}
	for range clients {
		l.wg.Go(func() {
			for !l.stop.Load() && c.ctx.Err() == nil {
				l.one(among)
			}
		})
	}
	return l
}

func (l *load) one(among []string) {
	var lead *raft.Group
	l.c.mu.Lock()
	for id, g := range l.c.live {
		if (len(among) == 0 || slices.Contains(among, id)) && g.Leadership().IsLeader {
			lead = g
		}
	}
	l.c.mu.Unlock()
	if lead == nil {
		time.Sleep(time.Millisecond)
		return
	}
	l.mu.Lock()
	l.seq++
	p := fmt.Sprintf("load-%d", l.seq)
	l.mu.Unlock()
	_, err := lead.Propose(l.c.ctx, lead.Leadership().Term, []byte(p))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.acked = append(l.acked, p)
	case errors.Is(err, commitlog.ErrNotAppended), errors.Is(err, commitlog.ErrRefused):
		l.notAdded = append(l.notAdded, p)
	case errors.Is(err, commitlog.ErrAmbiguous):
		l.ambiguous = append(l.ambiguous, p)
	default:
		l.c.t.Errorf("%s: %v", p, err)
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// more waits until n further payloads have been acknowledged.
func (l *load) more(n int) {
	l.c.t.Helper()
	target := l.count() + n
	l.c.eventually(fmt.Sprintf("%d more acknowledgements", n), func() bool { return l.count() >= target })
}

func (l *load) finish() {
	l.stop.Store(true)
	l.wg.Wait()
}

// verify checks what was said against what a converged cluster holds: nothing
// acknowledged lost, nothing twice, nothing there that was said not to be.
func (l *load) verify(held []string) {
	l.c.t.Helper()
	count := map[string]int{}
	for _, p := range held {
		count[p]++
		if count[p] > 1 && !strings.HasPrefix(p, "marker") {
			l.c.t.Errorf("%s applied %d times", p, count[p])
		}
	}
	for _, p := range l.acked {
		if count[p] == 0 {
			l.c.t.Errorf("%s was acknowledged and is lost", p)
		}
	}
	for _, p := range l.notAdded {
		if count[p] != 0 {
			l.c.t.Errorf("%s was refused and is there", p)
		}
	}
	l.c.t.Logf("acknowledged %d, refused %d, unknown %d", len(l.acked), len(l.notAdded), len(l.ambiguous))
}
