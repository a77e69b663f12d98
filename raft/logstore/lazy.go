package logstore

import (
	"time"

	hraft "github.com/hashicorp/raft"
)

// A leader's log may be lazy: StoreLogs returns when the entries are written, and
// they are synced while they are on their way to the followers. What relies on
// the entries must then wait for WaitDurable; raft/DESIGN.md lists who does.

// SetLazy lets StoreLogs return before the entries are synced when f says so at
// that moment and all of them are commands. Call it before the log is used.
func (s *Store) SetLazy(f func() bool) { s.lazy = f }

func (s *Store) mayBeLazy(logs []*hraft.Log) bool {
	if s.lazy == nil || !s.lazy() {
		return false
	}
	for _, l := range logs {
		if l.Type != hraft.LogCommand {
			return false
		}
	}
	return true
}

func (s *Store) wakeSyncer() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// runSyncer syncs what lazy appends have written. An error ends the process by
// way of Options.Fatal, and every later write fails.
func (s *Store) runSyncer() {
	defer s.wg.Done()
	for {
		select {
		case <-s.kick:
			_ = s.Sync()
		case <-s.stop:
			return
		}
	}
}

// Durable is the newest index on stable storage.
func (s *Store) Durable() uint64 { return s.durable.Load() }

// WaitDurable returns when the entry at index is on stable storage. The index
// must have been stored.
func (s *Store) WaitDurable(index uint64) error {
	if s.durable.Load() >= index {
		return nil
	}
	return s.Sync()
}

// Sync returns when everything written before the call is on stable storage.
func (s *Store) Sync() error {
	want := s.written.Load()
	if s.durable.Load() >= want {
		return s.db.err()
	}
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	if s.durable.Load() >= want {
		return s.db.err()
	}
	s.mu.RLock()
	g, end, last := s.cur, int64(0), s.last
	if g != nil {
		end = g.end
	}
	s.mu.RUnlock()
	if g == nil {
		return s.db.err()
	}
	if syncs() {
		begun := time.Now()
		if err := s.db.write(g.f.SyncData); err != nil {
			return err
		}
		s.db.syncTimes.took(time.Since(begun))
	}
	s.synced.Store(end)
	s.durable.Store(last)
	return nil
}
