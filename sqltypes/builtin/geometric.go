package builtin

import (
	geo "ostraka/sqltypes/geometry"

	"ostraka/sqltypes"
)

// Functions and operators of geometric types, as rows; the arithmetic is package geometry's.

// shape reads an argument of a type from its payload.
type shape[T any] func(payload string) T

var (
	point   shape[geo.Point]   = geo.ReadPoint
	box     shape[geo.Box]     = geo.ReadBox
	segment shape[geo.Segment] = geo.ReadSegment
	line    shape[geo.Line]    = geo.ReadLine
	path    shape[geo.Path]    = geo.ReadPath
	polygon shape[geo.Polygon] = geo.ReadPolygon
	circle  shape[geo.Circle]  = geo.ReadCircle
)

// geometric makes a function of what computes its result, which may fault.
func geometric(f func(a []Datum) Datum) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (out Datum, err error) {
		if err = geo.Guard(func() { out = f(args) }); err != nil {
			return null, err
		}
		return out, nil
	}
}

// The shapes of functions: is… has a boolean result, num… a float, to… another shape;
// …2 takes two arguments.

func is1[A any](a shape[A], f func(A) bool) sqltypes.ScalarFunc {
	return geometric(func(x []Datum) Datum { return sqltypes.Bool(f(a(x[0].S))) })
}

func is2[A, B any](a shape[A], b shape[B], f func(A, B) bool) sqltypes.ScalarFunc {
	return geometric(func(x []Datum) Datum { return sqltypes.Bool(f(a(x[0].S), b(x[1].S))) })
}

func num1[A any](a shape[A], f func(A) float64) sqltypes.ScalarFunc {
	return geometric(func(x []Datum) Datum { return sqltypes.Float(f(a(x[0].S))) })
}

func num2[A, B any](a shape[A], b shape[B], f func(A, B) float64) sqltypes.ScalarFunc {
	return geometric(func(x []Datum) Datum { return sqltypes.Float(f(a(x[0].S), b(x[1].S))) })
}

// payload is what a shape becomes as a result.
type payload interface{ Bytes() []byte }

func to1[A any, R payload](a shape[A], f func(A) R) sqltypes.ScalarFunc {
	return geometric(func(x []Datum) Datum { return sqltypes.Bytes(f(a(x[0].S)).Bytes()) })
}

func to2[A, B any, R payload](a shape[A], b shape[B], f func(A, B) R) sqltypes.ScalarFunc {
	return geometric(func(x []Datum) Datum { return sqltypes.Bytes(f(a(x[0].S), b(x[1].S)).Bytes()) })
}

// maybe2 is to2 for what may have no result.
func maybe2[A, B any, R payload](a shape[A], b shape[B], f func(A, B) (R, bool)) sqltypes.ScalarFunc {
	return geometric(func(x []Datum) Datum {
		r, ok := f(a(x[0].S), b(x[1].S))
		if !ok {
			return null
		}
		return sqltypes.Bytes(r.Bytes())
	})
}

// closest makes a function of what finds a point and its distance: NaN is no point.
func closest[A, B any](a shape[A], b shape[B], f func(A, B) (geo.Point, float64)) sqltypes.ScalarFunc {
	return maybe2(a, b, func(x A, y B) (geo.Point, bool) {
		p, d := f(x, y)
		return p, d == d
	})
}

// distance is the second result of such a function.
func distance[A, B any](f func(A, B) (geo.Point, float64)) func(A, B) float64 {
	return func(a A, b B) float64 {
		_, d := f(a, b)
		return d
	}
}

// swap exchanges the arguments of f.
func swap[A, B, R any](f func(A, B) R) func(B, A) R {
	return func(b B, a A) R { return f(a, b) }
}

// not negates f.
func not[A, B any](f func(A, B) bool) func(A, B) bool {
	return func(a A, b B) bool { return !f(a, b) }
}

func init() {
	scalarTable{
		"construct_point": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.Bytes(geo.Point{X: a[0].Float(), Y: a[1].Float()}.Bytes()), nil
		},
		"point_left": is2(point, point, geo.Point.LeftOf), "point_right": is2(point, point, geo.Point.RightOf),
		"point_above": is2(point, point, geo.Point.Above), "point_below": is2(point, point, geo.Point.Below),
		"point_vert": is2(point, point, geo.Point.Vertical), "point_horiz": is2(point, point, geo.Point.Horizontal),
		"point_eq": is2(point, point, geo.Point.Same), "point_ne": is2(point, point, not(geo.Point.Same)),
		"point_add": to2(point, point, geo.Point.Add), "point_sub": to2(point, point, geo.Point.Sub),
		"point_mul": to2(point, point, geo.Point.Mul), "point_div": to2(point, point, geo.Point.Div),
		"point_distance": num2(point, point, geo.Point.Distance), "point_slope": num2(point, point, geo.Point.Slope),
		"point_box": to1(point, func(p geo.Point) geo.Box { return geo.Box{High: p, Low: p} }),
	}.register()
	scalarTable{
		"points_box": to2(point, point, geo.NewBox), "boxes_bound_box": to2(box, box, geo.Box.Bound),
		"box_same": is2(box, box, geo.Box.Same), "box_overlap": is2(box, box, geo.Box.Overlaps),
		"box_contain": is2(box, box, geo.Box.Contains), "box_contained": is2(box, box, swap(geo.Box.Contains)),
		"box_contain_pt": is2(box, point, geo.Box.ContainsPoint), "on_pb": is2(point, box, swap(geo.Box.ContainsPoint)),
		"box_left": is2(box, box, geo.Box.LeftOf), "box_overleft": is2(box, box, geo.Box.NotRightOf),
		"box_right": is2(box, box, geo.Box.RightOf), "box_overright": is2(box, box, geo.Box.NotLeftOf),
		"box_below": is2(box, box, geo.Box.Below), "box_overbelow": is2(box, box, geo.Box.NotAbove),
		"box_above": is2(box, box, geo.Box.Above), "box_overabove": is2(box, box, geo.Box.NotBelow),
		"box_below_eq": is2(box, box, geo.Box.BelowOrMeets), "box_above_eq": is2(box, box, geo.Box.AboveOrMeets),
		"box_lt": is2(box, box, geo.Box.SmallerThan), "box_gt": is2(box, box, geo.Box.LargerThan), "box_eq": is2(box, box, geo.Box.SameArea),
		"box_le": is2(box, box, geo.Box.AtMost), "box_ge": is2(box, box, geo.Box.AtLeast),
		"box_area": num1(box, geo.Box.Area), "box_width": num1(box, geo.Box.Width), "box_height": num1(box, geo.Box.Height),
		"box_center": to1(box, geo.Box.Center), "box_diagonal": to1(box, geo.Box.Diagonal),
		"box_distance": num2(box, box, func(a, b geo.Box) float64 { return a.Center().Distance(b.Center()) }),
		"box_add":      to2(box, point, geo.Box.Add), "box_sub": to2(box, point, geo.Box.Sub),
		"box_mul": to2(box, point, geo.Box.Mul), "box_div": to2(box, point, geo.Box.Div),
		"box_intersect": maybe2(box, box, geo.Box.Intersection),
		"box_circle":    to1(box, geo.Box.Circle),
		"box_poly":      to1(box, func(b geo.Box) geo.Polygon { return b.Corners() }),
		"dist_pb":       num2(point, box, swap(distance(geo.Box.Closest))), "dist_bp": num2(box, point, distance(geo.Box.Closest)),
		"dist_sb": num2(segment, box, swap(distance(geo.Box.ClosestToSegment))), "dist_bs": num2(box, segment, distance(geo.Box.ClosestToSegment)),
		"close_pb": closest(point, box, func(p geo.Point, b geo.Box) (geo.Point, float64) { return b.Closest(p) }),
		"close_sb": closest(segment, box, func(s geo.Segment, b geo.Box) (geo.Point, float64) { return b.ClosestToSegment(s) }),
		"inter_sb": is2(segment, box, swap(geo.Box.Meets)), "inter_lb": is2(line, box, swap(geo.Box.MeetsLine)),
		"on_sb": is2(segment, box, func(s geo.Segment, b geo.Box) bool { return b.ContainsPoint(s.P) && b.ContainsPoint(s.Q) }),
	}.register()
}
