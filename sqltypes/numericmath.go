package sqltypes

import (
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"

	"ostraka/sqltypes/pgerror"
)

// guardDigits are computed beyond what a transcendental result shows.
const guardDigits = 12

// NumericSqrt is the square root at PostgreSQL's scale. Error: 2201F.
func NumericSqrt(d Datum) (Datum, error) {
	if NumericIsNaN(d) {
		return d, nil
	}
	if NumericSign(d) < 0 {
		return Null, pgerror.New(pgerror.InvalidArgumentForPowerFunction, "cannot take square root of a negative number")
	}
	if NumericIsInf(d) {
		return d, nil
	}
	weight, _ := base10000(d)
	rscale := numericMinSigDigits - ((weight+1)*4/2 - 1)
	rscale = min(max(rscale, int(NumericScale(d)), 0), numericMaxDispScale)
	// √(v·10^-s) = √(v·10^(2r-s)) · 10^-r, with one digit more to round on.
	z := numericBig(d)
	shift := 2*(rscale+1) - int(NumericScale(d))
	if shift >= 0 {
		z.Mul(z, bigPow10(shift))
	} else {
		z.Quo(z, bigPow10(-shift))
	}
	z.Sqrt(z)
	return makeNumericBig(roundQuo(z, big10), int32(rscale))
}

// toAPD converts a finite value.
func toAPD(d Datum) *apd.Decimal {
	z := new(apd.Decimal)
	v := numericBig(d)
	z.Negative = v.Sign() < 0
	z.Coeff.SetMathBigInt(v.Abs(v))
	z.Exponent = -NumericScale(d)
	return z
}

// fromAPD rounds to rscale digits after the point.
func fromAPD(z *apd.Decimal, rscale int) (Datum, error) {
	v := z.Coeff.MathBigInt()
	v = new(big.Int).Set(v)
	if z.Negative {
		v.Neg(v)
	}
	return floating{v, int(z.Exponent)}.round(rscale)
}

func apdContext(precision int) *apd.Context {
	c := apd.BaseContext.WithPrecision(uint32(max(precision, 20)))
	c.MaxExponent, c.MinExponent = apd.MaxExponent, apd.MinExponent
	c.Rounding = apd.RoundHalfUp
	c.Traps = 0
	return c
}

// numericApprox is the value as a float, ignoring overflow.
func numericApprox(d Datum) float64 {
	e, ok := leading(d)
	if !ok {
		return 0
	}
	f := float64(leadingDigits(d, 17)) * math.Pow(10, float64(e-17))
	if NumericSign(d) < 0 {
		f = -f
	}
	return f
}

// NumericExp is e^d. Error: 22003.
func NumericExp(d Datum) (Datum, error) {
	switch {
	case NumericIsNaN(d):
		return d, nil
	case NumericIsInf(d):
		if NumericSign(d) < 0 {
			return Datum{}, nil
		}
		return d, nil
	}
	f := numericApprox(d)
	val := min(max(f*0.434294481903252, -numericMaxResultSize), numericMaxResultSize)
	rscale := numericMinSigDigits - int(val)
	rscale = min(max(rscale, int(NumericScale(d)), 0), numericMaxDispScale)
	return expScaled(toAPD(d), f, rscale)
}

// expScaled is e^x rounded to rscale digits; approx is x as a float.
func expScaled(x *apd.Decimal, approx float64, rscale int) (Datum, error) {
	if math.Abs(approx) >= numericMaxResultSize*3 {
		if approx > 0 {
			return Null, numericOverflow()
		}
		return Datum{Aux: int32(rscale)}, nil
	}
	digits := rscale + int(math.Max(approx, 0)*0.4343) + guardDigits
	z := new(apd.Decimal)
	if _, err := apdContext(digits).Exp(z, x); err != nil {
		return Null, numericOverflow()
	}
	return fromAPD(z, rscale)
}

var (
	numeric09 = Datum{I: 9, Aux: 1}
	numeric11 = Datum{I: 11, Aux: 1}
)

// lnWeight estimates the decimal weight of ln(d) as PostgreSQL's estimate_ln_dweight does.
func lnWeight(d Datum) int {
	if NumericSign(d) <= 0 {
		return 0
	}
	if NumericCmp(d, numeric09) >= 0 && NumericCmp(d, numeric11) <= 0 {
		x, err := NumericSub(d, Datum{I: 1})
		if err != nil || NumericSign(x) == 0 {
			return 0
		}
		w, first := base10000(x)
		return w*4 + int(math.Log10(float64(first)))
	}
	e, _ := leading(d)
	w, _ := base10000(d)
	keep := e - 4*w
	digits, dweight := leadingDigits(d, keep), w*4
	if significantDigits(d) > keep {
		digits, dweight = leadingDigits(d, keep+4), dweight-4
	}
	ln := math.Log(float64(digits)) + float64(dweight)*2.302585092994046
	return int(math.Log10(math.Abs(ln)))
}

// significantDigits is the number of significant digits, trailing zeros left out.
func significantDigits(d Datum) int {
	v := numericBig(d)
	v.Abs(v)
	var r big.Int
	n := bigDigits(v)
	for n > 1 {
		q, _ := new(big.Int).QuoRem(v, big10, &r)
		if r.Sign() != 0 {
			break
		}
		v = q
		n--
	}
	return n
}

func checkLogArg(d Datum) error {
	switch NumericSign(d) {
	case 0:
		return pgerror.New(pgerror.InvalidArgumentForLog, "cannot take logarithm of zero")
	case -1:
		return pgerror.New(pgerror.InvalidArgumentForLog, "cannot take logarithm of a negative number")
	}
	return nil
}

// NumericLn is the natural logarithm. Error: 2201E.
func NumericLn(d Datum) (Datum, error) {
	if NumericIsNaN(d) {
		return d, nil
	}
	if err := checkLogArg(d); err != nil {
		return Null, err
	}
	if NumericIsInf(d) {
		return d, nil
	}
	w := lnWeight(d)
	rscale := min(max(numericMinSigDigits-w, int(NumericScale(d)), 0), numericMaxDispScale)
	z, err := lnAPD(d, rscale+max(w, 0)+guardDigits)
	if err != nil {
		return Null, err
	}
	return fromAPD(z, rscale)
}

// lnAPD is ln(d) to about the given number of significant digits, more near 1
// where digits cancel.
func lnAPD(d Datum, digits int) (*apd.Decimal, error) {
	z, x, ctx := new(apd.Decimal), toAPD(d), apdContext(digits+8)
	e, _ := leading(d)
	far := e > 50000 // beyond what apd takes: ln(m·10^e) = ln(m) + e·ln(10)
	if far {
		x.Exponent -= int32(e)
	}
	if _, err := ctx.Ln(z, x); err != nil {
		return nil, numericOverflow()
	}
	if far {
		ln10 := new(apd.Decimal)
		if _, err := ctx.Ln(ln10, apd.New(10, 0)); err != nil {
			return nil, numericOverflow()
		}
		if _, err := ctx.Mul(ln10, ln10, apd.New(int64(e), 0)); err != nil {
			return nil, numericOverflow()
		}
		if _, err := ctx.Add(z, z, ln10); err != nil {
			return nil, numericOverflow()
		}
	}
	return z, nil
}

// NumericLog is the logarithm of num to base. Errors: 2201E, 22012.
func NumericLog(base, num Datum) (Datum, error) {
	if !NumericIsFinite(base) || !NumericIsFinite(num) {
		if NumericIsNaN(base) || NumericIsNaN(num) {
			return NumericNaN, nil
		}
		lower := base
		if NumericSign(num) < NumericSign(base) {
			lower = num
		}
		if err := checkLogArg(lower); err != nil {
			return Null, err
		}
		switch {
		case NumericIsInf(base) && NumericIsInf(num):
			return NumericNaN, nil
		case NumericIsInf(base):
			return Datum{}, nil
		}
		return NumericPosInf, nil
	}
	if err := checkLogArg(base); err != nil {
		return Null, err
	}
	if err := checkLogArg(num); err != nil {
		return Null, err
	}
	wb, wn := lnWeight(base), lnWeight(num)
	w := wn - wb
	rscale := numericMinSigDigits - w
	rscale = min(max(rscale, int(NumericScale(base)), int(NumericScale(num)), 0), numericMaxDispScale)
	digits := rscale + max(w, 0) + max(-wb, 0) + max(-wn, 0) + guardDigits
	lb, err := lnAPD(base, digits)
	if err != nil {
		return Null, err
	}
	if lb.IsZero() {
		return Null, DivisionByZero()
	}
	ln, err := lnAPD(num, digits)
	if err != nil {
		return Null, err
	}
	z := new(apd.Decimal)
	if _, err := apdContext(digits).Quo(z, ln, lb); err != nil {
		return Null, numericOverflow()
	}
	return fromAPD(z, rscale)
}
