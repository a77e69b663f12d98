package opt

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// subqueryLeaf plans a subquery in FROM: conditions on it move into it where that
// is safe, columns that nobody reads go, the rest becomes a filter above.
func (lv *level) subqueryLeaf(i int) {
	r, t := lv.rel(i), lv.rte(i)
	var stay []*clause
	for _, c := range r.restrict {
		if t.SecurityBarrier && leaky(c.e) || !lv.pushInto(t.Sub, i, c) {
			stay = append(stay, c)
		}
	}
	pruneTargets(t.Sub, r.needed)
	saved := lv.params
	lv.params = map[string]int{} // ExecParams of its own: see nestNeed
	var tuples float64
	if len(lv.allRels.members()) == 1 && len(stay) == 0 && !lv.q.HasAggs && len(lv.q.GroupBy) == 0 && len(lv.q.Sort) == 0 && !lv.q.Distinct && !lv.q.HasWindow {
		tuples = lv.limitTuples()
	}
	res := lv.p.planQuery(lv, t.Sub, tuples)
	lv.params = saved
	est := res.node.Est()
	r.tuples = math.Max(1, est.Rows)
	r.restrict = stay
	var es []expr.Expr
	for _, c := range stay {
		es = append(es, c.e)
	}
	r.rows = clampRows(r.tuples * lv.conjunctionSel(es))
	if res.unique {
		for c := range t.Cols {
			r.uniqueKey = append(r.uniqueKey, c)
		}
	} else if key := groupedKey(t.Sub); key != nil {
		r.uniqueKey = key
	}
	p := &path{rel: r, rows: r.rows, req: r.lateral}
	p.startup = est.Startup + restrictStartup(stay)
	p.total = est.Total + r.tuples*clausesCost(stay) + restrictStartup(stay)
	for _, k := range res.order {
		if k.col >= len(t.Cols) {
			break
		}
		id, constant := lv.orderID(&planner.Var{T: expr.T{Typ: t.Cols[k.col].Type}, Rel: i, Col: k.col})
		if !constant {
			p.order = append(p.order, pathKey{id: id, desc: k.desc, nullsFirst: k.nullsFirst})
		}
	}
	p.leaf = func(need map[varKey]bool) built {
		b := built{node: res.node, cols: lv.allColumns(i)}
		for _, id := range res.deps {
			if v, ok := lv.owned[id].(*planner.Var); ok {
				lv.pending = append(lv.pending, nestNeed{v, id})
			}
		}
		if cond := lv.condOf(stay, b); cond != nil {
			f := &planner.Filter{Input: b.node, Cond: cond}
			f.Columns, f.Estimate = b.node.Out(), lv.estimate(p, r.width)
			b.node = f
		}
		return b
	}
	r.addPath(p)
}

// groupedKey: the visible columns of a plain GROUP BY, when all of its keys are visible.
func groupedKey(q *planner.Query) []int {
	if q.SetOp != nil || len(q.GroupBy) == 0 || q.GroupSets != nil || q.HasTargetSRF {
		return nil
	}
	vis := map[int]int{}
	n := 0
	for i, t := range q.Targets {
		if !t.Junk {
			vis[i] = n
			n++
		}
	}
	var out []int
	for _, g := range q.GroupBy {
		c, ok := vis[g]
		if !ok {
			return nil
		}
		out = append(out, c)
	}
	return out
}

// pushInto moves a condition on relation i into its subquery.
func (lv *level) pushInto(q *planner.Query, i int, c *clause) bool {
	if c.rels != relOf(i) || volatileExpr(c.e) || hasSubPlan(c.e) || hasSubLink(c.e) {
		return false
	}
	cols := map[int]bool{}
	planner.Visit(c.e, func(x expr.Expr) bool {
		if v, ok := x.(*planner.Var); ok && v.Rel == i {
			cols[v.Col] = true
		}
		return true
	})
	if !pushable(q, cols) {
		return false
	}
	pushCond(q, i, c.e)
	return true
}

// pushable reports that filtering the query's output on these columns is the same
// as filtering before.
func pushable(q *planner.Query, cols map[int]bool) bool {
	if q.Command != planner.CmdSelect || q.Limit != nil || q.Offset != nil || len(q.RowMarks) > 0 {
		return false
	}
	if q.SetOp != nil {
		if q.SetOp.Op == 'e' && q.SetOp.All {
			return false
		}
		for c := range cols {
			lt, rt := visibleTargets(q.SetOp.Left), visibleTargets(q.SetOp.Right)
			if c < 0 || c >= len(lt) || c >= len(rt) || lt[c].Expr.Type().OID != rt[c].Expr.Type().OID {
				return false
			}
		}
		return pushable(q.SetOp.Left, cols) && pushable(q.SetOp.Right, cols)
	}
	vis := visibleTargets(q)
	at := visibleIndexes(q)
	gap, _ := gapfillGroup(q)
	for c := range cols {
		if c < 0 || c >= len(vis) {
			return false
		}
		e := vis[c].Expr
		if gap >= 0 && (at[c] == gap || !hasInt(q.GroupBy, at[c])) {
			return false // added buckets would come back
		}
		if _, ok := e.(*planner.Var); q.GroupSets != nil && !ok {
			return false // where it is grouped it is not what it computes
		}
		if volatileExpr(e) || hasSRF(e) || hasSubLink(e) || hasWindow(e) {
			return false
		}
		if len(q.DistinctOn) > 0 && !hasInt(q.DistinctOn, at[c]) {
			return false
		}
		if q.HasWindow {
			for _, w := range q.Windows {
				if !hasInt(w.PartitionBy, at[c]) {
					return false
				}
			}
		}
	}
	return true
}

func visibleIndexes(q *planner.Query) []int {
	var out []int
	for i, t := range q.Targets {
		if !t.Junk {
			out = append(out, i)
		}
	}
	return out
}

func hasInt(xs []int, x int) bool {
	for _, y := range xs {
		if x == y {
			return true
		}
	}
	return false
}

func pushCond(q *planner.Query, i int, e expr.Expr) {
	if q.SetOp != nil {
		pushCond(q.SetOp.Left, i, e)
		pushCond(q.SetOp.Right, i, e)
		return
	}
	vis := visibleTargets(q)
	in := mapVars(e, 0, func(v *planner.Var, _ int) expr.Expr {
		if v.Rel == i && v.Level == 0 {
			return vis[v.Col].Expr
		}
		return v
	})
	if q.HasAggs || len(q.GroupBy) > 0 || q.GroupSets != nil {
		q.Having = and2(q.Having, in)
		return
	}
	if len(q.From) == 0 && len(q.Range) == 0 && q.Where == nil {
		q.Where = in
		return
	}
	q.Where = and2(q.Where, in)
}

// pruneTargets replaces visible targets that nobody reads by NULL, where nothing
// in the query depends on their values.
func pruneTargets(q *planner.Query, needed []int) {
	if q.Command != planner.CmdSelect || q.Distinct || len(q.DistinctOn) > 0 {
		return
	}
	if q.SetOp != nil {
		if q.SetOp.Op == 'u' && q.SetOp.All && len(q.Sort) == 0 {
			pruneTargets(q.SetOp.Left, needed)
			pruneTargets(q.SetOp.Right, needed)
		}
		return
	}
	used := map[int]bool{}
	for _, g := range q.GroupBy {
		used[g] = true
	}
	for _, s := range q.Sort {
		used[s.Target] = true
	}
	for _, w := range q.Windows {
		for _, t := range w.PartitionBy {
			used[t] = true
		}
		for _, s := range w.OrderBy {
			used[s.Target] = true
		}
	}
	for c, at := range visibleIndexes(q) {
		t := &q.Targets[at]
		if used[at] || hasInt(needed, c) || worst(t.Expr) == sqltypes.Volatile || hasSRF(t.Expr) {
			continue
		}
		if _, ok := isConst(t.Expr); !ok {
			t.Expr = nullConst(t.Expr.Type())
		}
	}
}
