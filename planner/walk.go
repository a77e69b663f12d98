package planner

import "ostraka/expr"

// MapChildren returns e with f applied to each direct child expression. Nodes
// are immutable: e itself is returned when no child changed, else a copy. The
// query of a SubLink is not a child (see MapQuery); nil children stay nil.
func MapChildren(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	one := func(x expr.Expr, changed *bool) expr.Expr {
		if x == nil {
			return nil
		}
		y := f(x)
		if y != x {
			*changed = true
		}
		return y
	}
	list := func(xs []expr.Expr, changed *bool) []expr.Expr {
		var out []expr.Expr
		for i, x := range xs {
			if x == nil {
				continue
			}
			if y := f(x); y != x {
				if out == nil {
					out = append([]expr.Expr(nil), xs...)
				}
				out[i] = y
			}
		}
		if out == nil {
			return xs
		}
		*changed = true
		return out
	}
	call := func(c *expr.Call, changed *bool) *expr.Call {
		ch := false
		args := list(c.Args, &ch)
		if !ch {
			return c
		}
		*changed = true
		n := *c
		n.Args = args
		return &n
	}
	ch := false
	switch n := e.(type) {
	case *expr.Call:
		return call(n, &ch)
	case *expr.And:
		if a := list(n.Args, &ch); ch {
			return &expr.And{T: n.T, Args: a}
		}
	case *expr.Or:
		if a := list(n.Args, &ch); ch {
			return &expr.Or{T: n.T, Args: a}
		}
	case *expr.Not:
		if a := one(n.Arg, &ch); ch {
			return &expr.Not{T: n.T, Arg: a}
		}
	case *expr.NullTest:
		if a := one(n.Arg, &ch); ch {
			return &expr.NullTest{T: n.T, Arg: a, IsNot: n.IsNot, Row: n.Row}
		}
	case *expr.BoolTest:
		if a := one(n.Arg, &ch); ch {
			return &expr.BoolTest{T: n.T, Arg: a, Value: n.Value, IsNot: n.IsNot}
		}
	case *expr.Distinct:
		if c := call(n.Eq, &ch); ch {
			return &expr.Distinct{T: n.T, Eq: c, Not: n.Not}
		}
	case *expr.NullIf:
		if c := call(n.Eq, &ch); ch {
			return &expr.NullIf{T: n.T, Eq: c}
		}
	case *expr.Case:
		arg, els := one(n.Arg, &ch), one(n.Else, &ch)
		whens := make([]expr.When, len(n.Whens))
		for i, w := range n.Whens {
			whens[i] = expr.When{Cond: one(w.Cond, &ch), Result: one(w.Result, &ch)}
		}
		if ch {
			return &expr.Case{T: n.T, Arg: arg, Whens: whens, Else: els}
		}
	case *expr.Coalesce:
		if a := list(n.Args, &ch); ch {
			return &expr.Coalesce{T: n.T, Args: a}
		}
	case *expr.MinMax:
		if a := list(n.Args, &ch); ch {
			return &expr.MinMax{T: n.T, Args: a, Least: n.Least}
		}
	case *expr.ArrayCtor:
		if a := list(n.Elems, &ch); ch {
			return &expr.ArrayCtor{T: n.T, Elems: a, Elem: n.Elem, Multi: n.Multi}
		}
	case *expr.RowCtor:
		if a := list(n.Fields, &ch); ch {
			return &expr.RowCtor{T: n.T, Fields: a, Names: n.Names}
		}
	case *expr.Field:
		if a := one(n.Arg, &ch); ch {
			return &expr.Field{T: n.T, Arg: a, Num: n.Num}
		}
	case *expr.Subscript:
		arg, lo, up, as := one(n.Arg, &ch), list(n.Lower, &ch), list(n.Upper, &ch), one(n.Assign, &ch)
		if ch {
			return &expr.Subscript{T: n.T, Arg: arg, Lower: lo, Upper: up, IsSlice: n.IsSlice, Assign: as}
		}
	case *expr.ArrayOp:
		l, a := one(n.Left, &ch), one(n.Array, &ch)
		if ch {
			c := *n
			c.Left, c.Array = l, a
			return &c
		}
	case *expr.RowCompare:
		l, r := list(n.Left, &ch), list(n.Right, &ch)
		if ch {
			c := *n
			c.Left, c.Right = l, r
			return &c
		}
	case *expr.Relabel:
		if a := one(n.Arg, &ch); ch {
			return &expr.Relabel{T: n.T, Arg: a, Coercion: n.Coercion}
		}
	case *expr.CoerceViaIO:
		if a := one(n.Arg, &ch); ch {
			return &expr.CoerceViaIO{T: n.T, Arg: a, Coercion: n.Coercion}
		}
	case *expr.ArrayCoerce:
		arg, el := one(n.Arg, &ch), one(n.Elem, &ch)
		if ch {
			return &expr.ArrayCoerce{T: n.T, Arg: arg, Elem: el, Coercion: n.Coercion}
		}
	case *expr.CoerceDomain:
		if a := one(n.Arg, &ch); ch {
			c := *n
			c.Arg = a
			return &c
		}
	case *expr.SubPlan:
		args, test := list(n.Args, &ch), one(n.Test, &ch)
		if ch {
			c := *n
			c.Args, c.Test = args, test
			return &c
		}
	case *expr.Agg:
		args, dir, fil := list(n.Args, &ch), list(n.Direct, &ch), one(n.Filter, &ch)
		if ch {
			c := *n
			c.Args, c.Direct, c.Filter = args, dir, fil
			return &c
		}
	case *expr.Window:
		args, fil := list(n.Args, &ch), one(n.Filter, &ch)
		if ch {
			c := *n
			c.Args, c.Filter = args, fil
			return &c
		}
	case *SubLink:
		if t := one(n.Test, &ch); ch {
			c := *n
			c.Test = t
			return &c
		}
	}
	return e
}

// VisitChildren calls f with each direct child of e. Like MapChildren it does not enter a SubLink's query.
func VisitChildren(e expr.Expr, f func(expr.Expr)) {
	MapChildren(e, func(x expr.Expr) expr.Expr { f(x); return x })
}

// Visit calls f with e and all expressions below it, outermost first, as long as
// f returns true for the parent.
func Visit(e expr.Expr, f func(expr.Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	VisitChildren(e, func(x expr.Expr) { Visit(x, f) })
}

// VisitQuery calls f with every root expression of q itself (not of its
// subqueries) and sub with every query directly below q except those in SubLinks.
func VisitQuery(q *Query, f func(expr.Expr), sub func(*Query)) {
	m := queryMapper{
		expr: func(e expr.Expr) expr.Expr { f(e); return e },
		sub:  func(s *Query) *Query { sub(s); return s },
		look: true,
	}
	m.query(q)
}

// MapQuery returns a copy of q in which every root expression went through f and
// every query directly below q (FROM, WITH, set operations; not SubLinks, which
// are f's affair: it must copy theirs too) through sub, which must return copies.
// References to q's own WITH queries follow the copies.
func MapQuery(q *Query, f func(expr.Expr) expr.Expr, sub func(*Query) *Query) *Query {
	m := queryMapper{expr: f, sub: sub}
	return m.query(q)
}

type queryMapper struct {
	expr func(expr.Expr) expr.Expr
	sub  func(*Query) *Query
	look bool // nothing changes: leave references alone
}

func (m *queryMapper) e(e expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	return m.expr(e)
}

func (m *queryMapper) list(es []expr.Expr) []expr.Expr {
	if es == nil {
		return nil
	}
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = m.e(e)
	}
	return out
}

func (m *queryMapper) targets(ts []Target1) []Target1 {
	if ts == nil {
		return nil
	}
	out := make([]Target1, len(ts))
	for i, t := range ts {
		t.Expr = m.e(t.Expr)
		out[i] = t
	}
	return out
}

func (m *queryMapper) item(it JoinItem) JoinItem {
	if it.Join == nil {
		return it
	}
	j := *it.Join
	j.Left, j.Right, j.On = m.item(j.Left), m.item(j.Right), m.e(j.On)
	return JoinItem{Rel: -1, Join: &j}
}

func (m *queryMapper) query(q *Query) *Query {
	n := *q
	var ctes map[*CTEQuery]*CTEQuery
	if q.CTEs != nil {
		ctes = make(map[*CTEQuery]*CTEQuery, len(q.CTEs))
		n.CTEs = make([]*CTEQuery, len(q.CTEs))
		for i, c := range q.CTEs {
			k := *c
			ctes[c] = &k
			n.CTEs[i] = &k
		}
		for i, c := range q.CTEs {
			n.CTEs[i].Query = m.sub(c.Query)
		}
	}
	if q.Range != nil {
		n.Range = make([]*RTE, len(q.Range))
		for i, r := range q.Range {
			n.Range[i] = m.rte(r)
		}
	}
	if q.From != nil {
		n.From = make([]JoinItem, len(q.From))
		for i, it := range q.From {
			n.From[i] = m.item(it)
		}
	}
	n.Where, n.Having = m.e(q.Where), m.e(q.Having)
	n.Limit, n.Offset = m.e(q.Limit), m.e(q.Offset)
	n.Targets, n.Returning = m.targets(q.Targets), m.targets(q.Returning)
	if q.Windows != nil {
		n.Windows = append([]WindowDef(nil), q.Windows...)
		for i := range n.Windows {
			f := &n.Windows[i].Frame
			f.Start.Offset, f.End.Offset = m.e(f.Start.Offset), m.e(f.End.Offset)
		}
	}
	if q.SetOp != nil {
		s := *q.SetOp
		s.Left, s.Right = m.sub(s.Left), m.sub(s.Right)
		n.SetOp = &s
	}
	if c := q.OnConflict; c != nil {
		k := *c
		k.Set, k.Where = m.targets(c.Set), m.e(c.Where)
		n.OnConflict = &k
	}
	if q.Merge != nil {
		n.Merge = append([]QueryMergeAction(nil), q.Merge...)
		for i := range n.Merge {
			a := &n.Merge[i]
			a.Cond, a.Set = m.e(a.Cond), m.targets(a.Set)
		}
	}
	if q.Policies != nil {
		n.Policies = append([]QueryPolicy(nil), q.Policies...)
		for i := range n.Policies {
			n.Policies[i].Cond = m.e(n.Policies[i].Cond)
		}
	}
	if ctes != nil && !m.look {
		relinkCTEs(&n, ctes)
	}
	return &n
}

func (m *queryMapper) rte(r *RTE) *RTE {
	k := *r
	k.SecurityQuals = m.list(r.SecurityQuals)
	if r.Sub != nil {
		k.Sub = m.sub(r.Sub)
	}
	if r.Calls != nil {
		k.Calls = make([]*expr.Call, len(r.Calls))
		for i, c := range r.Calls {
			if y, ok := m.e(c).(*expr.Call); ok {
				k.Calls[i] = y
			} else {
				k.Calls[i] = c
			}
		}
	}
	if r.Values != nil {
		k.Values = make([][]expr.Expr, len(r.Values))
		for i, row := range r.Values {
			k.Values[i] = m.list(row)
		}
	}
	if r.Sample != nil {
		s := *r.Sample
		s.Percent, s.Seed = m.e(s.Percent), m.e(s.Seed)
		k.Sample = &s
	}
	return &k
}

// relinkCTEs makes references to the old WITH queries, at any depth below q,
// point to the copies. The queries below q must already be copies.
func relinkCTEs(q *Query, ctes map[*CTEQuery]*CTEQuery) {
	var walk func(*Query)
	fix := func(e expr.Expr) {
		Visit(e, func(x expr.Expr) bool {
			if s, ok := x.(*SubLink); ok {
				walk(s.Sub)
			}
			return true
		})
	}
	walk = func(q *Query) {
		for _, r := range q.Range {
			if r.CTE != nil {
				if k := ctes[r.CTE]; k != nil {
					r.CTE = k
				}
			}
		}
		VisitQuery(q, fix, walk)
	}
	walk(q)
}
