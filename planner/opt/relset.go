package opt

import "math/bits"

// maxRels is the largest range table of one query level.
const maxRels = 256

// relSet is a set of range-table indexes of one query level.
type relSet [maxRels / 64]uint64

func relOf(i int) relSet {
	var s relSet
	s[i>>6] = 1 << (i & 63)
	return s
}

func (s relSet) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s relSet) empty() bool    { return s == relSet{} }

func (s relSet) union(t relSet) relSet {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

func (s relSet) minus(t relSet) relSet {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

func (s relSet) inter(t relSet) relSet {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

func (s relSet) overlaps(t relSet) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

// in reports that s is a subset of t.
func (s relSet) in(t relSet) bool {
	return s[0]&^t[0]|s[1]&^t[1]|s[2]&^t[2]|s[3]&^t[3] == 0
}

func (s relSet) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// single returns the only member, or -1.
func (s relSet) single() int {
	if s.count() != 1 {
		return -1
	}
	for i, w := range s {
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// members lists the set in ascending order.
func (s relSet) members() []int {
	var out []int
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			out = append(out, i<<6+bits.TrailingZeros64(w))
		}
	}
	return out
}
