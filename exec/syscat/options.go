package syscat

import (
	"strings"

	"ostraka/sqltypes"
)

func init() {
	sqltypes.RegisterSet("pg_options_to_table", func(_ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
		out := &rowList{}
		if len(a) == 0 || a[0].Null {
			return out, nil
		}
		for _, d := range sqltypes.OpenArray(a[0]).Elements() {
			name, value, ok := strings.Cut(d.S, "=")
			v := sqltypes.Null
			if ok {
				v = text(value)
			}
			out.rows = append(out.rows, []sqltypes.Datum{text(name), v})
		}
		return out, nil
	})
	sqltypes.RegisterSet("pg_get_catalog_foreign_keys", func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.RowSource, error) { return &rowList{}, nil })
	register(map[string]scalar{
		"pg_describe_object": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return textOrNull(l.describeObject(argOID(a[0]), argOID(a[1]), int(a[2].I))), nil
		},
	})
	sqltypes.RegisterSet("pg_sequence_parameters", sequenceParameters)
}

func sequenceParameters(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
	l, err := lookupOf(c)
	if err != nil {
		return nil, err
	}
	out := &rowList{}
	if r := l.cat.Relation(argOID(a[0])); r != nil && r.Sequence != nil {
		s := r.Sequence
		out.rows = [][]sqltypes.Datum{{sqltypes.Int(s.Start), sqltypes.Int(s.Min), sqltypes.Int(s.Max), sqltypes.Int(s.Increment), yes(s.Cycle),
			sqltypes.Int(s.Cache), oid(s.Type)}}
	}
	return out, nil
}

// describeObject words an object as messages do ("table t", "column a of table t"); "" when there is none.
func (l *lookup) describeObject(class, o sqltypes.OID, sub int) string {
	switch class {
	case classClass:
		r, ix := l.relation(o)
		if r == nil {
			return ""
		}
		word := map[byte]string{'r': "table ", 'v': "view ", 'm': "materialized view ", 'S': "sequence ", 'c': "composite type ", 'V': "table "}[byte(r.Kind)]
		if ix != nil {
			word = "index "
		}
		s := word + l.relationName(r, ix)
		if sub > 0 && sub <= len(r.Columns) {
			return "column " + quoteIdent(r.Columns[sub-1].Name) + " of " + s
		}
		return s
	case classType:
		if l.cat.Type(o) != nil {
			return "type " + l.typeName(o, -1)
		}
	case classProc:
		if s, ok := l.functionName(o, true); ok {
			return "function " + s
		}
	case classNamespace:
		if s := l.cat.Schema(o); s != nil {
			return "schema " + quoteIdent(s.Name)
		}
	case classAuthid:
		if r := l.cat.Role(o); r != nil {
			return "role " + quoteIdent(r.Name)
		}
	case classDatabase:
		if d := l.cat.Database(o); d != nil {
			return "database " + quoteIdent(d.Name)
		}
	case classConstraint:
		for _, r := range relations(l.cat) {
			for _, c := range r.Checks {
				if c.OID == o {
					return "constraint " + quoteIdent(c.Name) + " on table " + l.relationName(r, nil)
				}
			}
			for _, f := range r.ForeignKeys {
				if f.OID == o {
					return "constraint " + quoteIdent(f.Name) + " on table " + l.relationName(r, nil)
				}
			}
			for _, ix := range r.Indexes {
				if ix.ConstraintOID == o {
					return "constraint " + quoteIdent(ix.Constraint) + " on table " + l.relationName(r, nil)
				}
			}
		}
	case classAttrdef:
		for _, r := range relations(l.cat) {
			for _, c := range r.Columns {
				if c.HasDefault && attrdefOID(r, c) == o {
					return "default value for column " + quoteIdent(c.Name) + " of table " + l.relationName(r, nil)
				}
			}
		}
	}
	return ""
}
