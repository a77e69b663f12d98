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
	return expandIn(q, nil)
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
	for i, c := range r.Cols {
		row.Fields = append(row.Fields, &planner.Var{T: expr.T{Typ: c.Type}, Rel: v.Rel, Col: i, Level: v.Level, Name: c.Name})
		row.Names = append(row.Names, c.Name)
	}
	if r.Kind != planner.RTERelation || !nullableRels(q).has(v.Rel) {
		return row
	}
	oid := &planner.Var{T: expr.T{Typ: sqltypes.ColumnType{OID: 26, TypMod: -1}}, Rel: v.Rel, Col: int(engine.AttrTableOID) - 1, Level: v.Level, Name: "tableoid"}
	return &expr.Case{T: v.T, Whens: []expr.When{{
		Cond:   &expr.NullTest{T: expr.T{Typ: boolType}, Arg: oid},
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
