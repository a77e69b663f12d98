package deparse

import (
	"strconv"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// sortTarget prints a target that a clause refers to: a constant by its position.
func (p *printer) sortTarget(q *planner.Query, i int, group bool) {
	t := q.Targets[i]
	switch x := t.Expr.(type) {
	case *expr.Const:
		if !t.Junk {
			p.s(strconv.Itoa(p.position(q, i)))
			return
		}
		p.expr(x, false)
	case *planner.Var:
		p.variable(x, false)
	default:
		p.sortExpr(x)
	}
}

// sortExpr prints a sort or grouping expression: calls are parenthesised, and
// when parentheses are saved everything is.
func (p *printer) sortExpr(e expr.Expr) {
	paren := p.pretty
	switch x := e.(type) {
	case *planner.Var, *expr.Const, *expr.Col:
		paren = false
	case *expr.Call:
		paren = paren || x.Op == ""
	case *expr.Agg, *expr.Window:
		paren = true
	}
	if paren {
		p.s("(")
	}
	p.expr(e, true)
	if paren {
		p.s(")")
	}
}

func (p *printer) position(q *planner.Query, i int) int {
	n := 0
	for k := 0; k <= i; k++ {
		if !q.Targets[k].Junk {
			n++
		}
	}
	return n
}

func (p *printer) sorts(list []planner.SortItem, q *planner.Query, byPosition bool) {
	for i, it := range list {
		if i > 0 {
			p.s(", ")
		}
		if byPosition {
			p.s(strconv.Itoa(p.position(q, it.Target)))
		} else {
			p.sortTarget(q, it.Target, false)
		}
		if it.Lt != nil {
			op := "<"
			for _, o := range sqltypes.AllOperators() {
				if o.Proc == it.Lt {
					op = o.Name
				}
			}
			p.s(" USING ", op)
		} else if it.Desc {
			p.s(" DESC")
		}
		if it.NullsFirst != it.Desc {
			if it.NullsFirst {
				p.s(" NULLS FIRST")
			} else {
				p.s(" NULLS LAST")
			}
		}
	}
}
