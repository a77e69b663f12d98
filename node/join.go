package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ostraka/engine/catalog"
	"ostraka/raft"
)

// postgresDB is the database that every cluster has.
const postgresDB = catalog.PostgresDB

// enter makes the node a member: a new single node starts its own cluster, one
// with --join asks to be added, one with data just rejoins, and one with
// --no-init waits for raft_init().
func (n *Node) enter(ctx context.Context) error {
	m := n.group.Metrics()
	switch {
	case len(m.Members) > 0:
		return n.rejoin(ctx)
	case len(n.cfg.Join) > 0:
		n.wg.Add(1)
		go func() {
			defer n.wg.Done()
			n.join(n.ctx)
		}()
		return nil
	case n.cfg.NoInit:
		n.log.Info("waiting for raft_init() or to be added to a cluster")
		return nil
	}
	return n.initCluster(ctx)
}

// rejoin waits for a node that is alone to lead; others become ready by themselves.
func (n *Node) rejoin(ctx context.Context) error {
	if m := n.group.Metrics(); voters(m) == 1 && len(m.Members) == 1 && m.Members[0].ID == n.cfg.NodeID {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return n.waitReady(ctx)
	}
	return nil
}

// initCluster makes this node the first member (raft_init) and sets the superuser's password.
func (n *Node) initCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if n.ident.ID() == "" && len(n.group.Metrics().Members) == 0 {
		if err := n.ident.found(); err != nil {
			return err
		}
	}
	if err := n.group.Bootstrap(ctx); err != nil {
		return err
	}
	if err := n.waitReady(ctx); err != nil {
		return fmt.Errorf("initialising the cluster: %w", err)
	}
	n.log.Info("started a new cluster", "raft_addr", n.host.Addr())
	return n.setInitialPassword(ctx)
}

// joinCall asks a member to add a node.
type joinCall struct {
	ID   string `json:"id"`
	Addr string `json:"addr"`
}

// nodeInfo is what nodes tell each other about themselves.
type nodeInfo struct {
	ID      string `json:"id"`
	SQL     string `json:"sql"` // PostgreSQL address
	Leader  string `json:"leader"`
	Version string `json:"version"`
}

// join asks the configured members, in turn, to add this node as a learner and
// then, when it has caught up, as a voter. It repeats until it succeeds.
func (n *Node) join(ctx context.Context) {
	delay := 200 * time.Millisecond
	for ctx.Err() == nil {
		for _, addr := range n.cfg.Join {
			call, cancel := context.WithTimeout(ctx, 10*time.Minute)
			err := n.host.Call(call, "", addr, "join", joinCall{n.cfg.NodeID, n.host.Addr()}, nil)
			cancel()
			if err == nil {
				n.log.Info("joined the cluster", "through", addr)
				return
			}
			n.log.Warn("could not join yet", "through", addr, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay):
			delay = min(2*delay, 5*time.Second)
		}
	}
}

// serveCall answers other nodes.
func (n *Node) serveCall(ctx context.Context, from, op string, body json.RawMessage) (any, error) {
	switch op {
	case "info":
		if n.front == nil {
			return nil, errors.New("the node is starting")
		}
		return nodeInfo{ID: n.cfg.NodeID, SQL: n.advertised(), Leader: n.group.Metrics().Leader, Version: Version}, nil
	case "join":
		var c joinCall
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, err
		}
		if c.ID != from {
			return nil, fmt.Errorf("node %s asks to add node %s", from, c.ID)
		}
		return struct{}{}, n.admit(ctx, c)
	}
	if op == "freeze" || op == "checksum" {
		if n.front == nil {
			return nil, errors.New("the node is starting")
		}
		return n.serveChecksum(ctx, op, body)
	}
	if op == "leave" {
		var c leaveCall
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, err
		}
		return struct{}{}, n.release(ctx, from, c)
	}
	if op == "disk" {
		return diskInfo{Full: n.disk.full.Load(), Damaged: n.disk.damaged.Load()}, nil
	}
	if op == "series" {
		return n.seriesTables(), nil
	}
	if op == "series_stats" {
		return n.seriesStats(ctx)
	}
	if op == "shard" {
		return n.serveShardCall(body)
	}
	return nil, fmt.Errorf("unknown call %q", op)
}

// admit adds a node as learner, waits until it has caught up, and promotes it.
func (n *Node) admit(ctx context.Context, c joinCall) error {
	if n.group == nil {
		return errors.New("the node is starting")
	}
	n.log.Info("a node joins", "id", c.ID, "raft_addr", c.Addr)
	if err := n.audit.add(auditRecord{User: "node " + c.ID, Function: "join", Args: []string{c.ID, c.Addr}}); err != nil {
		return err
	}
	if _, err := n.group.AddLearner(ctx, c.ID, c.Addr); err != nil {
		return err
	}
	var ids []string
	for _, m := range n.group.Metrics().Members {
		if m.Voter && m.ID != c.ID {
			ids = append(ids, m.ID)
		}
	}
	_, err := n.group.ChangeMembership(ctx, append(ids, c.ID))
	return err
}

// member finds a member by id.
func member(m raft.Metrics, id string) (raft.Member, bool) {
	for _, x := range m.Members {
		if x.ID == id {
			return x, true
		}
	}
	return raft.Member{}, false
}
