package syscat

import (
	_ "embed"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

//go:embed views.sql
var viewsSQL string

// registerViews makes views of the relations that views.sql defines: a line
// "-- schema.name", then the SELECT, up to the next such line. {typmod} in one is the modifier of
// column a of type t, or of the domain that t is.
func registerViews(s *Set) {
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
		body = strings.ReplaceAll(body, "{typmod}", "CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END")
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
		cols[i] = "v." + quoteIdent(c.Name)
		if name := domainNames[c.Type.OID]; name != "" {
			cols[i] += "::information_schema." + name
		}
	}
	return "SELECT " + strings.Join(cols, ", ") + " FROM (" + body + ") v"
}

var domainNames = map[sqltypes.OID]string{13221: "cardinal_number", 13224: "character_data", 13226: "sql_identifier", 13232: "time_stamp", 13234: "yes_or_no"}
