package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// rebuild makes a member with a damaged state or log a new one of the same id: it
// leaves the group, so that nobody counts on what it had, forgets its log but not
// its term and vote, and sets its state aside in damaged-…. What follows in Start is
// the way of a node that joins. Every step can be repeated. If its term and vote
// cannot be read either, the node cannot come back under its id: remove it and add
// one with another.
func (n *Node) rebuild(ctx context.Context) error {
	if n.ident.ID() == "" {
		return errors.New("the data directory belongs to no cluster: start the node without --rebuild")
	}
	others, err := filepath.Glob(n.dir.path("shard-*"))
	if err != nil {
		return err
	}
	for _, d := range others {
		if filepath.Base(d) != shardDir(homeShard) {
			return fmt.Errorf("this node also hosts %s; rebuilding replicas of other shards is not supported: remove the node and add one with another id", filepath.Base(d))
		}
	}
	if err := n.leave(ctx); err != nil {
		return err
	}
	if err := n.host.ForgetLog(homeShard); err != nil {
		return err
	}
	aside := n.dir.path("damaged-" + time.Now().UTC().Format("20060102T150405.000"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return err
	}
	err = os.Rename(n.dir.path(shardDir(homeShard)), filepath.Join(aside, shardDir(homeShard)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n.log.Warn("the state was set aside and is taken anew from the other members", "kept_in", aside)
	return errors.Join(syncDir(aside), syncDir(n.dir.root))
}

// leave asks the configured members, in turn, to take this node out of the home shard's group.
func (n *Node) leave(ctx context.Context) error {
	var errs []error
	for _, addr := range n.cfg.Join {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		err := n.host.Call(call, "", addr, "leave", struct{}{}, nil)
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("leaving the cluster through %s: %w", addr, err))
	}
	return errors.Join(errs...)
}

// release takes a node that asks for it out of the home shard's group.
func (n *Node) release(ctx context.Context, id string) error {
	if n.front == nil {
		return errors.New("the node is starting")
	}
	n.log.Info("a node leaves to be rebuilt", "id", id)
	if err := n.audit.add(auditRecord{User: "node " + id, Function: "leave", Args: []string{id}}); err != nil {
		return err
	}
	_, err := n.group.RemoveMember(ctx, id)
	return err
}

// damaged notes that a file of the state could not be read: this node should not lead.
func (n *Node) damaged(string, error) { n.disk.damaged.Store(true) }
