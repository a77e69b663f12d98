package syscat

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// The schemas ostraka, doc and ts, what is in them and Ostraka's own functions are listed in pg_catalog only for a session
// whose search_path names it: pg_dump and mapping tools take every schema that
// PostgreSQL does not have for the user's, and would dump it. It can be used by
// its qualified name all the same.

// listsOwn reports whether the reading session sees the schema ostraka listed.
func listsOwn(q *Query) bool {
	if q.Env == nil || q.Env.Session == nil {
		return true
	}
	return slices.Contains(q.Env.Session.SearchPath(false), "ostraka")
}

// ownColumn is the place of the column that names the schema, or the relation, by catalogue.
var ownColumn = map[string]int{"pg_namespace": 0, "pg_class": 0, "pg_proc": 0, "pg_attribute": 0, "pg_description": 0}

// partition moves the rows about the schema ostraka to the end and returns how many others there are.
func (t *table) partition(q *Query, rows [][]sqltypes.Datum) ([][]sqltypes.Datum, int) {
	col, ok := ownColumn[t.virtual.Rel.Name]
	if !ok || t.schema != "pg_catalog" {
		return rows, len(rows)
	}
	relation := func(o sqltypes.OID) bool {
		x := q.set.byOID[o]
		return x != nil && x.own
	}
	own := func(o sqltypes.OID) bool {
		return o == catalog.SchemaOstraka || o == sqltypes.NamespaceDoc || o == sqltypes.NamespaceTS
	}
	switch t.virtual.Rel.Name {
	case "pg_proc":
		own = func(o sqltypes.OID) bool { return o >= sqltypes.FirstOstrakaProc && o <= sqltypes.LastOstrakaProc }
	case "pg_attribute", "pg_class":
		own = relation
	}
	out := make([][]sqltypes.Datum, 0, len(rows))
	var rest [][]sqltypes.Datum
	for _, r := range rows {
		if own(argOID(r[col])) {
			rest = append(rest, r)
		} else {
			out = append(out, r)
		}
	}
	return append(out, rest...), len(out)
}
