package shard

import (
	"context"
	"encoding/binary"
	"errors"

	"ostraka/engine"
	"ostraka/engine/storage"
	"ostraka/sqltypes/pgerror"
)

// Outcomes are replicated state: one bit per transaction id says that its entry was
// applied. Ids are handed out in order, so the bits of a batch share a block or two.
// What has no bit has not committed; whether it still can is known to the leader
// alone, which knows what runs in its term, and that nothing of earlier terms can
// be applied any more.
const (
	outcomeBlock = 1024 // ids in a block
	// maxOutcomeCache bounds the blocks the applier holds.
	maxOutcomeCache = 64
)

// outcomeBlocks is how many blocks are kept: 16 Mi ids. Tests set it smaller.
var outcomeBlocks uint64 = 1 << 14

// committed notes that the transaction's entry is part of the batch.
func (b *batch) committed(xid uint64, token []byte) error {
	if b.a.counters[storage.CounterOutcome] == 0 {
		b.a.counters[storage.CounterOutcome] = xid
		if err := b.b.Set(storage.CounterKey(storage.CounterOutcome), encodeCounter(xid), nil); err != nil {
			return err
		}
	}
	n := xid / outcomeBlock
	bits := b.a.outcomes[n]
	if bits == nil {
		val, closer, found, err := b.st.db.Get(storage.OutcomeKey(n))
		if err != nil {
			return err
		}
		bits = make([]byte, outcomeBlock/8)
		if found {
			copy(bits, val)
			if err := closer.Close(); err != nil {
				return err
			}
		} else if n >= outcomeBlocks {
			if err := b.forgetOutcomes(n - outcomeBlocks); err != nil {
				return err
			}
		}
		b.a.outcomes[n] = bits
	}
	bits[xid%outcomeBlock/8] |= 1 << (xid % 8)
	if b.blocks == nil {
		b.blocks = map[uint64][]byte{}
	}
	b.blocks[n] = bits
	if len(token) == 0 {
		return nil
	}
	if err := b.b.Set(storage.TokenKey(token), binary.BigEndian.AppendUint64(nil, xid), nil); err != nil {
		return err
	}
	return b.b.Set(storage.TokenAgeKey(xid), token, nil)
}

// forgetOutcomes drops the blocks up to one, and the names of their transactions.
func (b *batch) forgetOutcomes(upto uint64) error {
	lo, hi := storage.TokenAgeKey(0), storage.TokenAgeKey((upto+1)*outcomeBlock)
	it, err := b.st.db.NewIter(context.Background(), lo, hi)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := b.b.Delete(storage.TokenKey(it.Value()), nil); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return err
	}
	if err := b.b.DeleteRange(lo, hi, nil); err != nil {
		return err
	}
	return b.b.DeleteRange(storage.OutcomeKey(0), storage.OutcomeKey(upto+1), nil)
}

// writeOutcomes puts the blocks that changed into the batch.
func (b *batch) writeOutcomes() error {
	for n, bits := range b.blocks {
		if err := b.b.Set(storage.OutcomeKey(n), bits, nil); err != nil {
			return err
		}
	}
	return nil
}

// hasCommitted reads the newest applied state.
func (s *Shard) hasCommitted(xid uint64) (bool, error) {
	st := s.cur.Load()
	if !st.db.Acquire() {
		return false, errSnapshotTooOld()
	}
	defer st.db.Release()
	val, closer, found, err := st.db.Get(storage.OutcomeKey(xid / outcomeBlock))
	if err != nil || !found {
		return false, err
	}
	i := int(xid % outcomeBlock)
	yes := i/8 < len(val) && val[i/8]&(1<<(i%8)) != 0
	return yes, closer.Close()
}

// confirmed returns the term of this node's leadership, confirmed by a majority
// after the call began, with everything acknowledged before it applied. What has
// not committed by then and was proposed in an earlier term never will: the log of
// whoever leads next has this term's first entry, and an entry appended in another
// term than its proposal's is refused.
func (s *Shard) confirmed(ctx context.Context) (*term, error) {
	t, err := s.leading(ctx)
	if err != nil {
		return nil, err
	}
	pos, err := s.Log().ReadBarrier(ctx)
	if err == nil {
		err = s.WaitApplied(ctx, pos)
	}
	if err != nil {
		return nil, pgerror.Wrap(errors.Join(err, engine.ErrNotLeader), pgerror.CannotConnectNow, "no majority of the nodes answers").
			WithHint("Try again when a majority of the nodes is up.")
	}
	// The barrier may have been a later leader's, before this shard has noticed that
	// its term is over: that leader knows what runs there, this one does not.
	if l := s.Log().Leadership(); t.ended.Load() || !l.IsLeader || l.Term != t.id {
		return nil, errTermOver()
	}
	return t, nil
}

// TransactionStatus implements engine.Engine.
func (s *Shard) TransactionStatus(ctx context.Context, xid uint64) (engine.TxnStatus, error) {
	t, err := s.confirmed(ctx)
	if err != nil {
		return engine.TxnUnknown, err
	}
	return s.outcome(t, xid)
}

func (s *Shard) outcome(t *term, xid uint64) (engine.TxnStatus, error) {
	last := t.xid.Load()
	switch {
	case xid == 1 || xid == 2: // PostgreSQL's bootstrap and frozen ids
		return engine.TxnCommitted, nil
	case xid > last:
		return engine.TxnUnknown, pgerror.New(pgerror.InvalidParameterValue, "transaction ID %d is in the future", xid)
	case xid == 0 || xid/outcomeBlock+outcomeBlocks <= last/outcomeBlock:
		return engine.TxnUnknown, nil
	case t.active.has(xid): // before the bit is read: it is removed after the bit is set
		return engine.TxnInProgress, nil
	}
	yes, err := s.hasCommitted(xid)
	switch {
	case err != nil:
		return engine.TxnUnknown, err
	case yes:
		return engine.TxnCommitted, nil
	}
	from, err := s.counter(storage.CounterOutcome)
	if err != nil || xid < from {
		return engine.TxnUnknown, err
	}
	return engine.TxnAborted, nil
}

func (s *Shard) counter(c storage.Counter) (uint64, error) {
	st := s.cur.Load()
	if !st.db.Acquire() {
		return 0, errSnapshotTooOld()
	}
	defer st.db.Release()
	val, closer, found, err := st.db.Get(storage.CounterKey(c))
	if err != nil || !found {
		return 0, err
	}
	return decodeCounter(val), closer.Close()
}

// TokenStatus implements engine.Engine.
func (s *Shard) TokenStatus(ctx context.Context, token string) (uint64, engine.TxnStatus, error) {
	t, err := s.confirmed(ctx)
	if err != nil {
		return 0, engine.TxnUnknown, err
	}
	if xid := t.active.named(token); xid != 0 {
		return xid, engine.TxnInProgress, nil
	}
	xid, err := s.tokenXid(token)
	if err != nil || xid == 0 {
		return 0, engine.TxnUnknown, err
	}
	return xid, engine.TxnCommitted, nil
}

func (s *Shard) tokenXid(token string) (uint64, error) {
	st := s.cur.Load()
	if !st.db.Acquire() {
		return 0, errSnapshotTooOld()
	}
	defer st.db.Release()
	val, closer, found, err := st.db.Get(storage.TokenKey([]byte(token)))
	if err != nil || !found || len(val) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(val), closer.Close()
}
