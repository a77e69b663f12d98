// Package memlog is a commit log in memory: it orders proposals and applies them
// at once, and keeps nothing. It is a test double (of package raft) and can play
// the faults of a real log: lost leadership, unknown outcomes, refusals.
//
// A Log is safe for concurrent use.
package memlog

import (
	"context"
	"fmt"
	"sync"

	"ostraka/engine/commitlog"
)

// Log implements commitlog.Log over one Applier.
type Log struct {
	applier commitlog.Applier

	mu      sync.Mutex // held while applying: entries are applied one after the other
	index   uint64
	entries []commitlog.Entry // kept when Keep is set
	keep    bool
	fault   func(payload []byte) error

	lmu     sync.Mutex
	lead    commitlog.Leadership
	changed chan struct{}
}

var _ commitlog.Log = (*Log)(nil)

// New returns a log that continues after what applier has applied and leads in term 1 (or the next one).
func New(applier commitlog.Applier) *Log {
	s := applier.Applied()
	return &Log{applier: applier, index: s.Position.Index, changed: make(chan struct{}),
		lead: commitlog.Leadership{Term: s.Term + 1, IsLeader: true, LeaderID: "mem"}}
}

// Keep makes the log remember its entries, so that a test can replay them.
func (l *Log) Keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = true
}

// Entries returns the kept entries.
func (l *Log) Entries() []commitlog.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries[:len(l.entries):len(l.entries)]
}

// SetFault installs a function that may fail proposals: ErrNotAppended and
// ErrTooLarge before they are applied, any other error after (the outcome is
// then what the caller cannot know). nil ends it.
func (l *Log) SetFault(f func(payload []byte) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

// SetLeadership changes what Leadership answers.
func (l *Log) SetLeadership(s commitlog.Leadership) {
	l.lmu.Lock()
	defer l.lmu.Unlock()
	l.lead = s
	close(l.changed)
	l.changed = make(chan struct{})
}

// NextTerm loses leadership and gains it again in the next term.
func (l *Log) NextTerm() {
	s := l.Leadership()
	l.SetLeadership(commitlog.Leadership{Term: s.Term + 1})
	l.SetLeadership(commitlog.Leadership{Term: s.Term + 1, IsLeader: true, LeaderID: "mem"})
}

func (l *Log) Propose(ctx context.Context, term uint64, payload []byte) (commitlog.Position, error) {
	if err := ctx.Err(); err != nil {
		return commitlog.Position{}, fmt.Errorf("%w: %w", commitlog.ErrNotAppended, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	lead := l.Leadership()
	if !lead.IsLeader {
		return commitlog.Position{}, commitlog.ErrNotAppended
	}
	var late error
	if l.fault != nil {
		switch err := l.fault(payload); err {
		case nil:
		case commitlog.ErrNotAppended, commitlog.ErrTooLarge:
			return commitlog.Position{}, err
		default:
			late = err
		}
	}
	l.index++
	pos := commitlog.Position{Index: l.index}
	e := commitlog.Entry{Position: pos, Term: lead.Term, ProposalTerm: term, Payload: payload}
	if l.keep {
		e.Payload = append([]byte(nil), payload...)
		l.entries = append(l.entries, e)
	}
	results, err := l.applier.ApplyBatch([]commitlog.Entry{e}, pos, lead.Term, nil)
	if err != nil {
		return commitlog.Position{}, fmt.Errorf("memlog: applying: %w", err)
	}
	if late != nil {
		return commitlog.Position{}, late
	}
	return pos, results[0]
}

func (l *Log) Leadership() commitlog.Leadership {
	l.lmu.Lock()
	defer l.lmu.Unlock()
	return l.lead
}

func (l *Log) LeadershipChanged() <-chan struct{} {
	l.lmu.Lock()
	defer l.lmu.Unlock()
	return l.changed
}

func (l *Log) ReadBarrier(ctx context.Context) (commitlog.Position, error) {
	return l.applier.Applied().Position, nil
}

func (l *Log) Truncate(commitlog.Position) {}

func (l *Log) Close() error { return nil }
