package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ostraka/engine/catalog"
	"ostraka/engine/shard"
	"ostraka/pgfront/session"
	"ostraka/raft"
	"ostraka/sqltypes/pgerror"
)

// hosted is this node's replica of a shard other than shard 0.
type hosted struct {
	id    int32
	shard *shard.Shard
	group *raft.Group
	deps  func(*session.Registry) *session.Deps // of sessions bound to it; made once
}

// reconcileInterval is how often the list of shards and the leadership are looked
// at when nobody says that they changed.
const reconcileInterval = 100 * time.Millisecond

// runGroups makes what this node hosts agree with the list of shards, which is
// replicated data of shard 0: at start, after a join, after every change.
func (n *Node) runGroups() {
	defer n.wg.Done()
	tick := time.NewTicker(reconcileInterval)
	defer tick.Stop()
	for {
		n.reconcile(n.ctx)
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		case <-n.kick:
		}
	}
}

// shards is the newest list of shards that this node knows.
func (n *Node) shards() *catalog.Shards {
	if cat := n.shard.Catalog(postgresDB); cat != nil {
		return cat.Shards()
	}
	return catalog.NewShards()
}

// hostedShard is this node's replica of a shard, nil when it has none.
func (n *Node) hostedShard(id int32) *hosted {
	n.groupsMu.Lock()
	defer n.groupsMu.Unlock()
	return n.groups[id]
}

// hostedShards are all replicas of this node but shard 0's.
func (n *Node) hostedShards() []*hosted {
	n.groupsMu.Lock()
	defer n.groupsMu.Unlock()
	out := make([]*hosted, 0, len(n.groups))
	for _, h := range n.groups {
		out = append(out, h)
	}
	return out
}

// reconcile opens and closes replicas, starts groups and completes memberships.
// What fails is tried again with the next round.
func (n *Node) reconcile(ctx context.Context) {
	list := n.shards()
	for i := range list.Shards {
		s := &list.Shards[i]
		if !slices.Contains(s.Nodes, n.cfg.NodeID) {
			continue
		}
		h := n.hostedShard(s.ID)
		if h == nil {
			var err error
			if h, err = n.openShard(s.ID); err != nil {
				n.warnOnce(s.ID, "a shard's replica cannot be opened", err)
				continue
			}
		}
		if s.State == catalog.ShardCreating && s.Nodes[0] == n.cfg.NodeID && len(h.group.Metrics().Members) == 0 {
			call, cancel := context.WithTimeout(ctx, 10*time.Second)
			if err := h.group.Bootstrap(call); err != nil && !errors.Is(err, raft.ErrBootstrapped) {
				n.warnOnce(s.ID, "a shard's group cannot be started", err)
			}
			cancel()
		}
		n.completeMembership(h, s)
	}
	n.groupsMu.Lock()
	var gone []*hosted
	for id, h := range n.groups {
		if s := list.Shard(id); (s == nil || !slices.Contains(s.Nodes, n.cfg.NodeID)) && id < list.Next {
			gone = append(gone, h)
			delete(n.groups, id)
		}
	}
	n.groupsMu.Unlock()
	for _, h := range gone {
		if err := n.dropShard(h); err != nil {
			n.log.Warn("a dropped shard's data was not removed", "shard", h.id, "error", err)
		}
	}
	if !n.swept && list.Next > 1 {
		n.swept = true
		n.sweepShards(list)
	}
}

// warnOnce logs an error of a shard unless it is the last one that was logged.
func (n *Node) warnOnce(id int32, msg string, err error) {
	if text := msg + err.Error(); n.warned[id] != text {
		n.warned[id] = text
		n.log.Warn(msg, "shard", id, "error", err)
	}
}

func shardDir(id int32) string { return "shard-" + strconv.Itoa(int(id)) }

// Memory for what short reads of shard 0, and of each other shard, have found.
const (
	homeRows  = 64 << 20
	shardRows = 16 << 20
)

// openShard opens this node's replica of a shard.
func (n *Node) openShard(id int32) (*hosted, error) {
	e, err := shard.Open(shard.Options{Dir: n.dir.path(shardDir(id)), FS: n.cfg.FS, Now: n.cfg.Now, Cache: n.cache, Columns: n.columns, Rows: shardRows, Logger: n.log.With("shard", id), Superuser: n.cfg.Superuser,
		MemTableSize: 32 << 20, MaxTxnBytes: n.cfg.MaxTransaction, FlushInterval: flushInterval, Fatal: n.fatal, Damaged: n.damaged})
	if err != nil {
		return nil, err
	}
	g, err := n.host.OpenGroup(raft.GroupConfig{ID: uint32(id), Applier: e.Applier(), TrailingEntries: trailingEntries})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.AttachLog(g)
	h := &hosted{id: id, shard: e, group: g}
	var once sync.Once
	var deps session.Deps
	h.deps = func(reg *session.Registry) *session.Deps {
		once.Do(func() { deps = depsOn(n, reg, id, e, g) })
		return &deps
	}
	n.groupsMu.Lock()
	defer n.groupsMu.Unlock()
	n.groups[id] = h
	e.Refuse(n.shard.Refused())
	n.log.Info("hosting a shard", "shard", id)
	return h, nil
}

// shardDeps is what a session bound to a shard is built on (pgfront.Config.Shard).
func (n *Node) shardDeps(id string, reg *session.Registry) (*session.Deps, error) {
	num, err := strconv.ParseInt(id, 10, 32)
	if err == nil {
		if h := n.hostedShard(int32(num)); h != nil {
			return h.deps(reg), nil
		}
	}
	return nil, pgerror.New(pgerror.UndefinedObject, "node %s does not host shard %s", n.cfg.NodeID, id)
}

// completeMembership makes the group's voters those that the list names: its
// leader adds one node after the other, in the background.
func (n *Node) completeMembership(h *hosted, s *catalog.Shard) {
	m := h.group.Metrics()
	if m.State != "Leader" || !m.Ready {
		return
	}
	missing := ""
	want := slices.Clone(s.Nodes)
	for _, id := range s.Nodes {
		if x, ok := member(m, id); !ok || !x.Voter {
			missing = id
			break
		}
	}
	if missing == "" && voters(m) == len(want) || !n.joining.CompareAndSwap(false, true) {
		return
	}
	addr := ""
	if x, ok := member(n.group.Metrics(), missing); ok {
		addr = x.Addr
	}
	if missing != "" && addr == "" {
		n.joining.Store(false)
		n.warnOnce(s.ID, "a shard's replica is on no member of the cluster", fmt.Errorf("node %s", missing))
		return
	}
	n.wg.Add(1)
	go func() {
		defer n.wg.Done()
		defer n.joining.Store(false)
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Minute)
		defer cancel()
		ids := want
		if missing != "" {
			if _, err := h.group.AddLearner(ctx, missing, addr); err != nil {
				n.log.Warn("a shard's replica could not be added yet", "shard", h.id, "node", missing, "error", err)
				return
			}
			ids = []string{missing}
			for _, x := range h.group.Metrics().Members {
				if x.Voter && x.ID != missing {
					ids = append(ids, x.ID)
				}
			}
		}
		if _, err := h.group.ChangeMembership(ctx, ids); err != nil {
			n.log.Warn("a shard's membership could not be changed yet", "shard", h.id, "error", err)
		}
	}()
}

// dropShard closes a replica and removes its log and state.
func (n *Node) dropShard(h *hosted) error {
	n.log.Info("removing a dropped shard", "shard", h.id)
	if err := errors.Join(h.group.Close(), h.shard.Close()); err != nil {
		return err
	}
	return errors.Join(n.host.DropGroup(uint32(h.id)), os.RemoveAll(n.dir.path(shardDir(h.id))))
}

// sweepShards removes what is left of shards that were dropped while this node was away.
func (n *Node) sweepShards(list *catalog.Shards) {
	dirs, err := filepath.Glob(n.dir.path("shard-*"))
	if err != nil {
		return
	}
	for _, d := range dirs {
		id, err := strconv.ParseInt(strings.TrimPrefix(filepath.Base(d), "shard-"), 10, 32)
		if err != nil || id == homeShard || int32(id) >= list.Next || n.hostedShard(int32(id)) != nil {
			continue
		}
		if s := list.Shard(int32(id)); s != nil && slices.Contains(s.Nodes, n.cfg.NodeID) {
			continue
		}
		if err := errors.Join(n.host.DropGroup(uint32(id)), os.RemoveAll(d)); err != nil {
			n.log.Warn("a dropped shard's data was not removed", "shard", id, "error", err)
		}
	}
}

// closeGroups hands over what this node leads and closes its replicas.
func (n *Node) closeGroups() error {
	n.groupsMu.Lock()
	all := n.groups
	n.groups = map[int32]*hosted{}
	n.groupsMu.Unlock()
	var errs []error
	for _, h := range all {
		handOver(n.log, h.group)
		errs = append(errs, h.group.Close(), h.shard.Close())
	}
	return errors.Join(errs...)
}
