package colcache

import (
	"bytes"
	"sort"
	"sync"
	"sync/atomic"

	"ostraka/engine/storage"
)

const (
	// worthRows is Budget.Worth unless someone changes it.
	worthRows = 8192
	// maxTables bounds the tables remembered in one cache.
	maxTables = 1024
	// maxWritten bounds the keys that a builder remembers; it gives up beyond.
	maxWritten = 4096
)

// Cache has the columns of the tables of one state of one shard.
type Cache struct {
	budget *Budget
	count  atomic.Int32 // len(tables)

	mu     sync.RWMutex
	tables map[uint64]*table // by storage id; guarded by mu
	seq    uint64            // position of the newest batch that has begun; guarded by mu
}

// New makes a cache; a nil budget or one of 0 bytes: nothing is kept. seq is the
// position of the state.
func New(b *Budget, seq uint64) *Cache {
	return &Cache{budget: b, seq: seq, tables: map[uint64]*table{}}
}

// Close gives the memory back. Scans in progress go on.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.tables {
		c.drop(id)
	}
}

// drop forgets a table. mu is held.
func (c *Cache) drop(id uint64) {
	t := c.tables[id]
	delete(c.tables, id)
	c.count.Store(int32(len(c.tables)))
	c.budget.remove(t)
	t.clear()
}

// Worth reports whether a scan that has read so many rows, and fewer before, has
// just become large enough for Remember.
func (c *Cache) Worth(before, rows int) bool {
	return c.budget != nil && c.budget.max > 0 && before < c.budget.Worth && rows >= c.budget.Worth
}

// Remember notes that a large scan has read the table.
func (c *Cache) Remember(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables[id] != nil || len(c.tables) >= maxTables {
		return
	}
	t := &table{cache: c, id: id, touched: c.seq}
	t.lo, t.hi = storage.DataRange(id)
	c.tables[id] = t
	c.count.Store(int32(len(c.tables)))
	c.budget.add(t)
}

// Knows reports whether a table is remembered.
func (c *Cache) Knows(id uint64) bool { return c.table(id) != nil }

func (c *Cache) table(id uint64) *table {
	if c.count.Load() == 0 {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tables[id]
}

// table is what is known of one storage id.
type table struct {
	cache  *Cache
	id     uint64
	lo, hi []byte
	used   atomic.Int64 // tick of the newest scan

	mu       sync.Mutex
	touched  uint64   // position of the newest change; guarded by mu
	chunks   []*chunk // ascending, disjoint; guarded by mu
	dead     int      // how many of them are dead; guarded by mu
	builders []*Scan  // guarded by mu
	gone     bool     // forgotten by the cache; guarded by mu
}

// chunk has the rows with lo < key ≤ hi.
type chunk struct {
	lo, hi string
	n      int
	since  uint64
	dead   bool      // guarded by table.mu, as cols
	cols   []*Column // of the attributes that somebody read
	bytes  int64
}

func (ch *chunk) column(attr int16) *Column {
	for _, c := range ch.cols {
		if c.attr == attr {
			return c
		}
	}
	return nil
}

// after is the place of the first chunk that ends behind key. mu is held.
func (t *table) after(key []byte) int {
	return sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].hi > string(key) })
}

// clear gives all chunks up.
func (t *table) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.empty()
}

// empty drops the chunks. mu is held.
func (t *table) empty() {
	for _, ch := range t.chunks {
		t.kill(ch)
	}
	t.chunks, t.dead = nil, 0
}

// kill takes a chunk's life and gives its memory back. mu is held.
func (t *table) kill(ch *chunk) {
	if ch.dead {
		return
	}
	ch.dead = true
	t.dead++
	t.cache.budget.release(ch.bytes)
	ch.cols, ch.bytes = nil, 0
}

// touch notes a change of one key. It reports whether the table is not worth its
// while any more.
func (t *table) touch(key []byte, seq uint64) (useless bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touched = seq
	// The chunk of key is the first with hi ≥ key.
	i := sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].hi >= string(key) })
	if i < len(t.chunks) && t.chunks[i].lo < string(key) {
		t.kill(t.chunks[i])
	}
	for _, b := range t.builders {
		b.wrote(key)
	}
	return len(t.builders) == 0 && t.dead > 8 && t.dead > len(t.chunks)/2
}

// touchRange notes a change of all keys in [lo, hi).
func (t *table) touchRange(lo, hi []byte, seq uint64) {
	if bytes.Compare(lo, t.hi) >= 0 || bytes.Compare(hi, t.lo) <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touched = seq
	for _, ch := range t.chunks {
		if ch.hi >= string(lo) && ch.lo < string(hi) {
			t.kill(ch)
		}
	}
	for _, b := range t.builders {
		b.given = true
	}
}

// Touches tells the cache what one batch changes. Its methods are to be called
// before the batch is committed.
type Touches struct {
	c   *Cache
	seq uint64
	id  uint64
	t   *table
}

// Begin begins the batch that takes the state to position seq.
func (c *Cache) Begin(seq uint64) Touches {
	c.mu.Lock()
	c.seq = seq
	c.mu.Unlock()
	return Touches{c: c, seq: seq}
}

// Key notes that a key is written or deleted.
func (x *Touches) Key(key []byte) {
	if x.c == nil || x.c.count.Load() == 0 {
		return
	}
	id, _, ok := storage.SplitData(key)
	if !ok {
		return
	}
	if id != x.id {
		x.id, x.t = id, x.c.table(id)
	}
	if x.t != nil && x.t.touch(key, x.seq) {
		x.c.mu.Lock()
		if x.c.tables[id] == x.t {
			x.c.drop(id)
		}
		x.c.mu.Unlock()
		x.t = nil
	}
}

// Range notes that all keys in [lo, hi) are deleted.
func (x *Touches) Range(lo, hi []byte) {
	if x.c == nil || x.c.count.Load() == 0 {
		return
	}
	x.c.mu.RLock()
	defer x.c.mu.RUnlock()
	for _, t := range x.c.tables {
		t.touchRange(lo, hi, x.seq)
	}
}
