package shard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/engine/effects"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
)

// xidRange is how many transaction ids are reserved in the log at a time.
const xidRange = 1 << 14

// term is everything that only the leader has, for one term of leadership. When
// it is over its transactions fail (40001) and a new term starts from the
// replicated state.
type term struct {
	s     *Shard
	id    uint64
	over  chan struct{} // closed at the end
	ended atomic.Bool
	locks *txn.Table
	ssi   *txn.Tracker

	xid      atomic.Uint64 // the last id handed out
	xidLimit atomic.Uint64 // the highest reserved in the log
	xidMu    sync.Mutex    // held while a range is being reserved

	oid, storageID atomic.Uint64

	seqMu sync.Mutex
	seqs  map[uint64]*sequence // guarded by seqMu; by storage id
	rows  sync.Map             // storage id → *atomic.Uint64, the last hidden row id
	tops  tops

	advisory advisoryOwners
	active   activeTxns
}

// leadershipLoop starts and ends terms as the log's leadership changes.
func (s *Shard) leadershipLoop(l commitlog.Log) {
	defer s.wg.Done()
	for {
		changed := l.LeadershipChanged()
		lead := l.Leadership()
		cur := s.term.Load()
		if cur != nil && (!lead.IsLeader || cur.id != lead.Term) {
			s.endTerm()
			cur = nil
		}
		var retry <-chan time.Time
		if lead.IsLeader && cur == nil {
			if err := s.startTerm(l, lead.Term); err != nil {
				s.log.Warn("starting a term as leader", "term", lead.Term, "error", err)
				retry = time.After(100 * time.Millisecond)
			}
		}
		select {
		case <-s.stop.Done():
			return
		case <-changed:
		case <-retry:
		}
	}
}

// startTerm proposes the entry a term begins with: it drops what earlier terms
// staged, reserves transaction ids and, in a new shard, makes the first objects.
func (s *Shard) startTerm(l commitlog.Log, id uint64) error {
	st := s.cur.Load()
	counter := func(c storage.Counter, least uint64) (uint64, error) {
		val, closer, found, err := st.db.Get(storage.CounterKey(c))
		if err != nil || !found {
			return least, err
		}
		n := max(least, decodeCounter(val))
		return n, closer.Close()
	}
	if !st.db.Acquire() {
		return errors.New("shard: the state is closed")
	}
	xid, err1 := counter(storage.CounterXid, 2) // 0 to 2 are not transactions in PostgreSQL
	oid, err2 := counter(storage.CounterOID, uint64(catalog.FirstUserOID)-1)
	sid, err3 := counter(storage.CounterStorage, 0)
	if err := errors.Join(err1, err2, err3, st.db.Release()); err != nil {
		return err
	}
	t := &term{s: s, id: id, over: make(chan struct{}), locks: txn.NewTable(s.opts.MaxLocks), ssi: txn.NewTracker(dataPrefixLen),
		seqs: map[uint64]*sequence{}, tops: tops{of: map[uint64]*top{}}}
	t.xid.Store(xid)
	t.xidLimit.Store(xid + xidRange)
	t.oid.Store(oid)
	t.storageID.Store(sid)
	w := effects.NewWriter(nil, 0)
	w.DropStaged(0)
	w.Counter(storage.CounterXid, xid+xidRange)
	if st.inert || st.cats.Empty() {
		for _, ch := range catalog.Bootstrap(s.opts.Superuser) {
			desc, err := ch.EncodeDescriptor()
			if err != nil {
				return err
			}
			w.Descriptor(ch.Key(), desc)
		}
	}
	if _, err := l.Propose(s.stop, id, w.Bytes()); err != nil {
		return err
	}
	if now := l.Leadership(); !now.IsLeader || now.Term != id {
		return nil // the loop sees the change
	}
	s.setTerm(t)
	s.log.Info("leading", "term", id, "next_xid", xid+1)
	return nil
}

func (s *Shard) setTerm(t *term) {
	s.termMu.Lock()
	defer s.termMu.Unlock()
	s.term.Store(t)
	close(s.termUp)
	s.termUp = make(chan struct{})
}

// endTerm ends the current term, if there is one.
func (s *Shard) endTerm() {
	t := s.term.Load()
	if t == nil || t.ended.Swap(true) {
		return
	}
	s.setTerm(nil)
	close(t.over)
	t.locks.Close()
	s.apply.forget()
	s.log.Info("no longer leading", "term", t.id)
}

// leading returns the current term; when the log says that this node leads but
// the term is still starting it waits.
func (s *Shard) leading(ctx context.Context) (*term, error) {
	for {
		s.termMu.Lock()
		t, up := s.term.Load(), s.termUp
		s.termMu.Unlock()
		if t != nil {
			return t, nil
		}
		l := s.Log()
		if l == nil || !l.Leadership().IsLeader {
			return nil, errNotLeader()
		}
		changed := l.LeadershipChanged()
		select {
		case <-up:
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.stop.Done():
			return nil, errNotLeader()
		}
	}
}

// nextXid hands out a transaction id that is reserved in the log.
func (t *term) nextXid(ctx context.Context) (uint64, error) {
	x := t.xid.Add(1)
	limit := t.xidLimit.Load()
	if x <= limit {
		if x == limit-xidRange/2 { // half of it is used: reserve the next one ahead
			t.s.background(func() {
				if err := t.reserveXids(t.s.stop, x+xidRange/2); err != nil {
					t.s.log.Warn("reserving transaction ids", "error", err)
				}
			})
		}
		return x, nil
	}
	if err := t.reserveXids(ctx, x); err != nil {
		return 0, err
	}
	return x, nil
}

// reserveXids reserves more ids unless x is below the limit already.
func (t *term) reserveXids(ctx context.Context, x uint64) error {
	t.xidMu.Lock()
	defer t.xidMu.Unlock()
	limit := t.xidLimit.Load()
	if x < limit {
		return nil
	}
	w := effects.NewWriter(nil, 0)
	w.Counter(storage.CounterXid, max(x, limit)+xidRange)
	if _, err := t.s.Log().Propose(ctx, t.id, w.Bytes()); err != nil {
		return proposeError(ctx, err)
	}
	t.xidLimit.Store(max(x, limit) + xidRange)
	return nil
}

// background runs f in a goroutine that Close waits for, unless closing.
func (s *Shard) background(f func()) {
	s.termMu.Lock()
	defer s.termMu.Unlock()
	if s.stop.Err() != nil {
		return
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		f()
	}()
}

// nextRowID hands out a hidden row id: above all in the store and all handed out
// before in this term.
func (t *term) nextRowID(tbl *storage.Table) (uint64, error) {
	id := tbl.Rel.StorageID
	if c, ok := t.rows.Load(id); ok {
		return c.(*atomic.Uint64).Add(1), nil
	}
	st, snap := t.s.snapshot()
	defer st.db.Release()
	defer snap.Close()
	lo, hi := storage.DataRange(id)
	it, err := storage.NewSnapshotIter(t.s.stop, snap, lo, hi)
	if err != nil {
		return 0, err
	}
	c := new(atomic.Uint64)
	if it.Last() {
		c.Store(tbl.HiddenID(it.Key()))
	}
	if err := it.Close(); err != nil {
		return 0, err
	}
	got, _ := t.rows.LoadOrStore(id, c)
	return got.(*atomic.Uint64).Add(1), nil
}
