package exec

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Both sorts order any input and agree on the smallest values; what ties keeps its identity.
func TestQuickSort(t *testing.T) {
	type row struct{ key, id int }
	compare := func(a, b row) int { return cmp.Compare(a.key, b.key) }
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 200).Draw(t, "keys")
		rows := make([]row, len(keys))
		for i, k := range keys {
			rows[i] = row{k, i}
		}
		heap := &boundedHeap[row]{bound: rapid.IntRange(1, 30).Draw(t, "bound"), compare: compare}
		for _, r := range rows {
			heap.offer(r)
		}
		quickSort(rows, compare)
		if !slices.IsSortedFunc(rows, compare) {
			t.Fatalf("not sorted: %v", rows)
		}
		seen := map[int]bool{}
		for _, r := range rows {
			if seen[r.id] || keys[r.id] != r.key {
				t.Fatalf("row %v is twice there or changed", r)
			}
			seen[r.id] = true
		}
		best := heap.sorted()
		if len(best) != min(heap.bound, len(rows)) {
			t.Fatalf("%d of %d rows kept", len(best), len(rows))
		}
		for i, r := range best {
			if r.key != rows[i].key {
				t.Fatalf("row %d of the heap is %v, should be %v", i, r, rows[i])
			}
		}
	})
}
