package node

import (
	"context"
	"sync"

	"ostraka/engine/catalog"
	"ostraka/exec/syscat"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// seriesStat is what a node has of one table: the answer to the call "series_stats".
type seriesStat struct {
	Table uint64 // storage id
	store.TableStats
	LogBytes int64
}

// seriesStats counts what this node has.
func (n *Node) seriesStats(ctx context.Context) ([]seriesStat, error) {
	if n.seriesStore == nil {
		return nil, nil
	}
	_, log, _ := n.seriesStore.Usage()
	var out []seriesStat
	for _, t := range n.seriesStore.Tables() {
		st, err := n.seriesStore.TableStats(ctx, t)
		if err != nil {
			return nil, err
		}
		out = append(out, seriesStat{t.ID, st, log})
	}
	return out, nil
}

// seriesAnswer is what a node says that it has, or why it could not be asked.
type seriesAnswer struct {
	node   string
	tables []seriesStat
	err    error
}

// askStats asks all other nodes at once.
func (n *Node) askStats() []seriesAnswer {
	if n.group == nil {
		return nil
	}
	var out []seriesAnswer
	members := n.group.Metrics().Members
	for _, m := range members {
		if m.ID != n.cfg.NodeID {
			out = append(out, seriesAnswer{node: m.ID})
		}
	}
	ctx, cancel := context.WithTimeout(n.ctx, holdersInterval)
	defer cancel()
	var wg sync.WaitGroup
	for i := range out {
		a := &out[i]
		for _, m := range members {
			if m.ID == a.node {
				wg.Go(func() { a.err = n.host.Call(ctx, m.ID, m.Addr, "series_stats", struct{}{}, &a.tables) })
			}
		}
	}
	wg.Wait()
	for i := range out {
		if a := &out[i]; a.err != nil { // what it had, it most likely has
			a.tables = nil
			for _, id := range n.holders.tables(a.node) {
				a.tables = append(a.tables, seriesStat{Table: id})
			}
		}
	}
	return out
}

// emit writes a row for each table that is still there; a node without an answer has
// one row at least.
func (a seriesAnswer) emit(rels map[uint64]*catalog.Relation, emit syscat.Emit) {
	node := sqltypes.Text(a.node)
	null := sqltypes.Null
	if a.err != nil {
		why := sqltypes.Text(a.err.Error())
		some := false
		for _, t := range a.tables {
			if rel := rels[t.Table]; rel != nil {
				some = true
				emit(node, oid(rel.OID), sqltypes.Text(rel.Name), null, null, null, null, null, null, null, null, why)
			}
		}
		if !some {
			emit(node, null, null, null, null, null, null, null, null, null, null, why)
		}
		return
	}
	for _, t := range a.tables {
		rel := rels[t.Table]
		if rel == nil {
			continue
		}
		per := null
		if t.ChunkRows > 0 {
			per = sqltypes.Float(float64(t.Bytes) / float64(t.ChunkRows))
		}
		emit(node, oid(rel.OID), sqltypes.Text(rel.Name), sqltypes.Int(int64(t.Series)), sqltypes.Int(t.Rows), sqltypes.Int(t.MemoryRows),
			sqltypes.Int(int64(t.Windows)), sqltypes.Int(t.Chunks), sqltypes.Int(t.Bytes), per, sqltypes.Int(t.LogBytes), null)
	}
}
