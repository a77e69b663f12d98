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
	bytes int64
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

// Len is the number of keys written.
func (b *Buffer) Len() int {
	if b.tree != nil {
		return b.tree.Len()
	}
	return len(b.small)
}

// Bytes is about the memory used.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Seq is the number of the newest write.
func (b *Buffer) Seq() uint32 { return b.seq }

// Get finds the pending write of a key.
func (b *Buffer) Get(key string) (Write, bool) {
	if b.tree != nil {
		return b.tree.Get(key)
	}
	if i, ok := b.find(key); ok {
		return b.small[i].w, true
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
		b.small = nil
		b.tree.Set(key, w)
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

// Cursor walks the writes of one range, in either direction. The buffer must not
// change while it does: take a Copy.
type Cursor struct {
	b    *Buffer
	it   btree.MapIter[string, Write]
	i    int
	ok   bool
	back bool
	lo   string
	hi   string // "" unbounded
}

// Cursor starts at the first key of [lo, hi), with back at the last one.
func (b *Buffer) Cursor(lo, hi string, back bool) *Cursor {
	c := &Cursor{b: b, lo: lo, hi: hi, back: back}
	if b.tree != nil {
		c.it = b.tree.Iter()
		switch {
		case !back:
			c.ok = c.it.Seek(lo)
		case hi == "":
			c.ok = c.it.Last()
		case c.it.Seek(hi):
			c.ok = c.it.Prev()
		default:
			c.ok = c.it.Last()
		}
	} else {
		if !back {
			c.i, _ = b.find(lo)
		} else if hi == "" {
			c.i = len(b.small) - 1
		} else {
			c.i, _ = b.find(hi)
			c.i--
		}
		c.ok = c.i >= 0 && c.i < len(b.small)
	}
	c.clip()
	return c
}

func (c *Cursor) clip() {
	if c.ok {
		k := c.Key()
		c.ok = k >= c.lo && (c.hi == "" || k < c.hi)
	}
}

// Valid reports whether the cursor is at a write.
func (c *Cursor) Valid() bool { return c.ok }

// Key and Write are those of the current place.
func (c *Cursor) Key() string {
	if c.b.tree != nil {
		return c.it.Key()
	}
	return c.b.small[c.i].key
}

func (c *Cursor) Write() Write {
	if c.b.tree != nil {
		return c.it.Value()
	}
	return c.b.small[c.i].w
}

// Next goes one further in the cursor's direction.
func (c *Cursor) Next() {
	switch {
	case c.b.tree != nil && c.back:
		c.ok = c.it.Prev()
	case c.b.tree != nil:
		c.ok = c.it.Next()
	case c.back:
		c.i--
		c.ok = c.i >= 0
	default:
		c.i++
		c.ok = c.i < len(c.b.small)
	}
	c.clip()
}
