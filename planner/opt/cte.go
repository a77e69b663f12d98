package opt

import (
	"ostraka/planner"
)

// planCTEs inlines the level's WITH queries that may be, and plans the others
// that are read or that modify data.
func (lv *level) planCTEs() {
	if len(lv.q.CTEs) == 0 {
		return
	}
	lv.ctes = map[*planner.CTEQuery]*planner.CTE{}
	lv.cteEst = map[*planner.CTEQuery]*planner.Estimate{}
	for _, c := range lv.q.CTEs {
		modifying := c.Query.Command != planner.CmdSelect
		refs := countRefs(lv.q, c)
		switch {
		case refs == 0 && !modifying:
		case inlinable(c, refs):
			inlineCTE(lv.q, c)
		default:
			lv.planCTE(c, modifying)
		}
	}
}

// inlinable follows PostgreSQL 12 and later: a plain SELECT without volatile
// functions, read once (or declared NOT MATERIALIZED).
func inlinable(c *planner.CTEQuery, refs int) bool {
	return !c.Recursive && c.Query.Command == planner.CmdSelect && len(c.Query.RowMarks) == 0 &&
		(c.Materialized == 'n' || c.Materialized == 0 && refs == 1) &&
		!(c.Materialized == 0 && worstQuery(c.Query) == 'v') && worstQuery(c.Query) != 'v'
}

// countRefs counts the entries that read c in q and below.
func countRefs(q *planner.Query, c *planner.CTEQuery) int {
	n := 0
	eachQuery(q, 0, func(s *planner.Query, _ int) {
		for _, r := range s.Range {
			if r.Kind == planner.RTECTE && r.CTE == c && !r.SelfRef {
				n++
			}
		}
	})
	return n
}

// inlineCTE turns references to c into subqueries; below depth levels further
// down, references to outer queries are that much further up.
func inlineCTE(q *planner.Query, c *planner.CTEQuery) {
	eachQuery(q, 0, func(s *planner.Query, depth int) {
		for _, r := range s.Range {
			if r.Kind == planner.RTECTE && r.CTE == c {
				r.Kind = planner.RTESubquery
				r.Sub = shiftLevels(cloneQuery(c.Query), depth)
				r.CTE = nil
			}
		}
	})
}

func (lv *level) planCTE(c *planner.CTEQuery, modifying bool) {
	p := lv.p
	p.planIDs++
	k := &planner.CTE{ID: p.nextCTE, Name: c.Name, Modifying: modifying, Recursive: c.Recursive, Columns: c.Cols}
	p.nextCTE++
	lv.ctes[c] = k
	// Before its own plan, so that readers inside find it; the list's order is the written one.
	p.plan.CTEs = append(p.plan.CTEs, k)
	if c.Recursive && c.Query.SetOp != nil {
		lv.planRecursive(c, k)
		return
	}
	r := p.planQuery(lv, c.Query, 0)
	k.Root, k.Deps = r.node, r.deps
	lv.cteEst[c] = r.node.Est()
}

// planRecursive plans WITH RECURSIVE: the non-recursive term first, whose size
// stands for the working table's.
func (lv *level) planRecursive(c *planner.CTEQuery, k *planner.CTE) {
	p := lv.p
	q := c.Query
	mid := &level{p: p, parent: lv, q: q, work: k}
	k.WorkParam = p.newExecParam()
	mid.planCTEs()
	left := p.planQuery(mid, q.SetOp.Left, 0)
	est := *left.node.Est()
	lv.cteEst[c] = &est
	right := p.planQuery(mid, q.SetOp.Right, 0)
	u := &planner.RecursiveUnion{CTE: k, NonRec: left.node, Rec: right.node, Distinct: !q.SetOp.All}
	u.Columns = c.Cols
	u.Estimate = planner.Estimate{Rows: left.node.Est().Rows + 10*right.node.Est().Rows, Width: est.Width,
		Startup: est.Startup, Total: left.node.Est().Total + 10*right.node.Est().Total}
	k.Root, k.Deps = u, mid.depList()
	lv.cteEst[c] = u.Est()
	if q.Limit != nil || q.Offset != nil || len(q.Sort) > 0 {
		p.fail(notSupported("ORDER BY or LIMIT in a recursive query"))
	}
}

// findCTE looks a WITH query's plan up from the inside outwards.
func (lv *level) findCTE(c *planner.CTEQuery) (*planner.CTE, *planner.Estimate) {
	for l := lv; l != nil; l = l.parent {
		if k := l.ctes[c]; k != nil {
			lv.dependOn(k.Deps)
			lv.dependOnWork(k)
			return k, l.cteEst[c]
		}
	}
	lv.p.bug("WITH query %q has no plan", c.Name)
	return &planner.CTE{Name: c.Name}, nil
}

// dependOn notes that lv reads ExecParams of levels above.
func (lv *level) dependOn(ids []int) {
	for _, id := range ids {
		owner := lv
		for owner != nil && owner.owned[id] == nil {
			owner = owner.parent
		}
		for l := lv; l != nil && l != owner && (owner != nil || l.work == nil); l = l.parent {
			if l.deps == nil {
				l.deps = map[int]*level{}
			}
			l.deps[id] = owner
		}
	}
}

// dependOnWork notes that lv, if it is within the recursive query k, reads its working table.
func (lv *level) dependOnWork(k *planner.CTE) {
	within := false
	for l := lv; l != nil; l = l.parent {
		within = within || l.work == k
	}
	for l := lv; within && l.work != k; l = l.parent {
		if l.deps == nil {
			l.deps = map[int]*level{}
		}
		l.deps[k.WorkParam] = nil
	}
}
