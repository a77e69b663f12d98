package raft_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/engine/commitlog"
)

// pebbleState is a replica as the engine will be: a pebble database without a
// WAL, so that after a loss of power it is what was flushed.
type pebbleState struct {
	fs   vfs.FS
	root string

	mu      sync.Mutex
	db      *pebble.DB
	name    string // directory of db below root
	state   commitlog.AppliedState
	waiters chan struct{}
	changed chan struct{}
	flushed chan struct{} // buffered 1, from pebble's flushes
	stop    chan struct{}
	wg      sync.WaitGroup
}

var stateKey = []byte("state")

func openPebbleState(fs vfs.FS, root string) (*pebbleState, error) {
	s := &pebbleState{
		fs: fs, root: root, name: "0",
		waiters: make(chan struct{}), changed: make(chan struct{}), flushed: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	if f, err := fs.Open(fs.PathJoin(root, "CURRENT")); err == nil {
		name, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		s.name = string(name)
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	s.wg.Go(func() {
		for {
			select {
			case <-s.flushed:
				s.mu.Lock()
				close(s.changed)
				s.changed = make(chan struct{})
				s.mu.Unlock()
			case <-s.stop:
				return
			}
		}
	})
	return s, nil
}

// open opens the current directory. mu is held or s is not shared.
func (s *pebbleState) open() (err error) {
	s.db, err = pebble.Open(s.fs.PathJoin(s.root, s.name), &pebble.Options{
		FS: s.fs, DisableWAL: true, FormatMajorVersion: pebble.FormatNewest, MemTableSize: 1 << 20,
		Logger: silent{},
		EventListener: &pebble.EventListener{FlushEnd: func(pebble.FlushInfo) {
			select {
			case s.flushed <- struct{}{}:
			default:
			}
		}},
	})
	if err != nil {
		return err
	}
	s.state, err = s.read(s.db, false)
	return err
}

type silent struct{}

func (silent) Infof(string, ...any)           {}
func (silent) Errorf(string, ...any)          {}
func (silent) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func (s *pebbleState) read(db *pebble.DB, durable bool) (st commitlog.AppliedState, err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: stateKey, UpperBound: append(stateKey, 0), OnlyReadGuaranteedDurable: durable})
	if err != nil {
		return st, err
	}
	defer it.Close()
	if it.First() {
		err = json.Unmarshal(it.Value(), &st)
	}
	return st, err
}

func (s *pebbleState) close() {
	close(s.stop)
	s.wg.Wait()
	s.db.Close()
}

func (s *pebbleState) ApplyBatch(entries []commitlog.Entry, last commitlog.Position, lastTerm uint64, config []byte) ([]error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]error, len(entries))
	b := s.db.NewBatch()
	for i, e := range entries {
		switch {
		case !s.state.Position.Less(e.Position):
		case e.ProposalTerm != e.Term:
			out[i] = commitlog.ErrRefused
		default:
			key := binary.BigEndian.AppendUint64([]byte("p"), e.Position.Index)
			key = binary.BigEndian.AppendUint32(key, uint32(e.Ordinal))
			b.Set(key, e.Payload, nil)
		}
	}
	if s.state.Position.Less(last) {
		s.state.Position, s.state.Term = last, lastTerm
		if config != nil {
			s.state.Config, s.state.ConfigIndex = config, last.Index
		}
		v, _ := json.Marshal(s.state)
		b.Set(stateKey, v, nil)
		close(s.waiters)
		s.waiters = make(chan struct{})
	}
	return out, b.Commit(pebble.NoSync)
}

func (s *pebbleState) Applied() commitlog.AppliedState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *pebbleState) Durable() commitlog.AppliedState {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.read(s.db, true)
	if err != nil {
		panic(err)
	}
	return st
}

func (s *pebbleState) DurableChanged() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *pebbleState) Flush() commitlog.Position {
	s.mu.Lock()
	db := s.db
	s.mu.Unlock()
	if err := db.Flush(); err != nil {
		panic(err)
	}
	return s.Durable().Position
}

func (s *pebbleState) WaitApplied(ctx context.Context, p commitlog.Position) error {
	for {
		s.mu.Lock()
		done, w := !s.state.Position.Less(p), s.waiters
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-w:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %v, applied is %v: %w", p, s.Applied().Position, ctx.Err())
		}
	}
}

func (s *pebbleState) Violation() error { return nil }

func (s *pebbleState) payloads() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte("p"), UpperBound: []byte("q")})
	if err != nil {
		panic(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		out = append(out, string(it.Value()))
	}
	return out
}

func (s *pebbleState) Checkpoint(_ context.Context, dir string) (commitlog.AppliedState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.db.Flush(); err != nil { // a checkpoint does not contain memtables when the WAL is off
		return commitlog.AppliedState{}, err
	}
	return s.state, s.db.Checkpoint(dir)
}

func (s *pebbleState) Restore(_ context.Context, dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.name
	s.name = fmt.Sprintf("restored-%d", s.state.Position.Index) + s.fs.PathBase(dir)
	if err := s.fs.Rename(dir, s.fs.PathJoin(s.root, s.name)); err != nil {
		return err
	}
	if err := s.setCurrent(); err != nil {
		return err
	}
	if err := s.db.Close(); err != nil {
		return err
	}
	if err := s.fs.RemoveAll(s.fs.PathJoin(s.root, old)); err != nil {
		return err
	}
	close(s.waiters)
	s.waiters = make(chan struct{})
	close(s.changed)
	s.changed = make(chan struct{})
	return s.open()
}

// setCurrent makes name the state that the next start opens.
func (s *pebbleState) setCurrent() error {
	dir, err := s.fs.OpenDir(s.root)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return err
	}
	tmp := s.fs.PathJoin(s.root, "tmp")
	f, err := s.fs.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, s.name)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := s.fs.Rename(tmp, s.fs.PathJoin(s.root, "CURRENT")); err != nil {
		return err
	}
	return dir.Sync()
}
