package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rangeInfo is what the range or multirange type of argument number i is made of.
func rangeInfo(c *Call, i int) (*sqltypes.RangeInfo, error) { return infoOf(c, c.ArgTypes[i].OID) }

func infoOf(c *Call, typ sqltypes.OID) (*sqltypes.RangeInfo, error) {
	if t := sqltypes.LookupType(c.Env, typ); t != nil && t.Range != nil {
		return t.Range, nil
	}
	return nil, pgerror.New(pgerror.DatatypeMismatch, "type %s is not a range type", sqltypes.FormatTypeWith(typ, -1, typeNamer(c)))
}

// resultInfo is rangeInfo of the call's result type.
func resultInfo(c *Call) (*sqltypes.RangeInfo, error) {
	if c.RetType.OID != 0 {
		return infoOf(c, c.RetType.OID)
	}
	return infoOf(c, c.Proc.RetType)
}

// span is the range a value covers: itself, or from a multirange's first bound
// to its last.
func span(info *sqltypes.RangeInfo, typ sqltypes.OID, d Datum) sqltypes.Range {
	if info.Multi != nil && typ == info.Multi.OID {
		return info.MultiSpan(sqltypes.OpenMultirange(d))
	}
	return sqltypes.OpenRange(d)
}

// spanTest makes the tests that only look at the outer bounds of ranges and multiranges.
func spanTest(test func(info *sqltypes.RangeInfo, a, b sqltypes.Range) bool) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		info, err := rangeInfo(c, 0)
		if err != nil {
			return null, err
		}
		return boolean(test(info, span(info, c.ArgTypes[0].OID, args[0]), span(info, c.ArgTypes[1].OID, args[1])))
	}
}

// members are the ranges of a value: of a range itself, unless it is empty.
func members(info *sqltypes.RangeInfo, typ sqltypes.OID, d Datum) []sqltypes.Range {
	if info.Multi != nil && typ == info.Multi.OID {
		return sqltypes.OpenMultirange(d)
	}
	if r := sqltypes.OpenRange(d); !r.Empty {
		return []sqltypes.Range{r}
	}
	return nil
}

// memberTest makes the tests that look at every range.
func memberTest(test func(info *sqltypes.RangeInfo, a, b []sqltypes.Range) bool) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		info, err := rangeInfo(c, 0)
		if err != nil {
			return null, err
		}
		return boolean(test(info, members(info, c.ArgTypes[0].OID, args[0]), members(info, c.ArgTypes[1].OID, args[1])))
	}
}

func containsMembers(info *sqltypes.RangeInfo, a, b []sqltypes.Range) bool {
	for _, r := range b {
		if !info.MultiContains(a, r) {
			return false
		}
	}
	return true
}

func containedMembers(info *sqltypes.RangeInfo, a, b []sqltypes.Range) bool {
	return containsMembers(info, b, a)
}

func overlapMembers(info *sqltypes.RangeInfo, a, b []sqltypes.Range) bool {
	return info.MultiOverlaps(a, b)
}

// elementTest makes value @> element (at 0) and element <@ value (at 1).
func elementTest(at int) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		info, err := rangeInfo(c, at)
		if err != nil {
			return null, err
		}
		return boolean(info.MultiContainsElem(members(info, c.ArgTypes[at].OID, args[at]), args[1-at]))
	}
}

// rangeSet makes + * - of two ranges.
func rangeSet(op func(info *sqltypes.RangeInfo, a, b sqltypes.Range) (sqltypes.Range, error)) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		info, err := rangeInfo(c, 0)
		if err != nil {
			return null, err
		}
		r, err := op(info, sqltypes.OpenRange(args[0]), sqltypes.OpenRange(args[1]))
		if err != nil {
			return null, err
		}
		return info.Pack(r), nil
	}
}

// bound makes lower, upper and the questions about them.
func bound(f func(r sqltypes.Range) Datum) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		info, err := rangeInfo(c, 0)
		if err != nil {
			return null, err
		}
		return f(span(info, c.ArgTypes[0].OID, args[0])), nil
	}
}

func boundValue(r sqltypes.Range, b sqltypes.RangeBound) Datum {
	if r.Empty || b.Inf {
		return null
	}
	return b.Value
}

// rangeConstructor is int4range(lower, upper [, bounds]); NULL means no bound.
func rangeConstructor(c *Call, args []Datum) (Datum, error) {
	info, err := resultInfo(c)
	if err != nil {
		return null, err
	}
	flags := "[)"
	if len(args) > 2 {
		if args[2].Null {
			return fail(pgerror.New(pgerror.DataException, "range constructor flags argument must not be null"))
		}
		flags = args[2].S
	}
	if len(flags) != 2 || flags[0] != '[' && flags[0] != '(' || flags[1] != ']' && flags[1] != ')' {
		return fail(pgerror.New(pgerror.SyntaxError, "invalid range bound flags").
			WithHint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."))
	}
	return info.MakeRange(sqltypes.Range{
		Lower: sqltypes.RangeBound{Value: args[0], Inf: args[0].Null, Inclusive: flags[0] == '['},
		Upper: sqltypes.RangeBound{Value: args[1], Inf: args[1].Null, Inclusive: flags[1] == ']'},
	})
}

func init() {
	compareOpsOf("range_*", argOrder, nil)
	tests := map[string]func(*sqltypes.RangeInfo, sqltypes.Range, sqltypes.Range) bool{
		"before": (*sqltypes.RangeInfo).Before, "after": (*sqltypes.RangeInfo).After,
		"overleft": (*sqltypes.RangeInfo).OverLeft, "overright": (*sqltypes.RangeInfo).OverRight,
		"adjacent": (*sqltypes.RangeInfo).Adjacent,
	}
	for name, test := range tests {
		scalarTable{
			"range_" + name: spanTest(test), "range_" + name + "_multirange": spanTest(test),
			"multirange_" + name + "_range": spanTest(test), "multirange_" + name + "_multirange": spanTest(test),
		}.register()
	}
	lower := func(r sqltypes.Range) Datum { return boundValue(r, r.Lower) }
	upper := func(r sqltypes.Range) Datum { return boundValue(r, r.Upper) }
	for _, prefix := range []string{"range", "multirange"} {
		scalarTable{
			prefix + "_lower": bound(lower), prefix + "_upper": bound(upper),
			prefix + "_empty":         bound(func(r sqltypes.Range) Datum { return sqltypes.Bool(r.Empty) }),
			prefix + "_lower_inc":     bound(func(r sqltypes.Range) Datum { return sqltypes.Bool(!r.Empty && !r.Lower.Inf && r.Lower.Inclusive) }),
			prefix + "_upper_inc":     bound(func(r sqltypes.Range) Datum { return sqltypes.Bool(!r.Empty && !r.Upper.Inf && r.Upper.Inclusive) }),
			prefix + "_lower_inf":     bound(func(r sqltypes.Range) Datum { return sqltypes.Bool(!r.Empty && r.Lower.Inf) }),
			prefix + "_upper_inf":     bound(func(r sqltypes.Range) Datum { return sqltypes.Bool(!r.Empty && r.Upper.Inf) }),
			prefix + "_contains_elem": elementTest(0), "elem_contained_by_" + prefix: elementTest(1),
		}.register()
	}
	scalarTable{
		"range_cmp":      func(c *Call, a []Datum) (Datum, error) { return compareProc(argOrder(c))(c, a) },
		"range_contains": spanTest((*sqltypes.RangeInfo).Contains),
		"range_contained_by": spanTest(func(i *sqltypes.RangeInfo, a, b sqltypes.Range) bool {
			return i.Contains(b, a)
		}),
		"range_overlaps":  spanTest((*sqltypes.RangeInfo).Overlaps),
		"range_union":     rangeSet((*sqltypes.RangeInfo).Union),
		"range_minus":     rangeSet((*sqltypes.RangeInfo).Minus),
		"range_intersect": rangeSet(intersectRanges),
		"range_merge": rangeSet(func(i *sqltypes.RangeInfo, a, b sqltypes.Range) (sqltypes.Range, error) {
			return i.Merge(a, b), nil
		}),
		"range_constructor2": rangeConstructor, "range_constructor3": rangeConstructor,
		"int4range_canonical": first, "int8range_canonical": first, "daterange_canonical": first,
	}.register()
	aggTable{
		"range_intersect_agg(anyrange)": fold(rangeSet(intersectRanges)),
	}.registerSkipNull()
}

func intersectRanges(i *sqltypes.RangeInfo, a, b sqltypes.Range) (sqltypes.Range, error) {
	return i.Intersect(a, b), nil
}
