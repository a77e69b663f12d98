package ddl

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/sqltypes/pgerror"
)

func (r *run) createView(n *pg.ViewStmt) error {
	sel := n.Query.GetSelectStmt()
	if sel == nil {
		return pgerror.New(pgerror.SyntaxError, "views must be defined by a SELECT or VALUES")
	}
	if sel.IntoClause != nil {
		return pgerror.New(pgerror.FeatureNotSupported, "views must not contain SELECT INTO")
	}
	cols, text, err := r.viewQuery(n.Query)
	if err != nil {
		return err
	}
	temp := n.View.Relpersistence == "t"
	if !temp {
		if temp, err = r.readsTemporary(text); err != nil {
			return err
		}
		if temp {
			r.notice("view %q will be a temporary view", n.View.Relname)
		}
	}
	schema, err := r.creationSchema(n.View.Schemaname, temp)
	if err != nil {
		return err
	}
	if err := aliasColumns(cols, strs(n.Aliases), "CREATE VIEW"); err != nil {
		return err
	}
	rel := &catalog.Relation{Name: truncateIdent(n.View.Relname), Schema: schema.OID, Kind: catalog.KindView,
		Persistence: 'p', Owner: r.role(), ACL: r.newACL('r', schema.OID), ViewDef: text, Columns: cols}
	if temp {
		rel.Persistence = 't'
	}
	if rel.ViewOptions, rel.Options, err = viewOptions(n); err != nil {
		return err
	}
	if seen := duplicateName(cols); seen != "" {
		return pgerror.New(pgerror.DuplicateColumn, "column %q specified more than once", seen)
	}
	old := r.catalog().RelationByName(schema.OID, rel.Name)
	if old == nil || !n.Replace {
		if err := r.mustBeFree(schema, rel.Name); err != nil {
			return err
		}
		return r.putNew(rel, schema)
	}
	if old.Kind != catalog.KindView || old.Rollup != nil {
		return pgerror.New(pgerror.WrongObjectType, "%q is not a view", rel.Name)
	}
	if err := r.mustOwn(old); err != nil {
		return err
	}
	if err := replaceable(old, rel); err != nil {
		return err
	}
	rel.OID, rel.RowType, rel.Owner, rel.ACL, rel.Comment = old.OID, old.RowType, old.Owner, old.ACL, old.Comment
	r.schema().PutRelation(rel)
	return nil
}

// viewQuery binds a view's SELECT and returns its columns and its text.
func (r *run) viewQuery(node *pg.Node) ([]*catalog.Column, string, error) {
	q, params, err := bind.Bind(r.s.PlanContext(), node)
	if err != nil {
		return nil, "", err
	}
	for _, c := range q.CTEs {
		if c.Query != nil && c.Query.Command != planner.CmdSelect {
			return nil, "", pgerror.New(pgerror.FeatureNotSupported, "views must not contain data-modifying statements in WITH")
		}
	}
	if len(params) > 0 {
		return nil, "", pgerror.New(pgerror.UndefinedParameter, "there is no parameter $1")
	}
	text, err := bind.QualifiedText(r.s.PlanContext(), node)
	if err != nil {
		return nil, "", err
	}
	return queryColumns(q), text, nil
}

// readsTemporary reports whether a view's query names a temporary relation.
func (r *run) readsTemporary(text string) (bool, error) {
	ctx := r.s.PlanContext()
	if ctx.TempSchema == 0 {
		return false, nil
	}
	deps, err := bind.ViewDependencies(ctx, &catalog.Relation{ViewDef: text})
	if err != nil {
		return false, err
	}
	for _, d := range deps {
		if rel := r.catalog().Relation(d); rel != nil && rel.Persistence == 't' {
			return true, nil
		}
	}
	return false, nil
}

// queryColumns are the visible output columns as attributes.
func queryColumns(q *planner.Query) []*catalog.Column {
	var cols []*catalog.Column
	for _, t := range q.Targets {
		if t.Junk {
			continue
		}
		cols = append(cols, &catalog.Column{Num: int16(len(cols) + 1), Name: t.Name, Type: t.Expr.Type(), StatTarget: -1})
	}
	return cols
}

func aliasColumns(cols []*catalog.Column, names []string, what string) error {
	if len(names) > len(cols) {
		if what == "CREATE VIEW" {
			return pgerror.New(pgerror.SyntaxError, "CREATE VIEW specifies more column names than columns")
		}
		return pgerror.New(pgerror.SyntaxError, "too many column names were specified")
	}
	for i, n := range names {
		cols[i].Name = truncateIdent(n)
	}
	return nil
}

func duplicateName(cols []*catalog.Column) string {
	seen := map[string]bool{}
	for _, c := range cols {
		if seen[c.Name] {
			return c.Name
		}
		seen[c.Name] = true
	}
	return ""
}

func viewOptions(n *pg.ViewStmt) (v catalog.ViewOptions, opts []string, err error) {
	if opts, err = checkedOptions("view", n.Options, false); err != nil {
		return v, nil, err
	}
	switch n.WithCheckOption {
	case pg.ViewCheckOption_LOCAL_CHECK_OPTION:
		opts = append(opts, "check_option=local")
	case pg.ViewCheckOption_CASCADED_CHECK_OPTION:
		opts = append(opts, "check_option=cascaded")
	}
	return viewOptionsOf(opts), opts, nil
}

// putNew gives a view-like relation its OIDs and row type.
func (r *run) putNew(rel *catalog.Relation, schema *catalog.Schema) error {
	var err error
	if rel.OID, err = r.newOID(); err != nil {
		return err
	}
	b := &builder{run: r, rel: rel, schema: schema}
	if err := b.rowType(); err != nil {
		return err
	}
	b.put()
	return nil
}

// replaceable checks CREATE OR REPLACE VIEW: old columns stay, new ones come after.
func replaceable(old, rel *catalog.Relation) error {
	if len(rel.Columns) < len(old.Columns) {
		return pgerror.New(pgerror.InvalidTableDefinition, "cannot drop columns from view")
	}
	for i, c := range old.Columns {
		n := rel.Columns[i]
		if c.Name != n.Name {
			return pgerror.New(pgerror.InvalidTableDefinition, "cannot change name of view column %q to %q", c.Name, n.Name).
				WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
		}
		if c.Type.OID != n.Type.OID || c.Type.TypMod != n.Type.TypMod {
			return pgerror.New(pgerror.InvalidTableDefinition, "cannot change data type of view column %q from %s to %s", c.Name,
				formatType(c), formatType(n))
		}
	}
	return nil
}
