package raft

import (
	"context"
	"sync/atomic"
	"time"
)

// removal is what a replica knows of having been taken out of its group. Nothing
// is sent to it any more then, so that its state stands still for ever, and
// nobody tells it either if it was away at the time: it asks.
type removal struct {
	is     atomic.Bool
	asking atomic.Bool
	told   atomic.Bool // by a member, since a leader was last known
	// since is when a leader was last known, or when a member was last asked.
	since time.Time // owned by leadership.run
}

// Removed reports that this replica is in no membership (any more): it knows no
// leader, and either its own log or a member says so.
func (g *Group) Removed() bool { return g.removal.is.Load() }

// lookRemoved is called often by leadership.run.
func (g *Group) lookRemoved(now time.Time) {
	r := &g.removal
	servers := g.servers()
	if g.lead.get().LeaderID != "" || len(servers) == 0 {
		r.since = now
		r.told.Store(false)
		r.is.Store(false)
		return
	}
	_, member := g.member(g.self)
	r.is.Store(!member || r.told.Load())
	if r.since.IsZero() {
		r.since = now
	}
	if !member || r.told.Load() || now.Sub(r.since) < 4*g.timers.Election || !r.asking.CompareAndSwap(false, true) {
		return
	}
	r.since = now
	g.spawn(func() {
		defer r.asking.Store(false)
		ctx, cancel := g.context(2 * g.timers.Election)
		defer cancel()
		r.told.Store(g.saysRemoved(ctx))
	})
}

// saysRemoved asks the others whether this replica is still a member. Only who
// follows or is a leader and has applied a newer membership is believed.
func (g *Group) saysRemoved(ctx context.Context) bool {
	mine := g.cfg.Applier.Applied().ConfigIndex
	for _, s := range g.servers() {
		if string(s.ID) == g.self {
			continue
		}
		one, cancel := context.WithTimeout(ctx, g.timers.Election)
		var m Metrics
		err := g.host.control.Call(one, string(s.ID), string(s.Address), opMetrics, g.cfg.ID, struct{}{}, &m)
		cancel()
		if err != nil || m.Leader == "" || m.ConfigIndex <= mine {
			continue
		}
		for _, x := range m.Members {
			if x.ID == g.self {
				return false
			}
		}
		return true
	}
	return false
}
