// Package chunk is the column format of time series: up to a few hundred rows of
// one series as a byte string, and the rows in memory that it is made from.
//
// A chunk holds the rows' times, a mark for rows that are deletions, and one
// column per field with the values and which of them are NULL. Every column is
// written by the codec that makes it smallest; what is read back is bit for bit
// what was written (float NaN payloads and negative zero included). The layout is
// in docs/formats/timeseries.md. The package does no I/O and has no state.
package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind is the representation of a field's values.
type Kind uint8

const (
	Float Kind = iota + 1 // float64
	Int                   // int64, also booleans, dates and timestamps
	Text                  // bytes
)

// Column is one field's values. Exactly one of the slices is in use; Null, when
// not nil, is as long as it and marks NULLs (their value is zero).
type Column struct {
	ID   int16 // field number, unique in its table
	Kind Kind
	I64  []int64
	F64  []float64
	Str  []string
	Null []bool
}

// Len is the number of values.
func (c *Column) Len() int {
	switch c.Kind {
	case Float:
		return len(c.F64)
	case Int:
		return len(c.I64)
	}
	return len(c.Str)
}

// Rows are rows of one series, column by column.
type Rows struct {
	Time []int64
	// Del marks rows that say "the row of this time is gone"; nil: none.
	Del  []bool
	Cols []Column
}

// Header is what can be said of a chunk without decoding it.
type Header struct {
	Rows       int
	Start, End int64 // first and last time
	Deletes    bool
}

// ErrCorrupt is wrapped by errors about bytes that are no chunk.
var ErrCorrupt = errors.New("damaged time-series chunk")

const (
	version     = 1
	flagDeletes = 1
)

// Encode appends rows [from, to) as a chunk. Times must ascend strictly. A column
// whose values are all NULL is left out.
func Encode(dst []byte, r *Rows, from, to int) []byte {
	n := to - from
	t := r.Time[from:to]
	flags := byte(0)
	var del []bool
	if r.Del != nil {
		for _, d := range r.Del[from:to] {
			if d {
				flags, del = flagDeletes, r.Del[from:to]
				break
			}
		}
	}
	dst = append(dst, version, flags)
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendVarint(dst, t[0])
	dst = binary.AppendUvarint(dst, uint64(t[n-1]-t[0]))
	dst = appendBlock(dst, func(b []byte) []byte { return appendTimes(b, t) })
	if del != nil {
		dst = appendBits(dst, del)
	}
	count := 0
	at := len(dst)
	dst = append(dst, 0, 0)
	for i := range r.Cols {
		c := &r.Cols[i]
		if c.Len() < to && c.Len() <= from {
			continue
		}
		var null []bool
		nulls := 0
		if c.Null != nil {
			null = c.Null[from:to]
			for _, x := range null {
				if x {
					nulls++
				}
			}
		}
		if nulls == n {
			continue
		}
		count++
		dst = binary.AppendUvarint(dst, uint64(c.ID))
		head := byte(c.Kind) << 1
		if nulls > 0 {
			head |= 1
		}
		dst = append(dst, head)
		dst = appendBlock(dst, func(b []byte) []byte {
			if nulls > 0 {
				b = appendBits(b, null)
			}
			switch c.Kind {
			case Float:
				return appendFloats(b, c.F64[from:to], null, nulls)
			case Int:
				return appendIntColumn(b, c.I64[from:to], null, nulls)
			default:
				return appendTexts(b, c.Str[from:to])
			}
		})
	}
	binary.LittleEndian.PutUint16(dst[at:], uint16(count))
	// Decoders load eight bytes at a time.
	return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
}

// appendBlock appends what f appends, with its length in front (four bytes).
func appendBlock(dst []byte, f func([]byte) []byte) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = f(dst)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendBits(dst []byte, bits []bool) []byte {
	at := len(dst)
	for range (len(bits) + 7) / 8 {
		dst = append(dst, 0)
	}
	for i, b := range bits {
		if b {
			dst[at+i/8] |= 1 << (i & 7)
		}
	}
	return dst
}

// ReadHeader reads the header of a chunk.
func ReadHeader(b []byte) (Header, error) {
	h, _, err := readHeader(b)
	return h, err
}

func readHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < 8 || b[0] != version {
		return h, nil, fmt.Errorf("%w: no chunk of version %d", ErrCorrupt, version)
	}
	h.Deletes = b[1]&flagDeletes != 0
	at := 2
	n, k := binary.Uvarint(b[at:])
	if k <= 0 || n == 0 || n > MaxRows {
		return h, nil, fmt.Errorf("%w: row count", ErrCorrupt)
	}
	at += k
	start, k := binary.Varint(b[at:])
	if k <= 0 {
		return h, nil, fmt.Errorf("%w: first time", ErrCorrupt)
	}
	at += k
	length, k := binary.Uvarint(b[at:])
	if k <= 0 {
		return h, nil, fmt.Errorf("%w: last time", ErrCorrupt)
	}
	at += k
	h.Rows, h.Start, h.End = int(n), start, start+int64(length)
	return h, b[at:], nil
}

// MaxRows is the most rows that one chunk may have.
const MaxRows = 1 << 16

// Want says which columns to decode: by field number; nil: all.
type Want func(id int16) bool

// Decode reads a chunk into r, whose slices are reused. Columns that are not in
// the chunk are not in r.Cols either: all their values are NULL. Text values do
// not alias b.
func Decode(b []byte, want Want, r *Rows) error {
	h, rest, err := readHeader(b)
	if err != nil {
		return err
	}
	rd := reader{b: rest}
	n := h.Rows
	r.Time = grow(r.Time, n)
	if !decodeTimes(rd.block(), h.Start, r.Time) {
		return fmt.Errorf("%w: times", ErrCorrupt)
	}
	r.Del = r.Del[:0]
	if h.Deletes {
		r.Del = grow(r.Del, n)
		rd.bits(r.Del)
	} else {
		r.Del = nil
	}
	count := int(rd.u16())
	old := r.Cols[:cap(r.Cols)]
	r.Cols = r.Cols[:0]
	for range count {
		id := int16(rd.uvarint())
		head := rd.u8()
		block := rd.block()
		if rd.bad {
			break
		}
		if want != nil && !want(id) {
			continue
		}
		var c Column
		if k := len(r.Cols); k < len(old) {
			c = old[k]
		}
		c.ID, c.Kind = id, Kind(head>>1)
		if head&1 != 0 {
			bits := (n + 7) / 8
			if len(block) < bits {
				return fmt.Errorf("%w: NULLs of column %d", ErrCorrupt, id)
			}
			c.Null = grow(c.Null, n)
			unpackBools(block, c.Null)
			block = block[bits:]
		} else {
			c.Null = nil
		}
		ok := false
		switch c.Kind {
		case Float:
			c.F64 = grow(c.F64, n)
			ok = decodeFloats(block, c.F64)
		case Int:
			c.I64 = grow(c.I64, n)
			ok = decodeIntColumn(block, c.I64)
		case Text:
			c.Str = grow(c.Str, n)
			ok = decodeTexts(block, c.Str)
		}
		if !ok {
			return fmt.Errorf("%w: column %d", ErrCorrupt, id)
		}
		r.Cols = append(r.Cols, c)
	}
	if rd.bad {
		return fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	return nil
}

// grow returns s with length n; what it holds is arbitrary.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// reader takes a chunk apart; bad is set at the first read past the end.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) u8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[k:]
	return v
}

// block reads a length and that many bytes; the result can be read eight bytes
// past its end (capacity), because of the padding.
func (r *reader) block() []byte {
	b := r.take(4)
	if b == nil {
		return nil
	}
	return r.take(int(binary.LittleEndian.Uint32(b)))
}

func (r *reader) bits(dst []bool) {
	if b := r.take((len(dst) + 7) / 8); b != nil {
		unpackBools(b, dst)
	}
}

func unpackBools(b []byte, dst []bool) {
	for i := range dst {
		dst[i] = b[i/8]&(1<<(i&7)) != 0
	}
}
