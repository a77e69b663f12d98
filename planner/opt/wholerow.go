package opt

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// expandWholeRows replaces whole-row references by row constructors over the
// entry's columns. For a table that an outer join may pad with NULLs the row
// itself is NULL then, which its tableoid tells.
func expandWholeRows(q *planner.Query) *planner.Query {
	any := false
	visitQueryVars(q, 0, func(v *planner.Var, _ int) { any = any || v.Col == -1 })
	if !any {
		return q
	}
	markPresence(q, nil)
	return expandIn(q, nil)
}

// presence is the name of the column that tells a subquery's row from one that an
// outer join padded.
const presence = "?present?"

// markPresence gives the subqueries, functions and lists whose whole rows are read,
// and which an outer join may pad, a column that is never NULL.
func markPresence(q *planner.Query, above []*planner.Query) {
	stack := append(append([]*planner.Query(nil), above...), q)
	planner.VisitQuery(q, func(e expr.Expr) {
		planner.Visit(e, func(x expr.Expr) bool {
			switch n := x.(type) {
			case *planner.Var:
				if at := len(stack) - 1 - n.Level; n.Col == -1 && n.Rel >= 0 && at >= 0 {
					if r := stack[at].Range[n.Rel]; r.Kind != planner.RTERelation && nullableRels(stack[at]).has(n.Rel) {
						addPresence(r)
					}
				}
			case *planner.SubLink:
				markPresence(n.Sub, stack)
			}
			return true
		})
	}, func(s *planner.Query) { markPresence(s, stack) })
}

// addPresence makes the entry a subquery over itself with one column more.
func addPresence(r *planner.RTE) {
	if k := len(r.Cols); k > 0 && r.Cols[k-1].Name == presence {
		return
	}
	entry := *r
	inner := mapQueryVars(&planner.Query{Command: planner.CmdSelect, ResultRel: -1, Range: []*planner.RTE{&entry}, From: []planner.JoinItem{{Rel: 0}}}, 0,
		func(v *planner.Var, depth int) expr.Expr {
			if v.Level < depth || v.Rel < 0 && v.Level == depth {
				return v
			}
			c := *v
			c.Level++
			return &c
		})
	for i, c := range r.Cols {
		inner.Targets = append(inner.Targets, planner.Target1{Name: c.Name, Expr: &planner.Var{T: expr.T{Typ: c.Type}, Rel: 0, Col: i, Name: c.Name}})
	}
	inner.Targets = append(inner.Targets, planner.Target1{Name: presence, Expr: boolConst(true)})
	*r = planner.RTE{Kind: planner.RTESubquery, Alias: r.Alias, Lateral: r.Lateral, Sub: inner, CheckAs: r.CheckAs,
		Cols: append(append([]planner.Column(nil), r.Cols...), planner.Column{Name: presence, Type: boolType})}
}

func expandIn(q *planner.Query, above []*planner.Query) *planner.Query {
	stack := append(append([]*planner.Query(nil), above...), q)
	var one func(e expr.Expr) expr.Expr
	one = func(e expr.Expr) expr.Expr {
		switch n := e.(type) {
		case *planner.Var:
			if at := len(stack) - 1 - n.Level; n.Col == -1 && n.Rel >= 0 && at >= 0 {
				return wholeRow(stack[at], n)
			}
			return e
		case *planner.SubLink:
			c := *n
			c.Test = one(n.Test)
			c.Sub = expandIn(n.Sub, stack)
			return &c
		case nil:
			return nil
		}
		y := planner.MapChildren(e, one)
		if y != e { // a copy of ours
			switch n := y.(type) {
			case *expr.Call:
				n.Names = expr.RecordNames(n.Args)
			case *expr.Agg:
				n.Names = expr.RecordNames(n.Args)
			}
		}
		return y
	}
	return planner.MapQuery(q, one, func(s *planner.Query) *planner.Query { return expandIn(s, stack) })
}

func wholeRow(q *planner.Query, v *planner.Var) expr.Expr {
	r := q.Range[v.Rel]
	row := &expr.RowCtor{T: v.T}
	cols, marked := r.Cols, false
	if k := len(cols); k > 0 && cols[k-1].Name == presence {
		cols, marked = cols[:k-1], true
	}
	for i, c := range cols {
		row.Fields = append(row.Fields, &planner.Var{T: expr.T{Typ: c.Type}, Rel: v.Rel, Col: i, Level: v.Level, Name: c.Name})
		row.Names = append(row.Names, c.Name)
	}
	if marked {
		at := len(cols)
		return nullRow(v, &planner.Var{T: expr.T{Typ: boolType}, Rel: v.Rel, Col: at, Level: v.Level, Name: presence}, row)
	}
	if r.Kind != planner.RTERelation || !nullableRels(q).has(v.Rel) {
		return row
	}
	oid := &planner.Var{T: expr.T{Typ: sqltypes.ColumnType{OID: 26, TypMod: -1}}, Rel: v.Rel, Col: int(engine.AttrTableOID) - 1, Level: v.Level, Name: "tableoid"}
	return nullRow(v, oid, row)
}

// nullRow is row, or NULL when test is.
func nullRow(v *planner.Var, test, row expr.Expr) expr.Expr {
	return &expr.Case{T: v.T, Whens: []expr.When{{
		Cond:   &expr.NullTest{T: expr.T{Typ: boolType}, Arg: test},
		Result: nullConst(v.Typ),
	}}, Else: row}
}

// nullableRels are the relations that some outer join of q's own tree pads.
func nullableRels(q *planner.Query) relSet {
	var out relSet
	var walk func(it planner.JoinItem, nullable bool)
	walk = func(it planner.JoinItem, nullable bool) {
		j := it.Join
		if j == nil {
			if nullable && it.Rel >= 0 {
				out = out.union(relOf(it.Rel))
			}
			return
		}
		walk(j.Left, nullable || j.Kind == planner.JoinRight || j.Kind == planner.JoinFull)
		walk(j.Right, nullable || j.Kind == planner.JoinLeft || j.Kind == planner.JoinFull || j.Kind == planner.JoinAnti)
	}
	for _, it := range q.From {
		walk(it, false)
	}
	return out
}
