package raft

import (
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
)

// leadership publishes who leads. It re-reads raft's state after every hint, for
// raft's own leader channel drops changes: a node that lost and regained
// leadership may see nothing there. What counts is the term.
type leadership struct {
	g    *Group
	kick chan struct{} // buffered 1

	mu      sync.Mutex
	cur     commitlog.Leadership // guarded by mu
	changed chan struct{}        // closed at the next change; guarded by mu
}

func newLeadership(g *Group) *leadership {
	return &leadership{g: g, kick: make(chan struct{}, 1), changed: make(chan struct{})}
}

func (l *leadership) hint() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// get returns the published state, but never a leadership that raft has lost.
func (l *leadership) get() commitlog.Leadership {
	l.mu.Lock()
	cur := l.cur
	l.mu.Unlock()
	if cur.IsLeader && !l.g.isRaftLeader(cur.Term) {
		cur.IsLeader = false
		cur.LeaderID = ""
		cur.Term = l.g.raft.CurrentTerm()
		l.hint()
	}
	return cur
}

func (l *leadership) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *leadership) publish(s commitlog.Leadership) {
	if l.set(s) {
		l.g.batcher.lost()
	}
}

func (l *leadership) set(s commitlog.Leadership) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cur == s {
		return false
	}
	was := l.cur
	l.cur = s
	close(l.changed)
	l.changed = make(chan struct{})
	if was.IsLeader != s.IsLeader || was.LeaderID != s.LeaderID {
		l.g.log.Info("leadership", "term", s.Term, "leader", s.LeaderID, "is_leader", s.IsLeader)
	}
	return true
}

// run follows raft until the group closes.
func (l *leadership) run() {
	obs := make(chan hraft.Observation, 1)
	o := hraft.NewObserver(obs, false, func(o *hraft.Observation) bool {
		switch o.Data.(type) {
		case hraft.RaftState, hraft.LeaderObservation:
			return true
		}
		return false
	})
	l.g.raft.RegisterObserver(o)
	defer l.g.raft.DeregisterObserver(o)
	tick := time.NewTicker(max(l.g.timers.Heartbeat/4, 10*time.Millisecond))
	defer tick.Stop()
	var established uint64 // the term in which our epoch entry was applied
	var deaf deafness
	for {
		established = l.look(established)
		l.g.lookRemoved(time.Now())
		if s := l.get(); s.IsLeader && l.g.deaf(&deaf, s.Term, time.Now()) {
			deaf.since = time.Time{} // once per confirmation
			l.g.spawn(l.g.stepDownDeaf)
		}
		select {
		case <-obs:
		case <-l.kick:
		case <-tick.C:
		case <-l.g.raft.LeaderCh():
		case <-l.g.stop:
			l.publish(commitlog.Leadership{Term: l.g.raft.CurrentTerm()})
			return
		}
	}
}

// look publishes raft's state. A new leader first writes an epoch entry: when it
// is applied, everything before it is, so it is the barrier of the term; from
// then on every commit index is one that the applier sees (raft's own no-op
// never reaches it).
func (l *leadership) look(established uint64) uint64 {
	term := l.g.raft.CurrentTerm()
	if !l.g.isRaftLeader(term) {
		_, id := l.g.raft.LeaderWithID()
		if string(id) == l.g.self {
			id = ""
		}
		l.publish(commitlog.Leadership{Term: term, LeaderID: string(id)})
		return established
	}
	if established != term {
		l.publish(commitlog.Leadership{Term: term, LeaderID: l.g.self})
		f := l.g.raft.Apply(epochEntry(), enqueueTimeout)
		if err := f.Error(); err != nil {
			l.g.log.Debug("epoch entry", "term", term, "error", err)
			return established
		}
		if o, ok := f.Response().(*outcome); !ok || o.term != term || !l.g.isRaftLeader(term) {
			l.hint()
			return established
		}
		l.g.led.Store(time.Now().UnixNano())
	}
	l.publish(commitlog.Leadership{Term: term, IsLeader: true, LeaderID: l.g.self})
	return term
}
