package tsdb

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// registerRollupConds adds the conditions that stand in the expanded query of a
// continuous aggregate. Scans take them out of their filter and the store answers
// them; elsewhere they mean nothing.
func registerRollupConds() {
	next := firstRollupProc
	for _, f := range []struct {
		name string
		kind byte
	}{{"ostraka_bucket_stored", 's'}, {"ostraka_bucket_raw", 'r'}, {"ostraka_time_between", 'b'}} {
		for _, typ := range []sqltypes.OID{oidTimestamptz, oidTimestamp, oidInt8} {
			sqltypes.RegisterProc(&sqltypes.Proc{OID: next, Name: f.name, Namespace: catalog.SchemaPgCatalog, Kind: 'f', Strict: true, Volatility: sqltypes.Stable,
				ArgTypes: []sqltypes.OID{oidInt8, oidInt8, typ}, RetType: sqltypes.OIDBool, Src: f.name, Cost: 0, Parallel: 'u', Node: true, Rollup: f.kind,
				Fn: func(c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
					return sqltypes.Null, pgerror.NotSupported("function %s outside of a continuous aggregate", c.Proc.Name)
				}})
			next++
		}
	}
}
