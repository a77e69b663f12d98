package store

import (
	"context"
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"ostraka/sqltypes"
)

// TestBuckets: the buckets of a scan are those of its rows.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := openMem(t, vfs.NewMem(), nil)
		defer st.Close()
		tab, err := st.Define(TableSpec{ID: 7, Tags: 1, Fields: testFields(), Window: 50})
		if err != nil {
			rt.Fatal(err)
		}
		s, err := st.Series(tab, []Tag{{Value: "a"}})
		if err != nil {
			rt.Fatal(err)
		}
		rows := map[int64]float64{}
		b := st.NewBatch()
		for range rapid.IntRange(1, 80).Draw(rt, "rows") {
			tm, v := rapid.Int64Range(-120, 200).Draw(rt, "time"), float64(rapid.IntRange(-9, 9).Draw(rt, "v"))
			b.Put(s, tm, []sqltypes.Datum{sqltypes.Float(v), sqltypes.Int(int64(v))})
			rows[tm] = v
		}
		if err := st.Append(context.Background(), b, false); err != nil {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "flush") {
			if err := st.Flush(); err != nil {
				rt.Fatal(err)
			}
		}
		width := rapid.Int64Range(1, 30).Draw(rt, "width")
		want := map[int64]Bucket{}
		for tm, v := range rows {
			start := int64(math.Floor(float64(tm)/float64(width))) * width
			w, ok := want[start]
			if !ok {
				w = Bucket{Min: v, Max: v}
			}
			w.Count++
			w.Sum += v
			w.Min, w.Max = min(w.Min, v), max(w.Max, v)
			want[start] = w
		}
		for _, field := range []int16{3, 4} {
			got := map[int64]Bucket{}
			snap := st.Snapshot()
			sc := snap.Scan(context.Background(), tab, nil, All, nil)
			err := sc.Buckets(field, width, 0, func(x *Bucket) error {
				w, ok := got[x.Start]
				if !ok {
					w = Bucket{Min: x.Min, Max: x.Max}
				}
				w.Count += x.Count
				w.Sum += x.Sum
				w.Min, w.Max = min(w.Min, x.Min), max(w.Max, x.Max)
				got[x.Start] = w
				return nil
			})
			sc.Close()
			snap.Close()
			if err != nil {
				rt.Fatal(err)
			}
			if len(got) != len(want) {
				rt.Fatalf("%d buckets, want %d", len(got), len(want))
			}
			for k, w := range want {
				if got[k] != w {
					rt.Fatalf("bucket %d: %+v, want %+v", k, got[k], w)
				}
			}
		}
	})
}
