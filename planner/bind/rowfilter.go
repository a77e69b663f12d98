package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// RowFilter checks the WHERE of a published table: a condition on its row that
// always has the same value (check_simple_rowfilter_expr). Error: 0A000 for what it
// may not contain. It returns the columns that the condition reads.
func RowFilter(ctx *planner.Context, rel *catalog.Relation, cond *pg.Node) (attrs []int16, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	s := b.newScope(nil)
	it := s.addRTE(s.relationRTE(rel, nil))
	it.relOID, it.schema = rel.OID, rel.Schema
	s.ns = append(s.ns, it)
	e := s.whereClause(cond, kindWhere, "PUBLICATION WHERE")
	planner.Visit(e, func(x expr.Expr) bool {
		why := notInRowFilter(x)
		if v, ok := x.(*planner.Var); ok && v.Col >= 0 {
			attrs = append(attrs, it.rte().Attrs[v.Col])
		}
		if why == "" && x.Type().OID >= sqltypes.OID(catalog.FirstUserOID) {
			why = "User-defined types are not allowed."
		}
		if why == "" {
			if c, ok := x.(*expr.Call); ok && (c.Proc.Volatility != sqltypes.Immutable || c.Proc.OID >= sqltypes.OID(catalog.FirstUserOID)) {
				why = "User-defined or built-in mutable functions are not allowed."
			}
		}
		if why != "" {
			panic(pgerror.New(pgerror.FeatureNotSupported, "invalid publication WHERE expression").WithDetail("%s", why))
		}
		return true
	})
	return attrs, nil
}

func notInRowFilter(e expr.Expr) string {
	switch x := e.(type) {
	case *planner.Var:
		if x.Col < -1 {
			return "System columns are not allowed."
		}
	case *expr.Call:
		if x.Op != "" && x.Proc.OID >= sqltypes.OID(catalog.FirstUserOID) {
			return "User-defined operators are not allowed."
		}
	case *expr.Const, *expr.And, *expr.Or, *expr.Not, *expr.NullTest, *expr.BoolTest, *expr.Case, *expr.CaseValue, *expr.Coalesce, *expr.MinMax,
		*expr.ArrayCtor, *expr.RowCtor, *expr.Relabel, *expr.ArrayOp, *expr.Distinct, *expr.NullIf, *expr.RowCompare:
	default:
		return "Only columns, constants, built-in operators, built-in data types, built-in collations, and immutable built-in functions are allowed."
	}
	return ""
}
