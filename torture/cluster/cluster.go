// Package cluster runs nodes as processes of their own on loopback, with a
// network between them that can be cut and slowed, link by link and direction by
// direction.
//
// It knows nothing of the database but how a node is configured, how two nodes
// recognise each other (so that a connection has a direction), and SQL. What it
// started it ends: a node's process ends when its standard input does, so also
// when the program that runs the cluster is killed.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Options of a cluster.
type Options struct {
	Nodes int
	Dir   string // where nodes keep their data; made when absent
	// Command starts a node: one that takes its configuration from the
	// environment and serves package agent's commands on its standard input.
	Command []string
	Env     []string // added to its environment
	// Heartbeat is the replication's time-out. Default 500 ms.
	Heartbeat time.Duration
	Seed      uint64
}

// Cluster is a set of nodes.
type Cluster struct {
	Nodes []*Node
	Links *Links
	opts  Options

	mu      sync.Mutex
	crashes []string // guarded by mu
}

// Start starts the nodes and waits until all of them vote.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if opts.Heartbeat == 0 {
		opts.Heartbeat = 500 * time.Millisecond
	}
	c := &Cluster{opts: opts, Links: NewLinks(opts.Seed)}
	for i := range opts.Nodes {
		n, err := c.place(strconv.Itoa(i + 1))
		if err != nil {
			c.Close()
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, n := range c.Nodes {
		if err := n.Start(ctx); err != nil {
			err = fmt.Errorf("%w\n%s", err, n.LogTail())
			c.Close()
			return nil, err
		}
	}
	if err := c.AwaitVoters(ctx, opts.Nodes); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// place makes a node's directory, ports and entrances.
func (c *Cluster) place(id string) (*Node, error) {
	n := &Node{ID: id, Dir: filepath.Join(c.opts.Dir, "node-"+id), c: c}
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if n.SQL, err = freeAddr(); err != nil {
		return nil, err
	}
	if n.raft, err = freeAddr(); err != nil {
		return nil, err
	}
	raft, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	sql, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, raft.Close())
	}
	n.lns = []net.Listener{raft, sql}
	n.raftName, n.sqlName = raft.Addr().String(), sql.Addr().String()
	c.Links.serve(raft, id, n.raft, raftCaller)
	c.Links.serve(sql, id, n.SQL, sqlCaller)
	return n, nil
}

// freeAddr finds a port below those that the kernel gives to outgoing
// connections, so that it is still free when its node comes back.
func freeAddr() (string, error) {
	var last error
	for range 200 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(22000))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			last = err
			continue
		}
		return addr, l.Close()
	}
	return "", fmt.Errorf("no free port: %w", last)
}

// Close kills every process and closes the network.
func (c *Cluster) Close() {
	c.Links.Heal()
	for _, n := range c.Nodes {
		n.Kill()
		for _, ln := range n.lns {
			ln.Close()
		}
	}
	c.Links.mu.Lock()
	for p := range c.Links.conns {
		go p.close()
	}
	c.Links.mu.Unlock()
	c.Links.wg.Wait()
}

// crashed notes that a node ended without being asked to.
func (c *Cluster) crashed(n *Node, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crashes = append(c.crashes, fmt.Sprintf("node %s ended by itself: %v\n%s", n.ID, err, n.LogTail()))
}

// Crashes tells which nodes ended by themselves, with the end of their logs.
func (c *Cluster) Crashes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.crashes...)
}

// Node finds a node by its id.
func (c *Cluster) Node(id string) *Node {
	for _, n := range c.Nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// RaftName is where the others find a node, for raft_add_learner.
func (n *Node) RaftName() string { return n.raftName }

// Leader is the node that says of itself that it leads in the newest term.
func (c *Cluster) Leader(ctx context.Context) (*Node, error) {
	var lead *Node
	term := int64(-1)
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		one, cancel := context.WithTimeout(ctx, time.Second)
		t, err := Query[int64](one, n, "SELECT CASE WHEN m->>'leader' = m->>'node_id' THEN (m->>'term')::bigint ELSE -1 END FROM (SELECT raft_metrics() AS m) x")
		cancel()
		if err == nil && t > term {
			lead, term = n, t
		}
	}
	if lead == nil {
		return nil, errors.New("no node leads")
	}
	return lead, nil
}

// AwaitVoters waits until the membership has so many voters.
func (c *Cluster) AwaitVoters(ctx context.Context, voters int) error {
	return wait(ctx, fmt.Sprintf("%d voters", voters), func(ctx context.Context) error {
		lead, err := c.Leader(ctx)
		if err != nil {
			return err
		}
		got, err := Query[int](ctx, lead, "SELECT count(*) FROM ostraka.members WHERE suffrage = 'voter'")
		if err == nil && got != voters {
			err = fmt.Errorf("%d voters", got)
		}
		return err
	})
}

// wait polls until f succeeds or ctx ends.
func wait(ctx context.Context, what string, f func(ctx context.Context) error) error {
	var err error
	for {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		err = f(one)
		cancel()
		if err == nil || errors.Is(err, errEnded) {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-time.After(30 * time.Millisecond):
		}
	}
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}
