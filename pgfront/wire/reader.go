package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"ostraka/sqltypes/pgerror"
)

// MaxLength is the largest length that a client message may announce (PostgreSQL's PQ_LARGE_MESSAGE_LIMIT).
const MaxLength = 1<<30 - 2

// smallLength bounds messages that only carry names (PostgreSQL's PQ_SMALL_MESSAGE_LIMIT).
const smallLength = 10000

// Reader reads messages from a client. Another goroutine may Wake it: then
// OnWake is called on the reader's own goroutine, in the middle of a read that
// was blocked, and may write to the client or end the session by an error.
type Reader struct {
	src  *bufio.Reader // over the connection, made by the handshake
	buf  *bufio.Reader // over this Reader
	conn net.Conn      // for deadlines
	woke atomic.Bool
	// OnWake handles a wake-up; an error ends the read with it.
	OnWake func() error
	// Deadline, when not zero, ends a blocked read by OnDeadline's error.
	deadline   time.Time
	onDeadline func() error
	limit      int
	big        []byte
}

// NewReader reads what src (which may hold bytes already) and conn deliver.
// Messages longer than limit bytes are refused.
func NewReader(src *bufio.Reader, conn net.Conn, limit int) *Reader {
	r := &Reader{src: src, conn: conn, limit: limit}
	r.buf = bufio.NewReaderSize(source{r}, 16<<10)
	return r
}

// source is the interruptible read below the buffer.
type source struct{ r *Reader }

func (s source) Read(p []byte) (int, error) {
	r := s.r
	for {
		if r.woke.Swap(false) && r.OnWake != nil {
			if err := r.conn.SetReadDeadline(r.deadline); err != nil {
				return 0, err
			}
			if err := r.OnWake(); err != nil {
				return 0, err
			}
		}
		n, err := r.src.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
		if r.woke.Load() {
			continue
		}
		if !r.deadline.IsZero() && !time.Now().Before(r.deadline) && r.onDeadline != nil {
			if err := r.onDeadline(); err != nil {
				return 0, err
			}
		}
		if err := r.conn.SetReadDeadline(r.deadline); err != nil {
			return 0, err
		}
	}
}

// Wake makes a blocked (or the next) read call OnWake. Safe from any goroutine.
func (r *Reader) Wake() {
	r.woke.Store(true)
	_ = r.conn.SetReadDeadline(time.Unix(1, 0))
}

// Woken reports that a Wake has not been handled yet.
func (r *Reader) Woken() bool { return r.woke.Load() }

// SetDeadline ends a read that is blocked after d by what f returns; d ≤ 0 removes it.
func (r *Reader) SetDeadline(d time.Duration, f func() error) error {
	if d <= 0 {
		if r.deadline.IsZero() {
			return nil
		}
		r.deadline, r.onDeadline = time.Time{}, nil
	} else {
		r.deadline, r.onDeadline = time.Now().Add(d), f
	}
	err := r.conn.SetReadDeadline(r.deadline)
	if r.woke.Load() {
		// The wake-up's own deadline was overwritten: keep it pending.
		_ = r.conn.SetReadDeadline(time.Unix(1, 0))
	}
	return err
}

// Buffered reports whether bytes have been received that were not read yet.
func (r *Reader) Buffered() bool { return r.buf.Buffered() > 0 || r.src.Buffered() > 0 }

// Next reads a message. body is valid until the next call. An *pgerror.Error is
// to be told to the client; with Severity FATAL the connection is out of step
// and must be closed.
func (r *Reader) Next() (kind byte, body []byte, err error) {
	head, err := r.buf.Peek(5)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	kind = head[0]
	n := int(binary.BigEndian.Uint32(head[1:])) - 4
	if !known[kind] {
		return kind, nil, fatal(pgerror.New(pgerror.ProtocolViolation, "invalid frontend message type %d", kind))
	}
	if n < 0 || n > MaxLength || small[kind] && n > smallLength {
		return kind, nil, fatal(pgerror.New(pgerror.ProtocolViolation, "invalid message length"))
	}
	_, _ = r.buf.Discard(5)
	if n > r.limit {
		if _, err := r.buf.Discard(n); err != nil {
			return 0, nil, err
		}
		return kind, nil, pgerror.New(pgerror.ProgramLimitExceeded, "message of %d bytes exceeds the limit of %d bytes", n, r.limit)
	}
	if n <= r.buf.Size() {
		body, err = r.buf.Peek(n)
		if err != nil {
			return 0, nil, unexpected(err)
		}
		_, _ = r.buf.Discard(n)
		return kind, body, nil
	}
	body, err = r.readBig(n)
	return kind, body, err
}

// readBig reads a message that does not fit the buffer, in steps, so that a
// length alone cannot make the server allocate.
func (r *Reader) readBig(n int) ([]byte, error) {
	const step = 1 << 20
	b := r.big[:0]
	for len(b) < n {
		m := min(n-len(b), step)
		if cap(b)-len(b) < m {
			grown := make([]byte, len(b), min(n, max(2*cap(b), len(b)+m)))
			copy(grown, b)
			b = grown
		}
		part := b[len(b) : len(b)+m]
		if _, err := io.ReadFull(r.buf, part); err != nil {
			return nil, unexpected(err)
		}
		b = b[:len(b)+m]
	}
	if cap(b) <= step {
		r.big = b
	} else {
		r.big = nil
	}
	return b, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func fatal(e *pgerror.Error) *pgerror.Error {
	e.Severity = "FATAL"
	return e
}

var known, small [256]bool

func init() {
	for _, c := range "QPBEDCHSXFdcf" {
		known[c] = true
	}
	for _, c := range "EDCHSXc" {
		small[c] = true
	}
}
