package opt

import (
	"fmt"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// finish replaces what remains of other query levels in an expression: columns of
// outer queries become ExecParams, subqueries become InitPlans or SubPlans.
func (lv *level) finish(e expr.Expr) expr.Expr {
	switch n := e.(type) {
	case nil:
		return nil
	case *planner.Var:
		if n.Level > 0 {
			return lv.outerVar(n)
		}
		return n
	case *expr.Agg:
		if n.Level > 0 {
			return lv.outerAgg(n, n.Level)
		}
	case *expr.Grouping:
		if n.Level > 0 {
			return lv.outerAgg(n, n.Level)
		}
	case *planner.SubLink:
		return lv.planSubLink(n)
	}
	return mapChildren(e, lv.finish)
}

// outerAgg passes an aggregate of an outer query down as an ExecParam.
func (lv *level) outerAgg(e expr.Expr, up int) expr.Expr {
	owner := lv
	for i := 0; i < up; i++ {
		if owner = owner.parent; owner == nil {
			lv.p.bug("an aggregate of a query that is not there")
			return nullConst(e.Type())
		}
	}
	own := mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
		c := *v
		if c.Level >= depth+up {
			c.Level -= up
		}
		return &c
	})
	switch a := own.(type) {
	case *expr.Agg:
		c := *a
		c.Level = 0
		own = &c
	case *expr.Grouping:
		c := *a
		c.Level = 0
		own = &c
	}
	own = owner.finish(owner.p.simplify(own))
	id := owner.outerParam(own)
	for l := lv; l != owner; l = l.parent {
		if l.deps == nil {
			l.deps = map[int]*level{}
		}
		l.deps[id] = owner
	}
	return &expr.ExecParam{T: expr.T{Typ: e.Type()}, ID: id}
}

// planSubLink plans a subquery in an expression: once, as an InitPlan, when it
// depends on nothing outside; else per row, or hashed.
func (lv *level) planSubLink(s *planner.SubLink) expr.Expr {
	p := lv.p
	test := lv.finish(s.Test)
	var tuples float64
	if s.Kind == expr.SubExists {
		tuples = 1
		simplifyExists(s.Sub)
	}
	r := p.planQuery(lv, s.Sub, tuples)
	p.planIDs++
	if len(r.deps) == 0 && s.Kind != expr.SubAny && s.Kind != expr.SubAll {
		return lv.initPlan(s, r, test)
	}
	ids, args := lv.argsFor(r.deps)
	sp := &planner.SubPlan{Root: r.node, Index: len(p.plan.SubPlans), PerCall: *r.node.Est()}
	sp.Name = fmt.Sprintf("SubPlan %d", p.planIDs)
	sp.Volatile = worstQuery(s.Sub) == sqltypes.Volatile
	if tuples > 0 && r.node.Est().Rows > tuples {
		e := r.node.Est()
		sp.PerCall.Total = e.Startup + (e.Total-e.Startup)*tuples/e.Rows
	}
	out := &expr.SubPlan{T: s.T, Kind: s.Kind, Args: args, ParamIDs: ids, Plan: sp, Name: sp.Name}
	if test != nil {
		out.TestParams = make([]int, len(visibleTargets(s.Sub)))
		for i := range out.TestParams {
			out.TestParams[i] = p.newExecParam()
		}
		out.Test = mapSubCols(test, func(n int) expr.Expr {
			return &expr.ExecParam{T: expr.T{Typ: r.node.Out()[n].Type}, ID: out.TestParams[n]}
		})
		if len(r.deps) == 0 {
			sp.Hashed = s.Kind == expr.SubAny && lv.hashableTest(test)
			if !sp.Hashed && !keepsRows(r.node) {
				m := &planner.Materialize{Input: r.node}
				m.Columns, m.Estimate = r.node.Out(), *r.node.Est()
				sp.Root = m
				sp.PerCall.Total = r.node.Est().Rows * costRow
			}
		}
	}
	p.plan.SubPlans = append(p.plan.SubPlans, sp)
	return out
}

// simplifyExists drops what does not change whether there is a row.
func simplifyExists(q *planner.Query) {
	if q.Command != planner.CmdSelect || q.SetOp != nil || q.HasAggs || len(q.GroupBy) > 0 || q.GroupSets != nil || q.Having != nil ||
		q.HasWindow || q.HasTargetSRF || q.Offset != nil || len(q.RowMarks) > 0 || len(q.CTEs) > 0 {
		return
	}
	if q.Limit != nil {
		if c, ok := isConst(q.Limit); !ok || !c.Val.Null && c.Val.I <= 0 {
			return
		}
	}
	q.Limit, q.Sort, q.Distinct, q.DistinctOn, q.Targets, q.WithTies = nil, nil, false, nil, nil, false
}

// hashableTest: every comparison is a strict, hashable equality with one output column.
func (lv *level) hashableTest(test expr.Expr) bool {
	for _, c := range conjuncts(test) {
		b, ok := asBinary(c)
		if !ok || !lv.p.hashable(b) || volatileExpr(c) {
			return false
		}
		if _, ok := stripRelabel(b.right).(*planner.SubCol); !ok {
			return false
		}
		if contains(b.left, func(x expr.Expr) bool { _, is := x.(*planner.SubCol); return is }) {
			return false
		}
	}
	return true
}

func (lv *level) initPlan(s *planner.SubLink, r result, test expr.Expr) expr.Expr {
	p := lv.p
	n := 1
	if s.Kind == expr.SubRow {
		n = len(r.node.Out())
	}
	ip := &planner.InitPlan{Kind: s.Kind, Root: r.node}
	text := ""
	for i := 0; i < n; i++ {
		id := p.newExecParam()
		ip.Params = append(ip.Params, id)
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("$%d", id)
	}
	ip.Name = fmt.Sprintf("InitPlan %d (returns %s)", p.planIDs, text)
	p.plan.Inits = append(p.plan.Inits, ip)
	param := func(i int, t sqltypes.ColumnType) expr.Expr {
		return &expr.ExecParam{T: expr.T{Typ: t}, ID: ip.Params[i]}
	}
	if s.Kind == expr.SubRow {
		if test != nil {
			return mapSubCols(test, func(i int) expr.Expr { return param(i, r.node.Out()[i].Type) })
		}
		row := &expr.RowCtor{T: s.T}
		for i, c := range r.node.Out() {
			row.Fields = append(row.Fields, param(i, c.Type))
			row.Names = append(row.Names, c.Name)
		}
		return row
	}
	return param(0, s.T.Typ)
}
