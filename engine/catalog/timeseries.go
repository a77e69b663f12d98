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
}

// TimeSeriesSpec is TS of a time-series table, nil of others.
func (r *Relation) TimeSeriesSpec() *TimeSeries {
	if r == nil || !r.TimeSeries {
		return nil
	}
	return r.TS
}
