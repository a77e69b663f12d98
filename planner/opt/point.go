package opt

import (
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
)

// pointPlan recognises statements that touch at most one row by a complete unique
// key: SELECT, UPDATE and DELETE over such a scan, and INSERT of one row.
func pointPlan(pl *planner.Plan) *planner.PointPlan {
	switch n := pl.Root.(type) {
	case *planner.Update:
		if len(n.Target.Rel.Triggers) > 0 || n.Tree != nil {
			return nil
		}
		if pt := pointScan(n.Input); pt != nil {
			pt.Kind = 'u'
			return pt
		}
	case *planner.Delete:
		if len(n.Target.Rel.Triggers) > 0 || n.Tree != nil {
			return nil
		}
		if pt := pointScan(n.Input); pt != nil {
			pt.Kind = 'd'
			return pt
		}
	case *planner.Insert:
		if len(n.Target.Rel.Triggers) > 0 || partitionsHaveTriggers(pl, n.Target.Rel) {
			return nil
		}
		return pointInsert(n)
	default:
		return pointSelect(pl.Root)
	}
	return nil
}

func partitionsHaveTriggers(pl *planner.Plan, rel *catalog.Relation) bool {
	if rel.Partitioning == nil || pl.Catalog == nil {
		return rel.Partitioning != nil
	}
	for _, part := range pl.Catalog.Tree(rel) {
		if len(part.Triggers) > 0 {
			return true
		}
	}
	return false
}

// pointScan recognises the scan of one row.
func pointScan(n planner.Node) *planner.PointPlan {
	s, ok := n.(*planner.Scan)
	if !ok || len(s.Ranges) != 1 || s.Sample != nil || s.Rel.TimeSeries {
		return nil
	}
	ix := s.Index
	r := s.Ranges[0]
	if ix == nil || !ix.UniqueAtOnce() || ix.Predicate != "" || len(r.Eq) != len(ix.Keys) || r.AnyArray >= 0 || r.Lower != nil || r.Upper != nil {
		return nil
	}
	for i, k := range ix.Keys {
		if k.Attr == 0 || r.EqNull[i] || r.Eq[i] == nil || !sameRepresentation(k.Type.OID, r.Eq[i].Type().OID) || !plainValue(r.Eq[i]) {
			return nil
		}
	}
	for _, a := range s.Attrs {
		if a < 0 {
			return nil
		}
	}
	return &planner.PointPlan{Rel: s.Rel, Index: ix, Key: r.Eq, Attrs: s.Attrs, Filter: s.Filter}
}

// plainValue: a constant or parameter, perhaps relabelled or cast.
func plainValue(e expr.Expr) bool {
	return !contains(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Const, *expr.Param, *expr.Relabel, *expr.Call, *expr.CoerceViaIO:
			return false
		}
		return true
	})
}

func pointSelect(n planner.Node) *planner.PointPlan {
	var out []expr.Expr
	if p, ok := n.(*planner.Project); ok {
		out, n = p.Exprs, p.Input
	}
	pt := pointScan(n)
	if pt == nil {
		return nil
	}
	pt.Kind = 's'
	s := n.(*planner.Scan)
	if out == nil {
		pt.OutIsAttrs = true
		for i, c := range s.Columns {
			out = append(out, &expr.Col{T: expr.T{Typ: c.Type}, Idx: i, Name: c.Name})
		}
	} else {
		pt.OutIsAttrs = len(out) == len(s.Attrs)
		for i, e := range out {
			if c, ok := e.(*expr.Col); !ok || c.Idx != i {
				pt.OutIsAttrs = false
			}
			if hasSubPlan(e) {
				return nil
			}
		}
	}
	pt.Out = out
	return pt
}

// pointInsert: one row of values, by the table's own key.
func pointInsert(n *planner.Insert) *planner.PointPlan {
	in := n.Input
	var row []expr.Expr
	switch x := in.(type) {
	case *planner.Project:
		switch src := x.Input.(type) {
		case *planner.Result:
			if src.OneTime != nil {
				return nil
			}
			row = x.Exprs
		case *planner.Values:
			if len(src.Rows) != 1 || !identityProject(x) {
				return nil
			}
			row = src.Rows[0]
		default:
			return nil
		}
	case *planner.Values:
		if len(x.Rows) != 1 {
			return nil
		}
		row = x.Rows[0]
	case *planner.Result:
		if x.OneTime != nil {
			return nil
		}
	default:
		return nil
	}
	pt := &planner.PointPlan{Kind: 'i', Rel: n.Target.Rel, Index: clusteredIndexOrPrimary(n.Target.Rel), Out: row}
	for _, e := range row {
		if hasSubPlan(e) {
			return nil
		}
	}
	return pt
}

func clusteredIndexOrPrimary(r *catalog.Relation) *catalog.Index {
	if ix := clusteredIndex(r); ix != nil {
		return ix
	}
	for _, ix := range r.Indexes {
		if ix.Primary {
			return ix
		}
	}
	return nil
}
