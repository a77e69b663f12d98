package tsdb

import (
	"context"
	"errors"
	"math"
	"testing"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// TestRefreshFarAway: a refresh costs what the rows do, not the time between them, of
// buckets of a length, by the clock of a zone and of months, on disk and in memory; it
// ends with its context, and reading what it stored does not read the raw rows.
func TestRefreshFarAway(t *testing.T) {
	const hour = day / 24
	const first, last = int64(firstTime), int64(endOfTime - 1)
	for name, b := range map[string]sqltypes.Buckets{
		"hours":  {Width: hour, Origin: defaultOrigin},
		"µs":     {Width: 1, Origin: defaultOrigin},
		"months": {Months: 1},
		"zone":   {Width: hour, Origin: defaultOrigin, Zone: "Europe/Berlin"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, flush := range []bool{false, true} {
				w := newRollupWorld(b)
				w.raw.TS.Window = 1000 * 365 * day // few chunks with rows that are centuries apart
				w.open(t)
				times := []int64{first, first + hour, 0, 1, 2 * hour, 500 * 365 * day, last - hour, last}
				if b.Zone != "" { // whose clock is past the end of time in its last hour
					times[len(times)-1] = last - 2*hour
				}
				put(t, w, times...)
				if flush {
					if err := w.db.st.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_, err := w.db.Refresh(ctx, w.view, w.buckets, []*catalog.Relation{w.raw}, RefreshFrom, RefreshTo, func(context.Context, int64, int64, func([]sqltypes.Datum) error) error { return nil })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("a refresh that is cancelled gives %v", err)
				}
				asked := 0
				if err := w.refresh(RefreshFrom, RefreshTo, func() { asked++ }); err != nil {
					t.Fatal(err)
				}
				if asked > len(times) {
					t.Errorf("%d parts of %d rows", asked, len(times))
				}
				w.check(t, &reader{db: w.db})
				m := w.db.marks.find(12, 11)
				snap := w.db.st.Snapshot()
				sc := snap.Scan(context.Background(), m.series.Table, nil, store.All, nil)
				marks := 0
				for sc.Next() {
					marks += len(sc.Rows().Time)
				}
				sc.Close()
				if marks < 4 || marks > 70*len(times) {
					t.Errorf("%d marks of %d rows", marks, len(times))
				}
				valid, err := m.marked(context.Background(), snap, store.All)
				for _, at := range times {
					if !within(at, valid) && err == nil {
						t.Errorf("the bucket of %d is not stored", at)
					}
				}
				snap.Close()
				put(t, w, 3*hour)
				if err := w.refresh(math.MinInt64, math.MaxInt64, func() {}); err != nil {
					t.Fatal(err)
				}
				w.check(t, &reader{db: w.db})
				w.db.st.Close()
			}
		})
	}
}
