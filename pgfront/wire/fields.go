package wire

import (
	"bytes"
	"encoding/binary"

	"ostraka/sqltypes/pgerror"
)

// Fields decodes the body of a message in place. After a read past the end all
// reads return zero values and Err reports it: decoders check once, at the end.
type Fields struct {
	b   []byte
	bad bool
}

// NewFields decodes b; what the methods return aliases it.
func NewFields(b []byte) Fields { return Fields{b: b} }

func (f *Fields) take(n int) []byte {
	if f.bad || n < 0 || len(f.b) < n {
		f.bad = true
		return nil
	}
	v := f.b[:n]
	f.b = f.b[n:]
	return v
}

func (f *Fields) Byte() byte {
	if v := f.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (f *Fields) Int16() int16 {
	if v := f.take(2); v != nil {
		return int16(binary.BigEndian.Uint16(v))
	}
	return 0
}

func (f *Fields) Int32() int32 {
	if v := f.take(4); v != nil {
		return int32(binary.BigEndian.Uint32(v))
	}
	return 0
}

// Count reads an Int16 that counts elements of at least size bytes each, and
// fails when the message cannot hold them.
func (f *Fields) Count(size int) int {
	n := int(uint16(f.Int16()))
	if n*size > len(f.b) {
		f.bad = true
		return 0
	}
	return n
}

// Bytes reads n bytes.
func (f *Fields) Bytes(n int) []byte { return f.take(n) }

// Value reads a length-prefixed value; null for length -1. Other negative lengths are errors.
func (f *Fields) Value() (v []byte, null bool) {
	n := f.Int32()
	if n == -1 {
		return nil, true
	}
	return f.take(int(n)), false
}

// CString reads up to a zero byte, as bytes.
func (f *Fields) CString() []byte {
	if f.bad {
		return nil
	}
	i := bytes.IndexByte(f.b, 0)
	if i < 0 {
		f.bad = true
		return nil
	}
	v := f.b[:i]
	f.b = f.b[i+1:]
	return v
}

// Rest returns what is left.
func (f *Fields) Rest() []byte { return f.take(len(f.b)) }

// Err is 08P01 when the message was too short.
func (f *Fields) Err() error {
	if f.bad {
		return pgerror.New(pgerror.ProtocolViolation, "insufficient data left in message")
	}
	return nil
}

// End is Err, and also an error when bytes are left over.
func (f *Fields) End() error {
	if f.bad {
		return f.Err()
	}
	if len(f.b) > 0 {
		return pgerror.New(pgerror.ProtocolViolation, "invalid message format")
	}
	return nil
}

// Bind is a decoded Bind message. Slices alias the message and are reused by the next DecodeBind.
type Bind struct {
	Portal, Statement []byte
	ParamFormats      []int16
	Params            [][]byte // nil entry: NULL
	ResultFormats     []int16
}

// Decode reads a Bind body.
func (b *Bind) Decode(body []byte) error {
	f := NewFields(body)
	b.Portal = f.CString()
	b.Statement = f.CString()
	b.ParamFormats = b.ParamFormats[:0]
	for n := f.Count(2); n > 0; n-- {
		b.ParamFormats = append(b.ParamFormats, f.Int16())
	}
	b.Params = b.Params[:0]
	for n := f.Count(4); n > 0; n-- {
		v, null := f.Value()
		if !null && v == nil {
			v = empty
		}
		b.Params = append(b.Params, v)
	}
	b.ResultFormats = b.ResultFormats[:0]
	for n := f.Count(2); n > 0; n-- {
		b.ResultFormats = append(b.ResultFormats, f.Int16())
	}
	return f.End()
}

var empty = []byte{}
