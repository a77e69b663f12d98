package node

import (
	"ostraka/engine/catalog"
	"ostraka/exec/ddl"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// OIDs of create_hypertable's forms, in the range of time series.
const firstHypertableProc sqltypes.OID = 9700

// create_hypertable(relation, time_column [, chunk_time_interval] [, if_not_exists])
// returns text: what was made. by_range(column) names the column in TimescaleDB's
// newer form of the call.
func init() {
	forms := [][]sqltypes.OID{
		{sqltypes.OIDRegclass, sqltypes.OIDText},
		{sqltypes.OIDRegclass, sqltypes.OIDText, sqltypes.OIDInterval},
		{sqltypes.OIDRegclass, sqltypes.OIDText, sqltypes.OIDInterval, sqltypes.OIDBool},
	}
	names := []string{"relation", "time_column_name", "chunk_time_interval", "if_not_exists"}
	for i, args := range forms {
		sqltypes.RegisterProc(&sqltypes.Proc{OID: firstHypertableProc + sqltypes.OID(i), Name: "create_hypertable", Namespace: catalog.SchemaPgCatalog, Kind: 'f',
			Strict: true, Volatility: sqltypes.Volatile, ArgTypes: args, ArgNames: names[:len(args)], RetType: sqltypes.OIDText,
			Src: "ostraka_create_hypertable", Cost: 1, Parallel: 'u', Writes: true, Fn: createHypertable})
	}
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
	window := ""
	if len(a) > 2 {
		window = string(sqltypes.TypeByOID(sqltypes.OIDInterval).Out(&sqltypes.Env{Formats: sqltypes.DefaultFormats()}, nil, a[2]))
	}
	oid := sqltypes.OID(a[0].I)
	if err := ddl.MakeHypertable(c.Env.Ctx, ddlSession{s: s}, oid, a[1].S, window, len(a) > 3 && a[3].I != 0); err != nil {
		return sqltypes.Null, err
	}
	return sqltypes.Text(s.Txn().Catalog().Relation(oid).Name), nil
}
