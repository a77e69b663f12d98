package sqltypes

import (
	"encoding/binary"
	"math/big"
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// ParseNumeric reads numeric text: digits, a point, an exponent, NaN, ±Infinity.
// Errors: 22P02, 22003.
func ParseNumeric(s string) (Datum, error) {
	t := strings.Trim(s, spaces)
	body, neg, signed := t, false, false
	if t != "" && (t[0] == '+' || t[0] == '-') {
		neg, signed = t[0] == '-', true
		body = t[1:]
	}
	if body == "" {
		return Null, badSyntax("numeric", s)
	}
	if !isDigit(body[0]) && body[0] != '.' {
		switch strings.ToLower(body) {
		case "nan":
			if !signed {
				return NumericNaN, nil
			}
		case "inf", "infinity":
			if neg {
				return NumericNegInf, nil
			}
			return NumericPosInf, nil
		}
		return Null, badSyntax("numeric", s)
	}
	var v uint64 // the digits, while they fit
	nd, frac, point, i := 0, 0, false, 0
	fits := true
	for ; i < len(body); i++ {
		c := body[i]
		if c == '.' {
			if point {
				return Null, badSyntax("numeric", s)
			}
			point = true
			continue
		}
		if !isDigit(c) {
			break
		}
		nd++
		if point {
			frac++
		}
		if v > (1<<63-10)/10 {
			fits = false
		} else {
			v = v*10 + uint64(c-'0')
		}
	}
	if nd == 0 {
		return Null, badSyntax("numeric", s)
	}
	digits, exp := body[:i], 0
	if i < len(body) {
		if body[i]|0x20 != 'e' {
			return Null, badSyntax("numeric", s)
		}
		e := body[i+1:]
		d := strings.TrimLeft(e, "+-")
		if d == "" || len(e)-len(d) > 1 || strings.Trim(d, "0123456789") != "" {
			return Null, badSyntax("numeric", s)
		}
		var err error
		if exp, err = strconv.Atoi(e); err != nil || exp > 1<<30 || exp < -(1<<30) {
			return Null, numericOverflow()
		}
	}
	scale := frac - exp // value = digits × 10^-scale
	if fits && scale >= 0 && scale <= numericMaxScale {
		n := int64(v)
		if neg {
			n = -n
		}
		return Datum{I: n, Aux: int32(scale)}, nil
	}
	text := strings.TrimLeft(strings.Replace(digits, ".", "", 1), "0")
	if text == "" {
		if scale > numericMaxScale {
			return Null, numericOverflow()
		}
		return Datum{Aux: int32(max(scale, 0))}, nil
	}
	if scale > numericMaxScale || len(text)-scale > numericMaxIntDigits {
		return Null, numericOverflow()
	}
	z, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return Null, badSyntax("numeric", s)
	}
	if scale < 0 {
		z.Mul(z, bigPow10(-scale))
		scale = 0
	}
	if neg {
		z.Neg(z)
	}
	return makeNumericBig(z, int32(scale))
}

// AppendNumeric writes the value with all digits of its display scale.
func AppendNumeric(dst []byte, d Datum) []byte {
	if d.S == "" {
		if d.Aux == 0 {
			return strconv.AppendInt(dst, d.I, 10)
		}
		var buf [20]byte
		digits := strconv.AppendUint(buf[:0], absU(d.I), 10)
		if d.I < 0 {
			dst = append(dst, '-')
		}
		return appendPoint(dst, digits, int(d.Aux))
	}
	switch d.S[0] {
	case wideNaN:
		return append(dst, "NaN"...)
	case widePInf:
		return append(dst, "Infinity"...)
	case wideNInf:
		return append(dst, "-Infinity"...)
	}
	if d.S[0] == wideNeg {
		dst = append(dst, '-')
	}
	var buf [40]byte
	var digits []byte
	if _, m, ok := mag128(d); ok {
		q, r := m.div64(pow10u[18])
		if q.hi == 0 {
			digits = strconv.AppendUint(buf[:0], q.lo, 10)
			var low [20]byte
			tail := strconv.AppendUint(low[:0], r+pow10u[18], 10) // a leading 1 keeps the zeros
			digits = append(digits, tail[1:]...)
		}
	}
	if digits == nil {
		z := new(big.Int).SetBytes([]byte(d.S[3:]))
		digits = z.Append(nil, 10)
	}
	return appendPoint(dst, digits, int(NumericScale(d)))
}

func appendPoint(dst, digits []byte, scale int) []byte {
	if scale == 0 {
		return append(dst, digits...)
	}
	if len(digits) <= scale {
		dst = append(dst, '0', '.')
		for i := len(digits); i < scale; i++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	dst = append(dst, '.')
	return append(dst, digits[len(digits)-scale:]...)
}

// NumericString is AppendNumeric as a string.
func NumericString(d Datum) string { return string(AppendNumeric(nil, d)) }

// ApplyNumericTypMod rounds to numeric(p,s) and answers 22003 with PostgreSQL's
// DETAIL when the value does not fit. typmod < 4 leaves the value alone.
func ApplyNumericTypMod(d Datum, typmod int32) (Datum, error) {
	p, s, ok := NumericPrecisionScale(typmod)
	if !ok || NumericIsNaN(d) {
		return d, nil
	}
	if NumericIsInf(d) {
		return Null, pgerror.New(pgerror.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d cannot hold an infinite value.", p, s)
	}
	d, err := numericRound(d, s)
	if err != nil {
		return Null, err
	}
	if e, nonzero := leading(d); nonzero && e > p-s {
		limit := "1"
		if p != s {
			limit = "10^" + strconv.Itoa(p-s)
		}
		return Null, pgerror.New(pgerror.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d must round to an absolute value less than %s.", p, s, limit)
	}
	return d, nil
}

// Signs of the binary form.
const (
	numericPos    = 0x0000
	numericNeg    = 0x4000
	numericNaN    = 0xC000
	numericPosInf = 0xD000
	numericNegInf = 0xF000
)

func recvNumeric(_ *Env, b []byte, typmod int32) (Datum, error) {
	r := &wireReader{b: b}
	n, weight, sign, scale := int(r.u16()), int(int16(r.u16())), r.u16(), r.u16()
	if r.short {
		return Null, r.done()
	}
	bad := func(what string) error {
		return pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid %s in external \"numeric\" value", what)
	}
	switch sign {
	case numericPos, numericNeg, numericNaN, numericPosInf, numericNegInf:
	default:
		return Null, bad("sign")
	}
	if scale > numericMaxScale {
		return Null, bad("scale")
	}
	if n > len(r.b)/2 {
		return Null, badBinary(0, 1)
	}
	z := new(big.Int)
	if n <= 4 {
		v := uint64(0)
		for i := 0; i < n; i++ {
			d := r.u16()
			if d > 9999 {
				return Null, bad("digit")
			}
			v = v*10000 + uint64(d)
		}
		z.SetUint64(v)
	} else {
		text := make([]byte, 0, 4*n)
		for i := 0; i < n; i++ {
			d := r.u16()
			if d > 9999 {
				return Null, bad("digit")
			}
			text = append(text, byte('0'+d/1000), byte('0'+d/100%10), byte('0'+d/10%10), byte('0'+d%10))
		}
		z.SetString(string(text), 10)
	}
	if err := r.done(); err != nil {
		return Null, err
	}
	var d Datum
	switch sign {
	case numericNaN:
		d = NumericNaN
	case numericPosInf:
		d = NumericPosInf
	case numericNegInf:
		d = NumericNegInf
	default:
		// The digits stand for z × 10000^(weight-n+1); bring that to the scale, cutting what is below it.
		shift := 4*(weight-n+1) + int(scale)
		if shift >= 0 {
			z.Mul(z, bigPow10(shift))
		} else {
			z.Quo(z, bigPow10(-shift))
		}
		if sign == numericNeg {
			z.Neg(z)
		}
		var err error
		if d, err = makeNumericBig(z, int32(scale)); err != nil {
			return Null, err
		}
	}
	return ApplyNumericTypMod(d, typmod)
}

func sendNumeric(_ *Env, dst []byte, d Datum) []byte {
	be := binary.BigEndian
	head := func(n, weight int, sign uint16, scale int32) {
		dst = be.AppendUint16(dst, uint16(n))
		dst = be.AppendUint16(dst, uint16(weight))
		dst = be.AppendUint16(dst, sign)
		dst = be.AppendUint16(dst, uint16(scale))
	}
	switch {
	case NumericIsNaN(d):
		head(0, 0, numericNaN, 0)
		return dst
	case NumericIsInf(d): // PostgreSQL sends part of its header as the scale
		if NumericSign(d) > 0 {
			head(0, 0, numericPosInf, 32)
		} else {
			head(0, 0, numericNegInf, 32)
		}
		return dst
	}
	scale := int(NumericScale(d))
	var buf [48]byte
	text := AppendNumeric(buf[:0], d)
	sign := uint16(numericPos)
	if text[0] == '-' {
		sign, text = numericNeg, text[1:]
	}
	intLen := len(text)
	if scale > 0 {
		intLen -= scale + 1
	}
	// Walk the text in groups of four digits aligned to the point.
	digit := func(pos int) byte { // pos counts from the point: -1 is the last integer digit
		switch {
		case pos < 0:
			if i := intLen + pos; i >= 0 {
				return text[i] - '0'
			}
		case pos < scale:
			return text[intLen+1+pos] - '0'
		}
		return 0
	}
	first := -floorDiv(intLen+3, 4)
	last := (scale + 3) / 4
	group := func(g int) uint16 {
		v := uint16(0)
		for i := 0; i < 4; i++ {
			v = v*10 + uint16(digit(4*g+i))
		}
		return v
	}
	for first < last && group(first) == 0 {
		first++
	}
	for last > first && group(last-1) == 0 {
		last--
	}
	if first == last {
		head(0, 0, numericPos, int32(scale))
		return dst
	}
	head(last-first, -first-1, sign, int32(scale))
	for g := first; g < last; g++ {
		dst = be.AppendUint16(dst, group(g))
	}
	return dst
}

func numericCodec() codec {
	return codec{
		kind: KNumeric,
		in: func(_ *Env, s string, typmod int32) (Datum, error) {
			d, err := ParseNumeric(s)
			if err != nil {
				return Null, err
			}
			return ApplyNumericTypMod(d, typmod)
		},
		out:     func(_ *Env, dst []byte, d Datum) []byte { return AppendNumeric(dst, d) },
		recv:    recvNumeric,
		send:    sendNumeric,
		compare: NumericCmp,
		hash:    NumericHash,
	}
}
