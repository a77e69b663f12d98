package node

import (
	"strings"
	"time"

	"ostraka/exec"
	"ostraka/pgfront/session"
	"ostraka/planner"
	"ostraka/planner/explain"
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
	text := explain.Explain(plan, pc.Catalog, opts, st)
	if o.Format != "" && !strings.EqualFold(o.Format, "text") {
		return []string{text}, nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

func nodeStats(s exec.NodeStats) *explain.NodeStats {
	out := &explain.NodeStats{Loops: s.Loops, Rows: s.Rows, Startup: s.Startup, Total: s.Total, Memory: s.PeakBytes, SortMethod: s.SortMethod,
		Batches: int64(s.HashBatches)}
	if s.SortMethod != "" {
		out.Memory = s.SortBytes
		if s.SortDisk {
			out.Memory, out.Disk = 0, s.SortBytes
		}
	}
	return out
}
