package sqltypes

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// ParseInt reads an integer of 16, 32 or 64 bits as PostgreSQL 15 does: decimal
// digits with an optional sign, spaces around. Errors: 22P02, 22003 naming typ.
func ParseInt(s string, bits int, typ string) (int64, error) {
	t := strings.Trim(s, spaces)
	neg := false
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	if t == "" {
		return 0, badSyntax(typ, s)
	}
	limit := uint64(1) << (bits - 1) // magnitude of the smallest value
	if !neg {
		limit--
	}
	var v uint64
	over := false
	for i := 0; i < len(t); i++ {
		c := t[i] - '0'
		if c > 9 {
			return 0, badSyntax(typ, s)
		}
		if over {
			continue
		}
		if v > limit/10 || v*10+uint64(c) > limit {
			// As in PostgreSQL, the range error wins over junk that follows.
			return 0, outOfRangeText(s, typ)
		}
		v = v*10 + uint64(c)
	}
	if neg {
		return -int64(v), nil
	}
	return int64(v), nil
}

func outOfRangeText(s, typ string) error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, typ)
}

// IntOutOfRange is the 22003 of arithmetic and casts: "integer out of range".
// typ is the SQL spelling: smallint, integer, bigint.
func IntOutOfRange(typ string) error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "%s out of range", typ)
}

func intCodec(bits int, typ string) codec {
	n := bits / 8
	return codec{
		kind: KInt,
		in: func(_ *Env, s string, _ int32) (Datum, error) {
			v, err := ParseInt(s, bits, typ)
			if err != nil {
				return Null, err
			}
			return Int(v), nil
		},
		out: func(_ *Env, dst []byte, d Datum) []byte { return strconv.AppendInt(dst, d.I, 10) },
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			if len(b) != n {
				return Null, badBinary(len(b), n)
			}
			switch n {
			case 2:
				return Int(int64(int16(binary.BigEndian.Uint16(b)))), nil
			case 4:
				return Int(int64(int32(binary.BigEndian.Uint32(b)))), nil
			}
			return Int(int64(binary.BigEndian.Uint64(b))), nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			switch n {
			case 2:
				return binary.BigEndian.AppendUint16(dst, uint16(d.I))
			case 4:
				return binary.BigEndian.AppendUint32(dst, uint32(d.I))
			}
			return binary.BigEndian.AppendUint64(dst, uint64(d.I))
		},
		compare: compareI, hash: hashI,
	}
}

func int2Codec() codec { return intCodec(16, "smallint") }
func int4Codec() codec { return intCodec(32, "integer") }
func int8Codec() codec { return intCodec(64, "bigint") }

// parseOID reads an unsigned 32-bit number; like strtoul, PostgreSQL lets a
// negative number of 32 bits wrap.
func parseOID(s, typ string) (int64, error) {
	t := strings.Trim(s, spaces)
	if t == "" {
		return 0, badSyntax(typ, s)
	}
	neg := t[0] == '-'
	digits := strings.TrimLeft(t, "+-")
	if len(t)-len(digits) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, badSyntax(typ, s)
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || !neg && v > math.MaxUint32 || neg && v > 1<<31 {
		return 0, outOfRangeText(s, typ)
	}
	if neg {
		return int64(uint32(-int64(v))), nil
	}
	return int64(v), nil
}

func uint32Codec(in func(env *Env, s string, typmod int32) (Datum, error)) codec {
	c := intCodec(32, "")
	c.in = in
	c.recv = func(_ *Env, b []byte, _ int32) (Datum, error) {
		if len(b) != 4 {
			return Null, badBinary(len(b), 4)
		}
		return Int(int64(binary.BigEndian.Uint32(b))), nil
	}
	return c
}

func oidCodec(typ string) codec {
	return uint32Codec(func(_ *Env, s string, _ int32) (Datum, error) {
		v, err := parseOID(s, typ)
		return Int(v), err
	})
}

// leadingUint reads a number like strtoull and ignores what follows: xid, cid
// and xid8 never reject text.
func leadingUint(s string) uint64 {
	s = strings.TrimLeft(s, spaces)
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	i := 0
	base := 10
	if len(s) > 1 && s[0] == '0' {
		base = 8
		if len(s) > 2 && s[1]|0x20 == 'x' {
			base = 16
			s = s[2:]
		}
	}
	for i < len(s) && digitOf(s[i]) < base {
		i++
	}
	if i == 0 {
		return 0
	}
	v, err := strconv.ParseUint(s[:i], base, 64)
	if err != nil {
		return math.MaxUint64
	}
	if neg {
		return -v
	}
	return v
}

func digitOf(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}

func xidCodec() codec {
	c := uint32Codec(func(_ *Env, s string, _ int32) (Datum, error) {
		return Int(int64(uint32(leadingUint(s)))), nil
	})
	c.compare = compareI
	return c
}

func xid8Codec() codec {
	c := intCodec(64, "")
	c.in = func(_ *Env, s string, _ int32) (Datum, error) { return Int(int64(leadingUint(s))), nil }
	c.out = func(_ *Env, dst []byte, d Datum) []byte { return strconv.AppendUint(dst, uint64(d.I), 10) }
	c.compare = compareU
	return c
}
