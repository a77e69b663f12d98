package raft

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
	"ostraka/raft/logstore"
	"ostraka/raft/snapshot"
)

// fsm glues the applier to raft. raft calls it from one goroutine.
type fsm struct {
	applier commitlog.Applier
	log     *logstore.Store
	fatal   func(error)
	failed  atomic.Bool
	// applied is called after every batch with the index it ends at, answer for each of
	// its entries with what became of its proposals.
	applied func(index uint64)
	answer  func(data []byte, index uint64, errs []error)
}

// outcome is the response to a command entry: an error per proposal, and the
// term the entry was appended in.
type outcome struct {
	errs []error
	term uint64
}

// errNotApplied is the response when the applier has failed.
var errNotApplied = errors.New("raft: the applier failed; this replica has stopped")

var _ hraft.BatchingFSM = (*fsm)(nil)

func (f *fsm) Apply(l *hraft.Log) any { return f.ApplyBatch([]*hraft.Log{l})[0] }

// ApplyBatch hands committed entries to the applier in as few calls as the
// membership allows: a membership is always the last of its call, so that its
// index is the position of the call.
func (f *fsm) ApplyBatch(logs []*hraft.Log) []any {
	out := make([]any, len(logs))
	if f.failed.Load() {
		for i := range out {
			out[i] = errNotApplied
		}
		return out
	}
	// A leader counts itself for entries that it may only have written.
	if err := f.log.WaitDurable(logs[len(logs)-1].Index); err != nil {
		f.fail(err)
		for i := range out {
			out[i] = errNotApplied
		}
		return out
	}
	var entries []commitlog.Entry
	begin := 0 // first log of the pending call
	flush := func(end int, config []byte) error {
		if end == begin {
			return nil
		}
		last := logs[end-1]
		results, err := f.applier.ApplyBatch(entries, commitlog.Position{Index: last.Index}, last.Term, config)
		if err == nil && len(results) != len(entries) {
			err = fmt.Errorf("applier gave %d results for %d entries", len(results), len(entries))
		}
		if err != nil {
			return err
		}
		for i := begin; i < end; i++ {
			o := &outcome{term: logs[i].Term}
			for len(entries) > 0 && entries[0].Position.Index == logs[i].Index {
				o.errs = append(o.errs, results[0])
				entries, results = entries[1:], results[1:]
			}
			out[i] = o
		}
		f.applied(last.Index)
		for i := begin; i < end; i++ {
			if logs[i].Type == hraft.LogCommand {
				f.answer(logs[i].Data, logs[i].Index, out[i].(*outcome).errs)
			}
		}
		begin, entries = end, nil
		return nil
	}
	run := func() error {
		for i, l := range logs {
			switch l.Type {
			case hraft.LogCommand:
				ordinal := 0
				err := decodeEntry(l.Data, func(term uint64, payload []byte) {
					entries = append(entries, commitlog.Entry{
						Position:     commitlog.Position{Index: l.Index},
						Term:         l.Term,
						ProposalTerm: term,
						Ordinal:      ordinal,
						Payload:      payload,
					})
					ordinal++
				})
				if err != nil {
					return fmt.Errorf("entry %d: %w", l.Index, err)
				}
			case hraft.LogConfiguration:
				if err := flush(i, nil); err != nil {
					return err
				}
				if err := flush(i+1, encodeConfig(l.Data)); err != nil {
					return err
				}
			}
		}
		return flush(len(logs), nil)
	}
	if err := run(); err != nil {
		f.fail(fmt.Errorf("applying entries %d to %d: %w", logs[0].Index, logs[len(logs)-1].Index, err))
		for i := range out {
			out[i] = errNotApplied
		}
	}
	return out
}

func (f *fsm) fail(err error) {
	if f.failed.CompareAndSwap(false, true) {
		f.fatal(err)
	}
}

// Snapshot is never called: raft's own snapshots are off.
func (f *fsm) Snapshot() (hraft.FSMSnapshot, error) {
	return nil, errors.New("raft snapshots are not taken; the state database is the snapshot")
}

// Restore replaces the state by a received checkpoint, then makes the log fit.
// The order matters: a crash in between is mended by logstore's Repair at start.
func (f *fsm) Restore(rc io.ReadCloser) error {
	r, err := snapshot.Unwrap(rc)
	if err != nil {
		return err
	}
	if err := f.applier.Restore(r.Context(), r.Dir); err != nil {
		return fmt.Errorf("restoring a checkpoint: %w", err)
	}
	got := f.applier.Applied()
	if got.Position != r.State.Position || got.Term != r.State.Term {
		err := fmt.Errorf("restored state is at %v of term %d, the checkpoint at %v of term %d", got.Position, got.Term, r.State.Position, r.State.Term)
		f.fail(err)
		return err
	}
	if err := f.log.Anchor(got.Position.Index, got.Term); err != nil {
		return err
	}
	f.applied(got.Position.Index)
	return nil
}
