package bind

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// This file binds what stands in definitions of objects, for DDL.

// DefaultExpr binds a column's default or generation expression, coerced to the
// column's type.
func DefaultExpr(ctx *planner.Context, rel *catalog.Relation, col *catalog.Column) (e expr.Expr, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	if col.Generated == 0 {
		return b.newScope(nil).columnDefault(rel, col), nil
	}
	only := &catalog.Relation{OID: rel.OID, Name: rel.Name, Schema: rel.Schema, Columns: rel.Columns}
	t := b.target(only)
	e = t.Generated[col.Num-1]
	expr.Walk(e, func(n expr.Expr) bool {
		if c, ok := n.(*expr.Col); ok && rel.Columns[c.Idx].Generated != 0 {
			panic(pgerror.New(pgerror.InvalidObjectDefinition, `cannot use generated column "%s" in column generation expression`, rel.Columns[c.Idx].Name).
				WithDetail("A generated column cannot reference another generated column."))
		}
		return true
	})
	if notImmutable(e) {
		panic(pgerror.New(pgerror.InvalidObjectDefinition, "generation expression is not immutable"))
	}
	return e, nil
}

// CheckExpr binds a CHECK condition or an index predicate over a table's row.
func CheckExpr(ctx *planner.Context, rel *catalog.Relation, text string) (e expr.Expr, err error) {
	defer catch(&err)
	return newBinder(ctx).relationCond(rel, text, kindCheck), nil
}

// DomainCheckExpr binds a domain's CHECK over values of its base type.
func DomainCheckExpr(ctx *planner.Context, base sqltypes.ColumnType, text string) (e expr.Expr, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	n, perr := parse.Expression(text)
	b.check(perr, -1)
	s := b.subBinder(text).newScope(nil)
	s.domainValue = &base
	return s.whereClause(n, kindDomainCheck, "CHECK"), nil
}

// DomainValue binds the check of a domain's constraints over a row of one value of
// its base type; nil when it has none.
func DomainValue(ctx *planner.Context, domain sqltypes.OID) (e *expr.CoerceDomain, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	base := b.columnTypeMod(b.baseType(domain), noTypMod)
	d, _ := b.newScope(nil).toDomain(&expr.Col{T: tt(base)}, domain, noTypMod, 'e', -1).(*expr.CoerceDomain)
	if d == nil || !d.NotNull && len(d.Checks) == 0 {
		return nil, nil
	}
	return d, nil
}

func notImmutable(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(n expr.Expr) bool {
		if c, ok := n.(*expr.Call); ok && c.Proc.Volatility != sqltypes.Immutable {
			found = true
		}
		return !found
	})
	return found
}

// MustBeImmutable refuses an index expression that calls anything not immutable.
func MustBeImmutable(e expr.Expr) error {
	if notImmutable(e) {
		return pgerror.New(pgerror.InvalidObjectDefinition, "functions in index expression must be marked IMMUTABLE")
	}
	return nil
}

// ConstantDefault evaluates a default that calls nothing volatile, once; constant
// is false when each row needs its own value.
func ConstantDefault(ctx *planner.Context, rel *catalog.Relation, col *catalog.Column) (value sqltypes.Datum, constant bool, err error) {
	if col.Generated != 0 || col.Identity != 0 {
		return sqltypes.Null, false, nil
	}
	e, err := DefaultExpr(ctx, rel, col)
	if err != nil {
		return sqltypes.Null, false, err
	}
	if e == nil {
		return sqltypes.Null, true, nil
	}
	volatile := false
	expr.Walk(e, func(n expr.Expr) bool {
		if c, ok := n.(*expr.Call); ok && c.Proc.Volatility == sqltypes.Volatile {
			volatile = true
		}
		return !volatile
	})
	if volatile {
		return sqltypes.Null, false, nil
	}
	p, err := expr.Compile(e, ctx.Catalog.Type)
	if err != nil {
		return sqltypes.Null, false, err
	}
	value, err = p.Row(nil, &expr.Params{}, ctx.Env)
	return value, true, err
}

// CanAssign fails when there is no assignment cast between two column types.
func CanAssign(ctx *planner.Context, from, to sqltypes.ColumnType) (err error) {
	defer catch(&err)
	s := newBinder(ctx).newScope(nil)
	if s.coerceToTarget(&expr.CaseValue{T: expr.T{Typ: from}}, to.OID, to.TypMod, assignment, -1) == nil {
		return pgerror.New(pgerror.DatatypeMismatch, "no assignment cast from %s to %s", sqltypes.FormatType(from.OID, -1), sqltypes.FormatType(to.OID, -1))
	}
	return nil
}

// eachRangeVar calls f for every table name in a tree that no WITH query of the tree hides.
func eachRangeVar(tree *pg.Node, f func(*pg.RangeVar)) {
	ctes := map[string]bool{}
	var vars []*pg.RangeVar
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		switch n := m.(type) {
		case *pg.CommonTableExpr:
			ctes[n.Ctename] = true
		case *pg.RangeVar:
			vars = append(vars, n)
		}
	})
	for _, v := range vars {
		if v.Schemaname != "" || !ctes[v.Relname] {
			f(v)
		}
	}
}

// eachMessage visits every message of a syntax tree.
func eachMessage(m protoreflect.Message, f func(proto.Message)) {
	f(m.Interface())
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				eachMessage(v.List().Get(i).Message(), f)
			}
		default:
			eachMessage(v.Message(), f)
		}
		return true
	})
}

// EachColumnRef calls f with the last name of every column reference of a tree.
func EachColumnRef(tree *pg.Node, f func(name string)) {
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		if c, ok := m.(*pg.ColumnRef); ok {
			if s := c.Fields[len(c.Fields)-1].GetString_(); s != nil {
				f(s.Sval)
			}
		}
	})
}

// resolve finds a user's relation by the name in a tree; nil for others.
func resolve(ctx *planner.Context, v *pg.RangeVar) *catalog.Relation {
	if v.Schemaname != "" {
		s := ctx.Catalog.SchemaByName(v.Schemaname)
		if s == nil {
			return nil
		}
		return ctx.Catalog.RelationByName(s.OID, v.Relname)
	}
	for _, oid := range ctx.SearchPath {
		if r := ctx.Catalog.RelationByName(oid, v.Relname); r != nil {
			return r
		}
		if s := ctx.Catalog.Schema(oid); s != nil && ctx.Relations != nil && ctx.Relations.VirtualByName(s.Name, v.Relname) != nil {
			return nil
		}
	}
	return nil
}

// QualifiedText is the text of a view's query that means the same under every
// search_path: names of relations are qualified, stars of the outer SELECT are expanded.
func QualifiedText(ctx *planner.Context, node *pg.Node) (string, error) {
	tree := proto.Clone(node).(*pg.Node)
	f, _, err := bindFrozen(ctx, tree)
	if err != nil {
		return "", err
	}
	f.apply(tree)
	eachRangeVar(tree, func(v *pg.RangeVar) {
		if r := resolve(ctx, v); r != nil && v.Schemaname == "" {
			if v.Alias == nil {
				v.Alias = &pg.Alias{Aliasname: v.Relname}
			}
			v.Schemaname = ctx.Catalog.Schema(r.Schema).Name
		}
	})
	return deparse(tree)
}

func deparse(tree *pg.Node) (string, error) {
	text, err := pg.Deparse(&pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: tree}}})
	if err != nil {
		return "", pgerror.Wrap(err, pgerror.InternalError, "could not deparse a view's query")
	}
	return text, nil
}

// ViewDependencies lists the relations that a view's query names.
func ViewDependencies(ctx *planner.Context, v *catalog.Relation) ([]sqltypes.OID, error) {
	st, err := parse.One(v.ViewDef)
	if err != nil {
		return nil, err
	}
	var out []sqltypes.OID
	eachRangeVar(st.AST, func(rv *pg.RangeVar) {
		if r := resolve(ctx, rv); r != nil {
			out = append(out, r.OID)
		}
	})
	return out, nil
}

// ViewUsesColumn reports whether a view's query may use a column of a relation:
// it names the relation, and a column by that name or a whole row.
func ViewUsesColumn(ctx *planner.Context, v *catalog.Relation, rel sqltypes.OID, attr int16) (bool, error) {
	deps, err := ViewDependencies(ctx, v)
	if err != nil || !slices.Contains(deps, rel) {
		return false, err
	}
	name := ctx.Catalog.Relation(rel).Columns[attr-1].Name
	st, err := parse.One(v.ViewDef)
	if err != nil {
		return false, err
	}
	c := *ctx
	c.Source, c.ParamTypes = "", nil
	if q, _, err := Bind(&c, st.AST); err == nil {
		for _, p := range planner.Permissions(ctx.Catalog, q) {
			if p.Rel != nil && p.Rel.OID == rel && p.CheckAs == 0 && slices.Contains(p.Attrs, attr) {
				return true, nil
			}
		}
		return false, nil
	}
	used := false
	eachMessage(st.AST.ProtoReflect(), func(m proto.Message) {
		if c, ok := m.(*pg.ColumnRef); ok {
			last := c.Fields[len(c.Fields)-1]
			used = used || last.GetAStar() != nil || last.GetString_().GetSval() == name
		}
	})
	return used, nil
}

// RebaseView gives the text of a view's query after relations or columns were
// renamed: before and after are contexts over the catalogues around the change.
func RebaseView(before, after *planner.Context, v *catalog.Relation) (string, error) {
	st, err := parse.One(v.ViewDef)
	if err != nil {
		return "", err
	}
	tree := st.AST
	c := *before
	c.Source, c.ParamTypes = "", nil
	f, _, bindErr := bindFrozen(&c, tree)
	if bindErr == nil {
		renameFrozen(tree, f, before, after)
	}
	renamed := map[string]string{}
	eachRangeVar(tree, func(rv *pg.RangeVar) {
		old := resolve(before, rv)
		if old == nil {
			return
		}
		now := after.Catalog.Relation(old.OID)
		if now == nil {
			return
		}
		if rv.Alias == nil {
			rv.Alias = &pg.Alias{Aliasname: rv.Relname}
		}
		rv.Schemaname, rv.Relname = after.Catalog.Schema(now.Schema).Name, now.Name
		for i, c := range old.Columns {
			if i < len(now.Columns) && now.Columns[i].Name != c.Name && !now.Columns[i].Dropped {
				renamed[c.Name] = now.Columns[i].Name
			}
		}
	})
	if len(renamed) > 0 && bindErr != nil { // the text is not understood: by names alone
		renameColumns(tree, renamed)
	}
	return deparse(tree)
}

// renameColumns renames column references; an output column that had its name
// from the reference keeps it by an alias.
func renameColumns(tree *pg.Node, renamed map[string]string) {
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		if rt, ok := m.(*pg.ResTarget); ok && rt.Name == "" {
			if c := rt.Val.GetColumnRef(); c != nil {
				name := c.Fields[len(c.Fields)-1].GetString_().GetSval()
				if _, ok := renamed[name]; ok {
					rt.Name = name
				}
			}
		}
	})
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		if c, ok := m.(*pg.ColumnRef); ok {
			if s := c.Fields[len(c.Fields)-1].GetString_(); s != nil {
				if to, ok := renamed[s.Sval]; ok {
					s.Sval = to
				}
			}
		}
	})
}

// RenameInText renames a column in the text of an expression over a table's row.
func RenameInText(text, from, to string) (string, error) {
	n, err := parse.Expression(text)
	if err != nil {
		return "", err
	}
	renameColumns(n, map[string]string{from: to})
	return deparseExpr(n)
}

// RenameInRelation renames a column in the texts of a relation's own definitions.
// rel must be the caller's copy.
func RenameInRelation(rel *catalog.Relation, from, to string) error {
	names := map[string]string{from: to}
	change := func(text *string) error {
		if *text == "" {
			return nil
		}
		n, err := parse.Expression(*text)
		if err != nil {
			return err
		}
		before := proto.Clone(n)
		renameColumns(n, names)
		if proto.Equal(before, n) {
			return nil
		}
		*text, err = deparseExpr(n)
		return err
	}
	for _, c := range rel.Columns {
		if c.Generated != 0 {
			if err := change(&c.Default); err != nil {
				return err
			}
		}
	}
	for i, c := range rel.Checks {
		cc := *c
		if err := change(&cc.Expr); err != nil {
			return err
		}
		rel.Checks[i] = &cc
	}
	for i, s := range rel.Statistics {
		c := *s
		c.Exprs = slices.Clone(s.Exprs)
		for k := range c.Exprs {
			if err := change(&c.Exprs[k]); err != nil {
				return err
			}
		}
		rel.Statistics[i] = &c
	}
	for _, ix := range rel.Indexes {
		ix.Keys = slices.Clone(ix.Keys)
		for i := range ix.Keys {
			if err := change(&ix.Keys[i].Expr); err != nil {
				return err
			}
		}
		if err := change(&ix.Predicate); err != nil {
			return err
		}
	}
	if p := rel.Partitioning; p != nil {
		cp := *p
		cp.Keys = slices.Clone(p.Keys)
		for i := range cp.Keys {
			if err := change(&cp.Keys[i].Expr); err != nil {
				return err
			}
		}
		rel.Partitioning = &cp
	}
	return nil
}

func deparseExpr(n *pg.Node) (string, error) {
	text, err := deparse(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		TargetList:  []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: n}}}},
		LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE}}})
	if err != nil {
		return "", err
	}
	return text[len("SELECT "):], nil
}
