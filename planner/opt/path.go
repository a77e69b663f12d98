package opt

import (
	"math"

	"ostraka/planner"
)

// rel is a set of joined relations (of one: a base relation) with the ways to compute it.
type rel struct {
	rels   relSet
	base   int // range index; -1 for a join
	rows   float64
	width  int
	tuples float64 // base: rows before restrictions
	// lateral: relations whose columns it reads by ExecParam and does not contain.
	lateral  relSet
	restrict []*clause // base
	paths    []*path
	// uniqueKey: columns of a subquery that together are unique.
	uniqueKey []int
	empty     bool
	needed    []int // base: columns that are read (Var.Col), ascending
	paramMemo map[relSet][]*path
}

// pathKey is one key of a path's order.
type pathKey struct {
	id         string // level.orderID
	desc       bool
	nullsFirst bool
}

// path is one way to compute a rel. Exactly one of scan, leaf, join, unique, sort is set.
type path struct {
	rel            *rel
	rows           float64
	startup, total float64
	order          []pathKey
	req            relSet // outer relations that set its ExecParams

	scan   *scanPath
	leaf   func(need map[varKey]bool) built // other leaves
	join   *joinPath
	unique *uniquePath
}

type joinPath struct {
	method      byte // h hash, n nested loop, m merge
	kind        planner.JoinKind
	left, right *path
	keys        []*clause // hash and merge
	cond        []*clause // further conditions of the join itself
	filter      []*clause // evaluated above it
	flat        bool      // nested loop over a materialised right side
	constKey    bool      // hash join with a constant key (FULL JOIN without equalities)
}

type uniquePath struct {
	input *path
	vars  []*planner.Var
}

// addPath keeps p unless another is at least as good in every respect, and drops those it beats.
func (r *rel) addPath(p *path) {
	const fuzz = 1.0001
	beats := func(a, b *path) bool {
		return a.req.in(b.req) && a.total <= b.total*fuzz && a.startup <= b.startup*fuzz && orderCovers(a.order, b.order)
	}
	for _, o := range r.paths {
		if beats(o, p) {
			return
		}
	}
	out := r.paths[:0]
	for _, o := range r.paths {
		if !beats(p, o) {
			out = append(out, o)
		}
	}
	r.paths = append(out, p)
}

// orderCovers reports that an input ordered by have is ordered by want.
func orderCovers(have, want []pathKey) bool {
	if len(want) > len(have) {
		return false
	}
	for i := range want {
		if have[i] != want[i] {
			return false
		}
	}
	return true
}

// commonPrefix is the number of leading keys of want that have provides.
func commonPrefix(have, want []pathKey) int {
	n := 0
	for n < len(have) && n < len(want) && have[n] == want[n] {
		n++
	}
	return n
}

// cheapest returns the path with the least total cost that needs no outer relation
// beyond allowed.
func (r *rel) cheapest(allowed relSet) *path {
	var best *path
	for _, p := range r.paths {
		if p.req.in(allowed) && (best == nil || p.total < best.total) {
			best = p
		}
	}
	return best
}

func clampRows(n float64) float64 {
	if math.IsNaN(n) || n < 1 {
		return 1
	}
	if n > 1e15 {
		return 1e15
	}
	return math.Round(n)
}
