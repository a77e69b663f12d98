package peer

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/engine/commitlog"
)

// Options of a connection.
type Options struct {
	Addr     string // host:port
	User     string // session user to act for
	Database string
	App      string
	Node     string // this node's id
	PID      int32  // of the session it acts for, in this node's client's eyes; 0: none
	Shard    string // the shard the session is bound to; "": the home shard
	Reads    bool   // the session only reads what the node has, whether it leads or not
	Secret   []byte // the cluster's join secret
	TLS      *tls.Config
	Now      time.Time
	// Dial opens the connection; nil: a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// MaxMessage bounds one received message in bytes; 0: 1 GiB.
	MaxMessage int
}

// Conn is a session on another node, spoken to in raw protocol messages.
type Conn struct {
	conn     net.Conn
	r        *bufio.Reader
	w        *bufio.Writer
	body     []byte
	max      int
	pos      commitlog.Position
	name     string // random
	cycles   uint64 // ReadyForQuery received
	state    string
	cancelFn func(context.Context) error
	cancels  sync.WaitGroup
	pending  atomic.Int32 // cancels on their way
	canceled atomic.Value // the context for which a cancel was sent
	timeout  time.Duration
	// Deadlines in force, moved on only when they have come closer than timeout.
	reads, writes time.Time
	used          time.Time // when the last ReadyForQuery came, with a timeout
}

// ended wraps a context, so that an atomic.Value can hold any kind.
type ended struct{ ctx context.Context }

// Dial opens a session. When it fails nothing has been executed.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	pc, name, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	hj, err := pc.Hijack()
	if err != nil {
		return nil, err
	}
	c := &Conn{conn: hj.Conn, r: bufio.NewReaderSize(hj.Conn, 32<<10), w: bufio.NewWriterSize(hj.Conn, 32<<10), max: o.MaxMessage,
		name: name}
	if c.max <= 0 {
		c.max = 1 << 30
	}
	c.cancelFn = func(ctx context.Context) error { return cancelRequest(ctx, o, hj.PID, hj.SecretKey) }
	return c, nil
}

// Connect opens a session that speaks through pgx's own client.
func Connect(ctx context.Context, o Options) (*pgconn.PgConn, error) {
	pc, _, err := o.connect(ctx)
	return pc, err
}

// connect opens a connection and tells the name it goes by; once more with the
// other node's time if the clocks differ too much.
func (o Options) connect(ctx context.Context) (*pgconn.PgConn, string, error) {
	for again := true; ; again = false {
		cfg, err := o.config()
		if err != nil {
			return nil, "", err
		}
		pc, err := pgconn.ConnectConfig(ctx, cfg)
		if now, told := toldTime(err); told && again {
			o.Now = now
			continue
		}
		return pc, cfg.RuntimeParams[ParamSession], err
	}
}

// config is how pgx connects.
func (o *Options) config() (*pgconn.Config, error) {
	cfg, err := pgconn.ParseConfig("")
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("peer address %q: %w", o.Addr, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("peer address %q: %w", o.Addr, err)
	}
	at := strconv.FormatInt(o.Now.Unix(), 10)
	cfg.Host, cfg.Port, cfg.User, cfg.Database, cfg.Password = host, uint16(n), o.User, o.Database, ""
	cfg.TLSConfig, cfg.Fallbacks = o.TLS, nil
	if o.Dial != nil {
		cfg.DialFunc = o.Dial
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	name := hex.EncodeToString(random[:])
	cfg.RuntimeParams = map[string]string{
		"application_name": o.App,
		ParamNode:          o.Node, ParamTime: at, ParamToken: token(o.Secret, o.Node, o.User, o.Database, at),
		ParamSession: name,
	}
	if o.PID != 0 {
		cfg.RuntimeParams[ParamPID] = strconv.Itoa(int(o.PID))
	}
	if o.Shard != "" {
		cfg.RuntimeParams[ParamShard] = o.Shard
	}
	if o.Reads {
		cfg.RuntimeParams[ParamReads] = "on"
	}
	return cfg, nil
}

// cancelRequest sends a CancelRequest for a backend over a connection of its own.
func cancelRequest(ctx context.Context, o Options, pid uint32, secret []byte) error {
	dial := o.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", o.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if t, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(t)
	}
	const cancelCode = 80877102
	msg := binary.BigEndian.AppendUint32(nil, uint32(12+len(secret)))
	msg = binary.BigEndian.AppendUint32(msg, cancelCode)
	msg = binary.BigEndian.AppendUint32(msg, pid)
	msg = append(msg, secret...)
	if _, err := conn.Write(msg); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1)) // the server closes when it has taken it
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// Send buffers one message: its type and body without the length.
func (c *Conn) Send(kind byte, body []byte) error {
	c.cancels.Wait() // a cancel that is on its way must not hit what is sent now
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)+4))
	if _, err := c.w.Write(head[:]); err != nil {
		return err
	}
	_, err := c.w.Write(body)
	return err
}

// Flush sends what is buffered.
func (c *Conn) Flush() error {
	if c.timeout > 0 {
		if now := time.Now(); c.writes.Sub(now) < c.timeout {
			c.writes = now.Add(c.timeout + c.timeout/8)
			_ = c.conn.SetWriteDeadline(c.writes)
		}
	}
	return c.w.Flush()
}

// Receive returns the next message; body is valid until the next call. When ctx
// ends, the running statement is cancelled and the answer still awaited, for at
// most ten seconds.
func (c *Conn) Receive(ctx context.Context) (byte, []byte, error) {
	c.expect(5)
	if c.r.Buffered() < 5 && ctx.Done() != nil {
		fired := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			if was, _ := c.canceled.Swap(ended{ctx}).(ended); was.ctx != ctx {
				c.Cancel()
			}
			_ = c.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			close(fired)
		})
		defer func() {
			if !stop() {
				<-fired
				_ = c.conn.SetReadDeadline(time.Time{})
				c.reads = time.Time{}
			}
		}()
	}
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[1:])) - 4
	if n < 0 || n > c.max {
		return 0, nil, fmt.Errorf("peer sent a message of %d bytes", n)
	}
	if cap(c.body) < n {
		c.body = make([]byte, n)
	}
	c.body = c.body[:n]
	c.expect(n)
	if _, err := io.ReadFull(c.r, c.body); err != nil {
		return 0, nil, err
	}
	switch head[0] {
	case 'S':
		c.note(c.body)
	case 'Z':
		c.cycles++
		if c.timeout > 0 {
			c.used = time.Now()
		}
	}
	return head[0], c.body, nil
}

// note picks the session's position out of a ParameterStatus.
func (c *Conn) note(body []byte) {
	name, rest, ok := strings.Cut(string(body), "\x00")
	if ok && name == "ostraka.state" {
		c.state = strings.TrimSuffix(rest, "\x00")
	}
	if !ok || name != "ostraka.position" {
		return
	}
	if pos, err := commitlog.ParsePosition(strings.TrimSuffix(rest, "\x00")); err == nil {
		c.pos = pos
	}
}

// Position is the newest position the other node reported.
func (c *Conn) Position() commitlog.Position { return c.pos }

// Transaction names what is executed now, up to the next ReadyForQuery: both ends
// count those, so the other node records the same name with the commit, and its
// outcome can be asked for when the connection is lost.
func (c *Conn) Transaction() string { return TransactionName(c.name, c.cycles) }

// TransactionName is what Conn.Transaction answers.
func TransactionName(session string, cycles uint64) string {
	return session + "." + strconv.FormatUint(cycles, 10)
}

// State is what the other session reported to have that only it has.
func (c *Conn) State() string { return c.state }

// Cancel asks the other node to cancel what runs; it does not wait.
func (c *Conn) Cancel() {
	c.cancels.Add(1)
	c.pending.Add(1)
	go func() {
		defer c.cancels.Done()
		defer c.pending.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.cancelFn(ctx) // a cancel that does not arrive has no effect, as with any client
	}()
}

// Canceling reports that a cancel is on its way: Send would wait for it.
func (c *Conn) Canceling() bool { return c.pending.Load() > 0 }

// Abort breaks the connection: a Receive that waits fails. Safe from any goroutine.
func (c *Conn) Abort() { _ = c.conn.Close() }

// Close ends the session; its transaction is rolled back there.
func (c *Conn) Close() {
	_ = c.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if c.Send('X', nil) == nil {
		_ = c.Flush()
	}
	_ = c.conn.Close()
	c.cancels.Wait()
}
