package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// clause is one conjunct of a condition, with where it may be evaluated.
type clause struct {
	e    expr.Expr
	rels relSet // that it refers to
	// req must be joined before it is evaluated: rels, and for conditions above an
	// outer join whose padded side they see, that whole join.
	req relSet
	// outer: the ON condition of an outer join, part of the join itself; others are filters.
	outer bool
	bin   binaryOp
	isBin bool
	// equi: left = right, the sides over disjoint, non-empty sets, and hashable.
	equi               bool
	leftRels, rightRel relSet
	family             sqltypes.OID // btree family of the equality
	derived            bool         // implied by others: says nothing new about row counts
	// hides is the place, from 1, among the SecurityQuals of its relation; 0: it is none.
	hides int
	sel   float64 // cached selectivity, < 0 unknown
}

// specialJoin is an outer, semi or anti join of the tree, with the constraint
// that it puts on the join order: it can be formed once minLeft is on its left
// and minRight on its right (PostgreSQL's SpecialJoinInfo).
type specialJoin struct {
	kind              planner.JoinKind // Left, Full, Semi, Anti
	minLeft, minRight relSet
	synLeft, synRight relSet // as written
	lhsStrict         bool   // ON rejects NULLs from the left side
	delayUpper        bool   // a condition above needs the padded rows
	on                expr.Expr
	clauses           []*clause
}

func (lv *level) newClause(e expr.Expr) *clause {
	c := &clause{e: e, rels: relsOf(e), sel: -1}
	c.req = c.rels
	if b, ok := asBinary(e); ok {
		c.bin, c.isBin = b, true
		c.leftRels, c.rightRel = relsOf(b.left), relsOf(b.right)
		if s, fam := btreeStrategy(b.op, 0); s == sqltypes.BtreeEqual {
			c.family = fam
		}
		c.equi = !c.leftRels.empty() && !c.rightRel.empty() && !c.leftRels.overlaps(c.rightRel) && lv.p.hashable(b) && !volatileExpr(e) && !hasSubPlan(e)
	}
	return c
}

// deconstruct distributes all conditions of the level over its relations.
func (lv *level) deconstruct() {
	lv.byMember = map[string]*eqClass{}
	var all relSet
	var inner relSet
	for _, it := range lv.q.From {
		r, in := lv.deconstructItem(it)
		all = all.union(r)
		inner = inner.union(in)
	}
	for _, e := range lv.p.canonical(lv.q.Where) {
		lv.distribute(e, all, true, relSet{}, relSet{}, nil)
	}
	lv.finishClasses()
	lv.outerConstants()
}

// deconstructItem returns the relations below and those that are inner-joined.
func (lv *level) deconstructItem(it planner.JoinItem) (rels, inner relSet) {
	j := it.Join
	if j == nil {
		if lv.rte(it.Rel).Kind == planner.RTEResult && it.Rel >= 0 && lv.droppable(it.Rel) {
			return relSet{}, relSet{}
		}
		lv.securityClauses(it.Rel)
		return relOf(it.Rel), relOf(it.Rel)
	}
	left, leftIn := lv.deconstructItem(j.Left)
	right, rightIn := lv.deconstructItem(j.Right)
	scope := left.union(right)
	conds := lv.p.canonical(j.On)
	if j.Kind == planner.JoinInner {
		for _, e := range conds {
			lv.distribute(e, scope, false, relSet{}, relSet{}, nil)
		}
		return scope, scope
	}
	inner = leftIn.union(rightIn)
	sj := lv.makeSpecialJoin(left, right, inner, j.Kind, andOf(conds))
	var ojScope, nonNullable relSet
	switch j.Kind {
	case planner.JoinLeft, planner.JoinAnti:
		ojScope, nonNullable = sj.minLeft.union(sj.minRight), left
		lv.nullable = lv.nullable.union(right)
	case planner.JoinFull:
		ojScope, nonNullable = sj.minLeft.union(sj.minRight), scope
		lv.nullable = lv.nullable.union(scope)
	}
	for _, e := range conds {
		lv.distribute(e, scope, false, ojScope, nonNullable, sj)
	}
	lv.sjs = append(lv.sjs, sj)
	return scope, inner
}

// droppable: a relation of one row and no columns that is not the only one.
func (lv *level) droppable(rel int) bool {
	inOuter := false
	n := 0
	var walk func(it planner.JoinItem, outer bool)
	walk = func(it planner.JoinItem, outer bool) {
		if it.Join == nil {
			if it.Rel == rel {
				inOuter = outer
			} else if lv.rte(it.Rel).Kind != planner.RTEResult {
				n++
			}
			return
		}
		k := it.Join.Kind != planner.JoinInner
		// Only a direct side of an outer join matters; below an inner join with others it can go.
		walk(it.Join.Left, k)
		walk(it.Join.Right, k)
	}
	for _, it := range lv.q.From {
		walk(it, false)
	}
	return n > 0 && !inOuter
}

func (lv *level) makeSpecialJoin(left, right, inner relSet, kind planner.JoinKind, on expr.Expr) *specialJoin {
	sj := &specialJoin{kind: kind, synLeft: left, synRight: right, on: on}
	if kind == planner.JoinFull {
		sj.minLeft, sj.minRight = left, right
		return sj
	}
	refs := relsOf(on)
	strict := nonNullRels(on, true)
	sj.lhsStrict = strict.overlaps(left)
	minL := refs.inter(left)
	minR := refs.union(inner).inter(right)
	semi := kind == planner.JoinSemi || kind == planner.JoinAnti
	for _, o := range lv.sjs {
		if o.kind == planner.JoinFull {
			both := o.synLeft.union(o.synRight)
			if left.overlaps(both) {
				minL = minL.union(both)
			}
			if right.overlaps(both) {
				minR = minR.union(both)
			}
			continue
		}
		if left.overlaps(o.synRight) && refs.overlaps(o.synRight) && (semi || !strict.overlaps(o.minRight)) {
			minL = minL.union(o.synLeft).union(o.synRight)
		}
		if right.overlaps(o.synRight) && (refs.overlaps(o.synRight) || !refs.overlaps(o.minLeft) || semi ||
			o.kind == planner.JoinSemi || o.kind == planner.JoinAnti || !o.lhsStrict || o.delayUpper) {
			minR = minR.union(o.synLeft).union(o.synRight)
		}
	}
	if minL.empty() {
		minL = left
	}
	if minR.empty() {
		minR = right
	}
	sj.minLeft, sj.minRight = minL, minR
	return sj
}

// distribute files one conjunct. scope is the join it was written at; for an outer
// join's ON condition ojScope is what the join needs, nonNullable the preserved side.
func (lv *level) distribute(e expr.Expr, scope relSet, top bool, ojScope, nonNullable relSet, sj *specialJoin) {
	if isTrue(e) {
		return
	}
	c := lv.newClause(e)
	vol := volatileExpr(e)
	if c.rels.empty() {
		switch {
		case !ojScope.empty():
			c.req = ojScope
		case top && !vol:
			lv.addOneTime(e)
			return
		default:
			c.req = scope
		}
		c.outer = !ojScope.empty()
		lv.file(c, sj)
		return
	}
	if !ojScope.empty() && (c.rels.overlaps(nonNullable)) {
		c.outer = true
		c.req = ojScope.union(c.rels)
		lv.delay(c.rels, false)
		lv.file(c, sj)
		return
	}
	var delayed bool
	c.req, delayed = lv.delay(c.rels, true)
	if !delayed && !vol && lv.equivalence(c) {
		return
	}
	if vol && !c.rels.empty() && sj == nil && scope.count() > 1 && c.rels.count() > 1 {
		c.req = c.req.union(c.rels)
	}
	lv.file(c, sj)
	if c.req.count() > 1 && !delayed && sj == nil {
		for _, r := range orRestrictions(e) {
			d := lv.newClause(r)
			d.derived = true
			if !lv.nullable.overlaps(d.rels) {
				lv.file(d, nil)
			}
		}
	}
}

func (lv *level) addOneTime(e expr.Expr) {
	if isFalseOrNull(e) {
		lv.constFalse = true
	}
	lv.oneTime = append(lv.oneTime, e)
}

// delay widens the relations of a condition by the outer joins below it whose
// padded side it sees.
func (lv *level) delay(rels relSet, pushed bool) (req relSet, delayed bool) {
	req = rels
	for again := true; again; {
		again = false
		for _, sj := range lv.sjs {
			if !req.overlaps(sj.minRight) && !(sj.kind == planner.JoinFull && req.overlaps(sj.minLeft)) {
				continue
			}
			if sj.kind == planner.JoinSemi {
				continue
			}
			need := sj.minLeft.union(sj.minRight)
			if !need.in(req) {
				req = req.union(need)
				again = true
			}
			delayed = true
			if pushed && sj.kind != planner.JoinFull && req.overlaps(sj.minLeft) {
				sj.delayUpper = true
			}
		}
	}
	return req, delayed
}

// file puts a clause on its relation or among the join clauses.
func (lv *level) file(c *clause, sj *specialJoin) {
	if c.outer && sj != nil {
		sj.clauses = append(sj.clauses, c)
	}
	if r := c.req.single(); r >= 0 && !c.outer {
		lv.rel(r).restrict = append(lv.rel(r).restrict, c)
		return
	}
	lv.clauses = append(lv.clauses, c)
}
