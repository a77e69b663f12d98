package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// stripImplicit removes implicit coercions from the top of an expression.
func stripImplicit(e expr.Expr) expr.Expr {
	for {
		switch x := e.(type) {
		case *expr.Relabel:
			if x.Coercion == 'i' {
				e = x.Arg
				continue
			}
		case *expr.Call:
			if x.Coercion == 'i' && len(x.Args) > 0 {
				e = x.Args[0]
				continue
			}
		case *expr.CoerceViaIO:
			if x.Coercion == 'i' {
				e = x.Arg
				continue
			}
		case *expr.ArrayCoerce:
			if x.Coercion == 'i' {
				e = x.Arg
				continue
			}
		}
		return e
	}
}

// find92 is findTargetlistEntrySQL92: output names and positions, then expressions.
func (tl *targetBuilder) find92(n *pg.Node, k exprKind) int {
	s := tl.s
	b := s.b
	if c := n.GetColumnRef(); c != nil && len(c.Fields) == 1 && c.Fields[0].GetString_() != nil {
		name := strOf(c.Fields[0])
		if k == kindGroupBy && s.lookupColumn(name, true, c.Location) != nil {
			// For GROUP BY a column of FROM goes before an output name.
			name = ""
		}
		if name != "" {
			found := -1
			for i, t := range tl.list {
				if t.Junk || t.Name != name {
					continue
				}
				if found < 0 {
					found = i
				} else if !equalExpr(tl.list[found].Expr, t.Expr) {
					b.fail(c.Location, pgerror.AmbiguousColumn, `%s "%s" is ambiguous`, k.name(), name)
				}
			}
			if found >= 0 {
				tl.checkFound(found, k, c.Location)
				return found
			}
		}
	}
	if c := n.GetAConst(); c != nil {
		iv, ok := c.Val.(*pg.A_Const_Ival)
		if !ok && (c.Val != nil || c.Isnull) {
			b.fail(c.Location, pgerror.SyntaxError, "non-integer constant in %s", k.name())
		}
		want := 0
		if ok {
			want = int(iv.Ival.GetIval())
		}
		pos := 0
		for i, t := range tl.list {
			if t.Junk {
				continue
			}
			if pos++; pos == want {
				tl.checkFound(i, k, c.Location)
				return i
			}
		}
		b.fail(c.Location, pgerror.InvalidColumnReference, "%s position %d is not in select list", k.name(), want)
	}
	return tl.find99(n, k)
}

func (tl *targetBuilder) checkFound(i int, k exprKind, loc int32) {
	if k != kindGroupBy {
		return
	}
	e := tl.list[i].Expr
	if tl.s.hasAggs && hasAgg(e) {
		tl.s.b.fail(tl.aggLoc(i, loc), pgerror.GroupingError, "aggregate functions are not allowed in %s", k.name())
	}
	if tl.s.hasWindow && hasWindow(e) {
		tl.s.b.fail(tl.aggLoc(i, loc), pgerror.WindowingError, "window functions are not allowed in %s", k.name())
	}
}

// aggLoc is the place of the first function call of target i.
func (tl *targetBuilder) aggLoc(i int, loc int32) int32 {
	if l := firstFuncLoc(tl.list[i].raw); l >= 0 {
		return l
	}
	return loc
}

// find99 is findTargetlistEntrySQL99: an expression, matched with a target or added.
func (tl *targetBuilder) find99(n *pg.Node, k exprKind) int {
	e := tl.s.exprKindOf(n, k)
	for i, t := range tl.list {
		if equalExpr(e, stripImplicit(t.Expr)) {
			return i
		}
	}
	tl.list = append(tl.list, target{planner.Target1{Expr: e, Junk: true}, n})
	return len(tl.list) - 1
}

// fixUnknown reads an unknown literal of a sorted or grouped target as text.
func (tl *targetBuilder) fixUnknown(i int) {
	if isUnknownExpr(tl.list[i].Expr) {
		tl.list[i].Expr = tl.s.coerce(tl.list[i].Expr, sqltypes.OIDText, noTypMod, implicit, exprLoc(tl.list[i].raw))
	}
}

// sortClause is transformSortClause; sql99 for window definitions.
func (s *scope) sortClause(list []*pg.Node, tl *targetBuilder, k exprKind, sql99 bool) []planner.SortItem {
	var out []planner.SortItem
	for _, n := range list {
		sb := n.GetSortBy()
		var i int
		if sql99 {
			i = tl.find99(sb.Node, k)
		} else {
			i = tl.find92(sb.Node, k)
		}
		item, dup := s.sortItem(sb, tl, i, out)
		if !dup {
			out = append(out, item)
		}
	}
	return out
}

// sortItem is addTargetToSortList; dup when the target is sorted by already.
func (s *scope) sortItem(sb *pg.SortBy, tl *targetBuilder, i int, have []planner.SortItem) (planner.SortItem, bool) {
	b := s.b
	tl.fixUnknown(i)
	t := typeOf(tl.list[i].Expr)
	item := planner.SortItem{Target: i}
	loc := sb.Location
	if loc < 0 || loc == 0 && sb.SortbyDir != pg.SortByDir_SORTBY_USING {
		loc = exprLoc(sb.Node)
	}
	switch sb.SortbyDir {
	case pg.SortByDir_SORTBY_DESC:
		b.sortOperators(t, true, loc)
		item.Desc = true
	case pg.SortByDir_SORTBY_USING:
		item.Lt, item.Desc = s.usingOperator(sb, t, loc)
	default:
		b.sortOperators(t, true, loc)
	}
	switch sb.SortbyNulls {
	case pg.SortByNulls_SORTBY_NULLS_FIRST:
		item.NullsFirst = true
	case pg.SortByNulls_SORTBY_NULLS_LAST:
	default:
		item.NullsFirst = item.Desc
	}
	for _, h := range have {
		if h.Target == i && h.Lt == item.Lt {
			return item, true
		}
	}
	return item, false
}

// usingOperator is ORDER BY x USING op: the default < or > of the type, or another
// btree order's.
func (s *scope) usingOperator(sb *pg.SortBy, t sqltypes.OID, loc int32) (*sqltypes.Proc, bool) {
	b := s.b
	op := b.binaryOperator(sb.UseOp, t, t, loc, false)
	for _, a := range sqltypes.OperatorFamilies(op.OID) {
		if a.Method != sqltypes.AMBtree || a.Strategy != sqltypes.BtreeLess && a.Strategy != sqltypes.BtreeGreater {
			continue
		}
		desc := a.Strategy == sqltypes.BtreeGreater
		lt, _ := b.sortOperators(t, false, loc)
		ltHere := sqltypes.FamilyOperator(a.Family, a.Left, a.Right, sqltypes.BtreeLess)
		if lt != nil && ltHere != nil && lt.OID == ltHere.OID {
			return nil, desc
		}
		if ltHere != nil {
			return ltHere.Proc, desc
		}
	}
	panic(b.errAt(loc, pgerror.WrongObjectType, "operator %s is not a valid ordering operator", fieldsString(sb.UseOp)).
		WithHint(`Ordering operators must be "<" or ">" members of btree operator families.`))
}

// distinctClause is transformDistinctClause and transformDistinctOnClause.
func (s *scope) distinctClause(x *pg.SelectStmt, tl *targetBuilder) {
	b, q := s.b, s.q
	if len(x.DistinctClause) == 0 {
		return
	}
	q.Distinct = true
	if len(x.DistinctClause) == 1 && x.DistinctClause[0].GetNode() == nil {
		for _, item := range q.Sort {
			if tl.list[item.Target].Junk {
				b.fail(exprLoc(tl.list[item.Target].raw), pgerror.InvalidColumnReference, "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
			}
		}
		for i := range tl.list {
			if !tl.list[i].Junk {
				tl.fixUnknown(i)
				b.sortOperators(typeOf(tl.list[i].Expr), false, exprLoc(tl.list[i].raw))
			}
		}
		return
	}
	on := map[int]bool{}
	var order []int
	var locs []int32
	for _, n := range x.DistinctClause {
		i := tl.find92(n, kindDistinctOn)
		tl.fixUnknown(i)
		if !on[i] {
			on[i] = true
			order = append(order, i)
			locs = append(locs, exprLoc(n))
		}
	}
	// The ORDER BY must begin with these, in any order.
	skipped := false
	for _, item := range q.Sort {
		if on[item.Target] {
			if skipped {
				b.fail(locOfTarget(item.Target, order, locs), pgerror.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
			}
			q.DistinctOn = append(q.DistinctOn, item.Target)
		} else {
			skipped = true
		}
	}
	for k, i := range order {
		seen := false
		for _, d := range q.DistinctOn {
			seen = seen || d == i
		}
		if seen {
			continue
		}
		if skipped {
			b.fail(locs[k], pgerror.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
		}
		b.sortOperators(typeOf(tl.list[i].Expr), false, locs[k])
		q.DistinctOn = append(q.DistinctOn, i)
	}
}

func locOfTarget(i int, order []int, locs []int32) int32 {
	for k, o := range order {
		if o == i {
			return locs[k]
		}
	}
	return -1
}

// limitClause is transformLimitClause for both bounds.
func (s *scope) limitClause(x *pg.SelectStmt) {
	one := func(n *pg.Node, k exprKind, name string) expr.Expr {
		if n == nil {
			return nil
		}
		e := s.exprKindOf(n, k)
		e = s.coerceSpecific(e, n, sqltypes.OIDInt8, name)
		s.refuseVars(e, n, name)
		return e
	}
	s.q.Offset = one(x.LimitOffset, kindOffset, "OFFSET")
	s.q.Limit = one(x.LimitCount, kindLimit, "LIMIT")
	if x.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES {
		if s.q.Limit != nil && isNullConst(s.q.Limit) {
			s.b.fail(-1, pgerror.InvalidRowCountInLimitClause, "row count cannot be null in FETCH FIRST ... WITH TIES clause")
		}
		s.q.WithTies = true
	}
	// LIMIT ALL and LIMIT NULL are no limit.
	if s.q.Limit != nil && isNullConst(s.q.Limit) {
		s.q.Limit = nil
	}
}

func (s *scope) refuseVars(e expr.Expr, n *pg.Node, construct string) {
	if hasLocalVars(e) {
		loc := exprLoc(n)
		if l := firstColumnLoc(n, ""); l >= 0 {
			loc = l
		}
		s.b.fail(loc, pgerror.InvalidColumnReference, "argument of %s must not contain variables", construct)
	}
}

// groupClause is transformGroupClause: GroupBy, and GroupSets expanded to plain sets.
func (s *scope) groupClause(list []*pg.Node, distinct bool, tl *targetBuilder) {
	if len(list) == 0 {
		return
	}
	b, q := s.b, s.q
	g := &grouper{s: s, tl: tl}
	var sets [][][]int // per GROUP BY item its alternative sets
	plain := true
	for _, n := range flattenRows(list) {
		if gs := n.GetGroupingSet(); gs != nil {
			if gs.Kind == pg.GroupingSetKind_GROUPING_SET_EMPTY {
				plain = false
				continue
			}
			plain = false
			sets = append(sets, g.expand(gs, true))
			continue
		}
		sets = append(sets, [][]int{{g.item(n)}})
	}
	if plain {
		return
	}
	// Several items combine as a cross product.
	out := [][]int{{}}
	for _, alt := range sets {
		if len(out)*len(alt) > 4096 {
			b.fail(-1, pgerror.StatementTooComplex, "too many grouping sets present (maximum %d)", 4096)
		}
		var next [][]int
		for _, a := range out {
			for _, c := range alt {
				next = append(next, union(a, c))
			}
		}
		out = next
	}
	if distinct {
		var kept [][]int
		for _, a := range out {
			dup := false
			for _, k := range kept {
				dup = dup || sameSet(a, k)
			}
			if !dup {
				kept = append(kept, a)
			}
		}
		out = kept
	}
	q.GroupSets = out
}

func union(a, c []int) []int {
	out := append([]int{}, a...)
	for _, x := range c {
		if !contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func contains(l []int, x int) bool {
	for _, y := range l {
		if x == y {
			return true
		}
	}
	return false
}

func sameSet(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !contains(b, x) {
			return false
		}
	}
	return true
}

// flattenRows: GROUP BY (a, b) is GROUP BY a, b.
func flattenRows(list []*pg.Node) []*pg.Node {
	var out []*pg.Node
	for _, n := range list {
		if r := n.GetRowExpr(); r != nil && r.RowFormat == pg.CoercionForm_COERCE_IMPLICIT_CAST {
			out = append(out, flattenRows(r.Args)...)
			continue
		}
		out = append(out, n)
	}
	return out
}

type grouper struct {
	s  *scope
	tl *targetBuilder
}

// item adds a grouping expression and returns its index in GroupBy.
func (g *grouper) item(n *pg.Node) int {
	s := g.s
	i := g.tl.find92(n, kindGroupBy)
	g.tl.fixUnknown(i)
	for k, t := range s.q.GroupBy {
		if t == i {
			return k
		}
	}
	s.b.sortOperators(typeOf(g.tl.list[i].Expr), false, exprLoc(n))
	s.q.GroupBy = append(s.q.GroupBy, i)
	return len(s.q.GroupBy) - 1
}

// group is one element of ROLLUP or CUBE: an expression or a parenthesised list.
func (g *grouper) group(n *pg.Node) []int {
	if r := n.GetRowExpr(); r != nil && r.RowFormat == pg.CoercionForm_COERCE_IMPLICIT_CAST {
		var out []int
		for _, a := range flattenRows(r.Args) {
			out = union(out, []int{g.item(a)})
		}
		return out
	}
	return []int{g.item(n)}
}

// expand lists the grouping sets that a GROUPING SETS, ROLLUP or CUBE stands for.
func (g *grouper) expand(gs *pg.GroupingSet, top bool) [][]int {
	switch gs.Kind {
	case pg.GroupingSetKind_GROUPING_SET_EMPTY:
		return [][]int{{}}
	case pg.GroupingSetKind_GROUPING_SET_ROLLUP:
		groups := make([][]int, len(gs.Content))
		for i, n := range gs.Content {
			groups[i] = g.group(n)
		}
		var out [][]int
		for k := len(groups); k >= 0; k-- {
			set := []int{}
			for _, x := range groups[:k] {
				set = union(set, x)
			}
			out = append(out, set)
		}
		return out
	case pg.GroupingSetKind_GROUPING_SET_CUBE:
		if len(gs.Content) > 12 {
			g.s.b.fail(gs.Location, pgerror.TooManyColumns, "CUBE is limited to 12 elements")
		}
		groups := make([][]int, len(gs.Content))
		for i, n := range gs.Content {
			groups[i] = g.group(n)
		}
		var out [][]int
		for m := 0; m < 1<<len(groups); m++ {
			set := []int{}
			for i := range groups {
				// The full set first, the empty one last.
				if m&(1<<(len(groups)-1-i)) == 0 {
					set = union(set, groups[i])
				}
			}
			out = append(out, set)
		}
		return out
	}
	var out [][]int
	for _, n := range gs.Content {
		if sub := n.GetGroupingSet(); sub != nil {
			out = append(out, g.expand(sub, false)...)
			continue
		}
		out = append(out, g.group(n))
	}
	return out
}

func lockName(st pg.LockClauseStrength) string {
	switch st {
	case pg.LockClauseStrength_LCS_FORKEYSHARE:
		return "FOR KEY SHARE"
	case pg.LockClauseStrength_LCS_FORSHARE:
		return "FOR SHARE"
	case pg.LockClauseStrength_LCS_FORNOKEYUPDATE:
		return "FOR NO KEY UPDATE"
	}
	return "FOR UPDATE"
}
