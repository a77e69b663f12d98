package syscat

import (
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// sizes reads how much space relations take: an estimate of the storage, which
// holds rows compressed and merged with others'.
type sizes interface {
	SizeView() (engine.View, func(), error)
}

func init() {
	relation := func(table, toast, indexes bool) scalar {
		return func(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			s, ok := c.Env.Session.Ext().(sizes)
			if !ok {
				return sqltypes.Null, nil
			}
			r, ix := l.relation(argOID(a[0]))
			if r == nil {
				return sqltypes.Null, nil
			}
			if r.Kind == catalog.KindVirtual {
				return sqltypes.Int(0), nil
			}
			v, done, err := s.SizeView()
			if err != nil {
				return sqltypes.Null, err
			}
			defer done()
			some, err := hasRows(c, v, r)
			if err != nil {
				return sqltypes.Null, err
			}
			if ix != nil {
				return sqltypes.Int(indexPages(v, r, ix, some)), nil
			}
			var n int64
			if table {
				n += tablePages(v, r, some)
			}
			if toast && len(r.Columns) > 0 && hasToast(r) {
				n += page // the index of its TOAST table
			}
			if indexes {
				for _, i := range r.Indexes {
					n += indexPages(v, r, i, some)
				}
			}
			return sqltypes.Int(n), nil
		}
	}
	register(map[string]scalar{
		"pg_relation_size":           relation(true, false, false),
		"pg_relation_size(regclass)": relation(true, false, false),
		"pg_table_size":              relation(true, true, false),
		"pg_indexes_size":            relation(false, false, true),
		"pg_total_relation_size":     relation(true, true, true),
		"pg_database_size_name":      databaseSize,
		"pg_database_size_oid":       databaseSize,
		"pg_tablespace_size_name":    tablespaceSize,
		"pg_tablespace_size_oid":     tablespaceSize,
	})
}

// page is the unit of what is reported: clients count in PostgreSQL's pages.
const page = 8192

func wholePages(n int64) int64 { return (n + page - 1) / page * page }

// tablePages is about what a table takes: nothing when it is empty, else a page at least.
func tablePages(v engine.View, r *catalog.Relation, some bool) int64 {
	if r.Kind == catalog.KindSequence {
		return page
	}
	if r.StorageID == 0 {
		return 0
	}
	n := wholePages(v.EstimateBytes(r, nil))
	if some {
		n = max(n, page)
	}
	return n
}

// indexPages is about what an index takes: a page that describes it, and its entries.
// One that the table is clustered by shares the table's space, and is counted as such.
func indexPages(v engine.View, r *catalog.Relation, ix *catalog.Index, some bool) int64 {
	var n int64
	if !ix.Clustered {
		n = wholePages(v.EstimateBytes(r, ix))
	}
	if some {
		n = max(n, page)
	}
	return page + n
}

// hasRows looks for a row.
func hasRows(c *sqltypes.Call, v engine.View, r *catalog.Relation) (bool, error) {
	if r.StorageID == 0 || r.Kind != catalog.KindTable && r.Kind != catalog.KindMatView {
		return false, nil
	}
	return engine.FindsRow(v.Scan(c.Env.Ctx, engine.ScanSpec{Rel: r, RowHint: 1}))
}

// hasToast reports whether PostgreSQL would give a table a TOAST table.
func hasToast(r *catalog.Relation) bool {
	if r.Kind != catalog.KindTable && r.Kind != catalog.KindMatView {
		return false
	}
	for _, c := range r.Columns {
		t := sqltypes.TypeByOID(c.Type.OID)
		switch {
		case c.Dropped || t != nil && (t.Len >= 0 || t.Storage == 'p'):
		case t != nil && (t.OID == sqltypes.OIDVarchar || t.OID == sqltypes.OIDBpchar) && c.Type.TypMod >= 0 && c.Type.TypMod <= 500:
		case t != nil && t.OID == sqltypes.OIDNumeric && c.Type.TypMod >= 0: // its length has a small bound
		default:
			return true
		}
	}
	return false
}

// databaseSize adds up the tables of the session's own database.
func databaseSize(l *lookup, c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	s, ok := c.Env.Session.Ext().(sizes)
	if !ok {
		return sqltypes.Null, nil
	}
	v, done, err := s.SizeView()
	if err != nil {
		return sqltypes.Null, err
	}
	defer done()
	var n int64
	l.cat.AllRelations(func(r *catalog.Relation) bool {
		if r.StorageID != 0 && (r.Kind == catalog.KindTable || r.Kind == catalog.KindMatView) {
			n += tablePages(v, r, false)
			for _, i := range r.Indexes {
				n += indexPages(v, r, i, false)
			}
		}
		return true
	})
	return sqltypes.Int(n), nil
}

// tablespaceSize is the size of the default tablespace, which has everything of the
// database; and a page at least.
func tablespaceSize(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	for _, row := range fixedRows()["pg_tablespace"] {
		if c.ArgTypes[0].OID == sqltypes.OIDOid && argOID(row[0]) != argOID(a[0]) || c.ArgTypes[0].OID != sqltypes.OIDOid && row[1].S != a[0].S {
			continue
		}
		if row[1].S == "pg_global" {
			return sqltypes.Int(page), nil
		}
		d, err := databaseSize(l, c, a)
		d.I += page
		return d, err
	}
	if c.ArgTypes[0].OID == sqltypes.OIDOid {
		return sqltypes.Null, nil
	}
	return sqltypes.Null, pgerror.New(pgerror.UndefinedObject, "tablespace %q does not exist", a[0].S)
}
