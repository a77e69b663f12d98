package geometry

import (
	"math"

	"ostraka/sqltypes/pgerror"
)

// Line is the infinite line A·x + B·y + C = 0.
type Line struct{ A, B, C float64 }

// lineThrough is the line of a slope through a point.
func lineThrough(p Point, slope float64) Line {
	switch slope {
	case math.Inf(1):
		return Line{-1, 0, p.X}
	case 0:
		return Line{0, -1, p.Y}
	}
	return Line{slope, -1, noNegativeZero(sub(p.Y, mul(slope, p.X)))}
}

// NewLine is the line through two points, which must differ.
func NewLine(p, q Point) Line {
	if p.Same(q) {
		panic(pgerror.New(pgerror.InvalidParameterValue, "invalid line specification: must be two distinct points"))
	}
	return lineThrough(p, p.Slope(q))
}

// line is what a segment lies on.
func (s Segment) line() Line { return lineThrough(s.P, s.P.Slope(s.Q)) }

// Slope is +Inf for a vertical line.
func (l Line) Slope() float64 {
	switch {
	case isZero(l.A):
		return 0
	case isZero(l.B):
		return math.Inf(1)
	}
	return div(l.A, -l.B)
}

func (l Line) normal() float64 {
	switch {
	case isZero(l.A):
		return math.Inf(1)
	case isZero(l.B):
		return 0
	}
	return div(l.B, l.A)
}

func (l Line) Vertical() bool   { return isZero(l.B) }
func (l Line) Horizontal() bool { return isZero(l.A) }

// Parallel reports whether two lines never meet.
func (l Line) Parallel(m Line) bool {
	_, ok := l.Intersection(m)
	return !ok
}

// Perpendicular reports a right angle.
func (l Line) Perpendicular(m Line) bool {
	switch {
	case isZero(l.A):
		return isZero(m.B)
	case isZero(m.A):
		return isZero(l.B)
	case isZero(l.B):
		return isZero(m.A)
	case isZero(m.B):
		return isZero(l.A)
	}
	return eq(div(mul(l.A, m.A), mul(l.B, m.B)), -1)
}

// Same reports whether two equations describe one line.
func (l Line) Same(m Line) bool {
	if l.A != l.A || l.B != l.B || l.C != l.C || m.A != m.A || m.B != m.B || m.C != m.C {
		return same(l.A, m.A) && same(l.B, m.B) && same(l.C, m.C)
	}
	ratio := 1.0
	switch {
	case !isZero(m.A):
		ratio = div(l.A, m.A)
	case !isZero(m.B):
		ratio = div(l.B, m.B)
	case !isZero(m.C):
		ratio = div(l.C, m.C)
	}
	return eq(l.A, mul(ratio, m.A)) && eq(l.B, mul(ratio, m.B)) && eq(l.C, mul(ratio, m.C))
}

// Intersection is where two lines meet.
func (l Line) Intersection(m Line) (Point, bool) {
	var p Point
	switch {
	case !isZero(l.B):
		if eq(m.A, mul(l.A, div(m.B, l.B))) {
			return p, false
		}
		p.X = div(sub(mul(l.B, m.C), mul(m.B, l.C)), sub(mul(l.A, m.B), mul(m.A, l.B)))
		p.Y = div(-add(mul(l.A, p.X), l.C), l.B)
	case !isZero(m.B):
		if eq(l.A, mul(m.A, div(l.B, m.B))) {
			return p, false
		}
		p.X = div(sub(mul(m.B, l.C), mul(l.B, m.C)), sub(mul(m.A, l.B), mul(l.A, m.B)))
		p.Y = div(-add(mul(m.A, p.X), m.C), m.B)
	default:
		return p, false
	}
	return Point{noNegativeZero(p.X), noNegativeZero(p.Y)}, true
}

// Distance of two lines: 0 unless they are parallel.
func (l Line) Distance(m Line) float64 {
	if _, ok := l.Intersection(m); ok {
		return 0
	}
	ratio := 1.0
	switch {
	case !isZero(l.A) && l.A == l.A && !isZero(m.A) && m.A == m.A:
		ratio = div(l.A, m.A)
	case !isZero(l.B) && l.B == l.B && !isZero(m.B) && m.B == m.B:
		ratio = div(l.B, m.B)
	}
	return div(math.Abs(sub(l.C, mul(ratio, m.C))), hypot(l.A, l.B))
}

// Contains reports whether a point lies on the line.
func (l Line) Contains(p Point) bool { return isZero(add(add(mul(l.A, p.X), mul(l.B, p.Y)), l.C)) }

// Closest is the point of the line that is closest to p, and its distance: NaN if
// rounding or NaN hide it.
func (l Line) Closest(p Point) (Point, float64) {
	q, ok := lineThrough(p, l.normal()).Intersection(l)
	if !ok {
		return p, math.NaN()
	}
	return q, q.Distance(p)
}
