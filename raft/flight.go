package raft

import (
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
)

// flight is an entry that was handed to raft. The state machine answers its
// proposals. A goroutine waits for raft's own answer only when the leadership has
// changed, for then the state machine may never see the entry, or when the entry has
// taken overdueAfter.
type flight struct {
	batch   []*proposal
	data    []byte
	begun   time.Time
	future  hraft.ApplyFuture // nil until raft has it
	awaited bool              // a goroutine waits for future
}

const (
	// shortPatience is how long a proposer waits for raft's main goroutine, which is
	// busy only while something is wrong, before a goroutine does it.
	shortPatience = time.Second
	overdueAfter  = time.Second
)

// fly hands the next entry to raft; due has said that it may.
func (b *batcher) fly(patience time.Duration) {
	for {
		b.mu.Lock()
		batch := b.take()
		if batch == nil || b.closed {
			b.flights--
			b.mu.Unlock()
			b.flying.Done()
			return
		}
		b.mu.Unlock()
		if f := b.prepare(batch); f != nil {
			b.send(f, patience)
			return
		}
	}
}

// prepare makes the entry of a batch; nil if nothing of it may be sent.
func (b *batcher) prepare(batch []*proposal) *flight {
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
		return nil
	}
	data := newBatchEntry(size)
	for _, p := range batch {
		data = appendProposal(data, p.term, p.payload)
	}
	return &flight{batch: batch, data: data, begun: time.Now()}
}

// send gives a flight to raft. The answer may come before it returns.
func (b *batcher) send(f *flight, patience time.Duration) {
	b.mu.Lock()
	b.active = append(b.active, f)
	if !b.watched {
		b.watched = true
		b.watch.Reset(overdueAfter)
	}
	b.mu.Unlock()
	future := b.apply(f.data, patience)
	b.mu.Lock()
	f.future = future
	b.mu.Unlock()
	// A change of the leadership before this moment has not seen the future.
	if !b.leads(f.batch[0].term) {
		b.lost()
	}
}

// lost lets goroutines wait for what raft says about the entries in flight: its
// leadership has changed.
func (b *batcher) lost() { b.await(0) }

// overdue is lost for entries that have taken long.
func (b *batcher) overdue() {
	b.await(overdueAfter)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched = len(b.active) > 0; b.watched {
		b.watch.Reset(overdueAfter)
	}
}

func (b *batcher) await(age time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.active {
		if f.future != nil && !f.awaited && time.Since(f.begun) >= age {
			f.awaited = true
			go b.wait(f)
		}
	}
}

// wait answers a flight as raft does.
func (b *batcher) wait(f *flight) {
	err := f.future.Error()
	if errors.Is(err, hraft.ErrEnqueueTimeout) && time.Since(f.begun) < enqueueTimeout && b.leads(f.batch[0].term) {
		future := b.apply(f.data, enqueueTimeout) // it has not left: once more, longer
		b.mu.Lock()
		f.future = future
		b.mu.Unlock()
		err = future.Error()
	}
	var o *outcome
	if err = mapError(err); err == nil {
		var ok bool
		if o, ok = f.future.Response().(*outcome); !ok {
			err = fmt.Errorf("%w: %w", commitlog.ErrAmbiguous, errNotApplied)
		}
	}
	if err != nil {
		b.land(f, func(int) result { return result{err: err} })
		return
	}
	b.answer(f, f.future.Index(), o.errs)
}

// applied answers the proposals of an entry that the state machine has applied, if
// they are this node's.
func (b *batcher) applied(data []byte, index uint64, errs []error) {
	if len(data) == 0 {
		return
	}
	b.mu.Lock()
	var f *flight
	for _, a := range b.active {
		if &a.data[0] == &data[0] {
			f = a
		}
	}
	b.mu.Unlock()
	if f != nil {
		b.answer(f, index, errs)
	}
}

func (b *batcher) answer(f *flight, index uint64, errs []error) {
	if len(errs) != len(f.batch) {
		err := fmt.Errorf("%w: %w", commitlog.ErrAmbiguous, errNotApplied)
		b.land(f, func(int) result { return result{err: err} })
		return
	}
	b.land(f, func(i int) result {
		r := result{pos: commitlog.Position{Index: index}}
		if e := errs[i]; e != nil {
			r.err = e
			if !errors.Is(e, commitlog.ErrRefused) {
				r.err = fmt.Errorf("%w: %w", commitlog.ErrRefused, e)
			}
		}
		return r
	})
}

// land ends a flight, once, and begins the next if one is due.
func (b *batcher) land(f *flight, outcome func(i int) result) {
	b.mu.Lock()
	at := -1
	for i, a := range b.active {
		if a == f {
			at = i
		}
	}
	if at < 0 { // the state machine and raft have both answered
		b.mu.Unlock()
		return
	}
	last := len(b.active) - 1
	b.active[at] = b.active[last]
	b.active[last] = nil
	b.active = b.active[:last]
	b.flights--
	due := false
	now := time.Now()
	if wait := b.gather.landed(len(f.batch), len(b.queue), now.Sub(f.begun), now); wait > 0 && b.bytes < b.entryBytes/2 {
		b.timer.Reset(wait)
	} else {
		b.gather.waiting = false
		due = b.due()
	}
	b.mu.Unlock()
	for i, p := range f.batch {
		p.done <- outcome(i)
	}
	b.flying.Done()
	if due {
		go b.fly(enqueueTimeout) // raft's state machine does not wait for its main goroutine
	}
}
