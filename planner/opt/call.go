package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// callPlan recognises a statement that is one call of a function with a short way.
func callPlan(pl *planner.Plan) *planner.CallPlan {
	n := pl.Root
	var out []expr.Expr
	if p, ok := n.(*planner.Project); ok {
		out, n = p.Exprs, p.Input
	}
	var call *expr.Call
	switch x := n.(type) {
	case *planner.FunctionScan:
		if len(x.Calls) != 1 || x.Filter != nil || x.Ordinality || len(x.Calls[0].RetFields) > 0 || len(pl.Columns) != x.ColCounts[0] {
			return nil
		}
		for i, e := range out {
			if c, ok := e.(*expr.Col); !ok || c.Idx != i {
				return nil
			}
		}
		call = x.Calls[0]
	case *planner.Result:
		if x.OneTime != nil || len(out) != 1 || len(pl.Columns) != 1 {
			return nil
		}
		c, ok := out[0].(*expr.Call)
		if !ok || c.Proc.RetSet {
			return nil
		}
		call = c
	default:
		return nil
	}
	if call.Proc.Quick == nil {
		return nil
	}
	for _, a := range call.Args {
		if !plainValue(a) || contains(a, func(e expr.Expr) bool {
			c, ok := e.(*expr.Call)
			return ok && (c.Proc.RetSet || c.Proc.Volatility != sqltypes.Immutable)
		}) {
			return nil
		}
	}
	return &planner.CallPlan{Call: call}
}
