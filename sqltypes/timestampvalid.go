package sqltypes

// ValidTimestamp reports a finite timestamp inside PostgreSQL's range.
func ValidTimestamp(us int64) bool { return validTimestamp(us) }
