package opt

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
)

// Costs of our executor in units of ten microseconds. A row of a scan costs about
// 60 ns, a point lookup about 3 µs, a vectorised operator a nanosecond or two per
// row; restarting an operator tree costs a microsecond or so per node.
const (
	costRow     = 0.006  // iterate over a stored row
	costColumn  = 0.0005 // decode one column of it
	costSeek    = 0.25   // position in an index
	costLookup  = 0.3    // fetch a row by its key
	costOp      = 0.0004 // one operator or function on one value
	costBuild   = 0.008  // a row into a hash table
	costProbe   = 0.004  // look one up
	costEmit    = 0.001  // hand a row upward
	costCompare = 0.0025 // one comparison of a sort
	costRescan  = 0.15   // start a subtree again
	costPair    = 0.0006 // one pair of a nested loop over kept rows
	costSpill   = 0.01   // write and read back a row
	costDisable = 1e8
)

// exprCost is the cost of evaluating e once.
func exprCost(e expr.Expr) float64 {
	if e == nil {
		return 0
	}
	c := 0.0
	planner.Visit(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *expr.Call:
			f := float64(n.Proc.Cost)
			if f < 1 {
				f = 1
			}
			if t := n.Type().OID; t == 1700 || t == oidText {
				f += 2
			}
			c += costOp * math.Min(f, 1000)
		case *expr.ArrayOp:
			c += costOp * 5
		case *expr.SubPlan:
			if sp, ok := n.Plan.(*planner.SubPlan); ok {
				if sp.Hashed {
					c += costProbe * 2
				} else {
					c += costRescan + sp.PerCall.Total
				}
			}
		case *expr.Case, *expr.NullTest, *expr.And, *expr.Or:
			c += costOp / 2
		case *expr.CoerceViaIO, *expr.ArrayCoerce, *expr.RowCtor, *expr.ArrayCtor:
			c += costOp * 10
		}
		return true
	})
	return c
}

// exprStartup is what must be done once before e can be evaluated (hashed subplans).
func exprStartup(e expr.Expr) float64 {
	c := 0.0
	if e == nil {
		return 0
	}
	planner.Visit(e, func(x expr.Expr) bool {
		if n, ok := x.(*expr.SubPlan); ok {
			if sp, ok := n.Plan.(*planner.SubPlan); ok && sp.Hashed {
				c += sp.PerCall.Total + sp.PerCall.Rows*costBuild
			}
		}
		return true
	})
	return c
}

func exprsCost(es []expr.Expr) float64 {
	c := 0.0
	for _, e := range es {
		c += exprCost(e)
	}
	return c
}

func clausesCost(cs []*clause) float64 {
	c := 0.0
	for _, x := range cs {
		c += exprCost(x.e)
	}
	return c
}

// sortCost is the cost of sorting n rows of a width, keeping only top of them when top > 0.
func (p *planning) sortCost(n float64, width int, keys int, top float64) float64 {
	if n < 2 {
		n = 2
	}
	cmp := costCompare * (1 + 0.2*float64(keys-1))
	if top > 0 && top < n/2 {
		return n*cmp*math.Log2(math.Max(2, 2*top))*0.5 + costEmit*n*0.5
	}
	c := cmp*n*math.Log2(n) + costEmit*2*n
	if p.spills(n, width) {
		c += n * costSpill
	}
	return c
}

func (p *planning) spills(rows float64, width int) bool {
	mem := p.ctx.Settings.WorkMem
	if mem <= 0 {
		mem = 64 << 20
	}
	return rows*float64(width+32) > float64(mem)
}
