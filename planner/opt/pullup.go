package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// pullUp merges simple subqueries in FROM (views too) into q.
func (p *planning) pullUp(q *planner.Query, scalars bool) {
	u := &puller{p: p, q: q, repl: map[int][]expr.Expr{}, scalars: scalars}
	for i := range q.From {
		q.From[i] = u.item(q.From[i], false, false)
	}
	if len(u.repl) == 0 {
		return
	}
	*q = *mapQueryVars(q, 0, u.replace)
}

type puller struct {
	p       *planning
	q       *planner.Query
	repl    map[int][]expr.Expr // expressions of a merged subquery's columns
	scalars bool
}

// replace substitutes columns of merged subqueries; their expressions may name
// other merged ones (LATERAL).
func (u *puller) replace(v *planner.Var, depth int) expr.Expr {
	if v.Level != depth || v.Rel < 0 {
		return v
	}
	cols, ok := u.repl[v.Rel]
	if !ok {
		return v
	}
	if v.Col < 0 || v.Col >= len(cols) {
		u.p.bug("column %d of a merged subquery", v.Col)
		return v
	}
	e := mapVars(cols[v.Col], 0, u.replace)
	if depth == 0 {
		return e
	}
	return mapVars(e, 0, func(w *planner.Var, d int) expr.Expr {
		if w.Level < d {
			return w
		}
		c := *w
		c.Level += depth
		return &c
	})
}

// item walks the join tree; nullable: an outer join above may pad the item;
// outer: any outer, semi or anti join is above.
func (u *puller) item(it planner.JoinItem, nullable, outer bool) planner.JoinItem {
	if j := it.Join; j != nil {
		ln, rn, out := nullable, nullable, outer || j.Kind != planner.JoinInner
		switch j.Kind {
		case planner.JoinLeft, planner.JoinAnti:
			rn = true
		case planner.JoinRight:
			ln = true
		case planner.JoinFull:
			ln, rn = true, true
		}
		j.Left, j.Right = u.item(j.Left, ln, out), u.item(j.Right, rn, out)
		return it
	}
	r := u.q.Range[it.Rel]
	if r.Kind != planner.RTESubquery || r.Sub == nil {
		return it
	}
	sub := r.Sub
	if !u.simple(it.Rel, r, nullable, outer) {
		return it
	}
	u.p.foldQuery(sub)
	u.p.unnest(sub, u.scalars)
	u.p.pullUp(sub, u.scalars)
	if !u.simple(it.Rel, r, nullable, outer) { // what it has taken up itself may stand in the way
		return it
	}
	if len(u.q.Range)+len(sub.Range) > maxRels*3/4 {
		return it
	}
	m := mergeInto(u.q, sub)
	vis := visibleTargets(m)
	cols := make([]expr.Expr, len(vis))
	for i, t := range vis {
		cols[i] = t.Expr
	}
	u.repl[it.Rel] = cols
	if len(m.From) == 0 {
		m.From = []planner.JoinItem{resultItem(u.q)}
	}
	top := crossAll(m.From)
	if m.Where == nil {
		return top
	}
	if top.Join != nil && top.Join.Kind == planner.JoinInner {
		top.Join.On = and2(top.Join.On, m.Where)
		return top
	}
	return planner.JoinItem{Rel: -1, Join: &planner.JoinTree{Kind: planner.JoinInner, Left: top, Right: resultItem(u.q), On: m.Where}}
}

// outerJoinRefersAbove reports that an outer, semi or anti join of the query, or what
// it joins, reads columns from above: such a condition would have to be evaluated
// outside of its join.
func outerJoinRefersAbove(q *planner.Query) bool {
	var walk func(it planner.JoinItem, inOuter bool) bool
	walk = func(it planner.JoinItem, inOuter bool) bool {
		j := it.Join
		if j == nil {
			if !inOuter || it.Rel < 0 {
				return false
			}
			return fromRefersAbove(&planner.Query{Range: []*planner.RTE{q.Range[it.Rel]}})
		}
		inOuter = inOuter || j.Kind != planner.JoinInner
		return inOuter && j.On != nil && hasLevel(j.On, 1) || walk(j.Left, inOuter) || walk(j.Right, inOuter)
	}
	for _, it := range q.From {
		if walk(it, false) {
			return true
		}
	}
	return false
}

// simple reports that a subquery can become part of the join tree.
func (u *puller) simple(rel int, r *planner.RTE, nullable, outer bool) bool {
	s := r.Sub
	if s.Command != planner.CmdSelect || s.SetOp != nil || s.HasAggs || len(s.GroupBy) > 0 || s.GroupSets != nil || s.Having != nil ||
		s.HasWindow || s.HasTargetSRF || s.Distinct || len(s.DistinctOn) > 0 || len(s.Sort) > 0 || s.Limit != nil || s.Offset != nil ||
		len(s.RowMarks) > 0 || len(s.CTEs) > 0 || r.SecurityBarrier {
		return false
	}
	if outer && refersAbove(s) || outerJoinRefersAbove(s) {
		return false
	}
	if len(s.From) == 0 && outer {
		return false
	}
	plain := true
	vis := visibleTargets(s)
	for _, t := range vis {
		if worst(t.Expr) == sqltypes.Volatile {
			return false
		}
		if v, ok := t.Expr.(*planner.Var); !ok || v.Level != 0 {
			plain = false
		}
	}
	if plain || !nullable {
		return true
	}
	ok := true
	visitQueryVars(u.q, 0, func(v *planner.Var, depth int) {
		if v.Level == depth && v.Rel == rel && v.Col >= 0 && v.Col < len(vis) {
			if t, is := vis[v.Col].Expr.(*planner.Var); !is || t.Level != 0 {
				ok = false
			}
		}
	})
	return ok
}
