package geometry

// Segment is the line segment from P to Q.
type Segment struct{ P, Q Point }

func (s Segment) Same(t Segment) bool { return s.P.Same(t.P) && s.Q.Same(t.Q) }
func (s Segment) Length() float64     { return s.P.Distance(s.Q) }
func (s Segment) Slope() float64      { return s.P.Slope(s.Q) }
func (s Segment) Vertical() bool      { return eq(s.P.X, s.Q.X) }
func (s Segment) Horizontal() bool    { return eq(s.P.Y, s.Q.Y) }
func (s Segment) Center() Point       { return middle(s.P, s.Q) }

// Shorter and the others compare lengths.
func (s Segment) Shorter(t Segment) bool { return lt(s.Length(), t.Length()) }
func (s Segment) AtMost(t Segment) bool  { return le(s.Length(), t.Length()) }
func (s Segment) Longer(t Segment) bool  { return gt(s.Length(), t.Length()) }
func (s Segment) AtLeast(t Segment) bool { return ge(s.Length(), t.Length()) }

func (s Segment) Parallel(t Segment) bool      { return eq(s.Slope(), t.Slope()) }
func (s Segment) Perpendicular(t Segment) bool { return eq(s.Slope(), t.P.normal(t.Q)) }

// Contains reports whether a point lies on the segment.
func (s Segment) Contains(p Point) bool {
	return eq(add(p.Distance(s.P), p.Distance(s.Q)), s.P.Distance(s.Q))
}

// Cross is where the segment meets a line.
func (s Segment) Cross(l Line) (Point, bool) {
	p, ok := s.line().Intersection(l)
	if !ok || !s.Contains(p) {
		return Point{}, false
	}
	switch {
	case s.P.Same(p):
		return s.P, true
	case s.Q.Same(p):
		return s.Q, true
	}
	return p, true
}

// Intersection is where two segments meet.
func (s Segment) Intersection(t Segment) (Point, bool) {
	p, ok := s.Cross(t.line())
	if !ok || !t.Contains(p) {
		return Point{}, false
	}
	return p, true
}

// Intersects reports whether two segments meet.
func (s Segment) Intersects(t Segment) bool {
	_, ok := s.Intersection(t)
	return ok
}

// Closest is the point of the segment closest to p, with its distance.
func (s Segment) Closest(p Point) (Point, float64) {
	q, _ := s.ClosestToLine(lineThrough(p, s.P.normal(s.Q)))
	return q, q.Distance(p)
}

// ClosestToLine is the point of the segment closest to a line, with its distance.
func (s Segment) ClosestToLine(l Line) (Point, float64) {
	if p, ok := s.Cross(l); ok {
		return p, 0
	}
	_, d1 := l.Closest(s.P)
	_, d2 := l.Closest(s.Q)
	if d1 < d2 {
		return s.P, d1
	}
	return s.Q, d2
}

// ClosestToSegment is the point of s closest to t, with its distance.
func (s Segment) ClosestToSegment(t Segment) (Point, float64) {
	if p, ok := s.Intersection(t); ok {
		return p, 0
	}
	best, dist := s.Closest(t.P)
	if p, d := s.Closest(t.Q); less(d, dist) {
		best, dist = p, d
	}
	for _, p := range [...]Point{s.P, s.Q} {
		if _, d := t.Closest(p); less(d, dist) {
			best, dist = p, d
		}
	}
	return best, dist
}

// Distance of two segments.
func (s Segment) Distance(t Segment) float64 {
	_, d := s.ClosestToSegment(t)
	return d
}
