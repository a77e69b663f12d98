package shard

import (
	"context"
	"math"
	"sync"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/sqltypes/pgerror"
)

// sequence is the leader's state of one sequence: never behind the replicated
// one. Values go out from here and are replicated by the transactions that got
// them; the state merges by "later wins", so their order does not matter.
type sequence struct {
	mu sync.Mutex
	st storage.SequenceState // guarded by mu
}

// pendingSequence is a transaction's effect on a sequence.
type pendingSequence struct {
	id    uint64 // storage id
	state storage.SequenceState
	set   bool // by setval: logged even if the transaction rolls back
}

func (t *term) sequence(def *catalog.Sequence) (*sequence, error) {
	t.seqMu.Lock()
	defer t.seqMu.Unlock()
	if q := t.seqs[def.StorageID]; q != nil {
		return q, nil
	}
	st := t.s.cur.Load()
	if !st.db.Acquire() {
		return nil, errSnapshotTooOld()
	}
	defer st.db.Release()
	q := &sequence{}
	state, found, err := readSequence(st.db, def.StorageID)
	if err != nil {
		return nil, err
	}
	if found {
		q.st = state
	} else {
		q.st = storage.SequenceState{Last: def.Start, Down: def.Increment < 0}
	}
	t.seqs[def.StorageID] = q
	return q, nil
}

// lockSequence keeps ALTER SEQUENCE out until the transaction ends, as PostgreSQL
// does, and returns the newest definition.
func (t *Txn) lockSequence(ctx context.Context, rel *catalog.Relation) (*catalog.Sequence, error) {
	if rel.Sequence == nil {
		return nil, pgerror.New(pgerror.WrongObjectType, "%q is not a sequence", rel.Name)
	}
	key := txn.RelationKey(uint32(t.opts.Database), uint32(rel.OID))
	if err := t.term.locks.Acquire(ctx, &t.owner, txn.ClassRelation, key, uint8(engine.RowExclusive), t.lockWait(engine.WaitBlock)); err != nil {
		return nil, lockError(err)
	}
	if cat := t.s.Catalog(t.opts.Database); cat != nil && cat != t.base && !t.ownDDL(rel) {
		if now := cat.Relation(rel.OID); now != nil && now.Sequence != nil {
			return now.Sequence, nil
		}
	}
	return rel.Sequence, nil
}

// NextVal implements engine.Txn.
func (t *Txn) NextVal(ctx context.Context, rel *catalog.Relation) (int64, error) {
	if err := t.writable(); err != nil {
		return 0, err
	}
	def, err := t.lockSequence(ctx, rel)
	if err != nil {
		return 0, err
	}
	q, err := t.term.sequence(def)
	if err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.st
	n.Down = def.Increment < 0
	if n.Down != q.st.Down {
		n.Gen++
	}
	switch {
	case !n.Called:
	case def.Increment > 0 && (n.Last > def.Max || n.Last > math.MaxInt64-def.Increment || n.Last+def.Increment > def.Max):
		if !def.Cycle {
			return 0, pgerror.New(pgerror.SequenceGeneratorLimitExceeded, "nextval: reached maximum value of sequence %q (%d)", rel.Name, def.Max)
		}
		n.Last, n.Gen = def.Min, n.Gen+1
	case def.Increment < 0 && (n.Last < def.Min || n.Last < math.MinInt64-def.Increment || n.Last+def.Increment < def.Min):
		if !def.Cycle {
			return 0, pgerror.New(pgerror.SequenceGeneratorLimitExceeded, "nextval: reached minimum value of sequence %q (%d)", rel.Name, def.Min)
		}
		n.Last, n.Gen = def.Max, n.Gen+1
	default:
		n.Last += def.Increment
	}
	n.Called = true
	q.st = n
	t.addSequence(def.StorageID, n, false)
	return n.Last, nil
}

func (t *Txn) addSequence(id uint64, st storage.SequenceState, set bool) {
	for i := range t.seqs {
		if p := &t.seqs[i]; p.id == id {
			p.state, p.set = st, set || p.set
			return
		}
	}
	if t.seqs == nil {
		t.seqs = t.oneSeq[:0]
	}
	t.seqs = append(t.seqs, pendingSequence{id, st, set})
}

// SetVal implements engine.Txn.
func (t *Txn) SetVal(ctx context.Context, rel *catalog.Relation, value int64, isCalled bool) error {
	if err := t.writable(); err != nil {
		return err
	}
	def, err := t.lockSequence(ctx, rel)
	if err != nil {
		return err
	}
	if value < def.Min || value > def.Max {
		return pgerror.New(pgerror.NumericValueOutOfRange, "setval: value %d is out of bounds for sequence %q (%d..%d)", value, rel.Name, def.Min, def.Max)
	}
	q, err := t.term.sequence(def)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.st = storage.SequenceState{Gen: q.st.Gen + 1, Last: value, Called: isCalled, Down: def.Increment < 0}
	t.addSequence(def.StorageID, q.st, true)
	return nil
}

// SequenceState implements engine.Txn: the newest state, as PostgreSQL's
// sequences are not transactional.
func (t *Txn) SequenceState(rel *catalog.Relation) (last int64, isCalled bool, err error) {
	def := rel.Sequence
	if def == nil {
		return 0, false, pgerror.New(pgerror.WrongObjectType, "%q is not a sequence", rel.Name)
	}
	if t.term == nil || t.term.ended.Load() {
		return t.s.SequenceState(rel)
	}
	q, err := t.term.sequence(def)
	if err != nil {
		return 0, false, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.st.Last, q.st.Called, nil
}

// SequenceState is the newest applied state of a sequence.
func (s *Shard) SequenceState(rel *catalog.Relation) (last int64, isCalled bool, err error) {
	st := s.cur.Load()
	if !st.db.Acquire() {
		return 0, false, errSnapshotTooOld()
	}
	defer st.db.Release()
	state, found, err := readSequence(st.db, rel.Sequence.StorageID)
	if err != nil || !found {
		return rel.Sequence.Start, false, err
	}
	return state.Last, state.Called, nil
}

// SequenceState is the applied state of a sequence, for reads outside of transactions.
func (v *view) SequenceState(rel *catalog.Relation) (last int64, isCalled bool, err error) {
	if rel.Sequence == nil {
		return 0, false, pgerror.New(pgerror.WrongObjectType, "%q is not a sequence", rel.Name)
	}
	if err := v.alive(); err != nil {
		return 0, false, err
	}
	return v.s.SequenceState(rel)
}
