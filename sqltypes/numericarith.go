package sqltypes

import (
	"math"
	"math/big"
	"math/bits"

	"ostraka/sqltypes/pgerror"
)

// DivisionByZero is the 22012 of every division.
func DivisionByZero() error { return pgerror.New(pgerror.DivisionByZero, "division by zero") }

// NumericNeg is -d.
func NumericNeg(d Datum) Datum {
	if d.S == "" {
		if d.I == math.MinInt64 {
			return makeNumeric128(false, u128{0, 1 << 63}, d.Aux)
		}
		d.I = -d.I
		return d
	}
	switch d.S[0] {
	case wideNaN:
		return d
	case widePInf:
		return NumericNegInf
	case wideNInf:
		return NumericPosInf
	}
	if d.S[0] == widePos {
		// 2^63 is wide, -2^63 is small.
		if neg, m, ok := mag128(d); ok {
			return makeNumeric128(!neg, m, NumericScale(d))
		}
	}
	b := []byte(d.S)
	b[0] ^= 1
	return Bytes(b)
}

// NumericAbs is |d|.
func NumericAbs(d Datum) Datum {
	if NumericSign(d) < 0 {
		return NumericNeg(d)
	}
	return d
}

// NumericAdd is a + b; the scale is the larger of the two.
func NumericAdd(a, b Datum) (Datum, error) {
	if a.S == "" && b.S == "" {
		x, y, scale := a.I, b.I, a.Aux
		ok := true
		if a.Aux != b.Aux {
			if a.Aux < b.Aux {
				scale = b.Aux
				x, ok = mulPow10Int(x, int(b.Aux-a.Aux))
			} else {
				y, ok = mulPow10Int(y, int(a.Aux-b.Aux))
			}
		}
		if ok {
			if s := x + y; (s > x) == (y > 0) {
				return Datum{I: s, Aux: scale}, nil
			}
		}
	}
	return numericAddWide(a, b)
}

// mulPow10Int is v × 10^k when that fits.
func mulPow10Int(v int64, k int) (int64, bool) {
	if v == 0 {
		return 0, true
	}
	if k > 18 {
		return 0, false
	}
	hi, lo := bits.Mul64(absU(v), pow10u[k])
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if v < 0 {
		return -int64(lo), true
	}
	return int64(lo), true
}

func numericAddWide(a, b Datum) (Datum, error) {
	if !NumericIsFinite(a) || !NumericIsFinite(b) {
		switch {
		case NumericIsNaN(a) || NumericIsNaN(b):
			return NumericNaN, nil
		case NumericIsInf(a) && NumericIsInf(b):
			if NumericSign(a) != NumericSign(b) {
				return NumericNaN, nil
			}
			return a, nil
		case NumericIsInf(a):
			return a, nil
		}
		return b, nil
	}
	sa, sb := NumericScale(a), NumericScale(b)
	scale := max(sa, sb)
	if na, x, ok := mag128(a); ok {
		if nb, y, ok := mag128(b); ok {
			x, ok1 := x.mulPow10(int(scale - sa))
			y, ok2 := y.mulPow10(int(scale - sb))
			if ok1 && ok2 {
				if na == nb {
					if s, ok := x.add(y); ok {
						return makeNumeric128(na, s, scale), nil
					}
				} else if x.cmp(y) >= 0 {
					return makeNumeric128(na, x.sub(y), scale), nil
				} else {
					return makeNumeric128(nb, y.sub(x), scale), nil
				}
			}
		}
	}
	x, y := numericBig(a), numericBig(b)
	if sa < scale {
		x.Mul(x, bigPow10(int(scale-sa)))
	}
	if sb < scale {
		y.Mul(y, bigPow10(int(scale-sb)))
	}
	return makeNumericBig(x.Add(x, y), scale)
}

// NumericSub is a - b.
func NumericSub(a, b Datum) (Datum, error) { return NumericAdd(a, NumericNeg(b)) }

// NumericMul is a × b; the scale is the sum of both, at most 16383.
func NumericMul(a, b Datum) (Datum, error) {
	if a.S == "" && b.S == "" {
		hi, lo := bits.Mul64(absU(a.I), absU(b.I))
		if scale := a.Aux + b.Aux; scale <= numericMaxScale {
			neg := (a.I < 0) != (b.I < 0)
			if hi == 0 && lo <= math.MaxInt64 {
				v := int64(lo)
				if neg {
					v = -v
				}
				return Datum{I: v, Aux: scale}, nil
			}
			return makeNumeric128(neg, u128{hi, lo}, scale), nil
		}
	}
	if !NumericIsFinite(a) || !NumericIsFinite(b) {
		if NumericIsNaN(a) || NumericIsNaN(b) {
			return NumericNaN, nil
		}
		return infOfSign(NumericSign(a) * NumericSign(b)), nil
	}
	scale := NumericScale(a) + NumericScale(b)
	z := numericBig(a)
	z.Mul(z, numericBig(b))
	if scale > numericMaxScale {
		z = roundQuo(z, bigPow10(int(scale-numericMaxScale)))
		scale = numericMaxScale
	}
	return makeNumericBig(z, scale)
}

// infOfSign is ±Infinity, NaN for 0 (Infinity × 0).
func infOfSign(sign int) Datum {
	switch {
	case sign > 0:
		return NumericPosInf
	case sign < 0:
		return NumericNegInf
	}
	return NumericNaN
}

// roundQuo is x/y rounded half away from zero; x is overwritten.
func roundQuo(x, y *big.Int) *big.Int {
	var r big.Int
	sign := x.Sign() * y.Sign()
	x.QuoRem(x, y, &r)
	r.Abs(&r)
	r.Lsh(&r, 1)
	if r.CmpAbs(y) >= 0 {
		if sign < 0 {
			x.Sub(x, bigPow10Table[0])
		} else {
			x.Add(x, bigPow10Table[0])
		}
	}
	return x
}

// divScale is PostgreSQL's select_div_scale: at least 16 significant digits and
// not less than either operand's scale.
func divScale(a, b Datum) int {
	w1, f1 := base10000(a)
	w2, f2 := base10000(b)
	q := w1 - w2
	if f1 <= f2 {
		q--
	}
	rscale := numericMinSigDigits - 4*q
	rscale = max(rscale, int(NumericScale(a)), int(NumericScale(b)), 0)
	return min(rscale, numericMaxDispScale)
}

// NumericDiv is a / b, rounded half away from zero at the scale PostgreSQL
// chooses. Error: 22012.
func NumericDiv(a, b Datum) (Datum, error) {
	if d, done, err := divSpecial(a, b); done {
		return d, err
	}
	rscale := divScale(a, b)
	shift := rscale + int(NumericScale(b)) - int(NumericScale(a))
	if na, x, ok := mag128(a); ok && b.S == "" && shift >= 0 && shift < 60 {
		if x, ok := x.mulPow10(shift); ok {
			y := absU(b.I)
			q, r := x.div64(y)
			if r >= y-r {
				q, _ = q.add(u128{0, 1})
			}
			return makeNumeric128(na != (b.I < 0), q, int32(rscale)), nil
		}
	}
	x, y := numericBig(a), numericBig(b)
	if shift >= 0 {
		x.Mul(x, bigPow10(shift))
	} else {
		y.Mul(y, bigPow10(-shift))
	}
	return makeNumericBig(roundQuo(x, y), int32(rscale))
}

// divSpecial answers divisions that involve NaN, an infinity or zero.
func divSpecial(a, b Datum) (d Datum, done bool, err error) {
	if NumericIsFinite(a) && NumericIsFinite(b) {
		if NumericSign(b) == 0 {
			return Null, true, DivisionByZero()
		}
		return Null, false, nil
	}
	switch {
	case NumericIsNaN(a) || NumericIsNaN(b):
		return NumericNaN, true, nil
	case NumericIsInf(a) && NumericIsInf(b):
		return NumericNaN, true, nil
	case NumericIsInf(a):
		if NumericSign(b) == 0 {
			return Null, true, DivisionByZero()
		}
		return infOfSign(NumericSign(a) * NumericSign(b)), true, nil
	}
	return Datum{}, true, nil // finite / Infinity
}

// NumericDivTrunc is div(a, b): the quotient truncated to an integer.
func NumericDivTrunc(a, b Datum) (Datum, error) {
	if d, done, err := divSpecial(a, b); done {
		return d, err
	}
	x, y := alignBig(a, b)
	return makeNumericBig(x.Quo(x, y), 0)
}

// NumericMod is a % b: it has the sign of a and the larger scale.
func NumericMod(a, b Datum) (Datum, error) {
	if !NumericIsFinite(a) || !NumericIsFinite(b) {
		switch {
		case NumericIsNaN(a) || NumericIsNaN(b):
			return NumericNaN, nil
		case NumericIsInf(a):
			if NumericSign(b) == 0 {
				return Null, DivisionByZero()
			}
			return NumericNaN, nil
		}
		return a, nil // finite % Infinity
	}
	if NumericSign(b) == 0 {
		return Null, DivisionByZero()
	}
	if a.S == "" && b.S == "" && a.Aux == b.Aux {
		if b.I == -1 {
			return Datum{Aux: a.Aux}, nil
		}
		return Datum{I: a.I % b.I, Aux: a.Aux}, nil
	}
	x, y := alignBig(a, b)
	return makeNumericBig(x.Rem(x, y), max(NumericScale(a), NumericScale(b)))
}

// alignBig brings both to the larger scale.
func alignBig(a, b Datum) (x, y *big.Int) {
	x, y = numericBig(a), numericBig(b)
	if d := int(NumericScale(b) - NumericScale(a)); d > 0 {
		x.Mul(x, bigPow10(d))
	} else if d < 0 {
		y.Mul(y, bigPow10(-d))
	}
	return x, y
}

// NumericRound rounds half away from zero to scale digits after the point
// (before it when negative); the result has display scale max(scale, 0).
func NumericRound(d Datum, scale int) (Datum, error) {
	return numericRound(d, clampScale(scale))
}

func clampScale(scale int) int {
	return min(max(scale, -numericMaxWeight), numericMaxScale)
}

func numericRound(d Datum, scale int) (Datum, error) { return rescale(d, scale, true) }

// NumericTrunc cuts towards zero instead.
func NumericTrunc(d Datum, scale int) (Datum, error) {
	return rescale(d, clampScale(scale), false)
}

// rescale brings d to scale, rounding or cutting, and shows it with max(scale, 0) digits.
func rescale(d Datum, scale int, round bool) (Datum, error) {
	if !NumericIsFinite(d) {
		return d, nil
	}
	have := int(NumericScale(d))
	if d.S == "" {
		if scale == have {
			return d, nil
		}
		if scale > have {
			if v, ok := mulPow10Int(d.I, scale-have); ok {
				return Datum{I: v, Aux: int32(scale)}, nil
			}
		} else if drop := have - scale; drop > 19 {
			return Datum{Aux: int32(max(scale, 0))}, nil
		} else {
			p := pow10u[drop]
			m := absU(d.I)
			q, r := m/p, m%p
			if round && r >= p-r {
				q++
			}
			neg := d.I < 0
			if scale < 0 {
				m, ok := (u128{0, q}).mulPow10(-scale)
				if ok {
					return makeNumeric128(neg, m, 0), nil
				}
			} else {
				return makeNumeric128(neg, u128{0, q}, int32(scale)), nil
			}
		}
	}
	z := numericBig(d)
	switch {
	case scale > have:
		z.Mul(z, bigPow10(scale-have))
	case scale < have:
		p := bigPow10(have - scale)
		if round {
			z = roundQuo(z, p)
		} else {
			z.Quo(z, p)
		}
	}
	if scale < 0 {
		z.Mul(z, bigPow10(-scale))
		scale = 0
	}
	return makeNumericBig(z, int32(scale))
}

// NumericCeil and NumericFloor round to an integer upwards and downwards.
func NumericCeil(d Datum) (Datum, error)  { return toward(d, 1) }
func NumericFloor(d Datum) (Datum, error) { return toward(d, -1) }

func toward(d Datum, sign int) (Datum, error) {
	if !NumericIsFinite(d) {
		return d, nil
	}
	t, err := rescale(d, 0, false)
	if err != nil || NumericSign(d) != sign || NumericCmp(t, d) == 0 {
		return t, err
	}
	return NumericAdd(t, Datum{I: int64(sign)})
}

// NumericGCD and NumericLCM work on decimals as PostgreSQL's gcd and lcm do.
func NumericGCD(a, b Datum) (Datum, error) {
	if !NumericIsFinite(a) || !NumericIsFinite(b) {
		return NumericNaN, nil
	}
	x, y := alignBig(a, b)
	z := new(big.Int).GCD(nil, nil, x.Abs(x), y.Abs(y))
	return makeNumericBig(z, max(NumericScale(a), NumericScale(b)))
}

func NumericLCM(a, b Datum) (Datum, error) {
	if !NumericIsFinite(a) || !NumericIsFinite(b) {
		return NumericNaN, nil
	}
	scale := max(NumericScale(a), NumericScale(b))
	x, y := alignBig(a, b)
	if x.Sign() == 0 || y.Sign() == 0 {
		return Datum{Aux: scale}, nil
	}
	g := new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))
	x.Quo(x, g).Mul(x, y).Abs(x)
	return makeNumericBig(x, scale)
}

// NumericFactorial is n! (22003 for negative or too large n).
func NumericFactorial(n int64) (Datum, error) {
	if n < 0 {
		return Null, pgerror.New(pgerror.NumericValueOutOfRange, "factorial of a negative number is undefined")
	}
	if n > 32177 {
		return Null, numericOverflow()
	}
	return makeNumericBig(new(big.Int).MulRange(1, max(n, 1)), 0)
}
