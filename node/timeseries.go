package node

import (
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
// which node, and how many. A node that cannot be asked is there with an error.
func (n *Node) registerSeries(s *syscat.Set) {
	n.registerJobs(s)
	s.Add(&catalog.Relation{OID: 13950, Name: "timeseries", Schema: catalog.SchemaOstraka, Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole,
		Columns: columns("node_id", sqltypes.OIDText, "relation", sqltypes.OIDRegclass, "table_name", sqltypes.OIDText, "series", sqltypes.OIDInt8,
			"rows", sqltypes.OIDInt8, "rows_in_memory", sqltypes.OIDInt8, "windows", sqltypes.OIDInt8, "chunks", sqltypes.OIDInt8, "bytes", sqltypes.OIDInt8,
			"bytes_per_row", sqltypes.OIDFloat8, "log_bytes", sqltypes.OIDInt8, "error", sqltypes.OIDText)}, "ostraka", true,
		func(_ *syscat.Query, emit syscat.Emit) error {
			mine, err := n.seriesStats(n.ctx)
			if err != nil {
				return err
			}
			rels := n.series.Relations()
			for _, a := range append([]seriesAnswer{{node: n.cfg.NodeID, tables: mine}}, n.askStats()...) {
				a.emit(rels, emit)
			}
			return nil
		})
}
