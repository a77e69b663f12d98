package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// DialServer opens a session on any server of PostgreSQL's protocol, as cfg says,
// and returns what the server reported in ParameterStatus messages. When it fails
// nothing has been executed.
func DialServer(ctx context.Context, cfg *pgconn.Config, maxMessage int) (*Conn, map[string]string, error) {
	pc, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	hj, err := pc.Hijack()
	if err != nil {
		return nil, nil, err
	}
	c := &Conn{conn: hj.Conn, r: bufio.NewReaderSize(hj.Conn, 8<<10), w: bufio.NewWriterSize(hj.Conn, 8<<10), max: maxMessage}
	if c.max <= 0 {
		c.max = 1 << 30
	}
	remote := hj.Conn.RemoteAddr()
	o := Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if remote == nil {
			return nil, fmt.Errorf("peer: the connection has no address")
		}
		return new(net.Dialer).DialContext(ctx, remote.Network(), remote.String())
	}}
	c.cancelFn = func(ctx context.Context) error { return cancelRequest(ctx, o, hj.PID, hj.SecretKey) }
	return c, hj.ParameterStatuses, nil
}

// SetTimeout bounds how long one Receive may wait for bytes and one Flush may
// take (an eighth more at most); both then fail with os.ErrDeadlineExceeded and the connection is of no
// further use. 0: no limit.
func (c *Conn) SetTimeout(d time.Duration) {
	c.timeout, c.reads, c.writes = d, time.Time{}, time.Time{}
	_, _ = c.conn.SetReadDeadline(time.Time{}), c.conn.SetWriteDeadline(time.Time{})
}

// expect sets the deadline of a read of n bytes that may have to wait.
func (c *Conn) expect(n int) {
	if c.timeout > 0 && c.r.Buffered() < n {
		if now := time.Now(); c.reads.Sub(now) < c.timeout {
			c.reads = now.Add(c.timeout + c.timeout/8)
			_ = c.conn.SetReadDeadline(c.reads)
		}
	}
}

// recent is how long after an answer a session is taken to be alive without looking.
const recent = 100 * time.Millisecond

// Stale reports that the session has been idle for so long that Broken is worth asking.
func (c *Conn) Stale() bool { return c.timeout == 0 || time.Since(c.used) > recent }

// Replace puts another connection to the same server in the place of the one below,
// between requests and before others know c; f may refuse.
func (c *Conn) Replace(f func(net.Conn) (net.Conn, error)) error {
	if c.r.Buffered() > 0 || c.w.Buffered() > 0 {
		return errors.New("peer: the connection is in use")
	}
	conn, err := f(c.conn)
	if err == nil {
		c.conn = conn
		c.r.Reset(conn)
		c.w.Reset(conn)
	}
	return err
}

// Answered takes note that a request whose messages did not pass through c has been
// answered.
func (c *Conn) Answered(now time.Time) {
	c.cycles++
	c.used = now
}

// Buffered reports that bytes have arrived that Receive has not returned yet.
func (c *Conn) Buffered() bool { return c.r.Buffered() > 0 }
