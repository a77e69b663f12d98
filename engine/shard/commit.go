package shard

import (
	"context"
	"errors"

	"ostraka/engine/commitlog"
	"ostraka/engine/effects"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/sqltypes/pgerror"
)

// emptyBuffer is what a statement sees of a transaction without earlier writes. Never written.
var emptyBuffer = new(txn.Buffer)

// hasEffects reports whether there is anything to commit.
func (t *Txn) hasEffects() bool {
	return t.writes.Len() > 0 || len(t.ddl) > 0 || len(t.dropped) > 0 || len(t.trims) > 0 || len(t.noFeeds) > 0 || len(t.notes) > 0 || len(t.seqs) > 0 || t.told
}

// Commit implements engine.Txn.
func (t *Txn) Commit(ctx context.Context) (commitlog.Position, error) {
	if t.done {
		return commitlog.Position{}, errFinished()
	}
	if t.failed != nil {
		err := t.failed
		t.Rollback()
		return commitlog.Position{}, err
	}
	if !t.hasEffects() {
		pos := t.s.Applied()
		if t.snap != nil {
			pos = t.st.applied.Position
		}
		// A reader holds locks nobody must have lost.
		if t.term != nil && t.term.ended.Load() && t.owner.Mark() > 0 {
			t.finish()
			return commitlog.Position{}, errTermOver()
		}
		if t.reads != nil {
			if err := t.reads.Prepare(); err != nil {
				t.finish()
				return commitlog.Position{}, err
			}
			t.reads.Finish(commitlog.Position{}, false)
		}
		t.finish()
		return pos, nil
	}
	pos, err := t.commit(ctx)
	if err == nil || !t.done {
		t.finish()
	}
	return pos, err
}

func (t *Txn) commit(ctx context.Context) (pos commitlog.Position, err error) {
	if err := t.writable(); err != nil {
		return pos, err
	}
	if _, err := t.assignXid(ctx); err != nil {
		return pos, err
	}
	payload, err := t.encode(ctx)
	if err == nil {
		if err = t.writes.Err(); err != nil { // what was staged is dropped by the next term at the latest
			t.dropStaged(t.xid.Load())
			err = spillError(err)
		}
	}
	if err != nil {
		return pos, err
	}
	if t.reads != nil {
		if err := t.reads.Prepare(); err != nil {
			if t.staged {
				t.dropStaged(t.xid.Load())
			}
			return pos, err
		}
	}
	pos, err = t.s.Log().Propose(ctx, t.term.id, payload)
	if t.reads != nil && (err == nil || !ambiguous(err)) {
		if err == nil {
			t.reads.Finish(pos, true)
		} else {
			t.reads.Abort()
		}
	}
	if err == nil {
		t.noteMoves()
		return pos, nil
	}
	if ambiguous(err) {
		t.keepLocks()
		return commitlog.Position{}, errUnknownOutcome(err, t.xid.Load())
	}
	if name := t.token.Load(); name != nil && t.once && errors.Is(err, commitlog.ErrRefused) {
		if xid, terr := t.s.tokenXid(*name); terr == nil && xid != 0 {
			return commitlog.Position{}, errTokenUsed(*name, xid)
		}
	}
	return commitlog.Position{}, proposeError(ctx, err)
}

// keepLocks ends the transaction but leaves its locks until its entry shows up
// in the log, or the term ends and takes the lock table with it.
func (t *Txn) keepLocks() {
	serial := t.reads
	if serial != nil {
		serial.Unknown()
		t.reads = nil
	}
	t.end()
	xid := t.xid.Load()
	t.s.apply.await(xid, func() {
		t.noteMoves()
		if serial != nil {
			serial.Finish(commitlog.Position{}, false)
		}
		t.term.locks.ReleaseTo(&t.owner, 0)
		t.term.active.remove(xid)
	})
	// It may have been applied before anybody waited for it.
	if yes, err := t.s.hasCommitted(xid); err == nil && yes {
		t.s.apply.resolve([]uint64{xid})
	}
}

// noteMoves tells waiters where rows went whose keys the transaction changed.
func (t *Txn) noteMoves() {
	for _, m := range t.moves {
		t.term.locks.Moved(m.from, m.xid, m.to, t.xid.Load())
	}
}

// encode makes the commit entry, staging what is too large for one.
func (t *Txn) encode(ctx context.Context) ([]byte, error) {
	size := t.writes.Bytes() + int64(len(t.seqs))*48
	descs := make([][]byte, len(t.ddl))
	for i := range t.ddl {
		var err error
		if descs[i], err = t.ddl[i].EncodeDescriptor(); err != nil {
			return nil, err
		}
		size += int64(len(descs[i])) + 32
	}
	for _, n := range t.notes {
		size += int64(len(n.channel)+len(n.payload)) + 24
	}
	if size > t.s.opts.MaxTxnBytes {
		return nil, errTooLarge(t.s.opts.MaxTxnBytes)
	}
	if st := t.stream; st != nil {
		if !st.broken {
			payload, err := st.finish(ctx, descs)
			t.staged = err == nil
			return payload, err
		}
		// Its chunks are replaced, or dropped by the entry.
		if err := st.ready(ctx, 0); err != nil {
			return nil, err
		}
	}
	if size > int64(t.s.opts.StageThreshold) {
		payload, err := t.encodeStaged(ctx, descs)
		t.staged = err == nil
		return payload, err
	}
	w := effects.NewWriter(make([]byte, 0, size+64), t.xid.Load())
	t.encodeFirst(w)
	t.eachEffect(descs, func(n int) *effects.Writer { return w })
	t.encodeDrops(w)
	if t.stream != nil {
		w.DropStaged(t.xid.Load())
		t.staged = true
	}
	return w.Bytes(), nil
}

func errTooLarge(limit int64) error {
	return pgerror.New(pgerror.ProgramLimitExceeded, "transaction exceeds the maximum of %d bytes of changes", limit).
		WithHint("Split the work into several transactions.")
}

// eachEffect writes everything but range deletes. room returns the writer with
// room for n more bytes, nil to stop.
func (t *Txn) eachEffect(descs [][]byte, room func(n int) *effects.Writer) {
	if !t.eachOther(descs, room) {
		return
	}
	skip := t.skipper()
	t.writes.Ascend(func(key string, x txn.Write) bool {
		return skip(key) || writeParts(key, x, t.s.opts.StageThreshold, room)
	})
}

// writeParts writes a key, a value too large for a chunk in parts. false: stopped by room.
func writeParts(key string, x txn.Write, limit int, room func(n int) *effects.Writer) bool {
	for len(x.Val) > limit/2 {
		w := room(len(key) + limit/2 + 16)
		if w == nil {
			return false
		}
		w.PutPart(key, x.Val[:limit/2])
		x.Val = x.Val[limit/2:]
	}
	w := room(len(key) + len(x.Val) + 16)
	if w == nil {
		return false
	}
	encodeWrite(w, key, x)
	return true
}

// eachOther is eachEffect without the writes; false: stopped by room.
func (t *Txn) eachOther(descs [][]byte, room func(n int) *effects.Writer) bool {
	if len(t.ddl) > 0 {
		w := room(64)
		if w == nil {
			return false
		}
		w.Counter(storage.CounterOID, t.term.oid.Load())
		w.Counter(storage.CounterStorage, t.term.storageID.Load())
	}
	for i := range t.ddl {
		w := room(len(descs[i]) + 32)
		if w == nil {
			return false
		}
		w.Descriptor(t.ddl[i].Key(), descs[i])
	}
	for _, p := range t.seqs {
		w := room(48)
		if w == nil {
			return false
		}
		w.Sequence(p.id, p.state)
	}
	sender := t.opts.Sender
	if sender == 0 {
		sender = t.opts.PID
	}
	for _, n := range t.notes {
		w := room(len(n.channel) + len(n.payload) + 24)
		if w == nil {
			return false
		}
		w.Notify(t.opts.Database, sender, n.channel, n.payload)
	}
	return true
}

func encodeWrite(w *effects.Writer, key string, x txn.Write) {
	if x.Val == nil {
		w.Delete(key)
	} else {
		w.Put(key, x.Val)
	}
}

// skipper tells writes under storage ids that the transaction drops.
func (t *Txn) skipper() func(key string) bool {
	if len(t.dropped) == 0 {
		return func(string) bool { return false }
	}
	dropped := map[string]bool{}
	for _, id := range t.dropped {
		dropped[string(storage.AppendDataPrefix(nil, id))] = true
	}
	return func(key string) bool { return dropped[key[:dataPrefixLen(key)]] }
}

// encodeFirst writes what stands before the writes.
func (t *Txn) encodeFirst(w *effects.Writer) {
	t.encodeToken(w)
	for _, f := range t.trims {
		w.DeleteRange(f.lo, f.hi)
	}
}

// encodeToken names the transaction; it comes first, being a guard.
func (t *Txn) encodeToken(w *effects.Writer) {
	name := t.token.Load()
	if name == nil {
		return
	}
	if t.once {
		w.GuardAbsent(storage.TokenKey([]byte(*name)))
	}
	w.Token(*name)
}

func (t *Txn) encodeDrops(w *effects.Writer) {
	for _, id := range t.dropped {
		lo, hi := storage.DataRange(id)
		w.DeleteRange(lo, hi)
	}
	for _, id := range t.noFeeds {
		lo, hi := storage.FeedRange(id)
		w.DeleteRange(lo, hi)
	}
}

// encodeStaged proposes the effects in chunks under a private prefix and makes the
// entry that puts them in place. If anything fails before that entry, the chunks
// are dropped again.
func (t *Txn) encodeStaged(ctx context.Context, descs [][]byte) (payload []byte, err error) {
	xid, chunk := t.xid.Load(), uint32(0)
	limit := t.s.opts.StageThreshold
	var ops effects.Writer
	ops.StartChunk(make([]byte, 0, limit))
	flush := func() bool {
		if ops.Len() == 0 {
			return true
		}
		w := effects.NewWriter(make([]byte, 0, ops.Len()+32), xid)
		w.Stage(chunk, ops.Bytes())
		chunk++
		if _, perr := t.s.Log().Propose(ctx, t.term.id, w.Bytes()); perr != nil {
			err = stageError(ctx, perr)
			return false
		}
		ops.StartChunk(ops.Bytes())
		return true
	}
	t.eachEffect(descs, func(n int) *effects.Writer {
		if ops.Len()+n > limit && !flush() {
			return nil
		}
		return &ops
	})
	if err == nil {
		flush()
	}
	if err != nil {
		t.dropStaged(xid)
		return nil, err
	}
	w := effects.NewWriter(nil, xid)
	t.encodeFirst(w)
	w.UseStaged(chunk)
	t.encodeDrops(w)
	return w.Bytes(), nil
}

// dropStaged removes the chunks of a transaction that failed.
func (t *Txn) dropStaged(xid uint64) {
	t.s.background(func() { t.proposeDrop(xid) })
}

func (t *Txn) proposeDrop(xid uint64) {
	w := effects.NewWriter(nil, 0)
	w.DropStaged(xid)
	if _, err := t.s.Log().Propose(t.s.stop, t.term.id, w.Bytes()); err != nil {
		t.s.log.Warn("dropping staged changes; the next term will", "xid", xid, "error", err)
	}
}

// newOID and newStorageID are replicated by the entry that uses them.
func (t *Txn) newOID() uint64 { return t.term.oid.Add(1) }

func (t *Txn) newStorageID() uint64 {
	id := t.term.storageID.Add(1)
	t.made = append(t.made, id)
	return id
}
