package node

import (
	"context"
	"strings"
	"time"

	"ostraka/docstore"
	"ostraka/engine/catalog"
	"ostraka/exec/syscat"
	"ostraka/shardrouter"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes"
)

// registerShards declares the views of sharding.
func (n *Node) registerShards(s *syscat.Set) {
	view := func(oid sqltypes.OID, name string, cols []*catalog.Column, rows syscat.Rows) {
		s.Add(&catalog.Relation{OID: oid, Name: name, Schema: catalog.SchemaOstraka, Kind: catalog.KindVirtual, Persistence: 'p',
			Owner: catalog.BootstrapRole, Columns: cols}, "ostraka", true, rows)
	}
	view(13995, "shards", columns("shard_id", sqltypes.OIDInt4, "name", sqltypes.OIDText, "kind", sqltypes.OIDText, "state", sqltypes.OIDText,
		"nodes", sqltypes.OIDTextArray, "leader", sqltypes.OIDText, "chunks", sqltypes.OIDInt4, "dsn", sqltypes.OIDText),
		func(q *syscat.Query, emit syscat.Emit) error {
			list := n.shards()
			home := n.group.Metrics()
			var all []string
			for _, m := range home.Members {
				all = append(all, m.ID)
			}
			emit(sqltypes.Int(0), sqltypes.Text(catalog.HomeShard), sqltypes.Text("home"), sqltypes.Text(string(catalog.ShardActive)),
				sqltypes.TextArray(all), textOrNull(home.Leader), sqltypes.Int(int64(list.Owned(0).Len())), sqltypes.Null)
			for _, x := range list.Shards {
				kind, nodes, leader := "group", sqltypes.TextArray(x.Nodes), n.shardLeader(q.Ctx, &x)
				if x.DSN != "" {
					kind, nodes, leader = "attached", sqltypes.Null, ""
				}
				emit(sqltypes.Int(int64(x.ID)), sqltypes.Text(x.Name), sqltypes.Text(kind), sqltypes.Text(string(x.State)), nodes, textOrNull(leader),
					sqltypes.Int(int64(list.Owned(x.ID).Len())), textOrNull(withoutPassword(x.DSN)))
			}
			return nil
		})
	view(13994, "chunk_map", columns("chunk", sqltypes.OIDInt4, "shard_id", sqltypes.OIDInt4, "shard", sqltypes.OIDText, "version", sqltypes.OIDInt8),
		func(_ *syscat.Query, emit syscat.Emit) error {
			list := n.shards()
			for c, id := range list.Map {
				emit(sqltypes.Int(int64(c)), sqltypes.Int(int64(id)), sqltypes.Text(list.Name(id)), sqltypes.Int(int64(list.Version)))
			}
			return nil
		})
	view(13992, "collections", columns("name", sqltypes.OIDText, "shard_key", sqltypes.OIDText, "shards", sqltypes.OIDTextArray, "indexes", sqltypes.OIDInt4),
		func(q *syscat.Query, emit syscat.Emit) error {
			all, err := docstore.Collections(q.Cat)
			if err != nil {
				return err
			}
			list := n.shards()
			for _, c := range all {
				if shardrouter.Reserved(c.Name()) {
					continue
				}
				key, sharded := c.Option("shard_key")
				names := []string{catalog.HomeShard}
				if sharded {
					names = nil
					for _, id := range list.Owners() {
						names = append(names, list.Name(id))
					}
				}
				emit(sqltypes.Text(c.Name()), textOrNull(key), sqltypes.TextArray(names), sqltypes.Int(int64(len(c.Indexes)+1)))
			}
			return nil
		})
	view(13993, "chunk_moves", columns("move_id", sqltypes.OIDInt4, "chunks", sqltypes.OIDInt4, "from_shard", sqltypes.OIDText, "to_shard", sqltypes.OIDText,
		"state", sqltypes.OIDText, "error", sqltypes.OIDText),
		func(_ *syscat.Query, emit syscat.Emit) error {
			list := n.shards()
			for _, m := range list.Moves {
				if err := n.mover.Failure(m.ID); err != nil && m.Error == "" {
					m.Error = err.Error() // the node that leads shard 0 knows
				}
				emit(sqltypes.Int(int64(m.ID)), sqltypes.Int(int64(m.Chunks.Len())), sqltypes.Text(list.Name(m.From)), sqltypes.Text(list.Name(m.To)),
					sqltypes.Text(string(m.State)), textOrNull(m.Error))
			}
			return nil
		})
	view(13991, "chunk_balancer", columns("enabled", sqltypes.OIDBool, "state", sqltypes.OIDText, "chunks_to_move", sqltypes.OIDInt4,
		"chunks_at_once", sqltypes.OIDInt4, "pause_seconds", sqltypes.OIDFloat8),
		func(_ *syscat.Query, emit syscat.Emit) error {
			list := n.shards()
			left := 0
			for _, s := range chunk.Rebalance(list.Map, targets(list)) {
				left += len(s.Chunks)
			}
			b := list.Balancer
			if b == nil {
				emit(sqltypes.Bool(false), sqltypes.Text("off"), sqltypes.Int(int64(left)), sqltypes.Null, sqltypes.Null)
				return nil
			}
			state := "balanced"
			switch {
			case len(list.Moves) > 0:
				state = "moving"
			case left > 0:
				state = "waiting"
			}
			emit(sqltypes.Bool(true), sqltypes.Text(state), sqltypes.Int(int64(left)), sqltypes.Int(int64(b.Chunks)), sqltypes.Float(float64(b.PauseMS)/1000))
			return nil
		})
}

// shardLeader is the node that leads a shard, "" when nobody tells.
func (n *Node) shardLeader(ctx context.Context, s *catalog.Shard) string {
	if h := n.hostedShard(s.ID); h != nil {
		if l := h.group.Leadership().LeaderID; l != "" {
			return l
		}
	}
	if ctx == nil {
		ctx = n.ctx
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, id := range s.Nodes {
		if info, err := n.askShard(ctx, id, s.ID); err == nil && info.Leader != "" {
			return info.Leader
		}
	}
	return ""
}

// withoutPassword hides the password of a connection string.
func withoutPassword(dsn string) string {
	scheme, rest, ok := strings.Cut(dsn, "://")
	if ok {
		if user, host, ok := strings.Cut(rest, "@"); ok {
			name, _, _ := strings.Cut(user, ":")
			return scheme + "://" + name + "@" + host
		}
		return dsn
	}
	var out []string
	for _, f := range strings.Fields(dsn) {
		if !strings.HasPrefix(strings.ToLower(f), "password") {
			out = append(out, f)
		}
	}
	return strings.Join(out, " ")
}
