package sqltypes

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// nan has the bits of C's NaN, which clients see in binary; math.NaN has others.
var nan = math.Float64frombits(0x7ff8 << 48)

// ParseFloat reads a float of 32 or 64 bits as PostgreSQL does. typ is the SQL
// spelling for errors (22P02, 22003).
func ParseFloat(s string, bits int, typ string) (float64, error) {
	t := strings.Trim(s, spaces)
	if t == "" {
		return 0, badSyntax(typ, s)
	}
	body, neg := t, false
	if t[0] == '+' || t[0] == '-' {
		neg = t[0] == '-'
		body = t[1:]
	}
	switch strings.ToLower(body) {
	case "nan":
		return nan, nil
	case "inf", "infinity":
		if neg {
			return math.Inf(-1), nil
		}
		return math.Inf(1), nil
	}
	hex := len(body) > 2 && body[0] == '0' && body[1]|0x20 == 'x'
	if hex {
		if !strings.ContainsAny(body, "pP") {
			t += "p0"
		}
	} else if body == "" || !isDigit(body[0]) && body[0] != '.' {
		return 0, badSyntax(typ, s)
	}
	if strings.IndexByte(t, '_') >= 0 {
		return 0, badSyntax(typ, s)
	}
	v, err := strconv.ParseFloat(t, bits)
	if err != nil {
		if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
			return 0, floatTextRange(strings.TrimLeft(t, "+"), typ)
		}
		return 0, badSyntax(typ, s)
	}
	if v == 0 && !hex && strings.ContainsAny(mantissa(body), "123456789") {
		return 0, floatTextRange(t, typ) // underflow
	}
	return v, nil
}

func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}

func floatTextRange(s, typ string) error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "\"%s\" is out of range for type %s", s, typ)
}

// FloatOverflow and FloatUnderflow are the 22003 of float arithmetic.
func FloatOverflow() error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "value out of range: overflow")
}
func FloatUnderflow() error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "value out of range: underflow")
}

// AppendFloat writes v (of 32 or 64 bits) as PostgreSQL 15 does under extra_float_digits.
func AppendFloat(dst []byte, v float64, bits, extraDigits int) []byte {
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	digits := 15 // DBL_DIG
	if bits == 32 {
		digits = 6 // FLT_DIG
	}
	if extraDigits > 0 {
		return appendShortest(dst, v, bits, digits)
	}
	return appendG(dst, v, max(digits+extraDigits, 1))
}

// appendShortest writes the shortest text that reads back as v; exponents below
// -4 or from digits on use scientific notation.
func appendShortest(dst []byte, v float64, bits, digits int) []byte {
	if v == 0 {
		if math.Signbit(v) {
			dst = append(dst, '-')
		}
		return append(dst, '0')
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], v, 'e', -1, bits)
	exp, _ := strconv.Atoi(string(e[bytes.IndexByte(e, 'e')+1:]))
	if exp < -4 || exp >= digits {
		return append(dst, e...)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, bits)
}

// appendG is C's %.{prec}g.
func appendG(dst []byte, v float64, prec int) []byte {
	if v == 0 {
		return appendShortest(dst, v, 64, prec)
	}
	var buf [40]byte
	e := strconv.AppendFloat(buf[:0], v, 'e', prec-1, 64)
	i := bytes.IndexByte(e, 'e')
	exp, _ := strconv.Atoi(string(e[i+1:]))
	if exp < -4 || exp >= prec {
		m := e[:i]
		if bytes.IndexByte(m, '.') >= 0 {
			m = bytes.TrimRight(bytes.TrimRight(m, "0"), ".")
		}
		dst = append(dst, m...)
		return append(dst, e[i:]...)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', max(prec-1-exp, 0), 64)
	if bytes.IndexByte(dst[n:], '.') >= 0 {
		dst = append(dst[:n], bytes.TrimRight(bytes.TrimRight(dst[n:], "0"), ".")...)
	}
	return dst
}

// CompareFloat is PostgreSQL's float order: NaN equals NaN and is above Infinity.
func CompareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

func floatCodec(bits int, typ string) codec {
	n := bits / 8
	return codec{
		kind: KFloat,
		in: func(_ *Env, s string, _ int32) (Datum, error) {
			v, err := ParseFloat(s, bits, typ)
			if err != nil {
				return Null, err
			}
			return Float(v), nil
		},
		out: func(env *Env, dst []byte, d Datum) []byte {
			extra := 1
			if env != nil {
				extra = env.ExtraFloatDigits
			}
			return AppendFloat(dst, d.Float(), bits, extra)
		},
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			if len(b) != n {
				return Null, badBinary(len(b), n)
			}
			if n == 4 {
				return Float(float64(math.Float32frombits(binary.BigEndian.Uint32(b)))), nil
			}
			return Datum{I: int64(binary.BigEndian.Uint64(b))}, nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			if n == 4 {
				return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(d.Float())))
			}
			return binary.BigEndian.AppendUint64(dst, uint64(d.I))
		},
		compare: func(a, b Datum) int { return CompareFloat(a.Float(), b.Float()) },
		hash:    func(d Datum) uint64 { return HashFloat(d.Float()) },
	}
}

func float4Codec() codec { return floatCodec(32, "real") }
func float8Codec() codec { return floatCodec(64, "double precision") }
