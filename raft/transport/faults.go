package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// ErrInjected is the error of a call whose request or reply a fault swallowed.
var ErrInjected = errors.New("raft: injected network fault")

// Rule is what happens to calls on one directed edge of the fault matrix: calls
// that From makes to To. The zero Rule is a healthy edge.
type Rule struct {
	// DropRequests: requests of From never reach To.
	DropRequests bool `json:"drop_requests,omitempty"`
	// DropReplies: requests reach To and take effect, the replies get lost.
	DropReplies bool `json:"drop_replies,omitempty"`
	// Delay before a request is delivered, plus up to Jitter at random.
	Delay  time.Duration `json:"delay,omitempty"`
	Jitter time.Duration `json:"jitter,omitempty"`
	// ReplyDelay before a reply is delivered, plus up to ReplyJitter at random.
	ReplyDelay  time.Duration `json:"reply_delay,omitempty"`
	ReplyJitter time.Duration `json:"reply_jitter,omitempty"`
	// Duplicate is the probability (0–1) that a request is delivered twice.
	Duplicate float64 `json:"duplicate,omitempty"`
	// Reorder is the probability (0–1) that a request is held back, reported to
	// the caller as lost, and delivered after later ones.
	Reorder float64 `json:"reorder,omitempty"`
}

type edge struct{ from, to string }

// Faults is a directed matrix of faults between nodes, consulted by the caller's
// side of every call. One Faults may be shared by all nodes of a process, or
// each process has its own and they are set by control calls. A nil *Faults is
// a healthy network that cannot be disturbed.
type Faults struct {
	mu      sync.Mutex
	rules   map[edge]Rule // guarded by mu
	changed chan struct{} // closed at the next change; guarded by mu
	rng     *rand.Rand    // guarded by mu
	hits    atomic.Uint64
}

// NewFaults returns a healthy matrix; seed decides its random choices.
func NewFaults(seed uint64) *Faults {
	return &Faults{
		rules:   map[edge]Rule{},
		changed: make(chan struct{}),
		rng:     rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15)),
	}
}

// Edge is one entry of a matrix.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Rule Rule   `json:"rule"`
}

// Set replaces rules of several edges at one instant.
func (f *Faults) Set(edges ...Edge) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range edges {
		if e.Rule == (Rule{}) {
			delete(f.rules, edge{e.From, e.To})
		} else {
			f.rules[edge{e.From, e.To}] = e.Rule
		}
	}
	f.notify()
}

// Heal removes every rule.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.rules)
	f.notify()
}

// Partition cuts both directions, requests and replies, between nodes of
// different groups, at one instant. Nodes in no group are left alone.
func (f *Faults) Partition(groups ...[]string) {
	var edges []Edge
	for i, g := range groups {
		for j, h := range groups {
			if i == j {
				continue
			}
			for _, a := range g {
				for _, b := range h {
					edges = append(edges, Edge{a, b, Rule{DropRequests: true, DropReplies: true}})
				}
			}
		}
	}
	f.Set(edges...)
}

// Hits counts the faults that really happened; a test whose fault never
// happened has shown nothing.
func (f *Faults) Hits() uint64 { return f.hits.Load() }

func (f *Faults) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// rule returns the rule of an edge and a channel closed at the next change.
func (f *Faults) rule(from, to string) (Rule, bool, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.rules[edge{from, to}]
	return r, ok, f.changed
}

func (f *Faults) chance(p float64) bool {
	if p <= 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.Float64() < p
}

func (f *Faults) jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Duration(f.rng.Int64N(int64(d)))
}

// lost waits as a caller waits whose message got lost: until timeout, until the
// rule of the edge changes, or until ctx ends.
func (f *Faults) lost(ctx context.Context, timeout time.Duration, changed <-chan struct{}) error {
	f.hits.Add(1)
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-ctx.Done():
	}
	return ErrInjected
}

// call makes a call from → to through the matrix. send makes the real call;
// again, if not nil, delivers the same request once more and ignores the reply.
func (f *Faults) call(ctx context.Context, from, to string, timeout time.Duration, send func() error, again func()) error {
	if f == nil {
		return send()
	}
	r, ok, changed := f.rule(from, to)
	if ok {
		if r.DropRequests {
			return f.lost(ctx, timeout, changed)
		}
		if d := r.Delay + f.jitter(r.Jitter); d > 0 {
			f.hits.Add(1)
			if !sleep(ctx, d) {
				return ctx.Err()
			}
		}
		if again != nil && f.chance(r.Reorder) {
			f.hits.Add(1)
			go func() {
				if sleep(ctx, timeout/8+f.jitter(timeout/4)) {
					again()
				}
			}()
			return ErrInjected
		}
		if again != nil && f.chance(r.Duplicate) {
			f.hits.Add(1)
			again()
		}
	}
	err := send()
	if d := r.ReplyDelay + f.jitter(r.ReplyJitter); d > 0 {
		f.hits.Add(1)
		if !sleep(ctx, d) {
			return ctx.Err()
		}
	}
	if r, ok, changed := f.rule(from, to); ok && r.DropReplies {
		return f.lost(ctx, timeout, changed)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
