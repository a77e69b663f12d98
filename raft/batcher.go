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
type batcher struct {
	entryBytes int
	queueBytes int
	inFlight   int
	// apply hands an entry to raft.
	apply func(data []byte) hraft.ApplyFuture
	// leads reports whether proposals of term may be appended now.
	leads func(term uint64) bool

	mu      sync.Mutex
	queue   []*proposal
	bytes   int           // payload bytes in queue
	room    chan struct{} // closed when bytes has shrunk; nil if nobody waits for it
	flights int           // entries in flight, each with a goroutine in fly
	gather  gather
	timer   *time.Timer // ends a wait of gather
	closed  bool
	stop    chan struct{}
	gone    chan struct{}  // closed when raft has ended and cannot answer any more
	flying  sync.WaitGroup // entries in flight
}

func newBatcher(cfg GroupConfig, apply func([]byte) hraft.ApplyFuture, leads func(uint64) bool) *batcher {
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
			b.launch()
			b.mu.Unlock()
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

// launch starts an entry if one is due. mu is held.
func (b *batcher) launch() {
	if len(b.queue) == 0 || b.flights >= b.inFlight || b.closed {
		return
	}
	if b.gather.waiting {
		if len(b.queue) < b.gather.want && b.bytes < b.entryBytes/2 {
			return
		}
		b.timer.Stop()
		b.gather.met(time.Now())
	}
	b.flights++
	b.flying.Add(1)
	go b.fly()
}

// waited ends a wait that was in vain.
func (b *batcher) waited() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gather.waiting {
		b.gather.missed(len(b.queue))
		b.launch()
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

// fly proposes entries until none is due.
func (b *batcher) fly() {
	defer b.flying.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 && !b.closed {
		batch := b.take()
		b.mu.Unlock()
		begin := time.Now()
		sent := b.flyOne(batch)
		b.mu.Lock()
		if !sent {
			continue
		}
		now := time.Now()
		if wait := b.gather.landed(len(batch), len(b.queue), now.Sub(begin), now); wait > 0 && b.bytes < b.entryBytes/2 {
			b.timer.Reset(wait)
			break
		}
		b.gather.waiting = false
	}
	b.flights--
}

// flyOne proposes a batch and answers it; false if nothing of it could be sent.
func (b *batcher) flyOne(batch []*proposal) bool {
	n, size := 0, 0
	for _, p := range batch {
		if b.leads(p.term) {
			batch[n] = p
			n++
			size += len(p.payload) + 20
		} else {
			p.done <- result{err: fmt.Errorf("%w: not the leader of term %d any more", commitlog.ErrNotAppended, p.term)}
		}
	}
	if batch = batch[:n]; n == 0 {
		return false
	}
	data := newBatchEntry(size)
	for _, p := range batch {
		data = appendProposal(data, p.term, p.payload)
	}
	b.land(batch, b.apply(data))
	return true
}

// land waits for an entry's outcome and answers its proposals.
func (b *batcher) land(batch []*proposal, future hraft.ApplyFuture) {
	err := mapError(future.Error())
	var o *outcome
	if err == nil {
		var ok bool
		if o, ok = future.Response().(*outcome); !ok || len(o.errs) != len(batch) {
			err = fmt.Errorf("%w: %v", commitlog.ErrAmbiguous, errNotApplied)
		}
	}
	for i, p := range batch {
		r := result{err: err}
		if err == nil {
			r.pos = commitlog.Position{Index: future.Index()}
			if e := o.errs[i]; e != nil {
				r.err = e
				if !errors.Is(e, commitlog.ErrRefused) {
					r.err = fmt.Errorf("%w: %w", commitlog.ErrRefused, e)
				}
			}
		}
		p.done <- r
	}
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
