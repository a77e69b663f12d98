//go:build unix

package peer

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"
)

// Broken reports, without waiting, that the other end has closed the connection
// or said that it will: between statements it has nothing else to say that ends in an error.
func (c *Conn) Broken() bool {
	if c.r.Buffered() > 0 {
		head, _ := c.r.Peek(1)
		return head[0] == 'E'
	}
	if c.timeout > 0 { // a deadline of the last request may be over
		c.reads = time.Time{}
		_ = c.conn.SetReadDeadline(c.reads)
	}
	return Hungup(c.conn)
}

// Hungup reports, without waiting, that the other end of an idle session has closed
// the connection or said that it will. Nothing that has arrived is taken from it.
func Hungup(under net.Conn) bool {
	secured := false
	for {
		wrapped, ok := under.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		if _, ok := under.(*tls.Conn); ok {
			secured = true
		}
		under = wrapped.NetConn()
	}
	sock, ok := under.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return true
	}
	broken := false
	// Control neither waits for a reader of the connection nor heeds its deadline.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		switch {
		case err == nil:
			broken = n == 0 || !secured && b[0] == 'E'
		case err != syscall.EAGAIN && err != syscall.EINTR:
			broken = true
		}
	})
	return broken || err != nil
}
