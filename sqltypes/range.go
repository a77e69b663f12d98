package sqltypes

// RangeBound is one end of a range.
type RangeBound struct {
	Value     Datum
	Inf       bool // no bound
	Inclusive bool
}

func installRange(t *Type, sub *Type, multi OID, multiType *Type) {
	refuse(t)
	refuse(multiType)
	info := &RangeInfo{Subtype: sub, Range: t, Multi: multiType}
	t.Range, multiType.Range = info, info
}
