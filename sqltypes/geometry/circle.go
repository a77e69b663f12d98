package geometry

import (
	"math"

	"ostraka/sqltypes/pgerror"
)

// Circle by its center and radius, which is not negative.
type Circle struct {
	Center Point
	Radius float64
}

func (c Circle) Same(d Circle) bool {
	return (c.Radius != c.Radius && d.Radius != d.Radius || eq(c.Radius, d.Radius)) && c.Center.Same(d.Center)
}

func (c Circle) centers(d Circle) float64 { return c.Center.Distance(d.Center) }

func (c Circle) Overlaps(d Circle) bool { return le(c.centers(d), add(c.Radius, d.Radius)) }
func (c Circle) Contains(d Circle) bool { return le(c.centers(d), sub(c.Radius, d.Radius)) }

// ContainsPoint is exact.
func (c Circle) ContainsPoint(p Point) bool { return c.Center.Distance(p) <= c.Radius }

func (c Circle) left() float64   { return sub(c.Center.X, c.Radius) }
func (c Circle) right() float64  { return add(c.Center.X, c.Radius) }
func (c Circle) bottom() float64 { return sub(c.Center.Y, c.Radius) }
func (c Circle) top() float64    { return add(c.Center.Y, c.Radius) }

func (c Circle) LeftOf(d Circle) bool     { return lt(c.right(), d.left()) }
func (c Circle) NotRightOf(d Circle) bool { return le(c.right(), d.right()) }
func (c Circle) RightOf(d Circle) bool    { return gt(c.left(), d.right()) }
func (c Circle) NotLeftOf(d Circle) bool  { return ge(c.left(), d.left()) }
func (c Circle) Below(d Circle) bool      { return lt(c.top(), d.bottom()) }
func (c Circle) NotAbove(d Circle) bool   { return le(c.top(), d.top()) }
func (c Circle) Above(d Circle) bool      { return gt(c.bottom(), d.top()) }
func (c Circle) NotBelow(d Circle) bool   { return ge(c.bottom(), d.bottom()) }

func (c Circle) Area() float64     { return mul(mul(c.Radius, c.Radius), math.Pi) }
func (c Circle) Diameter() float64 { return mul(c.Radius, 2) }

// SameArea and the others compare areas.
func (c Circle) SameArea(d Circle) bool    { return eq(c.Area(), d.Area()) }
func (c Circle) OtherArea(d Circle) bool   { return math.Abs(c.Area()-d.Area()) > Epsilon }
func (c Circle) SmallerThan(d Circle) bool { return lt(c.Area(), d.Area()) }
func (c Circle) LargerThan(d Circle) bool  { return gt(c.Area(), d.Area()) }
func (c Circle) AtMost(d Circle) bool      { return le(c.Area(), d.Area()) }
func (c Circle) AtLeast(d Circle) bool     { return ge(c.Area(), d.Area()) }

func (c Circle) Add(p Point) Circle { return Circle{c.Center.Add(p), c.Radius} }
func (c Circle) Sub(p Point) Circle { return Circle{c.Center.Sub(p), c.Radius} }
func (c Circle) Mul(p Point) Circle { return Circle{c.Center.Mul(p), mul(c.Radius, hypot(p.X, p.Y))} }
func (c Circle) Div(p Point) Circle { return Circle{c.Center.Div(p), div(c.Radius, hypot(p.X, p.Y))} }

// Distance of two circles, 0 if they overlap.
func (c Circle) Distance(d Circle) float64 {
	return positive(sub(c.centers(d), add(c.Radius, d.Radius)))
}

// PointDistance is the distance of a point, 0 inside.
func (c Circle) PointDistance(p Point) float64 { return positive(sub(c.Center.Distance(p), c.Radius)) }

func positive(d float64) float64 {
	if d < 0 {
		return 0
	}
	return d
}

// Box is the square inside the circle.
func (c Circle) Box() Box {
	d := div(c.Radius, math.Sqrt2)
	return Box{Point{add(c.Center.X, d), add(c.Center.Y, d)}, Point{sub(c.Center.X, d), sub(c.Center.Y, d)}}
}

// Polygon is one of n corners on the circle; sin and cos are the math library to use.
func (c Circle) Polygon(n int64, sin, cos func(float64) float64) Polygon {
	if isZero(c.Radius) {
		panic(pgerror.New(pgerror.FeatureNotSupported, "cannot convert circle with radius zero to polygon"))
	}
	if n < 2 {
		panic(pgerror.New(pgerror.InvalidParameterValue, "must request at least 2 points"))
	}
	if n > MaxPoints {
		panic(pgerror.New(pgerror.ProgramLimitExceeded, "too many points requested"))
	}
	ps := make(Polygon, n)
	step := div(2*math.Pi, float64(n))
	for i := range ps {
		angle := mul(step, float64(i))
		ps[i] = Point{sub(c.Center.X, mul(c.Radius, cos(angle))), add(c.Center.Y, mul(c.Radius, sin(angle)))}
	}
	return ps
}
