package transport

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// maxControlBytes bounds one control message.
const maxControlBytes = 1 << 20

// Call is one control request. Ops are named by the caller of Handle.
type Call struct {
	Op    string          `json:"op"`
	Group uint32          `json:"group"`
	From  string          `json:"from"`
	To    string          `json:"to,omitempty"` // the callee refuses a call meant for another node
	Body  json.RawMessage `json:"body,omitempty"`
	// Wait is how long the caller waits, in nanoseconds; the callee gives up then.
	Wait time.Duration `json:"wait"`
}

// RemoteError is an error returned by the called node.
type RemoteError struct {
	Code string `json:"code"` // a short name chosen by the handler, may be empty
	Text string `json:"text"`
}

func (e *RemoteError) Error() string { return e.Text }

type reply struct {
	Err  *RemoteError    `json:"err,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
}

// Handler answers a control call; it must return soon after ctx ends.
type Handler func(ctx context.Context, c Call) (any, error)

// Control makes and answers control calls between nodes: a message is u32
// length (big endian) | JSON, one request and one reply at a time per
// connection.
type Control struct {
	mux    *Mux
	self   string
	faults *Faults
	handle Handler
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	idle map[string][]net.Conn // by address; guarded by mu
}

// maxIdle bounds pooled connections per peer.
const maxIdle = 4

// NewControl serves control connections of mux with handle.
func NewControl(mux *Mux, faults *Faults, handle Handler) *Control {
	c := &Control{mux: mux, self: mux.cfg.NodeID, faults: faults, handle: handle, log: mux.cfg.Logger, idle: map[string][]net.Conn{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	mux.serveControl(c.serve)
	return c
}

// Close ends running calls and closes pooled connections. Served connections end
// with the Mux.
func (c *Control) Close() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conns := range c.idle {
		for _, conn := range conns {
			conn.Close()
		}
	}
	c.idle = nil
}

func (c *Control) serve(peer string, conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		var call Call
		if err := readMessage(r, &call); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				c.log.Debug("raft port: control connection", "peer", peer, "error", err)
			}
			return
		}
		call.From = peer // what the handshake said, not what the message says
		var out reply
		if call.To != "" && call.To != c.self {
			out.Err = &RemoteError{Code: "wrong_node", Text: fmt.Sprintf("this is node %s, not %s", c.self, call.To)}
		} else {
			wait := min(max(call.Wait, time.Millisecond), time.Hour)
			ctx, cancel := context.WithTimeout(c.ctx, wait)
			body, err := c.handle(ctx, call)
			cancel()
			if err == nil {
				out.Body, err = json.Marshal(body)
			}
			if err != nil {
				if !errors.As(err, &out.Err) {
					out.Err = &RemoteError{Text: err.Error()}
				}
			}
		}
		conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if err := writeMessage(conn, out); err != nil {
			return
		}
	}
}

// Call asks node id at addr. The op may have taken effect when err is not nil,
// unless err is a *RemoteError. Without a deadline in ctx it waits 10 s.
func (c *Control) Call(ctx context.Context, id, addr, op string, group uint32, in, out any) error {
	return c.do(ctx, c.faults, id, addr, op, group, in, out)
}

// CallPlain is Call past the fault matrix, for setting it.
func (c *Control) CallPlain(ctx context.Context, id, addr, op string, group uint32, in, out any) error {
	return c.do(ctx, nil, id, addr, op, group, in, out)
}

func (c *Control) do(ctx context.Context, faults *Faults, id, addr, op string, group uint32, in, out any) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(10 * time.Second)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	stop := context.AfterFunc(c.ctx, cancel)
	defer stop()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	call := Call{Op: op, Group: group, From: c.self, To: id, Body: body, Wait: time.Until(deadline)}
	var rep reply
	err = faults.call(ctx, c.self, id, time.Until(deadline), func() error {
		return c.roundTrip(ctx, addr, call, &rep)
	}, nil)
	if err != nil {
		return fmt.Errorf("calling %s on node %s: %w", op, id, err)
	}
	if rep.Err != nil {
		return rep.Err
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(rep.Body, out)
}

func (c *Control) roundTrip(ctx context.Context, addr string, call Call, rep *reply) error {
	conn, err := c.conn(ctx, addr)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err = writeMessage(conn, call)
	if err == nil {
		err = readMessage(conn, rep)
	}
	if !stop() || err != nil {
		conn.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil || len(c.idle[addr]) >= maxIdle {
		conn.Close()
		return nil
	}
	c.idle[addr] = append(c.idle[addr], conn)
	return nil
}

// conn takes a pooled connection that is still open, or dials.
func (c *Control) conn(ctx context.Context, addr string) (net.Conn, error) {
	for {
		c.mu.Lock()
		pool := c.idle[addr]
		if len(pool) == 0 {
			c.mu.Unlock()
			break
		}
		conn := pool[len(pool)-1]
		c.idle[addr] = pool[:len(pool)-1]
		c.mu.Unlock()
		if alive(conn) {
			return conn, nil
		}
		conn.Close()
	}
	deadline, _ := ctx.Deadline()
	return c.mux.dial(kindControl, 0, addr, time.Until(deadline))
}

// alive reports whether an idle connection is neither closed nor out of step.
func alive(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(50 * time.Microsecond))
	var b [1]byte
	n, err := conn.Read(b[:])
	conn.SetReadDeadline(time.Time{})
	var ne net.Error
	return n == 0 && errors.As(err, &ne) && ne.Timeout()
}

func writeMessage(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxControlBytes {
		return fmt.Errorf("control message of %d bytes is too large", len(body))
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...))
	return err
}

func readMessage(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxControlBytes {
		return fmt.Errorf("control message of %d bytes is too large", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}
