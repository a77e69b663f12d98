package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// target is an output column while it is bound: raw is nil for star expansions.
type target struct {
	planner.Target1
	raw *pg.Node
}

// targetList is transformTargetList.
func (s *scope) targetList(list []*pg.Node, k exprKind) []target {
	old := s.kind
	s.kind = k
	defer func() { s.kind = old }()
	out := make([]target, 0, len(list))
	for _, n := range list {
		rt := n.GetResTarget()
		if c := rt.Val.GetColumnRef(); c != nil && c.Fields[len(c.Fields)-1].GetAStar() != nil {
			list := s.expandStar(c, k)
			s.freezeStar(c, list)
			out = append(out, list...)
			continue
		}
		if ind := rt.Val.GetAIndirection(); ind != nil && ind.Indirection[len(ind.Indirection)-1].GetAStar() != nil {
			out = append(out, s.expandRow(ind)...)
			continue
		}
		out = append(out, s.targetEntry(rt))
	}
	return out
}

func (s *scope) targetEntry(rt *pg.ResTarget) target {
	var e expr.Expr
	if rt.Val.GetSetToDefault() != nil && s.kind == kindUpdateSource {
		e = nil
	} else {
		e = s.expr(rt.Val)
	}
	name := rt.Name
	if name == "" {
		name = figureColname(rt.Val)
	}
	t := target{planner.Target1{Name: name, Expr: e}, rt.Val}
	t.TableOID, t.Attr = s.origin(e)
	return t
}

// origin of an expression that is a plain column.
func (s *scope) origin(e expr.Expr) (sqltypes.OID, int16) {
	v, ok := e.(*planner.Var)
	if !ok {
		return 0, 0
	}
	p := s
	for i := 0; i < v.Level && p != nil; i++ {
		p = p.parent
	}
	if p == nil || v.Rel < 0 || v.Rel >= len(p.q.Range) {
		return 0, 0
	}
	r := p.q.Range[v.Rel]
	if t := p.target; t != nil && t.cols != nil && t.rel == v.Rel {
		// A column seen through a view is the view's.
		for i, c := range t.cols {
			if cv, ok := c.e.(*planner.Var); ok && cv.Rel == v.Rel && cv.Col == v.Col {
				return t.origin(i)
			}
		}
	}
	if v.Col == -1 && r.Rel != nil {
		return r.Rel.OID, 0
	}
	if v.Col < 0 {
		if r.Rel != nil {
			return r.Rel.OID, int16(v.Col + 1)
		}
		return 0, 0
	}
	if v.Col >= len(r.Cols) {
		return 0, 0
	}
	return r.Cols[v.Col].TableOID, r.Cols[v.Col].Attr
}

// expandStar is ExpandColumnRefStar: *, t.*, s.t.*.
func (s *scope) expandStar(c *pg.ColumnRef, k exprKind) []target {
	b := s.b
	n := len(c.Fields)
	if n == 1 {
		var out []target
		found := false
		for _, it := range s.ns {
			if !it.colVis {
				continue
			}
			found = true
			out = append(out, s.expandItem(it, 0)...)
		}
		if !found {
			b.fail(c.Location, pgerror.SyntaxError, "SELECT * with no tables specified is not valid")
		}
		return out
	}
	if list, ok := s.starVariable(c); ok {
		return list
	}
	schema := ""
	if n > 4 {
		b.fail(c.Location, pgerror.SyntaxError, "improper qualified name (too many dotted names): %s", fieldsString(c.Fields))
	}
	if n == 4 {
		b.checkCatalogName(strOf(c.Fields[0]), fieldsString(c.Fields), c.Location)
	}
	if n >= 3 {
		schema = strOf(c.Fields[n-3])
	}
	it, lv := s.lookupTable(schema, strOf(c.Fields[n-2]), c.Location)
	if it == nil {
		s.tableMissing(schema, strOf(c.Fields[n-2]), c.Location)
	}
	return s.expandItem(it, lv)
}

func (s *scope) expandItem(it *nsItem, levels int) []target {
	s.readAll(it)
	var out []target
	for i, n := 0, it.numCols()-it.extra; i < n; i++ {
		if it.cols != nil && it.cols[i].hidden {
			continue
		}
		e := it.colExpr(i, levels)
		it.s.markRead(e)
		t := target{planner.Target1{Name: it.colName(i), Expr: e}, nil}
		t.TableOID, t.Attr = it.origin(i)
		out = append(out, t)
	}
	return out
}

// expandRow is ExpandIndirectionStar: (row).*.
func (s *scope) expandRow(x *pg.A_Indirection) []target {
	inner := &pg.A_Indirection{Arg: x.Arg, Indirection: x.Indirection[:len(x.Indirection)-1]}
	var e expr.Expr
	if len(inner.Indirection) == 0 {
		e = s.expr(x.Arg)
	} else {
		e = s.indirection(inner)
	}
	return s.expandRowValue(e, exprLoc(x.Arg))
}

func (s *scope) expandRowValue(e expr.Expr, loc int32) []target {
	if v, ok := e.(*planner.Var); ok && v.Col == -1 {
		if it := s.wholeRowItem(v); it != nil {
			return s.expandItem(it, v.Level)
		}
	}
	fields := s.recordFields(e)
	if fields == nil {
		if typeOf(e) == sqltypes.OIDRecord {
			s.b.fail(loc, pgerror.DatatypeMismatch, "record type has not been registered")
		}
		s.b.fail(loc, pgerror.WrongObjectType, "type %s is not composite", s.b.typeName(typeOf(e)))
	}
	var out []target
	for i, f := range fields {
		var x expr.Expr
		if r, ok := e.(*expr.RowCtor); ok {
			x = r.Fields[i]
		} else {
			x = &expr.Field{T: tt(f.typ), Arg: e, Num: i}
		}
		out = append(out, target{planner.Target1{Name: f.name, Expr: x}, nil})
	}
	return out
}

// exprListStar is transformExpressionList: stars in ROW(…), VALUES and IN.
func (s *scope) exprListStar(list []*pg.Node) []expr.Expr {
	out := make([]expr.Expr, 0, len(list))
	for _, n := range list {
		if c := n.GetColumnRef(); c != nil && c.Fields[len(c.Fields)-1].GetAStar() != nil {
			for _, t := range s.expandStar(c, s.kind) {
				out = append(out, t.Expr)
			}
			continue
		}
		if ind := n.GetAIndirection(); ind != nil && ind.Indirection[len(ind.Indirection)-1].GetAStar() != nil {
			for _, t := range s.expandRow(ind) {
				out = append(out, t.Expr)
			}
			continue
		}
		out = append(out, s.expr(n))
	}
	return out
}

// unknownsToText is resolveTargetListUnknowns.
func (s *scope) unknownsToText(list []target) {
	for i := range list {
		if list[i].Expr != nil && isUnknownExpr(list[i].Expr) {
			list[i].Expr = s.coerce(list[i].Expr, sqltypes.OIDText, noTypMod, implicit, exprLoc(list[i].raw))
		}
	}
}

// figureColname is FigureColname: the name of an output column without AS.
func figureColname(n *pg.Node) string {
	name, _ := figure(n)
	if name == "" {
		return "?column?"
	}
	return name
}

// figure returns a name and how good it is (2 a real name, 1 a type name, 0 none).
func figure(n *pg.Node) (string, int) {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		for i := len(x.ColumnRef.Fields) - 1; i >= 0; i-- {
			if f := x.ColumnRef.Fields[i].GetString_(); f != nil {
				return f.Sval, 2
			}
		}
	case *pg.Node_AIndirection:
		for i := len(x.AIndirection.Indirection) - 1; i >= 0; i-- {
			if f := x.AIndirection.Indirection[i].GetString_(); f != nil {
				return f.Sval, 2
			}
		}
		return figure(x.AIndirection.Arg)
	case *pg.Node_FuncCall:
		return strOf(x.FuncCall.Funcname[len(x.FuncCall.Funcname)-1]), 2
	case *pg.Node_AExpr:
		if x.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg.Node_TypeCast:
		if name, k := figure(x.TypeCast.Arg); k > 1 {
			return name, k
		}
		if t := x.TypeCast.TypeName; t != nil && len(t.Names) > 0 {
			return strOf(t.Names[len(t.Names)-1]), 1
		}
	case *pg.Node_CollateClause:
		return figure(x.CollateClause.Arg)
	case *pg.Node_GroupingFunc:
		return "grouping", 2
	case *pg.Node_SubLink:
		switch x.SubLink.SubLinkType {
		case pg.SubLinkType_EXISTS_SUBLINK:
			return "exists", 2
		case pg.SubLinkType_ARRAY_SUBLINK:
			return "array", 2
		case pg.SubLinkType_EXPR_SUBLINK:
			// The name of the subquery's column.
			sel := x.SubLink.Subselect.GetSelectStmt()
			for sel != nil && sel.Larg != nil {
				sel = sel.Larg
			}
			if sel != nil && len(sel.TargetList) == 1 {
				rt := sel.TargetList[0].GetResTarget()
				if rt.Name != "" {
					return rt.Name, 2
				}
				return figureColname(rt.Val), 2
			}
			if sel != nil && len(sel.ValuesLists) > 0 {
				return "column1", 2
			}
		}
	case *pg.Node_CaseExpr:
		if name, k := figure(x.CaseExpr.Defresult); k > 1 {
			return name, k
		}
		return "case", 1
	case *pg.Node_AArrayExpr:
		return "array", 2
	case *pg.Node_RowExpr:
		return "row", 2
	case *pg.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg.Node_MinMaxExpr:
		if x.MinMaxExpr.Op == pg.MinMaxOp_IS_LEAST {
			return "least", 2
		}
		return "greatest", 2
	case *pg.Node_SqlvalueFunction:
		switch x.SqlvalueFunction.Op {
		case pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE:
			return "current_date", 2
		case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME, pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:
			return "current_time", 2
		case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP, pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N:
			return "current_timestamp", 2
		case pg.SQLValueFunctionOp_SVFOP_LOCALTIME, pg.SQLValueFunctionOp_SVFOP_LOCALTIME_N:
			return "localtime", 2
		case pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP, pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:
			return "localtimestamp", 2
		case pg.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:
			return "current_role", 2
		case pg.SQLValueFunctionOp_SVFOP_CURRENT_USER:
			return "current_user", 2
		case pg.SQLValueFunctionOp_SVFOP_USER:
			return "user", 2
		case pg.SQLValueFunctionOp_SVFOP_SESSION_USER:
			return "session_user", 2
		case pg.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
			return "current_catalog", 2
		case pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
			return "current_schema", 2
		}
	case *pg.Node_XmlExpr:
		return "xmlelement", 2
	}
	return "", 0
}
