package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

const textOID = sqltypes.OIDText

// onConflict is transformOnConflictClause.
func (s *scope) onConflict(t *dmlTarget, x *pg.OnConflictClause) {
	b, q := s.b, s.q
	c := &planner.QueryConflict{DoUpdate: x.Action == pg.OnConflictAction_ONCONFLICT_UPDATE, Excluded: -1}
	q.OnConflict = c
	if c.DoUpdate && x.Infer == nil {
		panic(b.errAt(x.Location, pgerror.SyntaxError, "ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name)."))
	}
	if !c.DoUpdate {
		if x.Infer != nil {
			c.Arbiters = s.arbiters(t, x.Infer)
		}
		return
	}
	r := &planner.RTE{Kind: planner.RTERelation, Rel: t.base, Alias: "excluded"}
	addColumns(r, t.base)
	it := s.addRTE(r)
	c.Excluded = it.rel
	it.aliased = true
	s.excluded = it
	if t.item.cols != nil {
		it.cols = append([]nsCol(nil), t.item.cols...)
		for i := range it.cols {
			it.cols[i].e = mapVars(it.cols[i].e, 0, func(v *planner.Var, depth int) expr.Expr {
				if v.Level != depth || v.Rel != t.item.rel {
					return v
				}
				n := *v
				n.Rel = it.rel
				return &n
			})
		}
	}
	c.Arbiters = s.arbiters(t, x.Infer)
	s.ns = []*nsItem{t.item, it}
	cmd := q.Command
	q.Command = planner.CmdUpdate
	set, attrs := s.setClause(t, x.TargetList)
	q.Command = cmd
	c.Set, c.SetAttrs = set, attrs
	c.Where = s.whereClause(x.WhereClause, kindWhere, "WHERE")
	s.ns = []*nsItem{t.item}
}

// arbiters is infer_arbiter_indexes.
func (s *scope) arbiters(t *dmlTarget, x *pg.InferClause) []*catalog.Index {
	b := s.b
	if x.Conname != "" {
		for _, ix := range t.base.Indexes {
			if ix.Constraint == x.Conname {
				if ix.Deferrable {
					panic(pgerror.New(pgerror.ObjectNotInPrerequisiteState, "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters").WithTable(b.schemaName(t.base.Schema), t.base.Name))
				}
				return []*catalog.Index{ix}
			}
		}
		b.fail(-1, pgerror.UndefinedObject, `constraint "%s" for table "%s" does not exist`, x.Conname, t.base.Name)
	}
	var attrs []int16
	var exprs []expr.Expr
	old := s.ns
	s.ns = []*nsItem{t.item}
	for _, n := range x.IndexElems {
		ie := n.GetIndexElem()
		if ie.Ordering != pg.SortByDir_SORTBY_DEFAULT && ie.Ordering != 0 {
			b.fail(x.Location, pgerror.InvalidColumnReference, "ASC/DESC is not allowed in ON CONFLICT clause")
		}
		if ie.NullsOrdering != pg.SortByNulls_SORTBY_NULLS_DEFAULT && ie.NullsOrdering != 0 {
			b.fail(x.Location, pgerror.InvalidColumnReference, "NULLS FIRST/LAST is not allowed in ON CONFLICT clause")
		}
		var e expr.Expr
		if ie.Expr == nil {
			if e = s.lookupColumn(ie.Name, true, x.Location); e == nil {
				s.columnMissing("", ie.Name, x.Location)
			}
		} else {
			e = s.exprKindOf(ie.Expr, kindIndexExpression)
		}
		if v, ok := e.(*planner.Var); ok && v.Rel == t.item.rel && v.Col >= 0 {
			attrs = append(attrs, t.item.rte().Attrs[v.Col])
			continue
		}
		exprs = append(exprs, e)
	}
	where := s.whereClause(x.WhereClause, kindIndexPredicate, "WHERE")
	s.ns = old
	var out []*catalog.Index
	for _, ix := range t.base.Indexes {
		if ix.Unique && s.matchesArbiter(t, ix, attrs, exprs, where) {
			out = append(out, ix)
		}
	}
	if len(out) == 0 {
		b.fail(-1, pgerror.InvalidColumnReference, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
	}
	return out
}

func (s *scope) matchesArbiter(t *dmlTarget, ix *catalog.Index, attrs []int16, exprs []expr.Expr, where expr.Expr) bool {
	want := map[int16]bool{}
	for _, a := range attrs {
		want[a] = true
	}
	have := map[int16]bool{}
	var keys []expr.Expr
	for i, k := range ix.Keys {
		if k.Attr != 0 {
			have[k.Attr] = true
			continue
		}
		keys = append(keys, s.colsToVars(s.q.WriteInfo.IndexExprs[ix.OID][i], t.item))
	}
	if len(want) != len(have) {
		return false
	}
	for a := range want {
		if !have[a] {
			return false
		}
	}
	in := func(list []expr.Expr, e expr.Expr) bool {
		for _, x := range list {
			if equalExpr(x, e) {
				return true
			}
		}
		return false
	}
	for _, e := range exprs {
		if !in(keys, e) {
			return false
		}
	}
	for _, e := range keys {
		if !in(exprs, e) {
			return false
		}
	}
	if ix.Predicate == "" {
		return true
	}
	// The clause must imply the index's predicate: every part of it is given.
	given := conjuncts(where)
	for _, p := range conjuncts(s.colsToVars(s.q.WriteInfo.IndexPreds[ix.OID], t.item)) {
		if !in(given, p) {
			return false
		}
	}
	return true
}

func conjuncts(e expr.Expr) []expr.Expr {
	switch x := e.(type) {
	case nil:
		return nil
	case *expr.And:
		var out []expr.Expr
		for _, a := range x.Args {
			out = append(out, conjuncts(a)...)
		}
		return out
	}
	return []expr.Expr{e}
}

// colsToVars turns an expression over a row into one over a range-table entry.
func (s *scope) colsToVars(e expr.Expr, it *nsItem) expr.Expr {
	if c, ok := e.(*expr.Col); ok {
		for i, a := range it.rte().Attrs {
			if int(a)-1 == c.Idx {
				return &planner.Var{T: c.T, Rel: it.rel, Col: i, Name: c.Name}
			}
		}
	}
	if e == nil {
		return nil
	}
	return planner.MapChildren(e, func(x expr.Expr) expr.Expr { return s.colsToVars(x, it) })
}
