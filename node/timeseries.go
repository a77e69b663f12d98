package node

import (
	"context"
	"time"

	"ostraka/engine/catalog"
	"ostraka/exec/syscat"
	"ostraka/sqltypes"
	"ostraka/tsdb"
)

// seriesMaintenance is how often dropped tables and old windows are looked for.
const seriesMaintenance = 10 * time.Second

// runSeries keeps the time series of the node tidy.
func (n *Node) runSeries() {
	defer n.wg.Done()
	m := tsdb.NewMaintainer(n.series, n.cfg.now, func() bool { return n.Ready() == nil })
	m.Retained = func(rel *catalog.Relation, err error) {
		n.jobs.ran(jobKey{rel.OID, 'd'}, n.nowUsec(), seriesMaintenance.Microseconds(), err)
	}
	m.Run(n.ctx, seriesMaintenance)
}

// registerSeries adds ostraka.timeseries: which time-series tables have rows on
// this node, and how many.
func (n *Node) registerSeries(s *syscat.Set) {
	n.registerJobs(s)
	s.Add(&catalog.Relation{OID: 13950, Name: "timeseries", Schema: catalog.SchemaOstraka, Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole,
		Columns: columns("node_id", sqltypes.OIDText, "relation", sqltypes.OIDRegclass, "table_name", sqltypes.OIDText, "series", sqltypes.OIDInt8,
			"rows", sqltypes.OIDInt8, "rows_in_memory", sqltypes.OIDInt8, "windows", sqltypes.OIDInt8, "chunks", sqltypes.OIDInt8, "bytes", sqltypes.OIDInt8,
			"bytes_per_row", sqltypes.OIDFloat8, "log_bytes", sqltypes.OIDInt8)}, "ostraka", true,
		func(_ *syscat.Query, emit syscat.Emit) error {
			rels := n.series.Relations()
			_, log, _ := n.seriesStore.Usage()
			for _, t := range n.seriesStore.Tables() {
				rel := rels[t.ID]
				if rel == nil {
					continue
				}
				st, err := n.seriesStore.TableStats(context.Background(), t)
				if err != nil {
					return err
				}
				per := sqltypes.Null
				if k := st.Rows - st.MemoryRows; k > 0 {
					per = sqltypes.Float(float64(st.Bytes) / float64(k))
				}
				emit(sqltypes.Text(n.cfg.NodeID), oid(rel.OID), sqltypes.Text(rel.Name), sqltypes.Int(int64(st.Series)), sqltypes.Int(st.Rows),
					sqltypes.Int(st.MemoryRows), sqltypes.Int(int64(st.Windows)), sqltypes.Int(st.Chunks), sqltypes.Int(st.Bytes), per, sqltypes.Int(log))
			}
			return nil
		})
}
