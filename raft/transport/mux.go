package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// MuxConfig configures a Mux.
type MuxConfig struct {
	// NodeID is sent in every hello; at most 64 bytes.
	NodeID string
	// Advertise is the address peers dial; "" means the listener's.
	Advertise string
	// Secret is the cluster's join secret; empty means none is asked for.
	Secret []byte
	// Cluster is the cluster that the node's data belongs to; nil: none is checked.
	Cluster Cluster
	// TLS, if not nil, protects both directions: it must carry the node's
	// certificate, the cluster CA as RootCAs and ClientCAs, and should ask for
	// client certificates.
	TLS *tls.Config
	// HandshakeTimeout bounds dial and handshake; 0 means 5 s.
	HandshakeTimeout time.Duration
	Logger           *slog.Logger
}

// Cluster is a node's memory of the cluster that its data belongs to. It is safe
// for concurrent use.
type Cluster interface {
	// ID is "" before the node belongs to one; at most 64 bytes.
	ID() string
	// Adopt is called when a node of a cluster calls one that has none.
	Adopt(id string) error
}

func (m *Mux) cluster() string {
	if m.cfg.Cluster == nil {
		return ""
	}
	return m.cfg.Cluster.ID()
}

// maxPending bounds connections whose handshake has not passed.
const maxPending = 128

// Mux shares one listener between groups and control calls.
type Mux struct {
	cfg     MuxConfig
	ln      net.Listener
	pending chan struct{}
	refused *refusals
	wg      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	layers  map[uint32]*layer     // guarded by mu
	conns   map[net.Conn]struct{} // handshaking and control connections; guarded by mu
	control func(peer string, conn net.Conn)
}

// NewMux serves ln, which it owns from now on.
func NewMux(ln net.Listener, cfg MuxConfig) (*Mux, error) {
	if len(cfg.NodeID) > maxNodeIDBytes {
		return nil, fmt.Errorf("raft port: node id %q is longer than %d bytes", cfg.NodeID, maxNodeIDBytes)
	}
	if cfg.Advertise == "" {
		cfg.Advertise = ln.Addr().String()
	}
	if cfg.HandshakeTimeout == 0 {
		cfg.HandshakeTimeout = 5 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Mux{
		cfg:     cfg,
		ln:      ln,
		pending: make(chan struct{}, maxPending),
		refused: newRefusals(cfg.Logger, time.Now),
		layers:  map[uint32]*layer{},
		conns:   map[net.Conn]struct{}{},
	}
	m.wg.Add(1)
	go m.accept()
	return m, nil
}

// Addr is the advertised address.
func (m *Mux) Addr() string { return m.cfg.Advertise }

// Close closes the port and every connection and waits for its goroutines.
func (m *Mux) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	for c := range m.conns {
		c.Close()
	}
	layers := m.layers
	m.layers = map[uint32]*layer{}
	m.mu.Unlock()
	for _, l := range layers {
		l.Close()
	}
	err := m.ln.Close()
	m.wg.Wait()
	return err
}

func (m *Mux) accept() {
	defer m.wg.Done()
	for {
		conn, err := m.ln.Accept()
		if err != nil {
			m.mu.Lock()
			closed := m.closed
			m.mu.Unlock()
			if closed || errors.Is(err, net.ErrClosed) {
				return
			}
			m.refused.note("raft port: accept", "error", err)
			time.Sleep(10 * time.Millisecond) // out of descriptors: do not spin
			continue
		}
		select {
		case m.pending <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		m.wg.Add(1)
		go func() {
			defer m.wg.Done()
			m.welcome(conn)
		}()
	}
}

// welcome runs the handshake of one accepted connection and hands it on.
func (m *Mux) welcome(conn net.Conn) {
	if !m.track(conn) {
		<-m.pending
		return
	}
	conn.SetDeadline(time.Now().Add(m.cfg.HandshakeTimeout))
	raw := conn
	if m.cfg.TLS != nil {
		tc := tls.Server(conn, m.cfg.TLS)
		if err := tc.Handshake(); err != nil {
			<-m.pending
			m.drop(raw)
			m.refused.note("raft port: TLS handshake", "remote_addr", raw.RemoteAddr().String(), "error", err)
			return
		}
		conn = tc
	}
	h, err := acceptHandshake(conn, m.cfg.Secret, m.cluster(), m.hosted)
	if err == nil && h.cluster != "" && m.cfg.Cluster != nil && m.cfg.Cluster.ID() == "" {
		err = m.cfg.Cluster.Adopt(h.cluster)
	}
	<-m.pending
	if err != nil {
		m.drop(raw)
		if !errors.Is(err, ErrNoGroup) {
			m.refused.note("raft port: refused a connection", "remote_addr", raw.RemoteAddr().String(), "error", err)
		}
		return
	}
	conn.SetDeadline(time.Time{})
	if h.kind == kindControl {
		m.control(h.id, conn)
		m.drop(raw)
		return
	}
	m.mu.Lock()
	l := m.layers[h.group]
	delete(m.conns, raw)
	m.mu.Unlock()
	if l == nil {
		conn.Close()
		return
	}
	l.offer(conn)
}

func (m *Mux) hosted(kind byte, group uint32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch kind {
	case kindRaft:
		return m.layers[group] != nil
	case kindControl:
		return m.control != nil
	}
	return false
}

func (m *Mux) track(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		c.Close()
		return false
	}
	m.conns[c] = struct{}{}
	return true
}

func (m *Mux) drop(c net.Conn) {
	m.mu.Lock()
	delete(m.conns, c)
	m.mu.Unlock()
	c.Close()
}

// serveControl registers the handler of control connections.
func (m *Mux) serveControl(f func(peer string, conn net.Conn)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.control = f
}

// dial opens a stream to a peer and proves membership.
func (m *Mux) dial(kind byte, group uint32, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := m.dialAs(m.cluster(), kind, group, addr, timeout)
	if errors.Is(err, errVersion) { // a program from before clusters had ids
		return m.dialAs("", kind, group, addr, timeout)
	}
	return conn, err
}

func (m *Mux) dialAs(cluster string, kind byte, group uint32, addr string, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 || timeout > m.cfg.HandshakeTimeout {
		timeout = m.cfg.HandshakeTimeout
	}
	deadline := time.Now().Add(timeout)
	conn, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(deadline)
	if m.cfg.TLS != nil {
		cfg := m.cfg.TLS.Clone()
		if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
			host, _, _ := net.SplitHostPort(addr)
			cfg.ServerName = host
		}
		tc := tls.Client(conn, cfg)
		if err := tc.Handshake(); err != nil {
			conn.Close()
			return nil, fmt.Errorf("raft port %s: TLS: %w", addr, err)
		}
		conn = tc
	}
	if err := dialHandshake(conn, m.cfg.Secret, kind, group, m.cfg.NodeID, cluster); err != nil {
		conn.Close()
		return nil, fmt.Errorf("raft port %s: %w", addr, err)
	}
	conn.SetDeadline(time.Time{})
	return conn, nil
}

// Layer registers a group and returns its raft.StreamLayer. Closing the layer
// closes all its connections, also those the network transport would keep.
func (m *Mux) Layer(group uint32) (hraft.StreamLayer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, net.ErrClosed
	}
	if m.layers[group] != nil {
		return nil, fmt.Errorf("raft port: group %d is open already", group)
	}
	l := &layer{
		mux:    m,
		group:  group,
		in:     make(chan net.Conn),
		closed: make(chan struct{}),
		conns:  map[*trackedConn]struct{}{},
	}
	m.layers[group] = l
	return l, nil
}

// layer is the stream layer of one group.
type layer struct {
	mux    *Mux
	group  uint32
	in     chan net.Conn
	closed chan struct{}

	mu    sync.Mutex
	done  bool                      // guarded by mu
	conns map[*trackedConn]struct{} // guarded by mu
}

type trackedConn struct {
	net.Conn
	l *layer
}

func (c *trackedConn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

func (l *layer) track(c net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		c.Close()
		return nil, net.ErrClosed
	}
	t := &trackedConn{Conn: c, l: l}
	l.conns[t] = struct{}{}
	return t, nil
}

func (l *layer) offer(c net.Conn) {
	select {
	case l.in <- c:
	case <-l.closed:
		c.Close()
	}
}

func (l *layer) Accept() (net.Conn, error) {
	select {
	case c := <-l.in:
		return l.track(c)
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *layer) Close() error {
	l.mu.Lock()
	if l.done {
		l.mu.Unlock()
		return nil
	}
	l.done = true
	conns := l.conns
	l.conns = map[*trackedConn]struct{}{}
	l.mu.Unlock()
	close(l.closed)
	l.mux.mu.Lock()
	if l.mux.layers[l.group] == l {
		delete(l.mux.layers, l.group)
	}
	l.mux.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
	return nil
}

func (l *layer) Addr() net.Addr { return advertised(l.mux.cfg.Advertise) }

func (l *layer) Dial(addr hraft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := l.mux.dial(kindRaft, l.group, string(addr), timeout)
	if err != nil {
		return nil, err
	}
	return l.track(c)
}

// advertised is a net.Addr that prints the advertised address.
type advertised string

func (a advertised) Network() string { return "tcp" }
func (a advertised) String() string  { return string(a) }
