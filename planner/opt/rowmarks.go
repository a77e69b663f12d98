package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

var int8Type = sqltypes.ColumnType{OID: oidInt8, TypMod: -1}

func intDatum(v int64) sqltypes.Datum { return sqltypes.Int(v) }

// recheckConds are the conditions that a changed row must still fulfil: those that
// hide rows first, WHERE, the ON of inner joins, and subquery tests that have become
// semi joins.
func (lv *level) recheckConds() []expr.Expr {
	out := conjuncts(lv.q.Where)
	out = append(out, lv.recheckExtra...)
	var walk func(it planner.JoinItem)
	walk = func(it planner.JoinItem) {
		j := it.Join
		if j == nil {
			out = append(conjuncts(andOf(lv.rte(it.Rel).SecurityQuals)), out...)
			return
		}
		switch j.Kind {
		case planner.JoinInner:
			walk(j.Left)
			walk(j.Right)
			out = append(out, conjuncts(j.On)...)
		case planner.JoinSemi, planner.JoinAnti, planner.JoinLeft:
			walk(j.Left)
		}
	}
	for _, it := range lv.q.From {
		walk(it)
	}
	return out
}

// recheck is recheckConds over b's columns; conditions that need columns which are not there are left out.
func (lv *level) recheck(b built) expr.Expr {
	var out []expr.Expr
	b.index()
	for _, e := range lv.recheckConds() {
		ok := !relsOf(e).empty()
		planner.Visit(e, func(x expr.Expr) bool {
			if v, is := x.(*planner.Var); is && v.Level == 0 && b.find(v) < 0 {
				ok = false
			}
			return ok
		})
		if ok {
			out = append(out, lv.resolve(e, b))
		}
	}
	return andOf(out)
}

// lockRows locks the rows of FOR UPDATE and the like.
func (s *upper) lockRows() {
	lv, q := s.lv, s.q
	if len(q.RowMarks) == 0 {
		return
	}
	n := &planner.LockRows{Input: s.b.node}
	n.Columns, n.Estimate = s.b.node.Out(), *s.est()
	n.Estimate.Total += n.Estimate.Rows * costLookup * 2
	for _, m := range q.RowMarks {
		t := lv.rte(m.Rel)
		if t.Kind != planner.RTERelation || !lv.allRels.has(m.Rel) {
			continue
		}
		mark := planner.RowMark{Rel: t.Rel, RefSlot: lv.refSlot(m.Rel), Mode: m.Mode, Wait: m.Wait, Tree: lv.locked(m.Rel)}
		for c, v := range s.b.cols {
			if x, ok := v.(*planner.Var); ok && x.Rel == m.Rel && x.Level == 0 {
				mark.Cols = append(mark.Cols, planner.AttrCol{Attr: attrOf(t, x.Col), Col: c})
			}
		}
		n.Marks = append(n.Marks, mark)
	}
	if cond := lv.recheck(s.b); cond != nil {
		n.Recheck = []planner.Recheck{{Cond: cond}}
	}
	if len(n.Marks) > 0 {
		s.b.node = n
	}
}
