package deparse

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

func (p *printer) from(q *planner.Query) {
	for i, it := range q.From {
		if i == 0 {
			p.keyword(" FROM ", -indentStd, indentStd, 2)
		}
		p.wrapped(i)
		p.item(q, it)
	}
}

// item is get_from_clause_item.
func (p *printer) item(q *planner.Query, it planner.JoinItem) {
	if it.Join == nil {
		p.rte(q, it.Rel)
		return
	}
	j := it.Join
	l := p.levels[len(p.levels)-1]
	if l.inside == nil {
		l.inside = map[*planner.JoinTree]bool{}
	}
	l.inside[j] = true
	if !p.pretty || j.Alias != "" {
		p.s("(")
	}
	p.join(q, j)
	if !p.pretty || j.Alias != "" {
		p.s(")")
	}
	delete(l.inside, j)
	if j.Alias == "" {
		return
	}
	p.s(" ", sqltypes.QuoteIdent(j.Alias))
	for i, c := range j.AliasCols {
		if i == 0 {
			p.s("(")
		} else {
			p.s(", ")
		}
		p.s(sqltypes.QuoteIdent(c))
	}
	if len(j.AliasCols) > 0 {
		p.s(")")
	}
}

// throughJoin is the name of an expression that is a column of a named join, or a
// merged column of a full one.
func (p *printer) throughJoin(e expr.Expr) (text, col string, ok bool) {
	up := 0
	if v, ok := e.(*planner.Var); ok {
		up = v.Level
	}
	if up >= len(p.levels) {
		return "", "", false
	}
	l := p.levels[len(p.levels)-1-up]
	var look func(it planner.JoinItem) (string, string, bool)
	look = func(it planner.JoinItem) (string, string, bool) {
		j := it.Join
		if j == nil {
			return "", "", false
		}
		if !l.inside[j] {
			for _, c := range j.Cols {
				if !sameColumn(c.Expr, e) {
					continue
				}
				if j.Alias == "" {
					return sqltypes.QuoteIdent(c.Name), c.Name, true
				}
				return sqltypes.QuoteIdent(j.Alias) + "." + sqltypes.QuoteIdent(c.Name), c.Name, true
			}
		}
		if text, col, ok := look(j.Left); ok {
			return text, col, true
		}
		return look(j.Right)
	}
	for _, it := range l.q.From {
		if text, col, ok := look(it); ok {
			return text, col, true
		}
	}
	return "", "", false
}

// sameColumn compares columns of joins: those of a table, and merged ones.
func sameColumn(a, b expr.Expr) bool {
	switch x := a.(type) {
	case *planner.Var:
		y, ok := b.(*planner.Var)
		return ok && x.Rel == y.Rel && x.Col == y.Col
	case *expr.Coalesce:
		y, ok := b.(*expr.Coalesce)
		if !ok || len(x.Args) != len(y.Args) {
			return false
		}
		for i := range x.Args {
			if !sameColumn(x.Args[i], y.Args[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

// join prints both sides and the condition.
func (p *printer) join(q *planner.Query, j *planner.JoinTree) {
	p.item(q, j.Left)
	word := " JOIN "
	switch j.Kind {
	case planner.JoinInner:
		if j.On == nil && len(j.Using) == 0 && !j.Natural {
			word = " CROSS JOIN "
		}
	case planner.JoinLeft:
		word = " LEFT JOIN "
	case planner.JoinRight:
		word = " RIGHT JOIN "
	case planner.JoinFull:
		word = " FULL JOIN "
	}
	if j.Natural {
		word = " NATURAL" + word
	}
	p.keyword(word, -indentStd, indentStd, indentJoin)
	if j.Right.Join != nil && p.pretty {
		p.s("(")
		p.item(q, j.Right)
		p.s(")")
	} else {
		p.item(q, j.Right)
	}
	if j.Natural {
		return
	}
	if len(j.Using) > 0 {
		for i, u := range j.Using {
			if i == 0 {
				p.s(" USING (")
			} else {
				p.s(", ")
			}
			p.s(sqltypes.QuoteIdent(u))
		}
		p.s(")")
		if j.UsingAlias != "" {
			p.s(" AS ", sqltypes.QuoteIdent(j.UsingAlias))
		}
		return
	}
	if j.On != nil {
		p.s(" ON ")
		if !p.pretty {
			p.s("(")
		}
		p.expr(j.On, false)
		if !p.pretty {
			p.s(")")
		}
	} else if j.Kind != planner.JoinInner {
		p.s(" ON TRUE")
	}
}

func (p *printer) rte(q *planner.Query, i int) {
	r := q.Range[i]
	l := p.levels[len(p.levels)-1]
	if r.Lateral && r.Kind == planner.RTESubquery {
		p.s("LATERAL ")
	}
	base, cols := "", false
	switch r.Kind {
	case planner.RTERelation:
		if r.Only {
			p.s("ONLY ")
		}
		p.s(p.relName(r.Rel))
		base = r.Rel.Name
		k := 0
		for _, c := range r.Rel.Columns {
			if c.Dropped {
				continue
			}
			cols = cols || r.Cols[k].Name != c.Name
			k++
		}
	case planner.RTEVirtual:
		p.s(p.relName(r.Virtual.Rel))
		base = r.Virtual.Rel.Name
	case planner.RTESubquery:
		if r.ViewOID != 0 {
			p.s(p.relName(r.Rel))
			base = r.Rel.Name
			k := 0
			for _, c := range r.Rel.Columns {
				if !c.Dropped && k < len(r.Cols) {
					cols = cols || r.Cols[k].Name != c.Name
					k++
				}
			}
			break
		}
		p.s("(")
		p.query(r.Sub, nil, false)
		p.s(")")
		cols = differ(r.Cols, r.Sub)
	case planner.RTEFunction:
		if len(r.Calls) > 1 {
			p.s("ROWS FROM(")
		}
		for k, c := range r.Calls {
			if k > 0 {
				p.s(", ")
			}
			p.expr(c, true)
		}
		if len(r.Calls) > 1 {
			p.s(")")
		}
		if r.Ordinality {
			p.s(" WITH ORDINALITY")
		}
		cols = true
	case planner.RTEValues:
		p.s("(")
		p.values(r.Values)
		p.s(")")
		cols = true
	case planner.RTECTE:
		p.s(sqltypes.QuoteIdent(r.CTE.Name))
		base = r.CTE.Name
		for k, c := range r.Cols {
			cols = cols || k < len(r.CTE.Cols) && r.CTE.Cols[k].Name != c.Name
		}
	}
	if l.names[i] != base || cols {
		p.s(" ", sqltypes.QuoteIdent(l.names[i]))
	}
	if cols {
		p.s("(")
		for k, c := range r.Cols {
			if k > 0 {
				p.s(", ")
			}
			p.s(sqltypes.QuoteIdent(c.Name))
			if r.Kind == planner.RTEFunction && len(r.Calls) == 1 && isRecord(r.Calls[0]) {
				p.s(" ", p.typeName(c.Type))
			}
		}
		p.s(")")
	}
	if s := r.Sample; s != nil {
		p.s(" TABLESAMPLE ", s.Method, " (")
		p.expr(s.Percent, false)
		p.s(")")
		if s.Seed != nil {
			p.s(" REPEATABLE (")
			p.expr(s.Seed, false)
			p.s(")")
		}
	}
}

func isRecord(c *expr.Call) bool {
	if c.Typ.OID != sqltypes.OIDRecord {
		return false
	}
	for _, m := range c.Proc.ArgModes {
		if m == 'o' || m == 't' || m == 'b' {
			return false
		}
	}
	return true
}
