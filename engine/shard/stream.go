package shard

import (
	"context"
	"sync"
	"sync/atomic"

	"ostraka/engine/effects"
	"ostraka/engine/txn"
	"ostraka/sqltypes/pgerror"
)

// streamAfter times the stage threshold is how much a transaction writes before
// its changes go to the log ahead of its commit.
const streamAfter = 4

// streamsInFlight bounds the chunks of one transaction that wait for the log.
const streamsInFlight = 4

// stream stages the changes of a large transaction while it is still writing, in
// the order of the writes: the last one of a key counts. It belongs to the
// transaction's goroutine but for the proposals, which run beside it.
type stream struct {
	t      *Txn
	ops    effects.Writer
	chunks uint32 // proposed
	seq    uint32 // the last write that is in it
	// broken: it holds writes that were rolled back. Everything is staged again at commit.
	broken bool

	ctx    context.Context
	cancel context.CancelFunc

	inFlight atomic.Int32
	freed    chan struct{} // a proposal has ended
	mu       sync.Mutex
	err      error // guarded by mu; the first failed proposal
}

// startStream starts staging once the transaction is large, with what it has written so far.
func (t *Txn) startStream() {
	s := &stream{t: t, freed: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(t.s.stop)
	s.ops.StartChunk(make([]byte, 0, t.s.opts.StageThreshold))
	t.stream = s
	t.writes.Ascend(func(key string, w txn.Write) bool {
		s.put(key, w)
		return true
	})
	s.seq = t.writes.Seq()
}

func (s *stream) put(key string, w txn.Write) {
	if s.broken {
		return
	}
	writeParts(key, w, s.t.s.opts.StageThreshold, s.room)
	s.seq = w.Seq
}

// room returns the chunk with room for n more bytes.
func (s *stream) room(n int) *effects.Writer {
	if s.ops.Len()+n > s.t.s.opts.StageThreshold {
		s.flush()
	}
	return &s.ops
}

// flush proposes the chunk.
func (s *stream) flush() {
	if s.ops.Len() == 0 {
		return
	}
	w := effects.NewWriter(make([]byte, 0, s.ops.Len()+32), s.t.xid.Load())
	w.Stage(s.chunks, s.ops.Bytes())
	s.chunks++
	s.ops.StartChunk(s.ops.Bytes())
	s.inFlight.Add(1)
	log, term := s.t.s.Log(), s.t.term.id
	go func() {
		defer func() {
			s.inFlight.Add(-1)
			select {
			case s.freed <- struct{}{}:
			default:
			}
		}()
		if _, err := log.Propose(s.ctx, term, w.Bytes()); err != nil {
			s.mu.Lock()
			if s.err == nil {
				s.err = err
			}
			s.mu.Unlock()
		}
	}()
}

// failed is why a chunk could not be staged.
func (s *stream) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// ready blocks until at most n proposals are in flight and answers whether one has failed.
func (s *stream) ready(ctx context.Context, n int32) error {
	for s.inFlight.Load() > n {
		select {
		case <-s.freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := s.failed(); err != nil {
		return stageError(ctx, err)
	}
	return nil
}

// stageError is what a client gets of a chunk that was not staged: nothing of the
// transaction is visible, it has failed.
func stageError(ctx context.Context, err error) error {
	if ambiguous(err) {
		return pgerror.Wrap(err, pgerror.TRSerializationFailure, "could not write the changes of a large transaction to the log")
	}
	return proposeError(ctx, err)
}

// finish stages the rest and makes the entry that puts everything in place.
func (s *stream) finish(ctx context.Context, descs [][]byte) ([]byte, error) {
	t := s.t
	t.eachOther(descs, s.room)
	s.flush()
	if err := s.ready(ctx, 0); err != nil {
		return nil, err
	}
	w := effects.NewWriter(nil, t.xid.Load())
	t.encodeFirst(w)
	w.UseStaged(s.chunks)
	t.encodeDrops(w)
	return w.Bytes(), nil
}

// drop ends the stream of a transaction that does not use it: what is staged goes away.
func (s *stream) drop() {
	if s.chunks == 0 {
		s.cancel()
		return
	}
	t, xid := s.t, s.t.xid.Load()
	t.s.background(func() {
		_ = s.ready(t.s.stop, 0) // the proposals see the stop too
		s.cancel()
		t.proposeDrop(xid)
	})
}
