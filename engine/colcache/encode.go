package colcache

import (
	"math"
	"strings"
	"unsafe"

	"ostraka/expr"
	"ostraka/sqltypes"
)

// Column is one encoded column of a chunk. Immutable.
//
// Integers (and numerics of one scale) are stored as differences to the smallest,
// in 0, 1, 2, 4 or 8 bytes each; text as codes of a dictionary when there are few
// different values, else as one string with the places where values end.
type Column struct {
	attr  int16
	typ   sqltypes.OID
	kind  sqltypes.Kind // KDatum: cannot be kept, the rows must be read
	scale int32
	null  expr.Bitmap // nil: no NULLs

	base int64
	all  bool // every value is base (or dict[0])
	u8   []uint8
	u16  []uint16
	u32  []uint32
	i64  []int64
	f64  []float64
	dict []string
	text string
	ends []uint32

	// lo and hi bound the values that are not NULL (integers and numerics); lo > hi
	// when all are.
	lo, hi int64
	bytes  int64
}

const (
	columnBytes = int64(unsafe.Sizeof(Column{}))
	maxDict     = 64
)

// encode makes a column of the first n values of a vector.
func encode(attr int16, typ sqltypes.OID, v *expr.Vec, n int) *Column {
	c := &Column{attr: attr, typ: typ, kind: v.Kind, bytes: columnBytes}
	if v.Kind == sqltypes.KDatum || v.Kind == sqltypes.KNumeric && v.Wide {
		c.kind = sqltypes.KDatum
		return c
	}
	if v.Null != nil {
		c.null = append(expr.Bitmap(nil), v.Null[:(n+63)/64]...)
		c.bytes += int64(8 * len(c.null))
	}
	switch v.Kind {
	case sqltypes.KInt, sqltypes.KNumeric:
		c.scale = v.Scale
		c.integers(v.I64[:n])
	case sqltypes.KFloat:
		c.f64 = append([]float64(nil), v.F64[:n]...)
		c.bytes += int64(8 * n)
	case sqltypes.KBytes:
		c.strings(v.Str[:n])
	}
	return c
}

func (c *Column) integers(in []int64) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range in {
		lo, hi = min(lo, x), max(hi, x)
	}
	c.base = lo
	c.lo, c.hi = lo, hi
	if c.null != nil {
		c.lo, c.hi = int64(math.MaxInt64), int64(math.MinInt64)
		for i, x := range in {
			if !c.null.Get(i) {
				c.lo, c.hi = min(c.lo, x), max(c.hi, x)
			}
		}
	}
	switch d := uint64(hi) - uint64(lo); {
	case d == 0:
		c.all = true
	case d <= math.MaxUint8:
		c.u8 = differences[uint8](in, lo)
		c.bytes += int64(len(in))
	case d <= math.MaxUint16:
		c.u16 = differences[uint16](in, lo)
		c.bytes += int64(2 * len(in))
	case d <= math.MaxUint32:
		c.u32 = differences[uint32](in, lo)
		c.bytes += int64(4 * len(in))
	default:
		c.base, c.i64 = 0, append([]int64(nil), in...)
		c.bytes += int64(8 * len(in))
	}
}

func differences[T uint8 | uint16 | uint32](in []int64, base int64) []T {
	out := make([]T, len(in))
	for i, x := range in {
		out[i] = T(x - base)
	}
	return out
}

func (c *Column) strings(in []string) {
	codes := make([]uint8, len(in))
	at := make(map[string]uint8, 8)
	total := 0
	for i, s := range in {
		total += len(s)
		if at == nil {
			continue
		}
		code, known := at[s]
		if !known {
			if len(at) == maxDict {
				at = nil
				continue
			}
			code = uint8(len(at))
			s = strings.Clone(s)
			at[s] = code
			c.dict = append(c.dict, s)
			c.bytes += int64(16 + len(s))
		}
		codes[i] = code
	}
	if at != nil {
		if len(at) == 1 {
			c.all = true
			return
		}
		c.u8 = codes
		c.bytes += int64(len(codes))
		return
	}
	c.dict, c.ends = nil, make([]uint32, len(in))
	var b strings.Builder
	b.Grow(total)
	for i, s := range in {
		b.WriteString(s)
		c.ends[i] = uint32(b.Len())
	}
	c.text = b.String()
	c.bytes = columnBytes + int64(8*len(c.null)+total+4*len(in))
}

// outside reports whether no value of an integer column can fulfil a comparison with
// v (engine.Cond.Op).
func (c *Column) outside(op byte, v int64) bool {
	if c.lo > c.hi { // NULLs only
		return true
	}
	switch op {
	case '=':
		return v < c.lo || v > c.hi
	case '<':
		return c.lo >= v
	case 'l':
		return c.lo > v
	case '>':
		return c.hi <= v
	case 'g':
		return c.hi < v
	}
	return false
}

// decode puts the n values of the column into v, whose slices are the caller's and
// long enough, or are replaced by the column's own, which nobody may write to.
func (c *Column) decode(v *expr.Vec, own *buffers, n int) {
	v.Kind, v.Null, v.Wide, v.Scale = c.kind, c.null, false, c.scale
	switch c.kind {
	case sqltypes.KInt, sqltypes.KNumeric:
		if c.i64 != nil {
			v.I64 = c.i64
			return
		}
		v.I64 = own.ints()
		dst := v.I64[:n]
		switch base := c.base; {
		case c.all:
			for i := range dst {
				dst[i] = base
			}
		case c.u8 != nil:
			for i, x := range c.u8[:n] {
				dst[i] = base + int64(x)
			}
		case c.u16 != nil:
			for i, x := range c.u16[:n] {
				dst[i] = base + int64(x)
			}
		default:
			for i, x := range c.u32[:n] {
				dst[i] = base + int64(x)
			}
		}
	case sqltypes.KFloat:
		v.F64 = c.f64
	case sqltypes.KBytes:
		v.Str = own.strings()
		dst := v.Str[:n]
		switch {
		case c.all:
			for i := range dst {
				dst[i] = c.dict[0]
			}
		case c.dict != nil:
			for i, x := range c.u8[:n] {
				dst[i] = c.dict[x]
			}
		default:
			begin := uint32(0)
			for i, end := range c.ends[:n] {
				dst[i] = c.text[begin:end]
				begin = end
			}
		}
	}
}

// buffers are the slices of one output vector that decode fills.
type buffers struct {
	i64 []int64
	str []string
}

func (b *buffers) ints() []int64 {
	if b.i64 == nil {
		b.i64 = make([]int64, expr.BatchSize)
	}
	return b.i64
}

func (b *buffers) strings() []string {
	if b.str == nil {
		b.str = make([]string, expr.BatchSize)
	}
	return b.str
}
