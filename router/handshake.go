package router

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"ostraka/pgfront/auth"
	"ostraka/pgfront/gate"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// Codes in the place of a startup packet's version.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
)

// maxStartup bounds packets before the end of authentication, in bytes.
const maxStartup = 10000

// client serves one connection from its first byte on.
func (r *Router) client(g *gate.Conn) {
	var conn net.Conn = g
	state := g.TLSState()
	code, body, err := startupPacket(conn)
	if err == nil && code == codeSSL && r.tls != nil && state == nil {
		if _, err = conn.Write([]byte{'S'}); err != nil {
			return
		}
		t := tls.Server(conn, r.tls)
		if err = t.Handshake(); err != nil {
			return
		}
		st := t.ConnectionState()
		conn, state = t, &st
		code, body, err = startupPacket(conn)
	}
	switch {
	case err != nil:
		return
	case code == codeCancel:
		if len(body) == 8 {
			r.cancel(int32(binary.BigEndian.Uint32(body)), int32(binary.BigEndian.Uint32(body[4:])))
		}
		return
	case code>>16 != 3:
		return
	}
	out, src := wire.NewOut(conn), bufio.NewReaderSize(conn, 4<<10)
	id, err := r.admit(conn, state, out, src, body)
	if err != nil {
		r.refuse(g, out, err)
		return
	}
	s := newSession(r, id, out)
	if state == nil { // TLS needs the goroutine anyway
		s.track = r.track()
	}
	defer s.close()
	first, err := s.first()
	if err != nil {
		r.refuse(g, out, err)
		return
	}
	g.Authenticated()
	out.Authentication(0, nil)
	for name, value := range first.status {
		out.ParameterStatus(name, value)
	}
	if s.track != nil {
		s.lane = s.newLane(g)
	}
	s.in = wire.NewReader(src, g, maxMessage)
	s.in.OnWake = func() error {
		return pgerror.New(pgerror.AdminShutdown, "terminating connection due to administrator command")
	}
	r.register(s)
	defer r.unregister(s)
	out.BackendKeyData(s.pid, s.secret)
	out.ReadyForQuery(wire.StatusIdle)
	out.Flush()
	if err := s.serve(); err != nil {
		r.refuse(g, out, err)
	}
}

// refuse ends a connection; a broken one is told nothing.
func (r *Router) refuse(g *gate.Conn, out *wire.Out, err error) {
	var pe *pgerror.Error
	var ue *upstreamError
	switch {
	case errors.As(err, &pe):
		fatal(out, pe)
	case errors.As(err, &ue):
		out.Raw('E', ue.body)
		out.Flush()
	default:
		r.log.Debug("session_ended", "error", err)
		return
	}
	g.Linger()
}

// startupPacket reads exactly one packet, so that nothing sent in the clear behind
// an SSLRequest is taken for what was encrypted.
func startupPacket(conn io.Reader) (code uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:4])) - 8
	if n < 0 || n > maxStartup {
		return 0, nil, errors.New("router: not a startup packet")
	}
	body = make([]byte, n)
	_, err = io.ReadFull(conn, body)
	return binary.BigEndian.Uint32(head[4:]), body, err
}

// admit authenticates and says who the client is on the servers.
func (r *Router) admit(conn net.Conn, state *tls.ConnectionState, out *wire.Out, src *bufio.Reader, startup []byte) (identity, error) {
	id := identity{params: map[string]string{}}
	f := wire.NewFields(startup)
	for {
		name := string(f.CString())
		if name == "" {
			break
		}
		value := string(f.CString())
		switch {
		case name == "user":
			id.user = value
		case name == "database":
			id.database = value
		case name == "replication":
			if v := strings.ToLower(value); v != "false" && v != "off" && v != "0" && v != "no" && v != "" {
				return id, pgerror.New(pgerror.FeatureNotSupported, "replication connections are not supported")
			}
		case strings.HasPrefix(strings.ToLower(name), "ostraka.peer_"): // what nodes say to each other
		case strings.HasPrefix(name, "_pq_."):
		default:
			id.params[name] = value
		}
	}
	if f.Err() != nil {
		return id, pgerror.New(pgerror.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	}
	if id.database == "" {
		id.database = id.user
	}
	who := auth.Client{User: id.user, Database: id.database, Remote: conn.RemoteAddr(), TLS: state}
	method := auth.SCRAM
	if r.users == nil {
		method = auth.Reject
		if who.Loopback() || r.cfg.Insecure {
			method = auth.Trust
		}
	}
	x := auth.Exchange{Out: out, Now: time.Now, Receive: func() ([]byte, error) { return passwordMessage(src) }}
	if r.tls != nil && state != nil {
		x.ServerCert = r.tls.Certificates[0].Certificate[0]
	}
	if _, err := auth.Authenticate(x, who, method, r.users); err != nil {
		return id, err
	}
	id.password = r.users[id.user].password
	return id, nil
}

func passwordMessage(src *bufio.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(src, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[1:])) - 4
	if head[0] != 'p' || n < 0 || n > maxStartup {
		return nil, pgerror.New(pgerror.ProtocolViolation, "expected password response, got message type %d", head[0])
	}
	body := make([]byte, n)
	_, err := io.ReadFull(src, body)
	return body, err
}

// first opens the session whose parameters the client is told at its start: on a
// replica, or on the primary when none answers.
func (s *session) first() (*upstream, error) {
	if u := s.openReplica(); u != nil {
		return u, nil
	}
	u, err := s.r.primary.open(context.Background(), s.id, s.r.cfg.dialTimeout())
	if err == nil {
		s.adopt(u)
	}
	return u, err
}
