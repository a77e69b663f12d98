package opt

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
)

// planSetOp plans UNION, INTERSECT and EXCEPT with the ORDER BY and LIMIT on them.
func (lv *level) planSetOp() result {
	q := lv.q
	q.CTEs = nil
	lv.mapExprs(lv.p.simplify)
	lv.mapExprs(lv.finish)
	s := &upper{lv: lv, q: q}
	node, unique := lv.setOpNode(q.SetOp)
	s.b = built{node: node}
	vis := visibleTargets(q)
	for i, c := range node.Out() {
		name, typ := c.Name, c.Type
		if i < len(vis) {
			name, typ = vis[i].Name, vis[i].Expr.Type()
		}
		s.b.cols = append(s.b.cols, &planner.Var{T: expr.T{Typ: typ}, Rel: -1, Col: i, Name: name})
	}
	s.unique = unique
	if lv.p.err != nil {
		return result{node: &planner.Empty{}}
	}
	return s.finish(false).result
}

// setOpNode combines the two sides; unique: no duplicates in the result.
func (lv *level) setOpNode(op *planner.SetOpQuery) (planner.Node, bool) {
	if op.Op == 'u' {
		inputs := lv.unionInputs(op, op.All)
		n := &planner.Append{Inputs: inputs}
		n.Columns = inputs[0].Out()
		for _, in := range inputs {
			e := in.Est()
			n.Estimate.Rows += e.Rows
			n.Estimate.Total += e.Total
			n.Estimate.Width = max(n.Estimate.Width, e.Width)
		}
		n.Estimate.Startup = inputs[0].Est().Startup
		n.Estimate.Total += n.Estimate.Rows * costEmit / 2
		if op.All {
			return n, false
		}
		return lv.distinctNode(n), true
	}
	l, r := lv.p.planQuery(lv, op.Left, 0), lv.p.planQuery(lv, op.Right, 0)
	n := &planner.SetOp{Left: l.node, Right: r.node, Except: op.Op == 'e', All: op.All}
	n.Columns = l.node.Out()
	le, re := l.node.Est(), r.node.Est()
	rows := le.Rows
	if !n.Except {
		rows = math.Min(le.Rows, re.Rows)
	}
	total := le.Total + re.Total + (le.Rows+re.Rows)*costBuild
	n.Estimate = planner.Estimate{Rows: clampRows(rows), Width: le.Width, Startup: total, Total: total + rows*costEmit}
	return n, !op.All
}

// unionInputs flattens nested unions: those with ALL under ALL, any under a
// union that removes duplicates anyway.
func (lv *level) unionInputs(op *planner.SetOpQuery, all bool) []planner.Node {
	var out []planner.Node
	for _, side := range []*planner.Query{op.Left, op.Right} {
		s := side.SetOp
		if s != nil && s.Op == 'u' && (s.All || !all) && len(side.Sort) == 0 && side.Limit == nil && side.Offset == nil && len(side.CTEs) == 0 {
			// Its sides are one level further down than ours: an empty level stands between.
			mid := &level{p: lv.p, parent: lv, q: side}
			inner := mid.unionInputs(s, all)
			out = append(out, inner...)
			continue
		}
		tuples := 0.0
		if all {
			tuples = lv.limitTuples()
			if len(lv.q.Sort) > 0 {
				tuples = 0
			}
		}
		out = append(out, lv.p.planQuery(lv, side, tuples).node)
	}
	return out
}

// distinctNode removes duplicate rows, by hashing or, where types have no hash, by sorting.
func (lv *level) distinctNode(in planner.Node) planner.Node {
	e := in.Est()
	cols := make([]expr.Expr, len(in.Out()))
	hashable := len(cols) > 0
	for i, c := range in.Out() {
		cols[i] = &expr.Col{T: expr.T{Typ: c.Type}, Idx: i, Name: c.Name}
		if t := lv.p.typ(c.Type.OID); t == nil || t.Hash == nil {
			hashable = false
		}
	}
	rows := clampRows(e.Rows / 2)
	if hashable || len(cols) == 0 {
		n := &planner.Aggregate{Input: in, Strategy: planner.AggHash, GroupBy: cols}
		n.Columns = in.Out()
		total := e.Total + e.Rows*costBuild
		n.Estimate = planner.Estimate{Rows: rows, Width: e.Width, Startup: total, Total: total + rows*costEmit}
		if len(cols) > 0 {
			return n
		}
		l := &planner.Limit{Input: in, Count: &expr.Const{T: expr.T{Typ: int8Type}, Val: intDatum(1)}}
		l.Columns, l.Estimate = in.Out(), *e
		l.Estimate.Rows = 1
		return l
	}
	s := &planner.Sort{Input: in}
	s.Columns = in.Out()
	u := &planner.Unique{Input: s}
	u.Columns = in.Out()
	for i, c := range cols {
		s.Keys = append(s.Keys, planner.SortKey{Expr: c})
		u.Cols = append(u.Cols, i)
	}
	total := e.Total + lv.p.sortCost(e.Rows, e.Width, len(cols), 0)
	s.Estimate = planner.Estimate{Rows: e.Rows, Width: e.Width, Startup: total, Total: total + e.Rows*costEmit}
	u.Estimate = s.Estimate
	u.Estimate.Rows = rows
	return u
}
