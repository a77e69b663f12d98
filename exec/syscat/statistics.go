package syscat

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

const classStatisticExt sqltypes.OID = 3381

// eachStatistic lists the extended statistics, by table.
func eachStatistic(cat *catalog.Catalog, f func(r *catalog.Relation, s *catalog.Statistic)) {
	for _, r := range relations(cat) {
		for _, s := range r.Statistics {
			f(r, s)
		}
	}
}

// registerStatistics declares pg_statistic_ext. Nothing is gathered for its objects:
// pg_statistic_ext_data and the views over it are empty.
func registerStatistics(s *Set) {
	s.static("pg_catalog.pg_statistic_ext", columnNames("pg_statistic_ext"), func(q *Query, emit Emit) error {
		eachStatistic(q.Cat, func(r *catalog.Relation, s *catalog.Statistic) {
			var kinds []sqltypes.Datum
			for i := range len(s.Kinds) {
				kinds = append(kinds, char(s.Kinds[i]))
			}
			exprs := sqltypes.Null
			if len(s.Exprs) > 0 {
				exprs = nodeText('s', s.OID, strings.Join(s.Exprs, ", "))
			}
			emit(oid(s.OID), oid(r.OID), text(s.Name), oid(s.Schema), oid(s.Owner), num(s.Target), sqltypes.Int2Vector(s.Columns), array(sqltypes.OIDChar, kinds), exprs)
		})
		return nil
	})
}

func (l *lookup) statistic(o sqltypes.OID) (rel *catalog.Relation, stat *catalog.Statistic) {
	eachStatistic(l.cat, func(r *catalog.Relation, s *catalog.Statistic) {
		if s.OID == o {
			rel, stat = r, s
		}
	})
	return rel, stat
}

// statisticExprs are the printed expressions; one that is not a call in parentheses.
func (l *lookup) statisticExprs(r *catalog.Relation, s *catalog.Statistic, parens bool) []string {
	var out []string
	for _, e := range s.Exprs {
		t, call := l.relationText(r, e, false, parens)
		if !call && parens {
			t = "(" + t + ")"
		}
		out = append(out, t)
	}
	return out
}

func (l *lookup) statisticColumns(r *catalog.Relation, s *catalog.Statistic) string {
	var cols []string
	for _, a := range s.Columns {
		cols = append(cols, quoteIdent(r.Columns[a-1].Name))
	}
	return strings.Join(append(cols, l.statisticExprs(r, s, true)...), ", ")
}

func init() {
	register(map[string]scalar{
		"pg_get_statisticsobjdef": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r, s := l.statistic(argOID(a[0]))
			if s == nil {
				return sqltypes.Null, nil
			}
			kinds := ""
			if n := strings.TrimSuffix(s.Kinds, "e"); n != "dfm" && n != "" {
				var words []string
				for i := range len(n) {
					words = append(words, map[byte]string{'d': "ndistinct", 'f': "dependencies", 'm': "mcv"}[n[i]])
				}
				kinds = " (" + strings.Join(words, ", ") + ")"
			}
			return text("CREATE STATISTICS " + quoteIdent(l.schemaName(s.Schema)) + "." + quoteIdent(s.Name) + kinds + " ON " +
				l.statisticColumns(r, s) + " FROM " + l.relationName(r, nil)), nil
		},
		"pg_get_statisticsobjdef_columns": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r, s := l.statistic(argOID(a[0]))
			if s == nil {
				return sqltypes.Null, nil
			}
			return text(l.statisticColumns(r, s)), nil
		},
		"pg_get_statisticsobjdef_expressions": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r, s := l.statistic(argOID(a[0]))
			if s == nil || len(s.Exprs) == 0 {
				return sqltypes.Null, nil
			}
			return textArray(l.statisticExprs(r, s, false)), nil
		},
	})
}

func (l *lookup) statisticWords(o sqltypes.OID) (w objectWords, ok bool) {
	_, s := l.statistic(o)
	if s == nil {
		return w, false
	}
	schema, name := l.schemaName(s.Schema), quoteIdent(s.Name)
	id := quoteIdent(schema) + "." + name
	shown := id
	for _, ns := range l.ctx.SearchPath {
		if ns == s.Schema {
			shown = name
		}
	}
	return objectWords{description: "statistics object " + shown, kind: "statistics object", schema: quoteIdent(schema), name: name, identity: id, names: []string{schema, s.Name}}, true
}

func (l *lookup) statisticIsVisible(o sqltypes.OID) sqltypes.Datum {
	_, s := l.statistic(o)
	if s == nil {
		return sqltypes.Null
	}
	for _, ns := range l.ctx.SearchPath {
		if ns == s.Schema {
			return yes(true)
		}
		hidden := false
		eachStatistic(l.cat, func(_ *catalog.Relation, x *catalog.Statistic) { hidden = hidden || x.Schema == ns && x.Name == s.Name })
		if hidden {
			break
		}
	}
	return yes(false)
}

func (d *depender) statistics(r *catalog.Relation) {
	for _, s := range r.Statistics {
		o := objectRef{classStatisticExt, s.OID, 0}
		d.on(o, objectRef{classNamespace, s.Schema, 0}, 'n')
		for _, a := range s.Columns {
			d.on(o, objectRef{classClass, r.OID, int(a)}, 'a')
		}
		if len(s.Columns) == 0 {
			d.on(o, objectRef{classClass, r.OID, 0}, 'a')
		}
	}
}
