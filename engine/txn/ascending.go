package txn

import (
	"slices"
	"sort"
	"strings"
)

// ascending is a set of keys that came in ascending order, as those of most loads
// do: their hashes in that order, and every so often a key to find the place.
type ascending struct {
	last   string
	first  []string // of each block
	hashes []uint64
}

// blockKeys is the number of hashes that one key in first stands for.
const blockKeys = 256

// add appends a key, which is greater than all before.
func (a *ascending) add(h uint64, key string) {
	if len(a.hashes)%blockKeys == 0 {
		a.first = append(a.first, strings.Clone(key))
	}
	a.hashes = append(a.hashes, h)
	a.last = key
}

// has reports whether a key with that hash is, or may be, in the set.
func (a *ascending) has(h uint64, key string) bool {
	i := sort.Search(len(a.first), func(i int) bool { return a.first[i] > key }) - 1
	if i < 0 || key > a.last {
		return false
	}
	return slices.Contains(a.hashes[i*blockKeys:min((i+1)*blockKeys, len(a.hashes))], h)
}
