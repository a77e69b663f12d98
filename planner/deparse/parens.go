package deparse

import (
	"strings"

	"ostraka/expr"
	"ostraka/planner"
)

// inner is get_rule_expr_paren: an operand of parent, in parentheses if they are
// needed. Without saving parentheses every operand brings its own.
func (p *printer) inner(e, parent expr.Expr, showImplicit bool) {
	if !p.pretty || isSimple(e, parent) {
		p.expr(e, showImplicit)
		return
	}
	p.s("(")
	p.expr(e, showImplicit)
	p.s(")")
}

// isSimple is isSimpleNode: e below parent needs no parentheses.
func isSimple(e, parent expr.Expr) bool {
	lower := func() bool {
		switch x := parent.(type) {
		case *expr.Call:
			// A function has its own parentheses; an operator or a cast has not.
			return x.Op == "" && x.Coercion == 0 && x.Form == 0
		case *expr.And, *expr.Or, *expr.Not, *expr.Subscript, *expr.ArrayCtor, *expr.RowCtor, *expr.Coalesce, *expr.MinMax, *expr.NullIf,
			*expr.Agg, *expr.Grouping, *expr.Window, *expr.Case:
			return true
		}
		return false
	}
	switch x := e.(type) {
	case *planner.Var, *expr.Col, *expr.Const, *expr.Param, *expr.CaseValue, *expr.Subscript, *expr.ArrayCtor, *expr.RowCtor, *expr.Coalesce,
		*expr.MinMax, *expr.NullIf, *expr.Agg, *expr.Grouping, *expr.Window, *expr.Case:
		return true
	case *expr.Field:
		_, ok := parent.(*expr.Field)
		return !ok
	case *expr.Relabel:
		return isSimple(x.Arg, parent)
	case *expr.CoerceViaIO:
		return isSimple(x.Arg, parent)
	case *expr.ArrayCoerce:
		return isSimple(x.Arg, parent)
	case *expr.CoerceDomain:
		return isSimple(x.Arg, parent)
	case *expr.Call:
		if x.Op == "" {
			return true
		}
		if up, ok := parent.(*expr.Call); ok && up.Op != "" {
			return bindsTighter(x, up)
		}
		return lower()
	case *planner.SubLink, *expr.NullTest, *expr.BoolTest, *expr.Distinct:
		return lower()
	case *expr.And, *expr.Or, *expr.Not:
		switch parent.(type) {
		case *expr.And:
			_, or := e.(*expr.Or)
			return !or
		case *expr.Or:
			return true
		case *expr.Not:
			return false
		}
		return lower()
	}
	return false
}

// bindsTighter: an arithmetic operator below another one needs no parentheses.
func bindsTighter(x, up *expr.Call) bool {
	prec := func(c *expr.Call) int {
		if len(c.Args) != 2 || len(c.Op) != 1 {
			return 0
		}
		return strings.Index(" +-*/%", c.Op)
	}
	a, b := prec(x), prec(up)
	if a <= 0 || b <= 0 {
		return false
	}
	hi, hiUp := a > 2, b > 2
	if hi != hiUp {
		return hi
	}
	return up.Args[0] == expr.Expr(x)
}

func (p *printer) open() {
	if !p.pretty {
		p.s("(")
	}
}

func (p *printer) close() {
	if !p.pretty {
		p.s(")")
	}
}
