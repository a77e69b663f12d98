package syscat

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"sync"
)

// scalar is a function over the catalogue.
type scalar func(l *lookup, c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error)

// register declares functions by their source name or signature.
func register(fns map[string]scalar) {
	for src, fn := range fns {
		sqltypes.RegisterScalar(src, func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
			l, err := lookupOf(c)
			if err != nil {
				return sqltypes.Null, err
			}
			return fn(l, c, args)
		})
	}
}

func argOID(d sqltypes.Datum) sqltypes.OID { return sqltypes.OID(uint32(d.I)) }

func init() {
	register(map[string]scalar{
		"pg_get_userbyid": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return text(roleName(l.cat, argOID(a[0]))), nil
		},
		"pg_table_is_visible": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r, ix := l.relation(argOID(a[0]))
			if r == nil {
				return sqltypes.Null, nil
			}
			if ix != nil {
				return yes(l.visible(ix.OID, ix.Schema, ix.Name)), nil
			}
			return yes(l.visible(r.OID, r.Schema, r.Name)), nil
		},
		"pg_type_is_visible":        typeIsVisible,
		"pg_function_is_visible":    functionIsVisible,
		"pg_operator_is_visible":    operatorIsVisible,
		"pg_opclass_is_visible":     visibleIn("pg_opclass"),
		"pg_opfamily_is_visible":    visibleIn("pg_opfamily"),
		"pg_collation_is_visible":   visibleIn("pg_collation"),
		"pg_conversion_is_visible":  visibleIn("pg_conversion"),
		"pg_ts_config_is_visible":   visibleIn("pg_ts_config"),
		"pg_ts_dict_is_visible":     visibleIn("pg_ts_dict"),
		"pg_ts_parser_is_visible":   visibleIn("pg_ts_parser"),
		"pg_ts_template_is_visible": visibleIn("pg_ts_template"),
		"pg_statistics_obj_is_visible": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return l.statisticIsVisible(argOID(a[0])), nil
		},
		"pg_my_temp_schema": func(l *lookup, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
			return oid(l.ctx.TempSchema), nil
		},
		"pg_is_other_temp_schema": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			s := l.cat.Schema(argOID(a[0]))
			return yes(s != nil && isTempSchema(s.Name) && s.OID != l.ctx.TempSchema), nil
		},
		"obj_description(oid,name)": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return textOrNull(objectComment(l.cat, argOID(a[0]), a[1].S)), nil
		},
		"obj_description(oid)": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return textOrNull(objectComment(l.cat, argOID(a[0]), "")), nil
		},
		"col_description(oid,int4)": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r := l.cat.Relation(argOID(a[0]))
			if n := int(a[1].I); r != nil && n >= 1 && n <= len(r.Columns) {
				return textOrNull(r.Columns[n-1].Comment), nil
			}
			return sqltypes.Null, nil
		},
		"shobj_description(oid,name)": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			if d := l.cat.Database(argOID(a[0])); d != nil && a[1].S == "pg_database" {
				return textOrNull(d.Comment), nil
			}
			if r := l.cat.Role(argOID(a[0])); r != nil && a[1].S == "pg_authid" {
				return textOrNull(r.Comment), nil
			}
			return sqltypes.Null, nil
		},
		"pg_relation_is_updatable": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r, _ := l.relation(argOID(a[0]))
			return num(updatableEvents(r)), nil
		},
		"pg_column_is_updatable": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r, _ := l.relation(argOID(a[0]))
			return yes(updatableEvents(r)&4 != 0 && a[1].I > 0), nil
		},
		"PG_encoding_to_char": func(_ *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			if n := a[0].I; n >= 0 && n < int64(len(encodings)) {
				return text(encodings[n]), nil
			}
			return text(""), nil
		},
		"PG_char_to_encoding": func(_ *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return num(encodingNumber(a[0].S)), nil
		},
		"pg_relation_filenode": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) { return a[0], nil },
		"pg_get_replica_identity_index": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			if r := l.cat.Relation(argOID(a[0])); r != nil {
				for _, ix := range r.Indexes {
					if ix.Primary {
						return oid(ix.OID), nil
					}
				}
			}
			return sqltypes.Null, nil
		},
		"pg_get_serial_sequence": serialSequence,
		"pg_relation_is_publishable": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r := l.cat.Relation(argOID(a[0]))
			return yes(r != nil && (r.Kind == catalog.KindTable || r.Kind == catalog.KindPartitioned) && r.Persistence == 'p' && r.OID >= catalog.FirstUserOID), nil
		},
		"pg_tablespace_location": func(*lookup, *sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
			return text(""), nil
		},
	})
}

func null(*lookup, *sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
	return sqltypes.Null, nil
}

func inPgCatalog(l *lookup, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	for _, s := range l.ctx.SearchPath {
		if s == catalog.SchemaPgCatalog {
			return yes(true), nil
		}
	}
	return yes(false), nil
}

func operatorIsVisible(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	o := l.findOperator(argOID(a[0]))
	if o == nil {
		return sqltypes.Null, nil
	}
	return yes(l.operatorVisible(o)), nil
}

// visibleIn is pg_…_is_visible of a relation that has only rows of pg_catalog: NULL
// when there is no such row.
func visibleIn(relation string) scalar {
	return func(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		for _, row := range fixedRows()[relation] {
			if argOID(row[0]) == argOID(a[0]) {
				return inPgCatalog(l, c, a)
			}
		}
		return sqltypes.Null, nil
	}
}

func isTempSchema(name string) bool { return len(name) > 8 && name[:8] == "pg_temp_" }

func typeIsVisible(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	t := l.cat.Type(argOID(a[0]))
	if t == nil {
		return sqltypes.Null, nil
	}
	for _, s := range l.ctx.SearchPath {
		if s == t.Namespace {
			return yes(true), nil
		}
		if l.cat.TypeByName(s, t.Name) != nil {
			break
		}
	}
	return yes(false), nil
}

func functionIsVisible(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	if sqltypes.ProcByOID(argOID(a[0])) != nil {
		return inPgCatalog(l, c, a)
	}
	f := l.cat.Function(argOID(a[0]))
	if f == nil {
		return sqltypes.Null, nil
	}
	for _, s := range l.ctx.SearchPath {
		if s == f.Schema {
			return yes(true), nil
		}
	}
	return yes(false), nil
}

// objectComment finds a comment by OID; class is the catalogue's name, "" any.
func objectComment(cat *catalog.Catalog, o sqltypes.OID, class string) string {
	is := func(name string) bool { return class == "" || class == name }
	if is("pg_class") {
		if r := cat.Relation(o); r != nil {
			return r.Comment
		}
		if _, ix := cat.Index(o); ix != nil {
			return ix.Comment
		}
	}
	if s := cat.Schema(o); s != nil && is("pg_namespace") {
		return s.Comment
	}
	if t := cat.UserType(o); t != nil && is("pg_type") {
		return t.Comment
	}
	if f := cat.Function(o); f != nil && is("pg_proc") {
		return f.Comment
	}
	if op := cat.Operator(o); op != nil && is("pg_operator") {
		return op.Comment
	}
	if c := cat.Cast(o); c != nil && is("pg_cast") {
		return c.Comment
	}
	if o < catalog.FirstUserOID {
		return fixedComment(o, class)
	}
	if p := cat.Publication(o); p != nil && is("pg_publication") {
		return p.Comment
	}
	if u := cat.Subscription(o); u != nil && is("pg_subscription") {
		return u.Comment
	}
	found := ""
	if is("pg_statistic_ext") {
		eachStatistic(cat, func(_ *catalog.Relation, s *catalog.Statistic) {
			if s.OID == o {
				found = s.Comment
			}
		})
	}
	if is("pg_policy") && found == "" {
		eachPolicy(cat, func(_ *catalog.Relation, p *catalog.Policy) {
			if p.OID == o {
				found = p.Comment
			}
		})
	}
	if is("pg_constraint") && found == "" {
		cat.AllRelations(func(r *catalog.Relation) bool {
			for _, c := range r.Checks {
				if c.OID == o {
					found = c.Comment
				}
			}
			for _, f := range r.ForeignKeys {
				if f.OID == o {
					found = f.Comment
				}
			}
			for _, ix := range r.Indexes {
				if ix.ConstraintOID == o {
					found = ix.ConstraintComment
				}
			}
			return found == ""
		})
		cat.AllTypes(func(t *catalog.UserType) bool {
			for _, c := range t.Checks {
				if c.OID == o {
					found = c.Comment
				}
			}
			return found == ""
		})
	}
	return found
}

// fixedComment is the comment on an object of the system; without a class, any object's with the number.
func fixedComment(o sqltypes.OID, class string) string {
	for _, k := range fixedComments()[o] {
		if class == "" || k.class == class {
			return k.text
		}
	}
	return ""
}

type comment struct{ class, text string }

var fixedComments = sync.OnceValue(func() map[sqltypes.OID][]comment {
	names := map[sqltypes.OID]string{}
	for _, f := range facts() {
		names[f.rel.OID] = f.rel.Name
	}
	out := map[sqltypes.OID][]comment{}
	for _, row := range fixedRows()["pg_description"] {
		if row[2].I == 0 {
			o := argOID(row[0])
			out[o] = append(out[o], comment{names[argOID(row[1])], row[3].S})
		}
	}
	return out
})

// updatableEvents are the bits of pg_relation_is_updatable: update 4, insert 8, delete 16.
func updatableEvents(r *catalog.Relation) int {
	if r != nil && (r.Kind == catalog.KindTable || r.Kind == catalog.KindPartitioned) {
		return 4 | 8 | 16
	}
	return 0
}

func serialSequence(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	parts, err := splitName(a[0].S)
	if err != nil {
		return sqltypes.Null, err
	}
	if len(parts) == 2 && l.cat.SchemaByName(parts[0]) == nil {
		return sqltypes.Null, pgerror.New(pgerror.UndefinedSchema, "schema %q does not exist", parts[0])
	}
	o, err := l.find(parts)
	if err != nil {
		return sqltypes.Null, err
	}
	r := l.cat.Relation(o)
	if r == nil {
		return sqltypes.Null, nil
	}
	for _, c := range r.Columns {
		if c.Name != a[1].S || c.Dropped {
			continue
		}
		seq := l.cat.Relation(c.OwnedSequence)
		if seq == nil {
			l.cat.AllRelations(func(s *catalog.Relation) bool {
				if s.Sequence != nil && s.Sequence.OwnerTable == r.OID && s.Sequence.OwnerAttr == c.Num {
					seq = s
				}
				return seq == nil
			})
		}
		if seq == nil {
			return sqltypes.Null, nil
		}
		return text(quoteIdent(l.schemaName(seq.Schema)) + "." + quoteIdent(seq.Name)), nil
	}
	return sqltypes.Null, pgerror.New(pgerror.UndefinedColumn, "column %q of relation %q does not exist", a[1].S, r.Name)
}
