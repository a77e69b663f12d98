package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// changeShards changes the list of shards in a transaction of its own on shard 0,
// which this node leads. f gets a copy; an error of it changes nothing.
func (n *Node) changeShards(ctx context.Context, f func(*catalog.Shards) error) (*catalog.Shards, error) {
	tx, err := n.shard.Begin(ctx, engine.TxnOptions{Database: postgresDB, LockTimeout: 30 * time.Second})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	if err := tx.LockRelation(ctx, catalog.ShardsOID, engine.AccessExclusive, engine.WaitBlock); err != nil {
		return nil, err
	}
	if err := tx.StartStatement(ctx); err != nil {
		return nil, err
	}
	list := tx.Catalog().Shards().Clone()
	if err := f(list); err != nil {
		return nil, err
	}
	tx.Schema().PutShards(list)
	if _, err := tx.Commit(ctx); err != nil {
		return nil, err
	}
	n.kickGroups()
	return list, nil
}

// kickGroups makes the node look at the list of shards now.
func (n *Node) kickGroups() {
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// createShard makes a shard on the given nodes (nil: all voters) and waits until
// all its replicas vote.
func (n *Node) createShard(ctx context.Context, name string, nodes []string) (any, error) {
	members := n.group.Metrics()
	if nodes == nil {
		for _, m := range members.Members {
			if m.Voter {
				nodes = append(nodes, m.ID)
			}
		}
		// Leadership is spread: the first node starts the group.
		if k := len(n.shards().Shards); len(nodes) > 0 {
			k %= len(nodes)
			nodes = append(nodes[k:len(nodes):len(nodes)], nodes[:k]...)
		}
	}
	seen := map[string]bool{}
	for _, id := range nodes {
		if _, ok := member(members, id); !ok {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "node %s is not a member of the cluster", id)
		}
		if seen[id] {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "node %s is named twice", id)
		}
		seen[id] = true
	}
	if len(nodes) == 0 {
		return nil, pgerror.New(pgerror.InvalidParameterValue, "a shard needs at least one node")
	}
	id, err := n.addShard(ctx, catalog.Shard{Name: name, Nodes: nodes, State: catalog.ShardCreating})
	if err != nil {
		return nil, err
	}
	if err := n.waitShard(ctx, id, 60*time.Second); err != nil {
		return nil, err
	}
	return map[string]any{"shard_id": id, "name": name, "nodes": nodes}, nil
}

// addShard puts a shard into the list.
func (n *Node) addShard(ctx context.Context, s catalog.Shard) (int32, error) {
	if err := checkShardName(s.Name); err != nil {
		return 0, err
	}
	var id int32
	_, err := n.changeShards(ctx, func(list *catalog.Shards) error {
		if _, ok := list.ByName(s.Name); ok {
			return pgerror.New(pgerror.DuplicateObject, "shard %q already exists", s.Name)
		}
		if len(list.Shards) >= maxShards {
			return pgerror.New(pgerror.ProgramLimitExceeded, "a cluster has at most %d shards", maxShards)
		}
		id = list.Next
		list.Next++
		s.ID = id
		list.Shards = append(list.Shards, s)
		return nil
	})
	return id, err
}

const maxShards = 256

func checkShardName(name string) error {
	ok := name != "" && len(name) <= 63
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}
	if !ok || name == catalog.HomeShard {
		return pgerror.New(pgerror.InvalidName, "invalid name of a shard: %q", name).
			WithHint("A name has 1 to 63 lower-case letters, digits, - and _, and is not %q.", catalog.HomeShard)
	}
	return nil
}

// waitShard waits until a shard is active.
func (n *Node) waitShard(ctx context.Context, id int32, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		s := n.shards().Shard(id)
		switch {
		case s == nil:
			return pgerror.New(pgerror.UndefinedObject, "shard %d has been dropped", id)
		case s.State == catalog.ShardActive:
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "shard %q is not ready yet", s.Name).
					WithDetail("Its replicas on nodes %s have not all joined.", strings.Join(s.Nodes, ", ")).
					WithHint("It becomes active by itself; see ostraka.shards. shard_drop() removes it.")
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// removeShard drops a shard that owns nothing.
func (n *Node) removeShard(ctx context.Context, name string) (any, error) {
	if name == catalog.HomeShard {
		return nil, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "the home shard cannot be dropped")
	}
	var id int32
	_, err := n.changeShards(ctx, func(list *catalog.Shards) error {
		var ok bool
		if id, ok = list.ByName(name); !ok {
			return pgerror.New(pgerror.UndefinedObject, "shard %q does not exist", name)
		}
		if k := list.Owned(id).Len(); k > 0 {
			return pgerror.New(pgerror.DependentObjectsStillExist, "shard %q still owns %d chunks", name, k).
				WithHint("Move them with chunk_move() first.")
		}
		for _, m := range list.Moves {
			if m.From == id || m.To == id {
				return pgerror.New(pgerror.ObjectInUse, "a chunk move of shard %q is not finished", name)
			}
		}
		if len(list.Broadcasts) > 0 {
			return pgerror.New(pgerror.ObjectInUse, "a change of a collection has not reached every shard yet")
		}
		list.Shards = slices.DeleteFunc(list.Shards, func(s catalog.Shard) bool { return s.ID == id })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"shard_id": id, "name": name}, nil
}

// shardCall asks a node about its replica of a shard.
type shardCall struct {
	ID int32 `json:"id"`
}

// shardInfo is the answer.
type shardInfo struct {
	Hosted bool     `json:"hosted"`
	Leader string   `json:"leader"`
	Ready  bool     `json:"ready"` // it leads and may execute
	Voters []string `json:"voters"`
}

// shardInfo describes this node's replica of a shard.
func (n *Node) shardInfo(id int32) shardInfo {
	h := n.hostedShard(id)
	if h == nil {
		return shardInfo{}
	}
	m := h.group.Metrics()
	out := shardInfo{Hosted: true, Leader: m.Leader, Ready: m.Ready}
	for _, x := range m.Members {
		if x.Voter {
			out.Voters = append(out.Voters, x.ID)
		}
	}
	return out
}

// askShard asks another member, or this node, about its replica of a shard.
func (n *Node) askShard(ctx context.Context, node string, id int32) (shardInfo, error) {
	if node == n.cfg.NodeID {
		return n.shardInfo(id), nil
	}
	m, ok := member(n.group.Metrics(), node)
	if !ok {
		return shardInfo{}, fmt.Errorf("node %s is not a member of the cluster", node)
	}
	var out shardInfo
	err := n.host.Call(ctx, node, m.Addr, "shard", shardCall{id}, &out)
	return out, err
}

func (n *Node) serveShardCall(body json.RawMessage) (any, error) {
	var c shardCall
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, err
	}
	if n.group == nil {
		return nil, errors.New("the node is starting")
	}
	return n.shardInfo(c.ID), nil
}

// activate marks the shards active whose replicas all vote. The leader of shard 0
// does it.
func (n *Node) activate(ctx context.Context, list *catalog.Shards) {
	for _, s := range list.Shards {
		if s.State != catalog.ShardCreating || len(s.Nodes) == 0 {
			continue
		}
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		ok := false
		for _, id := range s.Nodes {
			info, err := n.askShard(call, id, s.ID)
			if err == nil && info.Ready && len(info.Voters) == len(s.Nodes) {
				ok = true
				break
			}
		}
		cancel()
		if !ok {
			continue
		}
		if _, err := n.changeShards(ctx, func(list *catalog.Shards) error {
			if x := list.Shard(s.ID); x != nil {
				x.State = catalog.ShardActive
			}
			return nil
		}); err != nil {
			n.log.Warn("a shard could not be made active yet", "shard", s.ID, "error", err)
		}
	}
}

// runManager is what the leader of shard 0 does about shards in the background.
func (n *Node) runManager() {
	defer n.wg.Done()
	tick := time.NewTicker(reconcileInterval)
	defer tick.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		case <-n.manage:
		}
		if m := n.group.Leadership(); !m.IsLeader {
			continue
		}
		n.activate(n.ctx, n.shards())
		n.mover.Run(n.ctx)
		n.balance(n.ctx)
	}
}

// kickManager makes runManager look for work now.
func (n *Node) kickManager() {
	select {
	case n.manage <- struct{}{}:
	default:
	}
}

// databases are the catalogues of all databases of shard 0.
func (n *Node) databases() []*catalog.Catalog {
	var out []*catalog.Catalog
	if cat := n.shard.Catalog(postgresDB); cat != nil {
		cat.AllDatabases(func(d *catalog.Database) bool {
			if c := n.shard.Catalog(d.OID); c != nil {
				out = append(out, c)
			}
			return true
		})
	}
	return out
}
