package builtin

import (
	"ostraka/sqltypes"
)

// overlaps is the SQL predicate over two periods given by their ends in either
// order, by the standard's rules for NULLs and for periods of one point.
func overlaps(compare func(a, b Datum) int, s1, e1, s2, e2 Datum) (Datum, error) {
	order := func(s, e *Datum) (none bool) {
		if s.Null {
			if e.Null {
				return true
			}
			*s, *e = *e, null
		} else if !e.Null && compare(*s, *e) > 0 {
			*s, *e = *e, *s
		}
		return false
	}
	if order(&s1, &e1) || order(&s2, &e2) {
		return isNull()
	}
	switch c := compare(s1, s2); {
	case c == 0:
		if e1.Null || e2.Null {
			return isNull()
		}
		return boolean(true)
	case c < 0:
		s1, e1, s2, e2 = s2, e2, s1, e1
	}
	// Now s1 > s2: they overlap when s1 < e2.
	if e2.Null {
		return isNull()
	}
	if compare(s1, e2) < 0 {
		return boolean(true)
	}
	if e1.Null {
		return isNull()
	}
	return boolean(false)
}

// overlapsOf makes the variants in which an end is given as an interval: add
// computes it.
func overlapsOf(compare func(a, b Datum) int, add sqltypes.ScalarFunc, first, second bool) sqltypes.ScalarFunc {
	return func(c *Call, a []Datum) (Datum, error) {
		end := func(s, e Datum, isInterval bool) (Datum, error) {
			if !isInterval {
				return e, nil
			}
			if s.Null || e.Null {
				return null, nil
			}
			return add(c, []Datum{s, e})
		}
		e1, err := end(a[0], a[1], first)
		if err != nil {
			return null, err
		}
		e2, err := end(a[2], a[3], second)
		if err != nil {
			return null, err
		}
		return overlaps(compare, a[0], e1, a[2], e2)
	}
}

// inRangeDate makes the window frame test of RANGE with interval offsets.
func inRangeDate(compare func(a, b Datum) int, move func(sign func(sqltypes.Interval) sqltypes.Interval) sqltypes.ScalarFunc) sqltypes.ScalarFunc {
	plus, minus := move(same1), move(opposite)
	zero := sqltypes.MakeInterval(sqltypes.Interval{})
	return func(c *Call, a []Datum) (Datum, error) {
		negative := sqltypes.CompareInterval(a[2], zero) < 0
		if t := c.ArgTypes[0].OID; t == sqltypes.OIDTime || t == sqltypes.OIDTimetz { // only its time counts
			negative = a[2].I < 0
		}
		if negative {
			return fail(badFrameOffset())
		}
		shift := plus
		if a[3].Bool() {
			shift = minus
		}
		sum, err := shift(c, []Datum{a[1], a[2]})
		if err != nil {
			return null, err
		}
		if a[4].Bool() {
			return boolean(compare(a[0], sum) <= 0)
		}
		return boolean(compare(a[0], sum) >= 0)
	}
}

func init() {
	timePlus := plusInterval(0, 1, same1, timeAdd)
	for _, t := range []struct {
		name string
		add  sqltypes.ScalarFunc
	}{
		{"time", timePlus}, {"timestamp", plusInterval(0, 1, same1, plainAdd)}, {"timestamptz", plusInterval(0, 1, same1, addIntervalTZ)},
	} {
		n := t.name
		scalarTable{
			"overlaps(" + n + ",interval," + n + ",interval)":  overlapsOf(compareInt, t.add, true, true),
			"overlaps(" + n + ",interval," + n + "," + n + ")": overlapsOf(compareInt, t.add, true, false),
			"overlaps(" + n + "," + n + "," + n + ",interval)": overlapsOf(compareInt, t.add, false, true),
		}.register()
	}
	shifted := func(add func(*Call, int64, sqltypes.Interval) (int64, error)) func(func(sqltypes.Interval) sqltypes.Interval) sqltypes.ScalarFunc {
		return func(sign func(sqltypes.Interval) sqltypes.Interval) sqltypes.ScalarFunc {
			return plusInterval(0, 1, sign, add)
		}
	}
	// Times do not wrap around here.
	noWrap := func(_ *Call, us int64, v sqltypes.Interval) (int64, error) { return us + v.Usec, nil }
	scalarTable{
		"overlaps_time":      func(_ *Call, a []Datum) (Datum, error) { return overlaps(compareInt, a[0], a[1], a[2], a[3]) },
		"overlaps_timestamp": func(_ *Call, a []Datum) (Datum, error) { return overlaps(compareInt, a[0], a[1], a[2], a[3]) },
		"overlaps_timetz": func(_ *Call, a []Datum) (Datum, error) {
			return overlaps(sqltypes.CompareTimetz, a[0], a[1], a[2], a[3])
		},
		"in_range_timestamp_interval":   inRangeDate(compareInt, shifted(plainAdd)),
		"in_range_timestamptz_interval": inRangeDate(compareInt, shifted(addIntervalTZ)),
		"in_range_date_interval": func(c *Call, a []Datum) (Datum, error) {
			v, err := sqltypes.DateToTimestamp(a[0].I)
			if err != nil {
				return null, err
			}
			b, err := sqltypes.DateToTimestamp(a[1].I)
			if err != nil {
				return null, err
			}
			return inRangeDate(compareInt, shifted(plainAdd))(c, []Datum{sqltypes.Int(v), sqltypes.Int(b), a[2], a[3], a[4]})
		},
		"in_range_time_interval": inRangeDate(compareInt, shifted(noWrap)),
		"in_range_timetz_interval": inRangeDate(sqltypes.CompareTimetz, func(sign func(sqltypes.Interval) sqltypes.Interval) sqltypes.ScalarFunc {
			return func(_ *Call, a []Datum) (Datum, error) {
				return Datum{I: a[0].I + sign(sqltypes.IntervalOf(a[1])).Usec, Aux: a[0].Aux}, nil
			}
		}),
		"in_range_interval_interval": inRangeDate(sqltypes.CompareInterval, func(sign func(sqltypes.Interval) sqltypes.Interval) sqltypes.ScalarFunc {
			return func(_ *Call, a []Datum) (Datum, error) {
				return interval(sqltypes.IntervalOf(a[0]).Add(sign(sqltypes.IntervalOf(a[1]))))
			}
		}),
		"tsrange_subdiff":   func(_ *Call, a []Datum) (Datum, error) { return float((float64(a[0].I) - float64(a[1].I)) / 1e6) },
		"tstzrange_subdiff": func(_ *Call, a []Datum) (Datum, error) { return float((float64(a[0].I) - float64(a[1].I)) / 1e6) },
	}.register()
}
