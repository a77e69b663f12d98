package raft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
)

// ErrNoQuorum is returned by ReadBarrier when no quorum could be asked.
var ErrNoQuorum = errors.New("raft: no quorum answers")

// errMoved: the node that was asked does not lead (any more).
var errMoved = errors.New("raft: not the leader")

// ReadBarrier implements commitlog.Log. On the leader it costs nothing within
// the read lease, else one round of heartbeats; on a follower a call to the
// leader more. It waits for a leader at most until ctx ends, and without a
// deadline at most four election time-outs.
func (g *Group) ReadBarrier(ctx context.Context) (commitlog.Position, error) {
	if plantedStaleBarrier {
		return commitlog.Position{}, nil
	}
	if l := g.lead.get(); l.IsLeader {
		if index := g.raft.CommitIndex(); g.leaseHolds(l.Term) {
			return commitlog.Position{Index: index}, nil
		}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 4*g.timers.Election)
		defer cancel()
	}
	var last error
	for {
		changed := g.lead.next()
		index, err := g.readIndex(ctx)
		if err == nil {
			return commitlog.Position{Index: index}, nil
		}
		last = err
		t := time.NewTimer(g.timers.Heartbeat / 10)
		select {
		case <-changed:
			t.Stop()
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return commitlog.Position{}, fmt.Errorf("%w: %w (%w)", ErrNoQuorum, ctx.Err(), last)
		case <-g.stop:
			t.Stop()
			return commitlog.Position{}, fmt.Errorf("%w: %w", ErrNoQuorum, errClosed)
		}
	}
}

func (g *Group) readIndex(ctx context.Context) (uint64, error) {
	l := g.lead.get()
	switch {
	case l.IsLeader:
		return g.leaderReadIndex(ctx, l.Term)
	case l.LeaderID == "" || l.LeaderID == g.self:
		return 0, fmt.Errorf("%w: no leader is known", errMoved)
	}
	s, ok := g.member(l.LeaderID)
	if !ok {
		return 0, fmt.Errorf("%w: leader %s has no address", errMoved, l.LeaderID)
	}
	// A lost call is tried again; the leader may be another one by then.
	ctx, cancel := context.WithTimeout(ctx, 2*g.timers.Election)
	defer cancel()
	var out readIndexReply
	if err := g.host.control.Call(ctx, l.LeaderID, string(s.Address), opReadIndex, g.cfg.ID, struct{}{}, &out); err != nil {
		return 0, err
	}
	return out.Index, nil
}

// leaderReadIndex returns the commit index, proven current at some moment after
// the call began: by the lease, or by a quorum that acknowledged requests of this
// term sent after the call began.
func (g *Group) leaderReadIndex(ctx context.Context, term uint64) (uint64, error) {
	begin := time.Now()
	index := g.raft.CommitIndex() // after begin, and at least the epoch entry of term
	if g.leaseHolds(term) {
		return index, nil
	}
	kicked := false
	for {
		changed := g.peers.Changed()
		if sent, ok := g.peers.QuorumSent(term, g.self, g.voters(), time.Now()); ok && sent.After(begin) {
			if !g.isRaftLeader(term) {
				return 0, errMoved
			}
			return index, nil
		}
		if !g.isRaftLeader(term) {
			return 0, errMoved
		}
		if !kicked {
			kicked = true
			g.raft.VerifyLeader() // only for the heartbeats it sends at once
		}
		t := time.NewTimer(g.timers.Heartbeat / 5)
		select {
		case <-changed:
		case <-t.C: // raft may have stepped down
		case <-ctx.Done():
			t.Stop()
			return 0, ctx.Err()
		case <-g.stop:
			t.Stop()
			return 0, errClosed
		}
		t.Stop()
	}
}

// leaseHolds reports whether at some moment since the call began no other node
// can have led: a quorum acknowledged this term in requests sent less than nine
// tenths of a HeartbeatTimeout ago, and its members grant no vote for a whole
// one (nor for one after a restart; see transport.Config.VoteGrace). The age of
// requests from before this machine slept is not known. A transfer
// of leadership ends the lease for the rest of the term, because the heir is
// voted for regardless.
func (g *Group) leaseHolds(term uint64) bool {
	if g.host.cfg.NoReadLease || g.transferred.Load() >= term {
		return false
	}
	now := time.Now()
	sent, ok := g.peers.QuorumSent(term, g.self, g.voters(), now)
	return ok && now.Sub(sent) < g.timers.Heartbeat*9/10 && g.host.sleep.awakeSince(sent) && g.isRaftLeader(term) && g.transferred.Load() < term
}

// Ops of control calls.
const (
	opReadIndex  = "read_index"
	opAddLearner = "add_learner"
	opChange     = "change_membership"
	opTransfer   = "transfer_leadership"
	opRemove     = "remove_member"
	opMetrics    = "metrics"
	opJoin       = "join"     // add a learner and make it a voter; on the leader
	opJoinVia    = "join_via" // the same, on any member
)

type readIndexReply struct {
	Index uint64 `json:"index"`
}

// serveReadIndex answers a follower, and tells it the commit index, which it may
// not have yet.
func (g *Group) serveReadIndex(ctx context.Context, from string, _ json.RawMessage) (any, error) {
	l := g.lead.get()
	if !l.IsLeader {
		return nil, errMoved
	}
	index, err := g.leaderReadIndex(ctx, l.Term)
	if err != nil {
		return nil, err
	}
	if s, ok := g.member(from); ok && g.raft.State() == hraft.Leader {
		g.nudge(s)
	}
	return readIndexReply{Index: index}, nil
}
