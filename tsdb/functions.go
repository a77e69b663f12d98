package tsdb

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// OIDs of this package's functions: 9500 to 9799, in the order of the lists below
// from the starts given; what is added goes to the end.
const (
	firstBucketProc    sqltypes.OID = 9500
	firstAggregateProc sqltypes.OID = 9550
	firstGapfillProc   sqltypes.OID = 9600
	firstRollupProc    sqltypes.OID = 9620
)

const (
	oidInterval    = sqltypes.OIDInterval
	oidTimestamptz = sqltypes.OIDTimestamptz
	oidTimestamp   = sqltypes.OIDTimestamp
	oidText        = sqltypes.OIDText
	oidFloat8      = sqltypes.OIDFloat8
	oidInt4        = sqltypes.OIDInt4
	oidInt8        = sqltypes.OIDInt8
	oidDate        = sqltypes.OIDDate
)

type bucketFunc struct {
	args []sqltypes.OID
	fn   func(c *sqltypes.Call, a []sqltypes.Datum) (int64, error)
	// next is the bucket after the one that starts at a[1].
	next func(c *sqltypes.Call, a []sqltypes.Datum) (int64, error)
	// buckets are those that constant arguments give; nil when they depend on a zone.
	buckets func(a []sqltypes.Datum) (sqltypes.Buckets, error)
	zoned   func(a []sqltypes.Datum) (sqltypes.Buckets, error)
}

// width keeps a call's interval between rows.
type widthCache struct {
	of sqltypes.Datum
	w  Width
}

func width(c *sqltypes.Call, d sqltypes.Datum) (Width, error) {
	if k, ok := c.Cache.(*widthCache); ok && k.of == d {
		return k.w, nil
	}
	w, err := widthOf(d)
	if err == nil {
		c.Cache = &widthCache{d, w}
	}
	return w, err
}

func plainBucket(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	return w.Floor(a[1].I, nil)
}

func originBucket(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	return w.Floor(a[1].I, &a[2].I)
}

func offsetBucket(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	off := sqltypes.IntervalOf(a[2])
	if w.Months != 0 || off.Months != 0 {
		return 0, pgerror.NotSupported("an offset of months in time_bucket")
	}
	o := defaultOrigin + int64(off.Days)*day + off.Usec
	return w.Floor(a[1].I, &o)
}

func zoneBucket(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	return w.floorInZone(c, a[1].I, a[2], nil)
}

func dateBucket(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	if sqltypes.DateIsInf(a[1].I) {
		return a[1].I, nil
	}
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	t, err := w.Floor(a[1].I*day, nil)
	return floorDiv(t, day), err
}

func intBucket(_ *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	if a[0].I <= 0 {
		return 0, errWidth
	}
	o := int64(0)
	if len(a) > 2 {
		o = a[2].I
	}
	return floorTo(a[1].I, a[0].I, o)
}

func nextPlain(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	return checkedNext(w, a[1].I)
}

func checkedNext(w Width, t int64) (int64, error) {
	if n := w.Next(t); n > t {
		return n, nil
	}
	return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "timestamp out of range")
}

func nextInZone(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	return w.nextInZone(c, a[1].I, a[2])
}

func nextDate(c *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	w, err := width(c, a[0])
	if err != nil {
		return 0, err
	}
	t, err := checkedNext(w, a[1].I*day)
	// A width that is no number of days makes buckets of unequal days.
	return -floorDiv(-t, day), err
}

func nextInt(_ *sqltypes.Call, a []sqltypes.Datum) (int64, error) {
	if n := a[1].I + a[0].I; n > a[1].I {
		return n, nil
	}
	return 0, pgerror.New(pgerror.NumericValueOutOfRange, "bigint out of range")
}

func plainBuckets(a []sqltypes.Datum) (sqltypes.Buckets, error) {
	w, err := widthOf(a[0])
	b := sqltypes.Buckets{Width: w.Usec, Months: w.Months}
	if w.Months == 0 {
		b.Origin = defaultOrigin
	}
	return b, err
}

func originBuckets(a []sqltypes.Datum) (sqltypes.Buckets, error) {
	b, err := plainBuckets(a)
	b.Origin = a[2].I
	if err == nil {
		_, err = floorBuckets(b, 0)
	}
	return b, err
}

func offsetBuckets(a []sqltypes.Datum) (sqltypes.Buckets, error) {
	b, err := plainBuckets(a)
	off := sqltypes.IntervalOf(a[2])
	if b.Months != 0 || off.Months != 0 {
		return b, pgerror.NotSupported("an offset of months in time_bucket")
	}
	b.Origin += int64(off.Days)*day + off.Usec
	return b, err
}

func intBuckets(a []sqltypes.Datum) (sqltypes.Buckets, error) {
	b := sqltypes.Buckets{Width: a[0].I}
	if len(a) > 2 {
		b.Origin = a[2].I
	}
	if b.Width <= 0 {
		return b, errWidth
	}
	return b, nil
}

var bucketFuncs = []bucketFunc{
	{[]sqltypes.OID{oidInterval, oidTimestamptz}, plainBucket, nextPlain, plainBuckets, nil},
	{[]sqltypes.OID{oidInterval, oidTimestamptz, oidTimestamptz}, originBucket, nextPlain, originBuckets, nil},
	{[]sqltypes.OID{oidInterval, oidTimestamptz, oidText}, zoneBucket, nextInZone, nil, zoneCells},
	{[]sqltypes.OID{oidInterval, oidTimestamptz, oidInterval}, offsetBucket, nextPlain, offsetBuckets, nil},
	{[]sqltypes.OID{oidInterval, oidTimestamp}, plainBucket, nextPlain, plainBuckets, nil},
	{[]sqltypes.OID{oidInterval, oidTimestamp, oidTimestamp}, originBucket, nextPlain, originBuckets, nil},
	{[]sqltypes.OID{oidInterval, oidTimestamp, oidInterval}, offsetBucket, nextPlain, offsetBuckets, nil},
	{[]sqltypes.OID{oidInterval, oidDate}, dateBucket, nextDate, nil, nil},
	{[]sqltypes.OID{oidInt8, oidInt8}, intBucket, nextInt, intBuckets, nil},
	{[]sqltypes.OID{oidInt8, oidInt8, oidInt8}, intBucket, nextInt, intBuckets, nil},
	{[]sqltypes.OID{oidInt4, oidInt4}, intBucket, nextInt, intBuckets, nil},
	{[]sqltypes.OID{oidInt4, oidInt4, oidInt4}, intBucket, nextInt, intBuckets, nil},
}

func init() {
	for i, f := range bucketFuncs {
		fn, next := f.fn, f.next
		p := &sqltypes.Proc{OID: firstBucketProc + sqltypes.OID(i), Name: "time_bucket", Namespace: catalog.SchemaPgCatalog, Kind: 'f',
			Strict: true, Volatility: sqltypes.Immutable, ArgTypes: f.args, RetType: f.args[1], Src: "ostraka_time_bucket", Cost: 1, Parallel: 's',
			Fn: func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
				v, err := fn(c, a)
				return sqltypes.Int(v), err
			},
			NextBucket: func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
				v, err := next(c, a)
				return sqltypes.Int(v), err
			},
			Buckets: f.buckets, ZoneBuckets: f.zoned}
		sqltypes.RegisterProc(p)
		bucketProcs = append(bucketProcs, p)
	}
	registerGapfill()
	registerRollupConds()
}
