package opt

import (
	"ostraka/expr"
	"ostraka/planner"
)

// Grouping sets make a grouping expression NULL in the sets that leave it out, so
// it must stay one thing wherever the query names it: it may not be folded into
// what is around it, nor be the same column as another grouping item. And a
// set-returning function in GROUP BY multiplies rows before they are grouped. In
// both cases FROM, WHERE and the grouping expressions become a subquery of their own.

// isolateGroups rewrites q if it is such a query. It must come before anything
// that changes expressions.
func isolateGroups(q *planner.Query) {
	if !mustIsolate(q) {
		return
	}
	inner := &planner.Query{Command: planner.CmdSelect, ResultRel: -1, Range: q.Range, From: q.From, Where: q.Where}
	// What moves down sees the queries around q from one level further away.
	inner = mapQueryVars(inner, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Level <= depth {
			return v
		}
		c := *v
		c.Level++
		return &c
	})
	rte := &planner.RTE{Kind: planner.RTESubquery, Alias: "groups", Sub: inner, Lateral: true, SecurityBarrier: true}
	add := func(e expr.Expr, name string) int {
		inner.Targets = append(inner.Targets, planner.Target1{Expr: outward(e), Name: name})
		inner.HasTargetSRF = inner.HasTargetSRF || hasSRF(e)
		rte.Cols = append(rte.Cols, planner.Column{Name: name, Type: e.Type()})
		return len(rte.Cols) - 1
	}
	column := func(col, level int) *planner.Var {
		c := rte.Cols[col]
		return &planner.Var{T: expr.T{Typ: c.Type}, Rel: 0, Col: col, Level: level, Name: c.Name}
	}
	grouped := map[string]int{} // column of a grouping expression
	ofTarget := map[int]int{}   // column of a grouping target
	for _, g := range q.GroupBy {
		t := q.Targets[g]
		ofTarget[g] = add(t.Expr, t.Name)
		if _, constant := isConst(t.Expr); constant {
			continue // only the target itself is the grouped value
		}
		if k := exprKey(t.Expr); !has(grouped, k) {
			grouped[k] = ofTarget[g]
		}
	}
	plain := map[varKey]int{}
	rewrite := func(e expr.Expr) expr.Expr {
		var one func(e expr.Expr, above bool) expr.Expr
		vars := func(v *planner.Var, depth int) expr.Expr {
			if v.Level != depth || v.Rel < 0 {
				return v
			}
			own := *v
			own.Level = 0
			if col, ok := grouped[exprKey(&own)]; ok {
				return column(col, depth)
			}
			col, ok := plain[keyOf(v)]
			if !ok {
				col = add(&own, v.Name)
				plain[keyOf(v)] = col
			}
			return column(col, depth)
		}
		one = func(e expr.Expr, above bool) expr.Expr {
			if e == nil {
				return nil
			}
			switch n := e.(type) {
			case *planner.Var, *planner.SubLink:
				return mapVars(e, 0, vars)
			case *expr.Grouping:
				return n // names positions of GROUP BY
			case *expr.Agg:
				// Its arguments are the rows' own values, grouped or not.
				return planner.MapChildren(n, func(x expr.Expr) expr.Expr { return one(x, false) })
			}
			if above {
				if col, ok := grouped[exprKey(e)]; ok {
					return column(col, 0)
				}
			}
			return planner.MapChildren(e, func(x expr.Expr) expr.Expr { return one(x, above) })
		}
		return one(e, true)
	}
	srf := false
	for i := range q.Targets {
		if col, ok := ofTarget[i]; ok {
			q.Targets[i].Expr = column(col, 0)
			continue
		}
		q.Targets[i].Expr = rewrite(q.Targets[i].Expr)
		srf = srf || hasSRF(q.Targets[i].Expr)
	}
	q.Having = rewrite(q.Having)
	q.HasTargetSRF = srf
	q.Range, q.From, q.Where = []*planner.RTE{rte}, []planner.JoinItem{{Rel: 0}}, nil
}

func has(m map[string]int, k string) bool {
	_, ok := m[k]
	return ok
}

// outward gives an expression of q's own level the levels it has one query further down.
func outward(e expr.Expr) expr.Expr {
	return mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Level <= depth {
			return v
		}
		c := *v
		c.Level++
		return &c
	})
}

func mustIsolate(q *planner.Query) bool {
	if q.Command != planner.CmdSelect || q.SetOp != nil || len(q.GroupBy) == 0 || len(q.RowMarks) > 0 {
		return false
	}
	seen := map[string]bool{}
	for _, g := range q.GroupBy {
		e := q.Targets[g].Expr
		if hasSRF(e) {
			return true
		}
		if q.GroupSets == nil {
			continue
		}
		v, ok := e.(*planner.Var)
		if !ok || v.Level != 0 || v.Rel < 0 || seen[exprKey(e)] {
			return true
		}
		switch q.Range[v.Rel].Kind {
		case planner.RTERelation, planner.RTEVirtual:
		default:
			return true
		}
		seen[exprKey(e)] = true
	}
	return false
}
