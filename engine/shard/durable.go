package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/engine/commitlog"
	"ostraka/engine/storage"
)

func encodeCounter(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func decodeCounter(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// durableState knows what survives a crash without the log.
type durableState struct {
	dirty   atomic.Bool // something was applied since the last flush was started
	mu      sync.Mutex
	state   commitlog.AppliedState // guarded by mu
	changed chan struct{}          // guarded by mu
}

func (d *durableState) init(db *storage.DB) error {
	st, err := db.Applied(true)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = st
	if d.changed != nil {
		close(d.changed)
	}
	d.changed = make(chan struct{})
	return nil
}

func (d *durableState) get() commitlog.AppliedState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

func (d *durableState) changedChan() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// flushLoop flushes what is dirty every FlushInterval and, after every flush,
// tells the log how far the state is durable.
func (s *Shard) flushLoop() {
	defer s.wg.Done()
	var tick <-chan time.Time
	if s.opts.FlushInterval > 0 {
		t := time.NewTicker(s.opts.FlushInterval)
		defer t.Stop()
		tick = t.C
	}
	for {
		st := s.cur.Load()
		flushed := st.db.Flushed()
		if err := s.noteDurable(); err != nil {
			s.log.Error("reading the durable position", "error", err)
		}
		select {
		case <-s.stop.Done():
			return
		case <-flushed:
		case <-st.db.Closed():
		case <-tick:
			if s.durable.dirty.Swap(false) {
				s.flushNow()
			}
		}
	}
}

func (s *Shard) flushNow() {
	st := s.cur.Load()
	if !st.db.Acquire() {
		return
	}
	defer st.db.Release()
	if _, err := st.db.Flush(); err != nil {
		s.log.Error("flushing", "error", err)
	}
}

func (s *Shard) noteDurable() error {
	st := s.cur.Load()
	if !st.db.Acquire() {
		return nil
	}
	defer st.db.Release()
	d, err := st.db.Applied(true)
	if err != nil {
		return err
	}
	s.durable.mu.Lock()
	advanced := s.durable.state.Position.Less(d.Position)
	if advanced {
		s.durable.state = d
		close(s.durable.changed)
		s.durable.changed = make(chan struct{})
	}
	s.durable.mu.Unlock()
	if l := s.Log(); advanced && l != nil {
		l.Truncate(d.Position)
	}
	return nil
}

// checkpoint makes a copy of the state in dir. The position is read from the copy.
func (s *Shard) checkpoint(ctx context.Context, dir string) (commitlog.AppliedState, error) {
	var none commitlog.AppliedState
	st, snap := s.snapshot()
	defer st.db.Release()
	if err := snap.Close(); err != nil {
		return none, err
	}
	done, err := st.db.Flush()
	if err != nil {
		return none, err
	}
	select {
	case <-done:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	if err := st.db.Checkpoint(dir); err != nil {
		return none, err
	}
	if err := storage.Verify(s.opts.FS, dir); err != nil { // damage must not spread
		s.damaged(dir, err)
		return none, err
	}
	c, err := storage.Open(dir, storage.Options{FS: s.opts.FS, Logger: s.log, MemTableSize: 1 << 20})
	if err != nil {
		return none, err
	}
	a, err := c.Applied(false)
	return a, errors.Join(err, c.Release())
}

// restore replaces the state by the checkpoint in dir. The log calls it from the
// goroutine that applies.
func (s *Shard) restore(ctx context.Context, dir string) error {
	fs, root := s.opts.FS, s.opts.Dir
	old := s.cur.Load()
	name := fmt.Sprintf("state-%d", time.Now().UnixNano())
	if fs.PathBase(old.db.Dir) == name {
		name += "a"
	}
	to := fs.PathJoin(root, name)
	if err := fs.Rename(dir, to); err != nil {
		return fmt.Errorf("shard: moving the checkpoint: %w", err)
	}
	if err := syncDir(fs, root); err != nil {
		return err
	}
	s.endTerm() // whoever gets a checkpoint does not lead
	next, err := s.openState(to)
	if err != nil {
		return err
	}
	if err := setLiveDir(fs, root, name); err != nil {
		return errors.Join(err, next.db.Release())
	}
	s.ddlMu.Lock()
	s.ddl.Add(1)
	s.cur.Store(next)
	s.ddl.Add(1)
	s.ddlMu.Unlock()
	if err := s.durable.init(next.db); err != nil {
		return err
	}
	if s.opts.Restored != nil {
		s.opts.Restored()
	}
	s.waiters.wake(next.applied.Position)
	old.db.Retire()
	old.cols.Close()
	s.wg.Add(1)
	go func() { // the files go when the last reader has
		defer s.wg.Done()
		select {
		case <-old.db.Closed():
			if err := fs.RemoveAll(old.db.Dir); err != nil {
				s.log.Warn("removing the replaced state", "dir", old.db.Dir, "error", err)
			}
		case <-s.stop.Done():
		}
	}()
	return old.db.Release()
}
