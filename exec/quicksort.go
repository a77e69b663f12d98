package exec

// Sorting as PostgreSQL's tuplesort does it, so that rows that ORDER BY leaves tied
// come out in the order that PostgreSQL's users see: a quicksort (Bentley and
// McIlroy, "Engineering a Sort Function", with a test for sorted input) and, where
// few rows are wanted, a bounded heap. Neither is stable.

// quickSort sorts in place.
func quickSort[T any](a []T, compare func(x, y T) int) {
	median := func(i, j, k int) int {
		if compare(a[i], a[j]) < 0 {
			switch {
			case compare(a[j], a[k]) < 0:
				return j
			case compare(a[i], a[k]) < 0:
				return k
			}
			return i
		}
		switch {
		case compare(a[j], a[k]) > 0:
			return j
		case compare(a[i], a[k]) < 0:
			return i
		}
		return k
	}
	var part func(lo, n int)
	part = func(lo, n int) {
		for {
			hi := lo + n
			if n < 7 {
				for i := lo + 1; i < hi; i++ {
					for j := i; j > lo && compare(a[j-1], a[j]) > 0; j-- {
						a[j], a[j-1] = a[j-1], a[j]
					}
				}
				return
			}
			sorted := true
			for i := lo + 1; i < hi && sorted; i++ {
				sorted = compare(a[i-1], a[i]) <= 0
			}
			if sorted {
				return
			}
			mid := lo + n/2
			if n > 7 {
				l, r := lo, hi-1
				if n > 40 {
					d := n / 8
					l, mid, r = median(l, l+d, l+2*d), median(mid-d, mid, mid+d), median(r-2*d, r-d, r)
				}
				mid = median(l, mid, r)
			}
			a[lo], a[mid] = a[mid], a[lo]
			// Equal elements gather at both ends: [lo,pa) and (pd,hi).
			pa, pb, pc, pd := lo+1, lo+1, hi-1, hi-1
			for {
				for pb <= pc {
					c := compare(a[pb], a[lo])
					if c > 0 {
						break
					}
					if c == 0 {
						a[pa], a[pb] = a[pb], a[pa]
						pa++
					}
					pb++
				}
				for pb <= pc {
					c := compare(a[pc], a[lo])
					if c < 0 {
						break
					}
					if c == 0 {
						a[pc], a[pd] = a[pd], a[pc]
						pd--
					}
					pc--
				}
				if pb > pc {
					break
				}
				a[pb], a[pc] = a[pc], a[pb]
				pb++
				pc--
			}
			swapRanges(a, lo, pb, min(pa-lo, pb-pa))
			swapRanges(a, pb, hi, min(pd-pc, hi-pd-1))
			left, right := pb-pa, pd-pc
			if left <= right {
				if left > 1 {
					part(lo, left)
				}
				if right <= 1 {
					return
				}
				lo, n = hi-right, right
			} else {
				if right > 1 {
					part(hi-right, right)
				}
				if left <= 1 {
					return
				}
				n = left
			}
		}
	}
	part(0, len(a))
}

// swapRanges swaps the n elements from i on with the n elements before j.
func swapRanges[T any](a []T, i, j, n int) {
	for k := range n {
		a[i+k], a[j-n+k] = a[j-n+k], a[i+k]
	}
}

// boundedHeap keeps the smallest elements of those it is given, the largest of them on top.
type boundedHeap[T any] struct {
	a       []T
	bound   int
	compare func(x, y T) int
}

// offer takes an element that belongs to the smallest and drops the largest.
func (h *boundedHeap[T]) offer(x T) {
	switch {
	case len(h.a) < h.bound:
		h.a = append(h.a, x)
		j := len(h.a) - 1
		for j > 0 {
			up := (j - 1) / 2
			if h.compare(x, h.a[up]) <= 0 {
				break
			}
			h.a[j] = h.a[up]
			j = up
		}
		h.a[j] = x
	case h.compare(x, h.a[0]) < 0:
		h.replace(x, len(h.a))
	}
}

// replace puts x in the place of the top of the first n elements.
func (h *boundedHeap[T]) replace(x T, n int) {
	i := 0
	for {
		j := 2*i + 1
		if j >= n {
			break
		}
		if j+1 < n && h.compare(h.a[j], h.a[j+1]) < 0 {
			j++
		}
		if h.compare(x, h.a[j]) >= 0 {
			break
		}
		h.a[i] = h.a[j]
		i = j
	}
	h.a[i] = x
}

// sorted takes the elements out in ascending order; the heap is used up.
func (h *boundedHeap[T]) sorted() []T {
	for n := len(h.a); n > 1; {
		top := h.a[0]
		n--
		h.replace(h.a[n], n)
		h.a[n] = top
	}
	return h.a
}
