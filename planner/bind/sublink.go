package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// visibleTargets counts the output columns of a query.
func visibleTargets(q *planner.Query) int {
	n := 0
	for _, t := range q.Targets {
		if !t.Junk {
			n++
		}
	}
	return n
}

// subLink is transformSubLink.
func (s *scope) subLink(x *pg.SubLink) expr.Expr {
	b := s.b
	if p := s.kind.subqueryPlace(); p != "" {
		b.fail(x.Location, pgerror.FeatureNotSupported, "cannot use subquery in %s", p)
	}
	q := b.statement(s, x.Subselect, true)
	if q.Command != planner.CmdSelect {
		b.fail(x.Location, pgerror.SyntaxError, "unexpected non-SELECT command in SubLink")
	}
	out := &planner.SubLink{Sub: q}
	single := func() sqltypes.ColumnType {
		if visibleTargets(q) != 1 {
			b.fail(x.Location, pgerror.SyntaxError, "subquery must return only one column")
		}
		return q.Targets[0].Expr.Type()
	}
	switch x.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		out.Kind, out.T = expr.SubExists, boolT
		return out
	case pg.SubLinkType_EXPR_SUBLINK:
		out.Kind, out.T = expr.SubScalar, tt(single())
		return out
	case pg.SubLinkType_ARRAY_SUBLINK:
		ct := single()
		arr := b.arrayType(ct.OID)
		if t := b.typ(ct.OID); arr == 0 && t != nil && t.IsArray {
			arr = ct.OID // an array of arrays
		}
		if arr == 0 {
			b.fail(x.Location, pgerror.UndefinedObject, "could not find array type for data type %s", b.typeName(ct.OID))
		}
		out.Kind, out.T = expr.SubArray, tt(sqltypes.ColumnType{OID: arr, TypMod: ct.TypMod, Collation: ct.Collation})
		return out
	}
	// ALL, ANY, and row comparison.
	name := x.OperName
	if len(name) == 0 {
		name = opName("=")
	}
	var left []expr.Expr
	if r := x.Testexpr.GetRowExpr(); r != nil {
		left = s.expr(x.Testexpr).(*expr.RowCtor).Fields
	} else {
		left = []expr.Expr{s.expr(x.Testexpr)}
		if rc, ok := left[0].(*expr.RowCtor); ok {
			left = rc.Fields
		}
	}
	var right []expr.Expr
	for i, t := range q.Targets {
		if !t.Junk {
			right = append(right, &planner.SubCol{T: tt(t.Expr.Type()), N: i})
		}
	}
	switch {
	case len(left) < len(right):
		b.fail(x.Location, pgerror.SyntaxError, "subquery has too many columns")
	case len(left) > len(right):
		b.fail(x.Location, pgerror.SyntaxError, "subquery has too few columns")
	}
	out.T = boolT
	out.Test = s.rowComparison(name, left, right, x.Location)
	switch x.SubLinkType {
	case pg.SubLinkType_ALL_SUBLINK:
		out.Kind = expr.SubAll
	case pg.SubLinkType_ANY_SUBLINK:
		out.Kind = expr.SubAny
	default:
		out.Kind = expr.SubRow
	}
	return out
}
