package geometry

// Box is a rectangle with sides parallel to the axes, by its upper right and lower left corner.
type Box struct{ High, Low Point }

// NewBox is the box that has two points as opposite corners.
func NewBox(p, q Point) Box {
	b := Box{p, q}
	if less(b.High.X, b.Low.X) {
		b.High.X, b.Low.X = b.Low.X, b.High.X
	}
	if less(b.High.Y, b.Low.Y) {
		b.High.Y, b.Low.Y = b.Low.Y, b.High.Y
	}
	return b
}

func (b Box) Same(c Box) bool { return b.High.Same(c.High) && b.Low.Same(c.Low) }

func (b Box) Overlaps(c Box) bool {
	return le(b.Low.X, c.High.X) && le(c.Low.X, b.High.X) && le(b.Low.Y, c.High.Y) && le(c.Low.Y, b.High.Y)
}

func (b Box) Contains(c Box) bool {
	return ge(b.High.X, c.High.X) && le(b.Low.X, c.Low.X) && ge(b.High.Y, c.High.Y) && le(b.Low.Y, c.Low.Y)
}

// ContainsPoint is exact, unlike the others.
func (b Box) ContainsPoint(p Point) bool {
	return b.High.X >= p.X && b.Low.X <= p.X && b.High.Y >= p.Y && b.Low.Y <= p.Y
}

func (b Box) LeftOf(c Box) bool       { return lt(b.High.X, c.Low.X) }
func (b Box) NotRightOf(c Box) bool   { return le(b.High.X, c.High.X) }
func (b Box) RightOf(c Box) bool      { return gt(b.Low.X, c.High.X) }
func (b Box) NotLeftOf(c Box) bool    { return ge(b.Low.X, c.Low.X) }
func (b Box) Below(c Box) bool        { return lt(b.High.Y, c.Low.Y) }
func (b Box) NotAbove(c Box) bool     { return le(b.High.Y, c.High.Y) }
func (b Box) Above(c Box) bool        { return gt(b.Low.Y, c.High.Y) }
func (b Box) NotBelow(c Box) bool     { return ge(b.Low.Y, c.Low.Y) }
func (b Box) BelowOrMeets(c Box) bool { return le(b.High.Y, c.Low.Y) }
func (b Box) AboveOrMeets(c Box) bool { return ge(b.Low.Y, c.High.Y) }

func (b Box) Width() float64    { return sub(b.High.X, b.Low.X) }
func (b Box) Height() float64   { return sub(b.High.Y, b.Low.Y) }
func (b Box) Area() float64     { return mul(b.Width(), b.Height()) }
func (b Box) Center() Point     { return middle(b.High, b.Low) }
func (b Box) Diagonal() Segment { return Segment{b.High, b.Low} }

// SmallerThan and the others compare areas.
func (b Box) SmallerThan(c Box) bool { return lt(b.Area(), c.Area()) }
func (b Box) LargerThan(c Box) bool  { return gt(b.Area(), c.Area()) }
func (b Box) SameArea(c Box) bool    { return eq(b.Area(), c.Area()) }
func (b Box) AtMost(c Box) bool      { return le(b.Area(), c.Area()) }
func (b Box) AtLeast(c Box) bool     { return ge(b.Area(), c.Area()) }

// Intersection is what two boxes share.
func (b Box) Intersection(c Box) (Box, bool) {
	if !b.Overlaps(c) {
		return Box{}, false
	}
	return Box{
		Point{smaller(b.High.X, c.High.X), smaller(b.High.Y, c.High.Y)},
		Point{larger(b.Low.X, c.Low.X), larger(b.Low.Y, c.Low.Y)},
	}, true
}

// Bound is the smallest box around two.
func (b Box) Bound(c Box) Box {
	return Box{
		Point{larger(b.High.X, c.High.X), larger(b.High.Y, c.High.Y)},
		Point{smaller(b.Low.X, c.Low.X), smaller(b.Low.Y, c.Low.Y)},
	}
}

func (b Box) Add(p Point) Box { return Box{b.High.Add(p), b.Low.Add(p)} }
func (b Box) Sub(p Point) Box { return Box{b.High.Sub(p), b.Low.Sub(p)} }
func (b Box) Mul(p Point) Box { return NewBox(b.High.Mul(p), b.Low.Mul(p)) }
func (b Box) Div(p Point) Box { return NewBox(b.High.Div(p), b.Low.Div(p)) }

func (b Box) Circle() Circle {
	c := b.Center()
	return Circle{c, c.Distance(b.High)}
}

// Corners in the order of the polygon that a box becomes.
func (b Box) Corners() []Point {
	return []Point{b.Low, {b.Low.X, b.High.Y}, b.High, {b.High.X, b.Low.Y}}
}

// sides in the order in which the closest one is looked for.
func (b Box) sides() [4]Segment {
	upper, lower := Point{b.Low.X, b.High.Y}, Point{b.High.X, b.Low.Y}
	return [4]Segment{{b.Low, upper}, {b.High, upper}, {b.Low, lower}, {b.High, lower}}
}

// Closest is the point of the box closest to p, with its distance.
func (b Box) Closest(p Point) (Point, float64) {
	if b.ContainsPoint(p) {
		return p, 0
	}
	return b.closestSide(func(s Segment) (Point, float64) { return s.Closest(p) })
}

// closestSide is the answer of the side whose distance is the least, the first of several.
func (b Box) closestSide(closest func(Segment) (Point, float64)) (Point, float64) {
	sides := b.sides()
	best, dist := closest(sides[0])
	for _, s := range sides[1:] {
		if q, d := closest(s); less(d, dist) {
			best, dist = q, d
		}
	}
	return best, dist
}

// ClosestToSegment is the point of the box closest to a segment, with its distance.
func (b Box) ClosestToSegment(t Segment) (Point, float64) {
	if b.Meets(t) {
		q, _ := t.Closest(b.Center())
		return q, 0
	}
	return b.closestSide(func(s Segment) (Point, float64) { return s.ClosestToSegment(t) })
}

// Meets reports whether box and segment share a point.
func (b Box) Meets(t Segment) bool {
	around := Box{Point{larger(t.P.X, t.Q.X), larger(t.P.Y, t.Q.Y)}, Point{smaller(t.P.X, t.Q.X), smaller(t.P.Y, t.Q.Y)}}
	if !around.Overlaps(b) {
		return false
	}
	if b.ContainsPoint(t.P) || b.ContainsPoint(t.Q) {
		return true
	}
	for _, s := range b.sides() {
		if s.Intersects(t) {
			return true
		}
	}
	return false
}

// MeetsLine reports whether a line goes through the box.
func (b Box) MeetsLine(l Line) bool {
	c := b.Corners()
	for i := range c {
		if _, ok := (Segment{c[i], c[(i+1)%4]}).Cross(l); ok {
			return true
		}
	}
	return false
}

// bound is the smallest box around points.
func bound(ps []Point) Box {
	b := Box{ps[0], ps[0]}
	for _, p := range ps[1:] {
		b = b.Bound(Box{p, p})
	}
	return b
}
