package opt

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// planModify plans INSERT, UPDATE, DELETE and MERGE.
func (lv *level) planModify() result {
	q, p := lv.q, lv.p
	q.CTEs = nil
	if q.ResultRel < 0 || q.ResultRel >= len(q.Range) {
		p.bug("no target relation")
		return result{}
	}
	p.foldQuery(q)
	lv.prepareModify()
	if p.err != nil {
		return result{}
	}
	if q.Command != planner.CmdInsert {
		lv.carryChildColumns(q.ResultRel)
	}
	lv.collectUsed()
	if q.Command != planner.CmdInsert {
		lv.useAllColumns(q.ResultRel)
		lv.refSlot(q.ResultRel)
	}
	paths := lv.planJoins()
	if p.err != nil {
		return result{}
	}
	s := &upper{lv: lv, q: q}
	s.baseModify(paths[0])
	s.gate()
	var node planner.Node
	switch q.Command {
	case planner.CmdInsert:
		node = lv.buildInsert(s)
	case planner.CmdUpdate:
		node = lv.buildUpdate(s)
	case planner.CmdDelete:
		node = lv.buildDelete(s)
	default:
		node = lv.buildMerge(s)
	}
	in := s.est()
	e := node.Est()
	*e = planner.Estimate{Rows: in.Rows, Width: in.Width, Startup: in.Startup, Total: in.Total + in.Rows*2*costLookup}
	if len(q.Returning) == 0 {
		e.Rows, e.Width = 0, 0
	}
	return result{node: node}
}

// prepareModify is prepare, with the subquery tests that become semi joins kept for rechecks.
func (lv *level) prepareModify() {
	q, p := lv.q, lv.p
	var kept []expr.Expr
	p.keepSemi = &kept
	p.unnest(q, false)
	p.keepSemi = nil
	n := len(q.Targets)
	for _, e := range kept {
		q.Targets = append(q.Targets, planner.Target1{Name: "?recheck?", Expr: e, Junk: true})
	}
	p.pullUp(q, false)
	p.foldQuery(q)
	lv.havingToWhere()
	lv.mapExprs(lv.finish)
	for _, t := range q.Targets[n:] {
		lv.recheckExtra = append(lv.recheckExtra, t.Expr)
	}
	q.Targets = q.Targets[:n]
	lv.reduceOuterJoins()
}

// baseModify builds the input with all columns that the statement and its rechecks read.
func (s *upper) baseModify(p *path) {
	lv, q := s.lv, s.q
	need := map[varKey]bool{}
	for k := range lv.used {
		need[k] = true
	}
	if lv.constFalse {
		n := &planner.Empty{}
		s.b = built{node: n}
		for k := range need {
			if k.rel < 0 || !lv.allRels.has(k.rel) {
				continue
			}
			c := lv.columnInfo(lv.rte(k.rel), k.col)
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
	if q.Command == planner.CmdInsert {
		need = s.topNeed()
	}
	lv.pending = nil
	s.b = lv.build(p, need)
	s.order = p.order
}

func (lv *level) returningColumns() []planner.Column {
	var out []planner.Column
	for _, t := range lv.q.Returning {
		if !t.Junk {
			out = append(out, planner.Column{Name: t.Name, Type: t.Expr.Type(), TableOID: t.TableOID, Attr: t.Attr})
		}
	}
	return out
}

// target is the write information, at least the relation itself.
func (lv *level) target() *planner.Target {
	t := lv.q.WriteInfo
	if t == nil {
		return &planner.Target{Rel: lv.rte(lv.q.ResultRel).Rel}
	}
	if len(lv.q.Policies) == 0 {
		return t
	}
	c := *t
	b := lv.rowColumns(lv.q.ResultRel, nil)
	for _, p := range lv.q.Policies {
		planner.Visit(p.Cond, func(x expr.Expr) bool {
			if v, ok := x.(*planner.Var); ok && v.Level == 0 && b.find(v) < 0 {
				lv.p.fail(notSupported("system column \"" + v.Name + "\" in a policy for writing"))
			}
			return true
		})
		if lv.p.err != nil {
			break
		}
		p.Cond = lv.resolve(p.Cond, b)
		c.Policies = append(c.Policies, p)
	}
	return &c
}

// rowColumns lays the target's attributes out by number, then further columns.
func (lv *level) rowColumns(rel int, rest []expr.Expr) built {
	t := lv.rte(rel)
	n := len(lv.rte(lv.q.ResultRel).Rel.Columns)
	b := built{cols: make([]expr.Expr, n, n+len(rest))}
	for c, a := range t.Attrs {
		if a <= 0 {
			continue // a column of some child only
		}
		b.cols[a-1] = &planner.Var{T: expr.T{Typ: t.Cols[c].Type}, Rel: rel, Col: c, Name: t.Cols[c].Name}
	}
	b.cols = append(b.cols, rest...)
	return b
}

// returning resolves the RETURNING list over the row's attributes, then rest.
func (lv *level) returning(rest []expr.Expr) []expr.Expr {
	if len(lv.q.Returning) == 0 {
		return nil
	}
	rel := lv.q.ResultRel
	b := lv.rowColumns(rel, rest)
	var out []expr.Expr
	for _, t := range lv.q.Returning {
		if t.Junk {
			continue
		}
		e := mapVars(t.Expr, 0, func(v *planner.Var, _ int) expr.Expr {
			if v.Level != 0 || v.Rel != rel || v.Col >= -1 {
				return v
			}
			attr := int16(v.Col + 1)
			if attr == engine.AttrTableOID && lv.q.Command == planner.CmdInsert && lv.rte(rel).Rel.Partitioning != nil {
				return &expr.Col{T: v.T, Idx: len(b.cols) + 2, Name: "tableoid"}
			}
			if attr == engine.AttrTableOID && lv.members(rel) == nil {
				return &expr.Const{T: v.T, Val: sqltypes.Int(int64(lv.rte(rel).Rel.OID))}
			}
			if lv.q.Command == planner.CmdUpdate && attr == engine.AttrXmax {
				return &expr.Const{T: v.T, Val: sqltypes.Int(0)} // nobody has locked or deleted the new row
			}
			if i := insertedSystem(attr); lv.q.Command == planner.CmdInsert && i >= 0 {
				return &expr.Col{T: v.T, Idx: len(b.cols) + i, Name: systemColumn(attr).Name}
			}
			if b.find(v) < 0 {
				lv.p.fail(notSupported("system column \"" + systemColumn(attr).Name + "\" in RETURNING"))
				return nullConst(v.Typ)
			}
			return v
		})
		out = append(out, lv.resolve(e, b))
	}
	return out
}

// insertedSystem is the place behind its attributes where an inserted row has a
// system column, -1 if nowhere (planner.Insert).
func insertedSystem(attr int16) int {
	switch attr {
	case engine.AttrXmin:
		return 0
	case engine.AttrXmax:
		return 1
	}
	return -1
}

func (lv *level) buildInsert(s *upper) planner.Node {
	q := lv.q
	rel := lv.rte(q.ResultRel).Rel
	s.targetSRFs()
	s.projectTargets(true)
	n := &planner.Insert{Target: lv.target(), Input: s.b.node, Cols: q.TargetAttrs, Row: make([]expr.Expr, len(rel.Columns))}
	for i, a := range q.TargetAttrs {
		if i < len(s.b.cols) {
			n.Row[a-1] = &expr.Col{T: expr.T{Typ: s.b.cols[i].Type()}, Idx: i, Name: rel.Columns[a-1].Name}
		}
	}
	for i, c := range rel.Columns {
		if n.Row[i] == nil && !c.Dropped && c.Generated == 0 {
			n.Row[i] = nullConst(c.Type)
		}
	}
	if c := q.OnConflict; c != nil {
		oc := &planner.OnConflict{Arbiters: c.Arbiters, DoUpdate: c.DoUpdate}
		if c.DoUpdate {
			ex := lv.rowColumns(c.Excluded, nil)
			b := lv.rowColumns(q.ResultRel, ex.cols)
			oc.Set = make([]expr.Expr, len(rel.Columns))
			for i, a := range c.SetAttrs {
				oc.Set[a-1] = lv.resolve(c.Set[i].Expr, b)
			}
			if c.Where != nil {
				oc.Where = lv.resolve(c.Where, b)
			}
		}
		n.OnConflict = oc
	}
	n.Returning = lv.returning(nil)
	n.Columns = lv.returningColumns()
	return n
}

// oldCols maps the target's attributes to columns of the input.
func (lv *level) oldCols(s *upper) []int {
	t := lv.rte(lv.q.ResultRel)
	out := make([]int, len(t.Rel.Columns))
	for i := range out {
		out[i] = -1
	}
	for c, a := range t.Attrs {
		if a <= 0 {
			continue
		}
		out[a-1] = s.b.find(&planner.Var{Rel: lv.q.ResultRel, Col: c})
	}
	return out
}

func (lv *level) buildUpdate(s *upper) planner.Node {
	q := lv.q
	rel := lv.rte(q.ResultRel).Rel
	n := &planner.Update{Target: lv.target(), Input: s.b.node, RefSlot: lv.refSlot(q.ResultRel), OldCols: lv.oldCols(s)}
	n.Set = make([]expr.Expr, len(rel.Columns))
	for i, a := range q.TargetAttrs {
		n.Set[a-1] = lv.resolve(q.Targets[i].Expr, s.b)
	}
	n.Recheck, n.Tree = lv.recheck(s.b), lv.written(s)
	n.TableOID = s.b.find(&planner.Var{Rel: q.ResultRel, Col: int(engine.AttrTableOID) - 1})
	n.Returning = lv.returning(s.b.cols)
	n.Columns = lv.returningColumns()
	return n
}

func (lv *level) buildDelete(s *upper) planner.Node {
	n := &planner.Delete{Target: lv.target(), Input: s.b.node, RefSlot: lv.refSlot(lv.q.ResultRel), OldCols: lv.oldCols(s)}
	n.Recheck, n.Tree = lv.recheck(s.b), lv.written(s)
	n.Returning = lv.returning(s.b.cols)
	n.Columns = lv.returningColumns()
	return n
}

func (lv *level) buildMerge(s *upper) planner.Node {
	q := lv.q
	rel := lv.rte(q.ResultRel).Rel
	n := &planner.Merge{Target: lv.target(), Input: s.b.node, RefSlot: lv.refSlot(q.ResultRel), OldCols: lv.oldCols(s), Tree: lv.written(s)}
	conds := conjuncts(andOf(lv.rte(q.ResultRel).SecurityQuals))
	for _, it := range q.From {
		if it.Join != nil {
			conds = appendConjuncts(conds, it.Join.On)
		}
	}
	if len(conds) > 0 {
		n.Recheck = lv.resolve(andOf(conds), s.b)
	}
	for _, a := range q.Merge {
		m := planner.MergeAction{Matched: a.Matched, Kind: a.Kind}
		if a.Cond != nil {
			m.Cond = lv.resolve(a.Cond, s.b)
		}
		if a.Kind == 'i' || a.Kind == 'u' {
			m.Set = make([]expr.Expr, len(rel.Columns))
			for i, at := range a.SetAttrs {
				m.Set[at-1] = lv.resolve(a.Set[i].Expr, s.b)
			}
		}
		if a.Kind == 'i' {
			for i, c := range rel.Columns {
				if m.Set[i] == nil && !c.Dropped && c.Generated == 0 {
					m.Set[i] = nullConst(c.Type)
				}
			}
		}
		n.Actions = append(n.Actions, m)
	}
	return n
}
