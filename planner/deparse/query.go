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

// window is get_rule_windowspec.
func (p *printer) window(q *planner.Query, w *planner.WindowDef) {
	p.s("(")
	sp := false
	gap := func() {
		if sp {
			p.s(" ")
		}
		sp = true
	}
	if len(w.PartitionBy) > 0 {
		gap()
		p.s("PARTITION BY ")
		for i, t := range w.PartitionBy {
			if i > 0 {
				p.s(", ")
			}
			p.sortTarget(q, t, false)
		}
	}
	if len(w.OrderBy) > 0 {
		gap()
		p.s("ORDER BY ")
		p.sorts(w.OrderBy, q, false)
	}
	f := w.Frame
	if f.Mode != 'R' || f.Start.Kind != 'u' || f.End.Kind != 'c' || f.Exclude != 0 {
		gap()
		p.s(map[byte]string{'R': "RANGE ", 'W': "ROWS ", 'G': "GROUPS "}[f.Mode], "BETWEEN ")
		p.bound(f.Start)
		p.s(" AND ")
		p.bound(f.End)
		switch f.Exclude {
		case 'c':
			p.s(" EXCLUDE CURRENT ROW")
		case 'g':
			p.s(" EXCLUDE GROUP")
		case 't':
			p.s(" EXCLUDE TIES")
		}
	}
	p.s(")")
}

func (p *printer) bound(b planner.FrameBound) {
	switch b.Kind {
	case 'u':
		p.s("UNBOUNDED PRECEDING")
	case 'U':
		p.s("UNBOUNDED FOLLOWING")
	case 'c':
		p.s("CURRENT ROW")
	case 'p':
		p.expr(b.Offset, false)
		p.s(" PRECEDING")
	case 'f':
		p.expr(b.Offset, false)
		p.s(" FOLLOWING")
	}
}
