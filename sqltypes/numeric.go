package sqltypes

import (
	"math"
	"math/big"
	"math/bits"

	"ostraka/sqltypes/pgerror"
)

// The forms of a numeric.
//
//	small: S == "": I × 10^-Aux; Aux is the display scale.
//	wide:  S[0] is the form below; a finite value goes on with its display scale
//	       (u16, big endian) and its magnitude (big endian, no leading zeros):
//	       ± magnitude × 10^-scale.
//
// A finite value whose integer I fits in an int64 is always small, so that most
// arithmetic is on machine words; 128-bit magnitudes come next, then math/big.
const (
	wideNeg  = 0
	widePos  = 1
	wideNaN  = 2
	widePInf = 3
	wideNInf = 4
)

// Limits of PostgreSQL's numeric.
const (
	numericMaxScale      = 16383            // NUMERIC_DSCALE_MAX
	numericMaxIntDigits  = 131072           // digits before the decimal point
	numericMinSigDigits  = 16               // NUMERIC_MIN_SIG_DIGITS
	numericMaxDispScale  = 1000             // NUMERIC_MAX_DISPLAY_SCALE
	numericMaxWeight     = (0x7fff+1)*4 + 1 // digits before the point, at most
	numericMaxResultSize = 2000             // NUMERIC_MAX_RESULT_SCALE
)

// The special values.
var (
	NumericNaN    = Datum{S: string([]byte{wideNaN})}
	NumericPosInf = Datum{S: string([]byte{widePInf})}
	NumericNegInf = Datum{S: string([]byte{wideNInf})}
)

// NumericInt is v with scale 0.
func NumericInt(v int64) Datum { return Datum{I: v} }

// NumericScaled is v × 10^-scale.
func NumericScaled(v int64, scale int32) Datum { return Datum{I: v, Aux: scale} }

// NumericIsNaN, NumericIsInf and NumericIsFinite classify a value.
func NumericIsNaN(d Datum) bool { return d.S != "" && d.S[0] == wideNaN }
func NumericIsInf(d Datum) bool {
	return d.S != "" && (d.S[0] == widePInf || d.S[0] == wideNInf)
}
func NumericIsFinite(d Datum) bool { return d.S == "" || d.S[0] <= widePos }

// NumericScale is the display scale, 0 for special values.
func NumericScale(d Datum) int32 {
	if d.S == "" {
		return d.Aux
	}
	if d.S[0] > widePos {
		return 0
	}
	return int32(be16(d.S[1:]))
}

// NumericSign is -1, 0 or 1; NaN has 1.
func NumericSign(d Datum) int {
	if d.S == "" {
		return cmpInt64(d.I, 0)
	}
	switch d.S[0] {
	case wideNeg, wideNInf:
		return -1
	}
	return 1
}

func cmpInt64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// absU is the magnitude of an int64.
func absU(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// mag128 gives sign and magnitude when the magnitude fits in 128 bits.
func mag128(d Datum) (neg bool, m u128, ok bool) {
	if d.S == "" {
		return d.I < 0, u128{0, absU(d.I)}, true
	}
	b := d.S[3:]
	if len(b) > 16 {
		return false, m, false
	}
	for i := 0; i < len(b); i++ {
		m.hi = m.hi<<8 | m.lo>>56
		m.lo = m.lo<<8 | uint64(b[i])
	}
	return d.S[0] == wideNeg, m, true
}

// numericBig gives the signed integer of a finite value (value × 10^scale).
func numericBig(d Datum) *big.Int {
	if d.S == "" {
		return big.NewInt(d.I)
	}
	z := new(big.Int).SetBytes([]byte(d.S[3:]))
	if d.S[0] == wideNeg {
		z.Neg(z)
	}
	return z
}

// makeNumeric128 builds ± m × 10^-scale.
func makeNumeric128(neg bool, m u128, scale int32) Datum {
	if m.hi == 0 && m.lo <= math.MaxInt64 {
		v := int64(m.lo)
		if neg {
			v = -v
		}
		return Datum{I: v, Aux: scale}
	}
	if neg && m.hi == 0 && m.lo == 1<<63 {
		return Datum{I: math.MinInt64, Aux: scale}
	}
	var b [19]byte
	b[0] = widePos
	if neg {
		b[0] = wideNeg
	}
	b[1], b[2] = byte(scale>>8), byte(scale)
	n := 3
	skip := true
	for i := 15; i >= 0; i-- {
		w := m.lo
		if i >= 8 {
			w = m.hi
		}
		c := byte(w >> (8 * (i & 7)))
		if skip && c == 0 {
			continue
		}
		skip = false
		b[n] = c
		n++
	}
	return Datum{S: string(b[:n])}
}

// makeNumericBig builds v × 10^-scale, 0 ≤ scale ≤ 16383; 22003 when it has too
// many digits before the decimal point.
func makeNumericBig(v *big.Int, scale int32) (Datum, error) {
	if v.IsInt64() {
		return Datum{I: v.Int64(), Aux: scale}, nil
	}
	if v.BitLen() > 435000 && bigDigits(v)-int(scale) > numericMaxIntDigits {
		return Null, numericOverflow()
	}
	b := make([]byte, 3+(v.BitLen()+7)/8)
	b[0] = widePos
	if v.Sign() < 0 {
		b[0] = wideNeg
	}
	b[1], b[2] = byte(scale>>8), byte(scale)
	v.FillBytes(b[3:])
	return Bytes(b), nil
}

func numericOverflow() error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "value overflows numeric format")
}

// bigDigits is the number of decimal digits of |v|, 0 for 0.
func bigDigits(v *big.Int) int {
	if v.Sign() == 0 {
		return 0
	}
	if v.IsUint64() {
		return decimalLen(v.Uint64())
	}
	n := int(float64(v.BitLen()-1) * math.Log10(2))
	if v.CmpAbs(bigPow10(n)) >= 0 {
		n++
		if v.CmpAbs(bigPow10(n)) >= 0 {
			n++
		}
	}
	return n
}

// leading gives the exponent e (10^(e-1) ≤ |d| < 10^e) of a finite value; zero is !ok.
func leading(d Datum) (e int, ok bool) {
	if d.S == "" {
		if d.I == 0 {
			return 0, false
		}
		return decimalLen(absU(d.I)) - int(d.Aux), true
	}
	return bigDigits(numericBig(d)) - int(NumericScale(d)), true
}

// base10000 gives what PostgreSQL keeps of a value: the weight (power of 10000)
// of its first base-10000 digit, and that digit; 0, 0 for zero.
func base10000(d Datum) (weight, first int) {
	e, ok := leading(d)
	if !ok {
		return 0, 0
	}
	weight = floorDiv(e-1, 4)
	keep := e - 4*weight // decimal digits in the first base-10000 digit
	return weight, int(leadingDigits(d, keep))
}

// leadingDigits is the number made of the first n ≤ 18 significant digits of a
// non-zero value, zeros appended when it has fewer.
func leadingDigits(d Datum, n int) uint64 {
	if d.S == "" {
		v := absU(d.I)
		have := decimalLen(v)
		if have > n {
			return v / pow10u[have-n]
		}
		return v * pow10u[n-have]
	}
	v := numericBig(d)
	v.Abs(v)
	have := bigDigits(v)
	if have > n {
		v.Quo(v, bigPow10(have-n))
	} else {
		v.Mul(v, bigPow10(n-have))
	}
	return v.Uint64()
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// NumericCmp is the numeric order: -Infinity, finite values, Infinity, NaN; NaN equals NaN.
func NumericCmp(a, b Datum) int {
	if a.S == "" && b.S == "" {
		if a.Aux == b.Aux {
			return cmpInt64(a.I, b.I)
		}
		return cmpSmall(a, b)
	}
	if !NumericIsFinite(a) || !NumericIsFinite(b) {
		return cmpInt(specialRank(a), specialRank(b))
	}
	if sa, sb := NumericSign(a), NumericSign(b); sa != sb {
		return cmpInt(sa, sb)
	}
	x, y := numericBig(a), numericBig(b)
	sa, sb := NumericScale(a), NumericScale(b)
	if sa < sb {
		x.Mul(x, bigPow10(int(sb-sa)))
	} else if sb < sa {
		y.Mul(y, bigPow10(int(sa-sb)))
	}
	return x.Cmp(y)
}

func specialRank(d Datum) int {
	if d.S == "" {
		return 0
	}
	switch d.S[0] {
	case wideNInf:
		return -1
	case widePInf:
		return 1
	case wideNaN:
		return 2
	}
	return 0
}

func cmpSmall(a, b Datum) int {
	if sa, sb := cmpInt64(a.I, 0), cmpInt64(b.I, 0); sa != sb || sa == 0 {
		return cmpInt(sa, sb)
	}
	sign := cmpInt64(a.I, 0)
	x, y := absU(a.I), absU(b.I)
	d := int(b.Aux - a.Aux)
	swap := d < 0
	if swap {
		x, y, d = y, x, -d
	}
	// Compare x·10^d with y.
	c := 1
	if d <= 19 {
		hi, lo := bits.Mul64(x, pow10u[d])
		c = u128{hi, lo}.cmp(u128{0, y})
	}
	if swap {
		c = -c
	}
	return c * sign
}

// NumericHash agrees with NumericCmp: scale does not matter.
func NumericHash(d Datum) uint64 {
	if !NumericIsFinite(d) {
		return HashInt(int64(d.S[0]) << 56)
	}
	d = NumericTrimScale(d)
	if d.S == "" {
		return HashInt(d.I) + uint64(d.Aux)*0x9E3779B97F4A7C15
	}
	return HashString(d.S)
}

// NumericTrimScale removes trailing fractional zeros (trim_scale).
func NumericTrimScale(d Datum) Datum {
	if !NumericIsFinite(d) {
		return d
	}
	if d.S == "" {
		v, s := d.I, d.Aux
		if v == 0 {
			return Datum{}
		}
		for s > 0 && v%10 == 0 {
			v /= 10
			s--
		}
		return Datum{I: v, Aux: s}
	}
	v, s := numericBig(d), NumericScale(d)
	var q, r big.Int
	for s > 0 {
		q.QuoRem(v, big10, &r)
		if r.Sign() != 0 {
			break
		}
		v.Set(&q)
		s--
	}
	out, err := makeNumericBig(v, s)
	if err != nil {
		return d
	}
	return out
}

// NumericMinScale is the smallest scale that holds the value exactly (min_scale).
func NumericMinScale(d Datum) int32 { return NumericScale(NumericTrimScale(d)) }
