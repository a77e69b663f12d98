package node

import (
	"cmp"
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// firstSizeProc is the OID of hypertable_size; 9770 to 9779 are this file's.
const firstSizeProc sqltypes.OID = 9770

// TimescaleDB's calls about the size of a time-series table or the stored buckets of
// a continuous aggregate: hypertable_size(relation) in bytes and
// approximate_row_count(relation) are about this node, hypertable_detailed_size(relation)
// has a row for each node that can be asked.
func init() {
	add := func(at sqltypes.OID, name string, arg string, fn sqltypes.ScalarFunc, set sqltypes.SetFunc) {
		p := &sqltypes.Proc{OID: firstSizeProc + at, Name: name, Namespace: catalog.SchemaPgCatalog, Kind: 'f', Strict: true, Volatility: sqltypes.Volatile,
			ArgTypes: []sqltypes.OID{sqltypes.OIDRegclass}, ArgNames: []string{arg}, RetType: sqltypes.OIDInt8, Src: "ostraka_" + name, Cost: 100, Parallel: 'u', Node: true, Fn: fn}
		if set != nil {
			p.RetSet, p.Rows, p.RetType, p.Set = true, 3, sqltypes.OIDRecord, set
			p.AllArgTypes = []sqltypes.OID{sqltypes.OIDRegclass, sqltypes.OIDInt8, sqltypes.OIDInt8, sqltypes.OIDInt8, sqltypes.OIDInt8, sqltypes.OIDText}
			p.ArgModes = []byte("ittttt")
			p.ArgNames = []string{arg, "table_bytes", "index_bytes", "toast_bytes", "total_bytes", "node_name"}
		}
		sqltypes.RegisterProc(p)
	}
	add(0, "hypertable_size", "hypertable", func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		n, rel, err := sizedSeries(c, a)
		if err != nil {
			return sqltypes.Null, err
		}
		st, err := n.ownStats(c, rel)
		return sqltypes.Int(st.Bytes), err
	}, nil)
	add(1, "approximate_row_count", "relation", func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		n, rel, err := sizedSeries(c, a)
		if err != nil {
			return sqltypes.Null, err
		}
		st, err := n.ownStats(c, rel)
		return sqltypes.Int(st.ChunkRows + st.MemoryRows), err
	}, nil)
	add(2, "hypertable_detailed_size", "hypertable", nil, detailedSizes)
}

// sizedSeries is the time-series table that a call is about.
func sizedSeries(c *sqltypes.Call, a []sqltypes.Datum) (*Node, *catalog.Relation, error) {
	s, n, err := nodeOf(c)
	if err != nil {
		return nil, nil, err
	}
	cat := s.PlanContext().Catalog
	rel := cat.Relation(sqltypes.OID(a[0].I))
	if rel != nil && rel.Rollup != nil {
		rel = cat.Relation(rel.Rollup.Store)
	}
	if rel.TimeSeriesSpec() == nil {
		return nil, nil, pgerror.New(pgerror.WrongObjectType, "relation with OID %d is not a time-series table or continuous aggregate", a[0].I)
	}
	return n, rel, nil
}

// ownStats are what this node has of a table.
func (n *Node) ownStats(c *sqltypes.Call, rel *catalog.Relation) (out seriesStat, err error) {
	_, table, err := n.series.Relation(rel)
	if err != nil || table == nil {
		return out, err
	}
	out.TableStats, err = n.seriesStore.HeaderStats(c.Env.Ctx, table)
	return out, err
}

func detailedSizes(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
	n, rel, err := sizedSeries(c, a)
	if err != nil {
		return nil, err
	}
	mine, err := n.ownStats(c, rel)
	if err != nil {
		return nil, err
	}
	mine.Table = rel.StorageID
	answers := append(n.askStats(), seriesAnswer{node: n.cfg.NodeID, tables: []seriesStat{mine}})
	slices.SortFunc(answers, func(a, b seriesAnswer) int { return cmp.Compare(a.node, b.node) })
	out := &sizeRows{}
	for _, ans := range answers {
		if ans.err != nil {
			return nil, pgerror.Wrap(ans.err, pgerror.ConnectionFailure, "time series of node %s could not be read", ans.node)
		}
		size := int64(0)
		for _, t := range ans.tables {
			if t.Table == rel.StorageID {
				size = t.Bytes
			}
		}
		out.rows = append(out.rows, [5]sqltypes.Datum{sqltypes.Int(size), sqltypes.Int(0), sqltypes.Int(0), sqltypes.Int(size), sqltypes.Text(ans.node)})
	}
	return out, nil
}

// sizeRows are the rows of hypertable_detailed_size.
type sizeRows struct{ rows [][5]sqltypes.Datum }

// Next implements sqltypes.RowSource.
func (r *sizeRows) Next() ([]sqltypes.Datum, bool, error) {
	if len(r.rows) == 0 {
		return nil, false, nil
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row[:], true, nil
}
