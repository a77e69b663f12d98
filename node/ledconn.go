package node

import (
	"net"
	"sync/atomic"
	"time"
)

// maxGone is for how many heartbeat time-outs an answer of a node is awaited that
// does not lead any more, as far as this one knows. It may be cut off, and then
// only the network's own time-outs would end the wait.
const maxGone = 4

// ledConn is a connection to a node that is asked because it leads a group. While an
// answer is awaited it is closed once the node is known not to lead for maxGone
// heartbeat time-outs in a row; what was sent then has an unknown outcome.
type ledConn struct {
	net.Conn
	leads func() bool // as far as this node knows; may take a moment
	every time.Duration

	watch   *time.Timer
	waiting atomic.Bool
	gone    atomic.Int32 // how often in a row the node was found not to lead
}

func newLedConn(conn net.Conn, every time.Duration, leads func() bool) *ledConn {
	c := &ledConn{Conn: conn, leads: leads, every: every}
	c.watch = time.AfterFunc(time.Hour, c.look)
	c.watch.Stop()
	return c
}

func (c *ledConn) Read(b []byte) (int, error) {
	c.gone.Store(0)
	c.waiting.Store(true)
	c.watch.Reset(c.every)
	n, err := c.Conn.Read(b)
	c.waiting.Store(false)
	c.watch.Stop()
	return n, err
}

// look runs while an answer is awaited.
func (c *ledConn) look() {
	if !c.waiting.Load() {
		return
	}
	if c.leads() {
		c.gone.Store(0)
	} else if c.gone.Add(1) >= maxGone {
		_ = c.Conn.Close()
		return
	}
	if c.waiting.Load() {
		c.watch.Reset(c.every)
	}
}

// NetConn is the connection below, as of a tls.Conn.
func (c *ledConn) NetConn() net.Conn { return c.Conn }
