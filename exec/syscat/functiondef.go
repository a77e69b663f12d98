package syscat

import (
	"strconv"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	register(map[string]scalar{
		"pg_get_functiondef":          functionDef,
		"pg_get_function_sqlbody":     null, // bodies are stored as text
		"pg_get_function_arg_default": argDefault,
		"pg_get_triggerdef":           triggerDef,
	})
}

// described is what CREATE FUNCTION needs to say about a function.
type described struct {
	schema, name, language, body string
	kind                         byte
	volatility                   sqltypes.Volatility
	parallel                     byte
	leakproof, strict, definer   bool
	set                          bool
	cost, rows                   float32
	config                       []string
}

func (l *lookup) describe(o sqltypes.OID) (described, bool) {
	if p := sqltypes.ProcByOID(o); p != nil {
		lang := map[sqltypes.OID]string{12: "internal", 13: "c", 14: "sql"}[p.Lang]
		if lang == "" {
			lang = "internal"
		}
		return described{schema: l.schemaName(p.Namespace), name: p.Name, language: lang, body: p.Src, kind: p.Kind, volatility: p.Volatility,
			parallel: p.Parallel, leakproof: p.Leakproof, strict: p.Strict, set: p.RetSet, cost: p.Cost, rows: p.Rows}, true
	}
	f := l.cat.Function(o)
	if f == nil {
		return described{}, false
	}
	return described{schema: l.schemaName(f.Schema), name: f.Name, language: strings.ToLower(f.Language), body: f.Body, kind: f.Kind,
		volatility: f.Volatility, parallel: f.Parallel, leakproof: f.Leakproof, strict: f.Strict, definer: f.SecurityDefiner, set: f.RetSet,
		cost: f.Cost, rows: f.Rows, config: f.Config}, true
}

// functionDef is CREATE OR REPLACE FUNCTION as PostgreSQL prints it.
func functionDef(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	f, ok := l.describe(argOID(a[0]))
	if !ok {
		return sqltypes.Null, nil
	}
	if f.kind == 'a' {
		return sqltypes.Null, pgerror.New(pgerror.WrongObjectType, "%q is an aggregate function", f.name)
	}
	word, tag := "FUNCTION", "$function$"
	if f.kind == 'p' {
		word, tag = "PROCEDURE", "$procedure$"
	}
	args, err := l.arguments(argOID(a[0]), true, f.kind == 'p')
	if err != nil {
		return sqltypes.Null, err
	}
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE " + word + " " + quoteIdent(f.schema) + "." + quoteIdent(f.name) + "(" + args + ")\n")
	if f.kind != 'p' {
		ret, err := functionResult(l, c, a)
		if err != nil {
			return sqltypes.Null, err
		}
		b.WriteString(" RETURNS " + ret.S + "\n")
	}
	b.WriteString(" LANGUAGE " + quoteIdent(f.language) + "\n")
	if p := f.properties(); p != "" {
		b.WriteString(p + "\n")
	}
	for _, s := range f.config {
		name, value, _ := strings.Cut(s, "=")
		b.WriteString(" SET " + quoteIdent(name) + " TO " + settingValue(name, value) + "\n")
	}
	for strings.Contains(f.body, tag) {
		tag = tag[:len(tag)-1] + "x$"
	}
	b.WriteString("AS " + tag + f.body + tag + "\n")
	return text(b.String()), nil
}

// properties is the line of what differs from the defaults.
func (f *described) properties() string {
	s := ""
	if f.kind == 'w' {
		s += " WINDOW"
	}
	s += map[sqltypes.Volatility]string{sqltypes.Immutable: " IMMUTABLE", sqltypes.Stable: " STABLE"}[f.volatility]
	s += map[byte]string{'s': " PARALLEL SAFE", 'r': " PARALLEL RESTRICTED"}[f.parallel]
	if f.strict {
		s += " STRICT"
	}
	if f.definer {
		s += " SECURITY DEFINER"
	}
	if f.leakproof {
		s += " LEAKPROOF"
	}
	usual := float32(100)
	if f.language == "internal" || f.language == "c" {
		usual = 1
	}
	number := func(n float32) string { return strconv.FormatFloat(float64(n), 'g', 6, 32) }
	if f.cost != usual && f.cost != 0 {
		s += " COST " + number(f.cost)
	}
	if f.set && f.rows != 1000 && f.rows > 0 {
		s += " ROWS " + number(f.rows)
	}
	return s
}

// settingValue quotes the value of a SET clause; lists are printed name by name.
func settingValue(name, value string) string {
	switch strings.ToLower(name) {
	case "search_path", "datestyle", "temp_tablespaces", "session_preload_libraries", "shared_preload_libraries", "local_preload_libraries":
		var out []string
		for part := range strings.SplitSeq(value, ",") {
			part = strings.TrimSpace(part)
			if len(part) > 1 && part[0] == '"' {
				part = strings.ReplaceAll(part[1:len(part)-1], `""`, `"`)
			}
			out = append(out, quoteLiteral(part))
		}
		return strings.Join(out, ", ")
	}
	return quoteLiteral(value)
}

func quoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

func argDefault(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	args, _, _, _ := l.functionOf(argOID(a[0]))
	if n := int(a[1].I); n >= 1 && n <= len(args) {
		return textOrNull(l.argumentDefault(args[n-1])), nil
	}
	return sqltypes.Null, nil
}

// argumentDefault prints the default of an argument, coerced to its type.
func (l *lookup) argumentDefault(a argument) string {
	if a.def == "" {
		return ""
	}
	return l.domainDefault(&catalog.UserType{Base: sqltypes.ColumnType{OID: a.typ, TypMod: -1}, Default: a.def})
}
