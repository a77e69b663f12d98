package sqltypes

import (
	"math"

	"ostraka/sqltypes/pgerror"
)

// NumericToInt64 rounds half away from zero. Errors: 0A000 for NaN and
// infinities, 22003 "bigint out of range".
func NumericToInt64(d Datum) (int64, error) { return NumericToInt(d, 64) }

// NumericToInt converts to an integer of 16, 32 or 64 bits.
func NumericToInt(d Datum, bits int) (int64, error) {
	typ := "bigint"
	switch bits {
	case 16:
		typ = "smallint"
	case 32:
		typ = "integer"
	}
	if !NumericIsFinite(d) {
		what := "infinity"
		if NumericIsNaN(d) {
			what = "NaN"
		}
		return 0, pgerror.New(pgerror.FeatureNotSupported, "cannot convert %s to %s", what, typ)
	}
	r, err := rescale(d, 0, true)
	if err != nil || r.S != "" || r.I > 1<<(bits-1)-1 || r.I < -1<<(bits-1) {
		return 0, IntOutOfRange(typ)
	}
	return r.I, nil
}

// NumericToFloat converts to float8 (bits 64) or float4 (bits 32). Error: 22003.
func NumericToFloat(d Datum, bits int) (float64, error) {
	if d.S == "" && bits == 64 && d.Aux <= 22 && d.I < 1<<53 && d.I > -1<<53 {
		return float64(d.I) / math.Pow10(int(d.Aux)), nil // both exact, one rounding
	}
	switch {
	case NumericIsNaN(d):
		return math.NaN(), nil
	case NumericIsInf(d):
		return math.Inf(NumericSign(d)), nil
	}
	typ := "double precision"
	if bits == 32 {
		typ = "real"
	}
	return ParseFloat(NumericString(d), bits, typ)
}

// NumericFromFloat converts a float of 32 or 64 bits; like PostgreSQL it keeps 6 or 15 digits.
func NumericFromFloat(f float64, bits int) (Datum, error) {
	switch {
	case f != f:
		return NumericNaN, nil
	case math.IsInf(f, 1):
		return NumericPosInf, nil
	case math.IsInf(f, -1):
		return NumericNegInf, nil
	}
	digits := 15
	if bits == 32 {
		digits = 6
	}
	return ParseNumeric(string(appendG(nil, f, digits)))
}

// NumericFromUint64 is v with scale 0.
func NumericFromUint64(v uint64) Datum { return makeNumeric128(false, u128{0, v}, 0) }

// NumericFromInt128 is hi·2^64 + lo (two's complement) with the given scale.
func NumericFromInt128(hi int64, lo uint64, scale int32) Datum {
	if hi >= 0 {
		return makeNumeric128(false, u128{uint64(hi), lo}, scale)
	}
	l := -lo
	h := ^uint64(hi)
	if l == 0 {
		h++
	}
	return makeNumeric128(true, u128{h, l}, scale)
}

// NumericWidthBucket is width_bucket(op, low, high, count). Errors: 2201G, 22003.
func NumericWidthBucket(op, low, high Datum, count int64) (int64, error) {
	bad := func(msg string) error {
		return pgerror.New(pgerror.InvalidArgumentForWidthBucketFunction, "%s", msg)
	}
	if count <= 0 {
		return 0, bad("count must be greater than zero")
	}
	if NumericIsNaN(op) || NumericIsNaN(low) || NumericIsNaN(high) {
		return 0, bad("operand, lower bound, and upper bound cannot be NaN")
	}
	if NumericIsInf(low) || NumericIsInf(high) {
		return 0, bad("lower and upper bounds must be finite")
	}
	dir := NumericCmp(low, high)
	if dir == 0 {
		return 0, bad("lower bound cannot equal upper bound")
	}
	below, above := NumericCmp(op, low), NumericCmp(op, high)
	if dir > 0 {
		below, above = -below, -above
	}
	if below < 0 {
		return 0, nil
	}
	if above >= 0 {
		if count == math.MaxInt32 {
			return 0, IntOutOfRange("integer")
		}
		return count + 1, nil
	}
	// floor((op - low) · count / (high - low)) + 1
	num, err := NumericSub(op, low)
	if err != nil {
		return 0, err
	}
	den, err := NumericSub(high, low)
	if err != nil {
		return 0, err
	}
	if num, err = NumericMul(num, Datum{I: count}); err != nil {
		return 0, err
	}
	q, err := NumericDivTrunc(num, den)
	if err != nil {
		return 0, err
	}
	n, err := NumericToInt64(q)
	return n + 1, err
}
