package cluster

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Link is what happens to bytes that travel from one node to another, whoever
// opened the connection. The zero Link is healthy.
type Link struct {
	// Cut: bytes stay where they are until the link heals, and arrive then, as
	// with TCP over a network that was away.
	Cut bool
	// Reset: connections are broken when the link is cut, too.
	Reset         bool
	Delay, Jitter time.Duration
}

type edge struct{ from, to string }

// Links is the network between the nodes: every connection between two of them
// goes through it. It knows who called from the first bytes of a connection.
type Links struct {
	mu      sync.Mutex
	rules   map[edge]Link     // guarded by mu
	changed chan struct{}     // closed at the next change; guarded by mu
	conns   map[*passage]bool // guarded by mu
	rng     *rand.Rand        // guarded by mu

	held, slowed, broken atomic.Int64
	wg                   sync.WaitGroup
}

// NewLinks returns a healthy network; seed decides its jitter.
func NewLinks(seed uint64) *Links {
	return &Links{rules: map[edge]Link{}, changed: make(chan struct{}), conns: map[*passage]bool{}, rng: rand.New(rand.NewPCG(seed, 17))}
}

// Set changes the link from → to.
func (l *Links) Set(from, to string, rule Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rule == (Link{}) {
		delete(l.rules, edge{from, to})
	} else {
		l.rules[edge{from, to}] = rule
	}
	if rule.Reset {
		for p := range l.conns {
			if p.from == from && p.to == to || p.from == to && p.to == from {
				p.close()
				l.broken.Add(1)
			}
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// Heal makes every link healthy.
func (l *Links) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.rules)
	close(l.changed)
	l.changed = make(chan struct{})
}

// Hits counts chunks held back, chunks delayed and connections broken so far.
func (l *Links) Hits() (held, slowed, broken int64) {
	return l.held.Load(), l.slowed.Load(), l.broken.Load()
}

func (l *Links) rule(from, to string) (Link, time.Duration, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rules[edge{from, to}]
	d := r.Delay
	if r.Jitter > 0 {
		d += time.Duration(l.rng.Int64N(int64(r.Jitter)))
	}
	return r, d, l.changed
}

// passage is one connection through the network.
type passage struct {
	from, to string
	a, b     net.Conn // from's and to's side
	gone     chan struct{}
	once     sync.Once
}

func (p *passage) close() {
	p.once.Do(func() {
		close(p.gone)
		p.a.Close()
		p.b.Close()
	})
}

// serve passes connections of ln on to node to at target until ln is closed.
func (l *Links) serve(ln net.Listener, to, target string, caller func(net.Conn) (id string, head []byte, err error)) {
	l.wg.Add(1)
	go func() {
		defer l.wg.Done()
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			l.wg.Add(1)
			go func() {
				defer l.wg.Done()
				defer conn.Close()
				conn.SetReadDeadline(time.Now().Add(20 * time.Second))
				from, head, err := caller(conn)
				if err != nil {
					return
				}
				conn.SetReadDeadline(time.Time{})
				l.pass(conn, from, to, target, head)
			}()
		}
	}()
}

func (l *Links) pass(a net.Conn, from, to, target string, head []byte) {
	p := &passage{from: from, to: to, a: a, b: a, gone: make(chan struct{})}
	if !l.cross(p, from, to) { // a connection is not made over a cut link
		return
	}
	b, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		return
	}
	p.b = b
	l.mu.Lock()
	l.conns[p] = true
	l.mu.Unlock()
	defer func() {
		p.close()
		l.mu.Lock()
		delete(l.conns, p)
		l.mu.Unlock()
	}()
	if _, err := b.Write(head); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.pump(p, b, a, to, from)
	}()
	l.pump(p, a, b, from, to)
	<-done
}

// pump carries bytes from → to until either side ends.
func (l *Links) pump(p *passage, src, dst net.Conn, from, to string) {
	defer p.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 || err == io.EOF {
			if !l.cross(p, from, to) {
				return
			}
		}
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cross waits until a chunk may go from → to; false when the connection is gone.
func (l *Links) cross(p *passage, from, to string) bool {
	for waited := false; ; {
		r, delay, changed := l.rule(from, to)
		if r.Cut {
			if !waited {
				l.held.Add(1)
				waited = true
			}
			select {
			case <-changed:
				continue
			case <-p.gone:
				return false
			case <-time.After(time.Minute): // the end of a run finds no one waiting
				return false
			}
		}
		if delay > 0 {
			l.slowed.Add(1)
			select {
			case <-time.After(delay):
			case <-p.gone:
				return false
			}
		}
		return true
	}
}

// raftCaller reads the hello of a connection to a replication port
// (raft/transport/handshake.go): magic, version, kind, group, flags, id.
func raftCaller(conn net.Conn) (string, []byte, error) {
	head := make([]byte, 12)
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", nil, err
	}
	if string(head[:4]) != "OSRF" {
		return "", nil, fmt.Errorf("not a replication connection")
	}
	id := make([]byte, head[11])
	if _, err := io.ReadFull(conn, id); err != nil {
		return "", nil, err
	}
	return string(id), append(head, id...), nil
}

// sqlCaller reads the start-up message of a PostgreSQL connection and finds the
// parameter by which nodes name themselves; others (cancel requests) are "".
func sqlCaller(conn net.Conn) (string, []byte, error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n < 8 || n > 64<<10 {
		return "", nil, fmt.Errorf("start-up message of %d bytes", n)
	}
	body := make([]byte, n-8)
	if _, err := io.ReadFull(conn, body); err != nil {
		return "", nil, err
	}
	id := ""
	parts := strings.Split(string(body), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		if parts[i] == "ostraka.peer_node" {
			id = parts[i+1]
		}
	}
	return id, append(head, body...), nil
}
