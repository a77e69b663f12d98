package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// SEARCH and CYCLE of a recursive query are expanded in the syntax tree, as
// PostgreSQL's rewriteSearchCycle.c does in the query tree: both sides of the
// UNION become subqueries under a SELECT that adds the clauses' columns, and the
// recursive side hands those of the self reference up.

const (
	searchLeft  = "*TLOCRN*"
	searchRight = "*TROCRN*"
)

func strNode(v string) *pg.Node {
	return &pg.Node{Node: &pg.Node_String_{String_: &pg.String{Sval: v}}}
}

func colNode(table, col string) *pg.Node {
	return &pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{Fields: []*pg.Node{strNode(table), strNode(col)}, Location: -1}}}
}

func targetNode(n *pg.Node, name string) *pg.Node {
	return &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: name, Val: n, Location: -1}}}
}

func rowNode(args []*pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_RowExpr{RowExpr: &pg.RowExpr{Args: args, RowFormat: pg.CoercionForm_COERCE_EXPLICIT_CALL, Location: -1}}}
}

func arrayNode(n *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_AArrayExpr{AArrayExpr: &pg.A_ArrayExpr{Elements: []*pg.Node{n}, Location: -1}}}
}

func opNode(kind pg.A_Expr_Kind, op string, l, r *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_AExpr{AExpr: &pg.A_Expr{Kind: kind, Name: []*pg.Node{strNode("pg_catalog"), strNode(op)}, Lexpr: l, Rexpr: r, Location: -1}}}
}

func caseNode(cond, yes, no *pg.Node) *pg.Node {
	w := &pg.Node{Node: &pg.Node_CaseWhen{CaseWhen: &pg.CaseWhen{Expr: cond, Result: yes, Location: -1}}}
	return &pg.Node{Node: &pg.Node_CaseExpr{CaseExpr: &pg.CaseExpr{Args: []*pg.Node{w}, Defresult: no, Location: -1}}}
}

func boolNode(v bool) *pg.Node {
	return &pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Val: &pg.A_Const_Boolval{Boolval: &pg.Boolean{Boolval: v}}, Location: -1}}}
}

// checkSearchCycle is what analyzeCTE asks of the clauses before anything is bound.
func (s *scope) checkSearchCycle(c *cteInfo) {
	b, n := s.b, c.node
	if !c.recursive {
		b.fail(n.Location, pgerror.SyntaxError, "WITH query is not recursive")
	}
	x := n.Ctequery.GetSelectStmt()
	leaf := func(y *pg.SelectStmt, side string) {
		if y.Op != pg.SetOperation_SETOP_NONE || len(y.ValuesLists) > 0 && side == "right" {
			b.fail(-1, pgerror.FeatureNotSupported, "with a SEARCH or CYCLE clause, the %s side of the UNION must be a SELECT", side)
		}
	}
	leaf(x.Larg, "left")
	leaf(x.Rarg, "right")
}

// expandSearchCycle replaces a recursive query with SEARCH or CYCLE by its expansion.
func (s *scope) expandSearchCycle(c *cteInfo) {
	b, n := s.b, c.node
	s.checkSearchCycle(c)
	x := n.Ctequery.GetSelectStmt()
	// The left side tells the columns' names.
	probe := b.newScope(s)
	probe.resolveUnknowns = false
	var cols []string
	for i, col := range queryColumns(probe.selectStmt(proto.Clone(x.Larg).(*pg.SelectStmt))) {
		if i < len(n.Aliascolnames) {
			col.Name = strOf(n.Aliascolnames[i])
		}
		cols = append(cols, col.Name)
	}
	info := &planner.SearchCycle{Columns: len(cols), Named: len(n.Aliascolnames) > 0}
	c.q.SearchCycle = info
	sc, cy := n.SearchClause, n.CycleClause
	listed := func(list []*pg.Node, what string, loc int32) []string {
		var out []string
		for _, l := range list {
			name, found := strOf(l), false
			for _, col := range cols {
				found = found || col == name
			}
			if !found {
				b.fail(loc, pgerror.SyntaxError, `%s column "%s" not in WITH query column list`, what, name)
			}
			for _, o := range out {
				if o == name {
					b.fail(loc, pgerror.DuplicateColumn, `%s column "%s" specified more than once`, what, name)
				}
			}
			out = append(out, name)
		}
		return out
	}
	if sc != nil {
		info.Search, info.Breadth, info.Seq = listed(sc.SearchColList, "search", sc.Location), sc.SearchBreadthFirst, sc.SearchSeqColumn
	}
	if cy != nil {
		info.Cycle, info.Mark, info.Path = listed(cy.CycleColList, "cycle", cy.Location), cy.CycleMarkColumn, cy.CyclePathColumn
		if info.Mark == info.Path {
			b.fail(cy.Location, pgerror.SyntaxError, "cycle mark column name and cycle path column name are the same")
		}
		if sc != nil && info.Seq == info.Mark {
			b.fail(sc.Location, pgerror.SyntaxError, "search sequence column name and cycle mark column name are the same")
		}
		if sc != nil && info.Seq == info.Path {
			b.fail(sc.Location, pgerror.SyntaxError, "search sequence column name and cycle path column name are the same")
		}
	}
	self := selfAlias(x.Rarg.FromClause, n.Ctename)
	if self == "" {
		b.fail(-1, pgerror.FeatureNotSupported, `with a SEARCH or CYCLE clause, the recursive reference to WITH query "%s" must be at the top level of its right-hand SELECT`, n.Ctename)
	}
	s.searchNames(n, info, cols, self)
	var extra []string
	if sc != nil {
		extra = append(extra, info.Seq)
	}
	if cy != nil {
		extra = append(extra, info.Mark, info.Path)
	}
	row := func(table string, of []string, first ...*pg.Node) *pg.Node {
		args := first
		for _, col := range of {
			args = append(args, colNode(table, col))
		}
		return rowNode(args)
	}
	yes, no := boolNode(true), boolNode(false)
	if cy != nil && cy.CycleMarkValue != nil {
		yes, no = cy.CycleMarkValue, cy.CycleMarkDefault
	}
	side := func(q *pg.SelectStmt, alias string, names []string) *pg.SelectStmt {
		a := &pg.Alias{Aliasname: alias}
		for _, name := range names {
			a.Colnames = append(a.Colnames, strNode(name))
		}
		sub := &pg.RangeSubselect{Subquery: selectNode(q), Alias: a}
		out := &pg.SelectStmt{LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE,
			FromClause: []*pg.Node{{Node: &pg.Node_RangeSubselect{RangeSubselect: sub}}}}
		for _, col := range cols {
			out.TargetList = append(out.TargetList, targetNode(colNode(alias, col), col))
		}
		return out
	}
	add := func(q *pg.SelectStmt, e *pg.Node, name string) {
		q.TargetList = append(q.TargetList, targetNode(e, name))
	}
	zero := &pg.Node{Node: &pg.Node_TypeCast{TypeCast: &pg.TypeCast{Location: -1,
		Arg:      &pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Val: &pg.A_Const_Ival{Ival: &pg.Integer{}}, Location: -1}}},
		TypeName: &pg.TypeName{Names: []*pg.Node{strNode("pg_catalog"), strNode("int8")}, Typemod: -1, Location: -1}}}}

	left := side(x.Larg, searchLeft, cols)
	inner := proto.Clone(x.Rarg).(*pg.SelectStmt)
	for _, e := range extra {
		add(inner, colNode(self, e), e)
	}
	right := side(inner, searchRight, append(append([]string(nil), cols...), extra...))
	if sc != nil {
		if info.Breadth {
			next := &pg.FuncCall{Funcname: []*pg.Node{strNode("*depth*")}, Args: []*pg.Node{colNode(searchRight, info.Seq)}, Location: -1}
			b.nextDepth = append(b.nextDepth, next)
			add(left, row(searchLeft, info.Search, zero), info.Seq)
			add(right, row(searchRight, info.Search, &pg.Node{Node: &pg.Node_FuncCall{FuncCall: next}}), info.Seq)
		} else {
			add(left, arrayNode(row(searchLeft, info.Search)), info.Seq)
			add(right, opNode(pg.A_Expr_Kind_AEXPR_OP, "||", colNode(searchRight, info.Seq), arrayNode(row(searchRight, info.Search))), info.Seq)
		}
	}
	if cy != nil {
		add(left, caseNode(boolNode(false), yes, no), info.Mark)
		add(left, arrayNode(row(searchLeft, info.Cycle)), info.Path)
		seen := opNode(pg.A_Expr_Kind_AEXPR_OP_ANY, "=", row(searchRight, info.Cycle), colNode(searchRight, info.Path))
		add(right, caseNode(seen, yes, no), info.Mark)
		add(right, opNode(pg.A_Expr_Kind_AEXPR_OP, "||", colNode(searchRight, info.Path), arrayNode(row(searchRight, info.Cycle))), info.Path)
		right.WhereClause = opNode(pg.A_Expr_Kind_AEXPR_OP, "<>", colNode(searchRight, info.Mark), yes)
	}
	node := proto.Clone(n).(*pg.CommonTableExpr)
	node.Ctequery = selectNode(&pg.SelectStmt{Op: x.Op, All: x.All, Larg: left, Rarg: right, LimitOption: x.LimitOption, WithClause: x.WithClause})
	node.Aliascolnames = nil
	for _, col := range append(cols, extra...) {
		node.Aliascolnames = append(node.Aliascolnames, strNode(col))
	}
	c.node, c.extra = node, len(extra)
	if cy != nil {
		info.Default = cy.CycleMarkValue == nil || isBool(yes, true) && isBool(no, false)
		if !info.Default {
			k := probe.markValues(yes, no)
			info.Value, info.Else = k[0], k[1]
		}
	}
}

// markValues binds the two mark values with their common type.
func (s *scope) markValues(yes, no *pg.Node) [2]expr.Expr {
	pair := []expr.Expr{s.expr(yes), s.expr(no)}
	t := s.b.commonType(pair, []*pg.Node{yes, no}, "CYCLE")
	return [2]expr.Expr{s.coerceCommon(pair[0], t, "CYCLE", exprLoc(yes)), s.coerceCommon(pair[1], t, "CYCLE", exprLoc(no))}
}

func isBool(n *pg.Node, v bool) bool {
	if t := n.GetTypeCast(); t != nil {
		n = t.Arg
		if sv := n.GetAConst().GetSval(); sv != nil && len(t.TypeName.GetNames()) > 0 && strOf(t.TypeName.Names[len(t.TypeName.Names)-1]) == "bool" {
			return sv.Sval == map[bool]string{true: "t", false: "f"}[v]
		}
	}
	c := n.GetAConst()
	return c != nil && c.GetBoolval() != nil && c.GetBoolval().Boolval == v
}

// searchNames is what analyzeCTE asks of the new columns' names. It does so when
// the recursive side has been bound: a reference there to a name that both have is ambiguous.
func (s *scope) searchNames(n *pg.CommonTableExpr, info *planner.SearchCycle, cols []string, self string) {
	used := func(name, what string, loc int32) {
		for _, col := range cols {
			if col != name {
				continue
			}
			parse.Walk(selectNode(n.Ctequery.GetSelectStmt().Rarg), func(x *pg.Node) bool {
				if r := x.GetColumnRef(); r != nil {
					f := r.Fields
					if strOf(f[len(f)-1]) == name && (len(f) == 1 || strOf(f[len(f)-2]) == self) {
						s.b.fail(r.Location, pgerror.AmbiguousColumn, `column reference "%s" is ambiguous`, name)
					}
				}
				return true
			})
			s.b.fail(loc, pgerror.SyntaxError, `%s column name "%s" already used in WITH query column list`, what, name)
		}
	}
	if info.Search != nil {
		used(info.Seq, "search sequence", n.SearchClause.GetLocation())
	}
	if info.Cycle != nil {
		used(info.Mark, "cycle mark", n.CycleClause.GetLocation())
		used(info.Path, "cycle path", n.CycleClause.GetLocation())
	}
}

// selfAlias is how the recursive side names its self reference, "" when that is not in its own FROM.
func selfAlias(from []*pg.Node, cte string) string {
	for _, n := range from {
		switch v := n.GetNode().(type) {
		case *pg.Node_RangeVar:
			if v.RangeVar.Schemaname == "" && v.RangeVar.Relname == cte {
				if a := v.RangeVar.Alias; a != nil {
					return a.Aliasname
				}
				return cte
			}
		case *pg.Node_JoinExpr:
			if a := selfAlias([]*pg.Node{v.JoinExpr.Larg, v.JoinExpr.Rarg}, cte); a != "" {
				return a
			}
		}
	}
	return ""
}

// depthCall is the breadth-first depth of the next level: the first field of the
// sequence column's record, plus one; nil when the call is another.
func (s *scope) depthCall(fc *pg.FuncCall) expr.Expr {
	for _, d := range s.b.nextDepth {
		if d == fc {
			int8T := s.b.columnType(sqltypes.OIDInt8)
			field := &expr.Field{T: tt(int8T), Arg: s.expr(fc.Args[0]), Num: 0}
			one := &expr.Const{T: tt(int8T), Val: sqltypes.Int(1)}
			return s.makeOp([]*pg.Node{strNode("pg_catalog"), strNode("+")}, field, one, -1)
		}
	}
	return nil
}
