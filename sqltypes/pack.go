package sqltypes

import (
	"encoding/binary"
	"math"
)

// packCode says how one value lies in the payload of an array, a composite or a
// range. The code stands in the payload, so that elements can be read without
// their type at hand.
//
//	fixed width, big endian: i16 i32 i64 (signed), u8 u32 (unsigned), f32 f64,
//	interval (µs int64, months int32, days int32), timetz (µs int64, zone int32)
//	variable width: numeric (a byte 0, uvarint scale, zig-zag value; or a byte 1
//	and the wide form), bytes (the payload itself)
type packCode byte

const (
	packBytes packCode = iota
	packI16
	packI32
	packI64
	packU8
	packU32
	packF32
	packF64
	packNumeric
	packInterval
	packTimeTZ
)

// width is the number of bytes of a fixed-width code, 0 for the others.
func (c packCode) width() int {
	switch c {
	case packU8:
		return 1
	case packI16:
		return 2
	case packI32, packU32, packF32:
		return 4
	case packI64, packF64:
		return 8
	case packInterval:
		return 16
	case packTimeTZ:
		return 12
	}
	return 0
}

// packCodeOf is the code of the values of t.
func packCodeOf(t *Type) packCode {
	for t.Base != nil {
		t = t.Base
	}
	switch t.Kind {
	case KInt:
		switch t.Len {
		case 1:
			return packU8
		case 2:
			return packI16
		case 4:
			if t.OID == OIDInt4 || t.OID == OIDDate {
				return packI32
			}
			return packU32
		}
		return packI64
	case KFloat:
		if t.Len == 4 {
			return packF32
		}
		return packF64
	case KNumeric:
		return packNumeric
	case KDatum:
		if t.Len == 12 {
			return packTimeTZ
		}
		return packInterval
	}
	return packBytes
}

// appendPacked appends a non-null value.
func appendPacked(dst []byte, c packCode, d Datum) []byte {
	be := binary.BigEndian
	switch c {
	case packU8:
		return append(dst, byte(d.I))
	case packI16:
		return be.AppendUint16(dst, uint16(d.I))
	case packI32, packU32:
		return be.AppendUint32(dst, uint32(d.I))
	case packI64, packF64:
		return be.AppendUint64(dst, uint64(d.I))
	case packF32:
		return be.AppendUint32(dst, math.Float32bits(float32(d.Float())))
	case packNumeric:
		if d.S != "" {
			return append(append(dst, 1), d.S...)
		}
		dst = binary.AppendUvarint(append(dst, 0), uint64(d.Aux))
		return binary.AppendVarint(dst, d.I)
	case packInterval:
		dst = be.AppendUint64(dst, uint64(d.I))
		if d.S == "" {
			return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
		}
		return append(dst, d.S...)
	case packTimeTZ:
		return be.AppendUint32(be.AppendUint64(dst, uint64(d.I)), uint32(d.Aux))
	}
	return append(dst, d.S...)
}

// readPacked reads what appendPacked wrote; s holds exactly one value. Bytes it
// does not like give the zero value: payloads are made by this package only.
func readPacked(c packCode, s string) Datum {
	if w := c.width(); w > 0 && len(s) < w {
		return Datum{}
	}
	switch c {
	case packU8:
		return Int(int64(s[0]))
	case packI16:
		return Int(int64(int16(be16(s))))
	case packI32:
		return Int(int64(int32(be32(s))))
	case packU32:
		return Int(int64(be32(s)))
	case packI64, packF64:
		return Int(int64(be64(s)))
	case packF32:
		return Float(float64(math.Float32frombits(be32(s))))
	case packNumeric:
		if s == "" {
			return Datum{}
		}
		if s[0] == 1 {
			return Datum{S: s[1:]}
		}
		scale, n := uvarintS(s[1:])
		v, _ := varintS(s[1+n:])
		return Datum{I: v, Aux: int32(scale)}
	case packInterval:
		d := Int(int64(be64(s)))
		if s[8:16] != "\x00\x00\x00\x00\x00\x00\x00\x00" {
			d.S = s[8:16]
		}
		return d
	case packTimeTZ:
		return Datum{I: int64(be64(s)), Aux: int32(be32(s[8:]))}
	}
	return Datum{S: s}
}

func be16(s string) uint16 { return uint16(s[0])<<8 | uint16(s[1]) }
func be32(s string) uint32 {
	_ = s[3]
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}
func be64(s string) uint64 { return uint64(be32(s))<<32 | uint64(be32(s[4:])) }

func uvarintS(s string) (uint64, int) {
	var v uint64
	for i := 0; i < len(s) && i < 10; i++ {
		v |= uint64(s[i]&0x7F) << (7 * i)
		if s[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, len(s)
}

func varintS(s string) (int64, int) {
	u, n := uvarintS(s)
	return int64(u>>1) ^ -int64(u&1), n
}
