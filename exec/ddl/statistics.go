package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// maxStatisticsColumns is PostgreSQL's STATS_MAX_DIMENSIONS.
const maxStatisticsColumns = 8

// createStatistics is CREATE STATISTICS: the object is kept and shown; ANALYZE gathers
// nothing for it.
func (r *run) createStatistics(n *pg.CreateStatsStmt) error {
	if len(n.Defnames) == 0 { // a later version of PostgreSQL finds a name itself
		return pgerror.New(pgerror.SyntaxError, "syntax error at or near \"ON\"")
	}
	rv := n.Relations[0].GetRangeVar()
	if len(n.Relations) != 1 || rv == nil {
		return pgerror.New(pgerror.FeatureNotSupported, "only a single relation is allowed in CREATE STATISTICS")
	}
	rel, err := r.relation(rv, engine.ShareUpdateExclusive, "", "table")
	if err != nil {
		return err
	}
	switch rel.Kind {
	case catalog.KindTable, catalog.KindMatView, catalog.KindPartitioned:
	default:
		return pgerror.New(pgerror.WrongObjectType, "cannot define statistics for relation %q", rel.Name).
			WithDetail("This operation is not supported for %ss.", kindWord(rel.Kind))
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	s := &catalog.Statistic{Owner: r.role(), Target: -1}
	schema, name, err := split(strs(n.Defnames))
	if err != nil {
		return err
	}
	in, err := r.creationSchema(schema, false)
	if err != nil {
		return err
	}
	s.Name, s.Schema = truncateIdent(name), in.OID
	if err := r.claim(3381, s.Name); err != nil {
		return err
	}
	if r.statisticsIn(s.Schema, s.Name).stat != nil {
		if n.IfNotExists {
			r.s.Notice("NOTICE", pgerror.DuplicateObject, sprintf("statistics object %q already exists, skipping", s.Name))
			return nil
		}
		return pgerror.New(pgerror.DuplicateObject, "statistics object %q already exists", s.Name)
	}
	if err := r.statisticsColumns(n, rel, s); err != nil {
		return err
	}
	if s.OID, err = r.newOID(); err != nil {
		return err
	}
	s.Comment = n.Stxcomment
	cp := copyRelation(r.catalog().Relation(rel.OID))
	cp.Statistics = append(cp.Statistics, s)
	r.schema().PutRelation(cp)
	return nil
}

// statisticsColumns reads columns, expressions and kinds.
func (r *run) statisticsColumns(n *pg.CreateStatsStmt, rel *catalog.Relation, s *catalog.Statistic) error {
	if len(n.Exprs) > maxStatisticsColumns {
		return pgerror.New(pgerror.TooManyColumns, "cannot have more than %d columns in statistics", maxStatisticsColumns)
	}
	sortable := func(t sqltypes.ColumnType) bool {
		typ := r.catalog().Type(t.OID)
		for typ != nil && typ.Base != nil {
			typ = typ.Base // a domain sorts as its base type
		}
		if typ == nil {
			return false
		}
		_, _, _, ok := sqltypes.SortOperatorsOf(typ)
		return ok
	}
	for _, x := range n.Exprs {
		e := x.GetStatsElem()
		name := e.Name
		if name == "" {
			if c := e.Expr.GetColumnRef(); c != nil && len(c.Fields) == 1 {
				name = str(c.Fields[0]) // a column in parentheses
			}
		}
		if name == "" {
			text, err := deparseExpr(e.Expr)
			if err != nil {
				return err
			}
			b, err := bind.RelationExpr(r.s.PlanContext(), rel, text)
			if err != nil {
				return err
			}
			if c, ok := b.(*expr.Col); ok && rel.Columns[c.Idx].Name != "" {
				name = rel.Columns[c.Idx].Name
			} else {
				if len(n.Exprs) > 1 && !sortable(b.Type()) {
					return pgerror.New(pgerror.FeatureNotSupported, "expression cannot be used in multivariate statistics because its type %s has no default btree operator class", r.typeName(b.Type().OID))
				}
				if slices.Contains(s.Exprs, text) {
					return pgerror.New(pgerror.DuplicateColumn, "duplicate expression in statistics definition")
				}
				s.Exprs = append(s.Exprs, text)
				continue
			}
		}
		col := columnByName(rel, name)
		switch {
		case col == nil && systemColumn(name):
			return pgerror.New(pgerror.FeatureNotSupported, "statistics creation on system columns is not supported")
		case col == nil:
			return pgerror.New(pgerror.UndefinedColumn, "column %q does not exist", name)
		case !sortable(col.Type):
			return pgerror.New(pgerror.FeatureNotSupported, "column %q cannot be used in statistics because its type %s has no default btree operator class", name, r.typeName(col.Type.OID))
		case slices.Contains(s.Columns, col.Num):
			return pgerror.New(pgerror.DuplicateColumn, "duplicate column name in statistics definition")
		}
		s.Columns = append(s.Columns, col.Num)
	}
	return statisticsKinds(n, s)
}

func statisticsKinds(n *pg.CreateStatsStmt, s *catalog.Statistic) error {
	slices.Sort(s.Columns)
	given := map[byte]bool{}
	for _, k := range strs(n.StatTypes) {
		kind := map[string]byte{"ndistinct": 'd', "dependencies": 'f', "mcv": 'm'}[k]
		if kind == 0 {
			return pgerror.New(pgerror.SyntaxError, "unrecognized statistics kind %q", k)
		}
		given[kind] = true
	}
	dims := len(s.Columns) + len(s.Exprs)
	switch {
	case dims == 1 && len(s.Exprs) == 1:
		if len(given) > 0 {
			return pgerror.New(pgerror.FeatureNotSupported, "when building statistics on a single expression, statistics kinds may not be specified")
		}
	case dims < 2:
		return pgerror.New(pgerror.InvalidObjectDefinition, "extended statistics require at least 2 columns")
	default:
		for _, k := range []byte("dfm") {
			if given[k] || len(given) == 0 {
				s.Kinds += string(rune(k))
			}
		}
	}
	if len(s.Exprs) > 0 {
		s.Kinds += "e"
	}
	return nil
}

// statUse is a statistics object and its table.
type statUse struct {
	rel  *catalog.Relation
	stat *catalog.Statistic
}

func (r *run) statisticsIn(schema sqltypes.OID, name string) (out statUse) {
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		for _, s := range rel.Statistics {
			if s.Schema == schema && s.Name == name {
				out = statUse{rel, s}
			}
		}
		return out.stat == nil
	})
	return out
}

// ownStatistics finds an object by its name; nil when it is not there and may be missing.
func (r *run) ownStatistics(parts []string, missing bool) (statUse, error) {
	schema, name, err := split(parts)
	if err != nil {
		return statUse{}, err
	}
	var schemas []sqltypes.OID
	if !missing || schema == "" || r.catalog().SchemaByName(schema) != nil {
		if schemas, err = r.searchSchemas(schema); err != nil {
			return statUse{}, err
		}
	}
	for _, o := range schemas {
		u := r.statisticsIn(o, name)
		if u.stat == nil {
			continue
		}
		if !r.hasRole(u.stat.Owner) {
			return u, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of statistics object %s", strings.Join(parts, "."))
		}
		return u, nil
	}
	if missing {
		r.notice("statistics object %q does not exist, skipping", strings.Join(parts, "."))
		return statUse{}, nil
	}
	return statUse{}, pgerror.New(pgerror.UndefinedObject, "statistics object %q does not exist", strings.Join(parts, "."))
}

// changeStatistics puts what change makes of an object; nil: it goes.
func (r *run) changeStatistics(u statUse, change func(*catalog.Statistic) *catalog.Statistic) {
	cp := copyRelation(r.catalog().Relation(u.rel.OID))
	var out []*catalog.Statistic
	for _, s := range cp.Statistics {
		if s.OID == u.stat.OID {
			c := *s
			if s = change(&c); s == nil {
				continue
			}
		}
		out = append(out, s)
	}
	cp.Statistics = out
	r.schema().PutRelation(cp)
}

// alterStatistics is ALTER STATISTICS … SET STATISTICS.
func (r *run) alterStatistics(n *pg.AlterStatsStmt) error {
	target := int(n.Stxstattarget)
	switch {
	case target < -1:
		return pgerror.New(pgerror.InvalidParameterValue, "statistics target %d is too low", target)
	case target > 10000:
		target = 10000
		r.s.NoticeError(&pgerror.Error{Severity: "WARNING", Code: pgerror.InvalidParameterValue, Message: "lowering statistics target to 10000"})
	}
	u, err := r.ownStatistics(strs(n.Defnames), n.MissingOk)
	if err != nil || u.stat == nil {
		return err
	}
	r.changeStatistics(u, func(s *catalog.Statistic) *catalog.Statistic { s.Target = target; return s })
	return nil
}

func (r *run) dropStatistics(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		u, err := r.ownStatistics(nameParts(obj), n.MissingOk)
		if err != nil {
			return err
		}
		if u.stat != nil {
			r.changeStatistics(u, func(*catalog.Statistic) *catalog.Statistic { return nil })
		}
	}
	return nil
}

// editStatistics is ALTER STATISTICS RENAME, OWNER, SET SCHEMA, and COMMENT.
func (r *run) editStatistics(parts []string, edit func(*catalog.Statistic)) error {
	u, err := r.ownStatistics(parts, false)
	if err != nil {
		return err
	}
	c := *u.stat
	edit(&c)
	if c.Name != u.stat.Name || c.Schema != u.stat.Schema {
		if r.statisticsIn(c.Schema, c.Name).stat != nil {
			return pgerror.New(pgerror.DuplicateObject, "statistics object %q already exists in schema %q", c.Name, r.catalog().Schema(c.Schema).Name)
		}
	}
	r.changeStatistics(u, func(*catalog.Statistic) *catalog.Statistic { return &c })
	return nil
}
