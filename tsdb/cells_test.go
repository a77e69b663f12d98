package tsdb

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ostraka/sqltypes"
	_ "ostraka/sqltypes/builtin"
)

// TestZoneCells: cells by the wall clock of a zone lie one after the other, and every
// bucket has all of its times, and its start, in one cell; zones whose clocks are put
// back over midnight and skip days included.
func TestZoneCells(t *testing.T) {
	zones := []string{"Europe/Berlin", "America/Havana", "America/Goose_Bay", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC", "America/New_York"}
	widths := []sqltypes.Interval{{Usec: 3_600_000_000}, {Usec: 900_000_000}, {Days: 1}, {Days: 7}, {Months: 1}, {Months: 12}, {Usec: 21_600_000_000}}
	changes := []time.Time{time.Date(2010, 11, 7, 3, 1, 0, 0, time.UTC), time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC), time.Date(2018, 2, 18, 2, 0, 0, 0, time.UTC),
		time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC), time.Date(2023, 10, 29, 1, 0, 0, 0, time.UTC), time.Date(2023, 11, 5, 5, 0, 0, 0, time.UTC), time.Date(2024, 3, 31, 1, 0, 0, 0, time.UTC),
		time.Date(2024, 4, 6, 15, 0, 0, 0, time.UTC), time.Date(2024, 4, 7, 4, 0, 0, 0, time.UTC)}
	call := func(p *sqltypes.Proc) *sqltypes.Call {
		return &sqltypes.Call{Env: &sqltypes.Env{Formats: sqltypes.DefaultFormats()}, Proc: p}
	}
	proc := bucketProc([]sqltypes.OID{oidInterval, oidTimestamptz, oidText})
	rapid.Check(t, func(rt *rapid.T) {
		zone, width := sqltypes.Text(rapid.SampledFrom(zones).Draw(rt, "zone")), sqltypes.MakeInterval(rapid.SampledFrom(widths).Draw(rt, "width"))
		b, err := proc.ZoneBuckets([]sqltypes.Datum{width, {}, zone})
		if err != nil {
			rt.Fatal(err)
		}
		if zone.S != "Asia/Kathmandu" && zone.S != "Australia/Lord_Howe" && rapid.Bool().Draw(rt, "over hours") {
			b.Step, b.StepOrigin = 3_600_000_000, defaultOrigin
		}
		base := (rapid.SampledFrom(changes).Draw(rt, "change").Unix() - epoch2000.Unix()) * 1_000_000
		at := base + rapid.Int64Range(-3*86_400, 3*86_400).Draw(rt, "seconds")*1_000_000
		start, err := floorBuckets(b, at)
		if err != nil {
			rt.Fatal(err)
		}
		end, err := nextBucket(b, start)
		if err != nil || start > at || end <= at {
			rt.Fatalf("time %d: cell [%d, %d) %v", at, start, end, err)
		}
		for _, x := range []int64{start, end - 1} {
			if s, err := floorBuckets(b, x); err != nil || s != start {
				rt.Fatalf("the cell of %d begins at %d, not at %d: %v", x, s, start, err)
			}
		}
		if next, err := floorBuckets(b, end); err != nil || next != end {
			rt.Fatalf("after the cell comes one from %d, not %d: %v", next, end, err)
		}
		// What is grouped: the times, or the starts of the hours below.
		in := func(x int64) int64 {
			if b.Step > 0 {
				x, _ = floorTo(x, b.Step, b.StepOrigin)
			}
			d, err := proc.Fn(call(proc), []sqltypes.Datum{width, sqltypes.Int(x), zone})
			if err != nil {
				rt.Fatal(err)
			}
			return d.I
		}
		bucket := in(at)
		if bucket < start || bucket >= end {
			rt.Fatalf("bucket %d of %d is not in its cell [%d, %d)", bucket, at, start, end)
		}
		for _, x := range []int64{start - 1, end, start - 1_800_000_000, end + 1_800_000_000} {
			if in(x) == bucket {
				rt.Fatalf("bucket %d has %d, outside of its cell [%d, %d)", bucket, x, start, end)
			}
		}
	})
}
