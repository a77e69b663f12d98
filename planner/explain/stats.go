package explain

import (
	"time"

	"ostraka/expr"
	"ostraka/planner"
)

// Options are those of the EXPLAIN statement.
type Options struct {
	Analyze, Verbose, Costs, Timing, Summary, Settings bool
	Format                                             string // "text", "json", "yaml", "xml"
	// SettingsText are the changed planner settings, "name = 'value'", for SETTINGS.
	SettingsText []string
	// QueryText for auto-explain style output; "" leaves it out.
	QueryText string
	// Function, when not nil, tells more about a function in FROM.
	Function func(call *expr.Call) []Property
	// Aggregate, when not nil, tells more about an aggregation.
	Aggregate func(*planner.Aggregate) []Property
}

// Property is one line of a node.
type Property struct{ Label, Value string }

// NodeStats is what the executor measured of one node.
type NodeStats struct {
	Loops int64 // 0: never executed
	Rows  int64 // returned, in all loops
	// Startup is the time to the first row, Total to the last, summed over loops.
	Startup, Total time.Duration
	// RemovedByFilter and RemovedByJoinFilter count rows that conditions rejected.
	RemovedByFilter, RemovedByJoinFilter int64
	// Memory is the node's peak, Disk what it spilled, in bytes.
	Memory, Disk int64
	// Sorts: "quicksort", "top-N heapsort", "external merge".
	SortMethod string
	// Hash joins and hash aggregates.
	Buckets, Batches int64
	HeapFetches      int64 // index-only scans
	// Hash: measurements of a hash join's build side (rows built).
	BuildRows int64
	// Detail are counts that the store of a scanned relation gives.
	Detail map[string]int64
}

// Stats are the measurements of one execution.
type Stats struct {
	Node      func(planner.Node) *NodeStats // nil results: not measured
	Planning  time.Duration
	Execution time.Duration
	Triggers  []TriggerStats
}

// TriggerStats is the time spent in a trigger or foreign-key check.
type TriggerStats struct {
	Name, Relation string
	Constraint     string
	Calls          int64
	Time           time.Duration
}
