package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// cteInfo is a WITH query while its level is bound.
type cteInfo struct {
	node      *pg.CommonTableExpr
	q         *planner.CTEQuery
	recursive bool
	bound     bool // its columns are known
	inside    bool // its own query is being bound
	extra     int  // trailing columns of SEARCH and CYCLE, which * leaves out of the self reference
}

// withClause is transformWithClause.
func (s *scope) withClause(w *pg.WithClause) {
	b := s.b
	var list []*cteInfo
	for _, n := range w.Ctes {
		c := n.GetCommonTableExpr()
		for _, o := range list {
			if o.node.Ctename == c.Ctename {
				b.fail(c.Location, pgerror.DuplicateAlias, `WITH query name "%s" specified more than once`, c.Ctename)
			}
		}
		if c.Ctequery.GetMergeStmt() != nil {
			b.fail(c.Location, pgerror.FeatureNotSupported, "MERGE not supported in WITH query")
		}
		if c.Ctequery.GetSelectStmt() == nil {
			// A data-modifying query belongs to the statement's top level.
			if s.parent != nil {
				b.fail(c.Location, pgerror.FeatureNotSupported, "WITH clause containing a data-modifying statement must be at the top level")
			}
		}
		list = append(list, &cteInfo{node: c, q: &planner.CTEQuery{Name: c.Ctename, Materialized: materialized(c.Ctematerialized)}})
	}
	if !w.Recursive {
		for _, c := range list {
			s.futureCTEs = append(s.futureCTEs, c.node.Ctename)
		}
		for _, c := range list {
			s.bindCTE(c)
			s.ctes = append(s.ctes, c)
			s.futureCTEs = s.futureCTEs[1:]
		}
		return
	}
	for _, c := range s.sortCTEs(list) {
		s.ctes = append(s.ctes, c)
		s.bindCTE(c)
	}
}

func materialized(m pg.CTEMaterialize) byte {
	switch m {
	case pg.CTEMaterialize_CTEMaterializeAlways:
		return 'm'
	case pg.CTEMaterialize_CTEMaterializeNever:
		return 'n'
	}
	return 0
}

// sortCTEs orders WITH RECURSIVE items by who uses whom and marks those that use themselves.
func (s *scope) sortCTEs(list []*cteInfo) []*cteInfo {
	uses := make([]map[int]bool, len(list))
	for i, c := range list {
		uses[i] = map[int]bool{}
		for j, o := range list {
			if refersTo(c.node.Ctequery, o.node.Ctename) {
				uses[i][j] = true
			}
		}
		if uses[i][i] {
			c.recursive = true
			c.q.Recursive = true
			delete(uses[i], i)
		}
	}
	var out []*cteInfo
	done := make([]bool, len(list))
	for len(out) < len(list) {
		progress := false
		for i, c := range list {
			if done[i] {
				continue
			}
			ready := true
			for j := range uses[i] {
				ready = ready && done[j]
			}
			if ready {
				out = append(out, c)
				done[i], progress = true, true
				break
			}
		}
		if !progress {
			for i, c := range list {
				if !done[i] {
					s.b.fail(c.node.Location, pgerror.FeatureNotSupported, "mutual recursion between WITH items is not implemented")
				}
			}
		}
	}
	for _, c := range out {
		if c.recursive {
			s.checkRecursion(c)
		}
	}
	return out
}

// refersTo reports whether a tree has an unqualified reference to a name that no inner WITH hides.
func refersTo(n *pg.Node, name string) bool { return countRefs(n, name) > 0 }

func countRefs(n *pg.Node, name string) int {
	k := 0
	parse.Walk(n, func(x *pg.Node) bool {
		switch y := x.Node.(type) {
		case *pg.Node_RangeVar:
			if y.RangeVar.Schemaname == "" && y.RangeVar.Relname == name {
				k++
			}
		case *pg.Node_SelectStmt:
			if w := y.SelectStmt.WithClause; w != nil {
				for _, c := range w.Ctes {
					if c.GetCommonTableExpr().GetCtename() == name {
						return false
					}
				}
			}
		}
		return true
	})
	return k
}

func firstRefLoc(n *pg.Node, name string) int32 {
	out := int32(-1)
	parse.Walk(n, func(x *pg.Node) bool {
		if r := x.GetRangeVar(); r != nil && out < 0 && r.Schemaname == "" && r.Relname == name {
			out = r.Location
		}
		return out < 0
	})
	return out
}

func selectNode(x *pg.SelectStmt) *pg.Node {
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: x}}
}

// checkRecursion is checkWellFormedRecursion.
func (s *scope) checkRecursion(c *cteInfo) {
	b := s.b
	name := c.node.Ctename
	if c.node.Ctequery.GetSelectStmt() == nil {
		b.fail(c.node.Location, pgerror.InvalidRecursion, `recursive query "%s" must not contain data-modifying statements`, name)
	}
	x := c.node.Ctequery.GetSelectStmt()
	if x.Op != pg.SetOperation_SETOP_UNION {
		b.fail(c.node.Location, pgerror.InvalidRecursion, `recursive query "%s" does not have the form non-recursive-term UNION [ALL] recursive-term`, name)
	}
	if x.WithClause != nil {
		for _, w := range x.WithClause.Ctes {
			if l := firstRefLoc(w, name); l >= 0 {
				b.fail(l, pgerror.InvalidRecursion, `recursive reference to query "%s" must not appear within a subquery`, name)
			}
		}
	}
	if l := firstRefLoc(selectNode(x.Larg), name); l >= 0 && countRefs(selectNode(x.Larg), name) > 0 {
		b.fail(l, pgerror.InvalidRecursion, `recursive reference to query "%s" must not appear within its non-recursive term`, name)
	}
	refuse := func(n *pg.Node, what string) {
		if n != nil {
			b.fail(exprLoc(n), pgerror.FeatureNotSupported, "%s in a recursive query is not implemented", what)
		}
	}
	if len(x.SortClause) > 0 {
		refuse(x.SortClause[0], "ORDER BY")
	}
	refuse(x.LimitOffset, "OFFSET")
	refuse(x.LimitCount, "LIMIT")
	if len(x.LockingClause) > 0 {
		b.fail(-1, pgerror.FeatureNotSupported, "FOR UPDATE/SHARE in a recursive query is not implemented")
	}
	w := &recursionWalker{b: b, name: name}
	w.selectStmt(x.Rarg)
	if w.refs > 1 {
		b.fail(w.second, pgerror.InvalidRecursion, `recursive reference to query "%s" must not appear more than once`, name)
	}
}

// recursionWalker checks where the recursive term refers to itself.
type recursionWalker struct {
	b      *binder
	name   string
	refs   int
	second int32
}

func (w *recursionWalker) bad(n *pg.Node, where string) {
	if countRefs(n, w.name) > 0 {
		w.b.fail(firstRefLoc(n, w.name), pgerror.InvalidRecursion, `recursive reference to query "%s" must not appear within %s`, w.name, where)
	}
}

func (w *recursionWalker) selectStmt(x *pg.SelectStmt) {
	switch x.Op {
	case pg.SetOperation_SETOP_UNION:
		w.selectStmt(x.Larg)
		w.selectStmt(x.Rarg)
		return
	case pg.SetOperation_SETOP_INTERSECT:
		if x.All {
			w.bad(selectNode(x.Larg), "INTERSECT")
			w.bad(selectNode(x.Rarg), "INTERSECT")
		}
		w.selectStmt(x.Larg)
		w.selectStmt(x.Rarg)
		return
	case pg.SetOperation_SETOP_EXCEPT:
		if x.All {
			w.bad(selectNode(x.Larg), "EXCEPT")
		}
		w.bad(selectNode(x.Rarg), "EXCEPT")
		w.selectStmt(x.Larg)
		return
	}
	for _, f := range x.FromClause {
		w.from(f)
	}
	// Everything else is a subquery.
	c := &pg.SelectStmt{TargetList: x.TargetList, WhereClause: x.WhereClause, GroupClause: x.GroupClause, HavingClause: x.HavingClause,
		WindowClause: x.WindowClause, SortClause: x.SortClause, LimitCount: x.LimitCount, LimitOffset: x.LimitOffset, ValuesLists: x.ValuesLists, DistinctClause: x.DistinctClause}
	w.bad(selectNode(c), "a subquery")
	if x.WithClause != nil {
		for _, n := range x.WithClause.Ctes {
			if sel := n.GetCommonTableExpr().GetCtequery().GetSelectStmt(); sel != nil {
				w.selectStmt(sel)
			}
		}
	}
}

func (w *recursionWalker) from(n *pg.Node) {
	switch x := n.Node.(type) {
	case *pg.Node_RangeVar:
		if x.RangeVar.Schemaname == "" && x.RangeVar.Relname == w.name {
			if w.refs++; w.refs == 2 {
				w.second = x.RangeVar.Location
			}
		}
	case *pg.Node_RangeSubselect:
		w.selectStmt(x.RangeSubselect.Subquery.GetSelectStmt())
	case *pg.Node_JoinExpr:
		j := x.JoinExpr
		switch j.Jointype {
		case pg.JoinType_JOIN_LEFT:
			w.from(j.Larg)
			w.bad(j.Rarg, "an outer join")
		case pg.JoinType_JOIN_RIGHT:
			w.bad(j.Larg, "an outer join")
			w.from(j.Rarg)
		case pg.JoinType_JOIN_FULL:
			w.bad(j.Larg, "an outer join")
			w.bad(j.Rarg, "an outer join")
		default:
			w.from(j.Larg)
			w.from(j.Rarg)
		}
		if j.Quals != nil {
			w.bad(j.Quals, "a subquery")
		}
	default:
		w.bad(n, "a subquery")
	}
}

// bindCTE is analyzeCTE.
func (s *scope) bindCTE(c *cteInfo) {
	b := s.b
	if c.node.SearchClause != nil || c.node.CycleClause != nil {
		s.expandSearchCycle(c)
	}
	sub := b.newScope(s)
	sub.parentCTE = c
	c.inside = true
	q := sub.statement(c.node.Ctequery)
	c.inside = false
	c.q.Query = q
	if q.Command == planner.CmdSelect || len(q.Returning) > 0 {
		if !c.bound {
			s.cteColumns(c, queryColumns(q))
		} else {
			for i, col := range queryColumns(q) {
				have := c.q.Cols[i].Type
				if col.Type.OID != have.OID || col.Type.TypMod != have.TypMod {
					panic(b.errAt(s.targetLoc(c, i), pgerror.DatatypeMismatch, `recursive query "%s" column %d has type %s in non-recursive term but type %s overall`,
						c.node.Ctename, i+1, b.typeNameMod(have), b.typeNameMod(col.Type)).
						WithHint("Cast the output of the non-recursive term to the correct type."))
				}
			}
		}
	}
	c.bound = true
	s.q.CTEs = append(s.q.CTEs, c.q)
}

func (s *scope) targetLoc(c *cteInfo, i int) int32 {
	x := c.node.Ctequery.GetSelectStmt()
	for x != nil && x.Larg != nil {
		x = x.Larg
	}
	if x != nil && i < len(x.TargetList) {
		return exprLoc(x.TargetList[i].GetResTarget().GetVal())
	}
	return -1
}

// cteColumns is analyzeCTETargetList: names from the alias list, unknown becomes text.
func (s *scope) cteColumns(c *cteInfo, cols []planner.Column) {
	b := s.b
	names := c.node.Aliascolnames
	if len(names) > len(cols) {
		b.fail(c.node.Location, pgerror.InvalidColumnReference, `WITH query "%s" has %d columns available but %d columns specified`, c.node.Ctename, len(cols), len(names))
	}
	for i := range cols {
		if i < len(names) {
			cols[i].Name = strOf(names[i])
		}
		if isUnknown(cols[i].Type.OID) {
			cols[i].Type = b.columnType(sqltypes.OIDText)
		}
	}
	c.q.Cols = cols
	c.bound = true
}

// recursiveColumns is determineRecursiveColTypes: the non-recursive term's columns
// are those of the recursive query.
func (s *scope) recursiveColumns(left *planner.Query) {
	for i := range left.Targets {
		t := &left.Targets[i]
		if !t.Junk && isUnknownExpr(t.Expr) {
			switch t.Expr.(type) {
			case *expr.Const, *expr.Param:
				t.Expr = s.coerce(t.Expr, sqltypes.OIDText, noTypMod, implicit, -1)
			}
		}
	}
	cols := queryColumns(left)
	for i := range cols {
		cols[i].TableOID, cols[i].Attr = 0, 0
	}
	s.cteColumns(s.parentCTE, cols)
}

// inRecursiveTerm: this level is (a leaf of) the recursive side of a recursive query.
func (s *scope) inRecursiveTerm() bool {
	for _, r := range s.q.Range {
		if r.SelfRef {
			return true
		}
	}
	return false
}

// findCTE is scanNameSpaceForCTE.
func (s *scope) findCTE(name string) (*cteInfo, int) {
	levels := 0
	for p := s; p != nil; p = p.parent {
		for _, c := range p.ctes {
			if c.node.Ctename == name {
				return c, levels
			}
		}
		levels++
	}
	return nil, 0
}

// cteRef is addRangeTableEntryForCTE.
func (s *scope) cteRef(c *cteInfo, levels int, rv *pg.RangeVar) *nsItem {
	b := s.b
	r := &planner.RTE{Kind: planner.RTECTE, CTE: c.q, Alias: c.node.Ctename, SelfRef: c.inside}
	c.q.Refs++
	if !c.bound && c.inside {
		b.fail(rv.Location, pgerror.InvalidRecursion, `recursive reference to query "%s" must not appear within its non-recursive term`, c.node.Ctename)
	}
	if c.q.Query != nil && c.q.Query.Command != planner.CmdSelect && len(c.q.Query.Returning) == 0 {
		b.fail(rv.Location, pgerror.FeatureNotSupported, `WITH query "%s" does not have a RETURNING clause`, c.node.Ctename)
	}
	r.Cols = append([]planner.Column(nil), c.q.Cols...)
	it := s.addRTE(r)
	if c.inside {
		it.extra = c.extra
	}
	s.applyAlias(it, rv.Alias)
	return it
}
