package txn

import (
	"sync"
	"sync/atomic"
)

// movedRows remembers rows whose key an update changed, so that who waited for
// the old version finds the new one. The oldest are forgotten first.
type movedRows struct {
	n  atomic.Int64 // len(m), to look without the mutex
	mu sync.Mutex
	m  map[movedFrom]movedTo // guarded by mu
	q  []movedFrom           // guarded by mu; order of arrival
}

type movedFrom struct {
	key string
	xid uint64 // the writer of the version that moved
}

type movedTo struct {
	key string
	xid uint64 // of the version there
}

// Elsewhere stands for the key of a row that has gone to another table: another
// partition of its parent.
const Elsewhere = "\x00elsewhere"

const maxMoved = 1 << 16

// Moved notes that the version of the row at key that xid wrote was moved to
// another key by transaction by.
func (t *Table) Moved(key string, xid uint64, to string, by uint64) {
	r := &t.moved
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = make(map[movedFrom]movedTo)
	}
	f := movedFrom{key, xid}
	if _, ok := r.m[f]; !ok {
		if len(r.q) >= maxMoved {
			delete(r.m, r.q[0])
			r.q = r.q[1:]
		}
		r.q = append(r.q, f)
	}
	r.m[f] = movedTo{to, by}
	r.n.Store(int64(len(r.m)))
}

// MovedTo answers where that version went and who moved it, "" if it did not move.
func (t *Table) MovedTo(key string, xid uint64) (to string, by uint64) {
	r := &t.moved
	if r.n.Load() == 0 {
		return "", 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.m[movedFrom{key, xid}]
	return x.key, x.xid
}
