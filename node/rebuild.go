package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rebuild makes a member with a damaged state or log a new one of the same id: it
// leaves the group of every shard it hosts, the home shard's last, so that nobody
// counts on what it had, forgets its logs but not its terms and votes, and sets its
// states aside in damaged-…. What follows in Start is the way of a node that joins;
// the leaders of the other shards bring it back into their groups (runGroups). Every
// step can be repeated. If its term and vote cannot be read either, the node cannot
// come back under its id: remove it and add one with another.
func (n *Node) rebuild(ctx context.Context) error {
	if n.ident.ID() == "" {
		return errors.New("the data directory belongs to no cluster: start the node without --rebuild")
	}
	dirs, err := filepath.Glob(n.dir.path("shard-*"))
	if err != nil {
		return err
	}
	hosts := []int32{homeShard} // last first
	for _, d := range dirs {
		id, err := strconv.ParseInt(strings.TrimPrefix(filepath.Base(d), "shard-"), 10, 32)
		if err == nil && id != homeShard {
			hosts = append(hosts, int32(id))
		}
	}
	slices.Reverse(hosts)
	for _, id := range hosts {
		if err := n.leave(ctx, id); err != nil {
			return err
		}
	}
	aside := n.dir.path("damaged-" + time.Now().UTC().Format("20060102T150405.000"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return err
	}
	for _, id := range hosts {
		if err := n.host.ForgetLog(uint32(id)); err != nil {
			return err
		}
		err = os.Rename(n.dir.path(shardDir(id)), filepath.Join(aside, shardDir(id)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	n.log.Warn("the state was set aside and is taken anew from the other members", "kept_in", aside)
	return errors.Join(syncDir(aside), syncDir(n.dir.root))
}

// leaveCall asks a member to take the caller out of a shard's group.
type leaveCall struct {
	Shard int32 `json:"shard"`
	// Passed: the member was asked by another one, which does not host the shard.
	Passed string `json:"passed,omitempty"` // id of the node that leaves
}

// leave asks the configured members, in turn, to take this node out of a shard's group.
func (n *Node) leave(ctx context.Context, id int32) error {
	var errs []error
	for _, addr := range n.cfg.Join {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		err := n.host.Call(call, "", addr, "leave", leaveCall{Shard: id}, nil)
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("leaving shard %d through %s: %w", id, addr, err))
	}
	return errors.Join(errs...)
}

// release takes a node that asks for it out of a shard's group, or asks a member
// that hosts the shard to do it.
func (n *Node) release(ctx context.Context, from string, q leaveCall) error {
	if n.front == nil {
		return errors.New("the node is starting")
	}
	id := from
	if q.Passed != "" {
		id = q.Passed
	}
	n.log.Info("a node leaves to be rebuilt", "id", id, "shard", q.Shard)
	if err := n.audit.add(auditRecord{User: "node " + id, Function: "leave", Args: []string{id, strconv.Itoa(int(q.Shard))}}); err != nil {
		return err
	}
	if q.Shard == homeShard {
		_, err := n.group.RemoveMember(ctx, id)
		return err
	}
	if h := n.hostedShard(q.Shard); h != nil {
		_, err := h.group.RemoveMember(ctx, id)
		return err
	}
	s := n.shards().Shard(q.Shard)
	if s == nil || !slices.Contains(s.Nodes, id) {
		return nil // dropped, or never finished
	}
	errs := []error{fmt.Errorf("no other member hosts shard %d", q.Shard)}
	for _, m := range n.group.Metrics().Members {
		if q.Passed != "" || m.ID == id || m.ID == n.cfg.NodeID || !slices.Contains(s.Nodes, m.ID) {
			continue
		}
		err := n.host.Call(ctx, m.ID, m.Addr, "leave", leaveCall{Shard: q.Shard, Passed: id}, nil)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("node %s: %w", m.ID, err))
	}
	return errors.Join(errs...)
}

// damaged notes that a file of the state could not be read: this node should not lead.
func (n *Node) damaged(string, error) { n.disk.damaged.Store(true) }
