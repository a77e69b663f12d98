package syscat

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

//go:embed facts/rows.tsv
var rowsTSV string

// fixedRows are rows that are the same in every database, by relation name.
var fixedRows = sync.OnceValue(func() map[string][][]sqltypes.Datum {
	out := map[string][][]sqltypes.Datum{}
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	var rel *catalog.Relation
	byName := map[string]*catalog.Relation{}
	for _, f := range facts() {
		if f.schema != "pg_toast" && f.kind == 'r' {
			byName[f.rel.Name] = f.rel
		}
	}
	for line := range strings.Lines(rowsTSV) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[0] == "T" && len(f) > 2 && f[1] != "" && byName[f[1]] != nil {
			rel = byName[f[1]]
			continue
		}
		row := make([]sqltypes.Datum, len(f))
		for i, v := range f {
			row[i] = fixedValue(env, rel.Columns[i].Type.OID, v)
		}
		out[rel.Name] = append(out[rel.Name], row)
	}
	return out
})

var copyUnescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n")

// fixedValue reads one value in COPY's text form.
func fixedValue(env *sqltypes.Env, typ sqltypes.OID, s string) sqltypes.Datum {
	if s == `\N` {
		return sqltypes.Null
	}
	if s = copyUnescape.Replace(s); typ == sqltypes.OIDAclitemArray || typ == sqltypes.OIDPgNodeTree {
		return sqltypes.Text(s) // types without input; emitFixedACL makes access lists of the first
	}
	t := sqltypes.TypeByOID(typ)
	switch domainNames[typ] {
	case "":
	case "cardinal_number":
		t = sqltypes.TypeByOID(sqltypes.OIDInt4)
	default:
		t = sqltypes.TypeByOID(sqltypes.OIDText)
	}
	if t.Kind == sqltypes.KInt && typ != sqltypes.OIDBool && typ != sqltypes.OIDChar {
		t = sqltypes.TypeByOID(sqltypes.OIDInt8) // regproc and its kin are numbers here
	}
	d, err := t.In(env, s, -1)
	if err != nil {
		panic("syscat: facts/rows.tsv: " + err.Error())
	}
	return d
}

// emitFixed gives emit the rows of a relation in its column order.
func emitFixed(name string, emit Emit) {
	for _, row := range fixedRows()[name] {
		emit(row...)
	}
}

// emitFixedACL is emitFixed for rows with an access list in a column.
func (q *Query) emitFixedACL(name, column string, emit Emit) {
	at := slices.Index(columnNames(name), column)
	for _, row := range fixedRows()[name] {
		if row[at].Null {
			emit(row...)
			continue
		}
		row = slices.Clone(row)
		row[at] = aclArray(q.Cat, factACL(row[at].S))
		emit(row...)
	}
}

// columnNames are all columns of a system relation.
func columnNames(name string) []string {
	for _, f := range facts() {
		if f.schema != "pg_toast" && f.rel.Name == name {
			out := make([]string, len(f.rel.Columns))
			for i, c := range f.rel.Columns {
				out[i] = c.Name
			}
			return out
		}
	}
	return nil
}

// registerFacts declares the relations that consist of fixed rows only.
func registerFacts(s *Set) {
	for _, name := range []string{"pg_am", "pg_collation", "pg_language", "pg_opclass", "pg_opfamily", "pg_amop", "pg_amproc",
		"pg_conversion", "pg_tablespace",
		"pg_ts_config", "pg_ts_config_map", "pg_ts_dict", "pg_ts_parser", "pg_ts_template", "pg_extension"} {
		s.static("pg_catalog."+name, columnNames(name), func(_ *Query, emit Emit) error {
			emitFixed(name, emit)
			return nil
		})
	}
	// sql_features is left out: it says what PostgreSQL supports.
	for _, name := range []string{"sql_implementation_info", "sql_parts", "sql_sizing"} {
		s.static("information_schema."+name, columnNames(name), func(_ *Query, emit Emit) error {
			emitFixed(name, emit)
			return nil
		})
	}
}
