package deparse

import (
	"ostraka/planner"
	"ostraka/sqltypes"
)

func (p *printer) with(q *planner.Query) {
	if len(q.CTEs) == 0 {
		return
	}
	if p.indenting {
		p.indent += indentStd
		p.s(" ")
	}
	p.s("WITH ")
	for _, c := range q.CTEs {
		if c.Recursive {
			p.s("RECURSIVE ")
			break
		}
	}
	for i, c := range q.CTEs {
		if i > 0 {
			p.s(", ")
		}
		p.s(sqltypes.QuoteIdent(c.Name))
		query, cols := c.Original()
		if differ(cols, query) || c.SearchCycle != nil && c.SearchCycle.Named {
			p.s("(")
			for k, col := range cols {
				if k > 0 {
					p.s(", ")
				}
				p.s(sqltypes.QuoteIdent(col.Name))
			}
			p.s(")")
		}
		p.s(" AS ")
		switch c.Materialized {
		case 'm':
			p.s("MATERIALIZED ")
		case 'n':
			p.s("NOT MATERIALIZED ")
		}
		p.s("(")
		if p.indenting {
			p.keyword("", 0, 0, 0)
		}
		p.query(query, nil, false)
		if p.indenting {
			p.keyword("", 0, 0, 0)
		}
		p.s(")")
		p.searchCycle(c.SearchCycle)
	}
	if p.indenting {
		p.indent -= indentStd
		p.keyword("", 0, 0, 0)
	} else {
		p.s(" ")
	}
}

// searchCycle prints the SEARCH and CYCLE of a recursive query.
func (p *printer) searchCycle(x *planner.SearchCycle) {
	if x == nil {
		return
	}
	names := func(list []string) {
		for i, n := range list {
			if i > 0 {
				p.s(", ")
			}
			p.s(sqltypes.QuoteIdent(n))
		}
	}
	if x.Search != nil {
		order := "DEPTH"
		if x.Breadth {
			order = "BREADTH"
		}
		p.s(" SEARCH " + order + " FIRST BY ")
		names(x.Search)
		p.s(" SET " + sqltypes.QuoteIdent(x.Seq))
	}
	if x.Cycle != nil {
		p.s(" CYCLE ")
		names(x.Cycle)
		p.s(" SET " + sqltypes.QuoteIdent(x.Mark))
		if !x.Default {
			p.s(" TO ")
			p.expr(x.Value, false)
			p.s(" DEFAULT ")
			p.expr(x.Else, false)
		}
		p.s(" USING " + sqltypes.QuoteIdent(x.Path))
	}
}
