package opt

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
)

// group adds the Aggregate and HAVING.
func (s *upper) group() {
	q, lv := s.q, s.lv
	gap, err := gapfillGroup(q)
	if err != nil {
		lv.p.fail(err)
		return
	}
	if !q.HasAggs && len(q.GroupBy) == 0 && q.GroupSets == nil && q.Having == nil {
		return
	}
	aggs, groupings := s.collectAggs()
	if len(q.GroupBy) == 0 && q.GroupSets == nil && len(aggs) == 0 && q.Having == nil && !q.HasAggs {
		return
	}
	groups, index, grouped := s.groupExprs()
	n := &planner.Aggregate{}
	rows := s.est().Rows
	ngroups := 1.0
	if len(groups) > 0 {
		ngroups = lv.numGroups(groups, rows)
	}
	for _, set := range q.GroupSets {
		var m []int
		for _, g := range set {
			m = append(m, index[g])
		}
		n.Sets = append(n.Sets, m)
	}
	if q.GroupSets != nil && n.Sets == nil {
		n.Sets = [][]int{}
	}
	for d := grouped; d < len(groups) && n.Sets != nil; d++ { // dependent columns are what they are in every set
		for i := range n.Sets {
			n.Sets[i] = append(n.Sets[i], d)
		}
	}
	hashable := s.allHashable(groups)
	var after []pathKey
	switch {
	case len(groups) == 0 && q.GroupSets == nil:
		n.Strategy = planner.AggPlain
	case q.GroupSets != nil:
		n.Strategy = planner.AggHash
		ngroups *= math.Max(1, float64(len(q.GroupSets)))
	default:
		after = s.groupOrder(groups)
		switch {
		case after != nil:
			n.Strategy = planner.AggSorted
		case hashable && !lv.p.ctx.Settings.DisableHashAgg && !s.sortFirst(ngroups):
			n.Strategy = planner.AggHash
		default:
			n.Strategy = planner.AggSorted
			after = s.sortForGroups(groups)
		}
	}
	n.Input = s.b.node
	n.GroupBy = lv.resolveAll(groups, s.b)
	out := built{node: n}
	cost := 0.0
	for i, g := range groups {
		n.Columns = append(n.Columns, planner.Column{Name: columnName(g), Type: g.Type()})
		out.cols = append(out.cols, g)
		if c := bucketCall(n.GroupBy[i]); c != nil {
			n.GroupBy[i] = rowBucket(c)
		}
		cost += exprCost(n.GroupBy[i])
	}
	for _, a := range aggs {
		r := *a
		r.Args, r.Direct = lv.resolveAll(a.Args, s.b), lv.resolveAll(a.Direct, s.b)
		if a.Filter != nil {
			r.Filter = lv.resolve(a.Filter, s.b)
		}
		n.Aggs = append(n.Aggs, &r)
		n.Columns = append(n.Columns, planner.Column{Name: a.Proc.Name, Type: a.Typ})
		out.cols = append(out.cols, a)
		cost += exprsCost(r.Args) + exprCost(r.Filter) + 0.0015
		if a.Distinct || len(a.ArgSorts) > 0 {
			cost += costCompare * math.Log2(math.Max(2, rows/ngroups))
		}
	}
	for _, g := range groupings {
		r := *g
		r.Cols = nil
		for _, c := range g.Cols {
			r.Cols = append(r.Cols, index[c])
		}
		n.Groupings = append(n.Groupings, &r)
		n.Columns = append(n.Columns, planner.Column{Name: "grouping", Type: g.Typ})
		out.cols = append(out.cols, g)
	}
	in := s.est()
	per := cost
	switch n.Strategy {
	case planner.AggHash:
		per += costProbe + 0.001*float64(len(groups))
		total := in.Total + rows*per*math.Max(1, float64(len(n.Sets))) + ngroups*(costBuild+costEmit)
		if lv.p.spills(ngroups, in.Width) {
			total += rows * costSpill
		}
		n.Estimate = planner.Estimate{Startup: total - ngroups*costEmit, Total: total}
	case planner.AggSorted:
		per += 0.001 * float64(len(groups))
		n.Estimate = planner.Estimate{Startup: in.Startup + (in.Total-in.Startup)/math.Max(1, ngroups), Total: in.Total + rows*per + ngroups*costEmit}
	default:
		n.Estimate = planner.Estimate{Startup: in.Total + rows*per, Total: in.Total + rows*per + costEmit}
	}
	n.Estimate.Rows, n.Estimate.Width = clampRows(ngroups), lv.p.nodeWidth(out.cols)
	s.b, s.order, s.grouped = out, after, true
	if q.Having != nil {
		cond := lv.resolve(q.Having, s.b)
		f := &planner.Filter{Input: n, Cond: cond}
		f.Columns = n.Columns
		sel := lv.conjunctionSel(conjuncts(q.Having))
		f.Estimate = n.Estimate
		f.Estimate.Rows = clampRows(ngroups * sel)
		f.Estimate.Total += ngroups*exprCost(cond) + exprStartup(cond)
		s.b.node = f
	}
	if gap >= 0 {
		s.gapfill(groups, gap)
	}
}

func columnName(e expr.Expr) string {
	if v, ok := e.(*planner.Var); ok {
		return v.Name
	}
	return "?column?"
}

// collectAggs finds the distinct aggregate and GROUPING calls of the query, those
// that subqueries read included.
func (s *upper) collectAggs() (aggs []*expr.Agg, groupings []*expr.Grouping) {
	seen := map[string]bool{}
	look := func(e expr.Expr) {
		planner.Visit(e, func(x expr.Expr) bool {
			switch n := x.(type) {
			case *expr.Agg:
				if k := exprKey(n); !seen[k] || volatileExpr(n) {
					seen[k] = true
					aggs = append(aggs, n)
				}
				return false
			case *expr.Grouping:
				if k := exprKey(n); !seen[k] {
					seen[k] = true
					groupings = append(groupings, n)
				}
				return false
			}
			return true
		})
	}
	for _, t := range s.q.Targets {
		look(t.Expr)
	}
	look(s.q.Having)
	return aggs, groupings
}

// groupExprs are the expressions to group by, without repetitions and constants,
// and columns that depend on them (GROUP BY primary key), which begin at position
// grouped. index maps positions in Query.GroupBy to positions in the result.
func (s *upper) groupExprs() (groups []expr.Expr, index []int, grouped int) {
	q := s.q
	pos := map[string]int{}
	add := func(e expr.Expr) int {
		k := exprKey(e)
		if i, ok := pos[k]; ok {
			return i
		}
		pos[k] = len(groups)
		groups = append(groups, e)
		return len(groups) - 1
	}
	for _, g := range q.GroupBy {
		e := q.Targets[g].Expr
		if _, constant := isConst(e); constant && q.GroupSets == nil && len(q.GroupBy) > 1 && !onlyConstants(q) {
			index = append(index, -1)
			continue
		}
		index = append(index, add(e))
	}
	grouped = len(groups)
	if len(q.GroupBy) == 0 {
		return groups, index, grouped
	}
	// Columns outside of aggregates and grouped expressions are functionally dependent.
	var look func(e expr.Expr)
	look = func(e expr.Expr) {
		switch n := e.(type) {
		case nil:
			return
		case *expr.Agg, *expr.Grouping:
			return
		case *planner.Var:
			if n.Level == 0 {
				add(n)
			}
			return
		}
		if _, ok := pos[exprKey(e)]; ok {
			return
		}
		planner.VisitChildren(e, look)
	}
	for _, t := range q.Targets {
		look(t.Expr)
	}
	look(q.Having)
	return groups, index, grouped
}

func onlyConstants(q *planner.Query) bool {
	for _, g := range q.GroupBy {
		if _, ok := isConst(q.Targets[g].Expr); !ok {
			return false
		}
	}
	return true
}

func (s *upper) allHashable(es []expr.Expr) bool {
	for _, e := range es {
		if t := s.lv.p.typ(e.Type().OID); t == nil || t.Hash == nil {
			return false
		}
	}
	return true
}

// groupOrder reports, as the order of the result, that equal groups are adjacent in
// the input: its leading keys are the grouping expressions in some order.
func (s *upper) groupOrder(groups []expr.Expr) []pathKey {
	want := map[string]bool{}
	for _, g := range groups {
		id, constant := s.lv.orderID(g)
		if !constant {
			want[id] = true
		}
	}
	if len(want) == 0 || len(s.order) < len(want) {
		return nil
	}
	for i := 0; i < len(want); i++ {
		if !want[s.order[i].id] {
			return nil
		}
	}
	return s.order[:len(want)]
}

// sortFirst: sorting the input pays when the result must be in the groups' order
// and there are nearly as many groups as rows; with hashing as cheap as ours, never otherwise.
func (s *upper) sortFirst(groups float64) bool { return false }

// sortForGroups sorts by the grouping expressions, in the order of ORDER BY where it names them.
func (s *upper) sortForGroups(groups []expr.Expr) []pathKey {
	var order []pathKey
	var keys []planner.SortKey
	seen := map[string]bool{}
	add := func(e expr.Expr, desc, nullsFirst bool) {
		id, constant := s.lv.orderID(e)
		if constant || seen[id] {
			return
		}
		seen[id] = true
		order = append(order, pathKey{id: id, desc: desc, nullsFirst: nullsFirst})
		keys = append(keys, planner.SortKey{Expr: s.lv.resolve(e, s.b), Desc: desc, NullsFirst: nullsFirst})
	}
	for _, it := range s.q.Sort {
		e := s.q.Targets[it.Target].Expr
		if it.Lt != nil || !containsKey(groups, exprKey(e)) {
			break
		}
		add(e, it.Desc, it.NullsFirst)
	}
	for _, g := range groups {
		add(g, false, false)
	}
	s.sort(order, keys, 0, nil)
	return order
}

// numGroups estimates the distinct combinations of expressions among rows.
func (lv *level) numGroups(es []expr.Expr, rows float64) float64 {
	type perRel struct{ d, tuples, rows float64 }
	rels := map[*rel]*perRel{}
	d := 1.0
	seen := map[string]bool{}
	for _, e := range es {
		var vars []expr.Expr
		if vs := lv.statOf(e); vs.rel != nil {
			vars = []expr.Expr{e}
		} else if e.Type().OID == oidBool {
			d *= 2
			continue
		} else {
			planner.Visit(e, func(x expr.Expr) bool {
				if v, ok := x.(*planner.Var); ok && v.Level == 0 {
					vars = append(vars, v)
				}
				return true
			})
		}
		for _, v := range vars {
			k := exprKey(stripRelabel(v))
			if seen[k] {
				continue
			}
			seen[k] = true
			vs := lv.statOf(v)
			if vs.rel == nil {
				d *= vs.distinct
				continue
			}
			r := rels[vs.rel]
			if r == nil {
				r = &perRel{d: 1, tuples: vs.tuples, rows: vs.rel.rows}
				rels[vs.rel] = r
			}
			r.d *= vs.distinct
		}
	}
	for _, r := range rels {
		n := math.Min(r.d, r.tuples)
		if r.rows < r.tuples {
			n = math.Max(1, n*(1-math.Pow((r.tuples-r.rows)/r.tuples, r.tuples/n)))
		}
		d *= n
	}
	return clampRows(math.Min(d, rows))
}
