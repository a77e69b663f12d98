package builtin

import (
	"ostraka/sqltypes"
	geo "ostraka/sqltypes/geometry"
)

// Polygons and circles.

func polygonDistance(c geo.Circle, p geo.Polygon) float64 {
	return max(p.PointDistance(c.Center)-c.Radius, 0)
}

func init() {
	scalarTable{
		"poly_left": is2(polygon, polygon, geo.Polygon.LeftOf), "poly_overleft": is2(polygon, polygon, geo.Polygon.NotRightOf),
		"poly_right": is2(polygon, polygon, geo.Polygon.RightOf), "poly_overright": is2(polygon, polygon, geo.Polygon.NotLeftOf),
		"poly_below": is2(polygon, polygon, geo.Polygon.Below), "poly_overbelow": is2(polygon, polygon, geo.Polygon.NotAbove),
		"poly_above": is2(polygon, polygon, geo.Polygon.Above), "poly_overabove": is2(polygon, polygon, geo.Polygon.NotBelow),
		"poly_same": is2(polygon, polygon, geo.Polygon.Same), "poly_overlap": is2(polygon, polygon, geo.Polygon.Overlaps),
		"poly_contain": is2(polygon, polygon, geo.Polygon.Contains), "poly_contained": is2(polygon, polygon, swap(geo.Polygon.Contains)),
		"poly_contain_pt": is2(polygon, point, geo.Polygon.ContainsPoint), "pt_contained_poly": is2(point, polygon, swap(geo.Polygon.ContainsPoint)),
		"poly_distance": num2(polygon, polygon, geo.Polygon.Distance),
		"dist_polyp":    num2(polygon, point, geo.Polygon.PointDistance), "dist_ppoly": num2(point, polygon, swap(geo.Polygon.PointDistance)),
		"poly_npoints": func(_ *Call, a []Datum) (Datum, error) { return integer(int64(len(polygon(a[0].S)))) },
		"poly_center":  to1(polygon, func(p geo.Polygon) geo.Point { return p.Circle().Center }),
		"poly_box":     to1(polygon, geo.Polygon.Bound), "poly_circle": to1(polygon, geo.Polygon.Circle),
		"poly_path": to1(polygon, func(p geo.Polygon) geo.Path { return geo.Path{Closed: true, Points: p} }),
	}.register()
	circlePolygon := func(arg func(a []Datum) (int64, string)) sqltypes.ScalarFunc {
		return geometric(func(a []Datum) Datum {
			n, s := arg(a)
			return sqltypes.Bytes(circle(s).Polygon(n, libmSin, libmCos).Bytes())
		})
	}
	scalarTable{
		"cr_circle": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.Bytes(geo.Circle{Center: point(a[0].S), Radius: a[1].Float()}.Bytes()), nil
		},
		"circle_same": is2(circle, circle, geo.Circle.Same), "circle_overlap": is2(circle, circle, geo.Circle.Overlaps),
		"circle_contain": is2(circle, circle, geo.Circle.Contains), "circle_contained": is2(circle, circle, swap(geo.Circle.Contains)),
		"circle_contain_pt": is2(circle, point, geo.Circle.ContainsPoint), "pt_contained_circle": is2(point, circle, swap(geo.Circle.ContainsPoint)),
		"circle_left": is2(circle, circle, geo.Circle.LeftOf), "circle_overleft": is2(circle, circle, geo.Circle.NotRightOf),
		"circle_right": is2(circle, circle, geo.Circle.RightOf), "circle_overright": is2(circle, circle, geo.Circle.NotLeftOf),
		"circle_below": is2(circle, circle, geo.Circle.Below), "circle_overbelow": is2(circle, circle, geo.Circle.NotAbove),
		"circle_above": is2(circle, circle, geo.Circle.Above), "circle_overabove": is2(circle, circle, geo.Circle.NotBelow),
		"circle_eq": is2(circle, circle, geo.Circle.SameArea), "circle_ne": is2(circle, circle, geo.Circle.OtherArea),
		"circle_lt": is2(circle, circle, geo.Circle.SmallerThan), "circle_gt": is2(circle, circle, geo.Circle.LargerThan),
		"circle_le": is2(circle, circle, geo.Circle.AtMost), "circle_ge": is2(circle, circle, geo.Circle.AtLeast),
		"circle_add_pt": to2(circle, point, geo.Circle.Add), "circle_sub_pt": to2(circle, point, geo.Circle.Sub),
		"circle_mul_pt": to2(circle, point, geo.Circle.Mul), "circle_div_pt": to2(circle, point, geo.Circle.Div),
		"circle_area": num1(circle, geo.Circle.Area), "circle_diameter": num1(circle, geo.Circle.Diameter),
		"circle_radius":   num1(circle, func(c geo.Circle) float64 { return c.Radius }),
		"circle_center":   to1(circle, func(c geo.Circle) geo.Point { return c.Center }),
		"circle_distance": num2(circle, circle, geo.Circle.Distance),
		"dist_cpoint":     num2(circle, point, geo.Circle.PointDistance), "dist_pc": num2(point, circle, swap(geo.Circle.PointDistance)),
		"dist_cpoly": num2(circle, polygon, polygonDistance), "dist_polyc": num2(polygon, circle, swap(polygonDistance)),
		"circle_box":      to1(circle, geo.Circle.Box),
		"circle_poly":     circlePolygon(func(a []Datum) (int64, string) { return a[0].I, a[1].S }),
		"polygon(circle)": circlePolygon(func(a []Datum) (int64, string) { return 12, a[0].S }),
	}.register()
}
