package syscat

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func init() {
	indexDef := func(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		r, ix := l.relation(argOID(a[0]))
		if ix == nil {
			return sqltypes.Null, nil
		}
		pretty := len(a) > 2 && a[2].Bool()
		if len(a) > 1 && a[1].I > 0 {
			return text(l.indexColumnDef(r, ix, int(a[1].I), pretty)), nil
		}
		return text(l.indexDef(r, ix, pretty)), nil
	}
	constraintDef := func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		return textOrNull(l.constraintDef(argOID(a[0]), len(a) > 1 && a[1].Bool())), nil
	}
	viewDef := func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		return l.viewDef(argOID(a[0]), len(a) > 1 && a[1].Bool()), nil
	}
	viewDefWrap := func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		return l.viewDef(argOID(a[0]), true), nil
	}
	viewDefByName := func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		parts, err := splitName(a[0].S)
		if err != nil {
			return sqltypes.Null, err
		}
		o, err := l.find(parts)
		if err != nil {
			return sqltypes.Null, err
		}
		return l.viewDef(o, len(a) > 1 && a[1].Bool()), nil
	}
	getExpr := func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		return text(l.nodeExpr(argOID(a[1]), a[0].S, len(a) > 2 && a[2].Bool())), nil
	}
	register(map[string]scalar{
		"pg_get_indexdef": indexDef, "pg_get_indexdef_ext": indexDef,
		"pg_get_constraintdef": constraintDef, "pg_get_constraintdef_ext": constraintDef,
		"pg_get_viewdef": viewDef, "pg_get_viewdef_ext": viewDef, "pg_get_viewdef_wrap": viewDefWrap,
		"pg_get_viewdef_name": viewDefByName, "pg_get_viewdef_name_ext": viewDefByName,
		"pg_get_expr": getExpr, "pg_get_expr_ext": getExpr,
		"pg_get_function_arguments":          functionArguments(true),
		"pg_get_function_identity_arguments": functionArguments(false),
		"pg_get_function_result":             functionResult,
		"pg_get_ruledef":                     null, "pg_get_ruledef_ext": null,
		"pg_get_triggerdef_ext": triggerDef,
	})
}

func (l *lookup) viewDef(o sqltypes.OID, pretty bool) sqltypes.Datum {
	r := l.cat.Relation(o)
	if r == nil && l.ctx.Relations != nil {
		if v := l.ctx.Relations.VirtualByOID(o); v != nil {
			r = v.Rel
		}
	}
	if r == nil || r.Kind != catalog.KindView && r.Kind != catalog.KindMatView {
		return sqltypes.Null
	}
	return text(l.queryText(r, pretty))
}

func methodName(ix *catalog.Index) string {
	if ix.Method == "" {
		return "btree"
	}
	return ix.Method
}

// indexDef is the CREATE INDEX command of an index.
func (l *lookup) indexDef(r *catalog.Relation, ix *catalog.Index, pretty bool) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if ix.Unique {
		b.WriteString("UNIQUE ")
	}
	b.WriteString("INDEX " + quoteIdent(ix.Name) + " ON ")
	if r.Partitioning != nil {
		b.WriteString("ONLY ")
	}
	if pretty {
		b.WriteString(l.relationName(r, nil))
	} else {
		b.WriteString(quoteIdent(l.schemaName(r.Schema)) + "." + quoteIdent(r.Name))
	}
	b.WriteString(" USING " + methodName(ix) + " (")
	for i, k := range ix.Keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(l.keyText(r, k, pretty))
		b.WriteString(keyOptions(k))
	}
	b.WriteString(")")
	if len(ix.Include) > 0 {
		b.WriteString(" INCLUDE (" + columnList(r, ix.Include) + ")")
	}
	if ix.NullsNotDistinct {
		b.WriteString(" NULLS NOT DISTINCT")
	}
	if len(ix.Options) > 0 {
		b.WriteString(" WITH (" + optionList(ix.Options) + ")")
	}
	if ix.Predicate != "" {
		pred, _ := l.relationText(r, ix.Predicate, true, pretty)
		b.WriteString(" WHERE " + pred)
	}
	return b.String()
}

// keyText is a column name, a function call as it is, or an expression in parentheses.
func (l *lookup) keyText(r *catalog.Relation, k catalog.IndexKey, pretty bool) string {
	if k.Attr > 0 {
		return quoteIdent(r.Columns[k.Attr-1].Name)
	}
	s, call := l.relationText(r, k.Expr, false, pretty)
	if call {
		return s
	}
	return "(" + s + ")"
}

func keyOptions(k catalog.IndexKey) string {
	s := ""
	if k.OpClass != 0 {
		if oc := sqltypes.OpClassByOID(k.OpClass); oc != nil && !oc.Default {
			s = " " + oc.Name
		}
	}
	switch {
	case k.Desc && !k.NullsFirst:
		return s + " DESC NULLS LAST"
	case k.Desc:
		return s + " DESC"
	case k.NullsFirst:
		return s + " NULLS FIRST"
	}
	return s
}

func (l *lookup) indexColumnDef(r *catalog.Relation, ix *catalog.Index, n int, pretty bool) string {
	switch {
	case n <= len(ix.Keys):
		return l.keyText(r, ix.Keys[n-1], pretty)
	case n <= len(ix.Keys)+len(ix.Include):
		return quoteIdent(r.Columns[ix.Include[n-len(ix.Keys)-1]-1].Name)
	}
	return ""
}

func columnList(r *catalog.Relation, attrs []int16) string {
	names := make([]string, len(attrs))
	for i, a := range attrs {
		names[i] = quoteIdent(r.Columns[a-1].Name)
	}
	return strings.Join(names, ", ")
}

func optionList(opts []string) string {
	out := make([]string, len(opts))
	for i, o := range opts {
		name, value, _ := strings.Cut(o, "=")
		if quoteIdent(value) != value { // anything but a plain word
			value = "'" + strings.ReplaceAll(value, "'", "''") + "'"
		}
		out[i] = quoteIdent(name) + "=" + value
	}
	return strings.Join(out, ", ")
}

// constraintDef is pg_get_constraintdef; "" when there is no such constraint.
func (l *lookup) constraintDef(o sqltypes.OID, pretty bool) string {
	out := ""
	if o != 0 && o < catalog.FirstUserOID {
		for _, f := range facts() {
			for _, ix := range f.indexes {
				if ix.ConstraintOID == o {
					return keyDef(f.rel, ix)
				}
			}
		}
	}
	l.cat.AllRelations(func(r *catalog.Relation) bool {
		for _, c := range r.Checks {
			if c.OID == o {
				cond, _ := l.relationText(r, c.Expr, true, pretty)
				out = "CHECK (" + cond + ")" + validity(c.NotValid, c.NoInherit)
			}
		}
		for _, ix := range r.Indexes {
			if ix.ConstraintOID == o && o != 0 {
				out = keyDef(r, ix)
			}
		}
		for _, f := range r.ForeignKeys {
			if f.OID == o {
				out = l.foreignKeyDef(r, f)
			}
		}
		return out == ""
	})
	if out == "" {
		l.cat.AllTypes(func(t *catalog.UserType) bool {
			for _, c := range t.Checks {
				if c.OID == o {
					out = "CHECK (" + l.domainText(t, c.Expr, pretty) + ")" + validity(c.NotValid, false)
				}
			}
			return out == ""
		})
	}
	return out
}

func validity(notValid, noInherit bool) string {
	s := ""
	if noInherit {
		s += " NO INHERIT"
	}
	if notValid {
		s += " NOT VALID"
	}
	return s
}

func keyDef(r *catalog.Relation, ix *catalog.Index) string {
	s := "UNIQUE "
	if ix.Primary {
		s = "PRIMARY KEY "
	}
	if ix.NullsNotDistinct {
		s += "NULLS NOT DISTINCT "
	}
	var attrs []int16
	for _, k := range ix.Keys {
		attrs = append(attrs, k.Attr)
	}
	s += "(" + columnList(r, attrs) + ")"
	if len(ix.Include) > 0 {
		s += " INCLUDE (" + columnList(r, ix.Include) + ")"
	}
	return s + deferral(ix.Deferrable, ix.InitiallyDeferred)
}

func deferral(deferrable, deferred bool) string {
	switch {
	case deferred:
		return " DEFERRABLE INITIALLY DEFERRED"
	case deferrable:
		return " DEFERRABLE"
	}
	return ""
}

func (l *lookup) foreignKeyDef(r *catalog.Relation, f *catalog.ForeignKey) string {
	parent := l.cat.Relation(f.RefTable)
	if parent == nil {
		return ""
	}
	s := "FOREIGN KEY (" + columnList(r, f.Attrs) + ") REFERENCES " + l.relationName(parent, nil) + "(" + columnList(parent, f.RefAttrs) + ")"
	if f.Match == 'f' {
		s += " MATCH FULL"
	}
	action := map[byte]string{'r': "RESTRICT", 'c': "CASCADE", 'n': "SET NULL", 'd': "SET DEFAULT"}
	if a := action[f.OnUpdate]; a != "" {
		s += " ON UPDATE " + a
	}
	if a := action[f.OnDelete]; a != "" {
		s += " ON DELETE " + a
		if len(f.SetAttrs) > 0 {
			s += " (" + columnList(r, f.SetAttrs) + ")"
		}
	}
	return s + deferral(f.Deferrable, f.InitiallyDeferred) + validity(f.NotValid, false)
}

// argument is one argument of a function for printing.
type argument struct {
	name, def string
	typ       sqltypes.OID
	mode      byte
}

// functionOf collects a function's arguments and result.
func (l *lookup) functionOf(o sqltypes.OID) (args []argument, ret sqltypes.OID, set, ok bool) {
	if p := sqltypes.ProcByOID(o); p != nil {
		types, modes := p.AllArgTypes, p.ArgModes
		if types == nil {
			types = p.ArgTypes
		}
		inputs := 0
		for i, t := range types {
			a := argument{typ: t, mode: 'i'}
			if modes != nil {
				a.mode = modes[i]
			}
			if p.ArgNames != nil {
				a.name = p.ArgNames[i]
			}
			if a.mode == 'i' || a.mode == 'b' || a.mode == 'v' {
				if d := inputs - (len(p.ArgTypes) - p.NumDefaults); d >= 0 && d < len(p.Defaults) {
					a.def = p.Defaults[d]
				}
				inputs++
			}
			args = append(args, a)
		}
		return args, p.RetType, p.RetSet, true
	}
	f := l.cat.Function(o)
	if f == nil {
		return nil, 0, false, false
	}
	inputs, total := 0, 0
	for _, m := range f.ArgModes {
		if m == 'i' || m == 'b' || m == 'v' {
			total++
		}
	}
	for i, t := range f.ArgTypes {
		a := argument{name: f.ArgNames[i], typ: t.OID, mode: f.ArgModes[i]}
		if a.mode == 'i' || a.mode == 'b' || a.mode == 'v' {
			if d := inputs - (total - len(f.ArgDefaults)); d >= 0 {
				a.def = f.ArgDefaults[d]
			}
			inputs++
		}
		args = append(args, a)
	}
	return args, f.RetType, f.RetSet, true
}

var modeWords = map[byte]string{'o': "OUT ", 'b': "INOUT ", 'v': "VARIADIC "}

func functionArguments(defaults bool) scalar {
	return func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		if _, _, _, ok := l.functionOf(argOID(a[0])); !ok {
			return sqltypes.Null, nil
		}
		s, err := l.arguments(argOID(a[0]), defaults, l.isProcedure(argOID(a[0])))
		return text(s), err
	}
}

func (l *lookup) isProcedure(o sqltypes.OID) bool {
	d, _ := l.describe(o)
	return d.kind == 'p'
}

// arguments is a function's argument list; a procedure's input arguments say IN.
func (l *lookup) arguments(o sqltypes.OID, defaults, procedure bool) (string, error) {
	args, _, _, _ := l.functionOf(o)
	var parts []string
	for _, x := range args {
		if x.mode == 't' {
			continue
		}
		s := modeWords[x.mode]
		if procedure && x.mode == 'i' {
			s = "IN "
		}
		if x.name != "" {
			s += quoteIdent(x.name) + " "
		}
		s += l.typeName(x.typ, -1)
		if defaults && x.def != "" {
			s += " DEFAULT " + l.argumentDefault(x)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", "), nil
}

func functionResult(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	args, ret, set, ok := l.functionOf(argOID(a[0]))
	if !ok || l.isProcedure(argOID(a[0])) {
		return sqltypes.Null, nil
	}
	var table []string
	for _, x := range args {
		if x.mode == 't' {
			table = append(table, quoteIdent(x.name)+" "+l.typeName(x.typ, -1))
		}
	}
	switch {
	case table != nil:
		return text("TABLE(" + strings.Join(table, ", ") + ")"), nil
	case set:
		return text("SETOF " + l.typeName(ret, -1)), nil
	}
	return text(l.typeName(ret, -1)), nil
}
