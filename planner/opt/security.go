package opt

import (
	"ostraka/expr"
	"ostraka/planner"
)

// Conditions that hide rows (RTE.SecurityQuals) are evaluated where a table is read,
// before whatever could tell something about the rows they hide. A condition tells
// nothing when every function in it that sees columns is leakproof.

// securityClauses files what hides rows of a relation.
func (lv *level) securityClauses(i int) {
	for k, q := range lv.rte(i).SecurityQuals {
		for _, e := range lv.p.canonical(q) {
			c := lv.newClause(e)
			c.hides, c.req, c.equi = k+1, relOf(i), false
			lv.rel(i).restrict = append(lv.rel(i).restrict, c)
		}
	}
}

// securityLevel orders the conditions on one relation: lower ones come first.
func (lv *level) securityLevel(c *clause) int {
	const dear = 10 * costOp
	switch {
	case c.hides > 0:
		return c.hides - 1
	case exprCost(c.e) < dear && !leaky(c.e):
		return 0
	}
	return 1 << 30
}

// promotable leaves of the conditions on a relation those that may be tested on rows
// that are hidden, as searching an index does.
func (lv *level) promotable(i int, cs []*clause) []*clause {
	if len(lv.rte(i).SecurityQuals) == 0 {
		return cs
	}
	var out []*clause
	for _, c := range cs {
		if c.hides == 1 || !leaky(c.e) {
			out = append(out, c)
		}
	}
	return out
}

// leaky reports that evaluating e could tell somebody the values of columns, by an
// error message or by what a function does (contain_leaked_vars). What is not known
// to be harmless is leaky.
func leaky(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *planner.Var, *expr.Const, *expr.Param, *expr.ExecParam, *expr.CaseValue, *expr.And, *expr.Or, *expr.Not,
			*expr.NullTest, *expr.BoolTest, *expr.Case, *expr.Coalesce, *expr.ArrayCtor, *expr.RowCtor, *expr.Field, *expr.Relabel:
			return false
		case *expr.Call:
			return !n.Proc.Leakproof && hasColumns(n)
		case *expr.ArrayOp:
			return !n.Proc.Leakproof && hasColumns(n)
		}
		return hasColumns(x)
	})
}

func hasColumns(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *planner.Var, *planner.SubLink, *expr.SubPlan:
			return true
		}
		return false
	})
}
