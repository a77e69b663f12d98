package syscat

import (
	_ "embed"
	"strings"

	"ostraka/engine/catalog"
)

//go:embed views.sql
var viewsSQL string

// registerViews makes views of the relations that views.sql defines: a line
// "-- schema.name", then the SELECT, up to the next such line.
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
		t.virtual.Rel.ViewDef = strings.TrimSuffix(strings.TrimSpace(body), ";")
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
