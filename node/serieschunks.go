package node

import (
	"math"

	"ostraka/engine/catalog"
	"ostraka/pgfront/session"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb"
)

// OIDs of show_chunks and drop_chunks, in the range of time series.
const firstChunkProc sqltypes.OID = 9720

// Conversions that the bounds need, by their OIDs in pg_proc.
const (
	procLocalTime     = 2027 // timestamp(timestamptz)
	procMinusInterval = 1190 // timestamptz - interval
)

// show_chunks(relation [, older_than [, newer_than]]) and
// drop_chunks(relation, older_than [, newer_than]), TimescaleDB's calls, over this
// node's windows of a table. A bound is a time, or an interval before now, or a
// number for a table whose time is one; a window counts when all of it is on that
// side of the bound.
func init() {
	names := []string{"relation", "older_than", "newer_than"}
	next := firstChunkProc
	add := func(name string, drop bool, args ...sqltypes.OID) {
		sqltypes.RegisterProc(&sqltypes.Proc{OID: next, Name: name, Namespace: catalog.SchemaPgCatalog, Kind: 'f', Strict: true, RetSet: true,
			Volatility: sqltypes.Volatile, ArgTypes: args, ArgNames: names[:len(args)], RetType: sqltypes.OIDText, Src: "ostraka_" + name,
			Cost: 1, Rows: 100, Parallel: 'u', Writes: drop, Node: true,
			Set: func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
				return seriesChunks(c, a, drop)
			}})
		next++
	}
	add("show_chunks", false, sqltypes.OIDRegclass)
	for _, t := range []sqltypes.OID{sqltypes.OIDTimestamptz, sqltypes.OIDInterval, sqltypes.OIDInt8} {
		add("show_chunks", false, sqltypes.OIDRegclass, t)
		add("show_chunks", false, sqltypes.OIDRegclass, t, t)
		add("drop_chunks", true, sqltypes.OIDRegclass, t)
		add("drop_chunks", true, sqltypes.OIDRegclass, t, t)
	}
}

func seriesChunks(c *sqltypes.Call, a []sqltypes.Datum, drop bool) (sqltypes.RowSource, error) {
	s, n, err := nodeOf(c)
	if err != nil {
		return nil, err
	}
	rel := s.PlanContext().Catalog.Relation(sqltypes.OID(a[0].I))
	if rel.TimeSeriesSpec() == nil {
		return nil, pgerror.New(pgerror.WrongObjectType, "relation with OID %d is not a time-series table", a[0].I)
	}
	if drop {
		if err := mayDropChunks(s, rel); err != nil {
			return nil, err
		}
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	for i, bound := range []*int64{&hi, &lo} {
		if i+1 < len(a) {
			if *bound, err = chunkBound(c, rel, c.Proc.ArgTypes[i+1], a[i+1]); err != nil {
				return nil, err
			}
		}
	}
	_, table, err := n.series.Relation(rel)
	if err != nil || table == nil {
		return &spanRows{}, err
	}
	list := n.series.Windows
	if drop {
		list = n.series.DropWindows
	}
	spans, err := list(c.Env.Ctx, table, lo, hi)
	return &spanRows{env: c.Env, typ: sqltypes.TypeByOID(rel.Columns[rel.TS.Time-1].Type.OID), spans: spans}, err
}

// mayDropChunks refuses to drop what is another's, and where it could not be undone.
func mayDropChunks(s *session.Session, rel *catalog.Relation) error {
	switch {
	case !s.Superuser() && !s.MemberOf(rel.Owner):
		return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of table %s", rel.Name)
	case s.InBlock():
		return pgerror.New(pgerror.ActiveSqlTransaction, "drop_chunks() cannot run inside a transaction block")
	case s.ReadOnly():
		return pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute drop_chunks() in a read-only transaction")
	}
	return nil
}

// chunkBound is a bound in units of the table's time column.
func chunkBound(c *sqltypes.Call, rel *catalog.Relation, typ sqltypes.OID, d sqltypes.Datum) (int64, error) {
	col := rel.Columns[rel.TS.Time-1]
	if (typ == sqltypes.OIDInt8) != (col.Type.OID == sqltypes.OIDInt8) {
		return 0, pgerror.New(pgerror.InvalidParameterValue, "invalid time argument type \"%s\"", sqltypes.FormatType(typ, -1)).
			WithHint("The time of table %q is of type %s.", rel.Name, sqltypes.FormatType(col.Type.OID, -1))
	}
	var err error
	if typ == sqltypes.OIDInterval {
		if d, err = callProc(c, procMinusInterval, sqltypes.Int(c.Env.StatementTime), d); err != nil {
			return 0, err
		}
	}
	if col.Type.OID == sqltypes.OIDTimestamp {
		d, err = callProc(c, procLocalTime, d)
	}
	return d.I, err
}

func callProc(c *sqltypes.Call, oid sqltypes.OID, args ...sqltypes.Datum) (sqltypes.Datum, error) {
	p := sqltypes.ProcByOID(oid)
	return p.Fn(&sqltypes.Call{Env: c.Env, Proc: p}, args)
}

// spanRows gives windows as text, "[from, to)".
type spanRows struct {
	env   *sqltypes.Env
	typ   *sqltypes.Type
	spans []tsdb.Span
	row   [1]sqltypes.Datum
}

func (r *spanRows) Next() ([]sqltypes.Datum, bool, error) {
	if len(r.spans) == 0 {
		return nil, false, nil
	}
	b := r.typ.Out(r.env, []byte("["), sqltypes.Int(r.spans[0].From))
	b = r.typ.Out(r.env, append(b, ", "...), sqltypes.Int(r.spans[0].To))
	r.row[0] = sqltypes.Text(string(append(b, ')')))
	r.spans = r.spans[1:]
	return r.row[:], true, nil
}
