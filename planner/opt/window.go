package opt

import (
	"math"
	"sort"

	"ostraka/expr"
	"ostraka/planner"
)

// windows adds one WindowAgg per window definition in use, sorting where needed;
// those with the longest orderings first, so that shorter ones may profit.
func (s *upper) windows() {
	q, lv := s.q, s.lv
	if !q.HasWindow {
		return
	}
	byDef := map[int][]*expr.Window{}
	seen := map[string]bool{}
	look := func(e expr.Expr) {
		planner.Visit(e, func(x expr.Expr) bool {
			if w, ok := x.(*expr.Window); ok {
				if k := exprKey(w); !seen[k] {
					seen[k] = true
					byDef[w.Def] = append(byDef[w.Def], w)
				}
				return false
			}
			return true
		})
	}
	for _, t := range q.Targets {
		look(t.Expr)
	}
	var defs []int
	for d := range byDef {
		defs = append(defs, d)
	}
	size := func(d int) int { return len(q.Windows[d].PartitionBy) + len(q.Windows[d].OrderBy) }
	sort.Slice(defs, func(i, j int) bool {
		a, b := size(defs[i]), size(defs[j])
		return a > b || a == b && defs[i] < defs[j]
	})
	if len(s.order) > 0 && len(defs) > 1 {
		// One that the input's order serves already goes first.
		for i, d := range defs {
			if order, _ := s.windowOrder(&q.Windows[d]); len(order) > 0 && commonPrefix(s.order, order) == len(order) {
				defs[0], defs[i] = defs[i], defs[0]
				break
			}
		}
	}
	for _, d := range defs {
		def := &q.Windows[d]
		order, keys := s.windowOrder(def)
		s.sort(order, keys, 0, nil)
		n := &planner.WindowAgg{Input: s.b.node, Frame: def.Frame}
		n.Columns = append([]planner.Column(nil), s.b.node.Out()...)
		out := built{node: n, cols: append([]expr.Expr(nil), s.b.cols...)}
		for _, t := range def.PartitionBy {
			n.PartitionBy = append(n.PartitionBy, s.targetExpr(t))
		}
		for _, it := range def.OrderBy {
			n.OrderBy = append(n.OrderBy, sortKeyOf(s.targetExpr(it.Target), it))
		}
		cost := 0.002 * float64(len(keys)+1)
		for _, w := range byDef[d] {
			r := *w
			r.Args = lv.resolveAll(w.Args, s.b)
			if w.Filter != nil {
				r.Filter = lv.resolve(w.Filter, s.b)
			}
			n.Funcs = append(n.Funcs, &r)
			n.Columns = append(n.Columns, planner.Column{Name: w.Proc.Name, Type: w.Typ})
			out.cols = append(out.cols, w)
			cost += exprsCost(r.Args) + 0.005
		}
		in := s.est()
		n.Estimate = planner.Estimate{Rows: in.Rows, Width: lv.p.nodeWidth(out.cols), Startup: in.Startup, Total: in.Total + in.Rows*cost}
		if len(def.PartitionBy) == 0 && len(def.OrderBy) == 0 {
			n.Estimate.Startup = math.Max(in.Startup, in.Total)
		}
		s.b = out
	}
}

// windowOrder is the order a window needs: partition first.
func (s *upper) windowOrder(def *planner.WindowDef) ([]pathKey, []planner.SortKey) {
	items := make([]planner.SortItem, 0, len(def.PartitionBy)+len(def.OrderBy))
	for _, t := range def.PartitionBy {
		it := planner.SortItem{Target: t}
		for _, o := range def.OrderBy { // the direction that ORDER BY gives it, if any
			if o.Target == t {
				it = o
			}
		}
		items = append(items, it)
	}
	items = append(items, def.OrderBy...)
	return s.want(items)
}

// targetSRFs expands set-returning calls of the target list, innermost first.
func (s *upper) targetSRFs() {
	if !s.q.HasTargetSRF {
		return
	}
	for round := 0; round < 32; round++ {
		var calls []expr.Expr
		seen := map[string]bool{}
		var look func(e expr.Expr) bool // reports a call below that is still to be expanded
		look = func(e expr.Expr) bool {
			if e == nil || s.b.find(e) >= 0 {
				return false
			}
			below := false
			planner.VisitChildren(e, func(x expr.Expr) { below = look(x) || below })
			c, ok := e.(*expr.Call)
			if !ok || !c.Proc.RetSet {
				return below
			}
			if k := exprKey(e); !below && !seen[k] {
				seen[k] = true
				calls = append(calls, e)
			}
			return true
		}
		for _, t := range s.q.Targets {
			look(t.Expr)
		}
		if len(calls) == 0 {
			break
		}
		in := s.est()
		n := &planner.ProjectSet{Input: s.b.node}
		n.Columns = append([]planner.Column(nil), s.b.node.Out()...)
		out := built{node: n, cols: append([]expr.Expr(nil), s.b.cols...)}
		for i, c := range s.b.cols {
			n.Exprs = append(n.Exprs, &expr.Col{T: expr.T{Typ: c.Type()}, Idx: i, Name: s.lv.colName(c)})
		}
		rows := 1.0
		for _, c := range calls {
			call := c.(*expr.Call)
			n.Exprs = append(n.Exprs, s.lv.resolve(c, s.b))
			n.Columns = append(n.Columns, planner.Column{Name: call.Proc.Name, Type: call.Typ})
			out.cols = append(out.cols, c)
			rows = math.Max(rows, s.lv.functionRows(&planner.RTE{Calls: []*expr.Call{call}}))
		}
		n.Estimate = planner.Estimate{Rows: clampRows(in.Rows * rows), Width: s.lv.p.nodeWidth(out.cols), Startup: in.Startup, Total: in.Total + in.Rows*rows*(costRow+costEmit)}
		s.b = out
	}
	s.projectTargets(false)
}
