package node

import (
	"context"
	"strconv"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// firstShardProc begins the OIDs of the functions of sharding.
const firstShardProc sqltypes.OID = 9400

// shardFunctions are registered in this order; new ones are appended, so that
// OIDs are stable. They run on the leader of shard 0, in transactions of their own.
var shardFunctions = []function{
	{"shard_create", []sqltypes.OID{sqltypes.OIDText, sqltypes.OIDTextArray}, []string{"name", "nodes"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null {
				return nil, nullArgument("name")
			}
			nodes, err := textList(a[1], "nodes")
			if err != nil {
				return nil, err
			}
			return n.createShard(ctx, a[0].S, nodes)
		}},
	{"shard_create", []sqltypes.OID{sqltypes.OIDText, sqltypes.OIDInt8Array}, []string{"name", "nodes"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null {
				return nil, nullArgument("name")
			}
			nodes, err := textList(a[1], "nodes")
			if err != nil {
				return nil, err
			}
			return n.createShard(ctx, a[0].S, nodes)
		}},
	{"shard_create", []sqltypes.OID{sqltypes.OIDText}, []string{"name"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null {
				return nil, nullArgument("name")
			}
			return n.createShard(ctx, a[0].S, nil)
		}},
	{"shard_drop", []sqltypes.OID{sqltypes.OIDText}, []string{"name"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null {
				return nil, nullArgument("name")
			}
			return n.removeShard(ctx, a[0].S)
		}},
	{"shard_attach", []sqltypes.OID{sqltypes.OIDText, sqltypes.OIDText}, []string{"name", "dsn"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null || a[1].Null {
				return nil, nullArgument("name or dsn")
			}
			return n.attachShard(ctx, a[0].S, a[1].S)
		}},
	{"chunk_move", []sqltypes.OID{sqltypes.OIDInt4, sqltypes.OIDText}, []string{"chunk", "to_shard"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null || a[1].Null {
				return nil, nullArgument("chunk or to_shard")
			}
			return n.moveChunks(ctx, []int{int(a[0].I)}, a[1].S)
		}},
	{"chunk_move", []sqltypes.OID{sqltypes.OIDInt4Array, sqltypes.OIDText}, []string{"chunks", "to_shard"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null || a[1].Null {
				return nil, nullArgument("chunks or to_shard")
			}
			var chunks []int
			for _, e := range sqltypes.OpenArray(a[0]).Elements() {
				if e.Null {
					return nil, nullArgument("chunks")
				}
				chunks = append(chunks, int(e.I))
			}
			return n.moveChunks(ctx, chunks, a[1].S)
		}},
	{"chunk_rebalance", nil, nil, true, true, 0, nil,
		func(ctx context.Context, n *Node, _ []sqltypes.Datum) (any, error) { return n.rebalance(ctx) }},
	{"chunk_move_cancel", []sqltypes.OID{sqltypes.OIDInt4}, []string{"move_id"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null {
				return nil, nullArgument("move_id")
			}
			return n.cancelMove(ctx, int32(a[0].I))
		}},
	{"chunk_balancer", []sqltypes.OID{sqltypes.OIDBool}, []string{"enabled"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null {
				return nil, nullArgument("enabled")
			}
			return n.setBalancer(ctx, a[0].Bool(), balanceChunks, balancePause.Seconds())
		}},
	{"chunk_balancer", []sqltypes.OID{sqltypes.OIDBool, sqltypes.OIDInt4, sqltypes.OIDFloat8}, []string{"enabled", "chunks_at_once", "pause_seconds"}, true, true, 0, nil,
		func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if a[0].Null || a[1].Null || a[2].Null {
				return nil, nullArgument("enabled, chunks_at_once or pause_seconds")
			}
			return n.setBalancer(ctx, a[0].Bool(), a[1].I, a[2].Float())
		}},
}

func nullArgument(name string) error {
	return pgerror.New(pgerror.NullValueNotAllowed, "argument %q must not be null", name)
}

// textList reads an array of names or numbers; nil for NULL.
func textList(d sqltypes.Datum, what string) ([]string, error) {
	if d.Null {
		return nil, nil
	}
	out := []string{}
	arr := sqltypes.OpenArray(d)
	for _, e := range arr.Elements() {
		switch {
		case e.Null:
			return nil, nullArgument(what)
		case arr.Elem == sqltypes.OIDInt8:
			out = append(out, strconv.FormatInt(e.I, 10))
		default:
			out = append(out, e.S)
		}
	}
	return out, nil
}

func init() {
	for i, f := range shardFunctions {
		p := &sqltypes.Proc{OID: firstShardProc + sqltypes.OID(i), Name: f.name, Namespace: catalog.SchemaPgCatalog, Kind: 'f',
			Volatility: sqltypes.Volatile, ArgTypes: f.args, ArgNames: f.names, RetType: sqltypes.OIDJsonb,
			Src: "ostraka_" + f.name, Cost: 1, Writes: true}
		p.Fn = func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
			s, _, err := nodeOf(c)
			if err != nil {
				return sqltypes.Null, err
			}
			if s.InBlock() {
				return sqltypes.Null, pgerror.New(pgerror.ActiveSqlTransaction, "%s() cannot run inside a transaction block", f.name)
			}
			return f.run(c, args)
		}
		sqltypes.RegisterProc(p)
	}
}
