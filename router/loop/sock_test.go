//go:build linux && !386 && !s390x

package loop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// pair is a loop, a socket on it and the other end.
func pair(t *testing.T) (*Loop, *Sock, net.Conn) {
	t.Helper()
	l, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	k, c := connected(t, l)
	return l, k, c
}

func connected(t *testing.T, l *Loop) (*Sock, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	k, err := l.Adopt(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), k.Close() })
	return k, c
}

// TestConn: a Sock is a net.Conn: data both ways, more than the kernel buffers,
// deadlines, an end for calls that wait.
func TestConn(t *testing.T) {
	_, k, c := pair(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	for _, way := range []struct {
		name     string
		from, to net.Conn
	}{{"in", c, k}, {"out", k, c}} {
		go func() { _, _ = way.from.Write(data) }()
		got := make([]byte, len(data))
		if _, err := io.ReadFull(way.to, got); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: %v", way.name, err)
		}
	}
	_ = k.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := k.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
	_ = k.SetReadDeadline(time.Time{})
	ended := make(chan error)
	read := func() {
		_, err := k.Read(make([]byte, 1))
		ended <- err
	}
	go read()
	_ = k.SetReadDeadline(time.Unix(1, 0)) // while it waits, or before
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("deadline from elsewhere: %v", err)
	}
	_ = k.SetReadDeadline(time.Time{})
	go read()
	_ = k.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the other end: %v", err)
	}
}

// echo sends back what comes, until the other end closes.
type echo struct {
	k    *Sock
	over chan error
	left int // bytes until it detaches
}

func (e *echo) Ready(*Sock) {
	var b [1000]byte
	for e.k != nil && e.k.Readable() {
		n, err := e.k.Recv(b[:min(len(b), e.left)])
		if err == ErrWouldBlock {
			return
		}
		if err == nil {
			_, err = e.k.Send(b[:n])
		}
		if e.left -= n; err != nil || e.left == 0 {
			e.k.Detach()
			e.k = nil
			e.over <- err
		}
	}
}
func (e *echo) Panicked(v any) { e.over <- errors.New("panic") }

// TestHandover: a socket moves between a handler and a goroutine and back, and no
// byte is lost or doubled; closing it from elsewhere reaches the handler.
func TestHandover(t *testing.T) {
	l, k, c := pair(t)
	attach := func(e *echo) {
		l.Post(func() {
			if !k.Attach(e) {
				e.over <- net.ErrClosed
				return
			}
			e.Ready(k)
		})
	}
	const rounds, size = 50, 3000
	go func() {
		for i := range rounds * 2 {
			_, _ = c.Write(bytes.Repeat([]byte{byte(i)}, size))
		}
	}()
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		got := make([]byte, size)
		for i := range rounds * 2 {
			if _, err := io.ReadFull(c, got); err != nil || got[0] != byte(i) || got[size-1] != byte(i) {
				t.Errorf("part %d: %v, %d … %d", i, err, got[0], got[size-1])
				return
			}
		}
	}()
	buf := make([]byte, size)
	for range rounds {
		e := &echo{k: k, over: make(chan error, 1), left: size}
		attach(e)
		if err := <-e.over; err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(k, buf[:1]); err != nil {
			t.Fatal(err)
		}
		k.Unread(buf[:1])
		if _, err := io.ReadFull(k, buf); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Write(buf); err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
	e := &echo{k: k, over: make(chan error, 1), left: 1}
	attach(e)
	_ = k.Close()
	if err := <-e.over; err == nil {
		t.Error("closed, and the handler did not hear of it")
	}
}

// TestReuse: sockets come and go; an event never reaches a later one in its place.
func TestReuse(t *testing.T) {
	l, _, _ := pair(t)
	for range 200 {
		k, c := connected(t, l)
		if _, err := c.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Close(), k.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.slots) > 10 {
		t.Errorf("%d slots for 200 sockets one after the other", len(l.slots))
	}
}
