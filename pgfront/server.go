// Package pgfront is a node's PostgreSQL front door: the listener, what happens
// before a session (limits, TLS, authentication, cancel requests) and the life of
// sessions; what sessions do is pgfront/session's.
//
// psql-wire serves the listener, the handshake and TLS; behind the gate
// (pgfront/gate) it only sees well-formed startup packets, and the message loop
// is ours, inside its session middleware.
//
// A Server is safe for concurrent use.
package pgfront

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	psqlwire "github.com/jeroenrinzema/psql-wire"
	"github.com/jeroenrinzema/psql-wire/pkg/buffer"

	"ostraka/engine/catalog"
	"ostraka/pgfront/auth"
	"ostraka/pgfront/gate"
	"ostraka/pgfront/session"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// Config of a Server. Deps is required; zero values of the rest mean defaults.
type Config struct {
	Deps session.Deps
	// TLS enables SSLRequest and TLS from the first byte; Certificates must not be empty.
	TLS *tls.Config
	// Policy chooses how clients authenticate; nil trusts this machine and asks others for SCRAM.
	Policy auth.Policy
	// Peer recognises another node of the cluster by its certificate or secret and lets it
	// assert a role; nil: nobody. An error refuses who only says that it is one.
	Peer func(c auth.Client, params map[string]string) (bool, error)
	// Shard finds what a peer's session is built on that names another shard than
	// the home shard (parameter ostraka.peer_shard); nil: there is none.
	Shard func(id string) (*session.Deps, error)
	// AuthTimeout 60 s, MaxConnections 1000, MaxUnauthenticated 200.
	AuthTimeout                        time.Duration
	MaxConnections, MaxUnauthenticated int
	Logger                             *slog.Logger
}

// Server serves PostgreSQL's protocol.
type Server struct {
	cfg  Config
	wire *psqlwire.Server

	mu    sync.Mutex
	gates []*gate.Listener // guarded by mu
	conns sync.WaitGroup
}

// NewServer prepares a server; Serve gives it a listener.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Policy == nil {
		cfg.Policy = auth.TrustLoopback
	}
	if cfg.Deps.Logger == nil {
		cfg.Deps.Logger = cfg.Logger
	}
	if cfg.Deps.Now == nil {
		cfg.Deps.Now = time.Now
	}
	s := &Server{cfg: cfg}
	opts := []psqlwire.OptionFn{
		psqlwire.Logger(slog.New(slog.DiscardHandler)),
		psqlwire.MessageBufferSize(16 << 10),
		psqlwire.SessionAuthStrategy(s.authenticate),
		psqlwire.SessionMiddleware(s.session),
		psqlwire.CancelRequest(func(_ context.Context, pid, secret int32) error {
			s.cfg.Deps.Registry.Cancel(pid, secret)
			return nil
		}),
	}
	if cfg.TLS != nil {
		opts = append(opts, psqlwire.TLSConfig(cfg.TLS))
	}
	var err error
	s.wire, err = psqlwire.NewServer(func(context.Context, psqlwire.Query) (psqlwire.PreparedStatements, error) {
		return nil, errors.New("pgfront: the message loop is the session's")
	}, opts...)
	return s, err
}

// Serve accepts clients until the listener is closed or Shutdown is called.
func (s *Server) Serve(l net.Listener) error {
	g := gate.Wrap(l, gate.Config{TLS: s.cfg.TLS, AuthTimeout: s.cfg.AuthTimeout, MaxConnections: s.cfg.MaxConnections,
		MaxUnauthenticated: s.cfg.MaxUnauthenticated, Logger: s.cfg.Logger})
	s.mu.Lock()
	s.gates = append(s.gates, g)
	s.mu.Unlock()
	return s.wire.Serve(g)
}

// Shutdown stops accepting, ends every session with 57P01 and waits for them
// until ctx ends; then connections are cut.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	gates := append([]*gate.Listener(nil), s.gates...)
	s.mu.Unlock()
	for _, g := range gates {
		_ = g.Close()
		g.CloseUnauthenticated()
	}
	s.cfg.Deps.Registry.TerminateAll()
	done := make(chan struct{})
	go func() {
		s.conns.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	for _, g := range gates {
		g.CloseConns()
	}
	_ = s.wire.Close()
	return err
}

// Connections is the number of open client connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.gates {
		n += g.Open()
	}
	return n
}

// connKey carries what authenticate found to the session.
type connKey struct{}

type connection struct {
	gate   *gate.Conn
	out    *wire.Out
	src    *bufio.Reader
	client session.Client
	deps   *session.Deps // of another shard; nil: the server's own
}

// accounts answers from the newest catalogue.
type accounts struct{ cat *catalog.Catalog }

func (a accounts) Role(name string) *catalog.Role { return a.cat.RoleByName(name) }

// bootDatabases are databases that always exist: through one of them roles and
// other databases are found (PostgreSQL's template1 and postgres).
var bootDatabases = []catalog.OID{1, 5}

// catalogs finds any catalogue, for shared objects.
func (s *Server) sharedCatalog() *catalog.Catalog {
	for _, oid := range bootDatabases {
		if c := s.cfg.Deps.Engine.Catalog(oid); c != nil {
			return c
		}
	}
	return nil
}

// authenticate is psql-wire's hook between the startup packet and the session.
func (s *Server) authenticate(ctx context.Context, w *buffer.Writer, r *buffer.Reader) (_ context.Context, err error) {
	conn, ok := w.Writer.(net.Conn)
	if !ok {
		return ctx, errors.New("pgfront: no connection below the handshake")
	}
	c := &connection{out: wire.NewOut(conn)}
	var state *tls.ConnectionState
	under := conn
	if t, ok := conn.(*tls.Conn); ok {
		st := t.ConnectionState()
		state, under = &st, t.NetConn()
	}
	if c.gate, ok = under.(*gate.Conn); !ok {
		return ctx, errors.New("pgfront: connection did not come through the gate")
	}
	if state == nil {
		state = c.gate.TLSState()
	}
	if c.src, ok = r.Buffer.(*bufio.Reader); !ok {
		return ctx, errors.New("pgfront: the handshake's reader is not a bufio.Reader")
	}
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("authentication_panic", "panic", p)
			err = errors.New("pgfront: panic during authentication")
		}
	}()
	if err := s.admit(ctx, c, conn, state, r); err != nil {
		var pe *pgerror.Error
		if errors.As(err, &pe) {
			f := *pe
			f.Severity = "FATAL"
			c.out.ErrorResponse(&f)
			c.out.Flush()
			c.gate.Linger()
		}
		return ctx, io.EOF
	}
	c.out.Authentication(0, nil)
	c.gate.Authenticated()
	w.Writer = discard{} // psql-wire's own ParameterStatus frames
	return context.WithValue(ctx, connKey{}, c), nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// admit authenticates and finds the database.
func (s *Server) admit(ctx context.Context, c *connection, conn net.Conn, state *tls.ConnectionState, r *buffer.Reader) error {
	params := map[string]string{}
	for k, v := range psqlwire.ClientParameters(ctx) {
		params[string(k)] = v
	}
	user, database := params["user"], params["database"]
	if database == "" {
		database = user
	}
	delete(params, "user")
	delete(params, "database")
	if v := params["replication"]; v != "" && v != "false" && v != "off" && v != "0" && v != "no" {
		return pgerror.New(pgerror.FeatureNotSupported, "replication connections are not supported")
	}
	delete(params, "replication")
	cat := s.sharedCatalog()
	if cat == nil {
		return pgerror.New(pgerror.CannotConnectNow, "the database system is starting up")
	}
	who := auth.Client{User: user, Database: database, Remote: conn.RemoteAddr(), TLS: state}
	method := s.cfg.Policy(who)
	peer, peerReads, peerSession, peerPID := false, false, "", int64(0)
	if s.cfg.Peer != nil {
		var err error
		if peer, err = s.cfg.Peer(who, params); err != nil {
			return err
		}
	}
	if peer {
		peerSession = params["ostraka.peer_session"]
		peerReads = params["ostraka.peer_reads"] == "on"
		peerPID, _ = strconv.ParseInt(params["ostraka.peer_pid"], 10, 32)
	}
	if id := params["ostraka.peer_shard"]; id != "" {
		if !peer {
			return pgerror.New(pgerror.InvalidAuthorizationSpecification, "only nodes of the cluster may open sessions of shard %s", id)
		}
		if s.cfg.Shard == nil {
			return pgerror.NotSupported("sessions of another shard")
		}
		d, err := s.cfg.Shard(id)
		if err != nil {
			return err
		}
		c.deps = d
	}
	for name := range params {
		if strings.HasPrefix(strings.ToLower(name), "ostraka.peer_") {
			delete(params, name)
		}
	}
	if peer {
		method = auth.Trust
	}
	x := auth.Exchange{Out: c.out, Now: s.cfg.Deps.Now, Receive: func() ([]byte, error) {
		kind, _, err := r.ReadTypedMsg()
		if err != nil {
			return nil, err
		}
		if kind != 'p' {
			return nil, pgerror.New(pgerror.ProtocolViolation, "expected password response, got message type %d", byte(kind))
		}
		return r.Msg, nil
	}}
	if s.cfg.TLS != nil && len(s.cfg.TLS.Certificates) > 0 && state != nil {
		x.ServerCert = s.cfg.TLS.Certificates[0].Certificate[0]
	}
	role, err := auth.Authenticate(x, who, method, accounts{cat})
	if err != nil {
		return err
	}
	if c.deps != nil {
		// Roles are the home shard's; databases each shard's own.
		if cat = c.deps.Engine.Catalog(catalog.PostgresDB); cat == nil {
			return pgerror.New(pgerror.CannotConnectNow, "the shard is starting up")
		}
	}
	db := cat.DatabaseByName(database)
	if db == nil {
		return pgerror.New(pgerror.UndefinedDatabase, `database "%s" does not exist`, database)
	}
	if !db.AllowConn {
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, `database "%s" is not currently accepting connections`, database)
	}
	if err := s.connectionLimits(role, db); err != nil {
		return err
	}
	c.client = session.Client{Role: role, Database: db.OID, DatabaseName: db.Name, Remote: conn.RemoteAddr(), Local: conn.LocalAddr(), TLS: state, Params: params, Peer: peer, PeerSession: peerSession,
		PeerPID: int32(peerPID), PeerReads: peerReads}
	return nil
}

// connectionLimits applies ALTER ROLE/DATABASE … CONNECTION LIMIT.
func (s *Server) connectionLimits(role *catalog.Role, db *catalog.Database) error {
	if role.Super || role.ConnLimit < 0 && db.ConnLimit < 0 {
		return nil
	}
	byRole, byDB := int32(0), int32(0)
	for _, a := range s.cfg.Deps.Registry.Activities() {
		if a.User == role.OID {
			byRole++
		}
		if a.Database == db.OID {
			byDB++
		}
	}
	if role.ConnLimit >= 0 && byRole >= role.ConnLimit {
		return pgerror.New(pgerror.TooManyConnections, `too many connections for role "%s"`, role.Name)
	}
	if db.ConnLimit >= 0 && byDB >= db.ConnLimit {
		return pgerror.New(pgerror.TooManyConnections, `too many connections for database "%s"`, db.Name)
	}
	return nil
}

// session is psql-wire's session middleware: it runs the whole session and ends the connection.
func (s *Server) session(ctx context.Context) (context.Context, error) {
	c, ok := ctx.Value(connKey{}).(*connection)
	if !ok {
		return ctx, io.EOF
	}
	s.conns.Add(1)
	defer s.conns.Done()
	deps := s.cfg.Deps
	if c.deps != nil {
		deps = *c.deps
	}
	limit := deps.Limits.MaxMessage
	if limit <= 0 {
		limit = 256 << 20
	}
	in := wire.NewReader(c.src, c.gate, limit)
	sess, err := session.New(&deps, c.client, in, c.out)
	if err != nil {
		var pe *pgerror.Error
		if errors.As(err, &pe) {
			c.out.ErrorResponse(pe)
			c.out.Flush()
			c.gate.Linger()
		}
		return ctx, io.EOF
	}
	if err := sess.Serve(); err != nil {
		s.cfg.Logger.Debug("session_ended", "pid", sess.PID(), "error", err)
		c.gate.Linger()
	}
	return ctx, io.EOF
}
