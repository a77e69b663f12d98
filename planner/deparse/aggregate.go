package deparse

import (
	"ostraka/expr"
	"ostraka/sqltypes"
)

func (p *printer) aggregate(x *expr.Agg) {
	p.s(p.procName(x.Proc), "(")
	if x.Distinct {
		p.s("DISTINCT ")
	}
	n := len(x.Args)
	switch {
	case x.Star:
		p.s("*")
	case x.Proc.Agg != nil && x.Proc.Agg.OrderedSet:
		p.list(x.Direct)
		p.s(") WITHIN GROUP (ORDER BY ")
		p.aggSorts(x)
		p.s(")")
		p.filter(x.Filter)
		return
	default:
		if k := len(x.Proc.ArgTypes); x.Proc.Variadic == 0 && k < n {
			n = k
		}
		for i, a := range x.Args[:n] {
			if i > 0 {
				p.s(", ")
			}
			if x.VariadicArray && i == n-1 {
				p.s("VARIADIC ")
			}
			p.expr(a, true)
		}
	}
	if len(x.ArgSorts) > 0 {
		p.s(" ORDER BY ")
		p.aggSorts(x)
	}
	p.s(")")
	p.filter(x.Filter)
}

func (p *printer) aggSorts(x *expr.Agg) {
	for i, o := range x.ArgSorts {
		if i > 0 {
			p.s(", ")
		}
		p.sortExpr(x.Args[o.Arg])
		if o.Desc {
			p.s(" DESC")
		}
		if o.NullsFirst != o.Desc {
			if o.NullsFirst {
				p.s(" NULLS FIRST")
			} else {
				p.s(" NULLS LAST")
			}
		}
	}
}

func (p *printer) filter(e expr.Expr) {
	if e != nil {
		p.s(" FILTER (WHERE ")
		p.expr(e, false)
		p.s(")")
	}
}

func (p *printer) windowCall(x *expr.Window) {
	p.s(p.procName(x.Proc), "(")
	if x.Star {
		p.s("*")
	} else {
		p.list(x.Args)
	}
	p.s(")")
	p.filter(x.Filter)
	p.s(" OVER ")
	q := p.levels[len(p.levels)-1].q
	w := &q.Windows[x.Def]
	if w.Name != "" {
		p.s(sqltypes.QuoteIdent(w.Name))
		return
	}
	p.window(q, w)
}
