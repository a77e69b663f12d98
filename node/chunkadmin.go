package node

import (
	"context"
	"slices"
	"time"

	"ostraka/engine/catalog"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes/pgerror"
)

// moveChunks moves chunks to a shard and waits until that is done.
func (n *Node) moveChunks(ctx context.Context, chunks []int, to string) (any, error) {
	var ids []int32
	moved := 0
	_, err := n.changeShards(ctx, func(list *catalog.Shards) error {
		id, ok := list.ByName(to)
		if !ok {
			return pgerror.New(pgerror.UndefinedObject, "shard %q does not exist", to)
		}
		from := map[int32][]int{}
		for _, c := range chunks {
			if c < 0 || c >= len(list.Map) {
				return pgerror.New(pgerror.InvalidParameterValue, "chunk %d does not exist: chunks are 0 to %d", c, len(list.Map)-1)
			}
			if s := list.Map[c]; s != id && !slices.Contains(from[s], c) {
				from[s] = append(from[s], c)
			}
		}
		var shifts []chunk.Shift
		for s, c := range from {
			shifts = append(shifts, chunk.Shift{From: s, To: id, Chunks: c})
		}
		var err error
		ids, moved, err = addMoves(list, shifts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"moved": moved}, n.awaitMoves(ctx, ids)
}

// rebalance spreads the chunks evenly over the shards other than shard 0 (which
// keeps them only while it is alone) and waits until that is done.
func (n *Node) rebalance(ctx context.Context) (any, error) {
	var ids []int32
	moved := 0
	_, err := n.changeShards(ctx, func(list *catalog.Shards) error {
		var err error
		ids, moved, err = addMoves(list, chunk.Rebalance(list.Map, targets(list)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"moved": moved}, n.awaitMoves(ctx, ids)
}

// targets are the shards that an even map has chunks on.
func targets(list *catalog.Shards) []int32 {
	var out []int32
	for _, s := range list.Shards {
		if s.State == catalog.ShardActive {
			out = append(out, s.ID)
		}
	}
	if len(out) == 0 {
		out = []int32{0}
	}
	return out
}

// addMoves records moves; chunks that are being moved already are refused.
func addMoves(list *catalog.Shards, shifts []chunk.Shift) (ids []int32, moved int, err error) {
	for _, s := range shifts {
		if s.To != 0 && list.Shard(s.To).State != catalog.ShardActive {
			return nil, 0, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "shard %q is not active yet", list.Name(s.To))
		}
		set := catalog.NewChunkSet(len(list.Map))
		for _, c := range s.Chunks {
			set.Add(c)
		}
		for _, m := range list.Moves {
			if !m.Chunks.Intersect(set).Empty() {
				return nil, 0, pgerror.New(pgerror.ObjectInUse, "some of the chunks are being moved to shard %q", list.Name(m.To))
			}
		}
		list.Moves = append(list.Moves, catalog.Move{ID: list.Next, Chunks: set, From: s.From, To: s.To, State: catalog.MoveCopying})
		ids = append(ids, list.Next)
		list.Next++
		moved += len(s.Chunks)
	}
	return ids, moved, nil
}

// awaitMoves waits until moves are finished; they go on when the caller does not
// wait any longer.
func (n *Node) awaitMoves(ctx context.Context, ids []int32) error {
	n.kickManager()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		list := n.shards()
		left := int32(0)
		for _, id := range ids {
			if list.Move(id) != nil {
				left = id
				break
			}
		}
		if left == 0 {
			for _, id := range ids {
				if err := n.mover.Refusal(id); err != nil {
					return err
				}
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !n.group.Leadership().IsLeader {
			return pgerror.New(pgerror.TRSerializationFailure, "the leadership of shard 0 has changed while chunks are being moved").
				WithHint("The new leader goes on with the move; see ostraka.chunk_moves.")
		}
	}
}

// cancelMove gives a chunk move up and waits until its traces are gone.
func (n *Node) cancelMove(ctx context.Context, id int32) (any, error) {
	if err := n.mover.Cancel(ctx, id); err != nil {
		return nil, err
	}
	if err := n.awaitMoves(ctx, []int32{id}); err != nil && pgerror.CodeOf(err) != pgerror.QueryCanceled {
		return nil, err
	}
	return map[string]any{"cancelled": id}, ctx.Err()
}

// attachShard makes a server elsewhere a shard.
func (n *Node) attachShard(ctx context.Context, name, dsn string) (any, error) {
	if dsn == "" {
		return nil, pgerror.New(pgerror.InvalidParameterValue, "the connection string must not be empty")
	}
	cluster, err := n.strange(ctx, dsn)
	if err != nil {
		return nil, err
	}
	list, err := n.changeShards(ctx, func(list *catalog.Shards) error {
		if err := known(list, cluster, name); err != nil {
			return err
		}
		list.Mover++
		return nil
	})
	if err != nil {
		return nil, err
	}
	// A server on its own owns every chunk: it gives them up.
	if err := disown(ctx, dsn, list); err != nil {
		return nil, err
	}
	id, err := n.addShard(ctx, catalog.Shard{Name: name, DSN: dsn, Cluster: cluster, State: catalog.ShardActive})
	if err != nil {
		return nil, err
	}
	return map[string]any{"shard_id": id, "name": name}, nil
}
