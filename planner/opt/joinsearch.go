package opt

import (
	"math"
	"math/bits"
	"sort"

	"ostraka/planner"
)

// Up to this many relations the join order is found by dynamic programming over
// subsets; above, greedily.
const (
	maxDP      = 12
	maxDPDense = 10 // when the join graph is dense
)

// searchJoins finds the best ways to join all of the level's relations.
func (lv *level) searchJoins() *rel {
	items := lv.allRels.members()
	if len(items) == 1 {
		return lv.rel(items[0])
	}
	s := &joinSearch{lv: lv, items: items}
	s.neighbours()
	n := len(items)
	edges := 0
	for _, a := range s.adj {
		edges += bits.OnesCount64(a)
	}
	if n <= maxDPDense || n <= maxDP && edges <= 4*n {
		if r := s.dp(); r != nil {
			return r
		}
	}
	if r := s.greedy(); r != nil {
		return r
	}
	return s.written()
}

type joinSearch struct {
	lv     *level
	items  []int
	adj    []uint64 // by item: items it shares a condition with (only for ≤ 64 items)
	adjRel []relSet // the same as relation sets
}

// neighbours notes which relations conditions, classes, special joins and lateral references link.
func (s *joinSearch) neighbours() {
	n := len(s.items)
	s.adj, s.adjRel = make([]uint64, n), make([]relSet, n)
	pos := map[int]int{}
	for i, r := range s.items {
		pos[r] = i
	}
	link := func(a, b relSet) {
		for _, x := range a.members() {
			i, ok := pos[x]
			if !ok {
				continue
			}
			for _, y := range b.members() {
				if j, ok := pos[y]; ok && i != j {
					s.adjRel[i] = s.adjRel[i].union(relOf(y))
					s.adjRel[j] = s.adjRel[j].union(relOf(x))
					if n <= 64 {
						s.adj[i] |= 1 << j
						s.adj[j] |= 1 << i
					}
				}
			}
		}
	}
	for _, c := range s.lv.clauses {
		link(c.rels, c.rels)
	}
	for _, ec := range s.lv.classes {
		if ec.constant != nil {
			continue
		}
		var all relSet
		for _, m := range ec.members {
			all = all.union(m.rels)
		}
		link(all, all)
	}
	for _, sj := range s.lv.sjs {
		link(sj.minLeft, sj.minRight)
	}
	for _, r := range s.items {
		link(relOf(r), s.lv.rel(r).lateral)
	}
}

func (s *joinSearch) linked(a, b uint64) bool {
	for x := a; x != 0; x &= x - 1 {
		if s.adj[bits.TrailingZeros64(x)]&b != 0 {
			return true
		}
	}
	return false
}

// connected reports that the items of m hang together.
func (s *joinSearch) connected(m uint64) bool {
	seen := m & -m
	for grow := seen; grow != 0; {
		i := bits.TrailingZeros64(grow)
		grow &^= 1 << i
		add := s.adj[i] & m &^ seen
		seen |= add
		grow |= add
	}
	return seen == m
}

// dp joins connected subsets of growing size; what conditions do not connect is
// joined by cross products at the end.
func (s *joinSearch) dp() *rel {
	n := len(s.items)
	best := make(map[uint64]*rel, 1<<n)
	for i, r := range s.items {
		best[1<<i] = s.lv.rel(r)
	}
	full := uint64(1)<<n - 1
	s.enumerate(best, full, func(a, b uint64) bool { return s.linked(a, b) }, s.connected)
	if r := best[full]; r != nil {
		return r
	}
	if n <= maxDPDense {
		// Cross products, or conditions that link no two sets: allow every pair.
		s.enumerate(best, full, func(a, b uint64) bool { return true }, func(uint64) bool { return true })
	}
	return best[full]
}

func (s *joinSearch) enumerate(best map[uint64]*rel, full uint64, pair func(a, b uint64) bool, want func(uint64) bool) {
	masks := make([]uint64, 0, full)
	for m := uint64(3); m <= full; m++ {
		if bits.OnesCount64(m) >= 2 && best[m] == nil && want(m) {
			masks = append(masks, m)
		}
	}
	sort.Slice(masks, func(i, j int) bool {
		a, b := bits.OnesCount64(masks[i]), bits.OnesCount64(masks[j])
		return a < b || a == b && masks[i] < masks[j]
	})
	for _, m := range masks {
		low := m & -m
		var j *rel
		for sub := (m - 1) & m; sub != 0; sub = (sub - 1) & m {
			if sub&low == 0 { // each split once
				continue
			}
			a, b := best[sub], best[m&^sub]
			if a == nil || b == nil || !pair(sub, m&^sub) {
				continue
			}
			j = s.lv.join(j, a, b)
		}
		if j != nil {
			s.lv.finishJoin(j)
			best[m] = j
		}
	}
}

// greedy joins, again and again, the pair whose result is smallest (GOO).
func (s *joinSearch) greedy() *rel {
	var rels []*rel
	for _, r := range s.items {
		rels = append(rels, s.lv.rel(r))
	}
	around := func(r *rel) relSet {
		var a relSet
		for i, it := range s.items {
			if r.rels.has(it) {
				a = a.union(s.adjRel[i])
			}
		}
		return a
	}
	near := make([]relSet, len(rels))
	for i, r := range rels {
		near[i] = around(r)
	}
	type pairKey struct{ a, b *rel }
	memo := map[pairKey]*rel{}
	for len(rels) > 1 {
		var bestRel *rel
		bi, bj := -1, -1
		for pass := 0; pass < 2 && bestRel == nil; pass++ {
			for i := range rels {
				for j := i + 1; j < len(rels); j++ {
					if pass == 0 && !near[i].overlaps(rels[j].rels) {
						continue
					}
					k := pairKey{rels[i], rels[j]}
					r, done := memo[k]
					if !done {
						r = s.lv.join(nil, rels[i], rels[j])
						if r != nil {
							s.lv.finishJoin(r)
						}
						memo[k] = r
					}
					if r != nil && (bestRel == nil || r.rows < bestRel.rows || r.rows == bestRel.rows && r.cheapestCost() < bestRel.cheapestCost()) {
						bestRel, bi, bj = r, i, j
					}
				}
			}
		}
		if bestRel == nil {
			return nil
		}
		rels[bi] = bestRel
		near[bi] = near[bi].union(near[bj])
		rels = append(rels[:bj], rels[bj+1:]...)
		near = append(near[:bj], near[bj+1:]...)
	}
	return rels[0]
}

func (r *rel) cheapestCost() float64 {
	c := math.Inf(1)
	for _, p := range r.paths {
		c = math.Min(c, p.total)
	}
	return c
}

// written joins in the written order, which is always possible.
func (s *joinSearch) written() *rel {
	var walk func(it planner.JoinItem) *rel
	walk = func(it planner.JoinItem) *rel {
		if it.Join == nil {
			if !s.lv.allRels.has(it.Rel) {
				return nil
			}
			return s.lv.rel(it.Rel)
		}
		return s.join2(walk(it.Join.Left), walk(it.Join.Right))
	}
	var top *rel
	for _, it := range s.lv.q.From {
		top = s.join2(top, walk(it))
	}
	return top
}

func (s *joinSearch) join2(a, b *rel) *rel {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	r := s.lv.join(nil, a, b)
	if r == nil {
		s.lv.p.bug("no legal join order")
		return a
	}
	s.lv.finishJoin(r)
	return r
}

// legal decides whether two sets may be joined and by which special join (nil:
// an inner join); reversed: with b as its left side (after PostgreSQL's join_is_legal).
func (lv *level) legal(a, b relSet) (match *specialJoin, reversed, ok bool) {
	both := a.union(b)
	mustLeft := false
	for _, sj := range lv.sjs {
		if sj.kind == planner.JoinFull {
			// The sides of a full join are joined as written before anything else.
			all := sj.synLeft.union(sj.synRight)
			switch {
			case !both.overlaps(all), both.in(sj.synLeft), both.in(sj.synRight), all.in(a), all.in(b):
			case a == sj.synLeft && b == sj.synRight || a == sj.synRight && b == sj.synLeft:
				if match != nil {
					return nil, false, false
				}
				match, reversed = sj, a == sj.synRight
			default:
				return nil, false, false
			}
			continue
		}
		if !sj.minRight.overlaps(both) || both.in(sj.minRight) {
			continue
		}
		if sj.minLeft.in(a) && sj.minRight.in(a) || sj.minLeft.in(b) && sj.minRight.in(b) {
			continue
		}
		switch {
		case sj.minLeft.in(a) && sj.minRight.in(b):
			if match != nil {
				return nil, false, false
			}
			match, reversed = sj, false
		case sj.minLeft.in(b) && sj.minRight.in(a):
			if match != nil {
				return nil, false, false
			}
			match, reversed = sj, true
		default:
			if a.overlaps(sj.minRight) && b.overlaps(sj.minRight) {
				continue // checked when the inputs were made
			}
			if sj.kind != planner.JoinLeft || both.overlaps(sj.minLeft) {
				return nil, false, false
			}
			mustLeft = true
		}
	}
	if mustLeft && (match == nil || match.kind != planner.JoinLeft || !match.lhsStrict) {
		return nil, false, false
	}
	return match, reversed, true
}
