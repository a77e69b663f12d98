package tsdb

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"ostraka/tsdb/store"
)

// Lists of ranges in this file are ascending and disjoint.

// within reports that t is in one of the ranges; nil stands for all times.
func within(t int64, list []store.Range) bool {
	if list == nil {
		return true
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].Hi >= t })
	return i < len(list) && list[i].Lo <= t
}

// without is what the ranges leave of rng; never nil.
func without(rng store.Range, list []store.Range) []store.Range {
	out := []store.Range{}
	at := rng.Lo
	for _, r := range list {
		if r.Hi < at {
			continue
		}
		if r.Lo > rng.Hi {
			break
		}
		if r.Lo > at {
			out = append(out, store.Range{Lo: at, Hi: r.Lo - 1})
		}
		if r.Hi == math.MaxInt64 {
			return out
		}
		at = r.Hi + 1
	}
	if at <= rng.Hi {
		out = append(out, store.Range{Lo: at, Hi: rng.Hi})
	}
	return out
}

// both is what two lists have in common; never nil.
func both(a, b []store.Range) []store.Range {
	out := []store.Range{}
	for len(a) > 0 && len(b) > 0 {
		if r := (store.Range{Lo: max(a[0].Lo, b[0].Lo), Hi: min(a[0].Hi, b[0].Hi)}); r.Lo <= r.Hi {
			out = append(out, r)
		}
		if a[0].Hi < b[0].Hi {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// joined sorts ranges and joins those that have times in common.
func joined(list []store.Range) []store.Range {
	slices.SortFunc(list, func(a, b store.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// stretch is the next part [at, end) of ascending times, from a place on, that
// lies in one of the ranges; at == end when there is none.
func stretch(t []int64, from int, list []store.Range) (at, end int) {
	if from >= len(t) {
		return len(t), len(t)
	}
	for i := sort.Search(len(list), func(i int) bool { return list[i].Hi >= t[from] }); i < len(list); i++ {
		r := list[i]
		at = from + sort.Search(len(t)-from, func(k int) bool { return t[from+k] >= r.Lo })
		if at == len(t) {
			return at, at
		}
		if end = at + sort.Search(len(t)-at, func(k int) bool { return t[at+k] > r.Hi }); at < end {
			return at, end
		}
	}
	return len(t), len(t)
}

// maxScans bounds the scans that a list of ranges is read by.
const maxScans = 16

// coarse covers the ranges by few, leaving out the widest gaps.
func coarse(list []store.Range) []store.Range {
	if len(list) <= maxScans {
		return list
	}
	gaps := make([]int, len(list)-1) // i: between i and i+1
	for i := range gaps {
		gaps[i] = i
	}
	width := func(i int) uint64 { return uint64(list[i+1].Lo) - uint64(list[i].Hi) }
	slices.SortFunc(gaps, func(a, b int) int { return cmp.Compare(width(b), width(a)) })
	gaps = gaps[:maxScans-1]
	slices.Sort(gaps)
	var out []store.Range
	from := 0
	for _, g := range gaps {
		out = append(out, store.Range{Lo: list[from].Lo, Hi: list[g].Hi})
		from = g + 1
	}
	return append(out, store.Range{Lo: list[from].Lo, Hi: list[len(list)-1].Hi})
}
