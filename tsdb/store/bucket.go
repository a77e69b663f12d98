package store

import (
	"math"

	"ostraka/tsdb/chunk"
)

// Bucket is the summary of one field of one series over one bucket of time.
type Bucket struct {
	Series          *Series
	Start           int64
	Count           int64 // values that are not NULL
	Sum, Min, Max   float64
	First, Last     float64
	FirstAt, LastAt int64
}

// Buckets summarises a field of type Float or Int over buckets [origin + n × width, …)
// and calls f with every bucket that has values, in the order of the scan. A bucket
// that reaches over a window comes in parts, one per window. The scan is used up.
func (sc *Scan) Buckets(field int16, width, origin int64, f func(*Bucket) error) error {
	b := Bucket{}
	end := int64(math.MinInt64)
	emit := func() error {
		if b.Count == 0 {
			return nil
		}
		return f(&b)
	}
	for sc.Next() {
		r := sc.Rows()
		var col *chunk.Column
		for i := range r.Cols {
			if r.Cols[i].ID == field {
				col = &r.Cols[i]
			}
		}
		if col == nil || col.Kind == chunk.Text {
			continue
		}
		t := r.Time
		for at := 0; at < len(t); {
			if sc.Series() != b.Series || t[at] >= end || t[at] < b.Start {
				if err := emit(); err != nil {
					return err
				}
				start := windowOf(t[at]-origin, width) + origin
				b = Bucket{Series: sc.Series(), Start: start}
				if end = start + width; end < start {
					end = math.MaxInt64
				}
			}
			to := at + 1
			for to < len(t) && t[to] < end {
				to++
			}
			b.add(col, t, at, to)
			at = to
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return emit()
}

func (b *Bucket) add(c *chunk.Column, t []int64, from, to int) {
	if c.Kind == chunk.Float && c.Null == nil {
		v := c.F64[from:to]
		if b.Count == 0 {
			b.Min, b.Max, b.First, b.FirstAt = v[0], v[0], v[0], t[from]
		}
		sum, lo, hi := b.Sum, b.Min, b.Max
		for _, x := range v {
			sum += x
			if x < lo {
				lo = x
			}
			if x > hi {
				hi = x
			}
		}
		b.Sum, b.Min, b.Max = sum, lo, hi
		b.Count += int64(len(v))
		b.Last, b.LastAt = v[len(v)-1], t[to-1]
		return
	}
	for i := from; i < to; i++ {
		if c.Null != nil && c.Null[i] {
			continue
		}
		x := 0.0
		if c.Kind == chunk.Float {
			x = c.F64[i]
		} else {
			x = float64(c.I64[i])
		}
		if b.Count == 0 {
			b.Min, b.Max, b.First, b.FirstAt = x, x, x, t[i]
		}
		b.Count++
		b.Sum += x
		b.Min, b.Max = min(b.Min, x), max(b.Max, x)
		b.Last, b.LastAt = x, t[i]
	}
}
