package session

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"sort"
	"sync"
	"time"

	"ostraka/pgfront/stmtstats"
	"ostraka/sqltypes"
)

// Registry knows the sessions of a node: who may be cancelled, terminated, shown
// in pg_stat_activity. Safe for concurrent use.
type Registry struct {
	// Node is this node's number; it is encoded in the secret of the cancel key, so
	// that a CancelRequest that reaches another node can be relayed.
	node uint8
	// Relay passes a CancelRequest on to another node; nil drops it.
	Relay func(node uint8, pid, secret int32)

	// Statements counts what the sessions execute here.
	Statements *stmtstats.Table

	mu       sync.Mutex
	sessions map[int32]*Session // guarded by mu
	next     int32              // guarded by mu
	closing  bool               // guarded by mu
	// databases has the counters of each database; guarded by mu.
	databases map[sqltypes.OID]*DatabaseStats
}

// NewRegistry returns an empty registry of node (0 when it is alone).
func NewRegistry(node uint8) *Registry {
	return &Registry{node: node, Statements: stmtstats.New(stmtstats.DefaultEntries, nil), sessions: map[int32]*Session{}, next: 1000, databases: map[sqltypes.OID]*DatabaseStats{}}
}

// add gives the session its process id and cancel key.
func (r *Registry) add(s *Session) bool {
	var b [4]byte
	_, _ = rand.Read(b[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return false
	}
	for {
		r.next++
		if r.next <= 0 || r.next > 1<<22 {
			r.next = 1001
		}
		// The node is in the process id too, so that ids of a cluster differ.
		s.pid = int32(r.node)<<23 | r.next
		if r.sessions[s.pid] == nil {
			break
		}
	}
	s.secret = int32(binary.BigEndian.Uint32(b[:])&0x00ffffff | uint32(r.node)<<24)
	r.sessions[s.pid] = s
	return true
}

func (r *Registry) remove(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, s.pid)
}

// Cancel handles a CancelRequest. A wrong key has no effect.
func (r *Registry) Cancel(pid, secret int32) {
	if node := uint8(uint32(secret) >> 24); node != r.node {
		if r.Relay != nil {
			r.Relay(node, pid, secret)
		}
		return
	}
	if s := r.Session(pid); s != nil && s.secret == secret {
		s.Cancel()
	}
}

// Session finds a session by process id.
func (r *Registry) Session(pid int32) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[pid]
}

func (r *Registry) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Session, 0, len(r.sessions))
	for _, s := range r.sessions {
		out = append(out, s)
	}
	return out
}

// Len is the number of sessions.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}

// TerminateAll ends every session with 57P01 and lets no new ones in.
func (r *Registry) TerminateAll() {
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	for _, s := range r.all() {
		s.Terminate()
	}
}

// EndListening ends the sessions that listen for notifications (a snapshot was
// installed and may have skipped some).
func (r *Registry) EndListening() {
	for _, s := range r.all() {
		if s.listening.Load() {
			s.terminate(errMissed)
		}
	}
}

// EndLost ends the sessions whose advisory locks have gone with a leadership: others
// may hold them now.
func (r *Registry) EndLost() {
	for _, s := range r.all() {
		if s.lostAdvisory() {
			s.terminate(errStateLost())
		}
	}
}

// Activity is one row of pg_stat_activity.
type Activity struct {
	PID                                           int32
	Database                                      sqltypes.OID
	DatabaseName                                  string
	User                                          sqltypes.OID
	UserName, Application                         string
	ClientAddr                                    string // host, "" for local
	ClientPort                                    int
	BackendStart, XactStart, QueryStart, StateAge time.Time // zero: NULL
	State, Query                                  string
	WaitEventType, WaitEvent                      string
	Xid                                           uint64 // of the transaction, 0 none yet
	TLS                                           *tls.ConnectionState
}

// Activities describes every session, by process id.
func (r *Registry) Activities() []Activity {
	var out []Activity
	for _, s := range r.all() {
		out = append(out, s.Activity())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].PID < out[j].PID })
	return out
}
