package node

import (
	"ostraka/engine/catalog"
	"ostraka/exec/ddl"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// OIDs of create_hypertable and by_range, in the range of time series.
const firstHypertableProc sqltypes.OID = 9700

// create_hypertable(relation, time_column [, chunk_time_interval] [, if_not_exists] [,
// create_default_indexes]) returns text: what was made. The last changes nothing.
// by_range(column) names the column in TimescaleDB's newer form of the call.
func init() {
	sqltypes.RegisterProc(&sqltypes.Proc{OID: firstHypertableProc, Name: "create_hypertable", Namespace: catalog.SchemaPgCatalog, Kind: 'f', Volatility: sqltypes.Volatile,
		ArgTypes:    []sqltypes.OID{sqltypes.OIDRegclass, sqltypes.OIDText, sqltypes.OIDInterval, sqltypes.OIDBool, sqltypes.OIDBool},
		ArgNames:    []string{"relation", "time_column_name", "chunk_time_interval", "if_not_exists", "create_default_indexes"},
		NumDefaults: 3, Defaults: []string{"NULL", "false", "true"}, RetType: sqltypes.OIDText, Src: "ostraka_create_hypertable", Cost: 1, Parallel: 'u', Writes: true, Fn: createHypertable})
	sqltypes.RegisterProc(&sqltypes.Proc{OID: firstHypertableProc + 10, Name: "by_range", Namespace: catalog.SchemaPgCatalog, Kind: 'f',
		Strict: true, Volatility: sqltypes.Immutable, ArgTypes: []sqltypes.OID{sqltypes.OIDText}, RetType: sqltypes.OIDText, Src: "ostraka_by_range", Cost: 1, Parallel: 's',
		Fn: func(_ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) { return a[0], nil }})
}

func createHypertable(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	s, _, err := nodeOf(c)
	if err != nil {
		return sqltypes.Null, err
	}
	if s.Txn() == nil {
		return sqltypes.Null, pgerror.New(pgerror.InternalError, "create_hypertable outside of a transaction")
	}
	if a[0].Null || a[1].Null {
		return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "relation and time column cannot be NULL")
	}
	window := ""
	if !a[2].Null {
		window = string(sqltypes.TypeByOID(sqltypes.OIDInterval).Out(&sqltypes.Env{Formats: sqltypes.DefaultFormats()}, nil, a[2]))
	}
	oid := sqltypes.OID(a[0].I)
	if err := ddl.MakeHypertable(c.Env.Ctx, ddlSession{s: s}, oid, a[1].S, window, a[3].True()); err != nil {
		return sqltypes.Null, err
	}
	return sqltypes.Text(s.Txn().Catalog().Relation(oid).Name), nil
}
