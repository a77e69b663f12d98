package check

import (
	"fmt"
	"slices"
	"sort"

	"ostraka/torture/history"
)

// Appends infers the dependencies between transactions from a history of list
// appends ("append", element in Arg, unique per key) and list reads ("r"), and
// looks for what isolation levels forbid.
//
// The elements of a list tell the order of their writes, so that a read tells
// the whole history of its key (Kingsbury and Alvaro, "Elle: Inferring Isolation
// Anomalies from Experimental Observations", 2020). A dependency is
//
//	ww  one appended right after the other
//	wr  one read the other's append as the last element
//	rw  one did not see yet what the other appended next
//
// A cycle of ww is G0, with wr G1c, with one rw G-single, with more G2-item; a
// cycle whose rw are never next to each other is G-nonadjacent, which snapshot
// isolation forbids too. Every anomaly found is returned: what a level promises
// is the caller's to choose (see Levels).
func Appends(h history.History) []Anomaly {
	a := &appends{lists: map[int64]*list{}, writers: map[element]*history.Op{}}
	for _, o := range h {
		a.internal(o)
		a.writes(o)
	}
	for _, o := range h {
		if o.Outcome == history.OK {
			a.reads(o)
		}
	}
	for _, key := range a.keys() {
		a.order(a.lists[key])
	}
	a.lost(h)
	a.cycles(a.graph(h))
	return a.out
}

type element struct{ key, value int64 }

// list is what is known of one key.
type list struct {
	key     int64
	reads   []readOf
	longest []int64
}

type readOf struct {
	op    *history.Op
	value []int64 // what was there before the transaction's own appends
}

type appends struct {
	out     []Anomaly
	lists   map[int64]*list
	writers map[element]*history.Op
}

func (a *appends) found(k Kind, ops []*history.Op, format string, args ...any) {
	a.out = append(a.out, Anomaly{k, fmt.Sprintf(format, args...), ops})
}

func (a *appends) list(key int64) *list {
	l := a.lists[key]
	if l == nil {
		l = &list{key: key}
		a.lists[key] = l
	}
	return l
}

func (a *appends) keys() []int64 {
	keys := make([]int64, 0, len(a.lists))
	for k := range a.lists {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// writes notes who appended what.
func (a *appends) writes(o *history.Op) {
	for _, m := range o.Mops {
		if m.F == "append" {
			a.writers[element{m.Key, m.Arg}] = o
			a.list(m.Key)
		}
	}
}

// internal checks a transaction against itself: a read ends with what the
// transaction has appended to the key before.
func (a *appends) internal(o *history.Op) {
	if o.Outcome != history.OK {
		return
	}
	own := map[int64][]int64{}
	for _, m := range o.Mops {
		if m.F == "append" {
			own[m.Key] = append(own[m.Key], m.Arg)
			continue
		}
		mine := own[m.Key]
		if len(m.Read) < len(mine) || !slices.Equal(m.Read[len(m.Read)-len(mine):], mine) {
			a.found(Internal, []*history.Op{o}, "key %d: the transaction appended %v and then read %v", m.Key, mine, m.Read)
		}
	}
}

// reads notes what o saw of others, and checks that it may have seen it.
func (a *appends) reads(o *history.Op) {
	own := map[int64]int{}
	for _, m := range o.Mops {
		if m.F == "append" {
			own[m.Key]++
			continue
		}
		others := m.Read[:max(0, len(m.Read)-own[m.Key])]
		l := a.list(m.Key)
		l.reads = append(l.reads, readOf{o, others})
		if len(m.Read) > len(l.longest) {
			l.longest = m.Read
		}
		seen := map[int64]bool{}
		for _, v := range m.Read {
			if seen[v] {
				a.found(Duplicate, []*history.Op{o}, "key %d: element %d is there more than once: %v", m.Key, v, m.Read)
			}
			seen[v] = true
			w := a.writers[element{m.Key, v}]
			switch {
			case w == nil:
				a.found(Phantom, []*history.Op{o}, "key %d: nobody appended %d", m.Key, v)
			case w.Outcome == history.Fail:
				a.found(G1a, []*history.Op{w, o}, "key %d: element %d of a transaction that failed was read", m.Key, v)
			}
		}
		if len(others) == 0 {
			continue
		}
		last := others[len(others)-1]
		if w := a.writers[element{m.Key, last}]; w != nil && w != o {
			if end := lastAppend(w, m.Key); end != last {
				a.found(G1b, []*history.Op{w, o}, "key %d: a state was read that ends with %d, but the transaction that appended it went on to append %d", m.Key, last, end)
			}
		}
	}
}

func lastAppend(o *history.Op, key int64) int64 {
	for i := len(o.Mops) - 1; i >= 0; i-- {
		if m := o.Mops[i]; m.F == "append" && m.Key == key {
			return m.Arg
		}
	}
	return 0
}

// order wants all reads of a key to be prefixes of the longest.
func (a *appends) order(l *list) {
	for _, r := range l.reads {
		if !slices.Equal(l.longest[:min(len(r.value), len(l.longest))], r.value) {
			a.found(Incompatible, []*history.Op{r.op}, "key %d: %v was read, which is no beginning of %v", l.key, r.value, l.longest)
		}
	}
}

// lost wants final reads to have every acknowledged append, and to agree.
func (a *appends) lost(h history.History) {
	type finalRead struct {
		op   *history.Op
		read []int64
	}
	final := map[int64][]finalRead{}
	for _, o := range h {
		if !o.Final || o.Outcome != history.OK {
			continue
		}
		for _, m := range o.Mops {
			if m.F == "r" {
				final[m.Key] = append(final[m.Key], finalRead{o, m.Read})
			}
		}
	}
	for key, reads := range final {
		for _, r := range reads[1:] {
			if !slices.Equal(r.read, reads[0].read) {
				a.found(Diverged, []*history.Op{reads[0].op, r.op}, "key %d: at rest, node %s holds %v and node %s %v", key, reads[0].op.Node, reads[0].read, r.op.Node, r.read)
			}
		}
	}
	for e, w := range a.writers {
		if w.Outcome == history.OK && len(final[e.key]) > 0 && !slices.Contains(final[e.key][0].read, e.value) {
			a.found(LostWrite, []*history.Op{w, final[e.key][0].op}, "key %d: element %d was acknowledged and is not there at the end", e.key, e.value)
		}
	}
	sort.SliceStable(a.out, func(i, j int) bool { return a.out[i].Kind < a.out[j].Kind })
}
