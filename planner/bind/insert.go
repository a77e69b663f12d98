package bind

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// insertCol is a column an INSERT names.
type insertCol struct {
	base        *catalog.Column
	named       *catalog.Column
	indirection []*pg.Node
	loc         int32
}

// insertStmt is transformInsertStmt, with the defaults the rewriter would add.
func (s *scope) insertStmt(x *pg.InsertStmt) *planner.Query {
	b, q := s.b, s.q
	q.Command = planner.CmdInsert
	if x.WithClause != nil {
		s.withClause(x.WithClause)
	}
	t := s.openTarget(x.Relation, 'a')
	if c := x.OnConflictClause; c != nil && c.Action == pg.OnConflictAction_ONCONFLICT_UPDATE {
		t.item.rte().RequiredPrivs = addPriv(t.item.rte().RequiredPrivs, 'w')
	}
	cols := s.insertColumns(t, x.Cols)
	sel := x.SelectStmt.GetSelectStmt()
	general := sel != nil && (len(sel.ValuesLists) == 0 || len(sel.SortClause) > 0 || sel.LimitCount != nil || sel.LimitOffset != nil || len(sel.LockingClause) > 0 || sel.WithClause != nil)
	switch {
	case sel == nil:
		cols = nil
	case general:
		s.insertSelect(t, x, sel, cols)
	case len(sel.ValuesLists) > 1:
		s.insertValues(t, x, sel, cols)
	default:
		items := sel.ValuesLists[0].GetList().GetItems()
		s.kind = kindValuesSingle
		exprs, nodes := s.insertExprs(items)
		s.kind = kindInsertTarget
		cols = s.checkRow(exprs, nodes, cols, len(x.Cols) > 0)
		s.insertRow(t, x, cols, exprs, nodes, func(c *insertCol, e expr.Expr) {
			s.addInsert(c, e)
		})
		q.HasTargetSRF = s.hasSRF
		if s.hasAggs || s.hasWindow {
			b.fail(-1, pgerror.GroupingError, "aggregate functions are not allowed in VALUES")
		}
	}
	s.kind = kindNone
	s.fillDefaults(t)
	s.ns = []*nsItem{t.item}
	if x.OnConflictClause != nil {
		s.onConflict(t, x.OnConflictClause)
	}
	s.returning(x.ReturningList)
	return q
}

// insertColumns is checkInsertTargets.
func (s *scope) insertColumns(t *dmlTarget, list []*pg.Node) []*insertCol {
	var out []*insertCol
	if len(list) == 0 {
		k := 0
		for _, c := range t.named.Columns {
			if c.Dropped {
				continue
			}
			ic := &insertCol{named: c, base: c, loc: -1}
			if t.item.cols != nil {
				ic.base = nil // decided when a value comes
				if v, ok := t.item.cols[k].e.(*planner.Var); ok && v.Col >= 0 && v.Level == 0 {
					ic.base = t.base.Columns[t.item.rte().Attrs[v.Col]-1]
				}
			}
			out = append(out, ic)
			k++
		}
		return out
	}
	whole := map[string]bool{}
	part := map[string]bool{}
	for _, n := range list {
		rt := n.GetResTarget()
		if _, ok := systemColumns[rt.Name]; ok {
			s.b.fail(rt.Location, pgerror.UndefinedColumn, `column "%s" of relation "%s" does not exist`, rt.Name, t.named.Name)
		}
		named, base := s.targetColumn(t, rt.Name, rt.Location)
		if len(rt.Indirection) == 0 {
			if whole[rt.Name] || part[rt.Name] {
				s.b.fail(rt.Location, pgerror.DuplicateColumn, `column "%s" specified more than once`, rt.Name)
			}
			whole[rt.Name] = true
		} else {
			if whole[rt.Name] {
				s.b.fail(rt.Location, pgerror.DuplicateColumn, `column "%s" specified more than once`, rt.Name)
			}
			part[rt.Name] = true
		}
		out = append(out, &insertCol{named: named, base: base, indirection: rt.Indirection, loc: rt.Location})
	}
	return out
}

// insertExprs binds one VALUES row; a DEFAULT is nil.
func (s *scope) insertExprs(items []*pg.Node) ([]expr.Expr, []*pg.Node) {
	var out []expr.Expr
	var nodes []*pg.Node
	for _, n := range items {
		if n.GetSetToDefault() != nil {
			out, nodes = append(out, nil), append(nodes, n)
			continue
		}
		for _, e := range s.exprListStar([]*pg.Node{n}) {
			out, nodes = append(out, e), append(nodes, n)
		}
	}
	return out, nodes
}

// checkRow compares the number of values and columns (transformInsertRow).
func (s *scope) checkRow(exprs []expr.Expr, nodes []*pg.Node, cols []*insertCol, named bool) []*insertCol {
	if len(exprs) > len(cols) {
		s.b.fail(exprLoc(nodeAt(nodes, len(cols))), pgerror.SyntaxError, "INSERT has more expressions than target columns")
	}
	if len(exprs) < len(cols) {
		if !named {
			return cols[:len(exprs)]
		}
		err := s.b.errAt(cols[len(exprs)].loc, pgerror.SyntaxError, "INSERT has more target columns than expressions")
		if len(exprs) == 1 {
			if r, ok := exprs[0].(*expr.RowCtor); ok && len(r.Fields) == len(cols) {
				err.WithHint("The insertion source is a row expression containing the same number of columns expected by the INSERT. Did you accidentally use extra parentheses?")
			}
		}
		panic(err)
	}
	return cols
}

// insertRow coerces the values of one row and hands them on, defaults filled in.
func (s *scope) insertRow(t *dmlTarget, x *pg.InsertStmt, cols []*insertCol, exprs []expr.Expr, nodes []*pg.Node, put func(*insertCol, expr.Expr)) {
	for i, c := range cols {
		put(c, s.insertValue(t, x, c, exprs[i], nodeAt(nodes, i)))
	}
}

// insertValue is one value of a row for its column; e nil stands for DEFAULT.
func (s *scope) insertValue(t *dmlTarget, x *pg.InsertStmt, c *insertCol, e expr.Expr, n *pg.Node) expr.Expr {
	if e == nil {
		if len(c.indirection) > 0 {
			s.b.fail(exprLoc(n), pgerror.FeatureNotSupported, "cannot set an array element to DEFAULT")
		}
		if c.base == nil {
			return nil
		}
		return s.defaultOf(t, c)
	}
	if c.base == nil {
		// Raises the view's error.
		s.targetColumn(t, c.named.Name, c.loc)
	}
	ct := *c.base
	ct.Name = c.named.Name
	e = s.assigned(e, n, &ct, c.indirection, s.priorAssign(c), locOr(c.loc, exprLoc(n)))
	if c.base.Identity != 0 && x.Override == pg.OverridingKind_OVERRIDING_USER_VALUE {
		return s.defaultOf(t, c)
	}
	s.refuseGenerated(c.base, x.Override == pg.OverridingKind_OVERRIDING_SYSTEM_VALUE, "insert a non-DEFAULT value into column")
	return e
}

func locOr(a, b int32) int32 {
	if a >= 0 {
		return a
	}
	return b
}

// refuseGenerated: generated and GENERATED ALWAYS columns take only DEFAULT.
func (s *scope) refuseGenerated(c *catalog.Column, system bool, what string) {
	if c.Generated != 0 {
		panic(pgerror.New(pgerror.GeneratedAlways, `cannot %s "%s"`, what, c.Name).WithDetail(`Column "%s" is a generated column.`, c.Name))
	}
	if c.Identity == 'a' && !system {
		panic(pgerror.New(pgerror.GeneratedAlways, `cannot %s "%s"`, what, c.Name).
			WithDetail(`Column "%s" is an identity column defined as GENERATED ALWAYS.`, c.Name).
			WithHint("Use OVERRIDING SYSTEM VALUE to override."))
	}
}

// defaultOf is a column's default, NULL without one; nil for generated columns.
func (s *scope) defaultOf(t *dmlTarget, c *insertCol) expr.Expr {
	if c.base.Generated != 0 {
		return nil
	}
	if t.named != t.base && c.named != nil && c.named.HasDefault {
		if e := s.columnDefault(t.named, c.named); e != nil {
			return e
		}
	}
	if e := s.columnDefault(t.base, c.base); e != nil {
		return e
	}
	return s.nullFor(c.base.Type)
}

// priorAssign is the value that an earlier a[1] of the same INSERT gave the column.
func (s *scope) priorAssign(c *insertCol) expr.Expr {
	if len(c.indirection) == 0 {
		return nil
	}
	for i, a := range s.q.TargetAttrs {
		if a == c.base.Num {
			return s.q.Targets[i].Expr
		}
	}
	return nil
}

// addInsert adds a target; nil leaves a generated column out.
func (s *scope) addInsert(c *insertCol, e expr.Expr) {
	if e == nil || c.base == nil {
		return
	}
	q := s.q
	for i, a := range q.TargetAttrs {
		if a == c.base.Num {
			q.Targets[i].Expr = e
			return
		}
	}
	q.TargetAttrs = append(q.TargetAttrs, c.base.Num)
	q.Targets = append(q.Targets, planner.Target1{Name: c.base.Name, Expr: e})
}

// fillDefaults adds the columns that the statement did not name.
func (s *scope) fillDefaults(t *dmlTarget) {
	s.q.Named = slices.Clone(s.q.TargetAttrs)
	have := map[int16]bool{}
	for _, a := range s.q.TargetAttrs {
		have[a] = true
	}
	named := map[int16]*catalog.Column{}
	if t.item.cols != nil {
		k := 0
		for _, c := range t.named.Columns {
			if c.Dropped {
				continue
			}
			if v, ok := t.item.cols[k].e.(*planner.Var); ok && v.Col >= 0 && v.Level == 0 {
				named[t.item.rte().Attrs[v.Col]] = c
			}
			k++
		}
	}
	for _, c := range t.base.Columns {
		if c.Dropped || c.Generated != 0 || have[c.Num] {
			continue
		}
		ic := &insertCol{base: c, named: named[c.Num]}
		s.addInsert(ic, s.defaultOf(t, ic))
	}
}

// insertSelect is INSERT … SELECT.
func (s *scope) insertSelect(t *dmlTarget, x *pg.InsertStmt, sel *pg.SelectStmt, cols []*insertCol) []*insertCol {
	b, q := s.b, s.q
	sub := b.newScope(s)
	sub.resolveUnknowns = false
	sq := sub.statement(x.SelectStmt)
	r := &planner.RTE{Kind: planner.RTESubquery, Sub: sq, Alias: "*SELECT*", Cols: queryColumns(sq)}
	it := s.addRTE(r)
	q.From = []planner.JoinItem{{Rel: it.rel}}
	nodes := targetNodes(sel, len(r.Cols))
	exprs := make([]expr.Expr, len(r.Cols))
	for i := range r.Cols {
		exprs[i] = it.colExpr(i, 0)
		// A literal takes the column's type directly.
		if isUnknown(r.Cols[i].Type.OID) {
			switch c := sq.Targets[i].Expr.(type) {
			case *expr.Const, *expr.Param:
				exprs[i] = c
			}
		}
	}
	cols = s.checkRow(exprs, nodes, cols, len(x.Cols) > 0)
	s.kind = kindInsertTarget
	s.insertRow(t, x, cols, exprs, nodes, func(c *insertCol, e expr.Expr) { s.addInsert(c, e) })
	// What stays unknown in the subquery's list is text there.
	for i := range sq.Targets {
		if isUnknownExpr(sq.Targets[i].Expr) {
			sq.Targets[i].Expr = s.coerce(sq.Targets[i].Expr, textOID, noTypMod, implicit, exprLoc(nodeAt(nodes, i)))
			if i < len(r.Cols) {
				r.Cols[i].Type = sq.Targets[i].Expr.Type()
			}
		}
	}
	return cols
}

// insertValues is INSERT … VALUES with several rows.
func (s *scope) insertValues(t *dmlTarget, x *pg.InsertStmt, sel *pg.SelectStmt, cols []*insertCol) []*insertCol {
	b, q := s.b, s.q
	r := &planner.RTE{Kind: planner.RTEValues, Alias: "*VALUES*"}
	type row struct {
		exprs []expr.Expr
		nodes []*pg.Node
	}
	rows := make([]row, len(sel.ValuesLists))
	width := -1
	s.kind = kindValues
	for i, l := range sel.ValuesLists {
		items := l.GetList().GetItems()
		e, n := s.insertExprs(items)
		rows[i] = row{e, n}
		if width < 0 {
			width = len(e)
		} else if len(e) != width {
			b.fail(exprLoc(l), pgerror.SyntaxError, "VALUES lists must all be the same length")
		}
		if i == 0 {
			cols = s.checkRow(e, n, cols, len(x.Cols) > 0)
		}
	}
	for _, c := range cols {
		if len(c.indirection) > 0 {
			b.unsupported(c.loc, "assignment to a part of a column with several rows of VALUES")
		}
	}
	// A column that is DEFAULT in every row is not part of the list.
	keep := make([]bool, len(cols))
	for i, c := range cols {
		if c.base == nil {
			for _, rw := range rows {
				if rw.exprs[i] != nil {
					s.targetColumn(t, c.named.Name, c.loc)
				}
			}
			continue
		}
		keep[i] = c.base.Generated == 0
	}
	for _, rw := range rows {
		var vals []expr.Expr
		for i, c := range cols {
			v := s.insertValue(t, x, c, rw.exprs[i], nodeAt(rw.nodes, i))
			if keep[i] {
				vals = append(vals, v)
			}
		}
		r.Values = append(r.Values, vals)
	}
	for _, rw := range r.Values {
		for _, e := range rw {
			r.Lateral = r.Lateral || hasLocalVars(e)
		}
	}
	for i, c := range cols {
		if keep[i] {
			r.Cols = append(r.Cols, planner.Column{Name: "column" + itoa(i+1), Type: c.base.Type})
		}
	}
	it := s.addRTE(r)
	it.relVis, it.colVis = false, false
	q.From = []planner.JoinItem{{Rel: it.rel}}
	k := 0
	for i, c := range cols {
		if keep[i] {
			s.addInsert(c, it.colExpr(k, 0))
			k++
		}
	}
	return cols
}
