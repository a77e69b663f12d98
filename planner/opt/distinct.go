package opt

import (
	"ostraka/expr"
	"ostraka/planner"
)

// distinct removes duplicates of the projected targets.
func (s *upper) distinct() {
	if len(s.q.DistinctOn) > 0 {
		s.distinctOn()
		return
	}
	// Junk targets would keep duplicates apart; ORDER BY may only name visible ones.
	s.projectVisible()
	if s.rowsUnique() {
		s.unique = true
		return
	}
	var items []planner.SortItem
	items = append(items, s.q.Sort...)
	for i, t := range s.q.Targets {
		if !t.Junk {
			items = append(items, planner.SortItem{Target: i})
		}
	}
	order, keys := s.want(items)
	ids := map[string]bool{}
	for _, k := range order {
		ids[k.id] = true
	}
	sorted := len(s.order) >= len(ids)
	for i := 0; sorted && i < len(ids); i++ {
		sorted = ids[s.order[i].id]
	}
	in := *s.est()
	groups := s.lv.numGroups(s.b.cols, in.Rows)
	hashable := s.allHashable(s.b.cols) && !s.lv.p.ctx.Settings.DisableHashAgg
	sortCost := s.lv.p.sortCost(in.Rows, in.Width, len(keys), 0)
	hashCost := in.Rows*(costProbe+0.001*float64(len(keys))) + groups*costBuild
	if len(s.q.Sort) > 0 {
		hashCost += s.lv.p.sortCost(groups, in.Width, len(keys), s.lv.limitTuples())
	}
	s.unique = true
	if !sorted && hashable && hashCost <= sortCost {
		s.hashDistinct(groups)
		return
	}
	if !sorted {
		s.sort(order, keys, 0, nil)
	}
	s.uniqueOver(len(s.b.cols), groups)
}

// projectVisible drops junk columns.
func (s *upper) projectVisible() {
	for _, t := range s.q.Targets {
		if t.Junk {
			s.projectTargets(true)
			return
		}
	}
}

// rowsUnique: grouped by expressions that are all in the result.
func (s *upper) rowsUnique() bool {
	if !s.grouped || s.q.GroupSets != nil || s.q.HasTargetSRF {
		return false
	}
	for _, g := range s.q.GroupBy {
		if s.b.find(s.q.Targets[g].Expr) < 0 {
			return false
		}
	}
	return true
}

func (s *upper) hashDistinct(groups float64) {
	in := *s.est()
	n := &planner.Aggregate{Input: s.b.node, Strategy: planner.AggHash}
	n.Columns = s.b.node.Out()
	for i, c := range s.b.cols {
		n.GroupBy = append(n.GroupBy, &expr.Col{T: expr.T{Typ: c.Type()}, Idx: i, Name: s.lv.colName(c)})
	}
	total := in.Total + in.Rows*(costProbe+0.001*float64(len(n.GroupBy))) + groups*(costBuild+costEmit)
	n.Estimate = planner.Estimate{Rows: clampRows(groups), Width: in.Width, Startup: total - groups*costEmit, Total: total}
	s.b.node = n
	s.order = nil
}

func (s *upper) uniqueOver(cols int, groups float64) {
	in := *s.est()
	n := &planner.Unique{Input: s.b.node}
	n.Columns = s.b.node.Out()
	for i := 0; i < cols; i++ {
		n.Cols = append(n.Cols, i)
	}
	n.Estimate = planner.Estimate{Rows: clampRows(groups), Width: in.Width, Startup: in.Startup, Total: in.Total + in.Rows*0.001*float64(cols)}
	s.b.node = n
}

// distinctOn keeps the first row of each combination of some targets, in the order of ORDER BY.
func (s *upper) distinctOn() {
	items := append([]planner.SortItem(nil), s.q.Sort...)
	for _, t := range s.q.DistinctOn {
		items = append(items, planner.SortItem{Target: t})
	}
	order, keys := s.want(items)
	s.sort(order, keys, 0, nil)
	in := *s.est()
	n := &planner.Unique{Input: s.b.node}
	n.Columns = s.b.node.Out()
	var es []expr.Expr
	for _, t := range s.q.DistinctOn {
		if at, ok := s.at[t]; ok {
			n.Cols = append(n.Cols, at)
		} else if at := s.b.find(s.q.Targets[t].Expr); at >= 0 {
			n.Cols = append(n.Cols, at)
		}
		es = append(es, s.q.Targets[t].Expr)
	}
	n.Estimate = planner.Estimate{Rows: s.lv.numGroups(es, in.Rows), Width: in.Width, Startup: in.Startup, Total: in.Total + in.Rows*0.002}
	s.b.node = n
}
