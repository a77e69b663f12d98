package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// eqClass is a set of expressions that are equal in every row of the result
// (conditions a = b, b = c …), perhaps to a constant.
type eqClass struct {
	id        int
	family    sqltypes.OID
	collation sqltypes.OID
	members   []*eqMember
	constant  expr.Expr // not nil: what all are equal to
	sources   map[[2]string]*clause
	made      map[[2]string]*clause
	merged    *eqClass // into which other class this one went
}

type eqMember struct {
	e    expr.Expr
	key  string
	rels relSet
}

// equivalence takes an equality into the classes; false if it is none.
func (lv *level) equivalence(c *clause) bool {
	if !c.isBin || c.family == 0 || !c.bin.op.CanMerge || c.leftRels.overlaps(c.rightRel) && c.leftRels.single() < 0 {
		return false
	}
	if c.leftRels.overlaps(c.rightRel) && sameExpr(c.bin.left, c.bin.right) {
		return false
	}
	l, r := c.bin.left, c.bin.right
	if hasSubPlan(l) && hasVars(l) || hasSubPlan(r) && hasVars(r) {
		return false
	}
	if !sameRepresentation(l.Type().OID, r.Type().OID) {
		return false
	}
	// Every two members must be comparable by the family.
	for _, pair := range [][2]expr.Expr{{l, r}, {r, l}, {l, l}, {r, r}} {
		if equalityOf(c.family, pair[0], pair[1], 0) == nil {
			return false
		}
	}
	var a, b *eqClass
	if !c.leftRels.empty() {
		a = lv.classOf(l, c)
	}
	if !c.rightRel.empty() {
		b = lv.classOf(r, c)
	}
	switch {
	case a == nil && b == nil:
		return false
	case a == nil:
		a, b = b, a
		l, r = r, l
	}
	// Two different constants in one class: the second condition stays on its own.
	if b == nil { // r is constant
		if a.constant != nil && !sameExpr(a.constant, r) {
			return false
		}
		a.constant = r
	} else if a != b {
		if a.constant != nil && b.constant != nil && !sameExpr(a.constant, b.constant) {
			return false
		}
		lv.mergeClasses(a, b)
	}
	a.sources[[2]string{exprKey(l), exprKey(r)}] = c
	return true
}

func hasVars(e expr.Expr) bool { return !relsOf(e).empty() }

// classOf finds or makes the class of an expression.
func (lv *level) classOf(e expr.Expr, c *clause) *eqClass {
	k := exprKey(e)
	id := string(keyInt(keyInt([]byte(k), '!', int64(c.family)), '!', int64(c.bin.call.Collation)))
	if ec := lv.byMember[id]; ec != nil {
		return ec
	}
	ec := &eqClass{id: len(lv.classes), family: c.family, collation: c.bin.call.Collation, sources: map[[2]string]*clause{}, made: map[[2]string]*clause{}}
	ec.members = []*eqMember{{e: e, key: k, rels: relsOf(e)}}
	lv.classes = append(lv.classes, ec)
	lv.byMember[id] = ec
	return ec
}

func (lv *level) mergeClasses(a, b *eqClass) {
	if a.constant == nil {
		a.constant = b.constant
	}
	a.members = append(a.members, b.members...)
	for k, c := range b.sources {
		a.sources[k] = c
	}
	for id, ec := range lv.byMember {
		if ec == b {
			lv.byMember[id] = a
		}
	}
	b.merged = a
	for i, ec := range lv.classes {
		if ec == b {
			lv.classes = append(lv.classes[:i], lv.classes[i+1:]...)
			break
		}
	}
}

// finishClasses derives the conditions on single relations: member = constant,
// and equalities of members of one relation.
func (lv *level) finishClasses() {
	for i, ec := range lv.classes {
		ec.id = i
		if ec.constant != nil {
			for _, m := range ec.members {
				if c := lv.between(ec, &eqMember{e: m.e, key: m.key, rels: m.rels}, &eqMember{e: ec.constant, key: exprKey(ec.constant)}); c != nil {
					lv.file(c, nil)
				}
			}
			continue
		}
		last := map[int]*eqMember{}
		for _, m := range ec.members {
			r := m.rels.single()
			if r < 0 {
				continue
			}
			if prev := last[r]; prev != nil {
				if c := lv.between(ec, prev, m); c != nil {
					lv.file(c, nil)
				}
			}
			last[r] = m
		}
	}
}

// between is the condition a = b of a class: the written one if there was one.
func (lv *level) between(ec *eqClass, a, b *eqMember) *clause {
	k, rk := [2]string{a.key, b.key}, [2]string{b.key, a.key}
	for _, kk := range [][2]string{k, rk} {
		if c := ec.sources[kk]; c != nil {
			return c
		}
		if c := ec.made[kk]; c != nil {
			return c
		}
	}
	eq := equalityOf(ec.family, a.e, b.e, ec.collation)
	if eq == nil {
		return nil
	}
	c := lv.newClause(eq)
	ec.made[k] = c
	return c
}

// joinClauses are the conditions that become evaluable when two sets are joined.
func (lv *level) joinClauses(s1, s2 relSet) []*clause {
	both := s1.union(s2)
	// Columns of a semi or anti join's right side are not there above it.
	h1, h2 := lv.hidden(s1), lv.hidden(s2)
	var out []*clause
	for _, c := range lv.clauses {
		if c.req.in(both) && !c.req.in(s1) && !c.req.in(s2) {
			out = append(out, c)
		}
	}
	for _, ec := range lv.classes {
		if ec.constant != nil {
			continue
		}
		var l, r *eqMember
		for _, m := range ec.members {
			switch {
			case m.rels.in(s1):
				if l == nil && !m.rels.overlaps(h1) {
					l = m
				}
			case m.rels.in(s2):
				if r == nil && !m.rels.overlaps(h2) {
					r = m
				}
			}
		}
		if l != nil && r != nil {
			// A written condition between the two sides, if there is one.
			best := lv.writtenBetween(ec, s1.minus(h1), s2.minus(h2))
			if best == nil {
				best = lv.between(ec, l, r)
			}
			if best != nil {
				out = append(out, best)
			}
		}
		for _, m := range ec.members {
			if m.rels.in(both) && !m.rels.in(s1) && !m.rels.in(s2) && !m.rels.overlaps(h1.union(h2)) {
				other := l
				if other == nil {
					other = r
				}
				if other == nil {
					for _, o := range ec.members {
						if o != m && o.rels.in(both) {
							other = o
							break
						}
					}
				}
				if other != nil {
					if c := lv.between(ec, other, m); c != nil {
						out = append(out, c)
					}
				}
			}
		}
	}
	return out
}

// hidden are the right sides of the semi and anti joins that were done within s.
func (lv *level) hidden(s relSet) relSet {
	var out relSet
	for _, sj := range lv.sjs {
		if (sj.kind == planner.JoinSemi || sj.kind == planner.JoinAnti) && sj.minLeft.in(s) && sj.minRight.in(s) {
			out = out.union(sj.synRight)
		}
	}
	return out
}

func (lv *level) writtenBetween(ec *eqClass, s1, s2 relSet) *clause {
	var best *clause
	for _, m := range ec.members {
		if !m.rels.in(s1) {
			continue
		}
		for _, o := range ec.members {
			if !o.rels.in(s2) {
				continue
			}
			c := ec.sources[[2]string{m.key, o.key}]
			if c == nil {
				c = ec.sources[[2]string{o.key, m.key}]
			}
			if c != nil {
				return c
			}
		}
	}
	return best
}

// paramClauses are the equalities of classes by which a single relation could be
// looked up once the outer relations are known.
func (lv *level) paramClauses(r int, outer relSet) []*clause {
	var out []*clause
	me := relOf(r)
	outer = outer.minus(lv.hidden(outer))
	for _, ec := range lv.classes {
		if ec.constant != nil {
			continue
		}
		for _, m := range ec.members {
			if m.rels != me {
				continue
			}
			if c := lv.writtenBetween(ec, me, outer); c != nil && (sameExpr(c.bin.left, m.e) || sameExpr(c.bin.right, m.e)) {
				out = append(out, c)
				continue
			}
			for _, o := range ec.members {
				if !o.rels.overlaps(me) && !o.rels.empty() && o.rels.in(outer) {
					if c := lv.between(ec, m, o); c != nil {
						out = append(out, c)
						break
					}
				}
			}
		}
	}
	return out
}

// outerConstants: with a LEFT JOIN b ON a.x = b.y and a.x = constant, b.y = constant
// restricts b below the join.
func (lv *level) outerConstants() {
	for _, sj := range lv.sjs {
		if sj.kind != planner.JoinLeft && sj.kind != planner.JoinAnti {
			continue
		}
		for _, c := range sj.clauses {
			if !c.equi || c.family == 0 {
				continue
			}
			l, r := c.bin.left, c.bin.right
			if c.rightRel.in(sj.synLeft) {
				l, r = r, l
			}
			rr := relsOf(r)
			if !relsOf(l).in(sj.synLeft) || !rr.in(sj.synRight) || rr.single() < 0 {
				continue
			}
			ec := lv.byMember[string(keyInt(keyInt([]byte(exprKey(l)), '!', int64(c.family)), '!', int64(c.bin.call.Collation)))]
			if ec == nil || ec.constant == nil {
				continue
			}
			if eq := equalityOf(ec.family, r, ec.constant, ec.collation); eq != nil {
				d := lv.newClause(eq)
				lv.rel(rr.single()).restrict = append(lv.rel(rr.single()).restrict, d)
				c.derived = true // the join finds all of them
			}
		}
	}
}

// orderID names an expression in orderings: members of one class are the same.
func (lv *level) orderID(e expr.Expr) (id string, constant bool) {
	if _, ok := e.(*expr.Const); ok {
		return "", true
	}
	k := exprKey(e)
	if lv.byMember != nil {
		for _, fam := range btreeFamiliesOf(e) {
			if ec := lv.byMember[string(keyInt(keyInt([]byte(k), '!', int64(fam)), '!', int64(e.Type().Collation)))]; ec != nil {
				return string(keyInt([]byte{'='}, '#', int64(ec.id))), ec.constant != nil
			}
		}
	}
	return k, false
}

func btreeFamiliesOf(e expr.Expr) []sqltypes.OID {
	if c := sqltypes.DefaultOpClass(sqltypes.AMBtree, e.Type().OID); c != nil {
		return []sqltypes.OID{c.Family}
	}
	return nil
}
