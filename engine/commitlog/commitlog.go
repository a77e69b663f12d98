// Package commitlog owns the interface between a shard's engine and what makes
// its writes durable and orders them: a Raft group or an object-store log.
//
// The engine proposes opaque payloads; the log makes them durable, puts them in
// one total order and hands them to the engine's Applier on every replica, in
// that order, from one goroutine. See docs/ARCHITECTURE.md for the way of a write.
package commitlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Position is a place in a shard's log. Positions are ordered lexicographically;
// with Raft the epoch is constant (0) and Index is the Raft index.
type Position struct {
	Epoch uint64
	Index uint64
}

// Less reports whether p comes before q.
func (p Position) Less(q Position) bool {
	return p.Epoch < q.Epoch || p.Epoch == q.Epoch && p.Index < q.Index
}

// String is the position as clients carry it: epoch and index, decimal.
func (p Position) String() string { return fmt.Sprintf("%d/%d", p.Epoch, p.Index) }

// ParsePosition is the inverse of String.
func ParsePosition(s string) (p Position, err error) {
	epoch, index, ok := strings.Cut(s, "/")
	if !ok {
		return p, fmt.Errorf("commitlog: %q is not a position", s)
	}
	var err1, err2 error
	p.Epoch, err1 = strconv.ParseUint(epoch, 10, 64)
	p.Index, err2 = strconv.ParseUint(index, 10, 64)
	return p, errors.Join(err1, err2)
}

// Outcomes of Propose other than success.
var (
	// ErrNotAppended: the payload certainly did not enter the log; proposing it
	// again (after finding the leader) is safe.
	ErrNotAppended = errors.New("commitlog: not appended")
	// ErrAmbiguous: the payload may or may not have entered the log. The client
	// is told so (SQLSTATE 40003 or 08007); it is never proposed again.
	ErrAmbiguous = errors.New("commitlog: outcome unknown")
	// ErrRefused: the payload entered the log and every replica refused it,
	// because its term was not the term it was appended in or a guard failed.
	ErrRefused = errors.New("commitlog: refused at apply")
	// ErrTooLarge: the payload exceeds the log's maximum; nothing was appended.
	ErrTooLarge = errors.New("commitlog: payload too large")
)

// Leadership is one state of this node in the shard's log.
type Leadership struct {
	// Term of the log (Raft term, or object-log epoch). 0 before the first leader.
	Term uint64
	// IsLeader is true only once this node may execute writes in Term: every
	// earlier entry is applied here (a barrier has passed).
	IsLeader bool
	// LeaderID names the known leader, "" if unknown.
	LeaderID string
}

// Log is a shard's commit log as the engine sees it. Safe for concurrent use.
type Log interface {
	// Propose makes payload durable (Raft: fsynced by a majority; object log:
	// confirmed by the store) and returns after it has been applied locally.
	// term must be the Leadership.Term in which the transaction began; the entry
	// carries it and is refused at apply if it was appended in another term.
	// Many concurrent proposals share one log entry (group commit).
	// err is one of the Err values above (possibly wrapped), or ctx.Err() joined
	// with ErrAmbiguous when ctx ended after the proposal was handed over.
	Propose(ctx context.Context, term uint64, payload []byte) (Position, error)

	// Leadership returns the current state; it never blocks.
	Leadership() Leadership
	// LeadershipChanged returns a channel closed at the next change of Leadership.
	LeadershipChanged() <-chan struct{}

	// ReadBarrier returns a position such that a read that waits until it is
	// applied locally is linearizable: it reflects every write acknowledged
	// anywhere before the call. It fails on a node cut off from the quorum.
	ReadBarrier(ctx context.Context) (Position, error)

	// Truncate tells the log that state up to durable survives a crash without it.
	Truncate(durable Position)

	io.Closer
}

// Entry is one proposal in log order, as given to Applier.ApplyBatch.
type Entry struct {
	Position Position
	// Term is the term the log record was appended in (not the node's current term).
	Term uint64
	// ProposalTerm is the term given to Propose; the applier refuses the entry
	// when it differs from Term.
	ProposalTerm uint64
	// Ordinal numbers the proposals that share one log entry, from 0.
	Ordinal int
	Payload []byte
}

// Applier is a shard's state machine. The log calls it from one goroutine.
type Applier interface {
	// ApplyBatch applies entries in order, with the position of the last one
	// and config (if not nil; a serialised membership) in the same storage batch.
	// results[i] is nil or ErrRefused; an error of the whole call is fatal: the
	// replica cannot continue. Entries at or below Applied are skipped.
	// entries may be empty while last advances (a new leader's first entry, a
	// membership). config, when given, is the membership as of last, so its index
	// is last.Index. Payloads are shared with the log: they may be kept, never changed.
	ApplyBatch(entries []Entry, last Position, lastTerm uint64, config []byte) (results []error, err error)

	// Applied is the position of the newest applied entry.
	Applied() AppliedState
	// Durable is the newest applied state that survives a crash without the log.
	Durable() AppliedState
	// DurableChanged is closed when Durable has advanced.
	DurableChanged() <-chan struct{}

	// Checkpoint makes a consistent on-disk copy of the state in dir (which must
	// not exist) and returns the position it contains.
	Checkpoint(ctx context.Context, dir string) (AppliedState, error)
	// Restore replaces the whole state by the checkpoint in dir (moved, not copied).
	// Readers are cancelled (SQLSTATE 72000). A crash leaves either state, whole.
	Restore(ctx context.Context, dir string) error
}

// AppliedState is what the state database knows about the log.
type AppliedState struct {
	Position Position
	Term     uint64
	// Config is the newest applied membership, in the log's own encoding; ConfigIndex its index.
	Config      []byte
	ConfigIndex uint64
}
