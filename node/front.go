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
)

// serverSettings are the parameters that the configuration decides, as SHOW tells them.
func serverSettings(c *Config, listen net.Addr) map[string]string {
	s := map[string]string{"work_mem": strconv.FormatInt(c.WorkMem>>10, 10), "max_connections": strconv.Itoa(c.MaxConnections), "unix_socket_directories": ""}
	if host, port, err := net.SplitHostPort(listen.String()); err == nil {
		s["port"] = port
		if s["listen_addresses"] = host; net.ParseIP(host).IsUnspecified() {
			s["listen_addresses"] = "*"
		}
	}
	if c.TLSCert != "" {
		s["ssl"] = "on"
	}
	return s
}

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
	n.settings = serverSettings(&n.cfg, l.Addr())
	id, _ := strconv.ParseUint(n.cfg.NodeID, 10, 64)
	f := &front{registry: session.NewRegistry(uint8(id)), listener: l, done: make(chan struct{})}
	deps := sessionDeps(n, f.registry)
	policy := auth.Policy(auth.TrustLoopback)
	if n.cfg.Insecure {
		policy = func(auth.Client) auth.Method { return auth.Trust }
	}
	f.server, err = pgfront.NewServer(pgfront.Config{Deps: deps, TLS: tlsConf, Policy: policy, Logger: n.log, MaxConnections: n.cfg.MaxConnections,
		Peer: func(c auth.Client, params map[string]string) (bool, error) {
			return peer.Verify(n.secret, c.User, c.Database, params, n.cfg.now())
		},
		Shard: func(id string) (*session.Deps, error) { return n.shardDeps(id, f.registry) }})
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

// runLost ends sessions that would go on believing what is not so any more, as soon as
// this node knows of it: whose advisory locks went with a leadership, and who have
// missed notifications because the state was replaced by a checkpoint.
func (n *Node) runLost() {
	defer n.wg.Done()
	tick := time.NewTicker(reconcileInterval) // for the groups of other shards
	defer tick.Stop()
	for {
		changed := n.group.LeadershipChanged()
		n.front.registry.EndLost()
		select {
		case <-n.ctx.Done():
			return
		case <-n.restored:
			n.front.registry.EndListening()
		case <-changed:
		case <-tick.C:
		}
	}
}

// noteRestored tells runLost.
func (n *Node) noteRestored() {
	select {
	case n.restored <- struct{}{}:
	default:
	}
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
