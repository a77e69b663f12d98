package opt

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
)

// join adds the ways to join a and b to j (made if nil); nil when they may not be joined.
func (lv *level) join(j, a, b *rel) *rel {
	sj, reversed, ok := lv.legal(a.rels, b.rels)
	if !ok {
		return j
	}
	aNeedsB, bNeedsA := a.lateral.overlaps(b.rels), b.lateral.overlaps(a.rels)
	if aNeedsB && bNeedsA {
		return j
	}
	if reversed {
		a, b = b, a
		aNeedsB, bNeedsA = bNeedsA, aNeedsB
	}
	kind := planner.JoinInner
	if sj != nil {
		kind = sj.kind
		if aNeedsB || bNeedsA && kind == planner.JoinFull {
			return j
		}
	}
	clauses := lv.joinClauses(a.rels, b.rels)
	var own, above []*clause
	for _, c := range clauses {
		if kind == planner.JoinInner || kind == planner.JoinSemi || c.outer {
			own = append(own, c)
		} else {
			above = append(above, c)
		}
	}
	if j == nil {
		j = &rel{rels: a.rels.union(b.rels), base: -1, width: a.width}
		j.lateral = a.lateral.union(b.lateral).minus(j.rels)
		if kind != planner.JoinSemi && kind != planner.JoinAnti {
			j.width += b.width
		}
		j.rows = lv.joinRows(kind, a, b, own, above)
		switch kind {
		case planner.JoinInner, planner.JoinSemi:
			j.empty = a.empty || b.empty
		case planner.JoinLeft, planner.JoinAnti:
			j.empty = a.empty
		case planner.JoinFull:
			j.empty = a.empty && b.empty
		}
	}
	if kind == planner.JoinSemi && lv.uniqueOn(b, own) {
		kind = planner.JoinInner // at most one match
	}
	switch kind {
	case planner.JoinInner:
		if !aNeedsB {
			lv.joinPaths(j, a, b, planner.JoinInner, own, above)
		}
		if !bNeedsA {
			lv.joinPaths(j, b, a, planner.JoinInner, own, above)
		}
	case planner.JoinLeft:
		lv.joinPaths(j, a, b, planner.JoinLeft, own, above)
		if !bNeedsA {
			lv.joinPaths(j, b, a, planner.JoinRight, own, above)
		}
	case planner.JoinFull:
		lv.joinPaths(j, a, b, planner.JoinFull, own, above)
		lv.joinPaths(j, b, a, planner.JoinFull, own, above)
	default:
		lv.joinPaths(j, a, b, kind, own, above)
		if kind == planner.JoinSemi && !bNeedsA && !aNeedsB {
			if u := lv.uniqueInput(b, own); u != nil {
				lv.joinPaths(j, a, u, planner.JoinInner, own, above)
				lv.joinPaths(j, u, a, planner.JoinInner, own, above)
			}
		}
	}
	if len(j.paths) == 0 {
		return nil
	}
	return j
}

// finishJoin drops paths that nothing can profit from.
func (lv *level) finishJoin(j *rel) {
	if len(j.paths) < 2 {
		return
	}
	best := j.cheapest(j.lateral)
	out := j.paths[:0]
	for _, p := range j.paths {
		if p == best || len(p.order) > 0 && lv.usefulOrder(p.order) || p.startup < best.startup {
			out = append(out, p)
		}
	}
	j.paths = out
}

// joinRows estimates the size of a join; own are its conditions, above those that
// filter an outer join's result.
func (lv *level) joinRows(kind planner.JoinKind, a, b *rel, own, above []*clause) float64 {
	var rows float64
	switch kind {
	case planner.JoinSemi, planner.JoinAnti:
		m := lv.matchFraction(a, b, own)
		if kind == planner.JoinAnti {
			m = 1 - m
		}
		rows = a.rows * m
	default:
		rows = a.rows * b.rows * lv.joinSel(a, b, own)
		switch kind {
		case planner.JoinLeft:
			rows = math.Max(rows, a.rows)
		case planner.JoinFull:
			rows = math.Max(rows, math.Max(a.rows, b.rows))
		}
	}
	if len(above) > 0 {
		rows *= lv.clausesSel(above)
	}
	return clampRows(rows)
}

func (lv *level) clauseSel(c *clause) float64 {
	if c.derived {
		return 1
	}
	if c.sel < 0 {
		c.sel = lv.selectivity(c.e)
	}
	return c.sel
}

func (lv *level) clausesSel(cs []*clause) float64 {
	s := 1.0
	for _, c := range cs {
		s *= lv.clauseSel(c)
	}
	return s
}

// joinSel multiplies the conditions' selectivities; equalities that cover a unique
// key of one side count as one look-up of that key.
func (lv *level) joinSel(a, b *rel, cs []*clause) float64 {
	done := map[*clause]bool{}
	s := 1.0
	if len(cs) > 1 {
		for _, side := range []relSet{a.rels, b.rels} {
			for _, i := range side.members() {
				if covered := lv.keyCovered(i, cs, done); len(covered) > 1 {
					for _, c := range covered {
						done[c] = true
					}
					s /= math.Max(1, lv.rel(i).tuples)
				}
			}
		}
	}
	for _, c := range cs {
		if !done[c] {
			s *= lv.clauseSel(c)
		}
	}
	return s
}

// keyCovered are the equalities with other relations that together fix a unique
// index of relation i; nil if none does.
func (lv *level) keyCovered(i int, cs []*clause, skip map[*clause]bool) []*clause {
	t := lv.rte(i)
	cols := map[int]*clause{}
	for _, c := range cs {
		if !c.isBin || c.family == 0 || skip[c] {
			continue
		}
		for _, side := range []expr.Expr{c.bin.left, c.bin.right} {
			if v, ok := stripRelabel(side).(*planner.Var); ok && v.Rel == i && v.Col >= 0 {
				cols[v.Col] = c
			}
		}
	}
	if len(cols) == 0 {
		return nil
	}
	fixed := func(col int) bool { // restricted to one value below
		for _, c := range lv.rel(i).restrict {
			if v, _, ok := columnEqualsValue(c); ok && v.Col == col {
				return true
			}
		}
		return false
	}
	cover := func(key []int) []*clause {
		var out []*clause
		for _, k := range key {
			if c := cols[k]; c != nil {
				out = append(out, c)
			} else if !fixed(k) {
				return nil
			}
		}
		return out
	}
	if t.Kind == planner.RTESubquery && len(lv.rel(i).uniqueKey) > 0 {
		return cover(lv.rel(i).uniqueKey)
	}
	if t.Kind != planner.RTERelation {
		return nil
	}
next:
	for _, ix := range lv.indexesOf(i) {
		if !ix.UniqueAtOnce() || ix.Predicate != "" {
			continue
		}
		var key []int
		for _, k := range ix.Keys {
			c := colOfAttr(t, k.Attr)
			if k.Attr == 0 || c < 0 {
				continue next
			}
			key = append(key, c)
		}
		if out := cover(key); out != nil {
			return out
		}
	}
	return nil
}

// uniqueOn reports that at most one row of b matches a row of the other side.
func (lv *level) uniqueOn(b *rel, cs []*clause) bool {
	return b.base >= 0 && len(lv.keyCovered(b.base, cs, nil)) > 0
}

// matchFraction is the fraction of a's rows that have a match in b.
func (lv *level) matchFraction(a, b *rel, cs []*clause) float64 {
	f := 1.0
	for _, c := range cs {
		if c.derived {
			continue
		}
		if !c.equi || c.family == 0 {
			if c.isBin && c.bin.op.Join == "neqjoinsel" {
				continue // with another equality: nearly always some row differs
			}
			f *= math.Min(1, lv.clauseSel(c)*math.Max(1, math.Min(b.rows, 3)))
			continue
		}
		l, r := c.bin.left, c.bin.right
		if c.rightRel.in(a.rels) {
			l, r = r, l
		}
		vl, vr := lv.statOf(l), lv.statOf(r)
		nd2 := vr.distinct
		if vr.rel != nil {
			nd2 = lv.filteredDistinct(vr, b.rows)
		} else {
			nd2 = math.Min(nd2, b.rows)
		}
		if !vl.known && !vr.known {
			f *= 0.5
			continue
		}
		f *= (1 - vl.nullFrac) * math.Min(1, nd2/math.Max(1, vl.distinct))
	}
	return clampSel(f)
}

// filteredDistinct scales a number of distinct values to the rows that are left.
func (lv *level) filteredDistinct(vs varStat, rows float64) float64 {
	n, d := vs.tuples, vs.distinct
	if rows >= n || n <= 0 || d <= 0 {
		return d
	}
	// Expected number of values seen in rows draws (Cardenas).
	per := n / d
	return math.Max(1, d*(1-math.Pow(1-rows/n, per)))
}

// uniqueInput is b with duplicates of its join columns removed, so that a semi
// join becomes an inner one in either direction.
func (lv *level) uniqueInput(b *rel, cs []*clause) *rel {
	var vars []*planner.Var
	groups := 1.0
	for _, c := range cs {
		if !c.equi {
			return nil
		}
		side := c.bin.right
		if c.leftRels.in(b.rels) {
			side = c.bin.left
		}
		v, ok := side.(*planner.Var)
		if !ok {
			return nil
		}
		vs := lv.statOf(v)
		groups *= lv.filteredDistinct(vs, b.rows)
		dup := false
		for _, o := range vars {
			dup = dup || keyOf(o) == keyOf(v)
		}
		if !dup {
			vars = append(vars, v)
		}
	}
	in := b.cheapest(b.lateral)
	if len(vars) == 0 || in == nil {
		return nil
	}
	u := &rel{rels: b.rels, base: -1, rows: clampRows(math.Min(groups, b.rows)), width: b.width, lateral: b.lateral, tuples: b.tuples}
	total := in.total + in.rows*costBuild + u.rows*costEmit
	u.paths = []*path{{rel: u, rows: u.rows, startup: total, total: total, req: in.req, unique: &uniquePath{input: in, vars: vars}}}
	return u
}

// joinPaths adds hash, merge and nested-loop joins with a left of b.
func (lv *level) joinPaths(j *rel, a, b *rel, kind planner.JoinKind, own, above []*clause) {
	allowed := j.lateral
	ca, cb := a.cheapest(allowed), b.cheapest(allowed.union(a.rels))
	if ca == nil || cb == nil {
		return
	}
	needs := cb.req.overlaps(a.rels)
	var keys, cond []*clause
	for _, c := range own {
		if c.equi && (c.leftRels.in(a.rels) && c.rightRel.in(b.rels) || c.leftRels.in(b.rels) && c.rightRel.in(a.rels)) {
			keys = append(keys, c)
		} else {
			cond = append(cond, c)
		}
	}
	constKey := kind == planner.JoinFull && len(keys) == 0
	if !needs && (len(keys) > 0 || constKey) {
		lv.hashJoin(j, ca, cb, kind, keys, cond, above, constKey)
		if len(keys) > 0 && kind != planner.JoinRight {
			// A left side that starts quickly.
			for _, p := range a.paths {
				if p != ca && p.startup < ca.startup && p.req.in(allowed) {
					lv.hashJoin(j, p, cb, kind, keys, cond, above, false)
				}
			}
		}
		if len(keys) > 0 {
			lv.mergeJoins(j, a, b, kind, keys, cond, above)
		}
	}
	if kind == planner.JoinRight || kind == planner.JoinFull {
		return
	}
	for _, p := range a.paths {
		if !p.req.in(allowed) {
			continue
		}
		if needs {
			lv.nestLoop(j, p, cb, kind, own, above, false)
			continue
		}
		// With equalities a hash join costs no more, even of one row, and does not fall
		// apart when an estimate is wrong.
		if (len(keys) == 0 || lv.p.ctx.Settings.DisableHashJoin) && (p == ca || len(p.order) > 0) {
			lv.nestLoop(j, p, cb, kind, own, above, true)
		}
		if b.base >= 0 && lv.rte(b.base).Kind == planner.RTERelation && lv.rte(b.base).Sample == nil && !b.empty {
			for _, q := range lv.paramPaths(b.base, a.rels) {
				if q.req.in(allowed.union(a.rels)) && (p.unique == nil || uniqueGives(p.unique, q)) {
					lv.nestLoop(j, p, q, kind, own, above, false)
				}
			}
		}
		if b.base >= 0 && lv.rte(b.base).Kind == planner.RTEVirtual && !b.empty && p.unique == nil {
			for _, q := range lv.virtualLookups(b.base, a.rels) {
				if q.req.in(allowed.union(a.rels)) {
					lv.nestLoop(j, p, q, kind, own, above, false)
				}
			}
		}
	}
}

// uniqueGives reports that an index scan takes nothing from a relation without
// duplicates but the columns that are left of it.
func uniqueGives(u *uniquePath, q *path) bool {
	have := map[varKey]bool{}
	for _, v := range u.vars {
		have[keyOf(v)] = true
	}
	ok := true
	if q.scan == nil {
		return false
	}
	for _, c := range q.scan.used {
		planner.Visit(c.e, func(x expr.Expr) bool {
			if v, is := x.(*planner.Var); is && v.Level == 0 && !q.rel.rels.has(v.Rel) && !have[keyOf(v)] {
				ok = false
			}
			return ok
		})
	}
	return ok
}

// paramPaths are index scans of relation i that take key values from outer relations.
func (lv *level) paramPaths(i int, outer relSet) []*path {
	r := lv.rel(i)
	var extra []*clause
	var used relSet
	avail := outer.union(relOf(i))
	for _, c := range lv.clauses {
		if c.isBin && c.rels.has(i) && c.rels.in(avail) && c.req.in(avail) && c.rels.count() > 1 {
			extra = append(extra, c)
			used = used.union(c.rels)
		} else if a, ok := c.e.(*expr.ArrayOp); ok && c.rels.in(avail) && c.req.in(avail) && relsOf(a.Left) == relOf(i) {
			extra = append(extra, c)
			used = used.union(c.rels)
		}
	}
	for _, c := range lv.paramClauses(i, outer) {
		extra = append(extra, c)
		used = used.union(c.rels)
	}
	if len(extra) == 0 {
		return nil
	}
	if ps, ok := r.paramMemo[used]; ok {
		return ps
	}
	if r.paramMemo == nil {
		r.paramMemo = map[relSet][]*path{}
	}
	var ps []*path
	if ms := lv.members(i); ms != nil {
		ps = lv.treeLookups(i, ms, outer, extra)
	} else {
		ps = lv.indexPaths(i, outer, extra)
	}
	r.paramMemo[used] = ps
	return ps
}

func (lv *level) hashJoin(j *rel, l, r *path, kind planner.JoinKind, keys, cond, above []*clause, constKey bool) {
	p := &path{rel: j, rows: j.rows, req: l.req.union(r.req).minus(j.rels)}
	p.join = &joinPath{method: 'h', kind: kind, left: l, right: r, keys: keys, cond: cond, filter: above, constKey: constKey}
	build := r.rows * (costBuild + 0.001*float64(len(keys)))
	if lv.p.spills(r.rows, r.rel.width) {
		build += (r.rows + l.rows) * costSpill
	}
	probe := l.rows * (costProbe + 0.001*float64(len(keys)))
	pairs := lv.pairRows(j, l, r, kind, keys)
	p.startup = l.startup + r.total + build
	p.total = l.total + r.total + build + probe + pairs*(costEmit+clausesCost(cond)+clausesCost(above))
	if lv.p.ctx.Settings.DisableHashJoin {
		p.total += costDisable
	}
	// No order: a join that spills works partition by partition.
	j.addPath(p)
}

// pairRows estimates the pairs that agree on the hash keys.
func (lv *level) pairRows(j *rel, l, r *path, kind planner.JoinKind, keys []*clause) float64 {
	if kind == planner.JoinSemi || kind == planner.JoinAnti {
		return math.Max(j.rows, l.rows)
	}
	return math.Max(j.rows, l.rows*r.rows*lv.joinSel(l.rel, r.rel, keys))
}

// nestLoop runs the right side once per left row: with parameters (index look-ups,
// LATERAL) or over its kept rows.
func (lv *level) nestLoop(j *rel, l, r *path, kind planner.JoinKind, own, above []*clause, flat bool) {
	var cond []*clause
	for _, c := range own {
		if r.scan == nil || !r.scan.exact[c] {
			cond = append(cond, c)
		}
	}
	p := &path{rel: j, rows: j.rows, req: l.req.union(r.req).minus(j.rels)}
	p.join = &joinPath{method: 'n', kind: kind, left: l, right: r, cond: cond, filter: above, flat: flat}
	loops := math.Max(1, l.rows)
	if flat {
		pairs := loops * r.rows
		if kind == planner.JoinSemi || kind == planner.JoinAnti {
			pairs *= 0.6
		}
		p.startup = l.startup + r.startup
		p.total = l.total + r.total + r.rows*costEmit + pairs*(costPair+clausesCost(cond)) + j.rows*(costEmit+clausesCost(above))
	} else {
		p.startup = l.startup + r.startup
		p.total = l.total + loops*(costRescan+r.total) + loops*r.rows*clausesCost(cond) + j.rows*(costEmit+clausesCost(above))
	}
	if lv.p.ctx.Settings.DisableNestLoop {
		p.total += costDisable
	}
	if keepsOrder(kind) {
		p.order = l.order
	}
	j.addPath(p)
}

// keepsOrder: nested loops and merge joins of these kinds yield rows in the left
// side's order; outer joins put a batch's padded rows behind its others.
func keepsOrder(kind planner.JoinKind) bool {
	return kind == planner.JoinInner || kind == planner.JoinSemi || kind == planner.JoinAnti
}

// mergeJoins joins two inputs that are already ordered on a key, or of which one is
// and the other is sorted.
func (lv *level) mergeJoins(j *rel, a, b *rel, kind planner.JoinKind, keys, cond, above []*clause) {
	if lv.p.ctx.Settings.DisableMergeJoin || kind == planner.JoinRight {
		return
	}
	for _, c := range keys {
		if !sameMergeType(c) {
			return
		}
	}
	for _, l := range a.paths {
		if len(l.order) == 0 || !l.req.in(j.lateral) {
			continue
		}
		// The left order's leading keys that are join keys, ascending.
		var ordered []*clause
		rest := append([]*clause(nil), keys...)
		var want []pathKey
		for _, k := range l.order {
			found := -1
			for n, c := range rest {
				lk, _ := lv.orderID(sideIn(c, a.rels))
				if lk == k.id && !k.desc && !k.nullsFirst {
					found = n
					break
				}
			}
			if found < 0 {
				break
			}
			c := rest[found]
			rest = append(rest[:found], rest[found+1:]...)
			ordered = append(ordered, c)
			id, _ := lv.orderID(sideIn(c, b.rels))
			want = append(want, pathKey{id: id})
		}
		if len(ordered) == 0 {
			continue
		}
		for _, r := range b.paths {
			if !r.req.in(j.lateral) || !orderCovers(r.order, want) {
				continue
			}
			p := &path{rel: j, rows: j.rows, req: l.req.union(r.req).minus(j.rels)}
			p.join = &joinPath{method: 'm', kind: kind, left: l, right: r, keys: ordered, cond: append(append([]*clause(nil), cond...), rest...), filter: above}
			p.startup = l.startup + r.startup
			p.total = l.total + r.total + (l.rows+r.rows)*0.005*float64(len(ordered)) + lv.pairRows(j, l, r, kind, ordered)*(costEmit*2+clausesCost(p.join.cond)+clausesCost(above))
			if keepsOrder(kind) {
				p.order = l.order
			}
			j.addPath(p)
		}
	}
}

func sameMergeType(c *clause) bool {
	return c.family != 0 && c.bin.op.CanMerge
}

// sideIn is the side of an equality over the given relations.
func sideIn(c *clause, s relSet) expr.Expr {
	if c.leftRels.in(s) {
		return c.bin.left
	}
	return c.bin.right
}
