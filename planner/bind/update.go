package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// updateStmt is transformUpdateStmt.
func (s *scope) updateStmt(x *pg.UpdateStmt) *planner.Query {
	q := s.q
	q.Command = planner.CmdUpdate
	if x.WithClause != nil {
		s.withClause(x.WithClause)
	}
	t := s.openTarget(x.Relation, 'w')
	s.dmlFrom(t, x.FromClause)
	where := s.whereClause(x.WhereClause, kindWhere, "WHERE")
	q.Where = and(append(t.quals[:len(t.quals):len(t.quals)], where)...)
	s.returning(x.ReturningList)
	q.Targets, q.TargetAttrs = s.setClause(t, x.TargetList)
	return q
}

// deleteStmt is transformDeleteStmt.
func (s *scope) deleteStmt(x *pg.DeleteStmt) *planner.Query {
	q := s.q
	q.Command = planner.CmdDelete
	if x.WithClause != nil {
		s.withClause(x.WithClause)
	}
	t := s.openTarget(x.Relation, 'd')
	s.dmlFrom(t, x.UsingClause)
	where := s.whereClause(x.WhereClause, kindWhere, "WHERE")
	q.Where = and(append(t.quals[:len(t.quals):len(t.quals)], where)...)
	s.returning(x.ReturningList)
	return q
}

// dmlFrom makes the target visible and binds FROM or USING, in which it is not.
func (s *scope) dmlFrom(t *dmlTarget, from []*pg.Node) {
	s.ns = append(s.ns, t.item)
	s.q.From = append(s.q.From, planner.JoinItem{Rel: t.item.rel})
	for _, n := range from {
		t.item.latOnly, t.item.latOK = true, false
		item, _, ns := s.fromItem(n)
		s.checkNameConflicts(s.ns, ns)
		setLateral(ns, true, true)
		s.ns = append(s.ns, ns...)
		s.q.From = append(s.q.From, item)
	}
	setLateral(s.ns, false, true)
}

// setClause is transformUpdateTargetList: the new values and their attributes.
func (s *scope) setClause(t *dmlTarget, list []*pg.Node) ([]planner.Target1, []int16) {
	b := s.b
	var out []planner.Target1
	var attrs []int16
	partial := map[int16]bool{}
	old := s.kind
	s.kind = kindUpdateSource
	defer func() { s.kind = old }()
	// All expressions are bound before any is assigned.
	type source struct {
		e expr.Expr
		n *pg.Node
	}
	src := make([]source, len(list))
	for i, n := range list {
		rt := n.GetResTarget()
		if m := rt.Val.GetMultiAssignRef(); m != nil {
			src[i].e, src[i].n = s.multiAssign(m)
			continue
		}
		if rt.Val.GetSetToDefault() == nil {
			src[i].e = s.expr(rt.Val)
		}
		src[i].n = rt.Val
	}
	for i, n := range list {
		rt := n.GetResTarget()
		named, base := s.targetColumn(t, rt.Name, rt.Location)
		at := -1
		for k, a := range attrs {
			if a == base.Num {
				at = k
			}
		}
		if at >= 0 && (len(rt.Indirection) == 0 || !partial[base.Num]) {
			b.fail(-1, pgerror.SyntaxError, `multiple assignments to same column "%s"`, named.Name)
		}
		var e expr.Expr
		switch {
		case src[i].e == nil: // DEFAULT
			if len(rt.Indirection) > 0 {
				b.fail(rt.Location, pgerror.FeatureNotSupported, "cannot set a subfield to DEFAULT")
			}
			if base.Generated != 0 {
				continue
			}
			e = s.defaultOf(t, &insertCol{base: base, named: named})
		default:
			var cur expr.Expr
			if len(rt.Indirection) > 0 {
				partial[base.Num] = true
				cur = t.item.column(named.Name, 0, rt.Location)
				if at >= 0 {
					cur = out[at].Expr
				}
			}
			c := *base
			c.Name = named.Name
			e = s.assigned(src[i].e, src[i].n, &c, rt.Indirection, cur, rt.Location)
			if base.Generated != 0 || base.Identity == 'a' {
				err := pgerror.New(pgerror.GeneratedAlways, `column "%s" can only be updated to DEFAULT`, base.Name)
				if base.Generated != 0 {
					err.WithDetail(`Column "%s" is a generated column.`, base.Name)
				} else {
					err.WithDetail(`Column "%s" is an identity column defined as GENERATED ALWAYS.`, base.Name)
				}
				panic(err)
			}
		}
		if at >= 0 {
			out[at].Expr = e
			continue
		}
		out = append(out, planner.Target1{Name: base.Name, Expr: e})
		attrs = append(attrs, base.Num)
	}
	return out, attrs
}

// multiAssign is one column of SET (a, b) = ….
func (s *scope) multiAssign(m *pg.MultiAssignRef) (expr.Expr, *pg.Node) {
	b := s.b
	i := int(m.Colno) - 1
	if r := m.Source.GetRowExpr(); r != nil {
		if len(r.Args) != int(m.Ncolumns) {
			// ROW(t.*) may have as many.
			if all := s.exprListStar(r.Args); len(all) == int(m.Ncolumns) {
				return all[i], m.Source
			}
			b.fail(r.Location, pgerror.SyntaxError, "number of columns does not match number of values")
		}
		if r.Args[i].GetSetToDefault() != nil {
			return nil, r.Args[i]
		}
		return s.expr(r.Args[i]), r.Args[i]
	}
	if sl := m.Source.GetSubLink(); sl != nil && sl.SubLinkType == pg.SubLinkType_EXPR_SUBLINK {
		// Each column is a scalar subquery of its own: the i-th output of the whole.
		q := b.statement(s, sl.Subselect, true)
		if visibleTargets(q) != int(m.Ncolumns) {
			b.fail(sl.Location, pgerror.SyntaxError, "number of columns does not match number of values")
		}
		w := q
		if m.Ncolumns > 1 {
			w = s.wrapQuery(q, func(_ int, e expr.Expr) expr.Expr { return e })
			w.Targets = w.Targets[i : i+1]
		}
		return &planner.SubLink{T: tt(w.Targets[0].Expr.Type()), Kind: expr.SubScalar, Sub: w}, m.Source
	}
	b.fail(exprLoc(m.Source), pgerror.FeatureNotSupported, "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
	return nil, nil
}
