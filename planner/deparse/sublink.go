package deparse

import (
	"ostraka/expr"
	"ostraka/planner"
)

func (p *printer) subLink(x *planner.SubLink) {
	body := func() {
		p.query(x.Sub, nil, false)
	}
	switch x.Kind {
	case expr.SubExists:
		p.s("(")
		p.s("EXISTS (")
		body()
		p.s(")")
		p.s(")")
	case expr.SubArray:
		p.s("ARRAY(")
		body()
		p.s(")")
	case expr.SubScalar:
		p.s("(")
		body()
		p.s(")")
	default:
		left, op := testParts(x.Test)
		p.s("(")
		if len(left) > 1 {
			p.s("(")
		}
		p.list(left)
		if len(left) > 1 {
			p.s(")")
		}
		switch {
		case x.Kind == expr.SubAny && op == "=":
			p.s(" IN (")
		case x.Kind == expr.SubAny:
			p.s(" ", op, " ANY (")
		case x.Kind == expr.SubAll:
			p.s(" ", op, " ALL (")
		default:
			p.s(" ", op, " (")
		}
		body()
		p.s(")")
		p.s(")")
	}
}

// testParts takes a SubLink's comparison apart.
func testParts(e expr.Expr) (left []expr.Expr, op string) {
	switch x := e.(type) {
	case *expr.Call:
		return x.Args[:1], x.Op
	case *expr.And:
		for _, a := range x.Args {
			l, o := testParts(a)
			left, op = append(left, l...), o
		}
	case *expr.Or:
		for _, a := range x.Args {
			l, o := testParts(a)
			left, op = append(left, l...), o
		}
	case *expr.RowCompare:
		return x.Left, map[byte]string{'<': "<", 'l': "<=", '>': ">", 'g': ">="}[x.Op]
	}
	return left, op
}
