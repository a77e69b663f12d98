package catalog

import "ostraka/sqltypes"

// TimeSeries says how the rows of a relation are kept as time series: the part of
// its descriptor that tsdb works from. Times and lengths are in units of the time
// column: µs for timestamps, what the user means by them for bigint.
type TimeSeries struct {
	Time   int16   // attribute of the time column
	Tags   []int16 // attributes that make up a series, in key order
	Window int64   // length of a window
	// Retention: rows older than this are dropped, by whole windows; 0: never.
	Retention int64
}

// TimeSeriesSpec is TS of a time-series table, nil of others.
func (r *Relation) TimeSeriesSpec() *TimeSeries {
	if r == nil || !r.TimeSeries {
		return nil
	}
	return r.TS
}

// Rollup is what makes a view a continuous aggregate: finished buckets of its query
// are kept in a time-series table of their own, on each node those of its rows.
type Rollup struct {
	Raw OID // the time-series table that is grouped
	// Source is the continuous aggregate that is grouped instead, in the end from Raw; 0: none.
	Source OID   `json:",omitempty"`
	Store  OID   // the table of the buckets; its columns are the view's
	Bucket int16 // the column that is the bucket's start
	// Buckets are the spans; Time is the column of Raw that they are of.
	Buckets sqltypes.Buckets
	Time    int16
	// StoredOnly: what is not stored is not shown, and what is stored is, out of date or not.
	StoredOnly bool          `json:",omitempty"`
	Policy     *RollupPolicy `json:",omitempty"`
}

// RollupPolicy has every node refresh, each Every µs, the buckets between so long
// ago and so long ago; nil: without a bound.
type RollupPolicy struct {
	Start, End *sqltypes.Interval `json:",omitempty"`
	Every      int64
}
