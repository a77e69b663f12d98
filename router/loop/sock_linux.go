//go:build linux && !386 && !s390x

package loop

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sock is a socket that a loop waits for.
type Sock struct {
	loop          *Loop
	fd            int
	slot          int32
	local, remote net.Addr

	// users are the calls that use fd now, plus one until Close: the last one closes
	// fd, so that its number cannot mean another file in the middle of a call.
	users    atomic.Int32
	closed   atomic.Bool
	attached atomic.Bool

	handler  Handler // of the loop's thread; nil: the socket is a goroutine's
	readable bool    // of the loop's thread, while attached
	hung     bool    // the other end has said that nothing more comes; never reset

	replay []byte // given back by Unread; of the socket's user

	reads, writes waiter
}

// waiter is one direction of a goroutine's use.
type waiter struct {
	ready chan struct{} // an event has come since the last look, or something else has changed
	mu    sync.Mutex
	at    time.Time   // guarded by mu; the deadline
	timer *time.Timer // of the goroutine that waits
}

// Adopt takes the socket over from c, which is closed (but not the connection).
func (l *Loop) Adopt(c net.Conn) (*Sock, error) {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return nil, ErrUnsupported
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	k := &Sock{loop: l, fd: -1, local: c.LocalAddr(), remote: c.RemoteAddr()}
	k.reads.ready, k.writes.ready = make(chan struct{}, 1), make(chan struct{}, 1)
	k.users.Store(1)
	var derr error
	err = raw.Control(func(fd uintptr) { k.fd, derr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, derr); err != nil {
		return nil, err
	}
	if err = l.register(k); err != nil {
		_ = unix.Close(k.fd)
		return nil, err
	}
	_ = c.Close()
	return k, nil
}

// event takes note of what epoll says.
func (k *Sock) event(flags uint32) {
	if flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		k.hung = true
	}
	if k.handler == nil {
		if flags&^uint32(unix.EPOLLOUT) != 0 {
			k.reads.signal()
		}
		k.writes.signal()
		return
	}
	if flags&^uint32(unix.EPOLLOUT) != 0 {
		k.readable = true
	}
	k.dispatch()
}

func (k *Sock) dispatch() {
	h := k.handler
	defer func() {
		if v := recover(); v != nil {
			h.Panicked(v)
		}
	}()
	h.Ready(k)
}

// Attach gives the socket to h. What has arrived before is found by Recv: Readable
// answers true at first. False: the socket is closed.
func (k *Sock) Attach(h Handler) bool {
	if !k.use() {
		return false
	}
	k.attached.Store(true)
	if k.closed.Load() { // in the meantime, and did not see it
		_ = unix.Shutdown(k.fd, unix.SHUT_RDWR)
	}
	k.handler, k.readable = h, true
	return true
}

// Detach ends that; the socket is a goroutine's again.
func (k *Sock) Detach() {
	k.handler = nil
	k.attached.Store(false)
	k.reads.signal()
	k.writes.signal()
	k.release()
}

// Readable reports that Recv may have something to give, or that the other end has hung up.
func (k *Sock) Readable() bool { return k.readable }

// Recv takes what has arrived, at most len(p) bytes, without waiting: ErrWouldBlock
// when there is nothing, io.EOF at the end.
func (k *Sock) Recv(p []byte) (int, error) {
	if len(k.replay) > 0 {
		n := copy(p, k.replay)
		k.drop(n)
		return n, nil
	}
	n, errno := k.recv(p, 0)
	switch {
	case errno == unix.EAGAIN:
		k.readable = k.hung
		return 0, ErrWouldBlock
	case errno != 0:
		return 0, os.NewSyscallError("recv", errno)
	case n == 0:
		return 0, io.EOF
	}
	if n < len(p) && !k.hung {
		k.readable = false
	}
	return n, nil
}

// Quiet reports, on an attached socket between requests, that nothing has arrived.
func (k *Sock) Quiet() bool {
	if !k.readable {
		return true
	}
	if len(k.replay) > 0 || k.hung {
		return false
	}
	var b [1]byte
	_, errno := k.recv(b[:], unix.MSG_PEEK)
	k.readable = errno != unix.EAGAIN
	return !k.readable
}

// Send writes as much of p as can be written without waiting: with ErrWouldBlock
// less than all, and Ready is called when there is room.
func (k *Sock) Send(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, errno := k.send(p[done:])
		if errno == unix.EAGAIN {
			return done, ErrWouldBlock
		}
		if errno != 0 {
			return done, os.NewSyscallError("send", errno)
		}
		done += n
	}
	return done, nil
}

func (k *Sock) recv(p []byte, flags int) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(k.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), uintptr(flags), 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func (k *Sock) send(p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(k.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// Unread gives bytes back, to be read before what comes from the network; p is copied.
func (k *Sock) Unread(p []byte) {
	if len(p) > 0 {
		k.replay = append(append(make([]byte, 0, len(p)+len(k.replay)), p...), k.replay...)
	}
}

// Ahead is what was given back and not read again.
func (k *Sock) Ahead() []byte { return k.replay }

func (k *Sock) drop(n int) {
	if k.replay = k.replay[n:]; len(k.replay) == 0 {
		k.replay = nil
	}
}

// use begins a call that uses fd; false: it is closed.
func (k *Sock) use() bool {
	if k.closed.Load() {
		return false
	}
	for {
		n := k.users.Load()
		if n == 0 {
			return false
		}
		if k.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release ends it.
func (k *Sock) release() {
	if k.users.Add(-1) > 0 {
		return
	}
	k.loop.mu.Lock()
	k.loop.forget(k.slot)
	k.loop.mu.Unlock()
	_ = unix.Close(k.fd) // takes it out of epoll too
}

// Read implements net.Conn.
func (k *Sock) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if k.reads.late() {
			return 0, os.ErrDeadlineExceeded
		}
		if len(k.replay) > 0 {
			n := copy(p, k.replay)
			k.drop(n)
			return n, nil
		}
		if !k.use() {
			return 0, net.ErrClosed
		}
		n, errno := k.recv(p, 0)
		k.release()
		switch {
		case errno == unix.EAGAIN:
			k.reads.wait()
			continue
		case errno != 0:
			return 0, &net.OpError{Op: "read", Net: "tcp", Addr: k.remote, Err: os.NewSyscallError("recv", errno)}
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Write implements net.Conn.
func (k *Sock) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		if k.writes.late() {
			return done, os.ErrDeadlineExceeded
		}
		if !k.use() {
			return done, net.ErrClosed
		}
		n, errno := k.send(p[done:])
		k.release()
		switch {
		case errno == unix.EAGAIN:
			k.writes.wait()
			continue
		case errno != 0:
			return done, &net.OpError{Op: "write", Net: "tcp", Addr: k.remote, Err: os.NewSyscallError("send", errno)}
		}
		done += n
	}
	return done, nil
}

// Close implements net.Conn; calls that wait end with net.ErrClosed.
func (k *Sock) Close() error {
	if k.closed.Swap(true) {
		return net.ErrClosed
	}
	if k.attached.Load() && k.users.Load() > 1 {
		_ = unix.Shutdown(k.fd, unix.SHUT_RDWR) // the handler hears of it
	}
	k.reads.signal()
	k.writes.signal()
	k.release()
	return nil
}

// CloseWrite tells the other end that nothing more comes.
func (k *Sock) CloseWrite() error {
	if !k.use() {
		return net.ErrClosed
	}
	defer k.release()
	return os.NewSyscallError("shutdown", unix.Shutdown(k.fd, unix.SHUT_WR))
}

// Loop is the loop that waits for the socket.
func (k *Sock) Loop() *Loop { return k.loop }

// LocalAddr, RemoteAddr and the deadlines implement net.Conn.
func (k *Sock) LocalAddr() net.Addr  { return k.local }
func (k *Sock) RemoteAddr() net.Addr { return k.remote }
func (k *Sock) SetDeadline(t time.Time) error {
	k.reads.set(t)
	k.writes.set(t)
	return nil
}
func (k *Sock) SetReadDeadline(t time.Time) error  { k.reads.set(t); return nil }
func (k *Sock) SetWriteDeadline(t time.Time) error { k.writes.set(t); return nil }

// SyscallConn gives access to the file descriptor; only Control is supported.
func (k *Sock) SyscallConn() (syscall.RawConn, error) { return rawConn{k}, nil }

type rawConn struct{ k *Sock }

func (r rawConn) Control(f func(fd uintptr)) error {
	if !r.k.use() {
		return net.ErrClosed
	}
	defer r.k.release()
	f(uintptr(r.k.fd))
	return nil
}
func (rawConn) Read(func(uintptr) bool) error  { return errors.ErrUnsupported }
func (rawConn) Write(func(uintptr) bool) error { return errors.ErrUnsupported }

func (w *waiter) signal() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

func (w *waiter) set(t time.Time) {
	w.mu.Lock()
	w.at = t
	w.mu.Unlock()
	w.signal()
}

func (w *waiter) deadline() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *waiter) late() bool {
	at := w.deadline()
	return !at.IsZero() && !time.Now().Before(at)
}

// wait waits for a signal or the deadline.
func (w *waiter) wait() {
	at := w.deadline()
	if at.IsZero() {
		<-w.ready
		return
	}
	d := time.Until(at)
	if d <= 0 {
		return
	}
	if w.timer == nil {
		w.timer = time.NewTimer(d)
	} else {
		w.timer.Reset(d)
	}
	select {
	case <-w.ready:
	case <-w.timer.C:
	}
	w.timer.Stop()
}
