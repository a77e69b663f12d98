package shard

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/colcache"
	"ostraka/engine/commitlog"
	"ostraka/engine/effects"
	"ostraka/engine/rowcache"
	"ostraka/engine/storage"
	"ostraka/sqltypes"
)

// applier is what only the goroutine of ApplyBatch touches (and openState, before
// there is one, and Restore, which the log calls in its place).
type applier struct {
	counters  map[storage.Counter]uint64
	sequences map[uint64]storage.SequenceState // a cache of those seen
	outcomes  map[uint64][]byte                // a cache of blocks of outcomes
	// unresolved transactions: their commit was proposed with unknown outcome.
	mu         sync.Mutex
	unresolved map[uint64]func() // by xid; guarded by mu
	latest     atomic.Uint64     // the highest id of a transaction applied
	known      bool              // latest is one, not a bound
}

// LatestXid is the highest id of a transaction that this replica has applied, or, since
// the start of the node, a bound of it.
func (s *Shard) LatestXid() uint64 { return s.apply.latest.Load() }

const maxSequenceCache = 1 << 16

func (a *applier) load(db *storage.DB) error {
	a.counters = map[storage.Counter]uint64{}
	a.sequences = map[uint64]storage.SequenceState{}
	a.outcomes = map[uint64][]byte{}
	for _, c := range []storage.Counter{storage.CounterXid, storage.CounterOID, storage.CounterStorage, storage.CounterOutcome} {
		val, closer, found, err := db.Get(storage.CounterKey(c))
		if err != nil {
			return err
		}
		if found {
			a.counters[c] = decodeCounter(val)
			if err := closer.Close(); err != nil {
				return err
			}
		}
	}
	a.latest.Store(max(a.counters[storage.CounterXid], 2))
	return nil
}

// batch is one storage batch in the making.
type batch struct {
	a       *applier
	st      *state
	b       *storage.Batch
	touched colcache.Touches
	marks   rowcache.Marks
	indexed bool
	changes []catalog.Change
	notes   []engine.Notification
	xids    []uint64
	// staged has the chunks of this batch, dropped the transactions whose earlier
	// ones it drops (0: all).
	staged  map[string][]byte
	dropped map[uint64]bool
	// blocks of outcomes that the batch changes; staging: the entry stages a chunk; token names its transaction.
	blocks  map[uint64][]byte
	staging bool
	token   []byte
	// A value that comes in parts.
	partKey, part []byte
	// The entry's place.
	pos     commitlog.Position
	ordinal uint32
}

func (s *Shard) applyBatch(entries []commitlog.Entry, last commitlog.Position, lastTerm uint64, config []byte) ([]error, error) {
	st := s.cur.Load()
	results := make([]error, len(entries))
	if !st.applied.Position.Less(last) {
		return results, nil
	}
	if len(s.apply.sequences) > maxSequenceCache {
		clear(s.apply.sequences)
	}
	if len(s.apply.outcomes) > maxOutcomeCache {
		clear(s.apply.outcomes)
	}
	b := &batch{a: &s.apply, st: st, b: st.db.NewBatch(false), touched: st.cols.Begin(last.Index), marks: st.rows.Begin()}
	defer func() {
		b.marks.End()
		_ = b.b.Close()
	}()
	for i := range entries {
		e := &entries[i]
		if !st.applied.Position.Less(e.Position) {
			continue // the store has it already
		}
		if e.ProposalTerm != e.Term {
			results[i] = commitlog.ErrRefused
			continue
		}
		b.pos, b.ordinal = e.Position, uint32(e.Ordinal)
		ok, err := b.entry(e.Payload)
		if err != nil {
			return nil, fmt.Errorf("shard: applying entry %d.%d: %w", e.Position.Index, e.Ordinal, err)
		}
		if !ok {
			results[i] = commitlog.ErrRefused
		}
	}
	next := &state{db: st.db, cols: st.cols, rows: st.rows, cats: st.cats, inert: st.inert, applied: commitlog.AppliedState{Position: last, Term: lastTerm,
		Config: st.applied.Config, ConfigIndex: st.applied.ConfigIndex}}
	if config != nil {
		next.applied.Config, next.applied.ConfigIndex = config, last.Index
	}
	if err := b.writeOutcomes(); err != nil {
		return nil, err
	}
	key, val := storage.AppendApplied(nil, &next.applied)
	if err := b.b.Set(key, val, nil); err != nil {
		return nil, err
	}
	if len(b.changes) > 0 {
		if st.inert {
			next.inert, next.cats = false, catalog.NewSet()
		}
		next.cats = next.cats.Apply(b.changes)
		s.ddlMu.Lock()
		s.ddl.Add(1)
	}
	err := st.db.Commit(b.b)
	b.marks.End()
	if err == nil {
		if len(b.notes) > 0 {
			s.listen.delivering.Lock() // until they are received: see Notified
			defer s.listen.delivering.Unlock()
		}
		s.cur.Store(next)
	}
	if len(b.changes) > 0 {
		s.ddl.Add(1)
		s.ddlMu.Unlock()
	}
	if err != nil {
		return nil, fmt.Errorf("shard: writing at %d: %w", last.Index, err)
	}
	s.durable.dirty.Store(true)
	s.waiters.wake(last)
	s.apply.resolve(b.xids)
	for _, n := range b.notes {
		s.listen.deliver(n)
	}
	return results, nil
}

// entry adds one entry to the batch; ok is false when a guard refuses it.
func (b *batch) entry(payload []byte) (ok bool, err error) {
	r, err := effects.NewReader(payload)
	if err != nil {
		return false, err
	}
	// Guards stand first; a refused entry has no effect at all.
	guards := r
	var o effects.Operation
	for {
		more, err := guards.Next(&o)
		if err != nil {
			return false, err
		}
		if !more || o.Op != effects.OpGuard {
			break
		}
		if holds, err := b.guard(&o); err != nil || !holds {
			return false, err
		}
	}
	b.staging, b.token = false, nil
	if err := b.ops(r.Xid, &r, false); err != nil {
		return false, err
	}
	if r.Xid == 0 || b.staging {
		return true, nil
	}
	b.xids = append(b.xids, r.Xid)
	if r.Xid > b.a.latest.Load() || !b.a.known {
		b.a.latest.Store(r.Xid)
		b.a.known = true
	}
	return true, b.committed(r.Xid, b.token)
}

func (b *batch) ops(xid uint64, r *effects.Reader, chunk bool) error {
	var o effects.Operation
	for {
		more, err := r.Next(&o)
		if err != nil || !more {
			return err
		}
		switch o.Op {
		case effects.OpPut:
			if b.partKey != nil {
				if o.Value = append(b.part, o.Value...); !bytes.Equal(b.partKey, o.Key) {
					return effects.ErrMalformed
				}
				b.partKey, b.part = nil, nil
			}
			if storage.IsFeedKey(o.Key) {
				o.Key = storage.StampFeedKey(o.Key, b.pos.Epoch, b.pos.Index, b.ordinal)
			}
			b.touched.Key(o.Key)
			b.marks.Key(o.Key)
			err = b.b.Set(o.Key, o.Value, nil)
		case effects.OpPutPart:
			if b.partKey != nil && !bytes.Equal(b.partKey, o.Key) {
				return effects.ErrMalformed
			}
			b.partKey, b.part = bytes.Clone(o.Key), append(b.part, o.Value...)
		case effects.OpDelete:
			b.touched.Key(o.Key)
			b.marks.Key(o.Key)
			err = b.b.Delete(o.Key, nil)
		case effects.OpDeleteRange:
			b.touched.Range(o.Key, o.Value)
			b.marks.Range()
			err = b.b.DeleteRange(o.Key, o.Value, nil)
		case effects.OpCounter:
			if o.N > b.a.counters[o.Counter] {
				b.a.counters[o.Counter] = o.N
				err = b.b.Set(storage.CounterKey(o.Counter), encodeCounter(o.N), nil)
			}
		case effects.OpSequence:
			err = b.sequence(o.N, o.Value)
		case effects.OpDescriptor:
			err = b.descriptor(o.Key, o.Value)
		case effects.OpNotify:
			b.notes = append(b.notes, engine.Notification{Database: o.DB, Channel: string(o.Key), Payload: string(o.Value), PID: o.PID})
		case effects.OpGuard:
		case effects.OpToken:
			b.token = o.Key
		case effects.OpStage:
			if chunk || o.N > 1<<32-1 {
				return effects.ErrMalformed
			}
			b.staging = true
			err = b.stage(storage.StagedKey(xid, uint32(o.N)), o.Value)
		case effects.OpUseStaged:
			if chunk {
				return effects.ErrMalformed
			}
			err = b.useStaged(xid, o.N)
		case effects.OpDropStaged:
			err = b.dropStaged(o.N)
		}
		if err != nil {
			return err
		}
	}
}

// readable makes what is in the batch so far visible to get.
func (b *batch) readable() error {
	if b.indexed {
		return nil
	}
	n := b.st.db.NewBatch(true)
	if !b.b.Empty() {
		if err := n.Apply(b.b, nil); err != nil {
			return err
		}
	}
	old := b.b
	b.b, b.indexed = n, true
	return old.Close()
}

func (b *batch) guard(o *effects.Operation) (bool, error) {
	if err := b.readable(); err != nil {
		return false, err
	}
	val, closer, found, err := storage.BatchGet(b.b, o.Key)
	if err != nil || !found {
		return o.N == 0, err
	}
	holds := o.N == 1 && bytes.Equal(val, o.Value)
	return holds, closer.Close()
}

func (b *batch) useStaged(xid, chunks uint64) error {
	for i := uint64(0); i < chunks; i++ {
		if err := b.useChunk(xid, storage.StagedKey(xid, uint32(i))); err != nil {
			return err
		}
	}
	return b.dropStaged(xid)
}

// useChunk applies one chunk, which an entry of this batch or an earlier one staged.
func (b *batch) useChunk(xid uint64, key []byte) error {
	if val, here := b.staged[string(key)]; here {
		r := effects.NewChunkReader(val)
		return b.ops(xid, &r, true)
	}
	val, closer, found, err := b.st.db.Get(key)
	if err != nil {
		return err
	}
	if !found || b.dropped[0] || b.dropped[xid] {
		return fmt.Errorf("chunk %x of transaction %d is missing", key, xid)
	}
	r := effects.NewChunkReader(val)
	return firstError(b.ops(xid, &r, true), closer.Close())
}

func (b *batch) stage(key, val []byte) error {
	if b.staged == nil {
		b.staged = map[string][]byte{}
	}
	b.staged[string(key)] = val
	return b.b.Set(key, val, nil)
}

// dropStaged removes the chunks of a transaction, 0: all.
func (b *batch) dropStaged(xid uint64) error {
	if b.dropped == nil {
		b.dropped = map[uint64]bool{}
	}
	b.dropped[xid] = true
	lo, hi := storage.StagedRange(xid)
	for k := range b.staged {
		if k >= string(lo) && k < string(hi) {
			delete(b.staged, k)
		}
	}
	return b.b.DeleteRange(lo, hi, nil)
}

func (b *batch) sequence(id uint64, val []byte) error {
	n, err := storage.DecodeSequence(val)
	if err != nil {
		return err
	}
	old, found := b.a.sequences[id]
	if !found {
		if old, found, err = readSequence(b.st.db, id); err != nil {
			return err
		}
	}
	if found && !n.Beyond(old) {
		return nil
	}
	b.a.sequences[id] = n
	return b.b.Set(storage.SequenceKey(id), val, nil)
}

func readSequence(db *storage.DB, id uint64) (storage.SequenceState, bool, error) {
	val, closer, found, err := db.Get(storage.SequenceKey(id))
	if err != nil || !found {
		return storage.SequenceState{}, false, err
	}
	st, err := storage.DecodeSequence(val)
	return st, true, firstError(err, closer.Close())
}

func (b *batch) descriptor(key, desc []byte) error {
	ch, err := catalog.DecodeChange(key, desc)
	if err != nil {
		return err
	}
	b.changes = append(b.changes, ch)
	if len(desc) == 0 {
		return b.b.Delete(storage.DescriptorKey(key), nil)
	}
	return b.b.Set(storage.DescriptorKey(key), desc, nil)
}

// resolve runs what waits for transactions whose outcome was unknown.
func (a *applier) resolve(xids []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.unresolved) == 0 {
		return
	}
	for _, x := range xids {
		if f := a.unresolved[x]; f != nil {
			delete(a.unresolved, x)
			f()
		}
	}
}

// await calls f when an entry of xid is applied.
func (a *applier) await(xid uint64, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unresolved == nil {
		a.unresolved = map[uint64]func(){}
	}
	a.unresolved[xid] = f
}

// forget drops all that wait (the term is over).
func (a *applier) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unresolved = nil
}

// Applied is the newest applied position.
func (s *Shard) Applied() commitlog.Position { return s.cur.Load().applied.Position }

// logSide is the engine as its commit log sees it.
type logSide struct{ s *Shard }

var _ commitlog.Applier = logSide{}

// Applier is the state machine to give to the commit log.
func (s *Shard) Applier() commitlog.Applier { return logSide{s} }

func (l logSide) ApplyBatch(entries []commitlog.Entry, last commitlog.Position, lastTerm uint64, config []byte) ([]error, error) {
	return l.s.applyBatch(entries, last, lastTerm, config)
}
func (l logSide) Applied() commitlog.AppliedState { return l.s.cur.Load().applied }
func (l logSide) Durable() commitlog.AppliedState { return l.s.durable.get() }
func (l logSide) DurableChanged() <-chan struct{} { return l.s.durable.changedChan() }
func (l logSide) Checkpoint(ctx context.Context, dir string) (commitlog.AppliedState, error) {
	return l.s.checkpoint(ctx, dir)
}
func (l logSide) Restore(ctx context.Context, dir string) error { return l.s.restore(ctx, dir) }

// positionWaiters are goroutines that wait until a position is applied.
type positionWaiters struct {
	mu   sync.Mutex
	list []positionWaiter // guarded by mu
}

type positionWaiter struct {
	pos commitlog.Position
	ch  chan struct{}
}

func (w *positionWaiters) wake(pos commitlog.Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == 0 {
		return
	}
	rest := w.list[:0]
	for _, x := range w.list {
		if pos.Less(x.pos) {
			rest = append(rest, x)
		} else {
			close(x.ch)
		}
	}
	clear(w.list[len(rest):])
	w.list = rest
}

// WaitApplied blocks until pos is applied here.
func (s *Shard) WaitApplied(ctx context.Context, pos commitlog.Position) error {
	if !s.cur.Load().applied.Position.Less(pos) {
		return nil
	}
	x := positionWaiter{pos, make(chan struct{})}
	s.waiters.mu.Lock()
	if !s.cur.Load().applied.Position.Less(pos) { // wake comes after cur
		s.waiters.mu.Unlock()
		return nil
	}
	s.waiters.list = append(s.waiters.list, x)
	s.waiters.mu.Unlock()
	var err error
	select {
	case <-x.ch:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.stop.Done():
		err = errTermOver()
	}
	s.waiters.mu.Lock()
	defer s.waiters.mu.Unlock()
	for i := range s.waiters.list {
		if s.waiters.list[i].ch == x.ch {
			s.waiters.list = append(s.waiters.list[:i], s.waiters.list[i+1:]...)
			break
		}
	}
	return err
}

// listeners receive notifications.
type listeners struct {
	// delivering is held from the moment a state with notifications can be seen until they are received.
	delivering sync.Mutex

	mu   sync.RWMutex
	next int
	m    map[int]listener // guarded by mu
}

type listener struct {
	db   sqltypes.OID
	recv func(engine.Notification)
}

// Listen implements engine.Engine.
func (s *Shard) Listen(db sqltypes.OID, recv func(n engine.Notification)) (cancel func()) {
	l := &s.listen
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[int]listener{}
	}
	id := l.next
	l.next++
	l.m[id] = listener{db, recv}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.m, id)
	}
}

// Notified implements engine.Engine.
func (s *Shard) Notified() {
	s.listen.delivering.Lock()
	defer s.listen.delivering.Unlock()
}

func (l *listeners) deliver(n engine.Notification) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, x := range l.m {
		if x.db == n.Database {
			x.recv(n)
		}
	}
}
