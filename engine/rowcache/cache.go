// Package rowcache keeps in memory what short reads of the newest state have found:
// rows by their keys, and the keys of rows by one value of an index. A hit costs a
// hash and two loads instead of searches in the store. It is a copy on one node of
// what the store has; nothing of it is replicated, and dropping any of it changes no
// answer.
//
// Every key has a stamp, shared with the keys of the same hash: a number that the
// goroutine which applies writes makes odd before a batch with the key becomes
// visible, and even again afterwards. What was read between two looks at an even
// stamp that has not changed was current all the time, and stays so as long as the
// stamp does not change. So readers take no locks and the writer waits for nobody.
// Keys of relations and indexes of which nothing is read this way have no stamps:
// loading them costs nothing.
package rowcache

import (
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// Cache of one store. Its methods may be called at the same time, but for Begin and
// Marks, which belong to the goroutine that applies.
type Cache struct {
	slots []atomic.Pointer[entry]
	stamp []atomic.Uint64
	all   atomic.Uint64 // the stamp of all keys
	batch atomic.Uint64 // grows when a batch begins and when it ends
	// read has, by storage, 0 while none of its keys was looked for, else the batch at
	// the first look, plus 1.
	read  [storages]atomic.Uint64
	mask  uint64
	limit int64
	bytes atomic.Int64
	hand  atomic.Uint64 // where entries are dropped next
}

// entry is never changed.
type entry struct {
	key  string
	val  string
	keys []string
	at   Stamp
}

// overhead of an entry, in bytes.
const overhead = 160

// storages is how many storages are told apart.
const storages = 4096

// MaxValue is the size from which a value is not kept.
const MaxValue = 8 << 10

func (e *entry) size() int64 {
	n := overhead + len(e.key) + len(e.val)
	for _, k := range e.keys {
		n += 16 + len(k)
	}
	return int64(n)
}

// New makes a cache of at most limit bytes; 0: it keeps nothing.
func New(limit int64) *Cache {
	n := 1
	for int64(n)*512 < limit {
		n *= 2
	}
	return &Cache{slots: make([]atomic.Pointer[entry], n), stamp: make([]atomic.Uint64, n), mask: uint64(n - 1), limit: limit}
}

// Stamp is the state of a key at one look.
type Stamp struct {
	hash, own, all uint64
}

// steady reports that no batch with the key was becoming visible.
func (s Stamp) steady() bool { return (s.own|s.all)&1 == 0 }

func (c *Cache) now(hash uint64) Stamp {
	return Stamp{hash: hash, own: c.stamp[hash&c.mask].Load(), all: c.all.Load()}
}

// Holds reports that what was read of the key since the look is still current.
func (c *Cache) Holds(s Stamp) bool { return s.hash != 0 && s.steady() && c.now(s.hash) == s }

// Row looks for a row by its key; the value is not to be changed.
func (c *Cache) Row(key []byte) (val string, at Stamp, ok bool) {
	e, at := c.look(key)
	if e == nil {
		return "", at, false
	}
	return e.val, at, true
}

// Keys looks for the keys of the rows that an index has under a prefix.
func (c *Cache) Keys(prefix []byte) (keys []string, at Stamp, ok bool) {
	e, at := c.look(prefix)
	if e == nil {
		return nil, at, false
	}
	return e.keys, at, true
}

func (c *Cache) look(key []byte) (*entry, Stamp) {
	if c.limit == 0 || !c.stamped(key) {
		return nil, Stamp{}
	}
	at := c.now(xxh3.Hash(key))
	for _, i := range c.places(at.hash) {
		if e := c.slots[i].Load(); e != nil && e.at == at && e.key == string(key) {
			return e, at
		}
	}
	return nil, at
}

// stamped reports that batches with the key are marked; from the first look on, once
// the batch has ended that was under way then.
func (c *Cache) stamped(key []byte) bool {
	r := &c.read[storageOf(key)]
	first := r.Load()
	if first == 0 {
		r.CompareAndSwap(0, c.batch.Load()+1)
		first = r.Load()
	}
	first--
	now := c.batch.Load()
	return now >= first+2 || now == first && now&1 == 0
}

// storageOf is where a key's storage is in read.
func storageOf(key []byte) uint64 {
	if len(key) == 0 || key[0] <= tagData || key[0] > tagData+8 {
		return 0
	}
	id := uint64(0)
	for _, b := range key[1:min(len(key), 1+int(key[0]-tagData))] {
		id = id<<8 | uint64(b)
	}
	return id % storages
}

// places are the two slots that a key may be in.
func (c *Cache) places(hash uint64) [2]uint64 { return [2]uint64{hash & c.mask, hash >> 32 & c.mask} }

// PutRow keeps a row that was read after the look at, if it is still current.
func (c *Cache) PutRow(at Stamp, key, val string) {
	if len(val) <= MaxValue {
		c.put(&entry{key: key, val: val, at: at})
	}
}

// PutKeys keeps the keys of rows that an index has under a prefix.
func (c *Cache) PutKeys(at Stamp, prefix string, keys []string) {
	c.put(&entry{key: prefix, keys: keys, at: at})
}

func (c *Cache) put(e *entry) {
	if !c.Holds(e.at) {
		return
	}
	to := c.places(e.at.hash)
	i := to[0]
	if old := c.slots[i].Load(); old != nil && old.key != e.key && c.Holds(old.at) {
		i = to[1] // keep what is current, if there is room besides
	}
	c.account(c.slots[i].Swap(e), e)
	for n := 0; c.bytes.Load() > c.limit && n < 64; n++ {
		c.account(c.slots[c.hand.Add(1)&c.mask].Swap(nil), nil)
	}
}

func (c *Cache) account(old, now *entry) {
	n := int64(0)
	if old != nil {
		n -= old.size()
	}
	if now != nil {
		n += now.size()
	}
	c.bytes.Add(n)
}

// Marks are the keys of one batch while it becomes visible.
type Marks struct {
	c    *Cache
	odd  []uint32
	some bool // Range was called
	open bool // End was not
}

// Begin makes the marks of a batch.
func (c *Cache) Begin() Marks {
	c.batch.Add(1)
	return Marks{c: c, open: true}
}

// Key notes a key that the batch writes or deletes, before it is visible.
func (m *Marks) Key(key []byte) {
	if m.c.read[storageOf(key)].Load() == 0 {
		return
	}
	m.mark(xxh3.Hash(key))
	if n := FirstColumn(key); n > 0 && n < len(key) {
		m.mark(xxh3.Hash(key[:n]))
	}
}

func (m *Marks) mark(hash uint64) {
	i := hash & m.c.mask
	if s := &m.c.stamp[i]; s.Load()&1 == 0 {
		s.Add(1)
		m.odd = append(m.odd, uint32(i))
	}
}

// Range notes that the batch deletes a range of keys.
func (m *Marks) Range() {
	if !m.some {
		m.some = true
		m.c.all.Add(1)
	}
}

// End is called when the batch is visible.
func (m *Marks) End() {
	if !m.open {
		return
	}
	m.open = false
	for _, i := range m.odd {
		m.c.stamp[i].Add(1)
	}
	if m.some {
		m.c.all.Add(1)
	}
	m.c.batch.Add(1)
}

// tagData and the number of bytes of a storage id are the first byte of keys of rows
// and of index entries (docs/formats).
const tagData = 0x10

// FirstColumn is the length of a key up to the end of its first column, where that is
// of a type of variable length (it ends with 0x00 0x01, 0x00 inside is followed by
// 0xff); 0 where there is no such end. What has the first n bytes of a key in common
// with it has the same answer n.
func FirstColumn(key []byte) int {
	if len(key) == 0 || key[0] <= tagData || key[0] > tagData+8 {
		return 0
	}
	for i := 2 + int(key[0]-tagData); i+1 < len(key); i++ { // behind the storage id and the value's header

		if key[i] != 0 {
			continue
		}
		if key[i+1] == 1 {
			return i + 2
		}
		i++
	}
	return 0
}
