package shardrouter

import (
	"context"
	"sync"
	"time"

	"ostraka/engine"
	"ostraka/sqltypes/pgerror"
)

// Seen is what a session has seen of the shards besides shard 0, so that this node's
// replicas of them show it its own writes and no state older than it has been shown.
// A session that has written or read elsewhere, or has routed by another chunk map
// (a chunk may have come back to a shard), has each replica confirmed once. Safe for
// concurrent use.
type Seen struct {
	mu    sync.Mutex
	at    place           // guarded by mu
	first place           // at the first read: nothing had been shown; guarded by mu
	read  bool            // guarded by mu
	shown map[int32]place // where a shard's replica is known to be far enough; guarded by mu
}

// place is how far a session has got.
type place struct {
	elsewhere uint64 // statements that were executed on other nodes
	version   uint64 // of the chunk map
}

// Elsewhere notes that something was written, or read, on another node.
func (s *Seen) Elsewhere() {
	s.mu.Lock()
	s.at.elsewhere++
	s.mu.Unlock()
}

// enough reports that a replica of the shard may be read as it is, by a map of version.
func (s *Seen) enough(shard int32, version uint64) (at place, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at.version = version
	if !s.read {
		s.read = true
		s.first = place{version: version}
	}
	p, have := s.shown[shard]
	if !have {
		p = s.first
	}
	return s.at, p == s.at
}

// confirmed notes that the replica has everything that was acknowledged before at.
func (s *Seen) confirmed(shard int32, at place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil {
		s.shown = map[int32]place{}
	}
	s.shown[shard] = at
}

// ReplicaReads say how a statement may read this node's replicas of shards that
// other nodes lead: ostraka.read_consistency as it is for tables.
type ReplicaReads struct {
	// May is false where only the leader may answer: level leader or linearizable, a
	// transaction, a session of another node, a position that has to be reached.
	May bool
	// Staleness bounds the age of the state; 0: any age.
	Staleness time.Duration
	Seen      *Seen
}

// replica is this node's replica of a shard, if the query may read it.
func (q *query) replica(shard int32, version uint64) (Backend, bool) {
	if !q.reads.May || q.replicas == nil || q.writes || q.inTxn {
		return nil, false
	}
	e := q.replicas(shard)
	if e == nil {
		return nil, false
	}
	r := q.reads
	return EngineBackend{Engine: e, fresh: func(ctx context.Context) error {
		at, ok := r.Seen.enough(shard, version)
		switch {
		case !ok:
			err := engine.Confirm(ctx, e)
			if err == nil {
				r.Seen.confirmed(shard, at)
			}
			return err
		case r.Staleness > 0:
			return engine.Unconfirmed(ctx, e.WaitFresh(ctx, r.Staleness))
		}
		return nil
	}}, true
}

// notHere reports an answer of a replica that sends the query to the leader: it does
// not know that the shard owns the chunks, or cannot be proven to be new enough.
func notHere(err error) bool {
	code := pgerror.CodeOf(err)
	return code == StaleMap || code == pgerror.CannotConnectNow
}
