package node

import (
	"context"
	"errors"
	"time"

	"ostraka/engine/catalog"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes/pgerror"
)

// The pace of the balancer unless it is told another.
const (
	balanceChunks = 8
	balancePause  = 10 * time.Second
)

// setBalancer switches the automatic balancer.
func (n *Node) setBalancer(ctx context.Context, on bool, chunks int64, pause float64) (any, error) {
	if chunks < 1 || chunks > 1<<16 {
		return nil, pgerror.New(pgerror.InvalidParameterValue, "\"chunks_at_once\" must be between 1 and %d", 1<<16)
	}
	if !(pause >= 0 && pause <= 86400) {
		return nil, pgerror.New(pgerror.InvalidParameterValue, "\"pause_seconds\" must be between 0 and 86400")
	}
	_, err := n.changeShards(ctx, func(list *catalog.Shards) error {
		if list.Balancer = nil; on {
			list.Balancer = &catalog.Balancer{Chunks: int(chunks), PauseMS: int64(pause * 1000)}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	n.kickManager()
	return map[string]any{"enabled": on}, nil
}

var errBalanced = errors.New("nothing to move")

// balance begins the balancer's next move: a few chunks from one shard to another, when
// nothing else is being moved and the last move has been over for a while. n.moved is
// when moves were seen last; only runManager's goroutine uses it.
func (n *Node) balance(ctx context.Context) {
	list := n.shards()
	if len(list.Moves) > 0 || n.moved.IsZero() {
		n.moved = time.Now() // a new leader waits, too
	}
	b := list.Balancer
	if b == nil || len(list.Moves) > 0 || time.Since(n.moved) < time.Duration(b.PauseMS)*time.Millisecond {
		return
	}
	if len(chunk.Rebalance(list.Map, targets(list))) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := n.changeShards(ctx, func(list *catalog.Shards) error {
		shifts := chunk.Rebalance(list.Map, targets(list))
		if list.Balancer == nil || len(list.Moves) > 0 || len(shifts) == 0 {
			return errBalanced
		}
		next := shifts[0]
		next.Chunks = next.Chunks[:min(len(next.Chunks), list.Balancer.Chunks)]
		_, _, err := addMoves(list, []chunk.Shift{next})
		return err
	})
	switch {
	case err == nil:
		n.kickManager()
	case !errors.Is(err, errBalanced) && ctx.Err() == nil:
		n.log.Warn("the balancer could not begin a move", "error", err)
	}
}
