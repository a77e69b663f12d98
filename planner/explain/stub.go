package explain
import ("ostraka/expr";"ostraka/planner")
func ColumnText(e expr.Expr, name func(*planner.Var) string) string { return "" }
func QuoteIdent(s string) string { return s }
