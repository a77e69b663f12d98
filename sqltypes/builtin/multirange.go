package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// multirangeSet makes + * - of two multiranges.
func multirangeSet(op func(info *sqltypes.RangeInfo, a, b []sqltypes.Range) ([]sqltypes.Range, error)) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		info, err := rangeInfo(c, 0)
		if err != nil {
			return null, err
		}
		ranges, err := op(info, sqltypes.OpenMultirange(args[0]), sqltypes.OpenMultirange(args[1]))
		if err != nil {
			return null, err
		}
		return info.MakeMultirange(ranges), nil
	}
}

// multirangeConstructor is int4multirange(), of one range or of an array of ranges.
func multirangeConstructor(c *Call, args []Datum) (Datum, error) {
	info, err := resultInfo(c)
	if err != nil {
		return null, err
	}
	if len(args) == 0 {
		return info.MakeMultirange(nil), nil
	}
	elems := args
	if t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID); t != nil && t.IsArray {
		a := sqltypes.OpenArray(args[0])
		if a.NDim() > 1 {
			return fail(pgerror.New(pgerror.CardinalityViolation, "multiranges cannot be constructed from multidimensional arrays"))
		}
		elems = a.Elements()
	}
	ranges := make([]sqltypes.Range, len(elems))
	for i, e := range elems {
		if e.Null {
			return fail(pgerror.New(pgerror.NullValueNotAllowed, "multirange values cannot contain null members"))
		}
		ranges[i] = sqltypes.OpenRange(e)
	}
	return info.MakeMultirange(ranges), nil
}

// rangeAgg collects ranges, or the ranges of multiranges, into a multirange.
type rangeAgg struct {
	ranges []sqltypes.Range
	some   bool
}

func (s *rangeAgg) Step(c *Call, args []Datum) error {
	if args[0].Null {
		return nil
	}
	s.some = true
	info, err := rangeInfo(c, 0)
	if err != nil {
		return err
	}
	s.ranges = append(s.ranges, members(info, c.ArgTypes[0].OID, args[0])...)
	return nil
}

func (s *rangeAgg) Final(c *Call, _ []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	info, err := rangeInfo(c, 0)
	if err != nil {
		return null, err
	}
	return info.MakeMultirange(s.ranges), nil
}

func unnestMultirange(c *Call, args []Datum) (sqltypes.RowSource, error) {
	info, err := rangeInfo(c, 0)
	if err != nil {
		return nil, err
	}
	var out []Datum
	for _, r := range sqltypes.OpenMultirange(args[0]) {
		out = append(out, info.Pack(r))
	}
	return oneColumn(out)
}

func init() {
	compareOpsOf("multirange_*", argOrder, nil)
	intersect := multirangeSet(func(i *sqltypes.RangeInfo, a, b []sqltypes.Range) ([]sqltypes.Range, error) {
		return i.MultiIntersect(a, b), nil
	})
	scalarTable{
		"multirange_cmp": func(c *Call, a []Datum) (Datum, error) { return compareProc(argOrder(c))(c, a) },
		"multirange_union": multirangeSet(func(i *sqltypes.RangeInfo, a, b []sqltypes.Range) ([]sqltypes.Range, error) {
			return i.MultiUnion(a, b), nil
		}),
		"multirange_minus":                   multirangeSet((*sqltypes.RangeInfo).MultiMinus),
		"multirange_intersect":               intersect,
		"multirange_contains_multirange":     memberTest(containsMembers),
		"multirange_contains_range":          memberTest(containsMembers),
		"multirange_contained_by_multirange": memberTest(containedMembers),
		"range_contained_by_multirange":      memberTest(containedMembers),
		"range_contains_multirange":          memberTest(containsMembers),
		"multirange_contained_by_range":      memberTest(containedMembers),
		"multirange_overlaps_multirange":     memberTest(overlapMembers),
		"multirange_overlaps_range":          memberTest(overlapMembers),
		"range_overlaps_multirange":          memberTest(overlapMembers),
		"range_merge_from_multirange": func(c *Call, a []Datum) (Datum, error) {
			info, err := rangeInfo(c, 0)
			if err != nil {
				return null, err
			}
			return info.Pack(info.MultiSpan(sqltypes.OpenMultirange(a[0]))), nil
		},
		"multirange_constructor0": multirangeConstructor, "multirange_constructor1": multirangeConstructor,
		"multirange_constructor2": multirangeConstructor,
	}.register()
	setTable{"multirange_unnest": unnestMultirange}.register()
	newRangeAgg := func(*Call) AggState { return &rangeAgg{} }
	aggTable{"range_agg(anyrange)": newRangeAgg, "range_agg(anymultirange)": newRangeAgg}.register()
	aggTable{"range_intersect_agg(anymultirange)": fold(intersect)}.registerSkipNull()
}
