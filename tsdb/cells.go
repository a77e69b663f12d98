package tsdb

import (
	"context"
	"math"
	"sync"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Cells are the spans of time by which a continuous aggregate knows what it has stored
// up to date. They are its buckets, but for buckets by the wall clock of a zone: there
// the clock is put back, so that a bucket may be two spans. A cell of a zone has whole
// buckets: it is a local day when they are shorter than one, else one bucket, or some
// where the clock is put back over their common bound, or that is no bound of the
// buckets below, of which they are made.

// zonesBegin is before the first change of any zone's offset, µs since 2000: 1850.
const zonesBegin = -150 * 365 * day

// Timestamps are in [firstTime, endOfTime), µs since 2000.
const (
	firstTime = -211_813_488_000_000_000
	endOfTime = 9_223_371_331_200_000_000
)

// zoneClock converts between times and the wall clock of a zone, by the functions that
// time_bucket uses, one call at a time.
type zoneClock struct {
	mu       sync.Mutex
	zone     sqltypes.Datum
	to, from sqltypes.Call // guarded by mu
	// start and end are the cell that was looked for last. Guarded by mu.
	of         sqltypes.Buckets
	start, end int64
}

var zoneClocks sync.Map // by zone: *zoneClock

func clockOf(zone string) *zoneClock {
	if c, ok := zoneClocks.Load(zone); ok {
		return c.(*zoneClock)
	}
	env := &sqltypes.Env{Ctx: context.Background(), Formats: sqltypes.DefaultFormats()}
	c := &zoneClock{zone: sqltypes.Text(zone), to: sqltypes.Call{Env: env, Proc: sqltypes.ProcByOID(procZoned)}, from: sqltypes.Call{Env: env, Proc: sqltypes.ProcByOID(procUnzoned)}}
	got, _ := zoneClocks.LoadOrStore(zone, c)
	return got.(*zoneClock)
}

func (c *zoneClock) local(t int64) (int64, error) {
	d, err := c.to.Proc.Fn(&c.to, []sqltypes.Datum{c.zone, sqltypes.Int(t)})
	return d.I, err
}

func (c *zoneClock) instant(local int64) (int64, error) {
	d, err := c.from.Proc.Fn(&c.from, []sqltypes.Datum{c.zone, sqltypes.Int(local)})
	return d.I, err
}

// cellWidth is that of the cells by the wall clock.
func cellWidth(b sqltypes.Buckets) Width {
	if b.Months == 0 && b.Width < day {
		return Width{Usec: day}
	}
	return Width{Usec: b.Width, Months: b.Months}
}

// cell is the cell [start, end) of a time.
func (c *zoneClock) cell(b sqltypes.Buckets, t int64) (start, end int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == b && t >= c.start && t < c.end {
		return c.start, c.end, nil
	}
	w := cellWidth(b)
	local, err := c.local(t)
	if err != nil {
		return 0, 0, err
	}
	first, err := w.Floor(local, nil)
	if err != nil {
		return 0, 0, err
	}
	at := first
	for {
		var clean bool
		if start, clean, err = c.bound(b, at); err != nil {
			if start = firstTime; at < 0 && start <= t { // the day that time begins in
				break
			}
			return 0, 0, err
		}
		if clean && start <= t {
			break
		}
		if start < zonesBegin {
			start = math.MinInt64
			break
		}
		if at, err = w.Floor(at-1, nil); err != nil {
			return 0, 0, err
		}
	}
	for at = first; ; {
		if at, err = checkedNext(w, at); err != nil {
			return 0, 0, err
		}
		var clean bool
		if end, clean, err = c.bound(b, at); err != nil {
			if end = endOfTime; at > 0 && end > t { // the day that it ends in
				break
			}
			return 0, 0, err
		}
		if clean && end > t {
			break
		}
	}
	c.of, c.start, c.end = b, start, end
	return start, end, nil
}

// bound is the first time at which the wall clock shows a local time, or a later one
// when it skips that. clean: it never shows an earlier one afterwards, and a bucket
// below begins then.
func (c *zoneClock) bound(b sqltypes.Buckets, local int64) (t int64, clean bool, err error) {
	t, clean, err = c.first(local)
	if err == nil && b.Step > 0 {
		clean = clean && (t-b.StepOrigin)%b.Step == 0
	}
	return t, clean, err
}

func (c *zoneClock) first(local int64) (t int64, clean bool, err error) {
	t, err = c.instant(local)
	if err != nil || sqltypes.TimestampIsInf(t) {
		return t, true, err
	}
	first := t
	// The offsets on both sides: there is no more than one change within two days.
	for _, near := range []int64{t - day, t + day} {
		l, err := c.local(near)
		if err != nil {
			return t, true, nil // at the end of time
		}
		other := local - (l - near)
		if l, err = c.local(other); err == nil && l == local {
			first, t = min(first, other), max(t, other)
		}
	}
	if first == t {
		return t, true, nil
	}
	before, err := c.local(t - 1)
	return first, before >= local, err
}

// zoneCells are the cells of buckets by the wall clock of a zone.
func zoneCells(a []sqltypes.Datum) (sqltypes.Buckets, error) {
	w, err := widthOf(a[0])
	if err != nil {
		return sqltypes.Buckets{}, err
	}
	if w.Months == 0 && w.Usec%day != 0 && day%w.Usec != 0 {
		return sqltypes.Buckets{}, pgerror.NotSupported("a continuous aggregate with buckets by the clock of a zone that are neither days nor a part of one")
	}
	b := sqltypes.Buckets{Width: w.Usec, Months: w.Months, Zone: a[2].S}
	if w.Months == 0 {
		b.Origin = defaultOrigin
	}
	_, err = clockOf(b.Zone).local(0) // is there such a zone
	return b, err
}
