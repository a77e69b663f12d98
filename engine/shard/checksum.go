package shard

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"sync"

	"github.com/zeebo/xxh3"

	"ostraka/engine/commitlog"
	"ostraka/engine/storage"
)

// gatedLog is the commit log with a gate through which proposals go, so that the
// leader can hold them back for a moment.
type gatedLog struct {
	commitlog.Log
	gate *sync.RWMutex
}

// Propose implements commitlog.Log.
func (l gatedLog) Propose(ctx context.Context, term uint64, payload []byte) (commitlog.Position, error) {
	l.gate.RLock()
	defer l.gate.RUnlock()
	return l.Log.Propose(ctx, term, payload)
}

// Quiet runs f while this node proposes nothing: what was proposed before has its
// outcome. Writers wait meanwhile, so f must be short.
func (s *Shard) Quiet(f func() error) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	return f()
}

// Frozen is a state of the replica to compare with those of others.
type Frozen struct {
	st   *state
	snap *storage.Snapshot
	// Position is that of the newest entry in it.
	Position commitlog.Position
}

// Freeze waits until a position is applied and keeps the state; Close releases it.
func (s *Shard) Freeze(ctx context.Context, pos commitlog.Position) (*Frozen, error) {
	if err := s.WaitApplied(ctx, pos); err != nil {
		return nil, err
	}
	st, snap := s.snapshot()
	f := &Frozen{st: st, snap: snap}
	// The snapshot may be newer than st: its own record says what it contains.
	val, closer, err := snap.Get(storage.AppliedKey())
	if err == nil {
		var a commitlog.AppliedState
		if a, err = storage.DecodeApplied(val); err == nil {
			f.Position = a.Position
			err = closer.Close()
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close releases the state.
func (f *Frozen) Close() {
	_ = f.snap.Close()
	_ = f.st.db.Release()
}

// Checksum is over every key and value of the state except the applied record,
// which has what only the log knows (its term and membership).
func (f *Frozen) Checksum(ctx context.Context) (sum string, records int64, err error) {
	it, err := storage.NewSnapshotIter(ctx, f.snap, nil, nil)
	if err != nil {
		return "", 0, err
	}
	h := xxh3.New()
	var n [8]byte
	put := func(b []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		_, _ = h.Write(n[:])
		_, _ = h.Write(b)
	}
	applied := string(storage.AppliedKey())
	for ok := it.First(); ok; ok = it.Next() {
		if records++; records%4096 == 0 && ctx.Err() != nil {
			_ = it.Close()
			return "", 0, context.Cause(ctx)
		}
		if string(it.Key()) == applied {
			continue
		}
		put(it.Key())
		put(it.Value())
	}
	if err := it.Close(); err != nil {
		return "", 0, err
	}
	b := h.Sum128().Bytes()
	return hex.EncodeToString(b[:]), records, nil
}
