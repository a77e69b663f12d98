package check

import (
	"fmt"
	"slices"

	"ostraka/torture/history"
)

// LongForks checks reads of groups of keys, each of which is written once: "r"
// of a group (Key) has the written keys in Read. All states that were seen must
// lie in one order: of two reads of a group one has everything the other has.
// (Parallel snapshot isolation allows what this forbids.)
func LongForks(h history.History) []Anomaly {
	groups := map[int64][]*history.Op{}
	for _, o := range h {
		if m := o.Mops[0]; m.F == "r" && o.Outcome == history.OK {
			groups[m.Key] = append(groups[m.Key], o)
		}
	}
	var out []Anomaly
	for key, reads := range groups {
		// By size, each must contain the one before it.
		slices.SortStableFunc(reads, func(a, b *history.Op) int { return len(a.Mops[0].Read) - len(b.Mops[0].Read) })
		for i := 1; i < len(reads); i++ {
			small, large := reads[i-1], reads[i]
			for _, v := range small.Mops[0].Read {
				if !slices.Contains(large.Mops[0].Read, v) {
					out = append(out, Anomaly{LongFork, fmt.Sprintf("group %d: one read has %v without all of %v, the other the reverse", key,
						large.Mops[0].Read, small.Mops[0].Read), []*history.Op{small, large}})
					break
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Anomaly) int { return a.Ops[0].ID - b.Ops[0].ID })
	return out
}
