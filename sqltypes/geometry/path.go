package geometry

import (
	"math"

	"ostraka/sqltypes/pgerror"
)

// MaxPoints bounds the points of a path or polygon: values are below 1 GB.
const MaxPoints = 0x3fffffff/16 - 4

// Path is a polyline of at least one point, closed or open.
type Path struct {
	Closed bool
	Points []Point
}

// segments calls f for each segment, the closing one first, until it answers false.
func (p Path) segments(f func(Segment) bool) {
	n := len(p.Points)
	for i := range p.Points {
		prev := i - 1
		if i == 0 {
			if !p.Closed {
				continue
			}
			prev = n - 1
		}
		if !f(Segment{p.Points[prev], p.Points[i]}) {
			return
		}
	}
}

// Area is what a closed path encloses; ok false for an open one.
func (p Path) Area() (area float64, ok bool) {
	if !p.Closed {
		return 0, false
	}
	for i, a := range p.Points {
		b := p.Points[(i+1)%len(p.Points)]
		area = sub(add(area, mul(a.X, b.Y)), mul(a.Y, b.X))
	}
	return div(math.Abs(area), 2), true
}

func (p Path) Length() float64 {
	sum := 0.0
	p.segments(func(s Segment) bool {
		sum = add(sum, s.Length())
		return true
	})
	return sum
}

// Intersects reports whether two paths share a point of their segments.
func (p Path) Intersects(q Path) bool {
	if !bound(p.Points).Overlaps(bound(q.Points)) {
		return false
	}
	met := false
	p.segments(func(s Segment) bool {
		q.segments(func(t Segment) bool {
			met = s.Intersects(t)
			return !met
		})
		return !met
	})
	return met
}

// Distance of two paths; ok false when one has no segment.
func (p Path) Distance(q Path) (dist float64, ok bool) {
	p.segments(func(s Segment) bool {
		q.segments(func(t Segment) bool {
			if d := s.Distance(t); !ok || less(d, dist) {
				dist, ok = d, true
			}
			return true
		})
		return true
	})
	return dist, ok
}

// PointDistance is the distance of a point from the path's segments.
func (p Path) PointDistance(q Point) float64 {
	dist, any := 0.0, false
	p.segments(func(s Segment) bool {
		if _, d := s.Closest(q); !any || less(d, dist) {
			dist, any = d, true
		}
		return true
	})
	return dist
}

// Contains reports whether a point lies on an open path or inside a closed one.
func (p Path) Contains(q Point) bool {
	if p.Closed {
		return place(q, p.Points) != outside
	}
	a := q.Distance(p.Points[0])
	for i := 1; i < len(p.Points); i++ {
		b := q.Distance(p.Points[i])
		if eq(add(a, b), p.Points[i-1].Distance(p.Points[i])) {
			return true
		}
		a = b
	}
	return false
}

// Concat joins two open paths; ok false if one is closed.
func (p Path) Concat(q Path) (Path, bool) {
	if p.Closed || q.Closed {
		return Path{}, false
	}
	if len(p.Points)+len(q.Points) > MaxPoints {
		panic(pgerror.New(pgerror.ProgramLimitExceeded, "too many points requested"))
	}
	return Path{Points: append(append(make([]Point, 0, len(p.Points)+len(q.Points)), p.Points...), q.Points...)}, true
}

// Map applies f to each point.
func (p Path) Map(f func(Point) Point) Path {
	out := Path{Closed: p.Closed, Points: make([]Point, len(p.Points))}
	for i, q := range p.Points {
		out.Points[i] = f(q)
	}
	return out
}

// Polygon of a closed path.
func (p Path) Polygon() Polygon {
	if !p.Closed {
		panic(pgerror.New(pgerror.InvalidParameterValue, "open path cannot be converted to polygon"))
	}
	return p.Points
}
