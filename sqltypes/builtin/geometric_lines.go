package builtin

import (
	"ostraka/sqltypes"
	geo "ostraka/sqltypes/geometry"
)

// Lines, segments and paths.

func init() {
	scalarTable{
		"line_construct_pp": to2(point, point, geo.NewLine),
		"line_vertical":     is1(line, geo.Line.Vertical), "line_horizontal": is1(line, geo.Line.Horizontal),
		"line_parallel": is2(line, line, geo.Line.Parallel), "line_perp": is2(line, line, geo.Line.Perpendicular),
		"line_intersect": is2(line, line, not(geo.Line.Parallel)), "line_interpt": maybe2(line, line, geo.Line.Intersection),
		"line_eq": is2(line, line, geo.Line.Same), "line_distance": num2(line, line, geo.Line.Distance),
		"dist_pl": num2(point, line, swap(distance(geo.Line.Closest))), "dist_lp": num2(line, point, distance(geo.Line.Closest)),
		"close_pl": closest(point, line, func(p geo.Point, l geo.Line) (geo.Point, float64) { return l.Closest(p) }),
		"on_pl":    is2(point, line, swap(geo.Line.Contains)),
		"on_sl":    is2(segment, line, func(s geo.Segment, l geo.Line) bool { return l.Contains(s.P) && l.Contains(s.Q) }),
	}.register()
	scalarTable{
		"lseg_construct": to2(point, point, func(p, q geo.Point) geo.Segment { return geo.Segment{P: p, Q: q} }),
		"lseg_vertical":  is1(segment, geo.Segment.Vertical), "lseg_horizontal": is1(segment, geo.Segment.Horizontal),
		"lseg_length": num1(segment, geo.Segment.Length), "lseg_center": to1(segment, geo.Segment.Center),
		"lseg_eq": is2(segment, segment, geo.Segment.Same), "lseg_ne": is2(segment, segment, not(geo.Segment.Same)),
		"lseg_lt": is2(segment, segment, geo.Segment.Shorter), "lseg_le": is2(segment, segment, geo.Segment.AtMost),
		"lseg_gt": is2(segment, segment, geo.Segment.Longer), "lseg_ge": is2(segment, segment, geo.Segment.AtLeast),
		"lseg_parallel": is2(segment, segment, geo.Segment.Parallel), "lseg_perp": is2(segment, segment, geo.Segment.Perpendicular),
		"lseg_intersect": is2(segment, segment, geo.Segment.Intersects), "lseg_interpt": maybe2(segment, segment, geo.Segment.Intersection),
		"lseg_distance": num2(segment, segment, geo.Segment.Distance),
		"on_ps":         is2(point, segment, swap(geo.Segment.Contains)),
		"dist_ps":       num2(point, segment, swap(distance(geo.Segment.Closest))), "dist_sp": num2(segment, point, distance(geo.Segment.Closest)),
		"dist_sl": num2(segment, line, distance(geo.Segment.ClosestToLine)), "dist_ls": num2(line, segment, swap(distance(geo.Segment.ClosestToLine))),
		"inter_sl": is2(segment, line, func(s geo.Segment, l geo.Line) bool { _, ok := s.Cross(l); return ok }),
		"close_ps": closest(point, segment, func(p geo.Point, s geo.Segment) (geo.Point, float64) { return s.Closest(p) }),
		"close_ls": maybe2(line, segment, func(l geo.Line, s geo.Segment) (geo.Point, bool) {
			if s.Slope() == l.Slope() {
				return geo.Point{}, false
			}
			p, d := s.ClosestToLine(l)
			return p, d == d
		}),
		"close_lseg": maybe2(segment, segment, func(s, t geo.Segment) (geo.Point, bool) {
			if s.Slope() == t.Slope() {
				return geo.Point{}, false
			}
			p, d := t.ClosestToSegment(s)
			return p, d == d
		}),
	}.register()
	comparePoints := func(test func(a, b int) bool) sqltypes.ScalarFunc {
		return is2(path, path, func(p, q geo.Path) bool { return test(len(p.Points), len(q.Points)) })
	}
	each := func(f func(p, q geo.Point) geo.Point) sqltypes.ScalarFunc {
		return to2(path, point, func(p geo.Path, by geo.Point) geo.Path {
			return p.Map(func(q geo.Point) geo.Point { return f(q, by) })
		})
	}
	scalarTable{
		"path_n_lt": comparePoints(func(a, b int) bool { return a < b }), "path_n_gt": comparePoints(func(a, b int) bool { return a > b }),
		"path_n_le": comparePoints(func(a, b int) bool { return a <= b }), "path_n_ge": comparePoints(func(a, b int) bool { return a >= b }),
		"path_n_eq":     comparePoints(func(a, b int) bool { return a == b }),
		"path_isclosed": is1(path, func(p geo.Path) bool { return p.Closed }), "path_isopen": is1(path, func(p geo.Path) bool { return !p.Closed }),
		"path_close":   to1(path, func(p geo.Path) geo.Path { return geo.Path{Closed: true, Points: p.Points} }),
		"path_open":    to1(path, func(p geo.Path) geo.Path { return geo.Path{Points: p.Points} }),
		"path_npoints": func(_ *Call, a []Datum) (Datum, error) { return integer(int64(len(path(a[0].S).Points))) },
		"path_area": geometric(func(a []Datum) Datum {
			area, ok := path(a[0].S).Area()
			if !ok {
				return null
			}
			return sqltypes.Float(area)
		}),
		"path_length": num1(path, geo.Path.Length), "path_inter": is2(path, path, geo.Path.Intersects),
		"path_distance": geometric(func(a []Datum) Datum {
			d, ok := path(a[0].S).Distance(path(a[1].S))
			if !ok {
				return null
			}
			return sqltypes.Float(d)
		}),
		"path_add": maybe2(path, path, geo.Path.Concat), "path_poly": to1(path, geo.Path.Polygon),
		"path_add_pt": each(geo.Point.Add), "path_sub_pt": each(geo.Point.Sub), "path_mul_pt": each(geo.Point.Mul), "path_div_pt": each(geo.Point.Div),
		"on_ppath": is2(point, path, swap(geo.Path.Contains)), "path_contain_pt(path,point)": is2(path, point, geo.Path.Contains),
		"dist_ppath": num2(point, path, swap(geo.Path.PointDistance)), "dist_pathp": num2(path, point, geo.Path.PointDistance),
	}.register()
}
