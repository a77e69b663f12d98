package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
)

// Config configures a group's Transport.
type Config struct {
	NodeID string
	Stream hraft.StreamLayer
	Peers  *Peers
	// Faults may be nil.
	Faults *Faults
	// Timeout of one call.
	Timeout time.Duration
	// VoteGrace is how long after its start this node refuses to vote. It must
	// be at least the HeartbeatTimeout: a restarted node has forgotten that it
	// had a leader, and the leader's read lease relies on its refusing.
	VoteGrace time.Duration
	// Leading reports whether this node still leads in term and id is still a
	// member; it decides how long a failed AppendEntries is retried.
	Leading func(term uint64, id string) bool
	// Term is the node's current term.
	Term func() uint64
	// Durable is the newest index of this node's log on stable storage: a leader
	// counts itself for entries that are only written, and must not tell of a commit
	// that relies on them. Nil: all of the log is.
	Durable func() uint64
	// Flush puts all of the log on stable storage. It is called before an
	// AppendEntries reaches raft, because a reply vouches for the entries before. Nil: it always is.
	Flush  func() error
	Logger hclog.Logger
}

// maxRequestBytes bounds the entries of one AppendEntries. hashicorp/raft counts
// entries, not bytes.
const maxRequestBytes = 4 << 20

// Transport wraps hashicorp/raft's network transport. It implements
// raft.Transport, raft.WithPreVote and raft.WithClose.
type Transport struct {
	*hraft.NetworkTransport
	cfg      Config
	ctx      context.Context
	cancel   context.CancelFunc
	consumer chan hraft.RPC
	start    time.Time
	wg       sync.WaitGroup
}

var _ interface {
	hraft.Transport
	hraft.WithPreVote
	hraft.WithClose
} = (*Transport)(nil)

// New starts the transport of a group over its stream layer.
func New(cfg Config) *Transport {
	t := &Transport{
		NetworkTransport: hraft.NewNetworkTransportWithConfig(&hraft.NetworkTransportConfig{
			Stream:          cfg.Stream,
			MaxPool:         4,
			MaxRPCsInFlight: 2,
			Timeout:         cfg.Timeout,
			Logger:          cfg.Logger,
		}),
		cfg:      cfg,
		consumer: make(chan hraft.RPC),
		start:    time.Now(),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.wg.Add(1)
	go t.receive()
	return t
}

// Close closes all connections of the group and waits for the wrapper's goroutines.
func (t *Transport) Close() error {
	t.cancel()
	t.NetworkTransport.CloseStreams()
	err := t.NetworkTransport.Close()
	t.wg.Wait()
	return err
}

// Consumer returns the inbound requests that may reach raft.
func (t *Transport) Consumer() <-chan hraft.RPC { return t.consumer }

// receive filters inbound requests.
func (t *Transport) receive() {
	defer t.wg.Done()
	for {
		select {
		case rpc := <-t.NetworkTransport.Consumer():
			if t.refuse(&rpc) {
				continue
			}
			select {
			case t.consumer <- rpc:
			case <-t.ctx.Done():
				return
			}
		case <-t.ctx.Done():
			return
		}
	}
}

// refuse answers requests that would break the promises behind read leases.
func (t *Transport) refuse(rpc *hraft.RPC) bool {
	young := time.Since(t.start) < t.cfg.VoteGrace
	switch q := rpc.Command.(type) {
	case *hraft.AppendEntriesRequest:
		if t.cfg.Flush == nil {
			return false
		}
		if err := t.cfg.Flush(); err != nil {
			rpc.Respond(nil, err)
			return true
		}
	case *hraft.RequestVoteRequest:
		// A transferring leader has given up its lease, so its heir may be voted for.
		if young && !q.LeadershipTransfer {
			rpc.Respond(&hraft.RequestVoteResponse{RPCHeader: t.header(), Term: t.cfg.Term()}, nil)
			return true
		}
	case *hraft.RequestPreVoteRequest:
		if young {
			rpc.Respond(&hraft.RequestPreVoteResponse{RPCHeader: t.header(), Term: t.cfg.Term()}, nil)
			return true
		}
	case *hraft.TimeoutNowRequest:
		// The request has no term; without one a late copy would depose a leader
		// who holds a lease. See TimeoutNow.
		id, term, ok := splitTerm(q.ID)
		if !ok || term != t.cfg.Term() {
			rpc.Respond(nil, fmt.Errorf("leadership transfer of term %d refused in term %d", term, t.cfg.Term()))
			return true
		}
		q.ID = id
	}
	return false
}

func (t *Transport) header() hraft.RPCHeader {
	return hraft.RPCHeader{
		ProtocolVersion: hraft.ProtocolVersionMax,
		ID:              []byte(t.cfg.NodeID),
		Addr:            []byte(t.LocalAddr()),
	}
}

// Campaign makes this node start an election at once, without asking for
// pre-votes. For the only voter of a group, who need not wait for a timeout.
func (t *Transport) Campaign(ctx context.Context) error {
	resp := make(chan hraft.RPCResponse, 1)
	rpc := hraft.RPC{Command: &hraft.TimeoutNowRequest{RPCHeader: t.header()}, RespChan: resp}
	select {
	case t.consumer <- rpc:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return hraft.ErrTransportShutdown
	}
	select {
	case r := <-resp:
		return r.Error
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return hraft.ErrTransportShutdown
	}
}

// joinTerm and splitTerm carry a term behind a node id in a request header.
func joinTerm(id []byte, term uint64) []byte {
	out := append(bytes.Clone(id), 0)
	return binary.BigEndian.AppendUint64(out, term)
}

func splitTerm(b []byte) (id []byte, term uint64, ok bool) {
	n := len(b) - 9
	if n < 0 || b[n] != 0 {
		return b, 0, false
	}
	return b[:n], binary.BigEndian.Uint64(b[n+1:]), true
}

func (t *Transport) call(id hraft.ServerID, send func() error, again func()) error {
	return t.cfg.Faults.call(t.ctx, t.cfg.NodeID, string(id), t.cfg.Timeout, send, again)
}

// heartbeat is how the network transport tells heartbeats too.
func heartbeat(q *hraft.AppendEntriesRequest) bool {
	return q.PrevLogEntry == 0 && q.PrevLogTerm == 0 && len(q.Entries) == 0 && q.LeaderCommitIndex == 0
}

// matchOf is the index up to which a follower that accepted q agrees.
func matchOf(q *hraft.AppendEntriesRequest) uint64 {
	if n := len(q.Entries); n > 0 {
		return q.Entries[n-1].Index
	}
	return q.PrevLogEntry
}

// clamp shortens q to maxRequestBytes but at least one entry, and its commit index
// to what is on stable storage here. Callers in raft read the entries of q after
// the call to learn what has been sent.
func (t *Transport) clamp(q *hraft.AppendEntriesRequest) {
	if t.cfg.Durable != nil && q.LeaderCommitIndex > 0 {
		q.LeaderCommitIndex = min(q.LeaderCommitIndex, t.cfg.Durable())
	}
	n := 0
	for i, l := range q.Entries {
		n += len(l.Data)
		if n > maxRequestBytes && i > 0 {
			q.Entries = q.Entries[:i]
			return
		}
	}
}

// AppendEntries sends a request. Heartbeats fail as they fail. Replication is
// retried here for as long as this node leads, because raft would back off for
// up to ten seconds after a follower's outage: the next try comes when a
// heartbeat of the follower has succeeded, or after a quarter of a second.
func (t *Transport) AppendEntries(id hraft.ServerID, addr hraft.ServerAddress, q *hraft.AppendEntriesRequest, p *hraft.AppendEntriesResponse) error {
	beat := heartbeat(q)
	t.clamp(q)
	err := t.appendEntries(id, addr, q, p)
	if beat {
		return err
	}
	for err != nil && t.ctx.Err() == nil && t.cfg.Leading(q.Term, string(id)) {
		timer := time.NewTimer(250 * time.Millisecond)
		select {
		case <-t.cfg.Peers.contact(string(id)):
			timer.Stop()
			sleep(t.ctx, 5*time.Millisecond) // a follower that answers heartbeats but no appends must not be spun on
		case <-timer.C:
		case <-t.ctx.Done():
			timer.Stop()
		}
		if !t.cfg.Leading(q.Term, string(id)) {
			break
		}
		*p = hraft.AppendEntriesResponse{}
		err = t.appendEntries(id, addr, q, p)
	}
	return err
}

func (t *Transport) appendEntries(id hraft.ServerID, addr hraft.ServerAddress, q *hraft.AppendEntriesRequest, p *hraft.AppendEntriesResponse) error {
	sent := time.Now()
	err := t.call(id, func() error {
		return t.NetworkTransport.AppendEntries(id, addr, q, p)
	}, func() {
		late := *q
		t.NetworkTransport.AppendEntries(id, addr, &late, &hraft.AppendEntriesResponse{})
	})
	if err == nil {
		t.replied(id, q, p, sent)
	}
	return err
}

func (t *Transport) replied(id hraft.ServerID, q *hraft.AppendEntriesRequest, p *hraft.AppendEntriesResponse, sent time.Time) {
	match := matchOf(q)
	t.cfg.Peers.replied(string(id), q.Term, sent, p.Success && p.Term == q.Term, match, max(p.LastLog, match))
}

// RequestVote asks for a vote.
func (t *Transport) RequestVote(id hraft.ServerID, addr hraft.ServerAddress, q *hraft.RequestVoteRequest, p *hraft.RequestVoteResponse) error {
	return t.call(id, func() error {
		return t.NetworkTransport.RequestVote(id, addr, q, p)
	}, func() {
		t.NetworkTransport.RequestVote(id, addr, q, &hraft.RequestVoteResponse{})
	})
}

// RequestPreVote asks whether a vote would be granted.
func (t *Transport) RequestPreVote(id hraft.ServerID, addr hraft.ServerAddress, q *hraft.RequestPreVoteRequest, p *hraft.RequestPreVoteResponse) error {
	return t.call(id, func() error {
		return t.NetworkTransport.RequestPreVote(id, addr, q, p)
	}, func() {
		t.NetworkTransport.RequestPreVote(id, addr, q, &hraft.RequestPreVoteResponse{})
	})
}

// TimeoutNow hands leadership over. The request carries the sender's term behind
// its id; the receiver refuses it in any other term.
func (t *Transport) TimeoutNow(id hraft.ServerID, addr hraft.ServerAddress, q *hraft.TimeoutNowRequest, p *hraft.TimeoutNowResponse) error {
	q.ID = joinTerm(q.ID, t.cfg.Term())
	return t.call(id, func() error {
		return t.NetworkTransport.TimeoutNow(id, addr, q, p)
	}, func() {
		late := *q
		t.NetworkTransport.TimeoutNow(id, addr, &late, &hraft.TimeoutNowResponse{})
	})
}

// InstallSnapshot streams a checkpoint. It begins only when the follower answers
// heartbeats, so that an unreachable one does not cost an attempt.
func (t *Transport) InstallSnapshot(id hraft.ServerID, addr hraft.ServerAddress, q *hraft.InstallSnapshotRequest, p *hraft.InstallSnapshotResponse, data io.Reader) error {
	wait := time.NewTimer(30 * time.Second)
	defer wait.Stop()
	for time.Since(t.cfg.Peers.Progress(string(id), q.Term).LastContact) > 2*t.cfg.Timeout {
		select {
		case <-t.cfg.Peers.contact(string(id)):
		case <-wait.C:
			return fmt.Errorf("node %s does not answer", id)
		case <-t.ctx.Done():
			return hraft.ErrTransportShutdown
		}
		if !t.cfg.Leading(q.Term, string(id)) {
			return hraft.ErrNotLeader
		}
	}
	sent := time.Now()
	err := t.call(id, func() error {
		return t.NetworkTransport.InstallSnapshot(id, addr, q, p, &guarded{t: t, id: string(id), r: data})
	}, nil)
	if err == nil && p.Success {
		t.cfg.Peers.replied(string(id), q.Term, sent, p.Term == q.Term, q.LastLogIndex, q.LastLogIndex)
	}
	return err
}

// guarded breaks a running transfer when its edge is cut.
type guarded struct {
	t  *Transport
	id string
	r  io.Reader
}

func (g *guarded) Read(b []byte) (int, error) {
	if f := g.t.cfg.Faults; f != nil {
		if r, ok, _ := f.rule(g.t.cfg.NodeID, g.id); ok && r.DropRequests {
			f.hits.Add(1)
			return 0, ErrInjected
		}
	}
	return g.r.Read(b)
}

// Nudge tells a follower that the log up to index, whose entry is of entryTerm,
// is committed in term. It does not retry.
func (t *Transport) Nudge(id hraft.ServerID, addr hraft.ServerAddress, term, index, entryTerm uint64) error {
	h := t.header()
	q := &hraft.AppendEntriesRequest{
		RPCHeader:         h,
		Term:              term,
		PrevLogEntry:      index,
		PrevLogTerm:       entryTerm,
		LeaderCommitIndex: index,
	}
	return t.appendEntries(id, addr, q, &hraft.AppendEntriesResponse{})
}
