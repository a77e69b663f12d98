package opt

import (
	"math"
	"sort"

	"ostraka/expr"
	"ostraka/planner"
)

// planSelect plans a SELECT. Where scalar aggregate subqueries could become joins,
// it is planned both ways and the cheaper plan kept.
func (lv *level) planSelect() result {
	lv.q.CTEs = nil
	p := lv.p
	isolateGroups(lv.q)
	degenerateHaving(lv.q)
	p.foldQuery(lv.q)
	if len(lv.q.RowMarks) > 0 {
		lv.prepareModify()
		return lv.planPrepared()
	}
	ends := minMaxQuery(lv.q)
	joins := decorrelatable(lv.q)
	if ends == nil && !joins {
		return lv.planSelectAs(false)
	}
	p.variants++
	if p.variants > 4 {
		return lv.planSelectAs(true)
	}
	// The alternative: an index's ends instead of an aggregate, or subqueries run per row.
	other := &level{p: p, parent: lv.parent, q: ends, tuples: lv.tuples, ctes: lv.ctes, cteEst: lv.cteEst}
	if ends == nil {
		other.q = cloneQuery(lv.q)
	}
	before := p.mark()
	first := lv.planSelectAs(true)
	after := p.mark()
	p.reset(before)
	second := other.planSelectAs(false)
	cost := second.node.Est().Total
	if !other.oneRow() {
		cost += p.subPlanRisk(len(before.subplans))
	}
	for _, i := range p.plan.Inits[len(before.inits):] {
		if ends != nil {
			cost += i.Root.Est().Total
		}
	}
	if p.err == nil && cost < first.node.Est().Total {
		*lv = *other
		return second
	}
	p.reset(after)
	return first
}

// degenerateHaving: with HAVING but neither GROUP BY nor aggregates the result is
// one row or none, whatever FROM and WHERE would give.
func degenerateHaving(q *planner.Query) {
	if q.Having == nil || q.HasAggs || len(q.GroupBy) > 0 || q.GroupSets != nil {
		return
	}
	q.Where, q.From, q.Having = q.Having, nil, nil
}

// oneRow reports that the level reads one table by a complete unique key.
func (lv *level) oneRow() bool {
	i := lv.allRels.single()
	if i < 0 || lv.rte(i).Kind != planner.RTERelation {
		return false
	}
	t := lv.rte(i)
next:
	for _, ix := range lv.indexesOf(i) {
		if !ix.UniqueAtOnce() || ix.Predicate != "" {
			continue
		}
		for _, k := range ix.Keys {
			fixed := false
			for _, c := range lv.rel(i).restrict {
				if v, _, ok := columnEqualsValue(c); ok && attrOf(t, v.Col) == k.Attr {
					fixed = true
				}
			}
			if !fixed {
				continue next
			}
		}
		return true
	}
	return false
}

// subPlanRisk is what running each dear subplan for some rows more than expected
// would cost: a wrong estimate of the rows above makes them a disaster.
func (p *planning) subPlanRisk(from int) float64 {
	const extraRows = 30
	c := 0.0
	for i := from; i < len(p.plan.SubPlans); i++ {
		if sp := p.plan.SubPlans[i]; !sp.Hashed {
			c += extraRows * sp.PerCall.Total
		}
	}
	return c
}

// planMark remembers the lists that planning appends to.
type planMark struct {
	inits    []*planner.InitPlan
	subplans []*planner.SubPlan
	ctes     []*planner.CTE
	ids      int
	nextCTE  int
}

func (p *planning) mark() planMark {
	return planMark{append([]*planner.InitPlan(nil), p.plan.Inits...), append([]*planner.SubPlan(nil), p.plan.SubPlans...),
		append([]*planner.CTE(nil), p.plan.CTEs...), p.planIDs, p.nextCTE}
}

func (p *planning) reset(m planMark) {
	p.plan.Inits, p.plan.SubPlans, p.plan.CTEs, p.planIDs, p.nextCTE = m.inits, m.subplans, m.ctes, m.ids, m.nextCTE
}

// prepare rewrites the query: unnesting, pulling up, folding; then replaces what
// belongs to other levels.
func (lv *level) prepare(scalars bool) {
	q, p := lv.q, lv.p
	p.unnest(q, scalars)
	p.pullUp(q, scalars)
	p.foldQuery(q)
	lv.havingToWhere()
	lv.mapExprs(lv.finish)
	lv.reduceOuterJoins()
}

// havingToWhere moves conditions that no aggregate is in below the grouping.
func (lv *level) havingToWhere() {
	q := lv.q
	if q.Having == nil || len(q.GroupBy) == 0 || q.GroupSets != nil {
		return
	}
	var stay []expr.Expr
	for _, c := range conjuncts(q.Having) {
		if hasAgg(c) || volatileExpr(c) || hasSubLink(c) || hasGapfill(c) {
			stay = append(stay, c)
			continue
		}
		q.Where = and2(q.Where, c)
	}
	q.Having = andOf(stay)
}

// collectUsed notes every column that anything in the query reads.
func (lv *level) collectUsed() {
	lv.used = map[varKey]bool{}
	add := func(e expr.Expr) { addVars(lv.used, e) }
	shell := *lv.q
	shell.CTEs = nil
	planner.VisitQuery(&shell, add, func(s *planner.Query) {
		visitQueryVars(s, 1, func(v *planner.Var, depth int) {
			if v.Level == depth {
				lv.used[keyOf(v)] = true
			}
		})
	})
	delete(lv.used, varKey{-1, 0})
	for _, e := range lv.owned {
		add(e)
	}
}

func (lv *level) planSelectAs(scalars bool) result {
	lv.prepare(scalars)
	return lv.planPrepared()
}

func (lv *level) planPrepared() result {
	if lv.p.err != nil {
		return result{node: &planner.Empty{}}
	}
	lv.collectUsed()
	lv.markRows()
	if len(lv.q.RowMarks) > 0 {
		for _, m := range lv.q.RowMarks {
			lv.useAllColumns(m.Rel)
		}
	}
	top := lv.planJoins()
	var best *candidate
	frac := lv.limitTuples()
	for _, path := range top {
		c := lv.finishSelect(path)
		if lv.p.err != nil {
			return result{node: &planner.Empty{}}
		}
		cost := c.b.node.Est().Total
		if lv.tuples > 0 && frac == 0 {
			if e := c.b.node.Est(); e.Rows > lv.tuples {
				cost = e.Startup + (e.Total-e.Startup)*lv.tuples/e.Rows
			}
		}
		if best == nil || cost < best.cost*0.9999 {
			c.cost = cost
			best = c
		}
	}
	return best.result
}

// candidate is a complete plan of the query over one path of its joins.
type candidate struct {
	b      built
	cost   float64
	result result
}

// planJoins plans FROM and WHERE and returns the paths worth building on; nil
// stands for one row without columns.
func (lv *level) planJoins() []*path {
	q := lv.q
	if len(q.From) == 0 {
		for _, c := range conjuncts(q.Where) {
			if isFalseOrNull(c) {
				lv.constFalse = true
			}
			lv.oneTime = append(lv.oneTime, c)
		}
		return []*path{nil}
	}
	for _, it := range q.From {
		lv.allRels = lv.allRels.union(lv.liveRels(it))
	}
	lv.sizeRels()
	lv.deconstruct()
	lv.setInteresting()
	for _, i := range lv.allRels.members() {
		lv.leafPaths(i)
	}
	if lv.p.err != nil {
		return []*path{nil}
	}
	top := lv.searchJoins()
	if lv.p.err != nil || top == nil {
		return []*path{nil}
	}
	if top.empty {
		lv.constFalse = true
	}
	paths := append([]*path(nil), top.paths...)
	sort.SliceStable(paths, func(i, j int) bool { return paths[i].total < paths[j].total })
	if len(paths) > 5 {
		paths = paths[:5]
	}
	return paths
}

// liveRels leaves out one-row relations that an inner join makes superfluous.
func (lv *level) liveRels(it planner.JoinItem) relSet {
	if it.Join != nil {
		return lv.liveRels(it.Join.Left).union(lv.liveRels(it.Join.Right))
	}
	if lv.rte(it.Rel).Kind == planner.RTEResult && lv.droppable(it.Rel) {
		return relSet{}
	}
	return relOf(it.Rel)
}

// setInteresting notes the orders that grouping, windows, DISTINCT, ORDER BY and
// merge joins could use.
func (lv *level) setInteresting() {
	lv.interesting = map[string]bool{}
	q := lv.q
	add := func(t int) {
		if id, constant := lv.orderID(q.Targets[t].Expr); !constant {
			lv.interesting[id] = true
		}
	}
	for _, g := range q.GroupBy {
		add(g)
	}
	for _, s := range q.Sort {
		add(s.Target)
	}
	for _, d := range q.DistinctOn {
		add(d)
	}
	if q.Distinct && len(q.DistinctOn) == 0 {
		for i, t := range q.Targets {
			if !t.Junk {
				add(i)
			}
		}
	}
	for _, w := range q.Windows {
		for _, t := range w.PartitionBy {
			add(t)
		}
		for _, s := range w.OrderBy {
			add(s.Target)
		}
	}
	for _, ec := range lv.classes {
		if ec.constant == nil && len(ec.members) > 1 {
			lv.interesting[string(keyInt([]byte{'='}, '#', int64(ec.id)))] = true
		}
	}
}

func (lv *level) usefulOrder(order []pathKey) bool {
	return len(order) > 0 && lv.interesting[order[0].id]
}

// limitTuples is how many rows LIMIT and OFFSET take, 0 when there is no limit;
// an unknown limit counts as a tenth of an unknown number.
func (lv *level) limitTuples() float64 {
	q := lv.q
	if q.Limit == nil {
		return 0
	}
	c, ok := lv.p.evalStable(q.Limit)
	if !ok {
		return 100
	}
	if c.Val.Null {
		return 0
	}
	n := float64(c.Val.I)
	if q.Offset != nil {
		if o, ok := lv.p.evalStable(q.Offset); ok && !o.Val.Null {
			n += float64(o.Val.I)
		} else if !ok {
			n += 100
		}
	}
	return math.Max(1, n)
}

// markRows gives the tables of FOR UPDATE their row-reference slots.
func (lv *level) markRows() {
	for _, m := range lv.q.RowMarks {
		lv.refSlot(m.Rel)
	}
}

func (lv *level) refSlot(rel int) int {
	if lv.refSlots == nil {
		lv.refSlots = map[int]int{}
	}
	if s, ok := lv.refSlots[rel]; ok {
		return s
	}
	lv.refSlots[rel] = lv.p.nextRef
	lv.p.nextRef++
	return lv.refSlots[rel]
}

// useAllColumns makes a scan fetch every column of the relation.
func (lv *level) useAllColumns(rel int) {
	for c := range lv.rte(rel).Cols {
		lv.used[varKey{rel, c}] = true
	}
}
