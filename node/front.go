package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"ostraka/peer"
	"ostraka/pgfront"
	"ostraka/pgfront/auth"
	"ostraka/pgfront/session"
	"ostraka/sqltypes/pgerror"
)

// front is the node's PostgreSQL listener with everything behind it.
type front struct {
	server   *pgfront.Server
	registry *session.Registry
	listener net.Listener
	done     chan struct{}
}

func startFront(n *Node) (*front, error) {
	tlsConf, err := serverTLS(n.cfg)
	if err != nil {
		return nil, err
	}
	if !isLoopback(n.cfg.Listen) && !n.cfg.Insecure && n.cfg.SuperuserPasswordFile == "" && !n.hasPasswords() {
		return nil, fmt.Errorf("listen: %s is reachable from other machines and no role has a password: give --superuser-password-file, or --insecure", n.cfg.Listen)
	}
	l, err := net.Listen("tcp", n.cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	id, _ := strconv.ParseUint(n.cfg.NodeID, 10, 64)
	f := &front{registry: session.NewRegistry(uint8(id)), listener: l, done: make(chan struct{})}
	deps := sessionDeps(n, f.registry)
	policy := auth.Policy(auth.TrustLoopback)
	if n.cfg.Insecure {
		policy = func(auth.Client) auth.Method { return auth.Trust }
	}
	secret, err := n.dir.secret(n.cfg.SecretFile)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	f.server, err = pgfront.NewServer(pgfront.Config{Deps: deps, TLS: tlsConf, Policy: policy, Logger: n.log, MaxConnections: n.cfg.MaxConnections,
		Peer: func(c auth.Client, params map[string]string) bool {
			return peer.Verify(secret, c.User, c.Database, params, time.Now())
		}})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	go func() {
		defer close(f.done)
		if err := f.server.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
			n.fatal(fmt.Errorf("PostgreSQL listener: %w", err))
		}
	}()
	return f, nil
}

func (f *front) addr() string { return f.listener.Addr().String() }

func (f *front) close(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := f.server.Shutdown(ctx)
	<-f.done
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what still ran was cut off
	}
	return err
}

// hasPasswords reports that some role could authenticate with a password.
func (n *Node) hasPasswords() bool {
	cat := n.shard.Catalog(postgresDB)
	if cat == nil {
		return len(n.cfg.Join) > 0 // roles arrive with the replica
	}
	found := false
	for _, r := range []string{n.cfg.Superuser} {
		if role := cat.RoleByName(r); role != nil && role.Password != "" {
			found = true
		}
	}
	return found
}

// serverTLS loads the certificate, nil when none is configured.
func serverTLS(cfg Config) (*tls.Config, error) {
	if cfg.TLSCert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("tls-cert, tls-key: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if cfg.TLSClientCA != "" {
		pem, err := os.ReadFile(cfg.TLSClientCA)
		if err != nil {
			return nil, fmt.Errorf("tls-client-ca: %w", err)
		}
		out.ClientCAs = x509.NewCertPool()
		if !out.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls-client-ca: %s has no certificate", cfg.TLSClientCA)
		}
		out.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return out, nil
}

// forwarder opens sessions on the leader; it implements session.Forwarder.
type forwarder struct{ n *Node }

func (f forwarder) Open(ctx context.Context, id session.Identity) (session.Upstream, error) {
	n := f.n
	if len(n.group.Metrics().Members) == 0 {
		return nil, pgerror.New(pgerror.CannotConnectNow, "this node is not a member of a cluster").
			WithHint("Call raft_init() to start a cluster with it, or raft_add_learner() on a member of one.")
	}
	var last error
	// An election takes a moment: nothing has been sent, so waiting for it is safe.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		changed := n.group.LeadershipChanged()
		lead := n.group.Leadership()
		leader := lead.LeaderID
		// This node may have come to lead meanwhile: then it is forwarded to itself.
		if leader != "" && (leader != n.cfg.NodeID || lead.IsLeader) {
			c, err := f.dial(ctx, leader, id)
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

func (f forwarder) dial(ctx context.Context, leader string, id session.Identity) (session.Upstream, error) {
	addr, err := f.n.peers.sqlAddr(ctx, leader)
	if err != nil {
		return nil, err
	}
	secret, err := f.n.dir.secret(f.n.cfg.SecretFile)
	if err != nil {
		return nil, err
	}
	c, err := peer.Dial(ctx, peer.Options{Addr: addr, User: id.SessionUser, Database: id.Database, App: id.Application, Node: f.n.cfg.NodeID,
		Secret: secret, Now: time.Now()})
	if err != nil {
		return nil, err // not (*peer.Conn)(nil) in an interface
	}
	return &upstream{Conn: c, n: f.n, leader: leader}, nil
}

// upstream is a session on the node that led when it was opened.
type upstream struct {
	*peer.Conn
	n      *Node
	leader string
}

// Stale implements session.Upstream.
func (u *upstream) Stale() bool {
	now := u.n.group.Leadership().LeaderID
	return now != "" && now != u.leader || u.Broken()
}
