package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// eachQuery calls f with q and every query below it, SubLinks' included, with its depth.
func eachQuery(q *planner.Query, depth int, f func(q *planner.Query, depth int)) {
	f(q, depth)
	planner.VisitQuery(q, func(e expr.Expr) {
		planner.Visit(e, func(x expr.Expr) bool {
			if s, ok := x.(*planner.SubLink); ok {
				eachQuery(s.Sub, depth+1, f)
			}
			return true
		})
	}, func(s *planner.Query) { eachQuery(s, depth+1, f) })
}

func notSupported(what string) error { return pgerror.NotSupported(what) }

// countEntries is the number of range-table entries of the whole statement.
func countEntries(q *planner.Query) int {
	n := 0
	eachQuery(q, 0, func(s *planner.Query, _ int) { n += len(s.Range) })
	return n
}
