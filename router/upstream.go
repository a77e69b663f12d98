package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/peer"
	"ostraka/router/loop"
)

// Waiting time before a server that failed is tried again: doubles from the first to the last.
const (
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

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

	sock    *loop.Sock // nil: not on a loop
	riding  bool       // sock is attached to the session's lane
	suspect bool       // something has arrived between requests
}

// Broken is peer.Conn's, with what the loop has read ahead.
func (u *upstream) Broken() bool {
	if u.sock != nil {
		if ahead := u.sock.Ahead(); len(ahead) > 0 {
			return ahead[0] == 'E'
		}
	}
	return u.Conn.Broken()
}

// stale reports that it is worth asking whether the session is broken.
func (u *upstream) stale() bool {
	suspect := u.suspect
	u.suspect = false
	return suspect || u.Stale()
}

// identity is who a client is on the servers.
type identity struct {
	user, password, database string
	params                   map[string]string
}

// open opens a session; errors are fit for the client.
func (s *server) open(ctx context.Context, id identity, timeout time.Duration) (*upstream, error) {
	if err := s.alone(); err != nil {
		return nil, err
	}
	cfg := s.config(id)
	cfg.RuntimeParams = maps.Clone(id.params)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, status, err := peer.DialServer(ctx, cfg, 0)
	if err != nil {
		return nil, s.refused(err)
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

// error is the server's error as one of the router's.
func (e *upstreamError) error() *pgerror.Error {
	out := &pgerror.Error{}
	for _, field := range bytes.Split(e.body, []byte{0}) {
		if len(field) < 2 {
			continue
		}
		v := string(field[1:])
		switch field[0] {
		case 'C':
			out.Code = pgerror.Code(v)
		case 'M':
			out.Message = v
		case 'D':
			out.Detail = v
		case 'H':
			out.Hint = v
		case 'W':
			out.Where = v
		case 's':
			out.Schema = v
		case 't':
			out.Table = v
		case 'c':
			out.Column = v
		case 'n':
			out.Constraint = v
		}
	}
	return out
}

// extended runs a query of the router's own with parameters; rows are copies.
func (u *upstream) extended(q extendedQuery) (rows [][][]byte, err error) {
	if err := q.send(u); err != nil {
		return nil, err
	}
	var refused *upstreamError
	size := 0
	for {
		kind, body, err := u.Receive(context.Background())
		if err != nil {
			return nil, err
		}
		switch kind {
		case 'D':
			if size += len(body); size > maxAnswer {
				return nil, errors.New("router: the answer is too long")
			}
			f := wire.NewFields(body)
			row := make([][]byte, f.Int16())
			for i := range row {
				if v, null := f.Value(); !null {
					row[i] = append([]byte{}, v...)
				}
			}
			rows = append(rows, row)
		case 'E':
			refused = &upstreamError{body: append([]byte(nil), body...)}
		case 'Z':
			if refused != nil {
				return nil, refused
			}
			return rows, nil
		}
	}
}
