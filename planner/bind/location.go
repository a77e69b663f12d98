package bind

import pg "github.com/pganalyze/pg_query_go/v5"

// exprLoc is exprLocation of a syntax tree: the leftmost place, -1 if unknown.
func exprLoc(n *pg.Node) int32 {
	if n == nil {
		return -1
	}
	switch x := n.Node.(type) {
	case *pg.Node_AConst:
		return x.AConst.Location
	case *pg.Node_ColumnRef:
		return x.ColumnRef.Location
	case *pg.Node_ParamRef:
		return x.ParamRef.Location
	case *pg.Node_AExpr:
		return leftmost(x.AExpr.Location, exprLoc(x.AExpr.Lexpr))
	case *pg.Node_BoolExpr:
		return leftmost(x.BoolExpr.Location, listLoc(x.BoolExpr.Args))
	case *pg.Node_FuncCall:
		return leftmost(x.FuncCall.Location, listLoc(x.FuncCall.Args))
	case *pg.Node_TypeCast:
		l := exprLoc(x.TypeCast.Arg)
		l = leftmost(l, x.TypeCast.TypeName.Location)
		return leftmost(l, x.TypeCast.Location)
	case *pg.Node_CollateClause:
		return leftmost(exprLoc(x.CollateClause.Arg), x.CollateClause.Location)
	case *pg.Node_AIndirection:
		return exprLoc(x.AIndirection.Arg)
	case *pg.Node_AArrayExpr:
		return x.AArrayExpr.Location
	case *pg.Node_SubLink:
		return leftmost(exprLoc(x.SubLink.Testexpr), x.SubLink.Location)
	case *pg.Node_CaseExpr:
		return x.CaseExpr.Location
	case *pg.Node_CaseWhen:
		return x.CaseWhen.Location
	case *pg.Node_CoalesceExpr:
		return x.CoalesceExpr.Location
	case *pg.Node_MinMaxExpr:
		return x.MinMaxExpr.Location
	case *pg.Node_NullTest:
		return leftmost(x.NullTest.Location, exprLoc(x.NullTest.Arg))
	case *pg.Node_BooleanTest:
		return leftmost(x.BooleanTest.Location, exprLoc(x.BooleanTest.Arg))
	case *pg.Node_RowExpr:
		return x.RowExpr.Location
	case *pg.Node_SqlvalueFunction:
		return x.SqlvalueFunction.Location
	case *pg.Node_XmlExpr:
		return leftmost(x.XmlExpr.Location, listLoc(x.XmlExpr.Args))
	case *pg.Node_SetToDefault:
		return x.SetToDefault.Location
	case *pg.Node_GroupingFunc:
		return x.GroupingFunc.Location
	case *pg.Node_GroupingSet:
		return x.GroupingSet.Location
	case *pg.Node_NamedArgExpr:
		return leftmost(x.NamedArgExpr.Location, exprLoc(x.NamedArgExpr.Arg))
	case *pg.Node_ResTarget:
		return x.ResTarget.Location
	case *pg.Node_SortBy:
		return exprLoc(x.SortBy.Node)
	case *pg.Node_RangeVar:
		return x.RangeVar.Location
	case *pg.Node_TypeName:
		return x.TypeName.Location
	case *pg.Node_CommonTableExpr:
		return x.CommonTableExpr.Location
	case *pg.Node_WindowDef:
		return x.WindowDef.Location
	case *pg.Node_List:
		return listLoc(x.List.Items)
	case *pg.Node_MultiAssignRef:
		return exprLoc(x.MultiAssignRef.Source)
	}
	return -1
}

// listLoc is the place of the first item that has one.
func listLoc(l []*pg.Node) int32 {
	for _, n := range l {
		if p := exprLoc(n); p >= 0 {
			return p
		}
	}
	return -1
}

func leftmost(a, b int32) int32 {
	switch {
	case a < 0:
		return b
	case b < 0:
		return a
	}
	return min(a, b)
}
