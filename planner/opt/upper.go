package opt

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// finishSelect puts grouping, windows, DISTINCT, ORDER BY, locks and LIMIT on one
// way of computing the joins.
func (lv *level) finishSelect(p *path) *candidate {
	s := &upper{lv: lv, q: lv.q}
	s.base(p)
	s.gate()
	s.group()
	s.windows()
	late := s.srfsAfterSort()
	if !late {
		s.targetSRFs()
	}
	return s.finish(late)
}

// upper is the state of building above the joins: the node so far and its order.
type upper struct {
	lv    *level
	q     *planner.Query
	b     built
	order []pathKey
	// at maps a target to the column that holds it once targets are projected.
	at map[int]int
	// groups are the grouping expressions of the Aggregate below, if any.
	grouped bool
	unique  bool
}

func (s *upper) est() *planner.Estimate { return s.b.node.Est() }

// base builds the scans and joins with the columns that are read above.
func (s *upper) base(p *path) {
	lv := s.lv
	if lv.constFalse {
		need := s.topNeed()
		n := &planner.Empty{}
		s.b = built{node: n}
		for k := range need {
			t := lv.rte(k.rel)
			c := lv.columnInfo(t, k.col)
			n.Columns = append(n.Columns, c)
			s.b.cols = append(s.b.cols, &planner.Var{T: expr.T{Typ: c.Type}, Rel: k.rel, Col: k.col, Name: c.Name})
		}
		return
	}
	if p == nil {
		n := &planner.Result{}
		n.Estimate = planner.Estimate{Rows: 1, Total: costEmit}
		s.b = built{node: n}
		return
	}
	lv.pending = nil
	s.b = lv.build(p, s.topNeed())
	if len(lv.pending) > 0 {
		lv.p.bug("a lateral reference to %s that nothing supplies", lv.name(lv.pending[0].v))
	}
	s.order = p.order
}

// topNeed are the columns that targets, HAVING and row marks read.
func (s *upper) topNeed() map[varKey]bool {
	need := map[varKey]bool{}
	for _, t := range s.q.Targets {
		addVars(need, t.Expr)
	}
	addVars(need, s.q.Having)
	for _, m := range s.q.RowMarks {
		for c := range s.lv.rte(m.Rel).Cols {
			need[varKey{m.Rel, c}] = true
		}
	}
	if len(s.q.RowMarks) > 0 {
		for _, e := range s.lv.recheckConds() {
			addVars(need, e)
		}
	}
	for _, e := range s.lv.owned {
		if hasAgg(e) {
			addVars(need, e)
		}
	}
	return need
}

// gate runs the input only when conditions without columns hold: a Result with a
// one-time condition on the outer side of a loop.
func (s *upper) gate() {
	lv := s.lv
	var conds []expr.Expr
	for _, e := range lv.oneTime {
		if !isTrue(e) {
			conds = append(conds, e)
		}
	}
	if len(conds) == 0 || lv.constFalse {
		return
	}
	cond := lv.resolve(andOf(conds), built{})
	if r, ok := s.b.node.(*planner.Result); ok && r.OneTime == nil {
		r.OneTime = cond
		return
	}
	r := &planner.Result{OneTime: cond}
	r.Estimate = planner.Estimate{Rows: 1, Total: costEmit}
	n := &planner.NestLoop{Left: r, Right: s.b.node}
	n.Columns, n.Estimate = s.b.node.Out(), *s.est()
	s.b.node = n
}

// sortKeyOf makes a SortKey of a resolved expression.
func sortKeyOf(e expr.Expr, it planner.SortItem) planner.SortKey {
	k := planner.SortKey{Expr: e, Desc: it.Desc, NullsFirst: it.NullsFirst, Lt: it.Lt}
	return k
}

// want is the ordering that sort items ask for, and the SortKeys over b that
// produce it; items on constants and repeated ones are left out.
func (s *upper) want(items []planner.SortItem) (order []pathKey, keys []planner.SortKey) {
	seen := map[string]bool{}
	for _, it := range items {
		e := s.q.Targets[it.Target].Expr
		id, constant := s.lv.orderID(e)
		if constant || seen[id] {
			continue
		}
		seen[id] = true
		if it.Lt != nil {
			id = string(keyInt([]byte(id), '<', int64(it.Lt.OID)))
		}
		order = append(order, pathKey{id: id, desc: it.Desc, nullsFirst: it.NullsFirst})
		keys = append(keys, sortKeyOf(s.targetExpr(it.Target), it))
	}
	return order, keys
}

// targetExpr is a target over b.
func (s *upper) targetExpr(t int) expr.Expr {
	if c, ok := s.at[t]; ok {
		return &expr.Col{T: expr.T{Typ: s.q.Targets[t].Expr.Type()}, Idx: c, Name: s.lv.colName(s.b.cols[c])}
	}
	return s.lv.resolve(s.q.Targets[t].Expr, s.b)
}

// sort orders the input unless it is ordered already; top > 0 bounds the rows
// that are wanted, limit is the same as an expression.
func (s *upper) sort(order []pathKey, keys []planner.SortKey, top float64, limit expr.Expr) {
	have := commonPrefix(s.order, order)
	if have == len(order) {
		return
	}
	in := s.est()
	n := &planner.Sort{Input: s.b.node, Keys: keys, Presorted: have, Top: limit}
	n.Columns = s.b.node.Out()
	cost := s.lv.p.sortCost(in.Rows, in.Width, len(keys), top)
	n.Estimate = planner.Estimate{Rows: in.Rows, Width: in.Width, Startup: in.Total + cost, Total: in.Total + cost + in.Rows*costEmit}
	if have > 0 {
		groups := math.Max(1, math.Min(in.Rows, s.lv.numGroups(s.orderExprs(have), in.Rows)))
		per := in.Rows / groups
		cost = groups * s.lv.p.sortCost(per, in.Width, len(keys), 0)
		first := in.Startup + (in.Total-in.Startup)/groups + cost/groups
		n.Estimate.Startup = first
		n.Estimate.Total = in.Total + cost + in.Rows*costEmit
	}
	if s.lv.p.ctx.Settings.DisableSort {
		n.Estimate.Total += costDisable
	}
	s.b.node = n
	s.order = order
}

// orderExprs are guesses at the expressions of the leading keys of the current order.
func (s *upper) orderExprs(n int) []expr.Expr {
	var out []expr.Expr
	for _, t := range s.q.Targets {
		if id, c := s.lv.orderID(t.Expr); !c {
			for i := 0; i < n; i++ {
				if s.order[i].id == id {
					out = append(out, t.Expr)
				}
			}
		}
	}
	return out
}

// project computes expressions; keep says that existing columns stay in front.
func (s *upper) project(exprs []expr.Expr, cols []planner.Column) {
	in := s.est()
	n := &planner.Project{Input: s.b.node, Exprs: s.lv.resolveAll(exprs, s.b)}
	n.Columns = cols
	cost := in.Rows * exprsCost(n.Exprs)
	n.Estimate = planner.Estimate{Rows: in.Rows, Width: s.lv.p.nodeWidth(exprs), Startup: in.Startup + startups(n.Exprs), Total: in.Total + cost + startups(n.Exprs)}
	s.b = built{node: n, cols: exprs}
}

func startups(es []expr.Expr) float64 {
	c := 0.0
	for _, e := range es {
		c += exprStartup(e)
	}
	return c
}

// projectTargets computes all targets, one column each.
func (s *upper) projectTargets(visibleOnly bool) {
	var exprs []expr.Expr
	var cols []planner.Column
	at := map[int]int{}
	in := s.b
	out := []expr.Expr{}
	for i, t := range s.q.Targets {
		if t.Junk && visibleOnly {
			continue
		}
		at[i] = len(exprs)
		exprs = append(exprs, s.targetExpr(i))
		out = append(out, t.Expr)
		cols = append(cols, planner.Column{Name: t.Name, Type: t.Expr.Type(), TableOID: t.TableOID, Attr: t.Attr})
	}
	est := in.node.Est()
	n := &planner.Project{Input: in.node, Exprs: exprs}
	n.Columns = cols
	n.Estimate = planner.Estimate{Rows: est.Rows, Width: s.lv.p.nodeWidth(out), Startup: est.Startup + startups(exprs),
		Total: est.Total + est.Rows*exprsCost(exprs) + startups(exprs)}
	s.b = built{node: n, cols: out}
	s.at = at
	if identityProject(n) && len(exprs) == len(in.node.Out()) && sameColumns(in.node.Out(), cols) {
		s.b.node = in.node
	}
}

func identityProject(n *planner.Project) bool {
	if len(n.Exprs) != len(n.Input.Out()) {
		return false
	}
	for i, e := range n.Exprs {
		if c, ok := e.(*expr.Col); !ok || c.Idx != i {
			return false
		}
	}
	return true
}

// sameColumns: a projection away would change no name or type that a reader sees.
func sameColumns(a, b []planner.Column) bool {
	for i := range a {
		if a[i].Type != b[i].Type {
			return false
		}
	}
	return true
}

// srfsAfterSort reports that set-returning functions of the target list are expanded
// after DISTINCT ON and ORDER BY, as PostgreSQL does when neither needs their values.
func (s *upper) srfsAfterSort() bool {
	q := s.q
	if !q.HasTargetSRF || len(q.Sort) == 0 || q.Distinct && len(q.DistinctOn) == 0 {
		return false
	}
	for _, it := range q.Sort {
		if hasSRF(q.Targets[it.Target].Expr) {
			return false
		}
	}
	for _, t := range q.DistinctOn {
		if hasSRF(q.Targets[t].Expr) {
			return false
		}
	}
	return true
}

// finish is DISTINCT, ORDER BY, row locks, LIMIT and the final target list; lateSRFs
// says that set-returning functions are still to be expanded.
func (s *upper) finish(lateSRFs bool) *candidate {
	q, lv := s.q, s.lv
	limit := lv.limitTuples()
	top := topExpr(q)
	if q.WithTies || lateSRFs {
		limit = 0
	}
	if lateSRFs {
		top = nil
	}
	if s.at == nil && !lateSRFs && s.mustProjectEarly() {
		s.projectTargets(false)
	}
	if q.Distinct || len(q.DistinctOn) > 0 {
		if lateSRFs {
			s.computeSortKeys()
		}
		s.distinct()
	}
	if len(q.Sort) > 0 {
		if s.at == nil {
			s.computeSortKeys()
		}
		order, keys := s.want(s.tieBreak(q.Sort))
		if q.WithTies || len(q.RowMarks) > 0 {
			s.sort(order, keys, 0, nil)
		} else {
			s.sort(order, keys, limit, top)
		}
	}
	if lateSRFs {
		s.targetSRFs()
	}
	s.lockRows()
	if q.Limit != nil || q.Offset != nil {
		s.limit(limit)
	}
	final := s.order
	s.projectTargets(true)
	c := &candidate{b: s.b, result: result{node: s.b.node, unique: s.unique}}
	c.result.order = s.visibleOrder(final)
	return c
}

// tieBreak appends to ORDER BY the other columns by which rows were made distinct
// or grouped, as PostgreSQL's sort-based plans do: results do not depend on hashing.
func (s *upper) tieBreak(items []planner.SortItem) []planner.SortItem {
	q := s.q
	var more []int
	switch {
	case q.WithTies || len(q.DistinctOn) > 0 || q.GroupSets != nil:
		return items
	case q.Distinct:
		more = visibleIndexes(q)
	case len(q.GroupBy) > 0 && !q.HasWindow && !q.HasTargetSRF:
		more = q.GroupBy
		for _, it := range items {
			if !hasInt(q.GroupBy, it.Target) {
				return items
			}
		}
	default:
		return items
	}
	out := append([]planner.SortItem(nil), items...)
	have := map[int]bool{}
	for _, it := range items {
		have[it.Target] = true
	}
	for _, t := range more {
		if typ := s.lv.p.typ(q.Targets[t].Expr.Type().OID); !have[t] && typ != nil && typ.Compare != nil {
			out = append(out, planner.SortItem{Target: t})
		}
	}
	return out
}

// mustProjectEarly: sort keys that must not be computed twice, or DISTINCT.
func (s *upper) mustProjectEarly() bool {
	if s.q.Distinct || len(s.q.DistinctOn) > 0 {
		return true
	}
	for _, it := range s.q.Sort {
		if volatileExpr(s.q.Targets[it.Target].Expr) {
			return true
		}
	}
	return false
}

// computeSortKeys computes sort keys that are not columns yet, so that they are
// not evaluated again for the result.
func (s *upper) computeSortKeys() {
	var extra []expr.Expr
	items := s.q.Sort
	for _, t := range s.q.DistinctOn {
		items = append(items[:len(items):len(items)], planner.SortItem{Target: t})
	}
	for _, it := range items {
		t := s.q.Targets[it.Target]
		if _, constant := isConst(t.Expr); constant || t.Junk && len(s.q.DistinctOn) == 0 || s.b.find(t.Expr) >= 0 {
			continue
		}
		extra = append(extra, t.Expr)
	}
	if len(extra) == 0 {
		return
	}
	exprs := append([]expr.Expr(nil), s.b.cols...)
	cols := append([]planner.Column(nil), s.b.node.Out()...)
	for _, e := range extra {
		exprs = append(exprs, e)
		cols = append(cols, planner.Column{Name: "?column?", Type: e.Type()})
	}
	s.project(exprs, cols)
}

// topExpr is LIMIT + OFFSET as one expression, nil when it is not simple.
func topExpr(q *planner.Query) expr.Expr {
	if q.Limit == nil {
		return nil
	}
	if q.Offset == nil {
		return q.Limit
	}
	l, lok := isConst(q.Limit)
	o, ook := isConst(q.Offset)
	if lok && ook && !l.Val.Null && !o.Val.Null {
		sum := l.Val.I + o.Val.I
		if l.Val.I < 0 || o.Val.I < 0 || sum < 0 {
			return nil
		}
		return &expr.Const{T: l.T, Val: sqltypes.Int(sum)}
	}
	op := sqltypes.FindOperator("+", oidInt8, oidInt8)
	if op == nil || op.Proc == nil || q.Limit.Type().OID != oidInt8 || q.Offset.Type().OID != oidInt8 {
		return nil
	}
	return &expr.Call{T: expr.T{Typ: q.Limit.Type()}, Proc: op.Proc, Op: "+", Args: []expr.Expr{q.Limit, q.Offset}}
}

func (s *upper) limit(tuples float64) {
	in := s.est()
	n := &planner.Limit{Input: s.b.node, Count: s.q.Limit, Offset: s.q.Offset}
	n.Columns = s.b.node.Out()
	if s.q.WithTies {
		_, n.WithTies = s.want(s.q.Sort)
	}
	rows := in.Rows
	frac := 1.0
	if tuples > 0 && in.Rows > 0 {
		frac = math.Min(1, tuples/in.Rows)
		rows = math.Max(1, math.Min(in.Rows, tuples))
	}
	n.Estimate = planner.Estimate{Rows: rows, Width: in.Width, Startup: in.Startup, Total: in.Startup + frac*(in.Total-in.Startup)}
	s.b.node = n
}

// visibleOrder translates an ordering to positions of visible targets.
func (s *upper) visibleOrder(order []pathKey) []orderKey {
	var out []orderKey
	for _, k := range order {
		col, n := -1, 0
		for _, t := range s.q.Targets {
			if t.Junk {
				continue
			}
			if id, c := s.lv.orderID(t.Expr); !c && id == k.id && !volatileExpr(t.Expr) {
				col = n
				break
			}
			n++
		}
		if col < 0 {
			return out
		}
		out = append(out, orderKey{col: col, desc: k.desc, nullsFirst: k.nullsFirst})
	}
	return out
}
