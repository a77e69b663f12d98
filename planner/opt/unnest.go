package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// unnest turns EXISTS and IN subqueries that are conjuncts of WHERE or of an
// inner join's condition into semi and anti joins, innermost queries first, and,
// when scalars is set, correlated scalar aggregates into joins with a grouped
// subquery. Conditions must have been folded.
func (p *planning) unnest(q *planner.Query, scalars bool) {
	for i := range q.From {
		q.From[i] = p.unnestItem(q, q.From[i], scalars)
	}
	if len(q.From) == 0 {
		return
	}
	if q.Where != nil && hasSubLink(q.Where) {
		top := crossAll(q.From)
		q.Where = p.unnestCond(q, q.Where, &top, scalars)
		q.From = []planner.JoinItem{top}
	}
	if scalars && q.Command == planner.CmdSelect && !q.HasAggs && len(q.GroupBy) == 0 && q.GroupSets == nil && q.Having == nil {
		top, changed := crossAll(q.From), false
		for i := range q.Targets {
			q.Targets[i].Expr = p.decorrelateIn(q, q.Targets[i].Expr, &top, &changed)
		}
		if changed {
			q.From = []planner.JoinItem{top}
		}
	}
}

// crossAll joins the items of a FROM list into one.
func crossAll(items []planner.JoinItem) planner.JoinItem {
	it := items[0]
	for _, r := range items[1:] {
		it = planner.JoinItem{Rel: -1, Join: &planner.JoinTree{Kind: planner.JoinInner, Left: it, Right: r}}
	}
	return it
}

func (p *planning) unnestItem(q *planner.Query, it planner.JoinItem, scalars bool) planner.JoinItem {
	j := it.Join
	if j == nil {
		return it
	}
	j.Left, j.Right = p.unnestItem(q, j.Left, scalars), p.unnestItem(q, j.Right, scalars)
	if j.Kind == planner.JoinInner && j.On != nil && hasSubLink(j.On) {
		on := j.On
		j.On = nil
		rest := p.unnestCond(q, on, &it, scalars)
		if it.Join == j {
			j.On = rest
		} else {
			it = planner.JoinItem{Rel: -1, Join: &planner.JoinTree{Kind: planner.JoinInner, Left: it,
				Right: resultItem(q), On: rest}}
		}
	}
	return it
}

// resultItem adds a relation of one row and no columns.
func resultItem(q *planner.Query) planner.JoinItem {
	q.Range = append(q.Range, &planner.RTE{Kind: planner.RTEResult, Alias: "*RESULT*"})
	return planner.JoinItem{Rel: len(q.Range) - 1}
}

// unnestCond hangs the joins under top and returns the condition that is left.
func (p *planning) unnestCond(q *planner.Query, cond expr.Expr, top *planner.JoinItem, scalars bool) expr.Expr {
	var rest []expr.Expr
	for _, c := range conjuncts(cond) {
		keep := p.keepSemi
		p.keepSemi = nil // only the statement's own tests
		var orig expr.Expr
		if keep != nil {
			orig = mapVars(c, 0, func(v *planner.Var, _ int) expr.Expr { return v })
		}
		done := p.semiJoin(q, c, top)
		if p.keepSemi = keep; done {
			if keep != nil {
				*keep = append(*keep, orig)
			}
			continue
		}
		changed := false
		if scalars {
			c = p.decorrelateIn(q, c, top, &changed)
		}
		rest = append(rest, c)
	}
	return andOf(rest)
}

// semiJoin converts one conjunct, if it is a subquery test of a suitable form.
func (p *planning) semiJoin(q *planner.Query, c expr.Expr, top *planner.JoinItem) bool {
	anti := false
	if n, ok := c.(*expr.Not); ok {
		c, anti = n.Arg, true
	}
	s, ok := c.(*planner.SubLink)
	if !ok || len(q.Range) > maxRels*3/4 {
		return false
	}
	switch s.Kind {
	case expr.SubExists:
		return p.existsJoin(q, s, nil, anti, top)
	case expr.SubAny:
		if hasSubLink(s.Test) || volatileExpr(s.Test) || relsOf(s.Test).empty() {
			return false
		}
		if anti && !p.neverNull(q, s) {
			return false
		}
		if p.existsJoin(q, s, s.Test, anti, top) {
			return true
		}
		return !refersAbove(s.Sub) && worstQuery(s.Sub) != sqltypes.Volatile && s.Sub.Command == planner.CmdSelect && p.subqueryJoin(q, s, anti, top)
	}
	return false
}

func joinKind(anti bool) planner.JoinKind {
	if anti {
		return planner.JoinAnti
	}
	return planner.JoinSemi
}

// existsJoin merges the subquery's FROM into q as the right side of a semi or
// anti join on its WHERE and, for IN, the comparison with its targets.
func (p *planning) existsJoin(q *planner.Query, s *planner.SubLink, test expr.Expr, anti bool, top *planner.JoinItem) bool {
	sub := s.Sub
	if sub.Command != planner.CmdSelect || sub.SetOp != nil || sub.HasAggs || len(sub.GroupBy) > 0 || sub.GroupSets != nil ||
		sub.Having != nil || sub.HasWindow || sub.HasTargetSRF || len(sub.RowMarks) > 0 || len(sub.CTEs) > 0 || len(sub.From) == 0 ||
		sub.Offset != nil || len(sub.DistinctOn) > 0 || sub.WithTies {
		return false
	}
	if sub.Limit != nil {
		k, ok := isConst(sub.Limit)
		if test != nil || !ok || !k.Val.Null && k.Val.I < 1 {
			return false
		}
	}
	if worstQuery(sub) == sqltypes.Volatile {
		return false
	}
	p.foldQuery(sub)
	p.unnest(sub, true)
	if fromRefersAbove(sub) {
		return false
	}
	if test == nil && (sub.Where == nil || !hasLevel(sub.Where, 1)) {
		return false // uncorrelated: an InitPlan
	}
	if len(q.Range)+len(sub.Range) > maxRels*3/4 {
		return false
	}
	m := mergeInto(q, sub)
	cond := m.Where
	if test != nil {
		vis := visibleTargets(m)
		cond = and2(mapSubCols(test, func(n int) expr.Expr { return vis[n].Expr }), cond)
	}
	*top = planner.JoinItem{Rel: -1, Join: &planner.JoinTree{Kind: joinKind(anti), Left: *top, Right: crossAll(m.From), On: cond}}
	return true
}

// subqueryJoin makes the (uncorrelated) subquery of IN a relation of q.
func (p *planning) subqueryJoin(q *planner.Query, s *planner.SubLink, anti bool, top *planner.JoinItem) bool {
	q.Range = append(q.Range, &planner.RTE{Kind: planner.RTESubquery, Alias: "ANY_subquery", Sub: s.Sub, Cols: targetColumns(s.Sub)})
	r := len(q.Range) - 1
	cols := q.Range[r].Cols
	cond := mapSubCols(s.Test, func(n int) expr.Expr {
		return &planner.Var{T: expr.T{Typ: cols[n].Type}, Rel: r, Col: n, Name: cols[n].Name}
	})
	*top = planner.JoinItem{Rel: -1, Join: &planner.JoinTree{Kind: joinKind(anti), Left: *top, Right: planner.JoinItem{Rel: r}, On: cond}}
	return true
}

func visibleTargets(q *planner.Query) []planner.Target1 {
	var out []planner.Target1
	for _, t := range q.Targets {
		if !t.Junk {
			out = append(out, t)
		}
	}
	return out
}

func targetColumns(q *planner.Query) []planner.Column {
	var out []planner.Column
	for _, t := range visibleTargets(q) {
		out = append(out, planner.Column{Name: t.Name, Type: t.Expr.Type(), TableOID: t.TableOID, Attr: t.Attr})
	}
	return out
}

func mapSubCols(e expr.Expr, f func(n int) expr.Expr) expr.Expr {
	if c, ok := e.(*planner.SubCol); ok {
		return f(c.N)
	}
	return mapChildren(e, func(x expr.Expr) expr.Expr { return mapSubCols(x, f) })
}

// mergeInto appends sub's range table to q's and returns sub as a query of q's
// level: its own columns renumbered, those of q no longer a level up.
func mergeInto(q, sub *planner.Query) *planner.Query {
	off := len(q.Range)
	m := mapQueryVars(sub, 0, func(v *planner.Var, depth int) expr.Expr {
		switch {
		case v.Level == depth && v.Rel >= 0:
			c := *v
			c.Rel += off
			return &c
		case v.Level > depth:
			c := *v
			c.Level--
			return &c
		}
		return v
	})
	for i := range m.From {
		m.From[i] = offsetItem(m.From[i], off)
	}
	q.Range = append(q.Range, m.Range...)
	return m
}

func offsetItem(it planner.JoinItem, off int) planner.JoinItem {
	if it.Join == nil {
		return planner.JoinItem{Rel: it.Rel + off}
	}
	it.Join.Left, it.Join.Right = offsetItem(it.Join.Left, off), offsetItem(it.Join.Right, off)
	return it
}

// fromRefersAbove reports that something in sub's FROM uses columns of the query above.
func fromRefersAbove(sub *planner.Query) bool {
	found := false
	shell := &planner.Query{Range: sub.Range, From: sub.From}
	visitQueryVars(shell, 0, func(v *planner.Var, depth int) { found = found || v.Level == depth+1 })
	return found
}

// foldQuery simplifies the query's own expressions.
func (p *planning) foldQuery(q *planner.Query) {
	(&level{p: p, q: q}).mapExprs(p.simplify)
}

// neverNull reports that no comparison of a NOT IN can be NULL: both sides of
// each are columns that hold no NULLs.
func (p *planning) neverNull(q *planner.Query, s *planner.SubLink) bool {
	vis := visibleTargets(s.Sub)
	for _, c := range conjuncts(s.Test) {
		b, ok := asBinary(c)
		if !ok {
			return false
		}
		sc, ok := stripRelabel(b.right).(*planner.SubCol)
		if !ok || sc.N >= len(vis) || s.Sub.SetOp != nil {
			return false
		}
		if !notNullColumn(q, b.left) || !notNullColumn(s.Sub, vis[sc.N].Expr) {
			return false
		}
	}
	return true
}

// notNullColumn reports that e, over q's relations, is never NULL.
func notNullColumn(q *planner.Query, e expr.Expr) bool {
	switch n := stripRelabel(e).(type) {
	case *expr.Const:
		return !n.Val.Null
	case *planner.Var:
		if n.Level != 0 || n.Rel < 0 {
			return false
		}
		for _, c := range conjuncts(q.Where) {
			if t, ok := c.(*expr.NullTest); ok && t.IsNot && sameExpr(t.Arg, n) {
				return true
			}
		}
		r := q.Range[n.Rel]
		if n.Col < 0 || nullableRels(q).has(n.Rel) || len(q.GroupSets) > 0 {
			return false
		}
		switch r.Kind {
		case planner.RTERelation:
			at := r.Attrs[n.Col]
			return r.Rel.Columns[at-1].NotNull
		case planner.RTESubquery:
			if vis := visibleTargets(r.Sub); r.Sub.SetOp == nil && n.Col < len(vis) {
				return notNullColumn(r.Sub, vis[n.Col].Expr)
			}
		}
	}
	return false
}
