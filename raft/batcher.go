package raft

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
)

// enqueueTimeout bounds how long an entry waits for raft's main goroutine.
const enqueueTimeout = 10 * time.Second

// proposal is one payload on its way.
type proposal struct {
	term    uint64
	payload []byte
	taken   bool        // left the queue; guarded by batcher.mu
	done    chan result // buffered, answered once
}

type result struct {
	pos commitlog.Position
	err error
}

// batcher puts all proposals that wait into one entry. While an entry is in
// flight the next one grows, and when it lands the next may wait a little for
// the proposers that were just answered: see gather.
//
// A proposal is on its way from goroutine to goroutine, and on a machine that waits
// for its disk every one of them costs the waking of a thread. So the proposer who
// completes an entry hands it to raft itself, and raft's state machine answers all
// proposers (applied). Nobody waits for an entry unless something is wrong with it:
// the leadership was lost, or it takes long (see flight).
type batcher struct {
	entryBytes int
	queueBytes int
	inFlight   int
	// apply hands an entry to raft, which may take as long.
	apply func(data []byte, patience time.Duration) hraft.ApplyFuture
	// leads reports whether proposals of term may be appended now.
	leads func(term uint64) bool

	mu      sync.Mutex
	queue   []*proposal
	bytes   int           // payload bytes in queue
	room    chan struct{} // closed when bytes has shrunk; nil if nobody waits for it
	flights int           // entries in flight, or about to be
	active  []*flight     // those handed to raft
	gather  gather
	timer   *time.Timer // ends a wait of gather
	watch   *time.Timer // looks for entries that take long; runs while watched
	watched bool
	closed  bool
	stop    chan struct{}
	gone    chan struct{}  // closed when raft has ended and cannot answer any more
	flying  sync.WaitGroup // entries in flight
}

func newBatcher(cfg GroupConfig, apply func([]byte, time.Duration) hraft.ApplyFuture, leads func(uint64) bool) *batcher {
	b := &batcher{
		entryBytes: cfg.EntryBytes,
		queueBytes: cfg.QueueBytes,
		inFlight:   cfg.InFlight,
		apply:      apply,
		leads:      leads,
		stop:       make(chan struct{}),
		gone:       make(chan struct{}),
	}
	b.timer = time.AfterFunc(time.Hour, b.waited)
	b.timer.Stop()
	b.watch = time.AfterFunc(time.Hour, b.overdue)
	b.watch.Stop()
	return b
}

var errClosed = errors.New("the group is closed")

// propose queues a payload and waits for its outcome.
func (b *batcher) propose(ctx context.Context, term uint64, payload []byte) (commitlog.Position, error) {
	p := &proposal{term: term, payload: payload, done: make(chan result, 1)}
	if err := b.enqueue(ctx, p); err != nil {
		return commitlog.Position{}, fmt.Errorf("%w: %w", commitlog.ErrNotAppended, err)
	}
	select {
	case r := <-p.done:
		return r.pos, r.err
	case <-b.gone:
		select {
		case r := <-p.done:
			return r.pos, r.err
		default:
			return commitlog.Position{}, fmt.Errorf("%w: %w", commitlog.ErrAmbiguous, errClosed)
		}
	case <-ctx.Done():
	}
	if b.withdraw(p) {
		return commitlog.Position{}, fmt.Errorf("%w: %w", commitlog.ErrNotAppended, ctx.Err())
	}
	select {
	case r := <-p.done: // known after all
		return r.pos, r.err
	default:
		return commitlog.Position{}, fmt.Errorf("%w: %w", commitlog.ErrAmbiguous, ctx.Err())
	}
}

func (b *batcher) enqueue(ctx context.Context, p *proposal) error {
	for {
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			return errClosed
		}
		if len(b.queue) == 0 || b.bytes+len(p.payload) <= b.queueBytes {
			b.queue = append(b.queue, p)
			b.bytes += len(p.payload)
			due := b.due()
			b.mu.Unlock()
			if due {
				b.fly(shortPatience)
			}
			return nil
		}
		if b.room == nil {
			b.room = make(chan struct{})
		}
		room := b.room
		b.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		case <-b.stop:
			return errClosed
		}
	}
}

// withdraw takes p out of the queue if it is still there.
func (b *batcher) withdraw(p *proposal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.taken {
		return false
	}
	for i, q := range b.queue {
		if q == p {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			b.shrunk(len(p.payload))
			p.taken = true
			return true
		}
	}
	return false
}

// shrunk notes n bytes fewer in the queue. mu is held.
func (b *batcher) shrunk(n int) {
	b.bytes -= n
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// due reports whether an entry is to be begun, which the caller then does (fly). mu is held.
func (b *batcher) due() bool {
	if len(b.queue) == 0 || b.flights >= b.inFlight || b.closed {
		return false
	}
	if b.gather.waiting {
		if len(b.queue) < b.gather.want && b.bytes < b.entryBytes/2 {
			return false
		}
		b.timer.Stop()
		b.gather.met(time.Now())
	}
	b.flights++
	b.flying.Add(1)
	return true
}

// waited ends a wait that was in vain.
func (b *batcher) waited() {
	b.mu.Lock()
	due := false
	if b.gather.waiting {
		b.gather.missed(len(b.queue))
		due = b.due()
	}
	b.mu.Unlock()
	if due {
		b.fly(enqueueTimeout)
	}
}

// take removes the next batch from the queue. mu is held.
func (b *batcher) take() []*proposal {
	n, bytes := 0, 0
	for n < len(b.queue) && (n == 0 || bytes+len(b.queue[n].payload) <= b.entryBytes) {
		b.queue[n].taken = true
		bytes += len(b.queue[n].payload) + 20
		n++
	}
	if n == 0 {
		return nil
	}
	batch := append([]*proposal(nil), b.queue[:n]...)
	rest := copy(b.queue, b.queue[n:])
	clear(b.queue[rest:])
	b.queue = b.queue[:rest]
	var payloads int
	for _, p := range batch {
		payloads += len(p.payload)
	}
	b.shrunk(payloads)
	return batch
}

// mapError tells what raft's error says about the entry. Only these three prove
// that it was not appended; the rest, shutdown and failed writes among them, do not.
func mapError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, hraft.ErrNotLeader), errors.Is(err, hraft.ErrEnqueueTimeout), errors.Is(err, hraft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", commitlog.ErrNotAppended, err)
	default:
		return fmt.Errorf("%w: %w", commitlog.ErrAmbiguous, err)
	}
}

// shut refuses new proposals, answers those that wait, and waits at most patience
// for entries in flight. raft still runs: it answers them, or loses leadership.
func (b *batcher) shut(patience time.Duration) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.closed = true
	queue := b.queue
	b.queue = nil
	for _, p := range queue {
		p.taken = true
		p.done <- result{err: fmt.Errorf("%w: %w", commitlog.ErrNotAppended, errClosed)}
	}
	b.timer.Stop()
	b.mu.Unlock()
	close(b.stop)
	landed := make(chan struct{})
	go func() {
		b.flying.Wait()
		close(landed)
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-landed:
	case <-t.C:
	}
}
