package geometry

import (
	"math"

	"ostraka/sqltypes/pgerror"
)

// Epsilon is how far apart two coordinates may be and still count as equal.
const Epsilon = 1.0e-06

// Guard runs f; an arithmetic fault inside it is the error.
func Guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*pgerror.Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	f()
	return nil
}

func overflow() {
	panic(pgerror.New(pgerror.NumericValueOutOfRange, "value out of range: overflow"))
}

func underflow() {
	panic(pgerror.New(pgerror.NumericValueOutOfRange, "value out of range: underflow"))
}

func add(a, b float64) float64 {
	r := a + b
	if math.IsInf(r, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		overflow()
	}
	return r
}

func sub(a, b float64) float64 { return add(a, -b) }

func mul(a, b float64) float64 {
	r := a * b
	if math.IsInf(r, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		overflow()
	}
	if r == 0 && a != 0 && b != 0 {
		underflow()
	}
	return r
}

func div(a, b float64) float64 {
	if b == 0 && a == a {
		panic(pgerror.New(pgerror.DivisionByZero, "division by zero"))
	}
	r := a / b
	if math.IsInf(r, 0) && !math.IsInf(a, 0) {
		overflow()
	}
	if r == 0 && a != 0 && !math.IsInf(b, 0) {
		underflow()
	}
	return r
}

// hypot is the length of a vector; it keeps the order of PostgreSQL's operations, so
// that the last digits agree.
func hypot(x, y float64) float64 {
	switch {
	case math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Inf(1)
	case x != x || y != y:
		return math.NaN()
	}
	x, y = math.Abs(x), math.Abs(y)
	if x < y {
		x, y = y, x
	}
	if y == 0 {
		return x
	}
	yx := y / x
	r := x * math.Sqrt(1+float64(yx*yx))
	if math.IsInf(r, 0) {
		overflow()
	}
	if r == 0 {
		underflow()
	}
	return r
}

// The fuzzy comparisons.

func isZero(a float64) bool { return math.Abs(a) <= Epsilon }
func eq(a, b float64) bool  { return a == b || math.Abs(a-b) <= Epsilon }
func lt(a, b float64) bool  { return a+Epsilon < b }
func le(a, b float64) bool  { return a <= b+Epsilon }
func gt(a, b float64) bool  { return a > b+Epsilon }
func ge(a, b float64) bool  { return a+Epsilon >= b }

// less is the order of SQL's floats: NaN is above everything.
func less(a, b float64) bool {
	if a != a {
		return false
	}
	return b != b || a < b
}

// same is equality of SQL's floats: NaN equals NaN.
func same(a, b float64) bool { return a == b || a != a && b != b }

func smaller(a, b float64) float64 {
	if less(a, b) {
		return a
	}
	return b
}

func larger(a, b float64) float64 {
	if less(b, a) {
		return a
	}
	return b
}

// noNegativeZero makes -0 a 0.
func noNegativeZero(a float64) float64 {
	if a == 0 {
		return 0
	}
	return a
}
