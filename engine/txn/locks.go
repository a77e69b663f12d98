package txn

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/sqltypes/pgerror"
)

// ErrTermOver ends every wait when the term of leadership is over.
var ErrTermOver = errors.New("txn: the term of leadership is over")

// ErrNotAvailable says that a lock is held by someone else and the caller did not want to wait.
var ErrNotAvailable = errors.New("txn: lock not available")

// DefaultMaxLocks bounds the locks of one table.
const DefaultMaxLocks = 8 << 20

const lockShards = 64

// Table is a lock table. Safe for concurrent use.
type Table struct {
	seed   maphash.Seed
	shards [lockShards]lockShard
	count  atomic.Int64 // entries
	max    int64
	closed chan struct{}

	// dl serialises starting to wait: whoever closes a cycle sees all of it.
	dl sync.Mutex

	moved movedRows

	bulkMu sync.Mutex // held while bulks is replaced
	bulks  atomic.Pointer[[]*Bulk]
}

type lockShard struct {
	mu sync.Mutex
	m  map[string]*lockEntry
}

// lockEntry is one locked thing; it exists while someone holds or awaits it.
type lockEntry struct {
	key     string
	class   Class
	shard   *lockShard
	holders []holder  // guarded by shard.mu
	waiters []*waiter // guarded by shard.mu; first come, first served
	one     [1]holder // backs holders
}

type holder struct {
	o     *Owner
	modes mask
	since int64 // unix ns, 0 when granted without a wait
}

type waiter struct {
	o     *Owner
	e     *lockEntry // valid while o.waiting is this waiter, under shard.mu
	shard *lockShard
	class Class
	key   string
	mode  uint8
	ready chan struct{} // one send when granted
	since time.Time
}

// Owner is who holds locks: a transaction or a session. Its methods are called by
// one goroutine; other goroutines look at waiting and the exported fields only.
type Owner struct {
	PID int32
	Xid atomic.Uint64
	// Pause, if not nil, is called when a wait has become a long one, by the goroutine
	// that waits; what it returns is called when the wait is over.
	Pause func() (resume func())

	waiting atomic.Pointer[waiter]
	held    []heldLock
	few     [6]heldLock // backs held while it is short
	bulks   []*Bulk
}

type heldLock struct {
	e      *lockEntry
	before mask // the owner's modes on the entry before this lock
}

var entryPool = sync.Pool{New: func() any { return new(lockEntry) }}

// NewTable makes an empty table for at most max locks (0: DefaultMaxLocks).
func NewTable(max int64) *Table {
	if max == 0 {
		max = DefaultMaxLocks
	}
	t := &Table{seed: maphash.MakeSeed(), max: max, closed: make(chan struct{})}
	for i := range t.shards {
		t.shards[i].m = make(map[string]*lockEntry)
	}
	return t
}

// Close ends every wait, now and later, with ErrTermOver.
func (t *Table) Close() { close(t.closed) }

// Wait says how long a lock may be waited for.
type Wait struct {
	No      bool          // not at all: ErrNotAvailable
	Timeout time.Duration // 0: for ever; else 55P03
}

// longWait is how long a wait lasts before Owner.Pause is called.
const longWait = time.Second

// Acquire takes a lock for o in addition to what it holds. Errors: ErrNotAvailable,
// ErrTermOver, ctx's, 40P01, 55P03, 53200.
func (t *Table) Acquire(ctx context.Context, o *Owner, class Class, key string, mode uint8, wait Wait) error {
	h := maphash.String(t.seed, key)
	sh := &t.shards[h%lockShards]
	sh.mu.Lock()
	e := sh.m[key]
	if class == ClassRow {
		if bulks := t.bulks.Load(); bulks != nil {
			e = t.yield(sh, *bulks, e, o, key, h)
		}
	}
	if e == nil {
		if t.count.Load() >= t.max {
			sh.mu.Unlock()
			return errTooManyLocks()
		}
		t.count.Add(1)
		e = entryPool.Get().(*lockEntry)
		e.key, e.class, e.shard = key, class, sh
		e.one[0] = holder{o: o, modes: 1 << mode}
		e.holders = e.one[:1]
		sh.m[key] = e
		o.add(heldLock{e, 0})
		sh.mu.Unlock()
		return nil
	}
	if e.grantNow(o, mode) {
		sh.mu.Unlock()
		return nil
	}
	sh.mu.Unlock()
	if wait.No {
		return ErrNotAvailable
	}
	return t.wait(ctx, o, class, key, mode, wait)
}

func errTooManyLocks() error {
	return pgerror.New(pgerror.OutOfMemory, "out of shared memory").
		WithHint("You might need to increase max_locks_per_transaction.")
}

// Holds reports whether o holds a mode on key that is at least as strong: every
// mode that conflicts with the given one conflicts with it too.
func (t *Table) Holds(o *Owner, class Class, key string, mode uint8) bool {
	sh := &t.shards[maphash.String(t.seed, key)%lockShards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.m[key]
	if e == nil {
		return false
	}
	i := e.holder(o)
	return i >= 0 && e.covers(e.holders[i].modes, mode)
}

func (e *lockEntry) covers(held mask, mode uint8) bool {
	if held&(1<<mode) != 0 {
		return true
	}
	for m := uint8(1); m < 9; m++ {
		if held&(1<<m) != 0 && conflicts[e.class][m]&conflicts[e.class][mode] == conflicts[e.class][mode] {
			return true
		}
	}
	return false
}

// with reports whether two owners never wait for each other: a session and its
// transactions do not for advisory locks.
func (o *Owner) with(p *Owner, class Class) bool {
	return o == p || class == ClassAdvisory && o.PID != 0 && o.PID == p.PID
}

func (e *lockEntry) holder(o *Owner) int {
	for i := range e.holders {
		if e.holders[i].o == o {
			return i
		}
	}
	return -1
}

// blocked reports whether another holder has a mode that conflicts.
func (e *lockEntry) blocked(o *Owner, mode uint8) bool {
	c := conflicts[e.class][mode]
	for i := range e.holders {
		if e.holders[i].modes&c != 0 && !e.holders[i].o.with(o, e.class) {
			return true
		}
	}
	return false
}

// grantNow gives o the lock if nobody stands in the way: no holder, and no waiter
// unless o holds the entry already. Row locks pass waiters, as PostgreSQL's do.
func (e *lockEntry) grantNow(o *Owner, mode uint8) bool {
	i := e.holder(o)
	if i >= 0 && e.covers(e.holders[i].modes, mode) {
		return true
	}
	if e.blocked(o, mode) {
		return false
	}
	if i < 0 && e.class != ClassRow {
		c := conflicts[e.class][mode]
		for _, w := range e.waiters {
			if c&(1<<w.mode) != 0 {
				return false
			}
		}
	}
	e.grant(o, mode, 0)
	return true
}

func (e *lockEntry) grant(o *Owner, mode uint8, since int64) {
	i := e.holder(o)
	if i < 0 {
		e.holders = append(e.holders, holder{o: o, since: since})
		i = len(e.holders) - 1
	}
	o.add(heldLock{e, e.holders[i].modes})
	e.holders[i].modes |= 1 << mode
}

func (o *Owner) add(h heldLock) {
	if o.held == nil {
		o.held = o.few[:0]
	}
	o.held = append(o.held, h)
}

func (t *Table) wait(ctx context.Context, o *Owner, class Class, key string, mode uint8, wait Wait) error {
	sh := &t.shards[maphash.String(t.seed, key)%lockShards]
	w := &waiter{o: o, shard: sh, class: class, key: key, mode: mode, ready: make(chan struct{}, 1), since: time.Now()}
	t.dl.Lock()
	sh.mu.Lock()
	e := sh.m[key]
	if e == nil || e.grantNow(o, mode) {
		sh.mu.Unlock()
		t.dl.Unlock()
		if e == nil { // released meanwhile
			return t.Acquire(ctx, o, class, key, mode, wait)
		}
		return nil
	}
	w.e = e
	at := len(e.waiters)
	if e.holder(o) >= 0 { // who holds the entry already goes before those who do not
		at = 0
		for at < len(e.waiters) && e.holder(e.waiters[at].o) >= 0 {
			at++
		}
	}
	e.waiters = append(e.waiters, nil)
	copy(e.waiters[at+1:], e.waiters[at:])
	e.waiters[at] = w
	o.waiting.Store(w)
	sh.mu.Unlock()
	cycle := t.findCycle(w)
	t.dl.Unlock()
	if cycle != nil {
		if t.abandon(w) {
			return deadlockError(cycle)
		}
		return nil // granted after all
	}
	var expired <-chan time.Time
	if wait.Timeout > 0 {
		timer := time.NewTimer(wait.Timeout)
		defer timer.Stop()
		expired = timer.C
	}
	var long <-chan time.Time
	if o.Pause != nil {
		timer := time.NewTimer(longWait)
		defer timer.Stop()
		long = timer.C
	}
	var err error
	for waiting := true; waiting; {
		waiting = false
		select {
		case <-w.ready:
			return nil
		case <-long:
			defer o.Pause()()
			waiting = true
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-t.closed:
			err = ErrTermOver
		case <-expired:
			err = pgerror.New(pgerror.LockNotAvailable, "canceling statement due to lock timeout")
		}
	}
	if t.abandon(w) {
		return err
	}
	return nil
}

// abandon takes a waiter out of its queue; false: it was granted first.
func (t *Table) abandon(w *waiter) bool {
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	if w.o.waiting.Load() != w {
		return false
	}
	for i, x := range w.e.waiters {
		if x == w {
			w.e.waiters = append(w.e.waiters[:i], w.e.waiters[i+1:]...)
			w.o.waiting.Store(nil)
			t.settle(w.e)
			return true
		}
	}
	return false
}

// settle grants what can be granted after a change and drops the entry when
// nobody is left. The shard is locked.
func (t *Table) settle(e *lockEntry) {
	if len(e.waiters) > 0 {
		var passed mask // modes of waiters that stay
		rest := e.waiters[:0]
		for _, w := range e.waiters {
			if conflicts[e.class][w.mode]&passed == 0 && !e.blocked(w.o, w.mode) {
				e.grant(w.o, w.mode, time.Now().UnixNano())
				w.o.waiting.Store(nil)
				w.ready <- struct{}{}
				continue
			}
			passed |= 1 << w.mode
			rest = append(rest, w)
		}
		clear(e.waiters[len(rest):])
		e.waiters = rest
	}
	if len(e.holders) == 0 && len(e.waiters) == 0 {
		delete(e.shard.m, e.key)
		t.count.Add(-1)
		ws := e.waiters
		*e = lockEntry{waiters: ws[:0]}
		entryPool.Put(e)
	}
}

// Mark is the number of locks o holds now; ReleaseTo(Mark) gives back later ones.
func (o *Owner) Mark() int { return len(o.held) }

// ReleaseTo gives back the locks taken after mark, 0 all of them.
func (t *Table) ReleaseTo(o *Owner, mark int) {
	for i := len(o.held) - 1; i >= mark; i-- {
		h := o.held[i]
		sh := h.e.shard
		sh.mu.Lock()
		if j := h.e.holder(o); j >= 0 {
			if h.before == 0 {
				last := len(h.e.holders) - 1
				h.e.holders[j] = h.e.holders[last]
				h.e.holders[last] = holder{}
				h.e.holders = h.e.holders[:last]
			} else {
				h.e.holders[j].modes = h.before
			}
			t.settle(h.e)
		}
		sh.mu.Unlock()
	}
	clear(o.held[mark:])
	o.held = o.held[:mark]
	if mark == 0 && o.bulks != nil {
		t.endBulks(o)
	}
	if mark == 0 && cap(o.held) > 1024 {
		o.held = nil
	}
}

// Release gives back one mode of one lock (session advisory locks).
func (t *Table) Release(o *Owner, key string, mode uint8) {
	for i := len(o.held) - 1; i >= 0; i-- {
		e := o.held[i].e
		if e.key != key {
			continue
		}
		sh := e.shard
		sh.mu.Lock()
		if j := e.holder(o); j >= 0 {
			if e.holders[j].modes &^= 1 << mode; e.holders[j].modes == 0 {
				last := len(e.holders) - 1
				e.holders[j] = e.holders[last]
				e.holders[last] = holder{}
				e.holders = e.holders[:last]
				for k := range o.held {
					if o.held[k].e == e {
						o.held[k].e = nil
					}
				}
				t.settle(e)
			} else {
				t.settle(e)
			}
		}
		sh.mu.Unlock()
		break
	}
	rest := o.held[:0]
	for _, h := range o.held {
		if h.e != nil {
			rest = append(rest, h)
		}
	}
	clear(o.held[len(rest):])
	o.held = rest
}

// HeldOrAwaited is one line of Snapshot.
type HeldOrAwaited struct {
	Class   Class
	Key     string
	Mode    uint8
	PID     int32
	Xid     uint64
	Granted bool
	Since   time.Time
}

// Snapshot lists all locks, for pg_locks.
func (t *Table) Snapshot() []HeldOrAwaited {
	var out []HeldOrAwaited
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		for _, e := range sh.m {
			for _, h := range e.holders {
				for m := uint8(1); m < 9; m++ {
					if h.modes&(1<<m) != 0 {
						l := HeldOrAwaited{Class: e.class, Key: e.key, Mode: m, PID: h.o.PID, Xid: h.o.Xid.Load(), Granted: true}
						if h.since != 0 {
							l.Since = time.Unix(0, h.since)
						}
						out = append(out, l)
					}
				}
			}
			for _, w := range e.waiters {
				out = append(out, HeldOrAwaited{Class: e.class, Key: e.key, Mode: w.mode, PID: w.o.PID, Xid: w.o.Xid.Load(), Since: w.since})
			}
		}
		sh.mu.Unlock()
	}
	return out
}
