package sqltypes

import (
	"encoding/binary"

	"ostraka/sqltypes/pgerror"
)

// Limits of arrays, as PostgreSQL has them.
const (
	MaxArrayDims  = 6
	MaxArrayItems = 134217727
)

// ArrayDim is one dimension: its number of elements and its lower bound.
type ArrayDim struct {
	Len   int32
	Lower int32
}

// Array reads an array value. It is a view of the Datum's payload: opening one
// and reading elements of fixed width allocates nothing.
//
// Payload: ndim byte (0: empty), flags byte (1: has NULLs), pack code byte,
// element OID u32; per dimension length u32 and lower bound i32; with NULLs a
// bitmap (bit set: NULL); then either n values of the code's width, or n end
// offsets (u32, from the start of the data) and the data.
type Array struct {
	s     string
	Elem  OID
	code  packCode
	ndim  int
	n     int
	nulls string
	body  string
}

const arrayHeader = 7

// OpenArray views d, which must be a non-null array, int2vector or oidvector.
func OpenArray(d Datum) Array {
	s := d.S
	if len(s) < arrayHeader {
		return Array{}
	}
	a := Array{s: s, ndim: int(s[0]), code: packCode(s[2]), Elem: OID(be32(s[3:]))}
	if a.ndim == 0 {
		return a
	}
	a.n = 1
	for i := 0; i < a.ndim; i++ {
		a.n *= int(be32(s[arrayHeader+8*i:]))
	}
	at := arrayHeader + 8*a.ndim
	if s[1]&1 != 0 {
		a.nulls = s[at : at+(a.n+7)/8]
		at += len(a.nulls)
	}
	a.body = s[at:]
	return a
}

// NDim is the number of dimensions, 0 for an empty array.
func (a Array) NDim() int { return a.ndim }

// Len is the number of elements in all dimensions together (cardinality).
func (a Array) Len() int { return a.n }

// Dim is dimension i, from 0.
func (a Array) Dim(i int) ArrayDim {
	at := arrayHeader + 8*i
	return ArrayDim{Len: int32(be32(a.s[at:])), Lower: int32(be32(a.s[at+4:]))}
}

// Dims lists all dimensions.
func (a Array) Dims() []ArrayDim {
	dims := make([]ArrayDim, a.ndim)
	for i := range dims {
		dims[i] = a.Dim(i)
	}
	return dims
}

// HasNulls reports whether some element may be NULL.
func (a Array) HasNulls() bool { return a.nulls != "" }

// IsNull reports whether element i (row-major, from 0) is NULL.
func (a Array) IsNull(i int) bool { return a.nulls != "" && a.nulls[i>>3]&(1<<(i&7)) != 0 }

// At is element i, row-major, from 0.
func (a Array) At(i int) Datum {
	if a.IsNull(i) {
		return Null
	}
	if w := a.code.width(); w > 0 {
		return readPacked(a.code, a.body[i*w:i*w+w])
	}
	from, to := 4*a.n, 4*a.n+int(be32(a.body[4*i:]))
	if i > 0 {
		from += int(be32(a.body[4*(i-1):]))
	}
	return readPacked(a.code, a.body[from:to])
}

// Elements returns all elements, row-major.
func (a Array) Elements() []Datum {
	out := make([]Datum, a.n)
	for i := range out {
		out[i] = a.At(i)
	}
	return out
}

// MakeArray builds an array of any dimension from its elements in row-major
// order; their number is the product of the dimensions. Without elements the
// result is the empty array.
func MakeArray(elem *Type, dims []ArrayDim, elems []Datum) Datum {
	code := packCodeOf(elem)
	if len(elems) == 0 {
		dims = nil
	}
	hasNull := false
	size := arrayHeader + 8*len(dims)
	for i := range elems {
		if elems[i].Null {
			hasNull = true
		}
		size += len(elems[i].S) + 8
	}
	b := make([]byte, 0, size+len(elems)/8)
	flags := byte(0)
	if hasNull {
		flags = 1
	}
	b = append(b, byte(len(dims)), flags, byte(code))
	b = binary.BigEndian.AppendUint32(b, uint32(elem.OID))
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(d.Len))
		b = binary.BigEndian.AppendUint32(b, uint32(d.Lower))
	}
	if hasNull {
		at := len(b)
		b = append(b, make([]byte, (len(elems)+7)/8)...)
		for i := range elems {
			if elems[i].Null {
				b[at+i>>3] |= 1 << (i & 7)
			}
		}
	}
	if w := code.width(); w > 0 {
		for i := range elems {
			b = appendPacked(b, code, elems[i])
		}
		return Bytes(b)
	}
	at := len(b)
	b = append(b, make([]byte, 4*len(elems))...)
	start := len(b)
	for i := range elems {
		if !elems[i].Null {
			b = appendPacked(b, code, elems[i])
		}
		binary.BigEndian.PutUint32(b[at+4*i:], uint32(len(b)-start))
	}
	return Bytes(b)
}

// MakeVector builds a one-dimensional array with lower bound 1.
func MakeVector(elem *Type, elems []Datum) Datum {
	return MakeArray(elem, []ArrayDim{{Len: int32(len(elems)), Lower: 1}}, elems)
}

// TextArray builds a text[] value.
func TextArray(elems []string) Datum {
	ds := make([]Datum, len(elems))
	for i, s := range elems {
		ds[i] = Text(s)
	}
	return MakeVector(TypeByOID(OIDText), ds)
}

// CheckArraySize answers 54000 when the dimensions are more, or hold more, than an array can.
func CheckArraySize(dims []ArrayDim) error {
	if len(dims) > MaxArrayDims {
		return pgerror.New(pgerror.ProgramLimitExceeded,
			"number of array dimensions (%d) exceeds the maximum allowed (%d)", len(dims), MaxArrayDims)
	}
	n := int64(1)
	for _, d := range dims {
		n *= int64(d.Len)
		if n > MaxArrayItems || d.Len < 0 {
			return pgerror.New(pgerror.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", MaxArrayItems)
		}
	}
	for _, d := range dims {
		if int64(d.Lower)+int64(d.Len) > 1<<31-1 {
			return pgerror.New(pgerror.ProgramLimitExceeded, "array lower bound is too large: %d", d.Lower)
		}
	}
	return nil
}

// compareArrays is array_cmp: element by element (NULL above all), then the
// number of elements, dimensions and bounds.
func compareArrays(elem *Type, x, y Datum) int {
	a, b := OpenArray(x), OpenArray(y)
	for i := 0; i < min(a.n, b.n); i++ {
		an, bn := a.IsNull(i), b.IsNull(i)
		if an || bn {
			if an != bn {
				if an {
					return 1
				}
				return -1
			}
			continue
		}
		if c := elem.Compare(a.At(i), b.At(i)); c != 0 {
			return c
		}
	}
	if a.n != b.n {
		return cmpInt(a.n, b.n)
	}
	if a.ndim != b.ndim {
		return cmpInt(a.ndim, b.ndim)
	}
	for i := 0; i < a.ndim; i++ {
		if c := cmpInt(int(a.Dim(i).Len), int(b.Dim(i).Len)); c != 0 {
			return c
		}
	}
	for i := 0; i < a.ndim; i++ {
		if c := cmpInt(int(a.Dim(i).Lower), int(b.Dim(i).Lower)); c != 0 {
			return c
		}
	}
	return 0
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func hashArray(elem *Type, d Datum) uint64 {
	a := OpenArray(d)
	h := uint64(1)
	for i := 0; i < a.n; i++ {
		e := uint64(0)
		if !a.IsNull(i) {
			e = elem.Hash(a.At(i))
		}
		h = hashCombine(h, e)
	}
	return h
}

// installArray gives t the generic behaviour of an array of elem.
func installArray(t *Type, elem *Type) {
	t.Kind, t.IsArray, t.ElemType = KBytes, true, elem
	t.In = func(env *Env, s string, typmod int32) (Datum, error) { return parseArray(env, elem, s, typmod) }
	t.Out = func(env *Env, dst []byte, d Datum) []byte { return appendArray(env, dst, elem, d) }
	t.Recv = func(env *Env, b []byte, typmod int32) (Datum, error) { return recvArray(env, elem, b, typmod) }
	t.Send = func(env *Env, dst []byte, d Datum) []byte { return sendArray(env, dst, elem, d) }
	if elem.Compare != nil {
		t.Compare = func(a, b Datum) int { return compareArrays(elem, a, b) }
	}
	if elem.Hash != nil {
		t.Hash = func(d Datum) uint64 { return hashArray(elem, d) }
	}
}
