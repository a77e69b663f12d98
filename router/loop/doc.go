// Package loop waits for many sockets with one thread: an event loop over epoll that
// owns the sockets of many sessions, for work that is too short to be worth waking a
// goroutine.
//
// A Sock is a net.Conn, whose blocking calls are woken by the loop. While it is
// attached to a Handler, the handler alone uses it, on the loop's thread, with calls
// that never wait (Recv, Send). So a session can do its short work on the loop and
// move to a goroutine for the rest, without the kernel being told.
//
// Readiness is edge-triggered: Readable stays true until Recv has taken all there is.
//
// Where there is no epoll, New answers ErrUnsupported.
//
// Post, Sock's net.Conn methods and Close are safe for concurrent use; everything
// else belongs to the loop's thread.
package loop

import "errors"

// ErrUnsupported is the error of New and Adopt where a loop cannot be had: on another
// system, or for a connection that is not a plain socket.
var ErrUnsupported = errors.New("loop: not supported for this system or connection")

// ErrWouldBlock is the answer of Recv and Send when nothing can be done now.
var ErrWouldBlock = errors.New("loop: would block")

// Handler is what is attached to sockets.
type Handler interface {
	// Ready is called when a socket may have become readable or writable.
	Ready(k *Sock)
	// Panicked is called when Ready panicked; the handler is to give its sockets up.
	Panicked(v any)
}
