package deparse

import (
	"strconv"
	"strings"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// query is get_query_def for a SELECT. names are the output names when they
// differ from the query's own; top: it stands by itself.
func (p *printer) query(q *planner.Query, names []string, top bool) {
	if q.Command != planner.CmdSelect {
		panic(unprintable("a data-modifying query"))
	}
	l := &level{q: q}
	l.names = p.rteNames(q)
	p.levels = append(p.levels, l)
	old := p.indent
	defer func() { p.levels = p.levels[:len(p.levels)-1]; p.indent = old }()
	if p.indenting && top {
		p.indent = 0
	}
	p.with(q)
	switch {
	case q.SetOp != nil:
		p.setOp(q.SetOp, names)
	default:
		p.basic(q, names)
	}
	if len(q.Sort) > 0 {
		p.keyword(" ORDER BY ", -indentStd, indentStd, 1)
		p.sorts(q.Sort, q, q.SetOp != nil)
	}
	if q.Offset != nil {
		p.keyword(" OFFSET ", -indentStd, indentStd, 0)
		p.expr(q.Offset, false)
	}
	if q.Limit != nil {
		if q.WithTies {
			p.keyword(" FETCH FIRST ", -indentStd, indentStd, 0)
			p.expr(q.Limit, false)
			p.s(" ROWS WITH TIES")
		} else {
			p.keyword(" LIMIT ", -indentStd, indentStd, 0)
			p.expr(q.Limit, false)
		}
	}
	for _, m := range q.RowMarks {
		p.keyword(map[engine.RowLock]string{engine.LockKeyShare: " FOR KEY SHARE", engine.LockShare: " FOR SHARE",
			engine.LockNoKeyUpdate: " FOR NO KEY UPDATE", engine.LockUpdate: " FOR UPDATE"}[m.Mode], -indentStd, indentStd, 0)
		p.s(" OF ", sqltypes.QuoteIdent(l.names[m.Rel]))
		switch m.Wait {
		case engine.WaitError:
			p.s(" NOWAIT")
		case engine.WaitSkip:
			p.s(" SKIP LOCKED")
		}
	}
}

// rteNames gives range-table entries names that are unique down to the outermost query.
func (p *printer) rteNames(q *planner.Query) []string {
	used := map[string]bool{}
	for _, l := range p.levels {
		for _, n := range l.names {
			used[n] = true
		}
	}
	out := make([]string, len(q.Range))
	for i, r := range q.Range {
		name := r.Alias
		for k := 1; used[name]; k++ {
			name = r.Alias + "_" + strconv.Itoa(k)
		}
		used[name] = true
		out[i] = name
	}
	return out
}

func differ(cols []planner.Column, q *planner.Query) bool {
	k := 0
	for _, t := range q.Targets {
		if t.Junk {
			continue
		}
		if k < len(cols) && cols[k].Name != t.Name {
			return true
		}
		k++
	}
	return false
}

// basic is get_basic_select_query.
func (p *printer) basic(q *planner.Query, names []string) {
	if p.indenting {
		p.indent += indentStd
		p.s(" ")
	}
	if v := plainValues(q); v != nil {
		p.values(v.Values)
		return
	}
	p.s("SELECT")
	if q.Distinct {
		if q.DistinctOn != nil {
			p.s(" DISTINCT ON (")
			for i, t := range q.DistinctOn {
				if i > 0 {
					p.s(", ")
				}
				p.sortTarget(q, t, false)
			}
			p.s(")")
		} else {
			p.s(" DISTINCT")
		}
	}
	p.targets(q, names)
	p.from(q)
	if q.Where != nil {
		p.keyword(" WHERE ", -indentStd, indentStd, 1)
		p.expr(q.Where, false)
	}
	if len(q.GroupBy) > 0 || q.GroupSets != nil {
		p.keyword(" GROUP BY ", -indentStd, indentStd, 1)
		if q.GroupSets == nil {
			for i, g := range q.GroupBy {
				if i > 0 {
					p.s(", ")
				}
				p.sortTarget(q, g, true)
			}
		} else {
			p.s("GROUPING SETS (")
			for i, set := range q.GroupSets {
				if i > 0 {
					p.s(", ")
				}
				p.s("(")
				for k, g := range set {
					if k > 0 {
						p.s(", ")
					}
					p.sortTarget(q, q.GroupBy[g], true)
				}
				p.s(")")
			}
			p.s(")")
		}
	}
	if q.Having != nil {
		p.keyword(" HAVING ", -indentStd, indentStd, 0)
		p.expr(q.Having, false)
	}
	named := 0
	for _, w := range q.Windows {
		if w.Name == "" {
			continue
		}
		if named++; named == 1 {
			p.keyword(" WINDOW ", -indentStd, indentStd, 1)
		} else {
			p.s(", ")
		}
		p.s(sqltypes.QuoteIdent(w.Name), " AS ")
		p.window(q, &w)
	}
}

// plainValues: the query is exactly a VALUES list.
func plainValues(q *planner.Query) *planner.RTE {
	if len(q.Range) != 1 || q.Range[0].Kind != planner.RTEValues || q.Where != nil || len(q.GroupBy) > 0 || q.Range[0].Alias != "*VALUES*" {
		return nil
	}
	for i, t := range q.Targets {
		v, ok := t.Expr.(*planner.Var)
		if !ok || t.Junk || v.Col != i || v.Level != 0 {
			return nil
		}
	}
	return q.Range[0]
}

func (p *printer) values(rows [][]expr.Expr) {
	p.s("VALUES ")
	for i, row := range rows {
		if i > 0 {
			p.s(", ")
		}
		p.s("(")
		for k, e := range row {
			if k > 0 {
				p.s(",")
			}
			p.expr(e, true)
		}
		p.s(")")
	}
}

// wrapped prints items after the first on lines of their own when indenting.
func (p *printer) wrapped(i int) {
	if i == 0 {
		return
	}
	p.s(", ")
	if p.indenting {
		p.keyword("", -indentStd, indentStd, indentVar)
	}
}

func (p *printer) targets(q *planner.Query, names []string) {
	sep := " "
	i := 0
	for _, t := range q.Targets {
		if t.Junk {
			continue
		}
		p.s(sep)
		sep = ""
		name := t.Name
		if i < len(names) {
			name = names[i]
		}
		own := ""
		if text, col, ok := p.throughJoin(t.Expr); ok {
			p.wrapped(i)
			p.s(text)
			own = col
		} else if v, ok := t.Expr.(*planner.Var); ok {
			p.wrapped(i)
			p.variable(v, true)
			if own = p.varName(v); v.Col == -1 {
				own = "?column?"
			}
		} else {
			item := p.render(t.Expr, true)
			if strings.HasPrefix(item, "\n") {
				if i > 0 {
					p.s(",")
				}
				p.trim()
			} else {
				p.wrapped(i)
			}
			p.s(item)
			own = "?column?"
		}
		i++
		if name != own {
			p.s(" AS ", sqltypes.QuoteIdent(name))
		}
	}
}

// varName is the column name a Var shows.
func (p *printer) varName(v *planner.Var) string {
	q := p.levels[len(p.levels)-1-v.Level].q
	if v.Rel < 0 || v.Col < 0 {
		return v.Name
	}
	return q.Range[v.Rel].Cols[v.Col].Name
}

// render prints an expression aside.
func (p *printer) render(e expr.Expr, showImplicit bool) string {
	c := &printer{ctx: p.ctx, pretty: p.pretty, indenting: p.indenting, indent: p.indent, levels: p.levels, value: p.value, env: p.env}
	c.expr(e, showImplicit)
	return c.b.String()
}

// trim removes blanks at the end of what was written.
func (p *printer) trim() {
	t := strings.TrimRight(p.b.String(), " ")
	p.b.Reset()
	p.b.WriteString(t)
}

// setOp is get_setop_query.
func (p *printer) setOp(s *planner.SetOpQuery, names []string) {
	side := func(q *planner.Query, left bool) {
		// A side with clauses of its own is a subquery in parentheses.
		leaf := q.SetOp == nil
		own := len(q.CTEs) > 0 || len(q.Sort) > 0 || q.Limit != nil || q.Offset != nil || len(q.RowMarks) > 0
		paren := !leaf && !own && (!left || q.SetOp.Op != s.Op || q.SetOp.All != s.All)
		sub := 0
		if paren {
			p.s("(")
			sub = indentStd
		}
		if !left || paren {
			p.keyword("", sub, 0, 0)
		}
		if own {
			p.s("(")
		}
		p.query(q, names, false)
		if own {
			p.s(")")
		}
		if left {
			switch {
			case paren:
				p.keyword(") ", -sub, 0, 0)
			case p.indenting:
				p.keyword("", -sub, 0, 0)
			default:
				p.s(" ")
			}
			return
		}
		if p.indenting {
			p.indent -= sub
		}
		if paren {
			p.keyword(")", 0, 0, 0)
		}
	}
	side(s.Left, true)
	p.s(map[byte]string{'u': "UNION ", 'i': "INTERSECT ", 'e': "EXCEPT "}[s.Op])
	if s.All {
		p.s("ALL ")
	}
	side(s.Right, false)
}
