// Package gate stands between the network and the handshake: it limits
// connections and the time and bytes a client may use before it is
// authenticated, answers what must be answered before a startup packet (GSSENC,
// SSLRequest without TLS, TLS from the first byte), survives errors of accept,
// and refuses malformed startup packets. What it lets through starts with one
// well-formed SSLRequest, CancelRequest or protocol 3 startup packet.
//
// Listener is safe for concurrent use; a Conn is a net.Conn with its usual rules.
package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// Config of a Listener. Zero values mean the defaults named at the fields.
type Config struct {
	// TLS, when not nil, is used for TLS from the first byte (ALPN "postgresql");
	// SSLRequest is left to the handshake.
	TLS *tls.Config
	// AuthTimeout is the time from accept to the end of authentication: 60 s.
	AuthTimeout time.Duration
	// MaxConnections open at once: 1000. Further ones get 53300.
	MaxConnections int
	// MaxUnauthenticated of them may be before the end of authentication: 200.
	MaxUnauthenticated int
	Logger             *slog.Logger
}

func (c *Config) defaults() {
	if c.AuthTimeout <= 0 {
		c.AuthTimeout = time.Minute
	}
	if c.MaxConnections <= 0 {
		c.MaxConnections = 1000
	}
	if c.MaxUnauthenticated <= 0 {
		c.MaxUnauthenticated = 200
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Listener wraps a listener.
type Listener struct {
	net.Listener
	cfg    Config
	open   atomic.Int64
	unauth atomic.Int64
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	conns map[*Conn]struct{} // guarded by mu
}

// Wrap returns a gate in front of l.
func Wrap(l net.Listener, cfg Config) *Listener {
	cfg.defaults()
	return &Listener{Listener: l, cfg: cfg, closed: make(chan struct{}), conns: map[*Conn]struct{}{}}
}

// Accept returns the next connection that the limits allow. Errors other than
// the closing of the listener (out of file descriptors, say) are retried with a back-off.
func (l *Listener) Accept() (net.Conn, error) {
	delay := 5 * time.Millisecond
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			select {
			case <-l.closed:
				return nil, net.ErrClosed
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				return nil, err
			}
			l.cfg.Logger.Warn("accept failed", "error", err, "retry_in", delay)
			select {
			case <-l.closed:
				return nil, net.ErrClosed
			case <-time.After(delay):
			}
			delay = min(2*delay, time.Second)
			continue
		}
		delay = 5 * time.Millisecond
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetNoDelay(true)
			_ = tcp.SetKeepAlive(true)
		}
		c := &Conn{Conn: nc, l: l, deadline: time.Now().Add(l.cfg.AuthTimeout)}
		_ = nc.SetDeadline(c.deadline)
		if l.open.Add(1) > int64(l.cfg.MaxConnections) || l.unauth.Add(1) > int64(l.cfg.MaxUnauthenticated) {
			c.refuse = pgerror.New(pgerror.TooManyConnections, "sorry, too many clients already")
		}
		l.mu.Lock()
		l.conns[c] = struct{}{}
		l.mu.Unlock()
		return c, nil
	}
}

// Close stops accepting; open connections stay.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// CloseConns closes every connection that is still open.
func (l *Listener) CloseConns() {
	l.mu.Lock()
	conns := make([]*Conn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// CloseUnauthenticated closes connections that have not finished their authentication.
func (l *Listener) CloseUnauthenticated() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if !c.authed.Load() {
			_ = c.underlying().Close()
		}
	}
}

// Open is the number of connections, Unauthenticated those before the end of their authentication.
func (l *Listener) Open() int            { return int(l.open.Load()) }
func (l *Listener) Unauthenticated() int { return int(l.unauth.Load()) }

// Conn is one client connection.
type Conn struct {
	net.Conn // guarded by swap against use by other goroutines than the session's
	swap     sync.Mutex
	l        *Listener
	deadline time.Time
	refuse   *pgerror.Error
	started  bool
	replay   []byte
	tls      *tls.Conn // TLS from the first byte
	authed   atomic.Bool
	close    sync.Once
}

// Read gives the handshake one well-formed startup packet first, then the connection.
func (c *Conn) Read(p []byte) (int, error) {
	if !c.started {
		c.started = true
		if err := c.prelude(); err != nil {
			c.Linger()
			_ = c.Close()
			return 0, err
		}
	}
	if len(c.replay) > 0 {
		n := copy(p, c.replay)
		c.replay = c.replay[n:]
		return n, nil
	}
	if c.tls != nil {
		return c.tls.Read(p)
	}
	return c.Conn.Read(p)
}

func (c *Conn) Write(p []byte) (int, error) {
	if c.tls != nil {
		return c.tls.Write(p)
	}
	return c.Conn.Write(p)
}

// Close closes the connection and gives its place back.
func (c *Conn) Close() error {
	err := net.ErrClosed
	c.close.Do(func() {
		err = c.underlying().Close()
		c.l.mu.Lock()
		delete(c.l.conns, c)
		c.l.mu.Unlock()
		c.l.open.Add(-1)
		if !c.authed.Swap(true) {
			c.l.unauth.Add(-1)
		}
	})
	return err
}

// Replace puts another connection to the same client in the place of the one below,
// without TLS; only the session's goroutine may call it, and nobody else may have been
// told of c but the Listener.
func (c *Conn) Replace(f func(net.Conn) (net.Conn, error)) error {
	c.swap.Lock()
	defer c.swap.Unlock()
	other, err := f(c.Conn)
	if err == nil {
		c.Conn = other
	}
	return err
}

func (c *Conn) underlying() net.Conn {
	c.swap.Lock()
	defer c.swap.Unlock()
	return c.Conn
}

// Linger lets the client read what was written before the connection is closed:
// closing with unread input would reset it and drop that.
func (c *Conn) Linger() {
	tcp, ok := c.Conn.(interface {
		net.Conn
		CloseWrite() error
	})
	if !ok {
		return
	}
	if c.tls != nil {
		_ = c.tls.CloseWrite()
	}
	_ = tcp.CloseWrite()
	_ = tcp.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, tcp, lingerBytes)
}

// What Linger waits for at most.
const (
	lingerTime  = 200 * time.Millisecond
	lingerBytes = 1 << 20
)

// TLSState returns the state of TLS from the first byte, nil without it.
func (c *Conn) TLSState() *tls.ConnectionState {
	if c.tls == nil {
		return nil
	}
	s := c.tls.ConnectionState()
	return &s
}

// Authenticated ends the time limit of the handshake.
func (c *Conn) Authenticated() {
	if !c.authed.Swap(true) {
		c.l.unauth.Add(-1)
	}
	_ = c.Conn.SetDeadline(time.Time{})
}

// Fatal tells the client why and closes.
func (c *Conn) fatal(e *pgerror.Error) error {
	e.Severity = "FATAL"
	out := wire.NewOut(c)
	out.ErrorResponse(e)
	out.Flush()
	return e
}

// handshakeTLS runs TLS from the first byte, which requires the client to ask for the protocol by ALPN.
func (c *Conn) handshakeTLS(first []byte) error {
	cfg := c.l.cfg.TLS.Clone()
	cfg.NextProtos = []string{"postgresql"}
	t := tls.Server(&prefixed{Conn: c.Conn, head: first}, cfg)
	ctx, cancel := context.WithDeadline(context.Background(), c.deadline)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		return err
	}
	if t.ConnectionState().NegotiatedProtocol != "postgresql" {
		return errors.New("gate: direct TLS connection without ALPN protocol")
	}
	c.tls = t
	return nil
}

// prefixed gives back bytes that were read ahead.
type prefixed struct {
	net.Conn
	head []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
