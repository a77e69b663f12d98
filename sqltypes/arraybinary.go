package sqltypes

import (
	"encoding/binary"

	"ostraka/sqltypes/pgerror"
)

// wireReader takes big-endian fields off a binary value; a read past the end
// sets short and gives zeros.
type wireReader struct {
	b     []byte
	short bool
}

func (r *wireReader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short = true
		r.b = nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *wireReader) u8() byte {
	if v := r.bytes(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *wireReader) u16() uint16 {
	if v := r.bytes(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (r *wireReader) i32() int32 {
	if v := r.bytes(4); v != nil {
		return int32(binary.BigEndian.Uint32(v))
	}
	return 0
}

func (r *wireReader) i64() int64 {
	if v := r.bytes(8); v != nil {
		return int64(binary.BigEndian.Uint64(v))
	}
	return 0
}

// done answers the protocol errors of a value with too few or too many bytes.
func (r *wireReader) done() error {
	if r.short {
		return badBinary(0, 1)
	}
	if len(r.b) > 0 {
		return badBinary(1, 0)
	}
	return nil
}

func recvArray(env *Env, elem *Type, b []byte, typmod int32) (Datum, error) {
	r := &wireReader{b: b}
	ndim, flags, oid := r.i32(), r.i32(), OID(r.i32())
	if r.short {
		return Null, r.done()
	}
	if ndim < 0 {
		return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid number of dimensions: %d", ndim)
	}
	if ndim > MaxArrayDims {
		return Null, pgerror.New(pgerror.ProgramLimitExceeded,
			"number of array dimensions (%d) exceeds the maximum allowed (%d)", ndim, MaxArrayDims)
	}
	if flags != 0 && flags != 1 {
		return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid array flags")
	}
	if oid != elem.OID {
		return Null, pgerror.New(pgerror.DatatypeMismatch,
			"binary data has array element type %d (%s) instead of expected %d (%s)",
			oid, TypeSQLName(oid, nil), elem.OID, TypeSQLName(elem.OID, nil))
	}
	dims := make([]ArrayDim, ndim)
	n := int64(1)
	for i := range dims {
		dims[i] = ArrayDim{Len: r.i32(), Lower: r.i32()}
	}
	if r.short {
		return Null, r.done()
	}
	if err := CheckArraySize(dims); err != nil {
		return Null, err
	}
	for i := range dims {
		n *= int64(dims[i].Len)
	}
	if ndim == 0 || n == 0 {
		return MakeArray(elem, nil, nil), nil
	}
	if n > int64(len(r.b)/4) { // every element takes at least its length word
		return Null, badBinary(0, 1)
	}
	elems := make([]Datum, n)
	for i := range elems {
		size := r.i32()
		if size == -1 && !r.short {
			elems[i] = Null
			if err := elem.InNull(env); err != nil {
				return Null, err
			}
			continue
		}
		v := r.bytes(int(size))
		if r.short {
			return Null, r.done()
		}
		d, err := elem.Recv(env, v, typmod)
		if err != nil {
			return Null, err
		}
		elems[i] = d
	}
	if err := r.done(); err != nil {
		return Null, err
	}
	return MakeArray(elem, dims, elems), nil
}

func sendArray(env *Env, dst []byte, elem *Type, d Datum) []byte {
	a := OpenArray(d)
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(a.ndim))
	flags := uint32(0)
	if a.HasNulls() {
		flags = 1
	}
	dst = be.AppendUint32(dst, flags)
	dst = be.AppendUint32(dst, uint32(elem.OID))
	for i := 0; i < a.ndim; i++ {
		dim := a.Dim(i)
		dst = be.AppendUint32(dst, uint32(dim.Len))
		dst = be.AppendUint32(dst, uint32(dim.Lower))
	}
	for i := 0; i < a.n; i++ {
		if a.IsNull(i) {
			dst = be.AppendUint32(dst, 0xFFFFFFFF)
			continue
		}
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = elem.Send(env, dst, a.At(i))
		be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}
