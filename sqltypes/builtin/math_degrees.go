package builtin

import "math"

// The degree-based functions are exact at multiples of 30 and 45 degrees: as in
// PostgreSQL each quotient is scaled by the library's own value there.
var (
	sin30      = libmSin(30 * radiansPerDegree)
	oneMinus60 = 1 - libmCos(60*radiansPerDegree)
	asinHalf   = libmAsin(0.5)
	acosHalf   = libmAcos(0.5)
	atanOne    = libmAtan(1)
	tan45      = sindQ1(45) / cosdQ1(45)
	cot45      = cosdQ1(45) / sindQ1(45)
)

func sind0to30(x float64) float64 { return libmSin(x*radiansPerDegree) / sin30 / 2 }

func cosd0to60(x float64) float64 {
	return 1 - (1-libmCos(x*radiansPerDegree))/oneMinus60/2
}

func sindQ1(x float64) float64 {
	if x <= 30 {
		return sind0to30(x)
	}
	return cosd0to60(90 - x)
}

func cosdQ1(x float64) float64 {
	if x <= 60 {
		return cosd0to60(x)
	}
	return sind0to30(90 - x)
}

func sinDegrees(x float64) float64 {
	x = math.Mod(x, 360)
	sign := 1.0
	if x < 0 {
		x, sign = -x, -sign
	}
	if x > 180 {
		x, sign = 360-x, -sign
	}
	if x > 90 {
		x = 180 - x
	}
	return sign * sindQ1(x)
}

func cosDegrees(x float64) float64 {
	x = math.Abs(math.Mod(x, 360))
	sign := 1.0
	if x > 180 {
		x = 360 - x
	}
	if x > 90 {
		x, sign = 180-x, -sign
	}
	return sign * cosdQ1(x)
}

// reduceTangent brings x into [0, 90] for tan and cot.
func reduceTangent(x float64) (float64, float64) {
	x = math.Mod(x, 360)
	sign := 1.0
	if x < 0 {
		x, sign = -x, -sign
	}
	if x > 180 {
		x, sign = 360-x, -sign
	}
	if x > 90 {
		x, sign = 180-x, -sign
	}
	return x, sign
}

func tanDegrees(_ *Call, args []Datum) (Datum, error) {
	return tangentDegrees(args[0], func(x float64) float64 { return sindQ1(x) / cosdQ1(x) / tan45 })
}

func cotDegrees(_ *Call, args []Datum) (Datum, error) {
	return tangentDegrees(args[0], func(x float64) float64 { return cosdQ1(x) / sindQ1(x) / cot45 })
}

// tangentDegrees may be infinite at 90 or 0 degrees, which is no error; zero is never negative.
func tangentDegrees(d Datum, f func(float64) float64) (Datum, error) {
	if math.IsNaN(d.Float()) {
		return d, nil
	}
	if math.IsInf(d.Float(), 0) {
		return fail(inputOutOfRange())
	}
	x, sign := reduceTangent(d.Float())
	r := sign * f(x)
	if r == 0 {
		r = 0
	}
	return float(r)
}

func asinQ1(x float64) float64 {
	if x <= 0.5 {
		return libmAsin(x) / asinHalf * 30
	}
	return 90 - libmAcos(x)/acosHalf*60
}

func acosQ1(x float64) float64 {
	if x <= 0.5 {
		return 90 - libmAsin(x)/asinHalf*30
	}
	return libmAcos(x) / acosHalf * 60
}

func asinDegrees(x float64) float64 {
	if x >= 0 {
		return asinQ1(x)
	}
	return -asinQ1(-x)
}

func acosDegrees(x float64) float64 {
	if x >= 0 {
		return acosQ1(x)
	}
	return 90 + asinQ1(-x)
}
