package exec

import (
	"time"

	"ostraka/planner"
)

// NodeStats is what EXPLAIN ANALYZE shows of a node, over all loops.
type NodeStats struct {
	Loops int64
	Rows  int64
	// Startup is the time until the first row of each loop, Total until the end; nodes below included.
	Startup, Total time.Duration
	// Removed are rows that the node's condition rejected.
	Removed int64
	// SortMethod and SortBytes of a Sort; SortDisk: on disk.
	SortMethod string
	SortBytes  int64
	SortDisk   bool
	// HashBatches of a HashJoin, PeakBytes of memory it or an Aggregate held.
	HashBatches int
	PeakBytes   int64
	Spilled     bool
	// Detail are counts that a store gives of a scan ("Chunks Read").
	Detail map[string]int64
}

// Stats returns what was measured of a node; zero for one that never ran.
func (x *Execution) Stats(n planner.Node) NodeStats {
	if s := x.stats[n]; s != nil {
		return *s
	}
	return NodeStats{}
}

// statOp measures an operator.
type statOp struct {
	in    operator
	s     *NodeStats
	first bool
}

func (x *Execution) instrument(n planner.Node, op operator) operator {
	s := x.stats[n]
	if s == nil {
		s = &NodeStats{}
		x.stats[n] = s
	}
	return &statOp{in: op, s: s}
}

// wantRows implements rowGoal for the operator measured.
func (o *statOp) wantRows(n int64) {
	if g, ok := o.in.(rowGoal); ok {
		g.wantRows(n)
	}
}

func (o *statOp) open() error {
	t := time.Now()
	o.s.Loops++
	o.first = true
	err := o.in.open()
	d := time.Since(t)
	o.s.Startup += d
	o.s.Total += d
	return err
}

func (o *statOp) next() (*batch, error) {
	t := time.Now()
	b, err := o.in.next()
	d := time.Since(t)
	if o.first {
		o.s.Startup += d
		o.first = false
	}
	o.s.Total += d
	if b != nil {
		o.s.Rows += int64(b.Rows())
	}
	if r, ok := o.in.(interface{ rejectedRows() int64 }); ok {
		o.s.Removed = r.rejectedRows()
	}
	switch op := o.in.(type) {
	case *sortOp:
		o.s.SortMethod, o.s.SortBytes, o.s.SortDisk = op.info.Method, op.info.Bytes, op.info.Disk
	case *scanOp:
		if b == nil && op.detail != nil {
			if o.s.Detail == nil {
				o.s.Detail = map[string]int64{}
			}
			for k, v := range op.detail {
				o.s.Detail[k] += v
			}
			op.detail = nil
		}
	case *hashJoinOp:
		o.s.HashBatches, o.s.PeakBytes = max(o.s.HashBatches, op.batches), max(o.s.PeakBytes, op.mem.peak)
	case *aggregateOp:
		o.s.PeakBytes, o.s.Spilled = max(o.s.PeakBytes, op.mem.peak), o.s.Spilled || op.spilling
	}
	return b, err
}

func (o *statOp) close() { o.in.close() }
