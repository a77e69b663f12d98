package opt

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
)

// Virtual relations: their size and distinct values come from the provider, and
// an equality with columns of relations to the left is a look-up that the provider
// answers, as an index scan of a table would.

// virtualTuples is the number of rows of a virtual relation.
func virtualTuples(v *planner.VirtualRelation) float64 {
	switch {
	case v == nil:
		return defaultRows
	case v.Size != nil:
		if n := v.Size(); n > 0 {
			return n
		}
	}
	if v.RowsEstimate > 0 {
		return v.RowsEstimate
	}
	return defaultRows
}

// virtualEquals recognises an equality of a column that the provider looks up with
// a value of other relations (or of none).
func (lv *level) virtualEquals(i int, c *clause) (int16, expr.Expr, bool) {
	if !c.isBin || c.family == 0 {
		return 0, nil, false
	}
	l, r := c.bin.left, c.bin.right
	if relsOf(l) != relOf(i) {
		l, r = r, l
	}
	v, ok := stripRelabel(l).(*planner.Var)
	if !ok || v.Level != 0 || v.Rel != i || v.Col < 0 || relsOf(r).has(i) || volatileExpr(r) || !sameRepresentation(v.Typ.OID, r.Type().OID) {
		return 0, nil, false
	}
	t := lv.rte(i)
	attr := attrOf(t, v.Col)
	return attr, r, t.Virtual != nil && hasAttr(t.Virtual.EqAttrs, attr)
}

// virtualLookups are the scans of virtual relation i that take values from outer relations.
func (lv *level) virtualLookups(i int, outer relSet) []*path {
	r := lv.rel(i)
	avail := outer.union(relOf(i))
	var found []*clause
	var used relSet
	add := func(c *clause) {
		if _, _, ok := lv.virtualEquals(i, c); ok {
			found = append(found, c)
			used = used.union(c.rels)
		}
	}
	for _, c := range lv.clauses {
		if c.isBin && c.rels.has(i) && c.rels.in(avail) && c.req.in(avail) && c.rels.count() > 1 {
			add(c)
		}
	}
	for _, c := range lv.paramClauses(i, outer) {
		add(c)
	}
	if len(found) == 0 {
		return nil
	}
	if ps, ok := r.paramMemo[used]; ok {
		return ps
	}
	if r.paramMemo == nil {
		r.paramMemo = map[relSet][]*path{}
	}
	matches := r.tuples
	for _, c := range found {
		attr, _, _ := lv.virtualEquals(i, c)
		if d := lv.rte(i).Virtual.Distinct; d != nil {
			if n := d(attr); n > 0 {
				matches = math.Min(matches, r.tuples/n)
			}
		}
	}
	p := &path{rel: r, rows: clampRows(math.Min(r.rows, matches)), req: used.minus(relOf(i)).union(r.lateral)}
	p.total = costSeek + math.Max(1, matches)*(costRow+clausesCost(r.restrict)) + restrictStartup(r.restrict)
	p.leaf = func(need map[varKey]bool) built {
		b := lv.simpleLeaf(i, need)
		n := b.node.(*planner.VirtualScan)
		for _, c := range found {
			attr, val, _ := lv.virtualEquals(i, c)
			n.Eq = append(n.Eq, planner.VirtualEq{Attr: attr, Value: lv.resolve(lv.lateralParams(val), built{})})
		}
		n.Estimate = planner.Estimate{Rows: p.rows, Width: r.width, Total: p.total}
		return b
	}
	ps := []*path{p}
	r.paramMemo[used] = ps
	return ps
}

// virtualRestrict makes a scan with a constant in an equality the look-up that it is.
func (lv *level) virtualRestrict(i int, p *path) {
	r, d := lv.rel(i), lv.rte(i).Virtual
	if d == nil || d.Distinct == nil {
		return
	}
	matches := r.tuples
	for _, c := range r.restrict {
		if attr, _, ok := lv.virtualEquals(i, c); ok {
			if n := d.Distinct(attr); n > 0 {
				matches = math.Min(matches, r.tuples/n)
			}
		}
	}
	if matches < r.tuples {
		p.total = costSeek + math.Max(1, matches)*(costRow+clausesCost(r.restrict)) + restrictStartup(r.restrict)
	}
}
