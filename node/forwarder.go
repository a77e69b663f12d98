package node

import (
	"context"
	"errors"
	"net"
	"time"

	"ostraka/peer"
	"ostraka/pgfront/session"
	"ostraka/raft"
	"ostraka/sqltypes/pgerror"
)

// forwarder opens sessions on the leader; it implements session.Forwarder.
type forwarder struct {
	n     *Node
	group *raft.Group
	shard string // "" is the home shard
}

// leaderPatience is how long a statement waits for a leader before it was sent to any.
var leaderPatience = 5 * time.Second

func (f forwarder) Open(ctx context.Context, id session.Identity) (session.Upstream, error) {
	n := f.n
	if len(f.group.Metrics().Members) == 0 {
		return nil, pgerror.New(pgerror.CannotConnectNow, "this node is not a member of a cluster").
			WithHint("Call raft_init() to start a cluster with it, or raft_add_learner() on a member of one.")
	}
	if f.group.Removed() {
		return nil, notMember(f.group)()
	}
	var last error
	// An election takes a moment: nothing has been sent, so waiting for it is safe.
	ctx, cancel := context.WithTimeout(ctx, leaderPatience)
	defer cancel()
	for {
		changed := f.group.LeadershipChanged()
		lead := f.group.Leadership()
		leader := lead.LeaderID
		// This node may have come to lead meanwhile: then it is forwarded to itself.
		if leader != "" && (leader != n.cfg.NodeID || lead.IsLeader) {
			c, err := f.dial(ctx, leader, lead.Term, id)
			if err == nil {
				return c, nil
			}
			var pe *pgerror.Error
			if errors.As(err, &pe) {
				return nil, err
			}
			last = err
			n.peers.forget(leader)
		}
		select {
		case <-ctx.Done():
			if last == nil {
				last = errors.New("no leader is known")
			}
			return nil, pgerror.Wrap(last, pgerror.CannotConnectNow, "no leader can be reached to execute the statement").
				WithDetail("%s", last.Error()).WithHint("Reads that need no leader still work; try again when a majority of the nodes is up.")
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (f forwarder) dial(ctx context.Context, leader string, term uint64, id session.Identity) (session.Upstream, error) {
	addr, err := f.n.peers.sqlAddr(ctx, leader)
	if err != nil {
		return nil, err
	}
	c, err := peer.Dial(ctx, peer.Options{Addr: addr, User: id.SessionUser, Database: id.Database, App: id.Application, Node: f.n.cfg.NodeID, PID: id.PID, Shard: f.shard,
		Secret: f.n.secret, Now: f.n.cfg.now(), Dial: f.n.dialLeaderOf(f.group, leader)})
	if err != nil {
		return nil, err // not (*peer.Conn)(nil) in an interface
	}
	return &upstream{Conn: c, group: f.group, leader: leader, term: term}, nil
}

// dialLeaderOf opens connections to the leader of a group of which this node has a replica.
func (n *Node) dialLeaderOf(group *raft.Group, leader string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.dialLeader(leader, func() bool { return group.Leadership().LeaderID == leader })
}

// dialLeader opens connections to a node that leads a group; see ledConn.
func (n *Node) dialLeader(to string, leads func() bool) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := n.dialer(to)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return newLedConn(conn, n.cfg.Heartbeat, leads), nil
	}
}

// dialer opens connections to a node; under fault injection they obey the matrix.
func (n *Node) dialer(to string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil || n.faults == nil {
			return conn, err
		}
		return n.faults.Conn(conn, n.cfg.NodeID, to), nil
	}
}

// upstream is a session on the node that led when it was opened.
type upstream struct {
	*peer.Conn
	group  *raft.Group
	leader string
	term   uint64 // in which the other session executes, as far as this node knew
}

// Stale implements session.Upstream.
func (u *upstream) Stale() bool { return u.Moved() || u.Broken() }

// Moved implements session.Upstream.
func (u *upstream) Moved() bool {
	now := u.group.Leadership()
	return now.LeaderID != "" && (now.LeaderID != u.leader || now.Term != u.term)
}
