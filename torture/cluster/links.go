package cluster

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
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

// Edge is a link and its direction, between the ids of two nodes.
type Edge struct{ From, To string }

// Links is the network between the nodes: every connection between two of them
// goes through it. It knows who called from the first bytes of a connection.
type Links struct {
	mu      sync.Mutex
	rules   map[Edge][]*Disturbance // guarded by mu
	changed chan struct{}           // closed at the next change; guarded by mu
	conns   map[*passage]bool       // guarded by mu
	rng     *rand.Rand              // guarded by mu

	wg sync.WaitGroup
}

// NewLinks returns a healthy network; seed decides its jitter.
func NewLinks(seed uint64) *Links {
	return &Links{rules: map[Edge][]*Disturbance{}, changed: make(chan struct{}), conns: map[*passage]bool{}, rng: rand.New(rand.NewPCG(seed, 17))}
}

// Disturbance is a rule on some links. Several can concern one link: it is cut
// when one of them cuts it, and their delays add up.
type Disturbance struct {
	links  *Links
	rule   Link
	met    map[Edge]*atomic.Int64 // chunks held back or delayed; the map does not change
	broken atomic.Int64
}

// Disturb applies a rule to the edges until it is lifted.
func (l *Links) Disturb(rule Link, edges []Edge) *Disturbance {
	d := &Disturbance{links: l, rule: rule, met: map[Edge]*atomic.Int64{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range edges {
		if d.met[e] != nil {
			continue
		}
		d.met[e] = &atomic.Int64{}
		l.rules[e] = append(l.rules[e], d)
		if !rule.Reset {
			continue
		}
		for p := range l.conns {
			if p.from == e.From && p.to == e.To || p.from == e.To && p.to == e.From {
				p.close()
				d.broken.Add(1)
			}
		}
	}
	l.wake()
	return d
}

// Lift ends the disturbance.
func (d *Disturbance) Lift() {
	l := d.links
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range d.met {
		var rest []*Disturbance
		for _, other := range l.rules[e] {
			if other != d {
				rest = append(rest, other)
			}
		}
		l.rules[e] = rest
	}
	l.wake()
}

// Met counts the chunks, to the node or from it, that were held back or delayed.
func (d *Disturbance) Met(id string) int64 {
	n := int64(0)
	for e, c := range d.met {
		if e.From == id || e.To == id {
			n += c.Load()
		}
	}
	return n
}

// String tells what it has met altogether.
func (d *Disturbance) String() string {
	n := int64(0)
	for _, c := range d.met {
		n += c.Load()
	}
	if d.rule.Cut {
		return fmt.Sprintf("%d messages held, %d connections broken", n, d.broken.Load())
	}
	return fmt.Sprintf("%d messages delayed", n)
}

// Heal lifts every disturbance.
func (l *Links) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.rules)
	l.wake()
}

// wake lets whoever waits look again. l.mu is held.
func (l *Links) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// rule is what happens to a chunk now: who cuts the link, else who delays it and
// for how long together.
func (l *Links) rule(e Edge) (cut, slow []*Disturbance, delay time.Duration, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.rules[e] {
		if d.rule.Cut {
			cut = append(cut, d)
			continue
		}
		each := d.rule.Delay
		if d.rule.Jitter > 0 {
			each += time.Duration(l.rng.Int64N(int64(d.rule.Jitter)))
		}
		if each > 0 {
			slow = append(slow, d)
			delay += each
		}
	}
	return cut, slow, delay, l.changed
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
	e := Edge{from, to}
	var counted []*Disturbance // that hold this chunk back
	for {
		cut, slow, delay, changed := l.rule(e)
		if len(cut) > 0 {
			for _, d := range cut {
				if !slices.Contains(counted, d) {
					counted = append(counted, d)
					d.met[e].Add(1)
				}
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
			for _, d := range slow {
				d.met[e].Add(1)
			}
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
