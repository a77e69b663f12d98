package geometry

import "math"

// Point is a point, or a vector.
type Point struct{ X, Y float64 }

func (p Point) hasNaN() bool { return p.X != p.X || p.Y != p.Y }

// Same is equality of points, NaN equal to NaN.
func (p Point) Same(q Point) bool {
	if p.hasNaN() || q.hasNaN() {
		return same(p.X, q.X) && same(p.Y, q.Y)
	}
	return eq(p.X, q.X) && eq(p.Y, q.Y)
}

func (p Point) LeftOf(q Point) bool     { return lt(p.X, q.X) }
func (p Point) RightOf(q Point) bool    { return gt(p.X, q.X) }
func (p Point) Above(q Point) bool      { return gt(p.Y, q.Y) }
func (p Point) Below(q Point) bool      { return lt(p.Y, q.Y) }
func (p Point) Vertical(q Point) bool   { return eq(p.X, q.X) }
func (p Point) Horizontal(q Point) bool { return eq(p.Y, q.Y) }

func (p Point) Add(q Point) Point { return Point{add(p.X, q.X), add(p.Y, q.Y)} }
func (p Point) Sub(q Point) Point { return Point{sub(p.X, q.X), sub(p.Y, q.Y)} }

// Mul multiplies as complex numbers: a turn and a stretch.
func (p Point) Mul(q Point) Point {
	return Point{sub(mul(p.X, q.X), mul(p.Y, q.Y)), add(mul(p.X, q.Y), mul(p.Y, q.X))}
}

// Div is the inverse of Mul.
func (p Point) Div(q Point) Point {
	d := add(mul(q.X, q.X), mul(q.Y, q.Y))
	return Point{
		div(add(mul(p.X, q.X), mul(p.Y, q.Y)), d),
		div(sub(mul(p.Y, q.X), mul(p.X, q.Y)), d),
	}
}

// Distance of two points.
func (p Point) Distance(q Point) float64 { return hypot(sub(p.X, q.X), sub(p.Y, q.Y)) }

// Slope of the line through two points, +Inf for a vertical one.
func (p Point) Slope(q Point) float64 {
	switch {
	case eq(p.X, q.X):
		return math.Inf(1)
	case eq(p.Y, q.Y):
		return 0
	}
	return div(sub(p.Y, q.Y), sub(p.X, q.X))
}

// normal is the slope of what is perpendicular to the line through two points.
func (p Point) normal(q Point) float64 {
	switch {
	case eq(p.X, q.X):
		return 0
	case eq(p.Y, q.Y):
		return math.Inf(1)
	}
	return div(sub(p.X, q.X), sub(q.Y, p.Y))
}

func middle(p, q Point) Point { return Point{div(add(p.X, q.X), 2), div(add(p.Y, q.Y), 2)} }
