package sqltypes

import (
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"

	"ostraka/sqltypes/pgerror"
)

// NumericIsInteger reports a finite value without a fraction.
func NumericIsInteger(d Datum) bool {
	if !NumericIsFinite(d) {
		return false
	}
	t, err := rescale(d, 0, false)
	return err == nil && NumericCmp(t, d) == 0
}

func numericOdd(d Datum) bool {
	t, err := rescale(d, 0, false)
	return err == nil && numericBig(t).Bit(0) == 1
}

// NumericPower is base^exp. Errors: 2201F, 22003, 22012.
func NumericPower(base, exp Datum) (Datum, error) {
	one := Datum{I: 1}
	if !NumericIsFinite(base) || !NumericIsFinite(exp) {
		return powerSpecial(base, exp)
	}
	sb, se := NumericSign(base), NumericSign(exp)
	if sb == 0 && se < 0 {
		return Null, pgerror.New(pgerror.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
	}
	isInt := NumericIsInteger(exp)
	if sb < 0 && !isInt {
		return Null, pgerror.New(pgerror.InvalidArgumentForPowerFunction,
			"a negative number raised to a non-integer power yields a complex result")
	}
	if isInt {
		if n, err := NumericToInt64(exp); err == nil && n >= math.MinInt32 && n <= math.MaxInt32 {
			return powerInt(base, n)
		}
	}
	if sb == 0 {
		return Datum{Aux: numericMinSigDigits}, nil
	}
	neg := sb < 0 && numericOdd(exp)
	base = NumericAbs(base)
	if NumericCmp(base, one) == 0 && !neg {
		// ln(1) = 0: the general path below gives 1 at the scale of the operands.
		rscale := min(max(numericMinSigDigits, int(NumericScale(base)), int(NumericScale(exp))), numericMaxDispScale)
		return rescale(one, rscale, true)
	}
	w := lnWeight(base)
	low, err := lnAPD(base, 20)
	if err != nil {
		return Null, err
	}
	x := new(apd.Decimal)
	if _, err := apdContext(20).Mul(x, low, toAPD(exp)); err != nil {
		return Null, numericOverflow()
	}
	val, _ := x.Float64()
	if math.Abs(val) > numericMaxResultSize*3.01 {
		if val > 0 {
			return Null, numericOverflow()
		}
		return Datum{Aux: numericMaxDispScale}, nil
	}
	weight := val * 0.434294481903252
	rscale := numericMinSigDigits - int(weight)
	rscale = min(max(rscale, int(NumericScale(base)), int(NumericScale(exp)), 0), numericMaxDispScale)
	digits := rscale + int(math.Max(weight, 0)) + guardDigits
	ee, _ := leading(exp)
	ln, err := lnAPD(base, digits+max(ee, 0)+max(-w, 0)+4)
	if err != nil {
		return Null, err
	}
	if _, err := apdContext(digits+max(ee, 0)+8).Mul(x, ln, toAPD(exp)); err != nil {
		return Null, numericOverflow()
	}
	d, err := expScaled(x, val, rscale)
	if err == nil && neg {
		d = NumericNeg(d)
	}
	return d, err
}

// powerInt is base^n with at least 16 digits after the point, as PostgreSQL 15
// has it (not 16 significant digits).
func powerInt(base Datum, n int64) (Datum, error) {
	rscale := min(max(numericMinSigDigits, int(NumericScale(base))), numericMaxDispScale)
	one := Datum{I: 1}
	switch n {
	case 0:
		return rescale(one, rscale, true)
	case 1:
		return rescale(base, rscale, true)
	case 2:
		d, err := NumericMul(base, base)
		if err != nil {
			return Null, err
		}
		return rescale(d, rscale, true)
	}
	e, nonzero := leading(base)
	if !nonzero {
		return Datum{Aux: int32(rscale)}, nil
	}
	f := math.Log10(float64(leadingDigits(base, 16))) + float64(e-16)
	f *= float64(n)
	if f > 3*math.MaxInt16*4 {
		return Null, numericOverflow()
	}
	if f+1 < -float64(rscale) || f+1 < -numericMaxDispScale {
		return Datum{Aux: int32(rscale)}, nil
	}
	if f > numericMaxIntDigits+1 {
		return Null, numericOverflow()
	}
	digits := rscale + int(math.Max(f, 0)) + decimalLen(absU(n)) + guardDigits
	x := floating{numericBig(base), -int(NumericScale(base))}
	acc := floating{big.NewInt(1), 0}
	for m := absU(n); m > 0; m >>= 1 {
		if m&1 == 1 {
			acc = acc.mul(x, digits)
		}
		if m > 1 {
			x = x.mul(x, digits)
		}
	}
	if n < 0 {
		// 1/(m·10^e) = (10^k/m)·10^(-k-e)
		k := digits + bigDigits(acc.m)
		acc = floating{new(big.Int).Quo(bigPow10(k), acc.m), -k - acc.exp}
	}
	return acc.round(rscale)
}

// floating is m × 10^exp, m cut to some number of digits after each step. Unlike
// apd it has no limit to its exponent below numeric's own.
type floating struct {
	m   *big.Int
	exp int
}

func (x floating) mul(y floating, digits int) floating {
	z := floating{new(big.Int).Mul(x.m, y.m), x.exp + y.exp}
	if extra := bigDigits(z.m) - digits; extra > digits/8 {
		z.m.Quo(z.m, bigPow10(extra))
		z.exp += extra
	}
	return z
}

func (x floating) round(rscale int) (Datum, error) {
	shift := x.exp + rscale
	switch {
	case shift >= 0:
		if shift > numericMaxIntDigits+numericMaxScale {
			return Null, numericOverflow()
		}
		x.m.Mul(x.m, bigPow10(shift))
	case -shift > bigDigits(x.m)+1:
		x.m.SetInt64(0)
	default:
		x.m = roundQuo(x.m, bigPow10(-shift))
	}
	return makeNumericBig(x.m, int32(rscale))
}

// powerSpecial follows POSIX pow() for NaN and infinities, with PostgreSQL's errors.
func powerSpecial(base, exp Datum) (Datum, error) {
	one := Datum{I: 1}
	switch {
	case NumericIsNaN(base):
		if NumericIsFinite(exp) && NumericSign(exp) == 0 {
			return one, nil
		}
		return NumericNaN, nil
	case NumericIsNaN(exp):
		if NumericCmp(base, one) == 0 {
			return one, nil
		}
		return NumericNaN, nil
	}
	sb, se := NumericSign(base), NumericSign(exp)
	if sb == 0 && se < 0 {
		return Null, pgerror.New(pgerror.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
	}
	if sb < 0 && NumericIsFinite(exp) && !NumericIsInteger(exp) {
		return Null, pgerror.New(pgerror.InvalidArgumentForPowerFunction,
			"a negative number raised to a non-integer power yields a complex result")
	}
	switch {
	case NumericIsFinite(base) && NumericCmp(base, one) == 0, se == 0:
		return one, nil
	case NumericIsInf(exp):
		switch c := NumericCmp(NumericAbs(base), one); {
		case NumericIsFinite(base) && c == 0: // -1
			return one, nil
		case (c > 0) == (se > 0):
			return NumericPosInf, nil
		default:
			return Datum{}, nil
		}
	case se < 0: // ±Infinity to a negative power
		return Datum{}, nil
	case sb > 0:
		return NumericPosInf, nil
	case numericOdd(exp):
		return NumericNegInf, nil
	}
	return NumericPosInf, nil
}
