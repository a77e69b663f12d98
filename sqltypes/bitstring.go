package sqltypes

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// Bit strings: the payload is the number of bits (u32, big endian) and the bits,
// first bit highest, the last byte filled with zeros.

// MakeBits builds a bit string of n bits; data is cut or filled to fit and the
// bits past n are cleared.
func MakeBits(n int, data []byte) Datum {
	b := make([]byte, 4+(n+7)/8)
	binary.BigEndian.PutUint32(b, uint32(n))
	copy(b[4:], data)
	if n&7 != 0 {
		b[len(b)-1] &= 0xFF << (8 - n&7)
	}
	return Bytes(b)
}

// BitLen is the number of bits, BitData the bits.
func BitLen(d Datum) int {
	if len(d.S) < 4 {
		return 0
	}
	return int(be32(d.S))
}

func BitData(d Datum) string {
	if len(d.S) < 4 {
		return ""
	}
	return d.S[4:]
}

// BitAt is bit i from the left, from 0.
func BitAt(d Datum, i int) byte { return d.S[4+i>>3] >> (7 - i&7) & 1 }

// BitCount is the number of set bits.
func BitCount(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		n += bits.OnesCount8(s[i])
	}
	return n
}

// ParseBits reads binary digits, or hex ones after x; b may stand before binary digits.
func ParseBits(s string) (Datum, error) {
	if s != "" && s[0]|0x20 == 'x' {
		s = s[1:]
		b := make([]byte, (len(s)+1)/2)
		for i := 0; i < len(s); i++ {
			v := digitOf(s[i])
			if v > 15 {
				return Null, badBitDigit(s[i:], "hexadecimal")
			}
			b[i/2] |= byte(v << (4 * (1 - i&1)))
		}
		return MakeBits(4*len(s), b), nil
	}
	if s != "" && s[0]|0x20 == 'b' {
		s = s[1:]
	}
	b := make([]byte, (len(s)+7)/8)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '1':
			b[i>>3] |= 0x80 >> (i & 7)
		case '0':
		default:
			return Null, badBitDigit(s[i:], "binary")
		}
	}
	return MakeBits(len(s), b), nil
}

func badBitDigit(s, what string) error {
	_, n := utf8.DecodeRuneInString(s)
	return pgerror.New(pgerror.InvalidTextRepresentation, "\"%s\" is not a valid %s digit", s[:n], what)
}

// BitLength enforces bit(n): exactly n bits, or when explicit cut and filled with zeros.
func BitLength(d Datum, typmod int32, explicit bool) (Datum, error) {
	n := BitLen(d)
	if typmod <= 0 || n == int(typmod) {
		return d, nil
	}
	if !explicit {
		return Null, pgerror.New(pgerror.StringDataLengthMismatch, "bit string length %d does not match type bit(%d)", n, typmod)
	}
	return MakeBits(int(typmod), []byte(BitData(d))), nil
}

// VarbitLength enforces bit varying(n): at most n bits, cut when explicit.
func VarbitLength(d Datum, typmod int32, explicit bool) (Datum, error) {
	if typmod <= 0 || BitLen(d) <= int(typmod) {
		return d, nil
	}
	if !explicit {
		return Null, pgerror.New(pgerror.StringDataRightTruncation, "bit string too long for type bit varying(%d)", typmod)
	}
	return MakeBits(int(typmod), []byte(BitData(d))), nil
}

// compareBits compares the bits, then the lengths.
func compareBits(a, b Datum) int {
	if c := strings.Compare(BitData(a), BitData(b)); c != 0 {
		return c
	}
	return cmpInt(BitLen(a), BitLen(b))
}

func bitCodec(limit func(d Datum, typmod int32, explicit bool) (Datum, error)) codec {
	return codec{
		kind: KBytes,
		in: func(_ *Env, s string, typmod int32) (Datum, error) {
			d, err := ParseBits(s)
			if err != nil {
				return Null, err
			}
			return limit(d, typmod, false)
		},
		out: func(_ *Env, dst []byte, d Datum) []byte {
			for i, n := 0, BitLen(d); i < n; i++ {
				dst = append(dst, '0'+BitAt(d, i))
			}
			return dst
		},
		recv: func(_ *Env, b []byte, typmod int32) (Datum, error) {
			r := &wireReader{b: b}
			n := int(r.i32())
			if n < 0 {
				return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid length in external bit string")
			}
			data := r.bytes((n + 7) / 8)
			if err := r.done(); err != nil {
				return Null, err
			}
			return limit(MakeBits(n, data), typmod, false)
		},
		send: appendS, compare: compareBits, hash: hashS,
	}
}
