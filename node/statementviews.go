package node

import (
	"ostraka/engine/catalog"
	"ostraka/exec/syscat"
	"ostraka/pgfront/session"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// hiddenText stands for what a role may not read of others' statements.
const hiddenText = "<insufficient privilege>"

// readsAllStats reports whether the reader of a view sees the statements of all
// roles: a superuser or a member of pg_read_all_stats. role is the reader.
func readsAllStats(q *syscat.Query) (role sqltypes.OID, all bool) {
	s := sessionIn(q)
	if s == nil {
		return 0, true
	}
	r := q.Cat.RoleByName(s.CurrentUser())
	if r == nil {
		return 0, false
	}
	return r.OID, r.Super || q.Cat.Member(r.OID, catalog.PgReadAllStats)
}

// registerStatements declares pg_stat_statements as version 1.10 of the extension
// has it. It is always there and needs no CREATE EXTENSION. Blocks, WAL and JIT
// have no counterpart here: those columns are 0.
func registerStatements(s *syscat.Set, reg *session.Registry) {
	const (
		i8 = sqltypes.OIDInt8
		f8 = sqltypes.OIDFloat8
	)
	cols := []any{"userid", sqltypes.OIDOid, "dbid", sqltypes.OIDOid, "toplevel", sqltypes.OIDBool, "queryid", i8, "query", sqltypes.OIDText,
		"plans", i8, "total_plan_time", f8, "min_plan_time", f8, "max_plan_time", f8, "mean_plan_time", f8, "stddev_plan_time", f8,
		"calls", i8, "total_exec_time", f8, "min_exec_time", f8, "max_exec_time", f8, "mean_exec_time", f8, "stddev_exec_time", f8, "rows", i8}
	zeros := []sqltypes.Datum{}
	for _, name := range []string{"shared_blks_hit", "shared_blks_read", "shared_blks_dirtied", "shared_blks_written", "local_blks_hit", "local_blks_read",
		"local_blks_dirtied", "local_blks_written", "temp_blks_read", "temp_blks_written"} {
		cols, zeros = append(cols, name, i8), append(zeros, sqltypes.Int(0))
	}
	for _, name := range []string{"blk_read_time", "blk_write_time", "temp_blk_read_time", "temp_blk_write_time"} {
		cols, zeros = append(cols, name, f8), append(zeros, sqltypes.Float(0))
	}
	cols, zeros = append(cols, "wal_records", i8, "wal_fpi", i8, "wal_bytes", sqltypes.OIDNumeric), append(zeros, sqltypes.Int(0), sqltypes.Int(0), zeroNumeric())
	for _, name := range []string{"jit_functions", "jit_inlining_count", "jit_optimization_count", "jit_emission_count"} {
		time := map[string]string{"jit_functions": "jit_generation_time", "jit_inlining_count": "jit_inlining_time",
			"jit_optimization_count": "jit_optimization_time", "jit_emission_count": "jit_emission_time"}[name]
		cols, zeros = append(cols, name, i8, time, f8), append(zeros, sqltypes.Int(0), sqltypes.Float(0))
	}
	rel := func(oid sqltypes.OID, name string, cols ...any) *catalog.Relation {
		return &catalog.Relation{OID: oid, Name: name, Schema: catalog.SchemaPgCatalog, Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole,
			Columns: columns(cols...), ACL: []catalog.ACLItem{{Grantee: 0, Grantor: catalog.BootstrapRole, Privs: "r"}}}
	}
	s.Add(rel(13980, "pg_stat_statements", cols...), "pg_catalog", true, func(q *syscat.Query, emit syscat.Emit) error {
		role, all := readsAllStats(q)
		for _, e := range reg.Statements.All() {
			c := e.Read()
			if c.Calls == 0 {
				continue // it runs for the first time
			}
			id, text := sqltypes.Int(e.ID), sqltypes.Text(e.Query)
			if !all && e.User != role {
				id, text = sqltypes.Null, sqltypes.Text(hiddenText)
			}
			z := sqltypes.Float(0)
			emit(append([]sqltypes.Datum{oid(e.User), oid(e.Database), sqltypes.Bool(true), id, text, sqltypes.Int(0), z, z, z, z, z,
				sqltypes.Int(c.Calls), sqltypes.Float(c.Total), sqltypes.Float(c.Min), sqltypes.Float(c.Max), sqltypes.Float(c.Mean), sqltypes.Float(c.StdDev()),
				sqltypes.Int(c.Rows)}, zeros...)...)
		}
		return nil
	})
	s.Add(rel(13979, "pg_stat_statements_info", "dealloc", i8, "stats_reset", sqltypes.OIDTimestamptz), "pg_catalog", true,
		func(_ *syscat.Query, emit syscat.Emit) error {
			dealloc, at := reg.Statements.Info()
			emit(sqltypes.Int(dealloc), timestamp(at))
			return nil
		})
}

func zeroNumeric() sqltypes.Datum {
	d, err := sqltypes.TypeByOID(sqltypes.OIDNumeric).In(&sqltypes.Env{Formats: sqltypes.DefaultFormats()}, "0", -1)
	if err != nil {
		panic(err) // a constant
	}
	return d
}

// resetStatements forgets the counters of this node: all, or those of a user, database and statement.
func resetStatements(s *session.Session, a []sqltypes.Datum) (sqltypes.Datum, error) {
	if !s.Superuser() {
		return sqltypes.Null, pgerror.New(pgerror.InsufficientPrivilege, "permission denied for function pg_stat_statements_reset")
	}
	var user, db sqltypes.OID
	id := int64(0)
	if len(a) == 3 {
		user, db, id = sqltypes.OID(uint32(a[0].I)), sqltypes.OID(uint32(a[1].I)), a[2].I
	}
	s.Statements().Reset(user, db, id)
	return sqltypes.Text(""), nil
}
