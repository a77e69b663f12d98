package builtin

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// PostgreSQL's hash functions (Bob Jenkins' lookup3), which users call for
// advisory lock keys and sampling. Ostraka's own hash tables use package
// sqltypes' hashes.

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

// hashBytes hashes a key; the low half of the result is the 32-bit hash.
func hashBytes(s string, seed uint64) uint64 {
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

func hashUint32(v uint32, seed uint64) uint64 {
	a, b, c := hashStart(4, seed)
	b, c = hashFinal(a+v, b, c)
	return uint64(b)<<32 | uint64(c)
}

func hashInt64(v int64, seed uint64) uint64 {
	lo, hi := uint32(v), uint32(v>>32)
	if v < 0 {
		hi = ^hi
	}
	return hashUint32(lo^hi, seed)
}

func hashFloat64(f float64, seed uint64) uint64 {
	if f == 0 {
		return seed
	}
	if math.IsNaN(f) {
		f = math.Float64frombits(0x7FF8000000000000)
	}
	var k [8]byte
	binary.LittleEndian.PutUint64(k[:], math.Float64bits(f))
	return hashBytes(string(k[:]), seed)
}

func init() {
	for name, h := range map[string]func(d Datum, seed uint64) uint64{
		"hashtext":       func(d Datum, seed uint64) uint64 { return hashBytes(d.S, seed) },
		"hashname":       func(d Datum, seed uint64) uint64 { return hashBytes(d.S, seed) },
		"hashbpchar":     func(d Datum, seed uint64) uint64 { return hashBytes(trimmed(d.S), seed) },
		"hashint2":       func(d Datum, seed uint64) uint64 { return hashUint32(uint32(d.I), seed) },
		"hashint4":       func(d Datum, seed uint64) uint64 { return hashUint32(uint32(d.I), seed) },
		"hashoid":        func(d Datum, seed uint64) uint64 { return hashUint32(uint32(d.I), seed) },
		"hashenum":       func(d Datum, seed uint64) uint64 { return hashUint32(uint32(d.I), seed) },
		"hashchar":       func(d Datum, seed uint64) uint64 { return hashUint32(uint32(int32(int8(d.I))), seed) },
		"hashint8":       func(d Datum, seed uint64) uint64 { return hashInt64(d.I, seed) },
		"hashfloat4":     func(d Datum, seed uint64) uint64 { return hashFloat64(d.Float(), seed) },
		"hashfloat8":     func(d Datum, seed uint64) uint64 { return hashFloat64(d.Float(), seed) },
		"hashmacaddr":    func(d Datum, seed uint64) uint64 { return hashBytes(d.S, seed) },
		"hashmacaddr8":   func(d Datum, seed uint64) uint64 { return hashBytes(d.S, seed) },
		"hashvarlena":    func(d Datum, seed uint64) uint64 { return hashBytes(d.S, seed) },
		"uuid_hash":      func(d Datum, seed uint64) uint64 { return hashBytes(d.S, seed) },
		"timestamp_hash": func(d Datum, seed uint64) uint64 { return hashInt64(d.I, seed) },
		"time_hash":      func(d Datum, seed uint64) uint64 { return hashInt64(d.I, seed) },
		"pg_lsn_hash":    func(d Datum, seed uint64) uint64 { return hashInt64(d.I, seed) },
	} {
		extended := name + "extended"
		if name[len(name)-5:] == "_hash" {
			extended = name + "_extended"
		}
		scalarTable{
			name:     func(_ *Call, a []Datum) (Datum, error) { return integer(int64(int32(uint32(h(a[0], 0))))) },
			extended: func(_ *Call, a []Datum) (Datum, error) { return integer(int64(h(a[0], uint64(a[1].I)))) },
		}.register()
	}
}
