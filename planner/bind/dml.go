package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// dmlTarget is the table a statement writes, seen through views if it names one.
type dmlTarget struct {
	item   *nsItem
	named  *catalog.Relation // what the statement names: the table or the view
	base   *catalog.Relation
	quals  []expr.Expr // the views' conditions, over the base table
	checks []planner.ViewCheck
}

// guard puts the views' conditions before the statement's own when one of the views
// is a security barrier.
func (t *dmlTarget) guard() {
	t.item.rte().SecurityQuals, t.quals = t.quals, nil
}

// verbs for errors about views.
var dmlVerbs = map[planner.Command][3]string{
	planner.CmdInsert: {"insert into", "inserting into", "INSERT"},
	planner.CmdUpdate: {"update", "updating", "UPDATE"},
	planner.CmdDelete: {"delete from", "deleting from", "DELETE"},
	planner.CmdMerge:  {"merge into", "merging into", "MERGE"},
}

// openTarget is setTargetTable: finds the table and adds it to the range table.
// It is not yet visible to names.
func (s *scope) openTarget(rv *pg.RangeVar, priv byte) *dmlTarget {
	b, q := s.b, s.q
	rel, v := b.findRelation(rv)
	if rel == nil && v == nil {
		b.relationMissing(rv)
	}
	if v != nil {
		b.fail(-1, pgerror.InsufficientPrivilege, `permission denied: "%s" is a system catalog`, v.Rel.Name)
	}
	switch rel.Kind {
	case catalog.KindTable, catalog.KindPartitioned, catalog.KindView:
	case catalog.KindSequence:
		b.fail(-1, pgerror.WrongObjectType, `cannot change sequence "%s"`, rel.Name)
	case catalog.KindMatView:
		b.fail(-1, pgerror.WrongObjectType, `cannot change materialized view "%s"`, rel.Name)
	case catalog.KindComposite:
		panic(b.errAt(rv.Location, pgerror.WrongObjectType, `cannot open relation "%s"`, rel.Name).WithDetail("This operation is not supported for composite types."))
	default:
		b.fail(-1, pgerror.WrongObjectType, `cannot change relation "%s"`, rel.Name)
	}
	t := &dmlTarget{named: rel, base: rel}
	alias := rel.Name
	if rv.Alias != nil {
		alias = rv.Alias.Aliasname
	}
	checkAs, barrier, only := b.checkAs, false, !rv.Inh
	var cols []nsCol
	if rel.Kind == catalog.KindView {
		vt := b.viewTarget(rel, q.Command)
		t.base, t.quals, t.checks = vt.base, vt.quals, vt.checks
		cols, checkAs, barrier, only = vt.cols, vt.checkAs, vt.barrier, vt.only
		q.Through = append([]*planner.ViewUse{{View: rel, CheckAs: b.checkAs}}, vt.through...)
	}
	r := &planner.RTE{Kind: planner.RTERelation, Rel: t.base, Alias: alias, CheckAs: checkAs, RequiredPrivs: string(priv), Only: only}
	addColumns(r, t.base)
	it := s.addRTE(r)
	it.alias, it.aliased = alias, rv.Alias != nil
	it.relOID, it.schema = rel.OID, rel.Schema
	if cols != nil {
		// Column expressions are over range-table entry 0 of the view.
		for i := range cols {
			cols[i].e = moveRel(cols[i].e, it.rel)
		}
		it.cols = cols
		use := q.Through[0]
		use.Attrs = map[int16]int16{}
		for i := range cols {
			if v, ok := cols[i].e.(*planner.Var); ok && v.Col >= 0 {
				use.Attrs[r.Attrs[v.Col]] = cols[i].attr
			}
		}
		it.through = use
		for i := range t.quals {
			t.quals[i] = moveRel(t.quals[i], it.rel)
		}
	}
	t.item = it
	if barrier {
		t.guard()
	}
	q.ResultRel = it.rel
	s.target = it
	q.WriteInfo = b.target(t.base)
	q.WriteInfo.ViewChecks = t.checks
	return t
}

// moveRel renumbers range-table entry 0 of an expression.
func moveRel(e expr.Expr, rel int) expr.Expr {
	return mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Level != depth || v.Rel != 0 {
			return v
		}
		c := *v
		c.Rel = rel
		return &c
	})
}

// viewTarget looks through an automatically updatable view.
type viewTarget struct {
	base   *catalog.Relation
	cols   []nsCol
	quals  []expr.Expr
	checks []planner.ViewCheck
	own    []viewQual
	// barrier: one of the views is a security barrier.
	barrier bool
	// checkAs is whose privileges on the base table count, through the views below.
	checkAs sqltypes.OID
	through []*planner.ViewUse
	only    bool // base without what inherits from it
}

type viewQual struct {
	cond expr.Expr
	name string
}

func (b *binder) viewTarget(rel *catalog.Relation, cmd planner.Command) *viewTarget {
	q := b.viewQuery(rel)
	verb := dmlVerbs[cmd]
	refuse := func(detail string) {
		panic(pgerror.New(pgerror.ObjectNotInPrerequisiteState, `cannot %s view "%s"`, verb[0], rel.Name).
			WithDetail("%s", detail).
			WithHint("To enable %s the view, provide an INSTEAD OF %s trigger or an unconditional ON %s DO INSTEAD rule.", verb[1], verb[2], verb[2]))
	}
	if cmd == planner.CmdMerge {
		panic(pgerror.New(pgerror.FeatureNotSupported, `cannot execute MERGE on relation "%s"`, rel.Name).WithDetail("This operation is not supported for views."))
	}
	switch {
	case q.Distinct:
		refuse("Views containing DISTINCT are not automatically updatable.")
	case len(q.GroupBy) > 0 || q.GroupSets != nil:
		refuse("Views containing GROUP BY are not automatically updatable.")
	case q.Having != nil:
		refuse("Views containing HAVING are not automatically updatable.")
	case q.SetOp != nil:
		refuse("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.")
	case len(q.CTEs) > 0:
		refuse("Views containing WITH are not automatically updatable.")
	case q.Limit != nil || q.Offset != nil:
		refuse("Views containing LIMIT or OFFSET are not automatically updatable.")
	case q.HasAggs:
		refuse("Views that return aggregate functions are not automatically updatable.")
	case q.HasWindow:
		refuse("Views that return window functions are not automatically updatable.")
	case q.HasTargetSRF:
		refuse("Views that return set-returning functions are not automatically updatable.")
	}
	if len(q.From) != 1 || q.From[0].Join != nil || len(q.Range) != 1 {
		refuse("Views that do not select from a single table or view are not automatically updatable.")
	}
	r := q.Range[0]
	out := &viewTarget{barrier: rel.ViewOptions.SecurityBarrier}
	inner := func(e expr.Expr) expr.Expr { return e }
	switch {
	case r.Kind == planner.RTERelation && r.Sample == nil && (r.Rel.Kind == catalog.KindTable || r.Rel.Kind == catalog.KindPartitioned):
		out.base, out.checkAs, out.only = r.Rel, r.CheckAs, r.Only
	case r.Kind == planner.RTESubquery && r.ViewOID != 0:
		in := b.viewTarget(r.Rel, cmd)
		out.base, out.quals, out.checks, out.own, out.only = in.base, in.quals, in.checks, in.own, in.only
		out.barrier = out.barrier || in.barrier
		out.checkAs, out.through = in.checkAs, append([]*planner.ViewUse{{View: r.Rel, CheckAs: r.CheckAs}}, in.through...)
		inner = func(e expr.Expr) expr.Expr {
			return mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
				if v.Level != depth || v.Rel != 0 || v.Col < 0 {
					return v
				}
				return shiftLevels(in.cols[v.Col].e, depth)
			})
		}
	default:
		refuse("Views that do not select from a single table or view are not automatically updatable.")
	}
	names := make([]*catalog.Column, 0, len(rel.Columns))
	for _, c := range rel.Columns {
		if !c.Dropped {
			names = append(names, c)
		}
	}
	k := 0
	for _, t := range q.Targets {
		if t.Junk {
			continue
		}
		c := nsCol{name: t.Name, e: inner(t.Expr), table: rel.OID, attr: int16(k + 1)}
		if k < len(names) {
			c.name, c.attr = names[k].Name, names[k].Num
		}
		out.cols = append(out.cols, c)
		k++
	}
	if q.Where != nil {
		w := inner(q.Where)
		out.quals = append(out.quals, w)
		out.own = append(out.own, viewQual{w, rel.Name})
	}
	switch rel.ViewOptions.CheckOption {
	case 'c':
		for _, vq := range out.own {
			out.checks = append(out.checks, planner.ViewCheck{View: rel.Name, Cond: b.varsToCols(vq.cond, out.base)})
		}
	case 'l':
		if q.Where != nil {
			out.checks = append(out.checks, planner.ViewCheck{View: rel.Name, Cond: b.varsToCols(inner(q.Where), out.base)})
		}
	}
	return out
}

// varsToCols turns references to range-table entry 0 into expr.Cols over a row of rel.
func (b *binder) varsToCols(e expr.Expr, rel *catalog.Relation) expr.Expr {
	planner.Visit(e, func(x expr.Expr) bool {
		if _, ok := x.(*planner.SubLink); ok {
			b.unsupported(-1, "WITH CHECK OPTION over a condition with a subquery")
		}
		return true
	})
	r := &planner.RTE{}
	addColumns(r, rel)
	return mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Col < 0 {
			b.unsupported(-1, "WITH CHECK OPTION over a whole row")
		}
		return &expr.Col{T: v.T, Idx: int(r.Attrs[v.Col]) - 1, Name: v.Name}
	})
}

// column finds a column of the target by name: its attribute in the base table.
func (s *scope) targetColumn(t *dmlTarget, name string, loc int32) (*catalog.Column, *catalog.Column) {
	b := s.b
	var named *catalog.Column
	live := -1
	k := 0
	for _, c := range t.named.Columns {
		if c.Dropped {
			continue
		}
		if c.Name == name {
			named, live = c, k
		}
		k++
	}
	if named == nil {
		if _, ok := systemColumns[name]; ok {
			b.fail(loc, pgerror.FeatureNotSupported, `cannot assign to system column "%s"`, name)
		}
		b.fail(loc, pgerror.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name, t.named.Name)
	}
	if t.item.cols == nil {
		return named, named
	}
	return named, s.baseColumn(t, live, named)
}

// baseColumn maps a view's column to the base table's.
func (s *scope) baseColumn(t *dmlTarget, live int, named *catalog.Column) *catalog.Column {
	v, ok := t.item.cols[live].e.(*planner.Var)
	if !ok || v.Rel != t.item.rel || v.Level != 0 {
		panic(pgerror.New(pgerror.FeatureNotSupported, `cannot %s column "%s" of view "%s"`, dmlVerbs[s.q.Command][0], named.Name, t.named.Name).
			WithDetail("View columns that are not columns of their base relation are not updatable."))
	}
	if v.Col < 0 {
		panic(pgerror.New(pgerror.FeatureNotSupported, `cannot %s column "%s" of view "%s"`, dmlVerbs[s.q.Command][0], named.Name, t.named.Name).
			WithDetail("View columns that refer to system columns are not updatable."))
	}
	return t.base.Columns[t.item.rte().Attrs[v.Col]-1]
}

// assigned is transformAssignedExpr: e coerced to a column's type; col's
// indirection (a[1], a.f) makes the new value of the whole column from base.
func (s *scope) assigned(e expr.Expr, n *pg.Node, c *catalog.Column, indirection []*pg.Node, base expr.Expr, loc int32) expr.Expr {
	b := s.b
	if len(indirection) > 0 {
		if base == nil {
			base = s.nullConst(c.Type.OID)
		}
		return s.assignInto(base, c.Name, false, c.Type, indirection, e, n, loc)
	}
	r := s.coerceToTarget(e, c.Type.OID, c.Type.TypMod, assignment, exprLoc(n))
	if r == nil {
		panic(b.errAt(exprLoc(n), pgerror.DatatypeMismatch, `column "%s" is of type %s but expression is of type %s`, c.Name, b.typeName(c.Type.OID), b.typeName(typeOf(e))).
			WithHint("You will need to rewrite or cast the expression."))
	}
	return r
}

// assignSource yields the value that a subscripted assignment stores.
type assignSource struct {
	value func(s *scope, need sqltypes.OID, typmod int32) expr.Expr
}

// assignInto is transformAssignmentIndirection.
func (s *scope) assignInto(base expr.Expr, name string, subscripting bool, ct sqltypes.ColumnType, ind []*pg.Node, e expr.Expr, n *pg.Node, loc int32) expr.Expr {
	b := s.b
	if len(ind) == 0 {
		r := s.coerceToTarget(e, ct.OID, ct.TypMod, assignment, exprLoc(n))
		if r == nil && b.vars != nil {
			r = s.throughText(e, e.Type(), ct)
		}
		if r == nil {
			if subscripting {
				panic(b.errAt(loc, pgerror.DatatypeMismatch, `subscripted assignment to "%s" requires type %s but expression is of type %s`, name, b.typeName(ct.OID), b.typeName(typeOf(e))).
					WithHint("You will need to rewrite or cast the expression."))
			}
			panic(b.errAt(loc, pgerror.DatatypeMismatch, `subfield "%s" is of type %s but expression is of type %s`, name, b.typeName(ct.OID), b.typeName(typeOf(e))).
				WithHint("You will need to rewrite or cast the expression."))
		}
		return r
	}
	var subs []*pg.A_Indices
	for len(ind) > 0 && ind[0].GetAIndices() != nil {
		subs = append(subs, ind[0].GetAIndices())
		ind = ind[1:]
	}
	if len(subs) > 0 {
		rest := ind
		src := &assignSource{value: func(s *scope, need sqltypes.OID, typmod int32) expr.Expr {
			elem := b.columnTypeMod(need, typmod)
			var inner expr.Expr
			if len(rest) > 0 {
				inner = s.subscript(base, subs, nil, noTypMod, loc)
			}
			return s.assignInto(inner, name, true, elem, rest, e, n, loc)
		}}
		out := s.subscript(base, subs, src, ct.TypMod, loc)
		if typeOf(out) != ct.OID {
			return s.coerce(out, ct.OID, ct.TypMod, assignment, loc)
		}
		return out
	}
	if ind[0].GetAStar() != nil {
		b.fail(loc, pgerror.FeatureNotSupported, "row expansion via \"*\" is not supported here")
	}
	f := strOf(ind[0])
	t := b.composite(ct.OID)
	if t == nil {
		b.fail(loc, pgerror.DatatypeMismatch, `cannot assign to field "%s" of column "%s" because its type %s is not a composite type`, f, name, b.typeName(ct.OID))
	}
	out := &expr.RowCtor{T: tt(sqltypes.ColumnType{OID: t.OID, TypMod: noTypMod})}
	found := false
	for i, fl := range t.Fields {
		var old expr.Expr = &expr.Field{T: tt(fl.ColumnType), Arg: base, Num: i}
		if rc, ok := base.(*expr.RowCtor); ok {
			old = rc.Fields[i]
		}
		if fl.Name == f {
			found = true
			old = s.assignInto(old, f, false, fl.ColumnType, ind[1:], e, n, loc)
		}
		out.Fields = append(out.Fields, old)
		out.Names = append(out.Names, fl.Name)
	}
	if !found {
		b.fail(loc, pgerror.UndefinedColumn, `cannot assign to field "%s" of column "%s" because there is no such column in data type %s`, f, name, b.typeName(ct.OID))
	}
	if t.OID != ct.OID {
		return s.coerce(out, ct.OID, ct.TypMod, assignment, loc)
	}
	return out
}

// returning is transformReturningList.
func (s *scope) returning(list []*pg.Node) {
	if len(list) == 0 {
		return
	}
	tl := s.targetList(list, kindReturning)
	if len(tl) == 0 {
		s.b.fail(exprLoc(list[0]), pgerror.SyntaxError, "RETURNING must have at least one column")
	}
	s.unknownsToText(tl)
	s.q.Returning = (&targetBuilder{s: s, list: tl}).targets()
}

func and(list ...expr.Expr) expr.Expr {
	var out []expr.Expr
	for _, e := range list {
		if e != nil {
			out = append(out, e)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return &expr.And{T: boolT, Args: out}
}
