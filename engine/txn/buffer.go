package txn

import (
	"sort"

	"github.com/tidwall/btree"
)

// Write is one pending write of a transaction.
type Write struct {
	Val []byte // nil: the key is deleted
	// Seq numbers the writes of the transaction, from 1: two versions of one key
	// are told apart by it.
	Seq uint32
}

// Buffer holds the pending writes of a transaction in key order. Copies are
// cheap, so savepoints and open scans simply keep one. One goroutine at a time.
type Buffer struct {
	small []pair // sorted; used while tree is nil
	owned bool   // small is not shared with a copy
	tree  *btree.Map[string, Write]
	top   string // greatest key in tree
	runs  []*run // spilled parts, oldest first; older than small and tree
	bytes int64  // in memory
	file  int64  // in runs
	seq   uint32
}

type pair struct {
	key string
	w   Write
}

// smallMax writes stay in a slice; a tree costs more to set up than to search them.
const smallMax = 24

// entryOverhead is what an entry costs beside key and value, in bytes.
const entryOverhead = 64

// Len is the number of keys written; keys that were spilled and written again
// count twice.
func (b *Buffer) Len() int {
	n := b.inMemory()
	for _, r := range b.runs {
		n += r.n
	}
	return n
}

func (b *Buffer) inMemory() int {
	if b.tree != nil {
		return b.tree.Len()
	}
	return len(b.small)
}

// Bytes is about the size of all writes, Memory what of them is in memory.
func (b *Buffer) Bytes() int64  { return b.bytes + b.file }
func (b *Buffer) Memory() int64 { return b.bytes }

// Spill moves what is in memory to a file in dir.
func (b *Buffer) Spill(dir string) error {
	n := b.inMemory()
	if n == 0 {
		return nil
	}
	r, err := writeRun(dir, n, b.ascendMemory)
	if err != nil {
		return err
	}
	b.runs = append(b.runs[:len(b.runs):len(b.runs)], r)
	b.small, b.owned, b.tree = nil, false, nil
	b.file += b.bytes
	b.bytes = 0
	return nil
}

// Err is the first error of reading what was spilled: what the buffer answered
// since cannot be relied on.
func (b *Buffer) Err() error {
	for _, r := range b.runs {
		if e := r.err.Load(); e != nil {
			return *e
		}
	}
	return nil
}

// Seq is the number of the newest write.
func (b *Buffer) Seq() uint32 { return b.seq }

// Get finds the pending write of a key.
func (b *Buffer) Get(key string) (Write, bool) {
	if b.tree != nil {
		if w, ok := b.tree.Get(key); ok {
			return w, true
		}
	} else if i, ok := b.find(key); ok {
		return b.small[i].w, true
	}
	for i := len(b.runs) - 1; i >= 0; i-- {
		if w, ok := b.runs[i].get(key); ok {
			return w, true
		}
	}
	return Write{}, false
}

func (b *Buffer) find(key string) (int, bool) {
	if n := len(b.small); n > 0 && b.small[n-1].key < key {
		return n, false
	}
	i := sort.Search(len(b.small), func(i int) bool { return b.small[i].key >= key })
	return i, i < len(b.small) && b.small[i].key == key
}

// Put sets a key; a nil val deletes it. The buffer keeps val. It returns the
// write's number.
func (b *Buffer) Put(key string, val []byte) uint32 {
	b.seq++
	w := Write{val, b.seq}
	b.bytes += int64(len(key)+len(val)) + entryOverhead
	if b.tree != nil {
		if key > b.top { // most loads come in ascending order
			b.top = key
			b.tree.Load(key, w)
			return b.seq
		}
		if old, ok := b.tree.Set(key, w); ok {
			b.bytes -= int64(len(key)+len(old.Val)) + entryOverhead
		}
		return b.seq
	}
	i, ok := b.find(key)
	if !b.owned {
		b.small = append(make([]pair, 0, len(b.small)+4), b.small...)
		b.owned = true
	}
	if ok {
		b.bytes -= int64(len(key)+len(b.small[i].w.Val)) + entryOverhead
		b.small[i].w = w
		return b.seq
	}
	if len(b.small) == smallMax {
		b.tree = btree.NewMap[string, Write](64)
		for _, p := range b.small {
			b.tree.Load(p.key, p.w)
		}
		b.tree.Set(key, w)
		b.small, b.top = nil, max(key, b.small[smallMax-1].key)
		return b.seq
	}
	b.small = append(b.small, pair{})
	copy(b.small[i+1:], b.small[i:])
	b.small[i] = pair{key, w}
	return b.seq
}

// Copy returns the buffer as it is now; later writes to either are not seen by the other.
func (b *Buffer) Copy() *Buffer {
	c := *b
	c.owned = false
	if b.tree != nil {
		c.tree = b.tree.Copy()
	}
	b.owned = false
	return &c
}

// Restore makes b what it was when c was copied from it. Write numbers go on.
func (b *Buffer) Restore(c *Buffer) {
	seq := b.seq
	*b = *c.Copy()
	b.seq = seq
}

// Ascend calls f for every write in key order until it returns false.
func (b *Buffer) Ascend(f func(key string, w Write) bool) {
	if len(b.runs) == 0 {
		b.ascendMemory(f)
		return
	}
	for c := b.Cursor("", "", false); c.Valid(); c.Next() {
		if !f(c.Key(), c.Write()) {
			return
		}
	}
}

func (b *Buffer) ascendMemory(f func(key string, w Write) bool) {
	if b.tree != nil {
		b.tree.Scan(f)
		return
	}
	for _, p := range b.small {
		if !f(p.key, p.w) {
			return
		}
	}
}
