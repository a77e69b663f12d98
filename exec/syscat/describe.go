package syscat

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// objectWords is an object as pg_describe_object, pg_identify_object and
// pg_identify_object_as_address word it (PostgreSQL's objectaddress.c).
type objectWords struct {
	description  string
	kind         string // "table", "table column", "function" …
	schema, name string // as SQL writes them; name only where it is unique within the schema
	identity     string
	names, args  []string // the object's address
}

// words describes an object by its class (a catalogue), OID and column number; false when there is none.
func (l *lookup) words(class, o sqltypes.OID, sub int) (w objectWords, ok bool) {
	switch class {
	case classClass:
		return l.relationWords(o, sub)
	case classProc:
		return l.procWords(o)
	case classType:
		return l.typeWords(o)
	case classConstraint:
		return l.constraintWords(o)
	case classOperator:
		return l.operatorWords(o)
	case classCast:
		return l.castWords(o)
	case classAttrdef:
		for _, r := range relations(l.cat) {
			for _, c := range r.Columns {
				if c.HasDefault && !c.Dropped && attrdefOID(r, c) == o {
					col, _ := l.relationWords(r.OID, int(c.Num))
					return objectWords{description: "default value for " + col.description, kind: "default value", identity: "for " + col.identity,
						names: col.names}, true
				}
			}
		}
		return w, false
	case classPublication, classPublicationRel, classPublicationNamespace, classSubscription:
		return l.publicationWords(class, o)
	case classStatisticExt:
		return l.statisticWords(o)
	case classPolicy:
		return l.policyWords(o)
	case classAmOp:
		return l.amOpWords(o)
	case classAmProc:
		return l.amProcWords(o)
	case classRewrite:
		return l.ruleWords(o)
	case classNamespace:
		if s := l.cat.Schema(o); s != nil {
			return plainWords("schema", s.Name), true
		}
		return w, false
	case classAuthid:
		if r := l.cat.Role(o); r != nil {
			return plainWords("role", r.Name), true
		}
		return w, false
	case classDatabase:
		if d := l.cat.Database(o); d != nil {
			return plainWords("database", d.Name), true
		}
		return w, false
	}
	return l.fixedWords(class, o)
}

// plainWords describes an object that its name alone identifies.
func plainWords(kind, name string) objectWords {
	q := quoteIdent(name)
	return objectWords{description: kind + " " + name, kind: kind, name: q, identity: q, names: []string{name}}
}

func (l *lookup) qualified(schema sqltypes.OID, name string) string {
	return quoteIdent(l.schemaName(schema)) + "." + quoteIdent(name)
}

// relationKinds are the words for a relkind.
var relationKinds = map[byte]string{'r': "table", 'v': "view", 'm': "materialized view", 'S': "sequence", 'c': "composite type", 't': "toast table", 'i': "index", 'p': "table"}

// kindOf is the relkind that PostgreSQL has for a relation: system relations are tables, views or TOAST tables there.
func kindOf(r *catalog.Relation) byte {
	if r.OID < catalog.FirstUserOID {
		for _, f := range facts() {
			if f.rel.OID == r.OID {
				return f.kind
			}
		}
	}
	return byte(r.Kind)
}

func (l *lookup) relationWords(o sqltypes.OID, sub int) (w objectWords, ok bool) {
	r, ix := l.relation(o)
	if r == nil {
		return w, false
	}
	kind, schema, name := relationKinds[kindOf(r)], r.Schema, r.Name
	if ix != nil {
		kind, schema, name = "index", ix.Schema, ix.Name
	}
	w = objectWords{kind: kind, schema: quoteIdent(l.schemaName(schema)), name: quoteIdent(name), identity: l.qualified(schema, name),
		names: []string{l.schemaName(schema), name}, description: kind + " " + l.relationName(r, ix)}
	if sub == 0 {
		return w, true
	}
	column := ""
	switch {
	case ix == nil && sub > 0 && sub <= len(r.Columns) && !r.Columns[sub-1].Dropped:
		column = r.Columns[sub-1].Name
	case ix != nil && sub > 0 && sub <= len(ix.Keys)+len(ix.Include):
		column = indexColumns(r, ix)[sub-1].Name
	default:
		return objectWords{}, false
	}
	w.description = "column " + column + " of " + w.description
	w.kind += " column"
	w.identity += "." + quoteIdent(column)
	w.names = append(w.names, column)
	return w, true
}

func (l *lookup) procWords(o sqltypes.OID) (w objectWords, ok bool) {
	args, _, _, ok := l.functionOf(o)
	if !ok {
		return w, false
	}
	short, _ := l.functionName(o, true)
	name, schema, kind := "", catalog.SchemaPgCatalog, byte('f')
	if p := sqltypes.ProcByOID(o); p != nil {
		name, schema, kind = p.Name, p.Namespace, p.Kind
	} else {
		f := l.cat.Function(o)
		name, schema, kind = f.Name, f.Schema, f.Kind
	}
	w = objectWords{description: "function " + short, schema: quoteIdent(l.schemaName(schema)), names: []string{l.schemaName(schema), name}, args: []string{}}
	w.kind = map[byte]string{'a': "aggregate", 'p': "procedure"}[kind]
	if w.kind == "" {
		w.kind = "function"
	}
	for _, a := range args {
		if a.mode == 'i' || a.mode == 'b' || a.mode == 'v' {
			w.args = append(w.args, l.qualifiedType(a.typ))
		}
	}
	w.identity = l.qualified(schema, name) + "(" + strings.Join(w.args, ",") + ")"
	return w, true
}

// qualifiedType is a type's name with its schema, except where SQL has a name of its own for it.
func (l *lookup) qualifiedType(o sqltypes.OID) string {
	t := sqltypes.TypeByOID(o)
	if t == nil {
		t = systemRowTypes()[o]
	}
	if t != nil && t.IsArray && t.Elem != 0 && t.Storage != 'p' { // int2vector and oidvector have names of their own
		return l.qualifiedType(t.Elem) + "[]"
	}
	if t != nil && sqltypes.TypeByOID(o) != nil {
		s := sqltypes.FormatType(o, sqltypes.NoTypMod)
		if strings.TrimSuffix(s, "[]") != quoteIdent(strings.TrimPrefix(t.Name, "_")) {
			return s
		}
		if _, own := sqlTypeNames[strings.TrimSuffix(s, "[]")]; own {
			return s
		}
		return "pg_catalog." + s
	}
	none := *l.ctx
	none.SearchPath = nil
	return (&lookup{&none, l.cat}).typeName(o, sqltypes.NoTypMod)
}

// sqlTypeNames are the names that are both SQL's and the catalogue's.
var sqlTypeNames = map[string]bool{"numeric": true, "interval": true, "bit": true}

func (l *lookup) typeWords(o sqltypes.OID) (w objectWords, ok bool) {
	schema, name := sqltypes.OID(0), ""
	switch t := l.cat.Type(o); {
	case t != nil:
		schema, name = t.Namespace, t.Name
	case systemRowTypes()[o] != nil:
		schema, name = systemRowTypes()[o].Namespace, systemRowTypes()[o].Name
	default:
		return w, false
	}
	if schema == 0 {
		schema = catalog.SchemaPgCatalog
	}
	id := l.qualifiedType(o)
	return objectWords{description: "type " + l.typeName(o, sqltypes.NoTypMod), kind: "type", schema: quoteIdent(l.schemaName(schema)),
		name: quoteIdent(name), identity: id, names: []string{id}, args: []string{}}, true
}

func (l *lookup) constraintWords(o sqltypes.OID) (w objectWords, ok bool) {
	of := func(r *catalog.Relation, name string) (objectWords, bool) {
		rel, _ := l.relationWords(r.OID, 0)
		return objectWords{description: "constraint " + name + " on " + rel.description, kind: "table constraint", schema: rel.schema,
			identity: quoteIdent(name) + " on " + rel.identity, names: append(rel.names, name)}, true
	}
	for _, r := range relations(l.cat) {
		for _, c := range r.Checks {
			if c.OID == o {
				return of(r, c.Name)
			}
		}
		for _, f := range r.ForeignKeys {
			if f.OID == o {
				return of(r, f.Name)
			}
		}
		for _, ix := range r.Indexes {
			if ix.Constraint != "" && ix.ConstraintOID == o {
				return of(r, ix.Constraint)
			}
		}
	}
	for _, f := range facts() {
		for _, ix := range f.indexes {
			if ix.ConstraintOID == o && o != 0 {
				return of(f.rel, ix.Constraint)
			}
		}
	}
	for _, t := range userTypes(l.cat) {
		for _, c := range t.Checks {
			if c.OID == o {
				id := l.qualifiedType(t.OID)
				return objectWords{description: "constraint " + c.Name, kind: "domain constraint", schema: quoteIdent(l.schemaName(t.Schema)),
					identity: quoteIdent(c.Name) + " on " + id, names: []string{id}, args: []string{c.Name}}, true
			}
		}
	}
	return w, false
}

func (l *lookup) operatorWords(o sqltypes.OID) (w objectWords, ok bool) {
	op := l.findOperator(o)
	if op == nil {
		return w, false
	}
	schema := quoteIdent(l.schemaName(op.Schema))
	bare := op.Name
	if !l.operatorVisible(op) {
		bare = schema + "." + bare
	}
	name := func(t sqltypes.OID, of func(sqltypes.OID) string) string {
		if t == 0 {
			return "NONE"
		}
		return of(t)
	}
	short := func(t sqltypes.OID) string { return l.typeName(t, sqltypes.NoTypMod) }
	var args []string // those that there are
	for _, t := range []sqltypes.OID{op.Left, op.Right} {
		if t != 0 {
			args = append(args, l.qualifiedType(t))
		}
	}
	return objectWords{kind: "operator", schema: schema,
		description: "operator " + bare + "(" + name(op.Left, short) + "," + name(op.Right, short) + ")",
		identity:    schema + "." + op.Name + "(" + name(op.Left, l.qualifiedType) + "," + name(op.Right, l.qualifiedType) + ")",
		names:       []string{schema, op.Name},
		args:        args}, true
}

func (l *lookup) castWords(o sqltypes.OID) (w objectWords, ok bool) {
	c := l.cat.Cast(o)
	if c == nil {
		for _, b := range sqltypes.AllCasts() {
			if b.OID == o {
				c = &catalog.Cast{OID: o, Source: b.Source, Target: b.Target}
			}
		}
	}
	if c == nil {
		return w, false
	}
	s, t := l.qualifiedType(c.Source), l.qualifiedType(c.Target)
	return objectWords{kind: "cast", identity: "(" + s + " AS " + t + ")", names: []string{s}, args: []string{t},
		description: "cast from " + l.typeName(c.Source, sqltypes.NoTypMod) + " to " + l.typeName(c.Target, sqltypes.NoTypMod)}, true
}

// ruleWords describes a view's query, which is its only rule.
func (l *lookup) ruleWords(o sqltypes.OID) (w objectWords, ok bool) {
	rule, on := "_RETURN", o
	if o < catalog.FirstUserOID {
		on = 0
		for _, row := range fixedRows()["pg_rewrite"] {
			if argOID(row[0]) == o {
				rule, on = row[1].S, argOID(row[2])
			}
		}
	}
	rel, ok := l.relationWords(on, 0)
	if !ok {
		return w, false
	}
	return objectWords{description: "rule " + rule + " on " + rel.description, kind: "rule", schema: "", identity: quoteIdent(rule) + " on " + rel.identity,
		names: append(rel.names, rule)}, true
}

// fixedClass says how the objects of a catalogue with fixed rows are worded.
type fixedClass struct {
	table, kind string
	name        string // the column of the name
	schema      string // of the schema; "": it has none
	method      string // of the access method
}

var fixedClasses = map[sqltypes.OID]fixedClass{
	3456: {"pg_collation", "collation", "collname", "collnamespace", ""},
	2607: {"pg_conversion", "conversion", "conname", "connamespace", ""},
	2612: {"pg_language", "language", "lanname", "", ""},
	2616: {"pg_opclass", "operator class", "opcname", "opcnamespace", "opcmethod"},
	2753: {"pg_opfamily", "operator family", "opfname", "opfnamespace", "opfmethod"},
	2601: {"pg_am", "access method", "amname", "", ""},
	1213: {"pg_tablespace", "tablespace", "spcname", "", ""},
	3079: {"pg_extension", "extension", "extname", "", ""},
	3601: {"pg_ts_parser", "text search parser", "prsname", "prsnamespace", ""},
	3600: {"pg_ts_dict", "text search dictionary", "dictname", "dictnamespace", ""},
	3764: {"pg_ts_template", "text search template", "tmplname", "tmplnamespace", ""},
	3602: {"pg_ts_config", "text search configuration", "cfgname", "cfgnamespace", ""},
	2605: {"pg_cast", "cast", "", "", ""},
}

// fixedRow finds a row by its OID, as a function from column names to values.
func fixedRow(table string, o sqltypes.OID) func(column string) sqltypes.Datum {
	cols := columnNames(table)
	for _, row := range fixedRows()[table] {
		if argOID(row[0]) == o {
			return func(column string) sqltypes.Datum {
				for i, c := range cols {
					if c == column {
						return row[i]
					}
				}
				return sqltypes.Null
			}
		}
	}
	return nil
}

func (l *lookup) fixedWords(class, o sqltypes.OID) (w objectWords, ok bool) {
	c, ok := fixedClasses[class]
	if !ok {
		return w, false
	}
	row := fixedRow(c.table, o)
	if row == nil {
		return w, false
	}
	if c.kind == "cast" {
		from, to := argOID(row("castsource")), argOID(row("casttarget"))
		a, b := l.qualifiedType(from), l.qualifiedType(to)
		return objectWords{description: "cast from " + l.typeName(from, sqltypes.NoTypMod) + " to " + l.typeName(to, sqltypes.NoTypMod), kind: "cast",
			identity: "(" + a + " AS " + b + ")", names: []string{a}, args: []string{b}}, true
	}
	name := row(c.name).S
	if c.schema == "" {
		return plainWords(c.kind, name), true
	}
	schema := argOID(row(c.schema))
	w = objectWords{kind: c.kind, schema: quoteIdent(l.schemaName(schema)), name: quoteIdent(name), identity: l.qualified(schema, name),
		names: []string{l.schemaName(schema), name}}
	shown := quoteIdent(name)
	if schema != catalog.SchemaPgCatalog {
		shown = w.identity
	}
	w.description = c.kind + " " + shown
	if c.method != "" {
		am := fixedRow("pg_am", argOID(row(c.method)))("amname").S
		w.description += " for access method " + am
		w.identity += " USING " + am
		w.names = append([]string{am}, w.names...)
	}
	return w, true
}
