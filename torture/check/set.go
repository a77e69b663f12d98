package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ostraka/torture/history"
)

// SetCounts is what came of the unique inserts of a set.
type SetCounts struct {
	Acknowledged, Unknown int
	Lost                  int // acknowledged, not in every final read
	Twice                 int // in a final read more than once
	Recovered             int // unknown, and there
	Resurrected           int // failed, and there
}

// insert is an insert and where it was last seen.
type insert struct {
	*history.Op
	seenIn int // the read, by its place in the history from 1
	seen   int // how often in it
}

// Set compares unique inserts ("add", element in Arg) with reads of the whole set
// ("r"). Final reads, at least one per node, must agree, have every acknowledged
// element once, and none that failed or that nobody inserted. Every read must have
// what was acknowledged longer than fresh before it began; with a negative fresh a
// read may be of any age.
func Set(h history.History, fresh time.Duration) (out []Anomaly, counts SetCounts) {
	adds := map[int64]*insert{}
	var final []*history.Op
	for _, o := range h {
		if m := o.Mops[0]; m.F == "add" {
			adds[m.Arg] = &insert{Op: o}
			switch o.Outcome {
			case history.OK:
				counts.Acknowledged++
			case history.Unknown:
				counts.Unknown++
			}
		} else if o.Outcome == history.OK && o.Final {
			final = append(final, o)
		}
	}
	var acknowledged []*insert // in the order of their ends
	for _, a := range adds {
		if a.Outcome == history.OK {
			acknowledged = append(acknowledged, a)
		}
	}
	slices.SortFunc(acknowledged, func(a, b *insert) int { return cmp.Compare(a.Return, b.Return) })
	for n, o := range h {
		m := o.Mops[0]
		if m.F != "r" || o.Outcome != history.OK {
			continue
		}
		for _, v := range m.Read {
			a := adds[v]
			if a == nil {
				out = append(out, Anomaly{Phantom, fmt.Sprintf("element %d was never inserted", v), trim(nil, o)})
				continue
			}
			if a.seenIn != n+1 {
				a.seenIn, a.seen = n+1, 0
			}
			if a.seen++; a.seen == 2 {
				out = append(out, Anomaly{AppliedTwice, fmt.Sprintf("element %d is there more than once", v), trim(a.Op, o)})
				if o.Final && o == final[0] {
					counts.Twice++
				}
			}
			switch {
			case a.seen > 1:
			case a.Outcome == history.Fail:
				out = append(out, Anomaly{Resurrected, fmt.Sprintf("element %d failed to be inserted, and is there", v), trim(a.Op, o)})
				if o.Final && o == final[0] {
					counts.Resurrected++
				}
			case a.Outcome == history.Unknown && o.Final && o == final[0]:
				counts.Recovered++
			case a.Invoke > o.Return:
				out = append(out, Anomaly{Phantom, fmt.Sprintf("element %d was read before it was inserted", v), trim(a.Op, o)})
			}
		}
		if !o.Final && fresh < 0 {
			continue
		}
		must := o.Invoke // what has ended by then must be there
		if !o.Final {
			must -= int64(fresh) + 1
		}
		for _, a := range acknowledged {
			if a.Return > must {
				break
			}
			switch v := a.Mops[0].Arg; {
			case a.seenIn == n+1:
			case o.Final:
				out = append(out, Anomaly{LostWrite, fmt.Sprintf("element %d was acknowledged and is not there at the end", v), trim(a.Op, o)})
				if o == final[0] {
					counts.Lost++
				}
			default:
				out = append(out, Anomaly{StaleRead, fmt.Sprintf("element %d was acknowledged %v before this read began", v, time.Duration(o.Invoke-a.Return)), trim(a.Op, o)})
			}
		}
	}
	for _, o := range final[min(1, len(final)):] {
		a, b := slices.Clone(final[0].Mops[0].Read), slices.Clone(o.Mops[0].Read)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			out = append(out, Anomaly{Diverged, fmt.Sprintf("at rest, node %s holds %d elements and node %s %d", final[0].Node, len(a), o.Node, len(b)), nil})
		}
	}
	return out, counts
}

// trim is the operations to show, a long read without its elements.
func trim(add, read *history.Op) []*history.Op {
	var out []*history.Op
	if add != nil {
		out = append(out, add)
	}
	short := *read
	short.Mops = []history.Mop{{F: "r", Key: int64(len(read.Mops[0].Read))}}
	return append(out, &short)
}
