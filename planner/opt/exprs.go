package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

const (
	oidBool      = sqltypes.OID(16)
	oidUnknown   = sqltypes.OID(705)
	oidInt8      = sqltypes.OID(20)
	oidText      = sqltypes.OID(25)
	oidBpchar    = sqltypes.OID(1042)
	oidVarchar   = sqltypes.OID(1043)
	oidDate      = sqltypes.OID(1082)
	oidTimestamp = sqltypes.OID(1114)
	oidRecord    = sqltypes.OID(2249)
)

var boolType = sqltypes.ColumnType{OID: oidBool, TypMod: -1}

func boolConst(v bool) *expr.Const {
	return &expr.Const{T: expr.T{Typ: boolType}, Val: sqltypes.Bool(v)}
}

func nullConst(t sqltypes.ColumnType) *expr.Const {
	return &expr.Const{T: expr.T{Typ: t}, Val: sqltypes.Null}
}

// isConst returns the constant that e is.
func isConst(e expr.Expr) (*expr.Const, bool) {
	c, ok := e.(*expr.Const)
	return c, ok
}

func isFalseOrNull(e expr.Expr) bool {
	c, ok := isConst(e)
	return ok && (c.Val.Null || !c.Val.Bool())
}

func isTrue(e expr.Expr) bool {
	c, ok := isConst(e)
	return ok && c.Val.True()
}

// conjuncts splits nested ANDs; nil and TRUE give none.
func conjuncts(e expr.Expr) []expr.Expr {
	return appendConjuncts(nil, e)
}

func appendConjuncts(dst []expr.Expr, e expr.Expr) []expr.Expr {
	if e == nil || isTrue(e) {
		return dst
	}
	if a, ok := e.(*expr.And); ok {
		for _, x := range a.Args {
			dst = appendConjuncts(dst, x)
		}
		return dst
	}
	return append(dst, e)
}

// andOf joins conditions; nil for none.
func andOf(es []expr.Expr) expr.Expr {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return es[0]
	}
	return &expr.And{T: expr.T{Typ: boolType}, Args: es}
}

func and2(a, b expr.Expr) expr.Expr {
	return andOf(appendConjuncts(appendConjuncts(nil, a), b))
}

// relsOf is the set of this level's relations that e refers to, those reached
// from within the queries of its SubLinks included.
func relsOf(e expr.Expr) relSet {
	var s relSet
	visitVars(e, 0, func(v *planner.Var, depth int) {
		if v.Level == depth && v.Rel >= 0 {
			s[v.Rel>>6] |= 1 << (v.Rel & 63)
		}
	})
	return s
}

// visitVars calls f with every Var in e and in the queries of its SubLinks,
// depth levels below e's own.
func visitVars(e expr.Expr, depth int, f func(v *planner.Var, depth int)) {
	planner.Visit(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *planner.Var:
			f(n, depth)
		case *planner.SubLink:
			visitQueryVars(n.Sub, depth+1, f)
		}
		return true
	})
}

func visitQueryVars(q *planner.Query, depth int, f func(v *planner.Var, depth int)) {
	planner.VisitQuery(q,
		func(e expr.Expr) { visitVars(e, depth, f) },
		func(s *planner.Query) { visitQueryVars(s, depth+1, f) })
}

// mapVars replaces Vars in e and in the queries of its SubLinks, which are copied.
func mapVars(e expr.Expr, depth int, f func(v *planner.Var, depth int) expr.Expr) expr.Expr {
	switch n := e.(type) {
	case nil:
		return nil
	case *planner.Var:
		return f(n, depth)
	case *planner.SubLink:
		c := *n
		c.Test = mapVars(n.Test, depth, f)
		c.Sub = mapQueryVars(n.Sub, depth+1, f)
		return &c
	}
	return planner.MapChildren(e, func(x expr.Expr) expr.Expr { return mapVars(x, depth, f) })
}

// mapQueryVars is mapVars for a whole query, which is copied.
func mapQueryVars(q *planner.Query, depth int, f func(v *planner.Var, depth int) expr.Expr) *planner.Query {
	return planner.MapQuery(q,
		func(e expr.Expr) expr.Expr { return mapVars(e, depth, f) },
		func(s *planner.Query) *planner.Query { return mapQueryVars(s, depth+1, f) })
}

// cloneQuery copies a query so deeply that the copy's Query, RTE, JoinTree and
// SubLink structs may be changed.
func cloneQuery(q *planner.Query) *planner.Query {
	return mapQueryVars(q, 0, func(v *planner.Var, _ int) expr.Expr { return v })
}

// shiftLevels adds by to the level of every Var of q that points above q.
func shiftLevels(q *planner.Query, by int) *planner.Query {
	return mapQueryVars(q, 0, func(v *planner.Var, depth int) expr.Expr {
		if by == 0 || v.Level <= depth {
			return v
		}
		c := *v
		c.Level += by
		return &c
	})
}

// refersAbove reports that q refers to columns of exactly the query above it.
func refersAbove(q *planner.Query) bool {
	found := false
	visitQueryVars(q, 0, func(v *planner.Var, depth int) { found = found || v.Level == depth+1 })
	return found
}

// hasLevel reports Vars in e that point lvl levels up.
func hasLevel(e expr.Expr, lvl int) bool {
	found := false
	visitVars(e, 0, func(v *planner.Var, depth int) { found = found || v.Level == depth+lvl })
	return found
}

// contains reports that f holds for e or something below it (SubLink queries not entered).
func contains(e expr.Expr, f func(expr.Expr) bool) bool {
	found := false
	planner.Visit(e, func(x expr.Expr) bool {
		found = found || f(x)
		return !found
	})
	return found
}

func hasSubLink(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool { _, ok := x.(*planner.SubLink); return ok })
}

func hasSubPlan(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool { _, ok := x.(*expr.SubPlan); return ok })
}

func hasAgg(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Agg, *expr.Grouping:
			return true
		}
		return false
	})
}

func hasWindow(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool { _, ok := x.(*expr.Window); return ok })
}

func hasSRF(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool { c, ok := x.(*expr.Call); return ok && c.Proc.RetSet })
}

func hasParam(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool { _, ok := x.(*expr.Param); return ok })
}

// worst is the volatility of e, including queries of SubLinks.
func worst(e expr.Expr) sqltypes.Volatility {
	w := sqltypes.Immutable
	up := func(v sqltypes.Volatility) {
		if v == sqltypes.Volatile || v == sqltypes.Stable && w == sqltypes.Immutable {
			w = v
		}
	}
	planner.Visit(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *expr.Call:
			up(n.Proc.Volatility)
		case *expr.Agg:
			up(n.Proc.Volatility)
		case *expr.Window:
			up(n.Proc.Volatility)
		case *expr.ArrayOp:
			up(n.Proc.Volatility)
		case *expr.CoerceViaIO, *expr.CoerceDomain:
			up(sqltypes.Stable)
		case *planner.SubLink:
			up(worstQuery(n.Sub))
		case *expr.SubPlan:
			if sp, ok := n.Plan.(*planner.SubPlan); ok && subPlanVolatile(sp) {
				up(sqltypes.Volatile)
			}
		}
		return w != sqltypes.Volatile
	})
	return w
}

func worstQuery(q *planner.Query) sqltypes.Volatility {
	w := sqltypes.Immutable
	up := func(v sqltypes.Volatility) {
		if v == sqltypes.Volatile || v == sqltypes.Stable && w == sqltypes.Immutable {
			w = v
		}
	}
	if q.Command != planner.CmdSelect || len(q.RowMarks) > 0 {
		return sqltypes.Volatile
	}
	planner.VisitQuery(q, func(e expr.Expr) { up(worst(e)) }, func(s *planner.Query) { up(worstQuery(s)) })
	return w
}

func volatileExpr(e expr.Expr) bool { return e != nil && worst(e) == sqltypes.Volatile }

func subPlanVolatile(sp *planner.SubPlan) bool { return sp.Volatile }

// stripRelabel looks through binary-compatible relabelling.
func stripRelabel(e expr.Expr) expr.Expr {
	for {
		r, ok := e.(*expr.Relabel)
		if !ok {
			return e
		}
		e = r.Arg
	}
}
