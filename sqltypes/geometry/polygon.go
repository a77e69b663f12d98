package geometry

import "ostraka/sqltypes/pgerror"

// Polygon is a closed figure by its corners, at least one.
type Polygon []Point

// Bound is the smallest box around the polygon.
func (p Polygon) Bound() Box { return bound(p) }

// The positions compare the boxes around the polygons, exactly.

func (p Polygon) LeftOf(q Polygon) bool     { return p.Bound().High.X < q.Bound().Low.X }
func (p Polygon) NotRightOf(q Polygon) bool { return p.Bound().High.X <= q.Bound().High.X }
func (p Polygon) RightOf(q Polygon) bool    { return p.Bound().Low.X > q.Bound().High.X }
func (p Polygon) NotLeftOf(q Polygon) bool  { return p.Bound().Low.X >= q.Bound().Low.X }
func (p Polygon) Below(q Polygon) bool      { return p.Bound().High.Y < q.Bound().Low.Y }
func (p Polygon) NotAbove(q Polygon) bool   { return p.Bound().High.Y <= q.Bound().High.Y }
func (p Polygon) Above(q Polygon) bool      { return p.Bound().Low.Y > q.Bound().High.Y }
func (p Polygon) NotBelow(q Polygon) bool   { return p.Bound().Low.Y >= q.Bound().Low.Y }

// Same reports the same corners in the same or the opposite order, wherever they begin.
func (p Polygon) Same(q Polygon) bool {
	n := len(p)
	if n != len(q) {
		return false
	}
	for start := range q {
		if !q[start].Same(p[0]) {
			continue
		}
		for _, step := range [...]int{1, n - 1} {
			at, ok := start, true
			for i := 1; i < n && ok; i++ {
				at = (at + step) % n
				ok = q[at].Same(p[i])
			}
			if ok {
				return true
			}
		}
	}
	return false
}

// Overlaps reports whether two polygons share a point.
func (p Polygon) Overlaps(q Polygon) bool {
	if !p.Bound().Overlaps(q.Bound()) {
		return false
	}
	met := false
	Path{true, p}.segments(func(s Segment) bool {
		Path{true, q}.segments(func(t Segment) bool {
			met = s.Intersects(t)
			return !met
		})
		return !met
	})
	return met || q.ContainsPoint(p[0]) || p.ContainsPoint(q[0])
}

// ContainsPoint reports whether a point is inside or on the boundary.
func (p Polygon) ContainsPoint(q Point) bool { return place(q, p) != outside }

// Contains reports whether q lies within p.
func (p Polygon) Contains(q Polygon) bool {
	if !p.Bound().Contains(q.Bound()) {
		return false
	}
	prev := q[len(q)-1]
	for _, c := range q {
		if !p.holds(prev, c, 0, 0) {
			return false
		}
		prev = c
	}
	return true
}

// maxCuts bounds how often a segment is cut at sides of the polygon.
const maxCuts = 10000

// holds reports whether the segment from a to b lies within the polygon, whose sides
// before start are known not to be crossed. The segment is cut wherever a side meets
// it; a piece that no side meets is inside when its middle is.
func (p Polygon) holds(a, b Point, start, depth int) bool {
	if depth > maxCuts {
		panic(pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded"))
	}
	n := len(p)
	t := Segment{a, b}
	prev := p[n-1]
	if start > 0 {
		prev = p[start-1]
	}
	for i := start; i < n; i++ {
		s := Segment{prev, p[i]}
		switch {
		case s.Contains(a):
			if s.Contains(b) {
				return true
			}
			if !p.touches(a, b, s, i+1, depth+1) {
				return false
			}
		case s.Contains(b):
			if !p.touches(b, a, s, i+1, depth+1) {
				return false
			}
		default:
			if x, ok := t.Intersection(s); ok {
				return p.holds(a, x, i+1, depth+1) && p.holds(b, x, i+1, depth+1)
			}
		}
		prev = s.Q
	}
	return p.middleInside(t)
}

func (p Polygon) middleInside(t Segment) bool { return p.ContainsPoint(t.Center()) }

// touches goes on with a segment whose end a lies on side s: what remains of it
// behind the side is looked at.
func (p Polygon) touches(a, b Point, s Segment, start, depth int) bool {
	t := Segment{a, b}
	switch {
	case a.Same(s.P):
		if t.Contains(s.Q) {
			return p.holds(b, s.Q, start, depth)
		}
	case a.Same(s.Q):
		if t.Contains(s.P) {
			return p.holds(b, s.P, start, depth)
		}
	case t.Contains(s.P):
		return p.holds(b, s.P, start, depth)
	case t.Contains(s.Q):
		return p.holds(b, s.Q, start, depth)
	}
	return true
}

// Distance of two polygons, 0 if they overlap.
func (p Polygon) Distance(q Polygon) float64 {
	if p.Overlaps(q) {
		return 0
	}
	d, _ := Path{true, p}.Distance(Path{true, q})
	return d
}

// PointDistance is the distance of a point, 0 inside.
func (p Polygon) PointDistance(q Point) float64 {
	if p.ContainsPoint(q) {
		return 0
	}
	return Path{true, p}.PointDistance(q)
}

// Circle is around the mean of the corners, with their mean distance as radius.
func (p Polygon) Circle() Circle {
	var c Circle
	n := float64(len(p))
	for _, q := range p {
		c.Center = c.Center.Add(q)
	}
	c.Center = Point{div(c.Center.X, n), div(c.Center.Y, n)}
	for _, q := range p {
		c.Radius = add(c.Radius, q.Distance(c.Center))
	}
	c.Radius = div(c.Radius, n)
	return c
}

type placement int

const (
	outside placement = iota
	inside
	onBoundary
)

// place tells where a point is: the boundary is followed once around it, and the
// crossings of the ray to the right are counted with their direction.
func place(q Point, ps []Point) placement {
	first := Point{sub(ps[0].X, q.X), sub(ps[0].Y, q.Y)}
	prev, total := first, 0
	for i := 1; i <= len(ps); i++ {
		at := first
		if i < len(ps) {
			at = Point{sub(ps[i].X, q.X), sub(ps[i].Y, q.Y)}
		}
		n, on := crossing(at, prev)
		if on {
			return onBoundary
		}
		total += n
		prev = at
	}
	if total != 0 {
		return inside
	}
	return outside
}

// crossing counts how the segment from prev to at crosses the positive x axis: ±2
// right through, ±1 when it ends or begins on it; on: it goes through the origin.
func crossing(at, prev Point) (n int, on bool) {
	if isZero(at.Y) {
		switch {
		case isZero(at.X):
			return 0, true
		case gt(at.X, 0):
			if isZero(prev.Y) {
				return 0, !gt(prev.X, 0)
			}
			if lt(prev.Y, 0) {
				return 1, false
			}
			return -1, false
		}
		if isZero(prev.Y) {
			return 0, !lt(prev.X, 0)
		}
		return 0, false
	}
	sign := -1
	if gt(at.Y, 0) {
		sign = 1
	}
	switch {
	case isZero(prev.Y):
		if lt(prev.X, 0) {
			return 0, false
		}
		return sign, false
	case sign < 0 && lt(prev.Y, 0), sign > 0 && gt(prev.Y, 0):
		return 0, false
	case ge(at.X, 0) && gt(prev.X, 0):
		return 2 * sign, false
	case lt(at.X, 0) && le(prev.X, 0):
		return 0, false
	}
	z := sub(mul(sub(at.X, prev.X), at.Y), mul(sub(at.Y, prev.Y), at.X))
	if isZero(z) {
		return 0, true
	}
	if sign < 0 && lt(z, 0) || sign > 0 && gt(z, 0) {
		return 0, false
	}
	return 2 * sign, false
}
