package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// minMaxQuery rewrites a query whose aggregates are all min or max of columns
// that indexes hold into one with scalar subqueries that read one end of an index:
//
//	SELECT max(a) FROM t WHERE …
//	→ SELECT (SELECT a FROM t WHERE … AND a IS NOT NULL ORDER BY a DESC LIMIT 1)
//
// nil when it does not apply; the original is not changed.
func minMaxQuery(q *planner.Query) *planner.Query {
	if !q.HasAggs || len(q.GroupBy) > 0 || q.GroupSets != nil || q.Having != nil || q.HasWindow || q.HasTargetSRF || q.Distinct ||
		len(q.From) != 1 || q.From[0].Join != nil || len(q.RowMarks) > 0 {
		return nil
	}
	rel := q.From[0].Rel
	t := q.Range[rel]
	if t.Kind != planner.RTERelation || t.Sample != nil || t.Rel.TimeSeries || len(t.Rel.Indexes) == 0 || t.Rel.Partitioning != nil && t.Only {
		return nil
	}
	ok, any := true, false
	out := cloneQuery(q)
	var replace func(e expr.Expr) expr.Expr
	replace = func(e expr.Expr) expr.Expr {
		switch n := e.(type) {
		case *expr.Agg:
			s := minMaxLink(out, rel, n)
			if s == nil {
				ok = false
				return e
			}
			any = true
			return s
		case *planner.SubLink, *expr.Grouping:
			ok = false
			return e
		}
		return mapChildren(e, replace)
	}
	for i := range out.Targets {
		out.Targets[i].Expr = replace(out.Targets[i].Expr)
		ok = ok && relsOf(out.Targets[i].Expr).empty()
	}
	if !ok || !any {
		return nil
	}
	out.HasAggs, out.From, out.Where = false, nil, nil
	return out
}

func minMaxLink(q *planner.Query, rel int, a *expr.Agg) expr.Expr {
	row := a.Proc.AggRow
	if row == nil || row.SortOp == 0 || a.Level > 0 || a.Filter != nil || len(a.Args) != 1 || len(a.ArgSorts) > 0 {
		return nil
	}
	v, ok := stripRelabel(a.Args[0]).(*planner.Var)
	t := q.Range[rel]
	if !ok || v.Level != 0 || v.Rel != rel || v.Col < 0 {
		return nil
	}
	indexed := false
	for _, ix := range t.Rel.Indexes {
		if !ix.Stored() {
			continue
		}
		for _, k := range ix.Keys {
			indexed = indexed || k.Attr == t.Attrs[v.Col]
		}
	}
	op := sqltypes.OperatorByOID(row.SortOp)
	if !indexed || op == nil {
		return nil
	}
	strategy, _ := btreeStrategy(op, 0)
	desc := strategy == sqltypes.BtreeGreater
	if !desc && strategy != sqltypes.BtreeLess {
		return nil
	}
	rte := *t
	sub := &planner.Query{
		ResultRel: -1, Range: []*planner.RTE{&rte}, From: []planner.JoinItem{{Rel: 0}},
		Where:   and2(q.Where, &expr.NullTest{T: expr.T{Typ: boolType}, Arg: a.Args[0], IsNot: true}),
		Targets: []planner.Target1{{Name: a.Proc.Name, Expr: a.Args[0]}},
		Sort:    []planner.SortItem{{Target: 0, Desc: desc, NullsFirst: desc}},
		Limit:   &expr.Const{T: expr.T{Typ: int8Type}, Val: intDatum(1)},
	}
	sub = mapQueryVars(sub, 0, func(w *planner.Var, depth int) expr.Expr {
		c := *w
		switch {
		case w.Level == depth && w.Rel == rel:
			c.Rel = 0
		case w.Level > depth:
			c.Level++
		}
		return &c
	})
	return &planner.SubLink{T: a.T, Kind: expr.SubScalar, Sub: sub}
}
