package raft

import (
	"time"

	hraft "github.com/hashicorp/raft"
)

// Metrics is the state of one replica.
type Metrics struct {
	NodeID string `json:"node_id"`
	// State is "Leader", "Follower", "Candidate", "Learner" or "Shutdown". A
	// replica that is in no membership yet is a Learner.
	State string `json:"state"`
	Term  uint64 `json:"term"`
	// Leader is the known leader's id, "" if none.
	Leader string `json:"leader"`
	// Ready is true on a leader that may execute writes.
	Ready    bool   `json:"ready"`
	FirstLog uint64 `json:"first_log"`
	LastLog  uint64 `json:"last_log"`
	Commit   uint64 `json:"commit"`
	// Applied is what the applier has applied. The log's no-ops never reach it,
	// so it may lag Commit by one entry right after an election.
	Applied  uint64 `json:"applied"`
	Durable  uint64 `json:"durable"`
	LogBytes uint64 `json:"log_bytes"`
	// LastContact is when a follower last heard the leader; zero on a leader.
	LastContact time.Time `json:"last_contact,omitzero"`
	Members     []Member  `json:"members"`
	// ConfigIndex is the position of the newest applied membership.
	ConfigIndex uint64 `json:"config_index"`
}

// Member is one member of the group as this replica knows it.
type Member struct {
	ID    string `json:"id"`
	Addr  string `json:"addr"`
	Voter bool   `json:"voter"`
	// Progress is known on the leader only, for the other members.
	Progress *MemberProgress `json:"progress,omitempty"`
}

// MemberProgress is a follower's progress as its leader knows it.
type MemberProgress struct {
	Match uint64 `json:"match"` // highest index known to be in its log
	Next  uint64 `json:"next"`  // the index it needs next
	Lag   uint64 `json:"lag"`   // entries it lacks
	// LastContact is when its newest reply arrived; zero if never.
	LastContact time.Time `json:"last_contact,omitzero"`
}

// Metrics returns the state of this replica.
func (g *Group) Metrics() Metrics {
	l := g.lead.get()
	first, _ := g.store.FirstIndex()
	applied := g.cfg.Applier.Applied()
	m := Metrics{
		NodeID:      g.self,
		State:       g.raft.State().String(),
		Term:        g.raft.CurrentTerm(),
		Leader:      l.LeaderID,
		Ready:       l.IsLeader,
		FirstLog:    first,
		LastLog:     g.raft.LastIndex(),
		Commit:      g.raft.CommitIndex(),
		Applied:     applied.Position.Index,
		Durable:     g.cfg.Applier.Durable().Position.Index,
		LogBytes:    g.store.Bytes(),
		ConfigIndex: applied.ConfigIndex,
	}
	leads := g.raft.State() == hraft.Leader
	if !leads {
		m.LastContact = g.raft.LastContact()
	}
	voter := false
	for _, s := range g.servers() {
		mem := Member{ID: string(s.ID), Addr: string(s.Address), Voter: s.Suffrage == hraft.Voter}
		if mem.ID == g.self {
			voter = mem.Voter
		} else if leads {
			p := g.peers.Progress(mem.ID, m.Term)
			mem.Progress = &MemberProgress{Match: p.Match, Next: p.Match + 1, LastContact: p.LastContact}
			if m.LastLog > p.Match {
				mem.Progress.Lag = m.LastLog - p.Match
			}
		}
		m.Members = append(m.Members, mem)
	}
	if !voter && m.State == hraft.Follower.String() {
		m.State = "Learner"
	}
	return m
}
