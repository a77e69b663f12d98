package raft

import (
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
)

// runNudge tells followers the commit index soon after a commit. By itself an
// idle leader does so only after Timers.Commit to twice that, and a session that
// wrote here and reads there would wait. It sends an ordinary empty
// AppendEntries whose previous entry is the committed one: true content, so
// legal raft. Under load the next entries carry the commit index anyway.
func (g *Group) runNudge() {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var told uint64
	for {
		select {
		case <-g.committed:
		case <-g.stop:
			return
		}
		index := g.raft.CommitIndex()
		for before := uint64(0); before != index; {
			before = index
			timer.Reset(g.timers.Nudge)
			select {
			case <-timer.C:
			case <-g.stop:
				return
			}
			index = g.raft.CommitIndex() // while entries come, each tells of the one before
		}
		if index == told || g.raft.LastIndex() != index {
			continue // entries under way will tell
		}
		told = index
		for _, s := range g.servers() {
			if string(s.ID) != g.self && !g.nudge(s) {
				told = 0 // it is being told of an earlier commit: again
			}
		}
		if told == 0 {
			select {
			case g.committed <- struct{}{}:
			default:
			}
		}
	}
}

// nudge tells one follower; false if it is being told already.
func (g *Group) nudge(s hraft.Server) bool {
	l := g.lead.get()
	if !l.IsLeader {
		return true
	}
	index := g.raft.CommitIndex()
	term, ok := g.store.Term(index)
	if !ok || index > g.store.Durable() {
		return true
	}
	v, _ := g.host.nudging.LoadOrStore(nudgeKey{g.cfg.ID, string(s.ID)}, new(atomic.Bool))
	busy := v.(*atomic.Bool)
	if !busy.CompareAndSwap(false, true) {
		return false
	}
	g.spawn(func() {
		defer busy.Store(false)
		g.trans.Nudge(s.ID, s.Address, l.Term, index, term)
	})
	return true
}

type nudgeKey struct {
	group uint32
	id    string
}
