package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// decorrelateIn replaces scalar aggregate subqueries in e that are correlated by
// equalities only with a column of a grouped subquery, left-joined to top:
//
//	(SELECT agg(x) FROM t WHERE t.k = o.k AND …)
//	→ g.agg with o LEFT JOIN (SELECT k, agg(x) FROM t WHERE … GROUP BY k) g ON g.k = o.k
//
// Expressions in which a subquery may not be reached (CASE, COALESCE) are left alone.
func (p *planning) decorrelateIn(q *planner.Query, e expr.Expr, top *planner.JoinItem, changed *bool) expr.Expr {
	switch n := e.(type) {
	case *planner.SubLink:
		if r, ok := p.decorrelate(q, n, top); ok {
			*changed = true
			return r
		}
		return e
	case *expr.Case, *expr.Coalesce, *expr.Agg, *expr.Window, *planner.Var, *expr.Const, *expr.Or, nil:
		return e
	}
	return mapChildren(e, func(x expr.Expr) expr.Expr { return p.decorrelateIn(q, x, top, changed) })
}

// decorrelatable reports whether unnesting with scalars could change q.
func decorrelatable(q *planner.Query) bool {
	found := false
	look := func(e expr.Expr) {
		planner.Visit(e, func(x expr.Expr) bool {
			if s, ok := x.(*planner.SubLink); ok {
				if s.Kind == expr.SubScalar && scalarShape(s.Sub) {
					found = true
				} else if s.Kind == expr.SubExists || s.Kind == expr.SubAny {
					found = found || decorrelatable(s.Sub)
				}
			}
			return !found
		})
	}
	planner.VisitQuery(q, look, func(*planner.Query) {})
	return found
}

func scalarShape(sub *planner.Query) bool {
	return sub.Command == planner.CmdSelect && sub.SetOp == nil && sub.HasAggs && len(sub.GroupBy) == 0 && sub.GroupSets == nil &&
		sub.Having == nil && !sub.HasWindow && !sub.HasTargetSRF && len(sub.RowMarks) == 0 && len(sub.CTEs) == 0 && len(sub.From) > 0 &&
		sub.Limit == nil && sub.Offset == nil && !sub.Distinct && len(sub.DistinctOn) == 0 && len(visibleTargets(sub)) == 1 &&
		sub.Where != nil && hasLevel(sub.Where, 1)
}

func (p *planning) decorrelate(q *planner.Query, s *planner.SubLink, top *planner.JoinItem) (expr.Expr, bool) {
	sub := s.Sub
	if s.Kind != expr.SubScalar || !scalarShape(sub) || len(q.Range) > maxRels*3/4 || worstQuery(sub) == sqltypes.Volatile {
		return nil, false
	}
	p.foldQuery(sub)
	target := visibleTargets(sub)[0]
	empty, ok := p.emptyValue(target.Expr)
	if !ok || hasLevel(target.Expr, 1) || hasSubLink(target.Expr) || fromRefersAbove(sub) {
		return nil, false
	}
	var keys []binaryOp // left: inner expression, right: the outer one (still a level up)
	var inner, outer []expr.Expr
	for _, c := range conjuncts(sub.Where) {
		up := hasLevel(c, 1)
		switch {
		case !up:
			inner = append(inner, c)
		case hasSubLink(c):
			return nil, false
		case relsOf(c).empty():
			outer = append(outer, c)
		default:
			b, ok := asBinary(c)
			if ok && hasLevel(b.left, 1) {
				b, ok = b.commute()
			}
			if !ok || hasLevel(b.left, 1) || !relsOf(b.right).empty() || !p.hashable(b) {
				return nil, false
			}
			keys = append(keys, b)
		}
	}
	if len(keys) == 0 {
		return nil, false
	}
	r := len(q.Range)
	rte := &planner.RTE{Kind: planner.RTESubquery, Alias: "agg_subquery", Sub: sub}
	sub.Where, sub.Targets, sub.Sort = andOf(inner), nil, nil
	var on []expr.Expr
	for i, b := range keys {
		sub.Targets = append(sub.Targets, planner.Target1{Name: columnName(stripRelabel(b.left)), Expr: b.left})
		sub.GroupBy = append(sub.GroupBy, i)
		c := *b.call
		c.Args = []expr.Expr{&planner.Var{T: expr.T{Typ: b.left.Type()}, Rel: r, Col: i, Name: columnName(stripRelabel(b.left))}, levelDown(b.right)}
		on = append(on, &c)
	}
	for _, c := range outer {
		on = append(on, levelDown(c))
	}
	sub.Targets = append(sub.Targets, target)
	rte.Cols = targetColumns(sub)
	q.Range = append(q.Range, rte)
	*top = planner.JoinItem{Rel: -1, Join: &planner.JoinTree{Kind: planner.JoinLeft, Left: *top, Right: planner.JoinItem{Rel: r}, On: andOf(on)}}
	val := &planner.Var{T: expr.T{Typ: target.Expr.Type()}, Rel: r, Col: len(keys), Name: target.Name}
	if empty.Val.Null {
		return val, true
	}
	first := &planner.Var{T: expr.T{Typ: rte.Cols[0].Type}, Rel: r, Col: 0, Name: rte.Cols[0].Name}
	return &expr.Case{T: val.T, Whens: []expr.When{{Cond: &expr.NullTest{T: expr.T{Typ: boolType}, Arg: first}, Result: empty}}, Else: val}, true
}

// levelDown moves an expression that was below q to q itself.
func levelDown(e expr.Expr) expr.Expr {
	return mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Level <= depth {
			return v
		}
		c := *v
		c.Level--
		return &c
	})
}

// emptyValue is what a target with aggregates yields over no rows, when that is a constant.
func (p *planning) emptyValue(e expr.Expr) (*expr.Const, bool) {
	ok := true
	var sub func(e expr.Expr) expr.Expr
	sub = func(e expr.Expr) expr.Expr {
		if a, isAgg := e.(*expr.Agg); isAgg {
			switch {
			case a.Proc.AggRow == nil || a.Proc.AggRow.Kind != 'n':
				ok = false
			case a.Proc.Name == "count" || a.Proc.Name == "regr_count":
				return &expr.Const{T: a.T, Val: sqltypes.Int(0)}
			}
			return nullConst(a.Typ)
		}
		return mapChildren(e, sub)
	}
	k, isK := isConst(p.simplify(sub(e)))
	return k, ok && isK
}
