package builtin

import (
	"math"

	"ostraka/sqltypes/pgerror"
)

func floatOverflow() *pgerror.Error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "value out of range: overflow")
}

func floatUnderflow() *pgerror.Error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "value out of range: underflow")
}

// floatWidth is float4 or float8: how a result is rounded.
type floatWidth struct{ round func(float64) float64 }

var (
	single = floatWidth{func(f float64) float64 { return float64(float32(f)) }}
	double = floatWidth{func(f float64) float64 { return f }}
)

func (w floatWidth) add(_ *Call, args []Datum) (Datum, error) {
	a, b := args[0].Float(), args[1].Float()
	return w.sum(a, b, a+b)
}

func (w floatWidth) sub(_ *Call, args []Datum) (Datum, error) {
	a, b := args[0].Float(), args[1].Float()
	return w.sum(a, b, a-b)
}

func (w floatWidth) sum(a, b, result float64) (Datum, error) {
	result = w.round(result)
	if math.IsInf(result, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return fail(floatOverflow())
	}
	return float(result)
}

func (w floatWidth) mul(_ *Call, args []Datum) (Datum, error) {
	a, b := args[0].Float(), args[1].Float()
	result := w.round(a * b)
	if math.IsInf(result, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return fail(floatOverflow())
	}
	if result == 0 && a != 0 && b != 0 {
		return fail(floatUnderflow())
	}
	return float(result)
}

func (w floatWidth) div(_ *Call, args []Datum) (Datum, error) {
	a, b := args[0].Float(), args[1].Float()
	if b == 0 && !math.IsNaN(a) {
		return fail(divisionByZero())
	}
	result := w.round(a / b)
	if math.IsInf(result, 0) && !math.IsInf(a, 0) {
		return fail(floatOverflow())
	}
	if result == 0 && a != 0 && !math.IsInf(b, 0) {
		return fail(floatUnderflow())
	}
	return float(result)
}

// floatToInt rounds half to even and checks the range.
func (w intWidth) fromFloat(_ *Call, args []Datum) (Datum, error) {
	f := math.RoundToEven(args[0].Float())
	limit := -float64(w.min) // one above the maximum, exact in float64
	if math.IsNaN(f) || f < -limit || f >= limit {
		return fail(w.outOfRange())
	}
	return integer(int64(f))
}

func intToFloat8(_ *Call, args []Datum) (Datum, error) { return float(float64(args[0].I)) }
func intToFloat4(_ *Call, args []Datum) (Datum, error) { return float(float64(float32(args[0].I))) }

func float8ToFloat4(_ *Call, args []Datum) (Datum, error) {
	f := args[0].Float()
	r := float64(float32(f))
	if math.IsInf(r, 0) && !math.IsInf(f, 0) {
		return fail(floatOverflow())
	}
	if r == 0 && f != 0 {
		return fail(floatUnderflow())
	}
	return float(r)
}

func init() {
	for name, w := range map[string]floatWidth{"float4": single, "float8": double, "float48": double, "float84": double} {
		scalarTable{name + "pl": w.add, name + "mi": w.sub, name + "mul": w.mul, name + "div": w.div}.register()
	}
	negate := func(_ *Call, a []Datum) (Datum, error) { return float(-a[0].Float()) }
	absolute := func(_ *Call, a []Datum) (Datum, error) { return float(math.Abs(a[0].Float())) }
	scalarTable{
		"float4um": negate, "float8um": negate, "float4up": first, "float8up": first,
		"float4abs": absolute, "float8abs": absolute,
		"ftod": first, "dtof": float8ToFloat4,
		"i2tod": intToFloat8, "i4tod": intToFloat8, "i8tod": intToFloat8,
		"i2tof": intToFloat4, "i4tof": intToFloat4, "i8tof": intToFloat4,
		"dtoi2": width2.fromFloat, "dtoi4": width4.fromFloat, "dtoi8": width8.fromFloat,
		"ftoi2": width2.fromFloat, "ftoi4": width4.fromFloat, "ftoi8": width8.fromFloat,
		"in_range_float8_float8": inRangeFloat, "in_range_float4_float8": inRangeFloat,
		"width_bucket_float8": widthBucketFloat,
	}.register()
}

// inRangeFloat is the window frame test of RANGE offsets: whether val lies on
// the right side of base ± offset. args: val, base, offset, sub, less.
func inRangeFloat(_ *Call, args []Datum) (Datum, error) {
	val, base, offset := args[0].Float(), args[1].Float(), args[2].Float()
	sub, less := args[3].Bool(), args[4].Bool()
	if math.IsNaN(offset) || offset < 0 {
		return fail(badFrameOffset())
	}
	switch {
	case math.IsNaN(val):
		return boolean(math.IsNaN(base) || !less)
	case math.IsNaN(base):
		return boolean(less)
	case math.IsInf(offset, 0) && math.IsInf(base, 0) && sub == (base > 0):
		return boolean(true)
	}
	sum := base + offset
	if sub {
		sum = base - offset
	}
	if less {
		return boolean(val <= sum)
	}
	return boolean(val >= sum)
}

func badFrameOffset() *pgerror.Error {
	return pgerror.New(pgerror.InvalidPrecedingOrFollowingSize, "invalid preceding or following size in window function")
}

func bucketError(format string) *pgerror.Error {
	return pgerror.New(pgerror.InvalidArgumentForWidthBucketFunction, "%s", format)
}

func widthBucketFloat(_ *Call, args []Datum) (Datum, error) {
	op, lo, hi, count := args[0].Float(), args[1].Float(), args[2].Float(), args[3].I
	switch {
	case count <= 0:
		return fail(bucketError("count must be greater than zero"))
	case math.IsNaN(op), math.IsNaN(lo), math.IsNaN(hi):
		return fail(bucketError("operand, lower bound, and upper bound cannot be NaN"))
	case math.IsInf(lo, 0), math.IsInf(hi, 0):
		return fail(bucketError("lower and upper bounds must be finite"))
	case lo == hi:
		return fail(bucketError("lower bound cannot equal upper bound"))
	}
	descending := lo > hi
	if descending {
		op, lo, hi = -op, -lo, -hi
	}
	var n int64
	switch {
	case op < lo:
		n = 0
	case op >= hi:
		n = count + 1
	default:
		if math.IsInf(hi-lo, 0) { // halve, so that the difference is finite
			op, lo, hi = op/2, lo/2, hi/2
		}
		n = int64(float64(count) * ((op - lo) / (hi - lo)))
		if n >= count { // rounding
			n = count - 1
		}
		n++
	}
	if n > math.MaxInt32 {
		return fail(width4.outOfRange())
	}
	return integer(n)
}
