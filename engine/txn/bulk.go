package txn

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// maxBulkKeys bounds a Bulk; beyond it, it holds its whole prefix.
const maxBulkKeys = 4 << 20

// bulkMode is the mode in which a Bulk holds its keys: that of new keys (engine.LockUpdate).
const bulkMode = 4

// Bulk is the locks of one owner on many keys under one prefix, held without an
// entry per key: a set of hashes. Whoever else wants a key whose hash is in the
// set waits for the owner; a false match only makes them wait longer. It also
// knows whether anyone else has locked a key under the prefix since StartBulk.
type Bulk struct {
	o      *Owner
	prefix string
	// contested is set before another owner has a key under the prefix.
	contested atomic.Bool

	mu    sync.Mutex   // taken after lockShard.mu
	run   ascending    // guarded by mu; the keys that came in ascending order
	set   []uint64     // guarded by mu; those that did not: open addressing, 0 is free
	inSet int          // guarded by mu; keys in set
	n     int          // guarded by mu; keys in all
	all   bool         // guarded by mu
	taken []*lockEntry // guarded by mu; keys that others wait for, as ordinary entries
}

// StartBulk begins holding keys under prefix for o. public is false when nobody
// else can reach them: then the keys are only noted. The Bulk ends with
// ReleaseTo(o, 0).
func (t *Table) StartBulk(o *Owner, prefix string, public bool) *Bulk {
	b := &Bulk{o: o, prefix: prefix, set: make([]uint64, 1<<8)}
	if !public {
		return b
	}
	o.bulks = append(o.bulks, b)
	t.bulkMu.Lock()
	defer t.bulkMu.Unlock()
	var list []*Bulk
	if old := t.bulks.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = append(list, b)
	t.bulks.Store(&list)
	return b
}

// Contested reports whether another owner may have locked a key under the prefix
// since the Bulk began, or Contest was called.
func (b *Bulk) Contested() bool { return b.contested.Load() }

// Contest makes Contested true.
func (b *Bulk) Contest() { b.contested.Store(true) }

// Claim locks a key. ok is false when someone else holds or awaits it: Acquire it.
// fresh says that the owner has not claimed the key before.
func (t *Table) Claim(b *Bulk, key string) (fresh, ok bool) {
	h := maphash.String(t.seed, key)
	sh := &t.shards[h%lockShards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if e := sh.m[key]; e != nil && (len(e.waiters) > 0 || len(e.holders) != 1 || e.holders[0].o != b.o) {
		return false, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(h, key), true
}

// Note adds a key that the owner has locked already.
func (t *Table) Note(b *Bulk, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(maphash.String(t.seed, key), key)
}

// add notes a key and its hash; false when it may be there already. mu is held.
func (b *Bulk) add(h uint64, key string) bool {
	h |= 1 // 0 is free
	if key > b.run.last {
		// Keys in the set were at most last when they came.
		switch {
		case b.all:
			b.run.last = key
		case b.n >= maxBulkKeys:
			b.all, b.set, b.run = true, nil, ascending{last: key}
		default:
			b.run.add(h, key)
			b.n++
		}
		return true
	}
	if b.all || b.run.has(h, key) {
		return false
	}
	if 2*b.inSet >= len(b.set) {
		if b.n >= maxBulkKeys {
			b.all, b.set, b.run = true, nil, ascending{last: b.run.last}
			return false
		}
		old := b.set
		b.set = make([]uint64, 2*len(old))
		for _, x := range old {
			if x != 0 {
				b.set[b.find(x)] = x
			}
		}
	}
	p := b.find(h)
	if b.set[p] == h {
		return false
	}
	b.set[p] = h
	b.inSet++
	b.n++
	return true
}

// OthersHold reports whether anyone but o holds a key's lock in a mode of the mask 1<<mode | …
func (t *Table) OthersHold(o *Owner, key string, modes uint16) bool {
	sh := &t.shards[maphash.String(t.seed, key)%lockShards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if e := sh.m[key]; e != nil {
		for _, h := range e.holders {
			if h.o != o && uint16(h.modes)&modes != 0 {
				return true
			}
		}
	}
	return false
}

// find is the place of a hash or where it would go. mu is held.
func (b *Bulk) find(h uint64) uint64 {
	mask := uint64(len(b.set) - 1)
	p := h >> 8 & mask
	for b.set[p] != 0 && b.set[p] != h {
		p = (p + 1) & mask
	}
	return p
}

// yield tells the Bulks of others that o wants a key. When the key has no entry
// (e nil) and one of them holds it, it gets an ordinary one that can be waited
// for. The shard is locked.
func (t *Table) yield(sh *lockShard, bulks []*Bulk, e *lockEntry, o *Owner, key string, h uint64) *lockEntry {
	for _, b := range bulks {
		if b.o == o || !strings.HasPrefix(key, b.prefix) {
			continue
		}
		b.contested.Store(true)
		if e != nil {
			continue
		}
		b.mu.Lock()
		if b.all || b.set[b.find(h|1)] != 0 || b.run.has(h|1, key) {
			t.count.Add(1)
			e = entryPool.Get().(*lockEntry)
			e.key, e.class, e.shard = key, ClassRow, sh
			e.one[0] = holder{o: b.o, modes: 1 << bulkMode}
			e.holders = e.one[:1]
			sh.m[key] = e
			b.taken = append(b.taken, e)
		}
		b.mu.Unlock()
	}
	return e
}

// endBulks gives back everything that the owner's Bulks hold.
func (t *Table) endBulks(o *Owner) {
	t.bulkMu.Lock()
	var list []*Bulk
	for _, b := range *t.bulks.Load() {
		if b.o != o {
			list = append(list, b)
		}
	}
	if list == nil {
		t.bulks.Store(nil)
	} else {
		t.bulks.Store(&list)
	}
	t.bulkMu.Unlock()
	for _, b := range o.bulks {
		for {
			// One that loaded the list before may still be adding.
			b.mu.Lock()
			taken := b.taken
			b.taken, b.set, b.run, b.all, b.n = nil, make([]uint64, 2), ascending{}, false, 0
			b.inSet = 0
			b.mu.Unlock()
			if len(taken) == 0 {
				break
			}
			for _, e := range taken {
				t.drop(e, o)
			}
		}
	}
	o.bulks = nil
}

// drop takes o off the holders of an entry.
func (t *Table) drop(e *lockEntry, o *Owner) {
	sh := e.shard
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if j := e.holder(o); j >= 0 {
		last := len(e.holders) - 1
		e.holders[j] = e.holders[last]
		e.holders[last] = holder{}
		e.holders = e.holders[:last]
		t.settle(e)
	}
}
