package builtin

import (
	"math"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// floatFn makes a function of one float8. An infinite result of a finite
// argument is an overflow, a zero of a nonzero argument never an error here.
func floatFn(f func(float64) float64) func(*Call, []Datum) (Datum, error) {
	return func(_ *Call, args []Datum) (Datum, error) {
		x := args[0].Float()
		r := f(x)
		if math.IsInf(r, 0) && !math.IsInf(x, 0) {
			return fail(floatOverflow())
		}
		return float(r)
	}
}

// domainFn is floatFn for functions that refuse part of the numbers.
func domainFn(in func(float64) bool, f func(float64) float64) func(*Call, []Datum) (Datum, error) {
	inner := floatFn(f)
	return func(c *Call, args []Datum) (Datum, error) {
		if x := args[0].Float(); math.IsNaN(x) {
			return args[0], nil
		} else if !in(x) {
			return fail(inputOutOfRange())
		}
		return inner(c, args)
	}
}

func inputOutOfRange() *pgerror.Error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "input is out of range")
}

func finite(x float64) bool    { return !math.IsInf(x, 0) }
func withinOne(x float64) bool { return x >= -1 && x <= 1 }
func oneUp(x float64) bool     { return x >= 1 }
func anyFloat(float64) bool    { return true }

func logOf(f func(float64) float64) func(*Call, []Datum) (Datum, error) {
	inner := floatFn(f)
	return func(c *Call, args []Datum) (Datum, error) {
		switch x := args[0].Float(); {
		case x == 0:
			return fail(pgerror.New(pgerror.InvalidArgumentForLog, "cannot take logarithm of zero"))
		case x < 0:
			return fail(pgerror.New(pgerror.InvalidArgumentForLog, "cannot take logarithm of a negative number"))
		}
		return inner(c, args)
	}
}

func sqrtFloat(_ *Call, args []Datum) (Datum, error) {
	x := args[0].Float()
	if x < 0 {
		return fail(pgerror.New(pgerror.InvalidArgumentForPowerFunction, "cannot take square root of a negative number"))
	}
	return float(math.Sqrt(x))
}

func expFloat(_ *Call, args []Datum) (Datum, error) {
	x := args[0].Float()
	r := libmExp(x)
	if math.IsInf(r, 0) && !math.IsInf(x, 0) {
		return fail(floatOverflow())
	}
	if r == 0 && !math.IsInf(x, 0) {
		return fail(floatUnderflow())
	}
	return float(r)
}

func powFloat(_ *Call, args []Datum) (Datum, error) {
	x, y := args[0].Float(), args[1].Float()
	switch {
	case math.IsNaN(x) && y != 0, math.IsNaN(y) && x != 1:
		return float(math.NaN())
	case math.IsNaN(x), math.IsNaN(y):
		return float(1)
	case x == 0 && y < 0:
		return fail(pgerror.New(pgerror.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined"))
	case x < 0 && math.Floor(y) != y:
		return fail(pgerror.New(pgerror.InvalidArgumentForPowerFunction, "a negative number raised to a non-integer power yields a complex result"))
	}
	r := libmPow(x, y)
	if math.IsInf(x, 0) || math.IsInf(y, 0) {
		return float(r)
	}
	if math.IsInf(r, 0) {
		return fail(floatOverflow())
	}
	if r == 0 && x != 0 {
		return fail(floatUnderflow())
	}
	return float(r)
}

func signFloat(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// radiansPerDegree is a variable so that products with it round as C's do
// (Go multiplies constants exactly).
var radiansPerDegree = 0.0174532925199432957692

func init() {
	scalarTable{
		"dround": floatFn(math.RoundToEven), "dtrunc": floatFn(math.Trunc), "dceil": floatFn(math.Ceil),
		"dfloor": floatFn(math.Floor), "dsign": floatFn(signFloat), "dcbrt": floatFn(libmCbrt),
		"dsqrt": sqrtFloat, "dexp": expFloat, "dpow": powFloat, "dlog1": logOf(libmLog), "dlog10": logOf(libmLog10),
		"dpi": func(*Call, []Datum) (Datum, error) { return float(math.Pi) },
		"degrees": func(c *Call, a []Datum) (Datum, error) {
			return double.div(c, []Datum{a[0], sqltypes.Float(radiansPerDegree)})
		},
		"radians": func(c *Call, a []Datum) (Datum, error) {
			return double.mul(c, []Datum{a[0], sqltypes.Float(radiansPerDegree)})
		},
		"dsin": domainFn(finite, libmSin), "dcos": domainFn(finite, libmCos), "dtan": domainFn(finite, libmTan),
		"dcot":  cotangent,
		"dasin": domainFn(withinOne, libmAsin), "dacos": domainFn(withinOne, libmAcos), "datan": domainFn(anyFloat, libmAtan),
		"datan2": func(_ *Call, a []Datum) (Datum, error) { return float(libmAtan2(a[0].Float(), a[1].Float())) },
		"dsinh":  func(_ *Call, a []Datum) (Datum, error) { return float(libmSinh(a[0].Float())) },
		"dcosh":  func(_ *Call, a []Datum) (Datum, error) { return float(libmCosh(a[0].Float())) },
		"dtanh":  floatFn(libmTanh), "dasinh": floatFn(libmAsinh), "dacosh": domainFn(oneUp, libmAcosh),
		"datanh": func(c *Call, a []Datum) (Datum, error) {
			switch x := a[0].Float(); {
			case x < -1 || x > 1:
				return fail(inputOutOfRange())
			case x == 1 || x == -1:
				return float(math.Inf(int(x)))
			}
			return float(libmAtanh(a[0].Float()))
		},
		"dsind": domainFn(finite, sinDegrees), "dcosd": domainFn(finite, cosDegrees),
		"dtand": tanDegrees, "dcotd": cotDegrees,
		"dasind": domainFn(withinOne, asinDegrees), "dacosd": domainFn(withinOne, acosDegrees),
		"datand": floatFn(func(x float64) float64 { return libmAtan(x) / atanOne * 45 }),
		"datan2d": func(_ *Call, a []Datum) (Datum, error) {
			y, x := a[0].Float(), a[1].Float()
			return float(libmAtan2(y, x) / atanOne * 45)
		},
	}.register()
}

func cotangent(_ *Call, args []Datum) (Datum, error) {
	x := args[0].Float()
	if math.IsNaN(x) {
		return args[0], nil
	}
	if math.IsInf(x, 0) {
		return fail(inputOutOfRange())
	}
	return float(1 / libmTan(x))
}
