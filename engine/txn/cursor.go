package txn

import "github.com/tidwall/btree"

// Cursor walks the writes of one range, in either direction. The buffer must not
// change while it does: take a Copy.
type Cursor struct {
	mem  memCursor
	runs []*runCursor // newest first
	back bool
	lo   string
	hi   string // "" unbounded
	ok   bool
	cur  pair
}

// Cursor starts at the first key of [lo, hi), with back at the last one.
func (b *Buffer) Cursor(lo, hi string, back bool) *Cursor {
	c := &Cursor{mem: memCursor{b: b, back: back}, back: back, lo: lo, hi: hi}
	c.mem.start(lo, hi)
	for i := len(b.runs) - 1; i >= 0; i-- {
		c.runs = append(c.runs, b.runs[i].cursor(lo, hi, back))
	}
	c.pick()
	return c
}

// pick chooses the next key; of equal ones the newest.
func (c *Cursor) pick() {
	if c.ok = c.mem.ok; c.ok {
		c.cur = c.mem.at()
	}
	for _, r := range c.runs {
		if r.valid() && (!c.ok || r.at().key < c.cur.key != c.back && r.at().key != c.cur.key) {
			c.cur, c.ok = *r.at(), true
		}
	}
	c.ok = c.ok && c.cur.key >= c.lo && (c.hi == "" || c.cur.key < c.hi)
}

// Valid reports whether the cursor is at a write.
func (c *Cursor) Valid() bool { return c.ok }

// Key and Write are those of the current place.
func (c *Cursor) Key() string  { return c.cur.key }
func (c *Cursor) Write() Write { return c.cur.w }

// Next goes one further in the cursor's direction.
func (c *Cursor) Next() {
	for _, r := range c.runs {
		if r.valid() && r.at().key == c.cur.key {
			r.next()
		}
	}
	if c.mem.ok && (len(c.runs) == 0 || c.mem.at().key == c.cur.key) {
		c.mem.next()
	}
	c.pick()
}

// memCursor walks what is in memory.
type memCursor struct {
	b    *Buffer
	it   btree.MapIter[string, Write]
	i    int
	ok   bool
	back bool
}

func (c *memCursor) start(lo, hi string) {
	if c.b.tree == nil {
		switch {
		case !c.back:
			c.i, _ = c.b.find(lo)
		case hi == "":
			c.i = len(c.b.small) - 1
		default:
			c.i, _ = c.b.find(hi)
			c.i--
		}
		c.ok = c.i >= 0 && c.i < len(c.b.small)
		return
	}
	c.it = c.b.tree.Iter()
	switch {
	case !c.back:
		c.ok = c.it.Seek(lo)
	case hi == "":
		c.ok = c.it.Last()
	case c.it.Seek(hi):
		c.ok = c.it.Prev()
	default:
		c.ok = c.it.Last()
	}
}

func (c *memCursor) at() pair {
	if c.b.tree != nil {
		return pair{c.it.Key(), c.it.Value()}
	}
	return c.b.small[c.i]
}

func (c *memCursor) next() {
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
}
