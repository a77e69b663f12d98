package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// aggregate is transformAggregateCall with check_agglevels_and_constraints.
func (s *scope) aggregate(a *expr.Agg, fc *pg.FuncCall, args []expr.Expr, nodes []*pg.Node, loc int32) expr.Expr {
	b := s.b
	var filter expr.Expr
	if fc != nil {
		if fc.AggFilter != nil {
			filter = s.whereClause(fc.AggFilter, kindFilter, "FILTER")
		}
		a.Star, a.Distinct = fc.AggStar, fc.AggDistinct
	}
	a.Filter = filter
	a.Args = args
	var sorts []*pg.Node
	if fc != nil {
		sorts = fc.AggOrder
	}
	if fc != nil && fc.AggWithinGroup {
		n := len(args) - len(sorts)
		a.Direct, a.Args = args[:n:n], args[n:]
		for i, o := range sorts {
			sb := o.GetSortBy()
			if isUnknownExpr(a.Args[i]) {
				a.Args[i] = s.coerce(a.Args[i], sqltypes.OIDText, noTypMod, implicit, exprLoc(sb.Node))
			}
			a.ArgSorts = append(a.ArgSorts, s.aggSort(sb, i, typeOf(a.Args[i])))
		}
		sorts = nil
	}
	if len(sorts) > 0 || a.Distinct {
		for i, x := range a.Args {
			if isUnknownExpr(x) {
				a.Args[i] = s.coerce(x, sqltypes.OIDText, noTypMod, implicit, exprLoc(nodeAt(nodes, i)))
			}
		}
		// ORDER BY may name an argument or add a hidden one.
		extra := append([]expr.Expr(nil), a.Args...)
		for _, o := range sorts {
			sb := o.GetSortBy()
			e := s.exprKindOf(sb.Node, kindOrderBy)
			if isUnknownExpr(e) {
				e = s.coerce(e, sqltypes.OIDText, noTypMod, implicit, exprLoc(sb.Node))
			}
			at := -1
			for i, x := range extra {
				if equalExpr(x, e) || equalExpr(stripImplicit(x), e) {
					at = i
					break
				}
			}
			if at < 0 {
				if a.Distinct {
					b.fail(exprLoc(sb.Node), pgerror.InvalidColumnReference, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list")
				}
				extra = append(extra, e)
				at = len(extra) - 1
			}
			a.ArgSorts = append(a.ArgSorts, s.aggSort(sb, at, typeOf(extra[at])))
		}
		if a.Distinct {
			for i, x := range a.Args {
				if lt, _ := b.sortOperators(typeOf(x), false, exprLoc(nodeAt(nodes, i))); lt == nil {
					panic(b.errAt(exprLoc(nodeAt(nodes, i)), pgerror.UndefinedFunction, "could not identify an ordering operator for type %s", b.typeName(typeOf(x))).
						WithDetail("Aggregates with DISTINCT must be able to sort their inputs."))
				}
			}
		}
		a.Args = extra
	}
	// Which query does it belong to?
	lv := levelOf{minVar: -1, minAgg: -1}
	for _, x := range a.Args {
		lv.expr(x, 0)
	}
	if filter != nil {
		lv.expr(filter, 0)
	}
	level := 0
	switch {
	case lv.minVar < 0 && lv.minAgg >= 0:
		level = lv.minAgg
	case lv.minVar >= 0 && lv.minAgg < 0:
		level = lv.minVar
	case lv.minVar >= 0:
		level = min(lv.minVar, lv.minAgg)
	}
	if lv.minAgg >= 0 && level == lv.minAgg {
		l := firstAggLoc(b, nodes)
		if l < 0 {
			l = loc
		}
		b.fail(l, pgerror.GroupingError, "aggregate function calls cannot be nested")
	}
	if lv.window {
		b.fail(firstFuncLocList(nodes, loc), pgerror.GroupingError, "aggregate function calls cannot contain window function calls")
	}
	if s.hasSRF {
		for i, x := range a.Args {
			if returnsSet(x) {
				panic(b.errAt(exprLoc(nodeAt(nodes, i)), pgerror.FeatureNotSupported, "aggregate function calls cannot contain set-returning function calls").
					WithHint("You might be able to move the set-returning function into a LATERAL FROM item."))
			}
		}
	}
	a.Level = level
	for _, d := range a.Direct {
		dv := levelOf{minVar: -1, minAgg: -1}
		dv.expr(d, 0)
		if dv.minVar >= 0 && dv.minVar < level {
			b.fail(loc, pgerror.GroupingError, "outer-level aggregate cannot contain a lower-level variable in its direct arguments")
		}
		if dv.minAgg >= 0 && dv.minAgg <= level {
			b.fail(loc, pgerror.GroupingError, "aggregate function calls cannot be nested")
		}
	}
	p := s
	for i := 0; i < level; i++ {
		p = p.parent
	}
	p.hasAggs = true
	if p.kind == kindFromSubselect {
		b.fail(loc, pgerror.GroupingError, "aggregate functions are not allowed in FROM clause of their own query level")
	}
	if !p.kind.allowsAggs() {
		b.fail(loc, pgerror.GroupingError, "aggregate functions are not allowed in %s", p.kind.place())
	}
	return a
}

func (s *scope) aggSort(sb *pg.SortBy, arg int, t sqltypes.OID) expr.SortItem {
	loc := exprLoc(sb.Node)
	s.b.sortOperators(t, true, loc)
	it := expr.SortItem{Arg: arg}
	switch sb.SortbyDir {
	case pg.SortByDir_SORTBY_DESC:
		it.Desc = true
	case pg.SortByDir_SORTBY_USING:
		lt, desc := s.usingOperator(sb, t, loc)
		if lt != nil {
			s.b.unsupported(loc, "a non-default ordering operator in an aggregate")
		}
		it.Desc = desc
	}
	switch sb.SortbyNulls {
	case pg.SortByNulls_SORTBY_NULLS_FIRST:
		it.NullsFirst = true
	case pg.SortByNulls_SORTBY_NULLS_LAST:
	default:
		it.NullsFirst = it.Desc
	}
	return it
}

// levelOf finds the innermost query levels that an expression's columns and
// aggregates belong to (check_agg_arguments), seen from the expression's place.
type levelOf struct {
	minVar, minAgg int
	window         bool
}

func (l *levelOf) expr(e expr.Expr, depth int) {
	planner.Visit(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *planner.Var:
			if lv := n.Level - depth; lv >= 0 && (l.minVar < 0 || lv < l.minVar) {
				l.minVar = lv
			}
		case *expr.Agg:
			if lv := n.Level - depth; lv >= 0 && (l.minAgg < 0 || lv < l.minAgg) {
				l.minAgg = lv
			}
		case *expr.Grouping:
			if lv := n.Level - depth; lv >= 0 && (l.minAgg < 0 || lv < l.minAgg) {
				l.minAgg = lv
			}
		case *expr.Window:
			if depth == 0 {
				l.window = true
			}
		case *planner.SubLink:
			l.query(n.Sub, depth+1)
		}
		return true
	})
}

func (l *levelOf) query(q *planner.Query, depth int) {
	planner.VisitQuery(q, func(e expr.Expr) { l.expr(e, depth) }, func(sub *planner.Query) { l.query(sub, depth+1) })
}

func hasAgg(e expr.Expr) bool {
	l := levelOf{minVar: -1, minAgg: -1}
	l.expr(e, 0)
	return l.minAgg == 0
}

func hasWindow(e expr.Expr) bool {
	l := levelOf{minVar: -1, minAgg: -1}
	l.expr(e, 0)
	return l.window
}

// firstAggLoc is the place of the first aggregate call below the nodes.
func firstAggLoc(b *binder, nodes []*pg.Node) int32 {
	out := int32(-1)
	for _, n := range nodes {
		parse.Walk(n, func(x *pg.Node) bool {
			fc := x.GetFuncCall()
			if fc == nil || out >= 0 {
				return out < 0
			}
			for _, p := range sqltypes.ProcsByName(strOf(fc.Funcname[len(fc.Funcname)-1])) {
				if p.Kind == 'a' {
					out = fc.Location
				}
			}
			return out < 0
		})
	}
	return out
}

func firstFuncLocList(nodes []*pg.Node, def int32) int32 {
	for _, n := range nodes {
		if l := firstFuncLoc(n); l >= 0 {
			return l
		}
	}
	return def
}

// firstFuncLoc is the place of the first function call below n.
func firstFuncLoc(n *pg.Node) int32 {
	out := int32(-1)
	parse.Walk(n, func(x *pg.Node) bool {
		if fc := x.GetFuncCall(); fc != nil && out < 0 {
			out = fc.Location
		}
		return out < 0
	})
	return out
}

// firstColumnLoc is the place of the first reference to a column of that name ("" any).
func firstColumnLoc(n *pg.Node, name string) int32 {
	out := int32(-1)
	parse.Walk(n, func(x *pg.Node) bool {
		c := x.GetColumnRef()
		if c == nil || out >= 0 {
			return out < 0
		}
		last := c.Fields[len(c.Fields)-1]
		if name == "" || last.GetAStar() != nil || strOf(last) == name {
			out = c.Location
		}
		return out < 0
	})
	return out
}

type pendingGrouping struct {
	node *expr.Grouping
	args []expr.Expr
	locs []int32
}

// groupingFunc is transformGroupingFunc: resolved when GROUP BY is known.
func (s *scope) groupingFunc(x *pg.GroupingFunc) expr.Expr {
	b := s.b
	if len(x.Args) > 31 {
		b.fail(x.Location, pgerror.TooManyArguments, "GROUPING must have fewer than 32 arguments")
	}
	g := &expr.Grouping{T: tt(b.columnType(sqltypes.OIDInt4))}
	pend := pendingGrouping{node: g}
	lv := levelOf{minVar: -1, minAgg: -1}
	for _, a := range x.Args {
		e := s.expr(a)
		lv.expr(e, 0)
		pend.args = append(pend.args, e)
		pend.locs = append(pend.locs, exprLoc(a))
	}
	if lv.minVar > 0 {
		g.Level = lv.minVar
	}
	p := s
	for i := 0; i < g.Level; i++ {
		p = p.parent
	}
	if !p.kind.allowsAggs() {
		b.fail(x.Location, pgerror.GroupingError, "grouping operations are not allowed in %s", p.kind.place())
	}
	p.hasAggs = true
	for i := range pend.args {
		pend.args[i] = shiftDown(pend.args[i], g.Level)
	}
	p.groupings = append(p.groupings, pend)
	return g
}

// shiftDown lowers the levels of all outer Vars by n.
func shiftDown(e expr.Expr, n int) expr.Expr { return shiftLevels(e, -n) }

// checkAggregates is parseCheckAggregates.
func (s *scope) checkAggregates(list []target, x *pg.SelectStmt) {
	c := &groupCheck{s: s}
	for _, i := range s.q.GroupBy {
		c.groups = append(c.groups, list[i].Expr)
	}
	common := map[int]bool{}
	for i := range c.groups {
		common[i] = true
	}
	for _, set := range s.q.GroupSets {
		for i := range c.groups {
			if !contains(set, i) {
				delete(common, i)
			}
		}
	}
	for i, g := range c.groups {
		if v, ok := g.(*planner.Var); ok && common[i] {
			c.common = append(c.common, v)
		}
	}
	s.resolveGroupings(c.groups)
	if s.inRecursiveTerm() && s.hasAggs {
		s.b.fail(firstFuncLocList(x.TargetList, -1), pgerror.InvalidRecursion, "aggregate functions are not allowed in a recursive query's recursive term")
	}
	for _, t := range list {
		c.raw = t.raw
		c.walk(t.Expr, 0)
	}
	c.raw = x.HavingClause
	if s.q.Having != nil {
		c.walk(s.q.Having, 0)
	}
}

// resolveGroupings finds the arguments of GROUPING() among the grouping expressions.
func (s *scope) resolveGroupings(groups []expr.Expr) {
	for _, p := range s.groupings {
		for k, a := range p.args {
			at := -1
			for i, g := range groups {
				if equalExpr(a, g) {
					at = i
				}
			}
			if at < 0 {
				s.b.fail(p.locs[k], pgerror.GroupingError, "arguments to GROUPING must be grouping expressions of the associated query level")
			}
			p.node.Cols = append(p.node.Cols, at)
		}
	}
}

// groupCheck is check_ungrouped_columns_walker.
type groupCheck struct {
	s      *scope
	groups []expr.Expr
	common []*planner.Var
	raw    *pg.Node
	direct bool
}

func (c *groupCheck) walk(e expr.Expr, depth int) {
	switch n := e.(type) {
	case nil, *expr.Const, *expr.Param:
		return
	case *expr.Agg:
		if n.Level == depth {
			old := c.direct
			c.direct = true
			for _, d := range n.Direct {
				c.walk(d, depth)
			}
			c.direct = old
			return
		}
		if n.Level > depth {
			return
		}
	case *expr.Grouping:
		return
	case *planner.Var:
		if n.Level == depth {
			c.column(n, depth)
		}
		return
	}
	if depth == 0 {
		for _, g := range c.groups {
			if _, isVar := g.(*planner.Var); !isVar && equalExpr(e, g) {
				return
			}
		}
	}
	if sl, ok := e.(*planner.SubLink); ok {
		c.walkOpt(sl.Test, depth)
		c.query(sl.Sub, depth+1)
		return
	}
	planner.VisitChildren(e, func(x expr.Expr) { c.walk(x, depth) })
}

func (c *groupCheck) walkOpt(e expr.Expr, depth int) {
	if e != nil {
		c.walk(e, depth)
	}
}

func (c *groupCheck) query(q *planner.Query, depth int) {
	planner.VisitQuery(q, func(e expr.Expr) { c.walkOpt(e, depth) }, func(sub *planner.Query) { c.query(sub, depth+1) })
}

func (c *groupCheck) column(v *planner.Var, depth int) {
	for _, g := range c.groups {
		if gv, ok := g.(*planner.Var); ok && gv.Level == 0 && gv.Rel == v.Rel && gv.Col == v.Col {
			return
		}
	}
	s := c.s
	if v.Rel < 0 || v.Rel >= len(s.q.Range) {
		return
	}
	r := s.q.Range[v.Rel]
	if r.Kind == planner.RTERelation && c.dependsOnKey(r, v.Rel) {
		return
	}
	name := v.Name
	if v.Col >= 0 && v.Col < len(r.Cols) {
		name = r.Cols[v.Col].Name
	}
	if v.Col == -1 {
		name = "*"
	}
	loc := firstColumnLoc(c.raw, name)
	if loc < 0 {
		loc = firstColumnLoc(c.raw, "")
	}
	var err *pgerror.Error
	if depth == 0 {
		err = s.b.errAt(loc, pgerror.GroupingError, `column "%s.%s" must appear in the GROUP BY clause or be used in an aggregate function`, r.Alias, name)
		if c.direct {
			err.WithDetail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
		}
	} else {
		err = s.b.errAt(loc, pgerror.GroupingError, `subquery uses ungrouped column "%s.%s" from outer query`, r.Alias, name)
	}
	panic(err)
}

// dependsOnKey: every column of a table depends on its primary key, when all of
// that is grouped by.
func (c *groupCheck) dependsOnKey(r *planner.RTE, rel int) bool {
	for _, ix := range r.Rel.Indexes {
		if !ix.Primary || ix.Deferrable {
			continue
		}
		for _, k := range ix.Keys {
			ok := false
			for _, g := range c.common {
				if g.Level == 0 && g.Rel == rel && g.Col >= 0 && r.Attrs[g.Col] == k.Attr {
					ok = true
				}
			}
			if !ok {
				return false
			}
		}
		return true
	}
	return false
}
