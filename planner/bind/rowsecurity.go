package bind

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ApplyRowSecurity adds to a bound statement what row-level security demands
// (rewrite/rowsecurity.c): conditions that hide rows of the tables it reads, and
// tests of the rows that it writes. Every statement that a role runs passes here
// before it is planned, views and functions expanded.
//
// Errors: 42501 when row_security is off and a policy would count, 42P17 for
// policies that read each other's tables.
func ApplyRowSecurity(ctx *planner.Context, q *planner.Query) (_ *planner.Query, err error) {
	defer catch(&err)
	if ctx.Catalog == nil || ctx.Role == 0 || !namesSecured(q) {
		return q, nil
	}
	g := &guard{b: newBinder(ctx)}
	return g.query(q), nil
}

// namesSecured reports whether any table of the query, or below it, has row-level security.
func namesSecured(q *planner.Query) bool {
	for _, r := range q.Range {
		if r.Kind == planner.RTERelation && r.Rel != nil && r.Rel.RowSecurity {
			return true
		}
	}
	found := false
	planner.VisitQuery(q, func(e expr.Expr) {
		planner.Visit(e, func(x expr.Expr) bool {
			if s, ok := x.(*planner.SubLink); ok && !found {
				found = namesSecured(s.Sub)
			}
			return !found
		})
	}, func(s *planner.Query) { found = found || namesSecured(s) })
	return found
}

// guard applies policies to the queries of one statement.
type guard struct {
	b *binder
	// active are the tables whose policies are being looked into.
	active []sqltypes.OID
}

// query returns a copy of q with policies applied, to the queries below it too.
func (g *guard) query(q *planner.Query) *planner.Query {
	g.b.enter()
	defer g.b.leave()
	reads := make([]bool, len(q.Range))
	for i, r := range q.Range {
		if r.Kind == planner.RTERelation && r.Rel.RowSecurity {
			reads[i] = readsEntry(q, i)
		}
	}
	out := planner.MapQuery(q, g.expr, g.query)
	for i, r := range out.Range {
		if r.Kind != planner.RTERelation || r.Rel == nil || out.OnConflict != nil && i == out.OnConflict.Excluded && i != out.ResultRel {
			continue
		}
		if g.enforced(r) {
			g.entry(out, i, reads[i])
		}
	}
	return out
}

// expr copies an expression with the queries of its SubLinks guarded.
func (g *guard) expr(e expr.Expr) expr.Expr {
	if s, ok := e.(*planner.SubLink); ok {
		c := *s
		c.Test, c.Sub = g.expr(s.Test), g.query(s.Sub)
		return &c
	}
	if e == nil {
		return nil
	}
	return planner.MapChildren(e, g.expr)
}

// readsEntry reports whether a query, or one below it, reads a column of an entry,
// so that the right to SELECT from it is needed.
func readsEntry(q *planner.Query, rel int) bool {
	if c := q.OnConflict; c != nil && rel == q.ResultRel && len(c.Arbiters) > 0 {
		return true
	}
	found := false
	var visit func(e expr.Expr, depth int)
	var query func(q *planner.Query, depth int)
	visit = func(e expr.Expr, depth int) {
		planner.Visit(e, func(x expr.Expr) bool {
			switch n := x.(type) {
			case *planner.Var:
				found = found || n.Level == depth && n.Rel == rel
			case *planner.SubLink:
				query(n.Sub, depth+1)
			}
			return !found
		})
	}
	query = func(q *planner.Query, depth int) {
		planner.VisitQuery(q, func(e expr.Expr) { visit(e, depth) }, func(s *planner.Query) { query(s, depth+1) })
	}
	query(q, 0)
	return found
}

// enforced is check_enable_rls for an entry.
func (g *guard) enforced(r *planner.RTE) bool {
	role := g.roleOf(r)
	if !planner.RowSecurityActive(g.b.cat, role, r.Rel) {
		return false
	}
	if g.b.ctx.Settings.RowSecurityOff {
		err := pgerror.New(pgerror.InsufficientPrivilege, `query would be affected by row-level security policy for table "%s"`, r.Rel.Name)
		if g.b.cat.Member(role, r.Rel.Owner) {
			err.WithHint("To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.")
		}
		panic(err)
	}
	return true
}

// roleOf is whose rights count for an entry.
func (g *guard) roleOf(r *planner.RTE) sqltypes.OID {
	if r.CheckAs != 0 {
		return r.CheckAs
	}
	return g.b.ctx.Role
}

// entry is get_row_security_policies for one entry of the range table.
func (g *guard) entry(q *planner.Query, i int, reads bool) {
	r := q.Range[i]
	p := &entryPolicies{rel: r.Rel, of: map[byte]policySet{}}
	role := g.roleOf(r)
	for _, cmd := range []byte("rawd") {
		p.of[cmd] = policiesFor(g.b.cat, r.Rel, cmd, role)
	}
	command := planner.CmdSelect
	if i == q.ResultRel {
		command = q.Command
	}
	switch command {
	case planner.CmdSelect:
		for _, m := range q.RowMarks {
			if m.Rel == i {
				p.hide('w')
				break
			}
		}
		p.hide('r')
	case planner.CmdUpdate, planner.CmdDelete:
		cmd := byte('w')
		if command == planner.CmdDelete {
			cmd = 'd'
		}
		p.hide(cmd)
		if reads {
			p.hide('r')
		}
	case planner.CmdMerge:
		p.hide('r')
	}
	switch command {
	case planner.CmdInsert:
		p.test('a', planner.PolicyInsert, false)
		if reads {
			p.test('r', planner.PolicyInsert, true)
		}
		if c := q.OnConflict; c != nil && c.DoUpdate {
			p.test('w', planner.PolicyConflict, true)
			if reads {
				p.test('r', planner.PolicyConflict, true)
			}
			p.test('w', planner.PolicyUpdate, false)
			if reads {
				p.test('r', planner.PolicyUpdate, true)
			}
		}
	case planner.CmdUpdate:
		p.test('w', planner.PolicyUpdate, false)
		if reads {
			p.test('r', planner.PolicyUpdate, true)
		}
	case planner.CmdMerge:
		p.test('w', planner.PolicyMergeUpdate, true)
		p.test('w', planner.PolicyUpdate, false)
		p.test('r', planner.PolicyUpdate, true)
		p.test('d', planner.PolicyMergeDelete, true)
		p.test('a', planner.PolicyInsert, false)
	}
	g.use(q, i, p)
}

// use binds what an entry's policies ask for and puts it into the query.
func (g *guard) use(q *planner.Query, i int, p *entryPolicies) {
	r := q.Range[i]
	bound := map[string]expr.Expr{}
	subqueries := false
	bindAll := func(c condition) expr.Expr {
		if len(c.texts) == 0 {
			return &expr.Const{T: boolT, Val: sqltypes.Bool(false)}
		}
		var list []expr.Expr
		for _, t := range c.texts {
			e, ok := bound[t]
			if !ok {
				e = moveRel(g.b.policyCond(r.Rel, t, r.CheckAs), i)
				planner.Visit(e, func(x expr.Expr) bool {
					_, sub := x.(*planner.SubLink)
					subqueries = subqueries || sub
					return true
				})
				bound[t] = e
			}
			list = append(list, e)
		}
		if len(list) == 1 {
			return list[0]
		}
		return &expr.Or{T: boolT, Args: list}
	}
	var quals []expr.Expr
	for _, c := range p.quals {
		quals = append(quals, bindAll(c))
	}
	for _, t := range p.tests {
		q.Policies = append(q.Policies, planner.QueryPolicy{Kind: t.kind, Name: t.name, Cond: bindAll(t.condition)})
	}
	if subqueries {
		if slices.Contains(g.active, r.Rel.OID) {
			panic(pgerror.New(pgerror.InvalidObjectDefinition, `infinite recursion detected in policy for relation "%s"`, r.Rel.Name))
		}
		g.active = append(g.active, r.Rel.OID)
		for k := range quals {
			quals[k] = g.expr(quals[k])
		}
		for k := range q.Policies {
			q.Policies[k].Cond = g.expr(q.Policies[k].Cond)
		}
		g.active = g.active[:len(g.active)-1]
	}
	r.SecurityQuals = append(quals, r.SecurityQuals...)
	if i == q.ResultRel && q.WriteInfo != nil {
		info := *q.WriteInfo
		info.HideRows = true
		q.WriteInfo = &info
	}
}

// policySet are the policies of one command that are for a role.
type policySet struct{ permissive, restrictive []*catalog.Policy }

func policiesFor(cat *catalog.Catalog, rel *catalog.Relation, cmd byte, role sqltypes.OID) (s policySet) {
	for _, p := range rel.Policies {
		if p.Command != '*' && p.Command != cmd {
			continue
		}
		if !slices.ContainsFunc(p.Roles, func(r sqltypes.OID) bool { return r == 0 || cat.Member(role, r) }) {
			continue
		}
		if p.Restrictive {
			s.restrictive = append(s.restrictive, p)
		} else {
			s.permissive = append(s.permissive, p)
		}
	}
	slices.Reverse(s.permissive) // PostgreSQL's order in what EXPLAIN shows
	slices.SortStableFunc(s.restrictive, func(a, b *catalog.Policy) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// condition is the disjunction of stored conditions; none: never true.
type condition struct{ texts []string }

// entryPolicies gathers what the policies of one entry ask for.
type entryPolicies struct {
	rel   *catalog.Relation
	of    map[byte]policySet
	quals []condition
	tests []policyTest
}

type policyTest struct {
	condition
	kind planner.PolicyKind
	name string
}

func (p *entryPolicies) addQual(c condition) {
	if !slices.ContainsFunc(p.quals, func(o condition) bool { return slices.Equal(o.texts, c.texts) }) {
		p.quals = append(p.quals, c)
	}
}

// hide is add_security_quals.
func (p *entryPolicies) hide(cmd byte) {
	set := p.of[cmd]
	var any condition
	for _, x := range set.permissive {
		if x.Using != "" {
			any.texts = append(any.texts, x.Using)
		}
	}
	if len(any.texts) > 0 {
		for _, x := range set.restrictive {
			if x.Using != "" {
				p.addQual(condition{[]string{x.Using}})
			}
		}
	}
	p.addQual(any)
}

// test is add_with_check_options.
func (p *entryPolicies) test(cmd byte, kind planner.PolicyKind, using bool) {
	set := p.of[cmd]
	text := func(x *catalog.Policy) string {
		if !using && x.Check != "" {
			return x.Check
		}
		return x.Using
	}
	add := func(c condition, name string) {
		if !slices.ContainsFunc(p.tests, func(t policyTest) bool { return t.kind == kind && t.name == name && slices.Equal(t.texts, c.texts) }) {
			p.tests = append(p.tests, policyTest{c, kind, name})
		}
	}
	var any condition
	for _, x := range set.permissive {
		if t := text(x); t != "" {
			any.texts = append(any.texts, t)
		}
	}
	add(any, "")
	if len(any.texts) == 0 {
		return
	}
	for _, x := range set.restrictive {
		if t := text(x); t != "" {
			add(condition{[]string{t}}, x.Name)
		}
	}
}

// policyCond binds a policy's stored condition over range-table entry 0.
func (b *binder) policyCond(rel *catalog.Relation, text string, checkAs sqltypes.OID) expr.Expr {
	st, err := parse.One(text)
	b.check(err, -1)
	n := b.subBinder(text)
	n.stored, n.checkAs = true, checkAs
	q := n.statement(nil, st.AST, true)
	if q.Where == nil || len(q.Range) != 1 || q.Range[0].Rel == nil || q.Range[0].Rel.OID != rel.OID {
		b.fail(-1, pgerror.InternalError, `a policy of relation "%s" cannot be read`, rel.Name)
	}
	return q.Where
}

// PolicyText is the form in which a policy's condition over a table is stored: a
// query of the table whose names mean the same under every search_path.
func PolicyText(ctx *planner.Context, rel *catalog.Relation, cond *pg.Node) (text string, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	b.quiet = true // as in PostgreSQL
	s := b.newScope(nil)
	it := s.addRTE(s.relationRTE(rel, nil))
	it.relOID, it.schema = rel.OID, rel.Schema
	s.ns = append(s.ns, it)
	s.whereClause(cond, kindPolicy, "POLICY")
	if len(b.finishParams()) > 0 {
		b.fail(-1, pgerror.UndefinedParameter, "there is no parameter $1")
	}
	one := &pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Val: &pg.A_Const_Ival{Ival: &pg.Integer{Ival: 1}}}}}
	from := &pg.RangeVar{Schemaname: b.schemaName(rel.Schema), Relname: rel.Name, Inh: true, Relpersistence: "p", Alias: &pg.Alias{Aliasname: rel.Name}}
	return QualifiedText(ctx, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		TargetList:  []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: one}}}},
		FromClause:  []*pg.Node{{Node: &pg.Node_RangeVar{RangeVar: from}}},
		WhereClause: cond, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE}}})
}

// PolicyQuery binds a stored condition as a query of the table; the condition is its Where.
func PolicyQuery(ctx *planner.Context, text string) (q *planner.Query, err error) {
	defer catch(&err)
	st, err := parse.One(text)
	if err != nil {
		return nil, err
	}
	b := newBinder(ctx).subBinder(text)
	b.stored = true
	return b.statement(nil, st.AST, true), nil
}
