package shard

import "sync"

// activeTxns are the transactions of a term that have an id and no outcome yet:
// running, committing, or of unknown outcome until their entry shows up.
type activeTxns struct {
	mu sync.Mutex
	m  map[uint64]*Txn // guarded by mu
}

func (a *activeTxns) add(t *Txn, xid uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[uint64]*Txn{}
	}
	a.m[xid] = t
}

func (a *activeTxns) remove(xid uint64) {
	if xid == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.m, xid)
}

func (a *activeTxns) has(xid uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.m[xid]
	return ok
}

// named is the id of a transaction with a name, 0 if there is none.
func (a *activeTxns) named(token string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for xid, t := range a.m {
		if name := t.token.Load(); name != nil && *name == token {
			return xid
		}
	}
	return 0
}
