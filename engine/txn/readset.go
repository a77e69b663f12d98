package txn

import "github.com/tidwall/btree"

// maxReads is how many points and ranges a transaction remembers before it
// coarsens them to whole tables and indexes; maxWrites the same of keys written.
const (
	maxReads  = 4096
	maxWrites = 1 << 16
)

// readSet is what a serializable transaction has read: keys, absent ones too, and key ranges.
type readSet struct {
	prefix func(key string) int // length of the storage prefix of a key, for coarsening
	points map[string]struct{}
	ranges btree.Map[string, string] // from each lower bound, inclusive, to its upper bound, exclusive; disjoint
	coarse map[string]struct{}       // prefixes read as a whole
}

func (r *readSet) size() int { return len(r.points) + r.ranges.Len() + len(r.coarse) }

// whole reports whether all that begins with the prefix of key has been read.
func (r *readSet) whole(key string) bool {
	if len(r.coarse) == 0 {
		return false
	}
	_, ok := r.coarse[key[:r.prefix(key)]]
	return ok
}

func (r *readSet) addPoint(key string) {
	if r.points == nil {
		r.points = map[string]struct{}{}
	}
	r.points[key] = struct{}{}
}

// addRange adds [lo, hi), joined with the ranges that it touches.
func (r *readSet) addRange(lo, hi string) {
	r.ranges.Descend(lo, func(l, h string) bool {
		if h >= lo {
			lo, hi = l, max(hi, h)
		}
		return false
	})
	var inside []string
	r.ranges.Ascend(lo, func(l, h string) bool {
		if l > hi {
			return false
		}
		inside, hi = append(inside, l), max(hi, h)
		return true
	})
	for _, l := range inside {
		r.ranges.Delete(l)
	}
	r.ranges.Set(lo, hi)
}

// full reports whether the set must be coarsened.
func (r *readSet) full() bool { return len(r.points)+r.ranges.Len() > maxReads }

// coarsen replaces points and ranges by the prefixes they are in, which it returns.
func (r *readSet) coarsen() []string {
	if r.coarse == nil {
		r.coarse = map[string]struct{}{}
	}
	for k := range r.points {
		r.coarse[k[:r.prefix(k)]] = struct{}{}
	}
	r.ranges.Scan(func(lo, _ string) bool {
		r.coarse[lo[:r.prefix(lo)]] = struct{}{}
		return true
	})
	r.points, r.ranges = nil, btree.Map[string, string]{}
	all := make([]string, 0, len(r.coarse))
	for p := range r.coarse {
		all = append(all, p)
	}
	return all
}

// has reports whether a key was read, alone or within a range.
func (r *readSet) has(key string) bool {
	if _, ok := r.points[key]; ok || r.whole(key) {
		return true
	}
	found := false
	r.ranges.Descend(key, func(_, hi string) bool {
		found = key < hi
		return false
	})
	return found
}

// hasPrefix reports whether anything that begins with a prefix was read.
func (r *readSet) hasPrefix(p string) bool {
	if _, ok := r.coarse[p]; ok {
		return true
	}
	for k := range r.points {
		if len(k) >= len(p) && k[:len(p)] == p {
			return true
		}
	}
	found := false
	r.ranges.Ascend(p, func(lo, _ string) bool {
		found = len(lo) >= len(p) && lo[:len(p)] == p
		return false
	})
	return found
}

// writeSet is the keys a serializable transaction has written.
type writeSet struct {
	prefix func(key string) int
	keys   btree.Set[string]
	coarse map[string]struct{} // prefixes written as a whole
}

func (w *writeSet) size() int { return w.keys.Len() + len(w.coarse) }

func (w *writeSet) add(key string) {
	w.keys.Insert(key)
	if w.keys.Len() > maxWrites {
		w.keys.Scan(func(k string) bool {
			w.addPrefix(k[:w.prefix(k)])
			return true
		})
		w.keys = btree.Set[string]{}
	}
}

func (w *writeSet) addPrefix(p string) {
	if w.coarse == nil {
		w.coarse = map[string]struct{}{}
	}
	w.coarse[p] = struct{}{}
}

func (w *writeSet) whole(key string) bool {
	if len(w.coarse) == 0 {
		return false
	}
	_, ok := w.coarse[key[:w.prefix(key)]]
	return ok
}

func (w *writeSet) has(key string) bool { return w.keys.Contains(key) || w.whole(key) }

// within reports whether a key of [lo, hi) was written.
func (w *writeSet) within(lo, hi string) bool {
	if w.whole(lo) {
		return true
	}
	found := false
	w.keys.Ascend(lo, func(k string) bool {
		found = k < hi
		return false
	})
	return found
}

func (w *writeSet) hasPrefix(p string) bool {
	if _, ok := w.coarse[p]; ok {
		return true
	}
	found := false
	w.keys.Ascend(p, func(k string) bool {
		found = len(k) >= len(p) && k[:len(p)] == p
		return false
	})
	return found
}
