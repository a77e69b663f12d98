package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// selectStmt binds a SELECT, VALUES or set operation.
func (s *scope) selectStmt(x *pg.SelectStmt) *planner.Query {
	if x.IntoClause != nil {
		s.b.fail(x.IntoClause.Rel.GetLocation(), pgerror.SyntaxError, "SELECT ... INTO is not allowed here")
	}
	if x.WithClause != nil {
		s.withClause(x.WithClause)
	}
	switch {
	case len(x.ValuesLists) > 0:
		return s.valuesClause(x)
	case x.Op == pg.SetOperation_SETOP_NONE || x.Op == pg.SetOperation_SET_OPERATION_UNDEFINED:
		return s.plainSelect(x)
	}
	return s.setOperation(x)
}

// plainSelect is transformSelectStmt; the order of its steps decides which error comes first.
func (s *scope) plainSelect(x *pg.SelectStmt) *planner.Query {
	q := s.q
	for _, w := range x.WindowClause {
		s.windowDefs = append(s.windowDefs, w.GetWindowDef())
	}
	s.fromClause(x.FromClause)
	targets := s.targetList(x.TargetList, kindSelectTarget)
	q.Where = s.whereClause(x.WhereClause, kindWhere, "WHERE")
	having := s.whereClause(x.HavingClause, kindHaving, "HAVING")
	tl := &targetBuilder{s: s, list: targets}
	q.Sort = s.sortClause(x.SortClause, tl, kindOrderBy, false)
	s.groupClause(x.GroupClause, x.GroupDistinct, tl)
	s.distinctClause(x, tl)
	s.limitClause(x)
	q.Having = having
	s.windowClause(tl)
	if s.resolveUnknowns {
		s.unknownsToText(tl.list)
	}
	q.Targets = tl.targets()
	q.HasAggs, q.HasWindow, q.HasTargetSRF = s.hasAggs, len(q.Windows) > 0 && s.hasWindow, s.hasSRF
	for _, l := range x.LockingClause {
		s.lockingClause(l.GetLockingClause(), false)
	}
	if s.hasAggs || len(q.GroupBy) > 0 || q.GroupSets != nil || having != nil {
		s.checkAggregates(tl.list, x)
	}
	return q
}

// targetBuilder collects targets; ORDER BY and others may append junk ones.
type targetBuilder struct {
	s    *scope
	list []target
}

func (tl *targetBuilder) targets() []planner.Target1 {
	out := make([]planner.Target1, len(tl.list))
	for i, t := range tl.list {
		out[i] = t.Target1
	}
	return out
}

// valuesClause is transformValuesClause.
func (s *scope) valuesClause(x *pg.SelectStmt) *planner.Query {
	b, q := s.b, s.q
	old := s.kind
	s.kind = kindValues
	rows := make([][]expr.Expr, len(x.ValuesLists))
	width := -1
	for i, l := range x.ValuesLists {
		rows[i] = s.exprListStar(l.GetList().GetItems())
		if width < 0 {
			width = len(rows[i])
		} else if len(rows[i]) != width {
			b.fail(exprLoc(l), pgerror.SyntaxError, "VALUES lists must all be the same length")
		}
	}
	s.kind = old
	r := &planner.RTE{Kind: planner.RTEValues, Alias: "*VALUES*", Values: rows}
	for c := 0; c < width; c++ {
		col := make([]expr.Expr, len(rows))
		nodes := make([]*pg.Node, len(rows))
		for i := range rows {
			col[i] = rows[i][c]
			if items := x.ValuesLists[i].GetList().GetItems(); c < len(items) {
				nodes[i] = items[c]
			}
		}
		t := b.commonType(col, nodes, "VALUES")
		for i := range rows {
			rows[i][c] = s.coerceCommon(rows[i][c], t, "VALUES", exprLoc(nodes[i]))
			col[i] = rows[i][c]
		}
		r.Cols = append(r.Cols, planner.Column{Name: "column" + itoa(c+1), Type: s.listType(col, t, -1)})
	}
	for i := range rows {
		for _, e := range rows[i] {
			r.Lateral = r.Lateral || hasLocalVars(e)
		}
	}
	it := s.addRTE(r)
	it.relVis = false
	s.ns = append(s.ns, it)
	q.From = append(q.From, planner.JoinItem{Rel: it.rel})
	tl := &targetBuilder{s: s}
	for i := range r.Cols {
		tl.list = append(tl.list, target{planner.Target1{Name: r.Cols[i].Name, Expr: it.colExpr(i, 0)}, nil})
	}
	q.Sort = s.sortClause(x.SortClause, tl, kindOrderBy, false)
	s.limitClause(x)
	if len(x.LockingClause) > 0 {
		b.fail(-1, pgerror.FeatureNotSupported, "%s cannot be applied to VALUES", lockName(x.LockingClause[0].GetLockingClause().Strength))
	}
	q.Targets = tl.targets()
	return q
}

// setOperation is transformSetOperationStmt.
func (s *scope) setOperation(x *pg.SelectStmt) *planner.Query {
	b, q := s.b, s.q
	if len(x.LockingClause) > 0 {
		b.fail(-1, pgerror.FeatureNotSupported, "%s is not allowed with UNION/INTERSECT/EXCEPT", lockName(x.LockingClause[0].GetLockingClause().Strength))
	}
	tree, _ := s.setTree(x, true)
	q.SetOp, q.Targets = tree.SetOp, tree.Targets
	tl := &targetBuilder{s: s}
	item := &nsItem{s: s, rel: -1, colVis: true, latOK: true, cols: []nsCol{}}
	for _, t := range q.Targets {
		tl.list = append(tl.list, target{t, nil})
		item.cols = append(item.cols, nsCol{name: t.Name, e: t.Expr})
	}
	s.ns = []*nsItem{item}
	n := len(tl.list)
	q.Sort = s.sortClause(x.SortClause, tl, kindOrderBy, false)
	if len(tl.list) > n {
		panic(b.errAt(exprLoc(tl.list[n].raw), pgerror.FeatureNotSupported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
			WithDetail("Only result column names can be used, not expressions or functions.").
			WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause."))
	}
	s.ns = nil
	s.limitClause(x)
	return q
}

func isSetLeaf(x *pg.SelectStmt) bool {
	return x.Op == pg.SetOperation_SETOP_NONE || x.Op == pg.SetOperation_SET_OPERATION_UNDEFINED ||
		len(x.SortClause) > 0 || x.LimitCount != nil || x.LimitOffset != nil || len(x.LockingClause) > 0 || x.WithClause != nil
}

// setTree is transformSetOperationTree for one set operation, whose level s is.
// The second result is the syntax of the leftmost leaf's output columns, for error places.
func (s *scope) setTree(x *pg.SelectStmt, top bool) (*planner.Query, []*pg.Node) {
	b := s.b
	b.enter()
	defer b.leave()
	side := func(x *pg.SelectStmt) (*planner.Query, []*pg.Node) {
		sub := b.newScope(s)
		if !isSetLeaf(x) {
			return sub.setTree(x, false)
		}
		if x.IntoClause != nil {
			b.fail(x.IntoClause.Rel.GetLocation(), pgerror.SyntaxError, "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT")
		}
		sub.resolveUnknowns = false
		q := sub.selectStmt(x)
		return q, targetNodes(x, visibleTargets(q))
	}
	name, op := "UNION", byte('u')
	switch x.Op {
	case pg.SetOperation_SETOP_INTERSECT:
		name, op = "INTERSECT", 'i'
	case pg.SetOperation_SETOP_EXCEPT:
		name, op = "EXCEPT", 'e'
	}
	left, lraw := side(x.Larg)
	if top && s.parentCTE != nil && s.parentCTE.recursive {
		s.recursiveColumns(left)
	}
	right, rraw := side(x.Rarg)
	nl, nr := visibleTargets(left), visibleTargets(right)
	if nl != nr {
		loc := int32(-1)
		if len(rraw) > 0 {
			loc = exprLoc(rraw[0])
		}
		b.fail(loc, pgerror.SyntaxError, "each %s query must have the same number of columns", name)
	}
	out := &planner.Query{ResultRel: -1, SetOp: &planner.SetOpQuery{Op: op, All: x.All}}
	types := make([]sqltypes.ColumnType, nl)
	for i := 0; i < nl; i++ {
		le, re := left.Targets[i].Expr, right.Targets[i].Expr
		nodes := []*pg.Node{nodeAt(lraw, i), nodeAt(rraw, i)}
		pair := []expr.Expr{le, re}
		t := b.commonType(pair, nodes, name)
		fix := func(q *planner.Query, n *pg.Node) {
			e := q.Targets[i].Expr
			if typeOf(e) == t {
				return
			}
			if !isUnknownExpr(e) && !b.canCoerce1(typeOf(e), t, implicit) {
				b.fail(exprLoc(n), pgerror.CannotCoerce, "%s could not convert type %s to %s", name, b.typeName(typeOf(e)), b.typeName(t))
			}
			if isUnknownExpr(e) {
				// Literals and parameters are read as the common type at once.
				switch e.(type) {
				case *expr.Const, *expr.Param:
					q.Targets[i].Expr = s.coerceCommon(e, t, name, exprLoc(n))
				}
			}
		}
		fix(left, nodes[0])
		fix(right, nodes[1])
		pair = []expr.Expr{left.Targets[i].Expr, right.Targets[i].Expr}
		types[i] = b.columnTypeMod(t, commonTypmod(pair, t))
		if types[i].Collation != 0 {
			if c, _ := s.inputCollation(pair, -1); c != 0 {
				types[i].Collation = c
			}
		}
		if !x.All {
			b.sortOperators(t, false, exprLoc(nodes[0]))
		}
		out.Targets = append(out.Targets, planner.Target1{Name: left.Targets[i].Name,
			Expr: &planner.Var{T: tt(types[i]), Rel: -1, Col: i, Name: left.Targets[i].Name}})
	}
	out.SetOp.Left, out.SetOp.Right = s.convertOutput(left, types), s.convertOutput(right, types)
	return out, lraw
}

func nodeAt(l []*pg.Node, i int) *pg.Node {
	if i < len(l) {
		return l[i]
	}
	return nil
}

// targetNodes gives the syntax of a leaf's output columns where they stand one to one.
func targetNodes(x *pg.SelectStmt, n int) []*pg.Node {
	for x.Larg != nil {
		x = x.Larg
	}
	var out []*pg.Node
	if len(x.ValuesLists) > 0 {
		out = x.ValuesLists[0].GetList().GetItems()
	} else {
		for _, t := range x.TargetList {
			out = append(out, t.GetResTarget().GetVal())
		}
	}
	if len(out) != n {
		return nil
	}
	return out
}

// convertOutput coerces a query's output columns to the given types: in its own
// target list when nothing else depends on that, else in a query around it.
func (s *scope) convertOutput(q *planner.Query, types []sqltypes.ColumnType) *planner.Query {
	same := true
	for i, t := range types {
		same = same && typeOf(q.Targets[i].Expr) == t.OID
	}
	if same {
		return q
	}
	conv := func(e expr.Expr, t sqltypes.OID) expr.Expr { return s.coerceCommon(e, t, "UNION", -1) }
	if q.SetOp == nil && !q.Distinct && len(q.Sort) == 0 && len(q.GroupBy) == 0 && q.GroupSets == nil && len(q.Windows) == 0 && !q.HasTargetSRF {
		for i, t := range types {
			q.Targets[i].Expr = conv(q.Targets[i].Expr, t.OID)
		}
		return q
	}
	return s.wrapQuery(q, func(i int, e expr.Expr) expr.Expr {
		if i < len(types) {
			return conv(e, types[i].OID)
		}
		return e
	})
}

// wrapQuery makes SELECT f(column)… FROM (q).
func (s *scope) wrapQuery(q *planner.Query, f func(i int, e expr.Expr) expr.Expr) *planner.Query {
	r := &planner.RTE{Kind: planner.RTESubquery, Sub: q, Alias: "*SELECT*", Cols: queryColumns(q)}
	// What q refers to outside is one level further away now.
	r.Sub = mapQueryVars(q, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Level <= depth {
			return v
		}
		c := *v
		c.Level++
		return &c
	})
	out := &planner.Query{ResultRel: -1, Range: []*planner.RTE{r}, From: []planner.JoinItem{{Rel: 0}}}
	for i, c := range r.Cols {
		v := &planner.Var{T: tt(c.Type), Rel: 0, Col: i, Name: c.Name}
		out.Targets = append(out.Targets, planner.Target1{Name: c.Name, Expr: f(i, v), TableOID: c.TableOID, Attr: c.Attr})
	}
	return out
}

// OutputColumns are the columns a statement's result has for the client: domains
// show as their base types.
func OutputColumns(ctx *planner.Context, q *planner.Query) []planner.Column {
	b := newBinder(ctx)
	cols := queryColumns(q)
	for i := range cols {
		cols[i].Type.OID, cols[i].Type.TypMod = b.baseTypeMod(cols[i].Type.OID, cols[i].Type.TypMod)
	}
	return cols
}
