package chunk

import "slices"

// Shift is one step of a rebalancing: chunks that go from one shard to another.
type Shift struct {
	From, To int32
	Chunks   []int
}

// Rebalance plans how a map becomes even over the shards in targets (each gets
// its share, give or take one), moving as few chunks as possible. Chunks on other
// shards are handed out too. Shifts come ordered by From, To.
func Rebalance(m []int32, targets []int32) []Shift {
	if len(targets) == 0 {
		return nil
	}
	targets = slices.Clone(targets)
	slices.Sort(targets)
	targets = slices.Compact(targets)
	have := map[int32][]int{}
	var surplus []int
	for c, s := range m {
		if _, ok := slices.BinarySearch(targets, s); ok {
			have[s] = append(have[s], c)
		} else {
			surplus = append(surplus, c)
		}
	}
	// Those who have most keep the odd ones.
	order := slices.Clone(targets)
	slices.SortStableFunc(order, func(a, b int32) int { return len(have[b]) - len(have[a]) })
	quota := map[int32]int{}
	for i, s := range order {
		quota[s] = len(m) / len(order)
		if i < len(m)%len(order) {
			quota[s]++
		}
	}
	for _, s := range order {
		if n := len(have[s]) - quota[s]; n > 0 {
			surplus = append(surplus, have[s][quota[s]:]...)
			have[s] = have[s][:quota[s]]
		}
	}
	slices.Sort(surplus)
	type edge struct{ from, to int32 }
	moves := map[edge][]int{}
	// Handed out in turn, so that what comes from one shard is spread.
	for i := 0; len(surplus) > 0; i++ {
		s := order[i%len(order)]
		if len(have[s]) >= quota[s] {
			continue
		}
		c := surplus[0]
		surplus = surplus[1:]
		have[s] = append(have[s], c)
		moves[edge{m[c], s}] = append(moves[edge{m[c], s}], c)
	}
	var out []Shift
	for e, c := range moves {
		out = append(out, Shift{e.from, e.to, c})
	}
	slices.SortFunc(out, func(a, b Shift) int {
		if a.From != b.From {
			return int(a.From) - int(b.From)
		}
		return int(a.To) - int(b.To)
	})
	return out
}
