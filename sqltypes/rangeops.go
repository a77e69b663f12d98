package sqltypes

import "ostraka/sqltypes/pgerror"

// Operators on ranges. They take ranges apart (OpenRange) and know the subtype
// through RangeInfo; results that are ranges are in canonical form.

// cmpBounds compares two bounds, each a lower or an upper one.
func (info *RangeInfo) cmpBounds(a RangeBound, aLower bool, b RangeBound, bLower bool) int {
	switch {
	case a.Inf && b.Inf:
		if aLower == bLower {
			return 0
		}
		if aLower {
			return -1
		}
		return 1
	case a.Inf:
		if aLower {
			return -1
		}
		return 1
	case b.Inf:
		if bLower {
			return 1
		}
		return -1
	}
	if c := info.Subtype.Compare(a.Value, b.Value); c != 0 {
		return c
	}
	// At the same value an exclusive lower bound begins after it and an exclusive
	// upper bound ends before it.
	rank := func(x RangeBound, lower bool) int {
		switch {
		case x.Inclusive:
			return 0
		case lower:
			return 1
		}
		return -1
	}
	return cmpInt(rank(a, aLower), rank(b, bLower))
}

func (info *RangeInfo) cmpLower(a, b Range) int { return info.cmpBounds(a.Lower, true, b.Lower, true) }
func (info *RangeInfo) cmpUpper(a, b Range) int {
	return info.cmpBounds(a.Upper, false, b.Upper, false)
}

// Compare is the btree order: empty first, then by lower, then by upper bound.
func (info *RangeInfo) Compare(a, b Range) int {
	switch {
	case a.Empty && b.Empty:
		return 0
	case a.Empty:
		return -1
	case b.Empty:
		return 1
	}
	if c := info.cmpLower(a, b); c != 0 {
		return c
	}
	return info.cmpUpper(a, b)
}

// ContainsElem is r @> v.
func (info *RangeInfo) ContainsElem(r Range, v Datum) bool {
	if r.Empty {
		return false
	}
	if !r.Lower.Inf {
		if c := info.Subtype.Compare(r.Lower.Value, v); c > 0 || c == 0 && !r.Lower.Inclusive {
			return false
		}
	}
	if !r.Upper.Inf {
		if c := info.Subtype.Compare(r.Upper.Value, v); c < 0 || c == 0 && !r.Upper.Inclusive {
			return false
		}
	}
	return true
}

// Contains is a @> b.
func (info *RangeInfo) Contains(a, b Range) bool {
	if b.Empty {
		return true
	}
	return !a.Empty && info.cmpLower(a, b) <= 0 && info.cmpUpper(a, b) >= 0
}

// Before is a << b, After a >> b, OverLeft a &< b, OverRight a &> b.
func (info *RangeInfo) Before(a, b Range) bool {
	return !a.Empty && !b.Empty && info.cmpBounds(a.Upper, false, b.Lower, true) < 0
}
func (info *RangeInfo) After(a, b Range) bool { return info.Before(b, a) }
func (info *RangeInfo) OverLeft(a, b Range) bool {
	return !a.Empty && !b.Empty && info.cmpUpper(a, b) <= 0
}
func (info *RangeInfo) OverRight(a, b Range) bool {
	return !a.Empty && !b.Empty && info.cmpLower(a, b) >= 0
}

// Overlaps is a && b.
func (info *RangeInfo) Overlaps(a, b Range) bool {
	if a.Empty || b.Empty {
		return false
	}
	return info.cmpBounds(a.Lower, true, b.Upper, false) <= 0 && info.cmpBounds(b.Lower, true, a.Upper, false) <= 0
}

// Adjacent is a -|- b: nothing lies between them and they do not overlap.
func (info *RangeInfo) Adjacent(a, b Range) bool {
	if a.Empty || b.Empty {
		return false
	}
	return info.touching(a.Upper, b.Lower) || info.touching(b.Upper, a.Lower)
}

// touching reports that no value lies between an upper and a lower bound, and
// that no value is on both sides.
func (info *RangeInfo) touching(upper, lower RangeBound) bool {
	if upper.Inf || lower.Inf {
		return false
	}
	c := info.Subtype.Compare(upper.Value, lower.Value)
	if c == 0 {
		return upper.Inclusive != lower.Inclusive
	}
	if c > 0 || info.Canonical == nil {
		return false
	}
	between := Range{Lower: RangeBound{Value: upper.Value, Inclusive: !upper.Inclusive}, Upper: RangeBound{Value: lower.Value, Inclusive: !lower.Inclusive}}
	return info.normalize(&between) == nil && between.Empty
}

func (info *RangeInfo) minLower(a, b Range) RangeBound {
	if info.cmpLower(a, b) <= 0 {
		return a.Lower
	}
	return b.Lower
}

func (info *RangeInfo) maxLower(a, b Range) RangeBound {
	if info.cmpLower(a, b) >= 0 {
		return a.Lower
	}
	return b.Lower
}

func (info *RangeInfo) minUpper(a, b Range) RangeBound {
	if info.cmpUpper(a, b) <= 0 {
		return a.Upper
	}
	return b.Upper
}

func (info *RangeInfo) maxUpper(a, b Range) RangeBound {
	if info.cmpUpper(a, b) >= 0 {
		return a.Upper
	}
	return b.Upper
}

// Merge is range_merge: the smallest range that holds both.
func (info *RangeInfo) Merge(a, b Range) Range {
	switch {
	case a.Empty:
		return b
	case b.Empty:
		return a
	}
	return Range{Lower: info.minLower(a, b), Upper: info.maxUpper(a, b)}
}

// Union is a + b. Error: 22000 when the result would have a hole.
func (info *RangeInfo) Union(a, b Range) (Range, error) {
	if !a.Empty && !b.Empty && !info.Overlaps(a, b) && !info.Adjacent(a, b) {
		return Range{}, pgerror.New(pgerror.DataException, "result of range union would not be contiguous")
	}
	return info.Merge(a, b), nil
}

// Intersect is a * b.
func (info *RangeInfo) Intersect(a, b Range) Range {
	if !info.Overlaps(a, b) {
		return Range{Empty: true}
	}
	return Range{Lower: info.maxLower(a, b), Upper: info.minUpper(a, b)}
}

// Minus is a - b. Error: 22000 when b splits a in two.
func (info *RangeInfo) Minus(a, b Range) (Range, error) {
	if a.Empty || b.Empty || !info.Overlaps(a, b) {
		return a, nil
	}
	l, u := info.cmpLower(a, b), info.cmpUpper(a, b)
	switch {
	case l < 0 && u > 0:
		return Range{}, pgerror.New(pgerror.DataException, "result of range difference would not be contiguous")
	case l >= 0 && u <= 0:
		return Range{Empty: true}, nil
	case l < 0:
		return info.settle(Range{Lower: a.Lower, Upper: flip(b.Lower)})
	}
	return info.settle(Range{Lower: flip(b.Upper), Upper: a.Upper})
}

func flip(b RangeBound) RangeBound {
	b.Inclusive = !b.Inclusive
	return b
}

func (info *RangeInfo) settle(r Range) (Range, error) {
	err := info.normalize(&r)
	return r, err
}

// Pack builds the value of a range the operators returned.
func (info *RangeInfo) Pack(r Range) Datum { return packRange(info.Subtype, r) }
