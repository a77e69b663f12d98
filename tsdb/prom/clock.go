package prom

import (
	"math"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// clock converts a table's times: milliseconds since 1970 are what PromQL counts.
type clock struct {
	perMilli int64 // units in a millisecond
	epoch    int64 // ms from 1970 to the table's zero
}

// epoch2000 is 2000-01-01 UTC, the zero of timestamps, in ms since 1970.
const epoch2000 = 946_684_800_000

// clockOf takes bigint times for nanoseconds since 1970.
func clockOf(rel *catalog.Relation, ts *catalog.TimeSeries) clock {
	if rel.Columns[ts.Time-1].Type.OID == sqltypes.OIDInt8 {
		return clock{perMilli: 1_000_000}
	}
	return clock{perMilli: 1000, epoch: epoch2000}
}

func (c clock) millis(t int64) int64 {
	ms := t / c.perMilli
	if t%c.perMilli < 0 {
		ms--
	}
	return ms + c.epoch
}

// units is the first unit of a millisecond; what does not fit is the nearest time
// that does.
func (c clock) units(ms int64) int64 {
	if ms < math.MinInt64+c.epoch {
		return math.MinInt64
	}
	ms -= c.epoch
	switch {
	case ms > math.MaxInt64/c.perMilli:
		return math.MaxInt64
	case ms < math.MinInt64/c.perMilli:
		return math.MinInt64
	}
	return ms * c.perMilli
}

// span is all of the milliseconds from mint to maxt.
func (c clock) span(mint, maxt int64) store.Range {
	r := store.Range{Lo: c.units(mint), Hi: c.units(maxt)}
	if r.Hi <= math.MaxInt64-c.perMilli && r.Hi != math.MinInt64 {
		r.Hi += c.perMilli - 1
	}
	return r
}
