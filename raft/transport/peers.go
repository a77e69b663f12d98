package transport

import (
	"slices"
	"sync"
	"time"
)

// Progress is what a leader knows of one follower from its replies.
type Progress struct {
	// Match is the highest log index known to be in the follower's log and equal to ours.
	Match uint64
	// LastLog is the follower's newest log index as it last said.
	LastLog uint64
	// LastContact is when the follower's newest reply arrived; zero if never.
	LastContact time.Time
}

type peer struct {
	Progress
	term  uint64        // term of acked
	acked time.Time     // send time of the newest request acknowledged in term
	match uint64        // term in which Match was learned
	next  chan struct{} // closed at the next acknowledgement of this peer
}

// Peers remembers, for one group, what followers have acknowledged.
//
// The send time is what counts for reads: a follower that accepted a request of
// term T sent at time s had, at some moment after s, no newer leader, and grants
// no vote for one HeartbeatTimeout after it. hashicorp/raft's VerifyLeader
// credits replies to requests sent before the read began, so it can succeed on a
// deposed leader; this cannot.
type Peers struct {
	mu      sync.Mutex
	peers   map[string]*peer // guarded by mu
	changed chan struct{}    // closed at the next acknowledgement; guarded by mu
}

// NewPeers returns an empty record.
func NewPeers() *Peers {
	return &Peers{peers: map[string]*peer{}, changed: make(chan struct{})}
}

func (p *Peers) get(id string) *peer {
	q := p.peers[id]
	if q == nil {
		q = &peer{next: make(chan struct{})}
		p.peers[id] = q
	}
	return q
}

// replied notes a reply of id to a request sent at sent in term. ok means the
// follower recognised the term's leader; match is the index up to which the
// logs agree (0 if the request did not say).
func (p *Peers) replied(id string, term uint64, sent time.Time, ok bool, match, lastLog uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.get(id)
	q.LastContact = time.Now()
	q.LastLog = lastLog
	if !ok {
		return
	}
	if term > q.term || term == q.term && sent.After(q.acked) {
		q.term, q.acked = term, sent
	}
	if match > 0 && (term > q.match || term == q.match && match > q.Match) {
		q.match, q.Match = term, match
	}
	close(q.next)
	q.next = make(chan struct{})
	close(p.changed)
	p.changed = make(chan struct{})
}

// QuorumSent returns the newest time t such that a majority of voters (self
// among them counts as now) has acknowledged requests of term sent at or after
// t; ok is false if no majority has acknowledged anything in term.
func (p *Peers) QuorumSent(term uint64, self string, voters []string, now time.Time) (t time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	times := make([]time.Time, 0, len(voters))
	for _, v := range voters {
		if v == self {
			times = append(times, now)
		} else if q := p.peers[v]; q != nil && q.term == term {
			times = append(times, q.acked)
		}
	}
	quorum := len(voters)/2 + 1
	if len(times) < quorum {
		return time.Time{}, false
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	return times[quorum-1], true
}

// Changed returns a channel closed at the next acknowledgement.
func (p *Peers) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Progress returns what is known of a follower, in the given term of leadership:
// a match learned in an older term counts as 0.
func (p *Peers) Progress(id string, term uint64) Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.peers[id]
	if q == nil {
		return Progress{}
	}
	out := q.Progress
	if q.match != term {
		out.Match = 0
	}
	return out
}

// Forget drops what is known of a node that has left or is to join.
func (p *Peers) Forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.peers[id]; q != nil {
		*q = peer{next: q.next}
	}
}

// contact returns a channel closed when the follower has next acknowledged a request.
func (p *Peers) contact(id string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.get(id).next
}
