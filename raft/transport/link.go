package transport

import (
	"net"
	"sync"
	"time"
)

// Conn puts a byte stream that from opened to to under the matrix: what from
// writes are requests, what it reads are replies. As with TCP, what a cut holds
// back arrives when it heals; only delays are simulated besides. nil returns conn.
func (f *Faults) Conn(conn net.Conn, from, to string) net.Conn {
	if f == nil {
		return conn
	}
	l := &link{Conn: conn, f: f, from: from, to: to, closed: make(chan struct{})}
	l.more.L = &l.mu
	go l.pump()
	return l
}

// maxHeld bounds what a cut link holds back, bytes; more blocks the writer.
const maxHeld = 64 << 20

type link struct {
	net.Conn
	f        *Faults
	from, to string
	once     sync.Once
	closed   chan struct{}

	mu   sync.Mutex
	more sync.Cond
	held [][]byte // written and not sent yet; guarded by mu
	size int      // guarded by mu
	err  error    // of sending; guarded by mu
	done bool     // guarded by mu
}

func (l *link) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.size > maxHeld && l.err == nil && !l.done {
		l.more.Wait()
	}
	if l.done {
		return 0, net.ErrClosed
	}
	if l.err != nil {
		return 0, l.err
	}
	l.held = append(l.held, append([]byte(nil), b...))
	l.size += len(b)
	l.more.Broadcast()
	return len(b), nil
}

// pump sends what was written, in order, while the edge lets it.
func (l *link) pump() {
	for {
		l.mu.Lock()
		for len(l.held) == 0 && !l.done {
			l.more.Wait()
		}
		if len(l.held) == 0 {
			l.mu.Unlock()
			_ = l.Conn.Close() // after the last words
			return
		}
		b, last := l.held[0], l.done
		l.held = l.held[1:]
		l.size -= len(b)
		l.more.Broadcast()
		l.mu.Unlock()
		if !l.passes(true) && last {
			_ = l.Conn.Close()
			return
		}
		if _, err := l.Conn.Write(b); err != nil {
			l.mu.Lock()
			l.err, l.held = err, nil
			l.more.Broadcast()
			l.mu.Unlock()
		}
	}
}

// passes waits until the edge lets requests (or replies) pass; false when the link was closed.
func (l *link) passes(request bool) bool {
	for delayed := false; ; {
		r, ok, changed := l.f.rule(l.from, l.to)
		cut, d := r.DropReplies, r.ReplyDelay+l.f.jitter(r.ReplyJitter)
		if request {
			cut, d = r.DropRequests, r.Delay+l.f.jitter(r.Jitter)
		}
		switch {
		case !ok:
			return true
		case cut:
			l.f.hits.Add(1)
			select {
			case <-changed:
			case <-l.closed:
				return false
			}
		case d > 0 && !delayed:
			delayed = true
			l.f.hits.Add(1)
			t := time.NewTimer(d)
			select {
			case <-t.C:
			case <-l.closed:
				t.Stop()
				return false
			}
		default:
			return true
		}
	}
}

func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 && !l.passes(false) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (l *link) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.mu.Lock()
		l.done = true
		l.more.Broadcast()
		l.mu.Unlock()
		_ = l.Conn.SetReadDeadline(time.Now())
	})
	return nil
}
