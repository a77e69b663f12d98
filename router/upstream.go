package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/peer"
	"ostraka/sqltypes/pgerror"
)

// Waiting time before a server that failed is tried again: doubles from the first to the last.
const (
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// dialTimeout bounds the opening of a session on a server.
const dialTimeout = 10 * time.Second

// What is known about the kind of a server.
const (
	kindUnknown int32 = iota
	kindOstraka       // has ostraka.position
	kindOther
)

// server is one upstream server, shared by all sessions.
type server struct {
	cfg  *pgconn.Config
	name string // host:port, for messages
	kind atomic.Int32

	mu      sync.Mutex
	backoff time.Duration // guarded by mu; 0 while the server works
	next    time.Time     // guarded by mu; not tried before
}

func newServer(cfg *pgconn.Config) *server {
	return &server{cfg: cfg, name: net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))}
}

// failed makes the server be left alone for a while.
func (s *server) failed(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		return // another session has noticed the same failure
	}
	s.backoff = min(max(2*s.backoff, firstBackoff), lastBackoff)
	s.next = now.Add(s.backoff)
}

func (s *server) works() {
	s.mu.Lock()
	s.backoff, s.next = 0, time.Time{}
	s.mu.Unlock()
}

// wait is how long the server is still left alone.
func (s *server) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next.Sub(now)
}

// upstream is a session on a server, owned by one client session.
type upstream struct {
	*peer.Conn
	server   *server
	replica  bool
	status   map[string]string // ParameterStatus at its start
	settings int               // the newest entry of the settings log that was applied here
	position string            // ostraka.min_position in force here
	unnamed  *statement        // its unnamed statement; a simple query drops it
	closes   []string          // prepared statements to close before the next use
}

// identity is who a client is on the servers.
type identity struct {
	user, password, database string
	params                   map[string]string
}

// open opens a session; errors are fit for the client.
func (s *server) open(ctx context.Context, id identity, timeout time.Duration) (*upstream, error) {
	if d := s.wait(time.Now()); d > 0 {
		return nil, pgerror.New(pgerror.SqlclientUnableToEstablishSqlconnection, "server %s does not answer; it is tried again in %v", s.name, d.Round(time.Millisecond))
	}
	cfg := s.cfg.Copy()
	if id.password != "" || id.user != cfg.User {
		cfg.Password = id.password // the DSN's password is its user's only
	}
	cfg.User, cfg.Database = id.user, id.database
	cfg.RuntimeParams = maps.Clone(id.params)
	if timeout <= 0 || timeout > dialTimeout {
		timeout = dialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, status, err := peer.DialServer(ctx, cfg, 0)
	if err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code != "57P03" && pe.Code != "53300" {
			return nil, pgerror.New(pgerror.Code(pe.Code), "%s", pe.Message) // the server works and says no
		}
		s.failed(time.Now())
		return nil, pgerror.Wrap(err, pgerror.SqlclientUnableToEstablishSqlconnection, "server %s cannot be reached", s.name)
	}
	s.works()
	return &upstream{Conn: conn, server: s, status: status}, nil
}

// query runs a statement of the router's own; it returns the first column of the
// last row. An *upstreamError is the server's answer, others mean a lost session.
func (u *upstream) query(text string) (string, error) {
	u.unnamed = nil
	if err := u.Send('Q', append([]byte(text), 0)); err != nil {
		return "", err
	}
	return u.answer()
}

// answer reads up to ReadyForQuery.
func (u *upstream) answer() (value string, err error) {
	if err := u.Flush(); err != nil {
		return "", err
	}
	var refused *upstreamError
	for {
		kind, body, err := u.Receive(context.Background())
		if err != nil {
			return "", err
		}
		switch kind {
		case 'D':
			if len(body) >= 6 && body[2] != 0xff {
				value = string(body[6:])
			}
		case 'E':
			refused = &upstreamError{body: append([]byte(nil), body...)}
		case 'Z':
			if refused != nil {
				return "", refused
			}
			return value, nil
		}
	}
}

// upstreamError is an ErrorResponse to a statement of the router's own, to be relayed as it is.
type upstreamError struct{ body []byte }

func (e *upstreamError) Error() string {
	return fmt.Sprintf("server answered with an error: %q", e.body)
}
