// Package logtest is the conformance suite of commitlog.Log: what the engine may
// count on, whatever makes writes durable. Run it with Run; Recorder is the
// Applier it uses, also of use in a log's own tests.
package logtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"ostraka/engine/commitlog"
)

// RefusePrefix marks payloads that the Recorder refuses, as a guard would.
const RefusePrefix = "refuse:"

// Recorder is an Applier that keeps every accepted payload in order, in memory.
// It is durable only up to the last Flush: Crash returns what would be left.
type Recorder struct {
	mu      sync.Mutex
	state   commitlog.AppliedState
	applied []Record
	durable commitlog.AppliedState
	flushed int           // len(applied) at the last Flush
	changed chan struct{} // closed when durable advances
	waiters chan struct{} // closed when state advances
	// violation is the first breach of the Applier's contract by the log.
	violation error
	lastSeen  commitlog.Position
	lastOrd   int
}

// Record is one accepted payload.
type Record struct {
	Position commitlog.Position
	Ordinal  int
	Payload  []byte
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder {
	return &Recorder{changed: make(chan struct{}), waiters: make(chan struct{}), lastOrd: -1}
}

// ApplyBatch implements commitlog.Applier.
func (r *Recorder) ApplyBatch(entries []commitlog.Entry, last commitlog.Position, lastTerm uint64, config []byte) ([]error, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]error, len(entries))
	for i, e := range entries {
		if !r.state.Position.Less(e.Position) {
			continue // replay
		}
		r.check(e, last)
		switch {
		case e.ProposalTerm != e.Term, bytes.HasPrefix(e.Payload, []byte(RefusePrefix)):
			out[i] = commitlog.ErrRefused
		default:
			r.applied = append(r.applied, Record{e.Position, e.Ordinal, bytes.Clone(e.Payload)})
		}
	}
	if r.state.Position.Less(last) {
		r.state.Position, r.state.Term = last, lastTerm
		if config != nil {
			r.state.Config, r.state.ConfigIndex = bytes.Clone(config), last.Index
		}
		close(r.waiters)
		r.waiters = make(chan struct{})
	}
	return out, nil
}

// check notes the first breach of order.
func (r *Recorder) check(e commitlog.Entry, last commitlog.Position) {
	switch {
	case r.violation != nil:
	case last.Less(e.Position):
		r.violation = fmt.Errorf("entry %v beyond the batch's last %v", e.Position, last)
	case e.Position.Less(r.lastSeen):
		r.violation = fmt.Errorf("entry %v after %v", e.Position, r.lastSeen)
	case e.Position == r.lastSeen && e.Ordinal != r.lastOrd+1:
		r.violation = fmt.Errorf("entry %v: ordinal %d after %d", e.Position, e.Ordinal, r.lastOrd)
	case e.Position != r.lastSeen && e.Ordinal != 0:
		r.violation = fmt.Errorf("entry %v begins with ordinal %d", e.Position, e.Ordinal)
	}
	r.lastSeen, r.lastOrd = e.Position, e.Ordinal
}

// Violation is the first breach of the Applier's contract by the log, or nil.
func (r *Recorder) Violation() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.violation
}

// Records are the accepted payloads so far, in order.
func (r *Recorder) Records() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.applied)
}

// Applied implements commitlog.Applier.
func (r *Recorder) Applied() commitlog.AppliedState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// WaitApplied waits until p is applied.
func (r *Recorder) WaitApplied(ctx context.Context, p commitlog.Position) error {
	for {
		r.mu.Lock()
		done, w := !r.state.Position.Less(p), r.waiters
		r.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-w:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %v, applied is %v: %w", p, r.Applied().Position, ctx.Err())
		}
	}
}

// Durable implements commitlog.Applier.
func (r *Recorder) Durable() commitlog.AppliedState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.durable
}

// DurableChanged implements commitlog.Applier.
func (r *Recorder) DurableChanged() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Flush makes everything applied so far durable and returns its position.
func (r *Recorder) Flush() commitlog.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durable, r.flushed = r.state, len(r.applied)
	close(r.changed)
	r.changed = make(chan struct{})
	return r.durable.Position
}

// Crash returns a Recorder with what the last Flush made durable.
func (r *Recorder) Crash() *Recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := NewRecorder()
	c.state, c.durable, c.flushed = r.durable, r.durable, r.flushed
	c.applied = slices.Clone(r.applied[:r.flushed])
	return c
}

// image is a checkpoint.
type image struct {
	State   commitlog.AppliedState
	Applied []Record
}

// Checkpoint implements commitlog.Applier.
func (r *Recorder) Checkpoint(_ context.Context, dir string) (commitlog.AppliedState, error) {
	r.mu.Lock()
	im := image{r.state, slices.Clone(r.applied)}
	r.mu.Unlock()
	body, err := json.Marshal(im)
	if err != nil {
		return commitlog.AppliedState{}, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return commitlog.AppliedState{}, err
	}
	return im.State, os.WriteFile(filepath.Join(dir, "image"), body, 0o644)
}

// Restore implements commitlog.Applier.
func (r *Recorder) Restore(_ context.Context, dir string) error {
	body, err := os.ReadFile(filepath.Join(dir, "image"))
	if err != nil {
		return err
	}
	var im image
	if err := json.Unmarshal(body, &im); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.applied = im.State, im.Applied
	r.durable, r.flushed = r.state, len(r.applied)
	r.lastSeen, r.lastOrd = commitlog.Position{}, -1
	close(r.waiters)
	r.waiters = make(chan struct{})
	close(r.changed)
	r.changed = make(chan struct{})
	return nil
}
