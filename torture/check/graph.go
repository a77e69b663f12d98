package check

import (
	"fmt"
	"strings"

	"ostraka/torture/history"
)

// dep is a kind of dependency; a set of kinds is their sum.
type dep uint8

const (
	ww dep = 1 << iota
	wr
	rw
)

func (d dep) String() string { return map[dep]string{ww: "ww", wr: "wr", rw: "rw"}[d] }

// edge is a dependency: its owner comes before to.
type edge struct {
	to  int
	dep dep
	why string
}

// graph is a graph of transactions.
type graph struct {
	ops   []*history.Op
	index map[*history.Op]int
	out   [][]edge
}

func (g *graph) node(o *history.Op) int {
	i, ok := g.index[o]
	if !ok {
		i = len(g.ops)
		g.index[o] = i
		g.ops, g.out = append(g.ops, o), append(g.out, nil)
	}
	return i
}

func (g *graph) add(from, to *history.Op, d dep, format string, args ...any) {
	if from == nil || to == nil || from == to {
		return
	}
	f, t := g.node(from), g.node(to)
	for _, e := range g.out[f] {
		if e.to == t && e.dep == d {
			return
		}
	}
	g.out[f] = append(g.out[f], edge{t, d, fmt.Sprintf(format, args...)})
}

// graph of the dependencies that the lists tell.
func (a *appends) graph(h history.History) *graph {
	g := &graph{index: map[*history.Op]int{}}
	for _, key := range a.keys() {
		l := a.lists[key]
		// writer of the i-th element; appends that were read by nobody have no place.
		at := map[int64]int{}
		for i, v := range l.longest {
			at[v] = i
			if i > 0 {
				g.add(a.writers[element{key, l.longest[i-1]}], a.writers[element{key, v}], ww, "%d after %d on key %d", v, l.longest[i-1], key)
			}
		}
		for _, r := range l.reads {
			next := 0
			if n := len(r.value); n > 0 {
				last := r.value[n-1]
				g.add(a.writers[element{key, last}], r.op, wr, "read %d on key %d", last, key)
				i, ok := at[last]
				if !ok {
					continue
				}
				next = i + 1
			}
			if next < len(l.longest) {
				g.add(r.op, a.writers[element{key, l.longest[next]}], rw, "did not see %d on key %d", l.longest[next], key)
			}
		}
	}
	return g
}

// step is one edge of a cycle with its owner.
type step struct {
	from int
	edge
}

// cycles reports, of every strongly connected part, a shortest cycle of each kind.
func (a *appends) cycles(g *graph) {
	report := func(k Kind, c []step) {
		var b strings.Builder
		ops := make([]*history.Op, len(c))
		for i, s := range c {
			ops[i] = g.ops[s.from]
			fmt.Fprintf(&b, "#%d -%v (%s)→ ", g.ops[s.from].ID, s.dep, s.why)
		}
		fmt.Fprintf(&b, "#%d", g.ops[c[0].from].ID)
		a.found(k, ops, "%s", b.String())
	}
	for _, part := range g.parts(ww) {
		if c := g.shortest(part, ww, ww, 0); c != nil {
			report(G0, c)
		}
	}
	for _, part := range g.parts(ww | wr) {
		if c := g.shortest(part, wr, ww|wr, 0); c != nil {
			report(G1c, c)
		}
	}
	// Of the kinds with rw the strongest is named: every level that forbids the
	// weaker ones forbids it too.
	for _, part := range g.parts(ww | wr | rw) {
		if c := g.shortest(part, rw, ww|wr, 0); c != nil {
			report(GSingle, c)
		} else if c := g.shortest(part, rw, ww|wr|rw, 2); c != nil {
			report(GNonadjacent, c)
		} else if c := g.shortest(part, rw, ww|wr|rw, 1); c != nil {
			report(G2Item, c)
		}
	}
}

// shortest finds a shortest cycle inside part that begins with an edge of kind
// first and goes on with edges of kinds rest. rwMode 0: no condition; 1: with at
// least two rw; 2: with at least two rw, none next to another. nil: there is none.
func (g *graph) shortest(part []int, first, rest dep, rwMode int) []step {
	inside := map[int]bool{}
	for _, v := range part {
		inside[v] = true
	}
	var best []step
	for _, v := range part {
		for _, e := range g.out[v] {
			if e.dep != first || !inside[e.to] {
				continue
			}
			if c := g.back(inside, step{v, e}, rest, rwMode); c != nil && (best == nil || len(c) < len(best)) {
				best = c
			}
		}
		if len(best) == 2 {
			break
		}
	}
	return best
}

// back searches breadth first from the end of begin to its start.
func (g *graph) back(inside map[int]bool, begin step, rest dep, rwMode int) []step {
	// The state is the node, whether the last edge was rw, and whether there were two.
	type place struct {
		node int
		last bool
		two  bool
	}
	type from struct {
		prev place
		by   step
	}
	start := place{begin.to, begin.dep == rw, false}
	came := map[place]from{start: {}}
	for queue := []place{start}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		for _, e := range g.out[p.node] {
			if e.dep&rest == 0 || !inside[e.to] {
				continue
			}
			isRW := e.dep == rw
			if rwMode == 2 && isRW && p.last {
				continue
			}
			n := place{e.to, isRW, p.two || isRW}
			if rwMode != 2 {
				n.last = false
			}
			if rwMode == 0 {
				n.two = false
			}
			if _, ok := came[n]; ok {
				continue
			}
			came[n] = from{p, step{p.node, e}}
			if e.to == begin.from && (rwMode == 0 || n.two) && (rwMode != 2 || !n.last) {
				cycle := []step{}
				for at := n; at != start; at = came[at].prev {
					cycle = append([]step{came[at].by}, cycle...)
				}
				return append([]step{begin}, cycle...)
			}
			queue = append(queue, n)
		}
	}
	return nil
}

// parts are the strongly connected components with more than one node, over
// edges of the given kinds (Tarjan, without recursion).
func (g *graph) parts(kinds dep) [][]int {
	n := len(g.ops)
	index, low, on := make([]int, n), make([]int, n), make([]bool, n)
	var stack []int
	var out [][]int
	next := 1
	type frame struct{ v, i int }
	for root := range n {
		if index[root] != 0 {
			continue
		}
		work := []frame{{root, 0}}
		for len(work) > 0 {
			f := &work[len(work)-1]
			v := f.v
			if f.i == 0 {
				index[v], low[v] = next, next
				next++
				stack, on[v] = append(stack, v), true
			}
			deeper := false
			for f.i < len(g.out[v]) {
				e := g.out[v][f.i]
				f.i++
				if e.dep&kinds == 0 {
					continue
				}
				if index[e.to] == 0 {
					work = append(work, frame{e.to, 0})
					deeper = true
					break
				}
				if on[e.to] {
					low[v] = min(low[v], index[e.to])
				}
			}
			if deeper {
				continue
			}
			if low[v] == index[v] {
				var part []int
				for {
					w := stack[len(stack)-1]
					stack, on[w] = stack[:len(stack)-1], false
					part = append(part, w)
					if w == v {
						break
					}
				}
				if len(part) > 1 {
					out = append(out, part)
				}
			}
			work = work[:len(work)-1]
			if len(work) > 0 {
				u := work[len(work)-1].v
				low[u] = min(low[u], low[v])
			}
		}
	}
	return out
}
