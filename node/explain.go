package node

import (
	"strings"
	"time"

	"ostraka/exec"
	"ostraka/expr"
	"ostraka/pgfront/session"
	"ostraka/planner"
	"ostraka/planner/explain"
	"ostraka/sqltypes"
)

// explainer is session.Explainer over planner/explain.
type explainer struct{}

func (explainer) Explain(pc *planner.Context, plan *planner.Plan, x session.Execution, o session.ExplainOptions) ([]string, error) {
	opts := explain.Options{Analyze: o.Analyze, Verbose: o.Verbose, Costs: o.Costs, Timing: o.Timing, Summary: o.Summary, Settings: o.Settings, Format: o.Format}
	ms := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
	var st *explain.Stats
	if o.Analyze || o.Summary {
		st = &explain.Stats{Planning: ms(o.PlanningTime), Execution: ms(o.ExecutionTime), Node: func(planner.Node) *explain.NodeStats { return nil }}
	}
	if e, ok := x.(*exec.Execution); ok && o.Analyze {
		st.Node = func(n planner.Node) *explain.NodeStats { return nodeStats(e.Stats(n)) }
	}
	opts.Function = func(call *expr.Call) []explain.Property { return functionProperties(pc, call) }
	opts.Aggregate = func(a *planner.Aggregate) []explain.Property { return otherNodes(pc, a) }
	text := explain.Explain(plan, pc.Catalog, opts, st)
	if o.Format != "" && !strings.EqualFold(o.Format, "text") {
		return []string{text}, nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

// otherNodes tells what an aggregation over the time series of all nodes asks the
// others for.
func otherNodes(pc *planner.Context, a *planner.Aggregate) []explain.Property {
	if pc.Env == nil || pc.Env.Session == nil {
		return nil
	}
	if scope, _ := pc.Env.Session.Setting("ostraka.ts_scope"); scope != "cluster" {
		return nil
	}
	asks, over := exec.AsksPeers(a)
	switch {
	case !over:
		return nil
	case asks:
		return []explain.Property{{Label: "Other Nodes", Value: "Partial Aggregates"}}
	}
	return []explain.Property{{Label: "Other Nodes", Value: "Rows"}}
}

func nodeStats(s exec.NodeStats) *explain.NodeStats {
	out := &explain.NodeStats{Loops: s.Loops, Rows: s.Rows, Startup: s.Startup, Total: s.Total, Memory: s.PeakBytes, SortMethod: s.SortMethod,
		Batches: int64(s.HashBatches), RemovedByFilter: s.Removed, Detail: s.Detail}
	if s.SortMethod != "" {
		out.Memory = s.SortBytes
		if s.SortDisk {
			out.Memory, out.Disk = 0, s.SortBytes
		}
	}
	return out
}

// functionProperties asks a function how it would execute a call; its arguments
// must be known without running the query.
func functionProperties(pc *planner.Context, call *expr.Call) []explain.Property {
	if call.Proc.Explain == nil || pc.Env == nil || pc.Catalog == nil {
		return nil
	}
	args := make([]sqltypes.Datum, len(call.Args))
	for i, a := range call.Args {
		known := true
		planner.Visit(a, func(e expr.Expr) bool {
			switch e := e.(type) {
			case *expr.Const:
			case *expr.Call:
				known = known && e.Proc.Volatility != sqltypes.Volatile
			default:
				known = false
			}
			return known
		})
		if !known {
			return nil
		}
		p, err := expr.Compile(a, pc.Catalog.Type)
		if err != nil {
			return nil
		}
		if args[i], err = p.Row(nil, &expr.Params{}, pc.Env); err != nil {
			return nil
		}
	}
	lines, err := call.Proc.Explain(&sqltypes.Call{Env: pc.Env, Proc: call.Proc}, args)
	if err != nil {
		return []explain.Property{{Label: "Error", Value: err.Error()}}
	}
	out := make([]explain.Property, len(lines))
	for i, l := range lines {
		out[i] = explain.Property{Label: l[0], Value: l[1]}
	}
	return out
}
