package exec

import (
	"ostraka/expr"
	"ostraka/sqltypes"
)

// groupTable numbers distinct keys in order of their first appearance; NULLs
// are equal to each other. The keys are kept in a store.
type groupTable struct {
	keys   *hashKeys
	store  *store
	ints   []intSlot
	hashes []hashSlot
	nullID int32 // group of the single NULL integer key, -1: none
	mask   uint64
	buf    []uint64
	ids    []int32
	one    [1]uint16
	// short numbers keys of one or two one-byte texts (+1; 0: not seen yet).
	short []int32
}

func newGroupTable(keys *hashKeys, kinds []sqltypes.Kind) *groupTable {
	t := &groupTable{keys: keys, store: newStore(kinds, nil), buf: make([]uint64, expr.BatchSize), ids: make([]int32, expr.BatchSize)}
	t.reset()
	return t
}

func (t *groupTable) reset() {
	t.store.reset()
	t.nullID = -1
	clear(t.short)
	t.alloc(1024)
}

func (t *groupTable) alloc(size int) {
	t.mask = uint64(size - 1)
	if t.keys.single {
		t.ints = make([]intSlot, size)
	} else {
		t.hashes = make([]hashSlot, size)
	}
}

// n is the number of groups.
func (t *groupTable) n() int { return t.store.n }

// bytes is the memory of table and keys.
func (t *groupTable) bytes() int64 {
	return t.store.bytes + int64(len(t.ints)+len(t.hashes))*16 + int64(len(t.short))*4
}

// lookup stores the group of each row sel[k] in ids[sel[k]], making groups for
// new keys unless frozen: then -1 marks them.
func (t *groupTable) lookup(keys []*expr.Vec, sel []uint16, ids []int32, frozen bool) {
	if t.keys.single {
		t.lookupInts(keys, sel, ids, frozen)
		return
	}
	if sel = t.lookupShort(keys, sel, ids, frozen); len(sel) == 0 {
		return
	}
	t.lookupHashed(keys, sel, ids, frozen)
}

// lookupShort is lookup for keys of one or two one-byte texts. It returns the rows
// whose keys are longer or NULL.
func (t *groupTable) lookupShort(keys []*expr.Vec, sel []uint16, ids []int32, frozen bool) []uint16 {
	if len(keys) > 2 {
		return sel
	}
	for c := range keys {
		if k := t.keys.classes[c]; k != keyBytes && k != keyPadded || keys[c].Null != nil {
			return sel
		}
	}
	a := keys[0].Str
	b := a
	if len(keys) == 2 {
		b = keys[1].Str
	}
	if len(sel) == 0 || len(a[sel[0]]) != 1 || len(b[sel[0]]) != 1 {
		return sel // most likely all are longer
	}
	if t.short == nil {
		t.short = make([]int32, 1<<16)
	}
	var one [1]uint16
	for k, i := range sel {
		x, y := a[i], b[i]
		if len(x) != 1 || len(y) != 1 {
			return sel[k:]
		}
		s := &t.short[int(x[0])<<8|int(y[0])]
		if *s == 0 {
			one[0] = i
			t.lookupHashed(keys, one[:], ids, frozen)
			if ids[i] < 0 {
				continue
			}
			*s = ids[i] + 1
			continue
		}
		ids[i] = *s - 1
	}
	return nil
}

func (t *groupTable) lookupHashed(keys []*expr.Vec, sel []uint16, ids []int32, frozen bool) {
	t.keys.hash(keys, sel, t.buf)
	for k, i := range sel {
		h := t.buf[k]
		p := h & t.mask
		for {
			s := &t.hashes[p]
			if s.head == 0 {
				if frozen {
					ids[i] = -1
					break
				}
				s.hash, s.head = h, int32(t.add(keys, i)+1)
				ids[i] = s.head - 1
				if 2*t.store.n > len(t.hashes) {
					t.grow()
				}
				break
			}
			if s.hash == h && t.keys.equal(t.store.cols, int(s.head-1), keys, int(i)) {
				ids[i] = s.head - 1
				break
			}
			p = (p + 1) & t.mask
		}
	}
}

func (t *groupTable) add(keys []*expr.Vec, row uint16) int {
	t.one[0] = row
	t.store.append(keys, t.one[:])
	return t.store.n - 1
}

func (t *groupTable) lookupInts(keys []*expr.Vec, sel []uint16, ids []int32, frozen bool) {
	v := keys[0]
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			if t.nullID < 0 && !frozen {
				t.nullID = int32(t.add(keys, i))
			}
			ids[i] = t.nullID
			continue
		}
		key := v.I64[i]
		p := sqltypes.HashInt(key) & t.mask
		for t.ints[p].head != 0 && t.ints[p].key != key {
			p = (p + 1) & t.mask
		}
		if t.ints[p].head == 0 {
			if frozen {
				ids[i] = -1
				continue
			}
			n := t.store.n
			c := t.store.cols[0]
			c.Ensure(n + 1)
			c.I64[n] = key
			t.store.n, t.store.bytes = n+1, t.store.bytes+8
			t.ints[p] = intSlot{key, int32(n + 1)}
			ids[i] = int32(n)
			if 2*t.store.n > len(t.ints) {
				t.grow()
			}
			continue
		}
		ids[i] = t.ints[p].head - 1
	}
}

func (t *groupTable) grow() {
	if t.keys.single {
		old := t.ints
		t.alloc(2 * len(old))
		for _, s := range old {
			if s.head != 0 {
				p := sqltypes.HashInt(s.key) & t.mask
				for t.ints[p].head != 0 {
					p = (p + 1) & t.mask
				}
				t.ints[p] = s
			}
		}
		return
	}
	old := t.hashes
	t.alloc(2 * len(old))
	for _, s := range old {
		if s.head != 0 {
			p := s.hash & t.mask
			for t.hashes[p].head != 0 {
				p = (p + 1) & t.mask
			}
			t.hashes[p] = s
		}
	}
}

// newRows appends to out those rows of sel whose key was not there before.
func (t *groupTable) newRows(keys []*expr.Vec, sel, out []uint16) []uint16 {
	out = out[:0]
	n := int32(t.n())
	t.lookup(keys, sel, t.ids, false)
	for _, i := range sel {
		if t.ids[i] == n {
			out = append(out, i)
			n++
		}
	}
	return out
}
