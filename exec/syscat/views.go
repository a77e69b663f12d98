package syscat

import (
	_ "embed"
	"strings"
	"sync"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

//go:embed views.sql
var viewsSQL string

// viewMacros are expressions that many views need: about the type t of a column a
// (the modifier and the base type see through a domain), and the unique name of a function p.
var viewMacros = strings.NewReplacer(
	"{typmod}", "CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END",
	"{basetype}", "CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END",
	"{datatype}", "CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN t.typnamespace = 11 THEN format_type(t.oid, NULL) ELSE 'USER-DEFINED' END::varchar",
	"{specific}", "(left(p.proname::text, 63 - length('_' || p.oid::text)) || '_' || p.oid::text)::name",
)

// registerViews makes views of the relations that views.sql defines: a line
// "-- schema.name", then the SELECT, up to the next such line, with viewMacros.
//
// The descriptors are shared by all sets of the process, and the first one may be
// read already when another is made: they are completed once.
func registerViews(s *Set) { viewsOnce.Do(func() { completeViews(s) }) }

var viewsOnce sync.Once

func completeViews(s *Set) {
	name, body := "", ""
	flush := func() {
		if name == "" {
			return
		}
		t := s.byName[name]
		if t == nil {
			panic("syscat: views.sql: no relation " + name)
		}
		t.virtual.Rel.Kind = catalog.KindView
		body = viewMacros.Replace(body)
		t.virtual.Rel.ViewDef = typedView(t, strings.TrimSuffix(strings.TrimSpace(body), ";"))
	}
	for line := range strings.Lines(viewsSQL) {
		if n, ok := strings.CutPrefix(line, "-- "); ok && strings.Contains(n, ".") && !strings.Contains(n, " ") {
			flush()
			name, body = strings.TrimSpace(n), ""
			continue
		}
		body += line
	}
	flush()
}

// typedView gives a view of information_schema the domains that its columns are
// declared with; the definitions are written with plain types.
func typedView(t *table, body string) string {
	if t.schema != "information_schema" {
		return body
	}
	cols := make([]string, len(t.virtual.Rel.Columns))
	for i, c := range t.virtual.Rel.Columns {
		if cols[i] = "v." + quoteIdent(c.Name); !strings.Contains(body, " AS "+c.Name) {
			cols[i] = "NULL" // what the standard has and PostgreSQL does not
		}
		if name := domainNames[c.Type.OID]; name != "" {
			cols[i] += "::information_schema." + name
		}
	}
	return "SELECT " + strings.Join(cols, ", ") + " FROM (" + body + ") v"
}

var domainNames = map[sqltypes.OID]string{13221: "cardinal_number", 13224: "character_data", 13226: "sql_identifier", 13232: "time_stamp", 13234: "yes_or_no"}
