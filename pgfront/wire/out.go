package wire

import (
	"encoding/binary"
	"io"
)

// FlushAt is the buffer size in bytes at which Out writes by itself.
const FlushAt = 32 << 10

// keepCap is the largest buffer kept between flushes.
const keepCap = 256 << 10

// Out collects frames for the client. A write error is sticky: later frames are
// dropped and Err tells.
type Out struct {
	w     io.Writer
	buf   []byte
	start int // of the frame being built, -1 none
	err   error
	// Written counts the bytes handed to the connection.
	Written uint64
}

// NewOut returns a buffer in front of w.
func NewOut(w io.Writer) *Out { return &Out{w: w, buf: make([]byte, 0, 8<<10), start: -1} }

// Err is the first write error.
func (o *Out) Err() error { return o.err }

// Pending is the number of bytes not yet written.
func (o *Out) Pending() int { return len(o.buf) }

// Begin starts a frame of type t.
func (o *Out) Begin(t byte) {
	o.start = len(o.buf)
	o.buf = append(o.buf, t, 0, 0, 0, 0)
}

// End completes the frame and writes the buffer when it is large.
func (o *Out) End() {
	binary.BigEndian.PutUint32(o.buf[o.start+1:], uint32(len(o.buf)-o.start-1))
	o.start = -1
	if len(o.buf) >= FlushAt {
		o.Flush()
	}
}

// Abort drops a frame that was begun and not ended, if there is one.
func (o *Out) Abort() {
	if o.start >= 0 {
		o.buf = o.buf[:o.start]
		o.start = -1
	}
}

// FrameLen is the size of the frame being built so far, in bytes.
func (o *Out) FrameLen() int { return len(o.buf) - o.start }

// Buf returns the buffer for appending to the frame; give the result to SetBuf.
func (o *Out) Buf() []byte     { return o.buf }
func (o *Out) SetBuf(b []byte) { o.buf = b }

func (o *Out) Byte(b byte)     { o.buf = append(o.buf, b) }
func (o *Out) Int16(v int16)   { o.buf = binary.BigEndian.AppendUint16(o.buf, uint16(v)) }
func (o *Out) Int32(v int32)   { o.buf = binary.BigEndian.AppendUint32(o.buf, uint32(v)) }
func (o *Out) Uint32(v uint32) { o.buf = binary.BigEndian.AppendUint32(o.buf, v) }
func (o *Out) Bytes(b []byte)  { o.buf = append(o.buf, b...) }

// String appends a zero-terminated string; a zero byte inside ends it early.
func (o *Out) String(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			s = s[:i]
			break
		}
	}
	o.buf = append(append(o.buf, s...), 0)
}

// Raw appends one whole frame that came from elsewhere.
func (o *Out) Raw(t byte, body []byte) {
	o.Begin(t)
	o.Bytes(body)
	o.End()
}

// Flush writes everything.
func (o *Out) Flush() {
	if len(o.buf) == 0 {
		return
	}
	if o.err == nil {
		var n int
		n, o.err = o.w.Write(o.buf)
		o.Written += uint64(n)
	}
	if cap(o.buf) > keepCap {
		o.buf = make([]byte, 0, 8<<10)
	} else {
		o.buf = o.buf[:0]
	}
}
