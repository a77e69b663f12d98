package sqltypes

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// PostgreSQL's hash functions (Bob Jenkins' lookup3), which decide in which partition
// a row lies and which users call for advisory lock keys and sampling. Ostraka's own
// hash tables use the hashes of Type.Hash.

func hashMix(a, b, c uint32) (uint32, uint32, uint32) {
	a -= c
	a ^= bits.RotateLeft32(c, 4)
	c += b
	b -= a
	b ^= bits.RotateLeft32(a, 6)
	a += c
	c -= b
	c ^= bits.RotateLeft32(b, 8)
	b += a
	a -= c
	a ^= bits.RotateLeft32(c, 16)
	c += b
	b -= a
	b ^= bits.RotateLeft32(a, 19)
	a += c
	c -= b
	c ^= bits.RotateLeft32(b, 4)
	b += a
	return a, b, c
}

func hashFinal(a, b, c uint32) (uint32, uint32) {
	c ^= b
	c -= bits.RotateLeft32(b, 14)
	a ^= c
	a -= bits.RotateLeft32(c, 11)
	b ^= a
	b -= bits.RotateLeft32(a, 25)
	c ^= b
	c -= bits.RotateLeft32(b, 16)
	a ^= c
	a -= bits.RotateLeft32(c, 4)
	b ^= a
	b -= bits.RotateLeft32(a, 14)
	c ^= b
	c -= bits.RotateLeft32(b, 24)
	return b, c
}

// hashStart is the state for a key of n bytes.
func hashStart(n int, seed uint64) (a, b, c uint32) {
	a = 0x9e3779b9 + uint32(n) + 3923095
	b, c = a, a
	if seed != 0 {
		a += uint32(seed >> 32)
		b += uint32(seed)
		a, b, c = hashMix(a, b, c)
	}
	return a, b, c
}

// HashBytes hashes a key; the low half of the result is the 32-bit hash.
func HashBytes(s string, seed uint64) uint64 {
	a, b, c := hashStart(len(s), seed)
	for len(s) >= 12 {
		k := []byte(s[:12])
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
		a, b, c = hashMix(a, b, c)
		s = s[12:]
	}
	var k [12]byte
	copy(k[:], s)
	// The lowest byte of c is reserved for the length.
	if len(s) > 8 {
		copy(k[9:], s[8:])
		k[8] = 0
	}
	a += binary.LittleEndian.Uint32(k[:])
	b += binary.LittleEndian.Uint32(k[4:])
	c += binary.LittleEndian.Uint32(k[8:])
	b, c = hashFinal(a, b, c)
	return uint64(b)<<32 | uint64(c)
}

// HashUint32 is hash_uint32_extended.
func HashUint32(v uint32, seed uint64) uint64 {
	a, b, c := hashStart(4, seed)
	b, c = hashFinal(a+v, b, c)
	return uint64(b)<<32 | uint64(c)
}

// HashInt64 is hashint8extended.
func HashInt64(v int64, seed uint64) uint64 {
	lo, hi := uint32(v), uint32(v>>32)
	if v < 0 {
		hi = ^hi
	}
	return HashUint32(lo^hi, seed)
}

// HashFloat64 is hashfloat8extended.
func HashFloat64(f float64, seed uint64) uint64 {
	if f == 0 {
		return seed
	}
	if math.IsNaN(f) {
		f = math.Float64frombits(0x7FF8000000000000)
	}
	var k [8]byte
	binary.LittleEndian.PutUint64(k[:], math.Float64bits(f))
	return HashBytes(string(k[:]), seed)
}

// HashNumeric is hash_numeric_extended, given a value's text form.
func HashNumeric(text string, seed uint64) uint64 {
	neg := strings.TrimPrefix(text, "-")
	whole, frac, _ := strings.Cut(neg, ".")
	if whole == "" || whole[0] < '0' || whole[0] > '9' {
		return seed // NaN and the infinities
	}
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	frac += strings.Repeat("0", (4-len(frac)%4)%4)
	weight := len(whole)/4 - 1
	var digits []uint16 // base 10000
	for all := whole + frac; all != ""; all = all[4:] {
		n, _ := strconv.Atoi(all[:4])
		digits = append(digits, uint16(n))
	}
	for len(digits) > 0 && digits[0] == 0 {
		digits = digits[1:]
		weight--
	}
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	if len(digits) == 0 {
		return seed - 1
	}
	key := make([]byte, 0, 2*len(digits))
	for _, d := range digits {
		key = binary.LittleEndian.AppendUint16(key, d)
	}
	return HashBytes(string(key), seed) ^ uint64(int64(weight))
}

// HashExtended is the 64-bit hash that the default hash operator class of a type
// gives a value; ok is false for types without one here.
func HashExtended(t *Type, d Datum, seed uint64) (h uint64, ok bool) {
	for t != nil && t.Base != nil {
		t = t.Base
	}
	if t == nil {
		return 0, false
	}
	switch t.OID {
	case OIDBool:
		return HashUint32(uint32(int32(int8(d.I))), seed), true
	case OIDInt2, OIDInt4, OIDOid, OIDDate:
		return HashUint32(uint32(d.I), seed), true
	case OIDChar:
		return HashUint32(uint32(int32(int8(d.I))), seed), true
	case OIDInt8, OIDTimestamp, OIDTimestamptz, OIDTime, OIDPgLsn:
		return HashInt64(d.I, seed), true
	case OIDFloat4, OIDFloat8:
		return HashFloat64(d.Float(), seed), true
	case OIDText, OIDVarchar, OIDName, OIDBytea, OIDUuid, OIDMacaddr, OIDMacaddr8:
		return HashBytes(d.S, seed), true
	case OIDBpchar:
		return HashBytes(strings.TrimRight(d.S, " "), seed), true
	case OIDNumeric:
		return HashNumeric(string(t.Out(nil, nil, d)), seed), true
	}
	if t.TypType == 'e' {
		return HashUint32(uint32(d.I), seed), true
	}
	return 0, false
}
