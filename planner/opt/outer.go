package opt

import (
	"ostraka/expr"
	"ostraka/planner"
)

// reduceOuterJoins makes right joins left joins, and outer joins weaker where a
// condition above rejects the rows they pad: full → left → inner, and left →
// anti where the condition wants padded rows only.
func (lv *level) reduceOuterJoins() {
	hasOuter := false
	for _, it := range lv.q.From {
		hasOuter = hasOuter || anyOuter(it)
	}
	if !hasOuter {
		return
	}
	o := &outerReducer{lv: lv}
	strict := nonNullRels(lv.q.Where, true)
	forced := forcedNullVars(lv.q.Where)
	for _, it := range lv.q.From {
		o.item(it, strict, forced)
	}
	// What an anti join's right side shows above it is NULL.
	for _, anti := range o.antis {
		right := itemRels(anti.Right)
		gone := func(e expr.Expr) expr.Expr {
			return lv.p.simplify(mapVars(e, 0, func(v *planner.Var, _ int) expr.Expr {
				if v.Level == 0 && v.Rel >= 0 && right.has(v.Rel) {
					return nullConst(v.Typ)
				}
				return v
			}))
		}
		if lv.q.Where != nil {
			lv.q.Where = gone(lv.q.Where)
		}
		for i := range lv.q.Targets {
			lv.q.Targets[i].Expr = gone(lv.q.Targets[i].Expr)
		}
		if lv.q.Having != nil {
			lv.q.Having = gone(lv.q.Having)
		}
		for _, it := range lv.q.From {
			mapOnAbove(it, anti, gone)
		}
	}
}

func anyOuter(it planner.JoinItem) bool {
	j := it.Join
	return j != nil && (j.Kind == planner.JoinLeft || j.Kind == planner.JoinRight || j.Kind == planner.JoinFull || anyOuter(j.Left) || anyOuter(j.Right))
}

// mapOnAbove applies f to the conditions outside of one join.
func mapOnAbove(it planner.JoinItem, below *planner.JoinTree, f func(expr.Expr) expr.Expr) {
	j := it.Join
	if j == nil || j == below {
		return
	}
	mapOnAbove(j.Left, below, f)
	mapOnAbove(j.Right, below, f)
	if j.On != nil {
		j.On = f(j.On)
	}
}

type outerReducer struct {
	lv    *level
	antis []*planner.JoinTree // left joins that became anti joins
}

func (o *outerReducer) item(it planner.JoinItem, strict relSet, forced map[varKey]bool) {
	j := it.Join
	if j == nil {
		return
	}
	if j.Kind == planner.JoinRight {
		j.Kind, j.Left, j.Right = planner.JoinLeft, j.Right, j.Left
	}
	left, right := itemRels(j.Left), itemRels(j.Right)
	if j.Kind == planner.JoinFull {
		l, r := strict.overlaps(left), strict.overlaps(right)
		switch {
		case l && r:
			j.Kind = planner.JoinInner
		case l:
			j.Kind = planner.JoinLeft
		case r:
			j.Kind, j.Left, j.Right = planner.JoinLeft, j.Right, j.Left
			left, right = right, left
		}
	}
	if j.Kind == planner.JoinLeft {
		if strict.overlaps(right) {
			j.Kind = planner.JoinInner
		} else if o.antiPossible(j, right, forced) {
			j.Kind = planner.JoinAnti
			o.antis = append(o.antis, j)
		}
	}
	on, onNull := nonNullRels(j.On, true), forcedNullVars(j.On)
	switch j.Kind {
	case planner.JoinInner, planner.JoinSemi:
		s, f := strict.union(on), forced
		if len(onNull) > 0 {
			f = map[varKey]bool{}
			for k := range forced {
				f[k] = true
			}
			for k := range onNull {
				f[k] = true
			}
		}
		o.item(j.Left, s, f)
		o.item(j.Right, s, f)
	case planner.JoinLeft, planner.JoinAnti:
		o.item(j.Left, strict, forced)
		o.item(j.Right, on, onNull) // the ON condition restricts the padded side only
	default:
		o.item(j.Left, relSet{}, nil)
		o.item(j.Right, relSet{}, nil)
	}
}

// antiPossible: some column of the padded side is wanted NULL above, but cannot
// be NULL where ON holds.
func (o *outerReducer) antiPossible(j *planner.JoinTree, right relSet, forced map[varKey]bool) bool {
	if len(forced) == 0 || len(o.lv.q.RowMarks) > 0 || o.lv.q.Command != planner.CmdSelect {
		return false
	}
	for k := range strictVars(j.On) {
		if forced[k] && right.has(k.rel) {
			return true
		}
	}
	return false
}

// nonNullRels are relations such that cond cannot be true (with top false: is
// NULL) for rows in which all of the relation's columns are NULL.
func nonNullRels(e expr.Expr, top bool) relSet {
	var none relSet
	all := func(es []expr.Expr, t bool) relSet {
		var s relSet
		for _, x := range es {
			s = s.union(nonNullRels(x, t))
		}
		return s
	}
	common := func(es []expr.Expr, t bool) relSet {
		s := nonNullRels(es[0], t)
		for _, x := range es[1:] {
			s = s.inter(nonNullRels(x, t))
		}
		return s
	}
	switch n := e.(type) {
	case *planner.Var:
		if n.Level == 0 && n.Rel >= 0 {
			return relOf(n.Rel)
		}
	case *expr.Call:
		if n.Proc.Strict && !n.Proc.RetSet && !n.VariadicArray {
			return all(n.Args, false)
		}
	case *expr.And:
		if top {
			return all(n.Args, true)
		}
		return common(n.Args, false)
	case *expr.Or:
		return common(n.Args, top)
	case *expr.Not:
		return nonNullRels(n.Arg, false)
	case *expr.NullTest:
		if top && n.IsNot && !n.Row {
			return nonNullRels(n.Arg, false)
		}
	case *expr.BoolTest:
		if top && (!n.IsNot && n.Value >= 0 || n.IsNot && n.Value < 0) {
			return nonNullRels(n.Arg, false)
		}
	case *expr.ArrayOp:
		if n.Proc.Strict && !n.All && top {
			return nonNullRels(n.Left, false)
		}
	case *expr.RowCompare:
		if len(n.Left) > 0 {
			return nonNullRels(n.Left[0], false).union(nonNullRels(n.Right[0], false))
		}
	case *expr.Relabel:
		return nonNullRels(n.Arg, false)
	case *expr.CoerceViaIO:
		return nonNullRels(n.Arg, false)
	case *expr.ArrayCoerce:
		return nonNullRels(n.Arg, false)
	}
	return none
}

// strictVars are columns that must not be NULL for cond to be true.
func strictVars(cond expr.Expr) map[varKey]bool {
	out := map[varKey]bool{}
	var value func(e expr.Expr)
	value = func(e expr.Expr) {
		switch n := e.(type) {
		case *planner.Var:
			if n.Level == 0 {
				out[keyOf(n)] = true
			}
		case *expr.Call:
			if n.Proc.Strict && !n.Proc.RetSet && !n.VariadicArray {
				for _, a := range n.Args {
					value(a)
				}
			}
		case *expr.Relabel:
			value(n.Arg)
		}
	}
	for _, c := range conjuncts(cond) {
		switch n := c.(type) {
		case *expr.NullTest:
			if n.IsNot && !n.Row {
				value(n.Arg)
			}
		case *expr.ArrayOp:
			if n.Proc.Strict && !n.All {
				value(n.Left)
			}
		default:
			value(c)
		}
	}
	return out
}

func forcedNullVars(cond expr.Expr) map[varKey]bool {
	var out map[varKey]bool
	for _, c := range conjuncts(cond) {
		if t, ok := c.(*expr.NullTest); ok && !t.IsNot && !t.Row {
			if v, ok := t.Arg.(*planner.Var); ok && v.Level == 0 {
				if out == nil {
					out = map[varKey]bool{}
				}
				out[keyOf(v)] = true
			}
		}
	}
	return out
}
