package catalog

// TimeSeries says how the rows of a relation are kept as time series: the part of
// its descriptor that tsdb works from. Times and lengths are in units of the time
// column: µs for timestamps, what the user means by them for bigint.
type TimeSeries struct {
	Time   int16   // attribute of the time column
	Tags   []int16 // attributes that make up a series, in key order
	Window int64   // length of a window
	// Retention: rows older than this are dropped, by whole windows; 0: never.
	Retention int64

	// Aggregate is not nil for the rows of a continuous aggregate.
	Aggregate *ContinuousAggregate
	// Policies run in the background on every node.
	Policies []TimeSeriesPolicy
}

// ContinuousAggregate is what CREATE MATERIALIZED VIEW … WITH (timeseries.continuous) made.
type ContinuousAggregate struct {
	Source OID    // the time-series table
	View   OID    // the view that users read
	Query  string // SELECT over the source, deparsed, without the bucket restriction
	Bucket int64  // length of a bucket; 0: Months
	Months int32
	Origin int64
	Zone   string
	// BucketAttr is the bucket's column in the materialised table.
	BucketAttr int16
	// Final: the view shows only what is materialised.
	Final bool
}

// TimeSeriesPolicy is a job on a table.
type TimeSeriesPolicy struct {
	ID    int64
	Kind  string // retention, refresh
	Every int64  // µs between runs
	// Start and End bound a refresh, as distances back from now; 0 unbounded.
	// DropAfter is a retention's age.
	Start, End, DropAfter int64
}

// TimeSeriesSpec is TS of a time-series table, nil of others.
func (r *Relation) TimeSeriesSpec() *TimeSeries {
	if r == nil || !r.TimeSeries {
		return nil
	}
	return r.TS
}
