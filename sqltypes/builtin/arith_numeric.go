package builtin

import (
	"math"

	"ostraka/sqltypes"
)

// binaryNumeric and unaryNumeric lift package sqltypes' arithmetic.
func binaryNumeric(f func(a, b Datum) (Datum, error)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) { return f(args[0], args[1]) }
}

func unaryNumeric(f func(d Datum) (Datum, error)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) { return f(args[0]) }
}

func scaledNumeric(f func(d Datum, scale int) (Datum, error)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		scale := 0
		if len(args) > 1 {
			scale = int(args[1].I)
		}
		return f(args[0], scale)
	}
}

func fromNumeric(bits int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		v, err := sqltypes.NumericToInt(args[0], bits)
		return sqltypes.Int(v), err
	}
}

func numericToFloat(bits int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		v, err := sqltypes.NumericToFloat(args[0], bits)
		return sqltypes.Float(v), err
	}
}

func floatToNumeric(bits int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) { return sqltypes.NumericFromFloat(args[0].Float(), bits) }
}

func intToNumeric(_ *Call, args []Datum) (Datum, error) { return sqltypes.NumericInt(args[0].I), nil }

// scaleOf is scale() and min_scale(): NULL for NaN and infinities.
func scaleOf(f func(Datum) int32) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		if !sqltypes.NumericIsFinite(args[0]) {
			return isNull()
		}
		return integer(int64(f(args[0])))
	}
}

func numericSign(_ *Call, args []Datum) (Datum, error) {
	if sqltypes.NumericIsNaN(args[0]) {
		return args[0], nil
	}
	return sqltypes.NumericInt(int64(sqltypes.NumericSign(args[0]))), nil
}

// inRangeNumeric is the window frame test of RANGE offsets.
func inRangeNumeric(_ *Call, args []Datum) (Datum, error) {
	val, base, offset := args[0], args[1], args[2]
	sub, less := args[3].Bool(), args[4].Bool()
	if sqltypes.NumericIsNaN(offset) || sqltypes.NumericSign(offset) < 0 {
		return fail(badFrameOffset())
	}
	switch {
	case sqltypes.NumericIsNaN(val):
		return boolean(sqltypes.NumericIsNaN(base) || !less)
	case sqltypes.NumericIsNaN(base):
		return boolean(less)
	case sqltypes.NumericIsInf(offset) && sqltypes.NumericIsInf(base) && sub == (sqltypes.NumericSign(base) > 0):
		return boolean(true)
	}
	combine := sqltypes.NumericAdd
	if sub {
		combine = sqltypes.NumericSub
	}
	sum, err := combine(base, offset)
	if err != nil {
		return null, err
	}
	if less {
		return boolean(sqltypes.NumericCmp(val, sum) <= 0)
	}
	return boolean(sqltypes.NumericCmp(val, sum) >= 0)
}

// inRangeInt is the window frame test for integers; a sum that overflows lies
// beyond every value.
func inRangeInt(_ *Call, args []Datum) (Datum, error) {
	val, base, offset := args[0].I, args[1].I, args[2].I
	sub, less := args[3].Bool(), args[4].Bool()
	if offset < 0 {
		return fail(badFrameOffset())
	}
	if sub {
		offset = -offset
	}
	sum := base + offset
	if offset > 0 && sum < base || offset < 0 && sum > base {
		return boolean(sub != less)
	}
	if less {
		return boolean(val <= sum)
	}
	return boolean(val >= sum)
}

func widthBucketNumeric(_ *Call, args []Datum) (Datum, error) {
	n, err := sqltypes.NumericWidthBucket(args[0], args[1], args[2], args[3].I)
	if err == nil && n > math.MaxInt32 {
		return fail(width4.outOfRange())
	}
	return sqltypes.Int(n), err
}

func init() {
	compareOps("numeric_*", sqltypes.NumericCmp, nil)
	pure := func(f func(Datum) Datum) sqltypes.ScalarFunc {
		return func(_ *Call, args []Datum) (Datum, error) { return f(args[0]), nil }
	}
	scalarTable{
		"numeric_cmp": compareProc(sqltypes.NumericCmp), "numeric_larger": larger(sqltypes.NumericCmp), "numeric_smaller": smaller(sqltypes.NumericCmp),
		"numeric_add": binaryNumeric(sqltypes.NumericAdd), "numeric_sub": binaryNumeric(sqltypes.NumericSub),
		"numeric_mul": binaryNumeric(sqltypes.NumericMul), "numeric_div": binaryNumeric(sqltypes.NumericDiv),
		"numeric_div_trunc": binaryNumeric(sqltypes.NumericDivTrunc), "numeric_mod": binaryNumeric(sqltypes.NumericMod),
		"numeric_power": binaryNumeric(sqltypes.NumericPower), "numeric_log": binaryNumeric(sqltypes.NumericLog),
		"numeric_gcd": binaryNumeric(sqltypes.NumericGCD), "numeric_lcm": binaryNumeric(sqltypes.NumericLCM),
		"numeric_uminus": pure(sqltypes.NumericNeg), "numeric_uplus": first, "numeric_abs": pure(sqltypes.NumericAbs),
		"numeric_ceil": unaryNumeric(sqltypes.NumericCeil), "numeric_floor": unaryNumeric(sqltypes.NumericFloor),
		"numeric_sqrt": unaryNumeric(sqltypes.NumericSqrt), "numeric_exp": unaryNumeric(sqltypes.NumericExp),
		"numeric_ln": unaryNumeric(sqltypes.NumericLn), "numeric_sign": numericSign,
		"numeric_inc":   unaryNumeric(func(d Datum) (Datum, error) { return sqltypes.NumericAdd(d, sqltypes.NumericInt(1)) }),
		"numeric_fac":   func(_ *Call, a []Datum) (Datum, error) { return sqltypes.NumericFactorial(a[0].I) },
		"numeric_round": scaledNumeric(sqltypes.NumericRound), "numeric_trunc": scaledNumeric(sqltypes.NumericTrunc),
		"round(numeric)": scaledNumeric(sqltypes.NumericRound), "trunc(numeric)": scaledNumeric(sqltypes.NumericTrunc),
		"log(numeric)": unaryNumeric(log10Numeric), "log10(numeric)": unaryNumeric(log10Numeric),
		"numeric_scale": scaleOf(sqltypes.NumericScale), "numeric_min_scale": scaleOf(sqltypes.NumericMinScale),
		"numeric_trim_scale": pure(sqltypes.NumericTrimScale),
		"numeric":            func(_ *Call, a []Datum) (Datum, error) { return sqltypes.ApplyNumericTypMod(a[0], int32(a[1].I)) },
		"int2_numeric":       intToNumeric, "int4_numeric": intToNumeric, "int8_numeric": intToNumeric,
		"numeric_int2": fromNumeric(16), "numeric_int4": fromNumeric(32), "numeric_int8": fromNumeric(64),
		"float4_numeric": floatToNumeric(32), "float8_numeric": floatToNumeric(64),
		"numeric_float4": numericToFloat(32), "numeric_float8": numericToFloat(64),
		"width_bucket_numeric":     widthBucketNumeric,
		"in_range_numeric_numeric": inRangeNumeric,
		"in_range_int2_int2":       inRangeInt, "in_range_int2_int4": inRangeInt, "in_range_int2_int8": inRangeInt,
		"in_range_int4_int2": inRangeInt, "in_range_int4_int4": inRangeInt, "in_range_int4_int8": inRangeInt,
		"in_range_int8_int8": inRangeInt,
		"numrange_subdiff": func(_ *Call, a []Datum) (Datum, error) {
			d, err := sqltypes.NumericSub(a[0], a[1])
			if err != nil {
				return null, err
			}
			f, err := sqltypes.NumericToFloat(d, 64)
			return sqltypes.Float(f), err
		},
		"int4range_subdiff": func(_ *Call, a []Datum) (Datum, error) { return float(float64(a[0].I) - float64(a[1].I)) },
		"int8range_subdiff": func(_ *Call, a []Datum) (Datum, error) { return float(float64(a[0].I) - float64(a[1].I)) },
		"daterange_subdiff": func(_ *Call, a []Datum) (Datum, error) { return float(float64(a[0].I - a[1].I)) },
	}.register()
}

// log10Numeric is log(numeric), which computes to base 10.
func log10Numeric(d Datum) (Datum, error) { return sqltypes.NumericLog(sqltypes.NumericInt(10), d) }
