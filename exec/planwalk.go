package exec

import (
	"slices"

	"ostraka/expr"
	"ostraka/planner"
)

// eachInput calls f for the inputs of a node.
func eachInput(n planner.Node, f func(planner.Node)) {
	switch p := n.(type) {
	case *planner.RecursiveUnion:
		f(p.NonRec)
		f(p.Rec)
	case *planner.Filter:
		f(p.Input)
	case *planner.Project:
		f(p.Input)
	case *planner.ProjectSet:
		f(p.Input)
	case *planner.NestLoop:
		f(p.Left)
		f(p.Right)
	case *planner.HashJoin:
		f(p.Left)
		f(p.Right)
	case *planner.MergeJoin:
		f(p.Left)
		f(p.Right)
	case *planner.Aggregate:
		f(p.Input)
	case *planner.GapFill:
		f(p.Input)
	case *planner.WindowAgg:
		f(p.Input)
	case *planner.Sort:
		f(p.Input)
	case *planner.Unique:
		f(p.Input)
	case *planner.Limit:
		f(p.Input)
	case *planner.Append:
		for _, in := range p.Inputs {
			f(in)
		}
	case *planner.MergeAppend:
		for _, in := range p.Inputs {
			f(in)
		}
	case *planner.SetOp:
		f(p.Left)
		f(p.Right)
	case *planner.Materialize:
		f(p.Input)
	case *planner.LockRows:
		f(p.Input)
	}
}

// eachExpr calls f for the expressions of a (reading) node.
func eachExpr(n planner.Node, f func(expr.Expr)) {
	list := func(es []expr.Expr) {
		for _, e := range es {
			f(e)
		}
	}
	keys := func(ks []planner.SortKey) {
		for _, k := range ks {
			f(k.Expr)
		}
	}
	switch p := n.(type) {
	case *planner.Scan:
		for _, r := range p.Ranges {
			list(r.Eq)
			f(r.Lower)
			f(r.Upper)
		}
		f(p.Filter)
		if p.Sample != nil {
			f(p.Sample.Percent)
			f(p.Sample.Seed)
		}
	case *planner.VirtualScan:
		f(p.Filter)
		for _, q := range p.Eq {
			f(q.Value)
		}
	case *planner.FunctionScan:
		for _, c := range p.Calls {
			f(c)
		}
		f(p.Filter)
	case *planner.Values:
		for _, r := range p.Rows {
			list(r)
		}
	case *planner.Result:
		f(p.OneTime)
	case *planner.CTEScan:
		f(p.Filter)
	case *planner.WorkTableScan:
		f(p.Filter)
	case *planner.Filter:
		f(p.Cond)
	case *planner.Project:
		list(p.Exprs)
	case *planner.ProjectSet:
		list(p.Exprs)
	case *planner.NestLoop:
		f(p.Cond)
		for _, q := range p.Params {
			f(q.Expr)
		}
	case *planner.HashJoin:
		list(p.LeftKeys)
		list(p.RightKeys)
		f(p.Cond)
	case *planner.MergeJoin:
		list(p.LeftKeys)
		list(p.RightKeys)
		f(p.Cond)
	case *planner.Aggregate:
		list(p.GroupBy)
		for _, a := range p.Aggs {
			f(a)
		}
	case *planner.GapFill:
		f(p.Call)
		for _, b := range slices.Concat(p.Start, p.Finish) {
			f(b.Value)
		}
		for _, c := range p.Fills {
			list([]expr.Expr{c.Value, c.Before, c.After, c.SkipNull})
		}
	case *planner.WindowAgg:
		list(p.PartitionBy)
		keys(p.OrderBy)
		f(p.Frame.Start.Offset)
		f(p.Frame.End.Offset)
		for _, w := range p.Funcs {
			f(w)
		}
	case *planner.Sort:
		keys(p.Keys)
		f(p.Top)
	case *planner.Limit:
		f(p.Count)
		f(p.Offset)
		keys(p.WithTies)
	}
}

// paramsOf lists the execution parameters that a subtree reads and does not set itself.
func paramsOf(n planner.Node) []int {
	reads, sets := map[int]bool{}, map[int]bool{}
	seen := map[planner.Node]bool{}
	var node func(planner.Node)
	visit := func(e expr.Expr) {
		expr.Walk(e, func(x expr.Expr) bool {
			switch p := x.(type) {
			case *expr.ExecParam:
				reads[p.ID] = true
			case *expr.SubPlan:
				for _, id := range slices.Concat(p.ParamIDs, p.TestParams) {
					sets[id] = true
				}
				if sp, ok := p.Plan.(*planner.SubPlan); ok {
					node(sp.Root)
				}
			}
			return true
		})
	}
	node = func(n planner.Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		eachExpr(n, visit)
		switch p := n.(type) {
		case *planner.NestLoop:
			for _, q := range p.Params {
				sets[q.ID] = true
			}
		case *planner.WorkTableScan:
			reads[p.CTE.WorkParam] = true
		case *planner.CTEScan:
			for _, id := range p.CTE.Deps {
				reads[id] = true
			}
		}
		eachInput(n, node)
	}
	node(n)
	var out []int
	for id := range reads {
		if !sets[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
