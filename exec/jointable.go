package exec

import (
	"ostraka/expr"
	"ostraka/sqltypes"
)

// joinTable finds the rows of a store by key: linear probing into chains of rows
// that share a key (one integer key) or a hash (everything else). Rows of a chain
// are in the order of the store.
type joinTable struct {
	keys  *hashKeys
	store *store
	at    []int // store columns of the keys
	vecs  []*expr.Vec

	ints   []intSlot
	hashes []hashSlot
	mask   uint64
	next   []int32 // row → next row of its chain + 1, 0 ends
	buf    []uint64
}

type intSlot struct {
	key  int64
	head int32 // row + 1; 0: empty
}

type hashSlot struct {
	hash uint64
	head int32
}

// newJoinTable indexes all rows of s whose keys are not NULL.
func newJoinTable(keys *hashKeys, s *store, at []int) *joinTable {
	t := &joinTable{keys: keys, store: s, at: at, next: make([]int32, s.n), buf: make([]uint64, expr.BatchSize)}
	size := tableSize(s.n)
	t.mask = uint64(size - 1)
	for _, c := range at {
		t.vecs = append(t.vecs, s.cols[c])
	}
	if keys.single {
		t.ints = make([]intSlot, size)
		v := t.vecs[0]
		for row := s.n - 1; row >= 0; row-- {
			if v.Null.Get(row) {
				continue
			}
			k := v.I64[row]
			i := sqltypes.HashInt(k) & t.mask
			for t.ints[i].head != 0 && t.ints[i].key != k {
				i = (i + 1) & t.mask
			}
			t.ints[i].key = k
			t.next[row], t.ints[i].head = t.ints[i].head, int32(row+1)
		}
		return t
	}
	t.hashes = make([]hashSlot, size)
	for end := s.n; end > 0; {
		start := (end - 1) / expr.BatchSize * expr.BatchSize
		var b batch
		s.slice(start, end-start, len(s.cols), &b)
		part := make([]*expr.Vec, len(at))
		for i, c := range at {
			part[i] = b.Cols[c]
		}
		sel := expr.All(end - start)
		keys.hash(part, sel, t.buf)
		for k := len(sel) - 1; k >= 0; k-- {
			row := start + k
			if anyNull(part, k) {
				continue
			}
			h := t.buf[k]
			i := h & t.mask
			for t.hashes[i].head != 0 && t.hashes[i].hash != h {
				i = (i + 1) & t.mask
			}
			t.hashes[i].hash = h
			t.next[row], t.hashes[i].head = t.hashes[i].head, int32(row+1)
		}
		end = start
	}
	return t
}

// bytes is the size of the table itself for n rows.
func joinTableBytes(n int) int64 { return int64(tableSize(n))*16 + int64(n)*4 }

// probe stores for each k the first row that may match row sel[k], plus one, in
// heads[k]; 0: none. With an integer key every row of the chain matches, else
// match must confirm each.
func (t *joinTable) probe(keys []*expr.Vec, sel []uint16, heads []int32) {
	if t.ints != nil {
		v := keys[0]
		xs := v.I64
		if v.Null == nil {
			for k, i := range sel {
				key := xs[i]
				p := sqltypes.HashInt(key) & t.mask
				for t.ints[p].head != 0 && t.ints[p].key != key {
					p = (p + 1) & t.mask
				}
				heads[k] = t.ints[p].head
			}
			return
		}
		for k, i := range sel {
			heads[k] = 0
			if v.Null.Get(int(i)) {
				continue
			}
			key := xs[i]
			p := sqltypes.HashInt(key) & t.mask
			for t.ints[p].head != 0 && t.ints[p].key != key {
				p = (p + 1) & t.mask
			}
			heads[k] = t.ints[p].head
		}
		return
	}
	t.keys.hash(keys, sel, t.buf)
	for k, i := range sel {
		heads[k] = 0
		if anyNull(keys, int(i)) {
			continue
		}
		h := t.buf[k]
		p := h & t.mask
		for t.hashes[p].head != 0 && t.hashes[p].hash != h {
			p = (p + 1) & t.mask
		}
		heads[k] = t.match(t.hashes[p].head, keys, int(i))
	}
}

// match follows a chain from link (row + 1) to the first row that equals row i of keys.
func (t *joinTable) match(link int32, keys []*expr.Vec, i int) int32 {
	if t.ints != nil {
		return link
	}
	for link != 0 && !t.keys.equal(t.vecs, int(link-1), keys, i) {
		link = t.next[link-1]
	}
	return link
}

// after is the next matching row of the chain.
func (t *joinTable) after(link int32, keys []*expr.Vec, i int) int32 {
	return t.match(t.next[link-1], keys, i)
}
