package tsdb

import (
	"context"
	"sync"
	"time"

	"ostraka/sqltypes/pgerror"
)

// tableLocks gives each table to one reading writer at a time. A transaction waits
// for at most one table and a table has at most one holder, so a deadlock is a
// cycle in a chain.
type tableLocks struct {
	mu    sync.Mutex
	held  map[uint64]*txn
	waits map[*txn]uint64
	freed chan struct{} // closed and replaced at every release
}

func newTableLocks() *tableLocks {
	return &tableLocks{held: map[uint64]*txn{}, waits: map[*txn]uint64{}, freed: make(chan struct{})}
}

// acquire waits until the table is free, or t's own.
func (l *tableLocks) acquire(ctx context.Context, t *txn, table uint64, timeout time.Duration) (err error) {
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		holder := l.held[table]
		if holder == t {
			return nil
		}
		if holder == nil {
			l.held[table] = t
			return nil
		}
		for x := holder; x != nil; {
			next, waiting := l.waits[x]
			if !waiting {
				break
			}
			if x = l.held[next]; x == t {
				return pgerror.New(pgerror.TRDeadlockDetected, "deadlock detected")
			}
		}
		l.waits[t] = table
		freed := l.freed
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-expired:
			err = pgerror.New(pgerror.LockNotAvailable, "canceling statement due to lock timeout")
		}
		l.mu.Lock()
		delete(l.waits, t)
		if err != nil {
			return err
		}
	}
}

// release gives back what a transaction holds.
func (l *tableLocks) release(t *txn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	any := false
	for table, holder := range l.held {
		if holder == t {
			delete(l.held, table)
			any = true
		}
	}
	if any {
		close(l.freed)
		l.freed = make(chan struct{})
	}
}
