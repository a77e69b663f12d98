package check

import (
	"fmt"
	"sort"

	"ostraka/torture/history"
)

// Sequence wants the values that "next" took (in Read) to be unique, and greater
// than every value that was handed out before the call began.
func Sequence(h history.History) []Anomaly {
	var out []Anomaly
	var done []*history.Op
	by := map[int64]*history.Op{}
	for _, o := range h {
		if o.Outcome != history.OK {
			continue
		}
		v := o.Mops[0].Read[0]
		if other := by[v]; other != nil {
			out = append(out, Anomaly{AppliedTwice, fmt.Sprintf("the value %d was handed out twice", v), []*history.Op{other, o}})
		}
		by[v] = o
		done = append(done, o)
	}
	byReturn := append([]*history.Op(nil), done...)
	sort.SliceStable(byReturn, func(i, j int) bool { return byReturn[i].Return < byReturn[j].Return })
	var greatest *history.Op
	next := 0
	for _, o := range done { // in the order of their calls
		for ; next < len(byReturn) && byReturn[next].Return < o.Invoke; next++ {
			if p := byReturn[next]; greatest == nil || p.Mops[0].Read[0] > greatest.Mops[0].Read[0] {
				greatest = p
			}
		}
		if greatest != nil && o.Mops[0].Read[0] < greatest.Mops[0].Read[0] {
			out = append(out, Anomaly{WentBack, fmt.Sprintf("%d was handed out after %d", o.Mops[0].Read[0], greatest.Mops[0].Read[0]), []*history.Op{greatest, o}})
		}
	}
	return out
}
