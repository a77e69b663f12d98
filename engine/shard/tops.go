package shard

import (
	"sync"

	"ostraka/engine/storage"
)

// tops knows, of primary keys that are claimed, a bound that no key is above: neither a
// stored one nor one that a transaction of this term has claimed. A claimed key above it
// is free, without a look into the store, and most tables are inserted into in the
// order of their keys.
//
// The bound holds because every writer of a new row claims its key first and claims of
// the same key exclude each other: whoever claims a key has noted it before another can
// hold it. It is of one term, whose leader has applied all earlier ones before it began. A
// key that is rolled back or deleted leaves it too high, which costs a look.
type tops struct {
	mu sync.RWMutex
	of map[uint64]*top // by storage id; guarded by mu
}

// top is the bound of one table.
type top struct {
	mu    sync.Mutex
	max   string // guarded by mu
	known bool   // max covers the stored keys as well; guarded by mu
	notes int    // before it was known; guarded by mu
}

// topAfter is how many keys of a table are claimed in a term before the stored keys are
// asked for their greatest.
const topAfter = 4

func (ts *tops) table(storageID uint64) *top {
	ts.mu.RLock()
	tp := ts.of[storageID]
	ts.mu.RUnlock()
	if tp != nil {
		return tp
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if tp = ts.of[storageID]; tp == nil {
		tp = new(top)
		ts.of[storageID] = tp
	}
	return tp
}

// note notes a key that the caller has locked, and reports whether it is certainly free.
func (tp *top) note(s *Shard, db *storage.DB, prefix []byte, key string) (free bool, err error) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if !tp.known {
		if tp.notes++; tp.notes > topAfter {
			if err := tp.look(s, db, prefix); err != nil {
				return false, err
			}
		}
	}
	if key <= tp.max {
		return false, nil
	}
	tp.max = key
	return tp.known, nil
}

// look takes the greatest stored key in. What is stored after it was claimed in this
// term, and noted. mu is held.
func (tp *top) look(s *Shard, db *storage.DB, prefix []byte) error {
	it, err := db.NewIter(s.stop, prefix, storage.PrefixEnd(append([]byte(nil), prefix...)))
	if err != nil {
		return err
	}
	if it.Last() {
		tp.max = max(tp.max, string(it.Key()))
	}
	err = firstError(it.Error(), it.Close())
	tp.known = err == nil
	return err
}

// above reports whether a key is above the bound now: a hint, if it is not locked.
func (tp *top) above(key string) bool {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.known && key > tp.max
}
