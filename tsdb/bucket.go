package tsdb

import (
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Buckets of time. Those of a fixed length are counted from an origin, by default
// Monday, 3 January 2000; those of months from 1 January 2000. All are half-open
// and floored, before the origin as well as after it.

const (
	day           = int64(86_400_000_000)
	defaultOrigin = 2 * day // µs since 2000-01-01
)

// Width is the length of a bucket: a number of µs, or of months.
type Width struct {
	Usec   int64
	Months int64
}

// widthOf reads an interval as the length of a bucket.
func widthOf(d sqltypes.Datum) (Width, error) {
	iv := sqltypes.IntervalOf(d)
	if iv.Months != 0 {
		if iv.Days != 0 || iv.Usec != 0 {
			return Width{}, pgerror.New(pgerror.FeatureNotSupported, "month intervals cannot have day or time component")
		}
		if iv.Months < 0 {
			return Width{}, errWidth
		}
		return Width{Months: int64(iv.Months)}, nil
	}
	if iv.Days > 100_000_000/2 || iv.Usec > 1<<62 {
		return Width{}, errWidth
	}
	w := int64(iv.Days)*day + iv.Usec
	if w <= 0 {
		return Width{}, errWidth
	}
	return Width{Usec: w}, nil
}

var errWidth = pgerror.New(pgerror.InvalidParameterValue, "period must be greater than 0")

// Floor is the start of t's bucket; origin nil: the default.
func (w Width) Floor(t int64, origin *int64) (int64, error) {
	if sqltypes.TimestampIsInf(t) {
		return t, nil
	}
	if w.Months == 0 {
		o := defaultOrigin
		if origin != nil {
			o = *origin
		}
		return floorTo(t, w.Usec, o)
	}
	base := int64(0) // January 2000
	if origin != nil {
		o := usecTime(*origin)
		if o.Day() != 1 || o.Hour() != 0 || o.Minute() != 0 || o.Second() != 0 || o.Nanosecond() != 0 {
			return 0, pgerror.New(pgerror.FeatureNotSupported, "origin of a month bucket must be the first day of the month")
		}
		base = months(o)
	}
	m, err := floorTo(months(usecTime(t)), w.Months, base)
	if err != nil {
		return 0, err
	}
	return monthStart(m), nil
}

// Next is the start of the bucket after the one that starts at t.
func (w Width) Next(t int64) int64 {
	if w.Months == 0 {
		return t + w.Usec
	}
	return monthStart(months(usecTime(t)) + w.Months)
}

// floorTo is the largest origin + n × width that is not above v.
func floorTo(v, width, origin int64) (int64, error) {
	origin %= width
	d := v - origin
	if (origin > 0) != (d < v) && origin != 0 {
		return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "timestamp out of range")
	}
	r := d % width
	if r < 0 {
		r += width
	}
	if v < -1<<63+r {
		return 0, pgerror.New(pgerror.DatetimeFieldOverflow, "timestamp out of range")
	}
	return v - r, nil
}

// floorBuckets is the start of the cell that a time is in, nextBucket that of the one
// after the cell that starts at a time.
func floorBuckets(b sqltypes.Buckets, t int64) (int64, error) {
	if b.Zone != "" {
		start, _, err := clockOf(b.Zone).cell(b, t)
		return start, err
	}
	return Width{Usec: b.Width, Months: b.Months}.Floor(t, &b.Origin)
}

func nextBucket(b sqltypes.Buckets, start int64) (int64, error) {
	if b.Zone != "" {
		_, end, err := clockOf(b.Zone).cell(b, start)
		return end, err
	}
	return checkedNext(Width{Usec: b.Width, Months: b.Months}, start)
}

var epoch2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func usecTime(t int64) time.Time {
	return time.Unix(epoch2000.Unix()+floorDiv(t, 1_000_000), (t-floorDiv(t, 1_000_000)*1_000_000)*1000).UTC()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func months(t time.Time) int64 { return int64(t.Year()-2000)*12 + int64(t.Month()) - 1 }

func monthStart(m int64) int64 {
	y := floorDiv(m, 12)
	t := time.Date(int(2000+y), time.Month(m-y*12+1), 1, 0, 0, 0, 0, time.UTC)
	return (t.Unix() - epoch2000.Unix()) * 1_000_000
}

// Bounds of timestamptz's two zone functions, by their OIDs in pg_proc.
const (
	procZoned   = 1159 // timezone(text, timestamptz) → timestamp
	procUnzoned = 2069 // timezone(text, timestamp) → timestamptz
)

// floorInZone floors by the wall clock of a zone.
func (w Width) floorInZone(c *sqltypes.Call, t int64, zone sqltypes.Datum, origin *int64) (int64, error) {
	to, from := sqltypes.ProcByOID(procZoned), sqltypes.ProcByOID(procUnzoned)
	local, err := to.Fn(&sqltypes.Call{Env: c.Env, Proc: to}, []sqltypes.Datum{zone, sqltypes.Int(t)})
	if err != nil {
		return 0, err
	}
	b, err := w.Floor(local.I, origin)
	if err != nil {
		return 0, err
	}
	d, err := from.Fn(&sqltypes.Call{Env: c.Env, Proc: from}, []sqltypes.Datum{zone, sqltypes.Int(b)})
	return d.I, err
}

// nextInZone is Next by the wall clock of a zone.
func (w Width) nextInZone(c *sqltypes.Call, t int64, zone sqltypes.Datum) (int64, error) {
	to, from := sqltypes.ProcByOID(procZoned), sqltypes.ProcByOID(procUnzoned)
	local, err := to.Fn(&sqltypes.Call{Env: c.Env, Proc: to}, []sqltypes.Datum{zone, sqltypes.Int(t)})
	if err != nil {
		return 0, err
	}
	// Where clocks go forward a bucket's start may not exist, and two fall together.
	for at := local.I; ; {
		if at, err = checkedNext(w, at); err != nil {
			return 0, err
		}
		d, err := from.Fn(&sqltypes.Call{Env: c.Env, Proc: from}, []sqltypes.Datum{zone, sqltypes.Int(at)})
		if err != nil || d.I > t {
			return d.I, err
		}
	}
}
