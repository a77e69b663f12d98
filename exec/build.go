package exec

import (
	"fmt"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// build makes the operator of a plan node. used tells which output columns the
// parent reads (nil: all); the others may be absent from the batches.
func (x *Execution) build(n planner.Node, used need) (built, error) {
	b, err := x.buildNode(n, used)
	if err == nil && x.stats != nil {
		b.op = x.instrument(n, b.op)
	}
	return b, err
}

func (x *Execution) buildNode(n planner.Node, used need) (built, error) {
	switch p := n.(type) {
	case *planner.Scan:
		return x.buildScan(p, used)
	case *planner.VirtualScan:
		return x.buildVirtual(p)
	case *planner.FunctionScan:
		return x.buildFunctionScan(p)
	case *planner.Values:
		return x.buildValues(p)
	case *planner.Result:
		return x.buildResult(p)
	case *planner.Empty:
		return built{op: &emptyOp{}, kinds: x.outKinds(p)}, nil
	case *planner.CTEScan:
		return x.buildCTEScan(p)
	case *planner.WorkTableScan:
		return x.buildWorkTableScan(p)
	case *planner.RecursiveUnion:
		return x.buildRecursiveUnion(p)
	case *planner.Filter:
		return x.buildFilter(p, used)
	case *planner.Project:
		return x.buildProject(p, used)
	case *planner.ProjectSet:
		return x.buildProjectSet(p)
	case *planner.NestLoop:
		return x.buildNestLoop(p, used)
	case *planner.HashJoin:
		return x.buildHashJoin(p, used)
	case *planner.MergeJoin:
		return x.buildMergeJoin(p, used)
	case *planner.Aggregate:
		return x.buildAggregate(p)
	case *planner.GapFill:
		return x.buildGapFill(p)
	case *planner.WindowAgg:
		return x.buildWindow(p, used)
	case *planner.Sort:
		return x.buildSort(p, used)
	case *planner.Unique:
		return x.buildUnique(p)
	case *planner.Limit:
		return x.buildLimit(p, used)
	case *planner.Append:
		return x.buildAppend(p, used)
	case *planner.MergeAppend:
		return x.buildMergeAppend(p, used)
	case *planner.SetOp:
		return x.buildSetOp(p)
	case *planner.Materialize:
		return x.buildMaterialize(p, used)
	case *planner.LockRows:
		return x.buildLockRows(p)
	case *planner.Insert:
		return x.buildInsert(p)
	case *planner.Update:
		return x.buildUpdate(p)
	case *planner.Delete:
		return x.buildDelete(p)
	case *planner.Merge:
		return x.buildMerge(p)
	}
	return built{}, fmt.Errorf("exec: cannot run a %T", n)
}

// outKinds are the representations of a node's output columns.
func (x *Execution) outKinds(n planner.Node) []sqltypes.Kind {
	cols := n.Out()
	out := make([]sqltypes.Kind, len(cols))
	for i, c := range cols {
		out[i] = x.kind(c.Type)
	}
	return out
}

func (x *Execution) exprKinds(es []expr.Expr) []sqltypes.Kind {
	out := make([]sqltypes.Kind, len(es))
	for i, e := range es {
		out[i] = x.kind(e.Type())
	}
	return out
}
