package prom

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"pgregory.net/rapid"

	"ostraka/tsdb/chunk"
)

// TestClock: a time lies in the span of exactly its own millisecond.
func TestClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock{perMilli: 1000, epoch: epoch2000}
		if rapid.Bool().Draw(t, "nanoseconds") {
			c = clock{perMilli: 1_000_000}
		}
		at := rapid.Int64Range(math.MinInt64/2, math.MaxInt64/2).Draw(t, "time")
		ms := c.millis(at)
		if r := c.span(ms, ms); at < r.Lo || at > r.Hi {
			t.Fatalf("%d is not in %v", at, r)
		}
		if r := c.span(ms+1, math.MaxInt64); at >= r.Lo {
			t.Fatalf("%d is in %v", at, r)
		}
		if r := c.span(math.MinInt64, ms-1); at <= r.Hi {
			t.Fatalf("%d is in %v", at, r)
		}
	})
	if r := (clock{perMilli: 1000, epoch: epoch2000}).span(math.MinInt64, math.MaxInt64); r.Lo != math.MinInt64 || r.Hi != math.MaxInt64 {
		t.Errorf("all of the time is %v", r)
	}
}

func TestIterator(t *testing.T) {
	it := &iterator{}
	it.reset()
	// Two rows in one millisecond: the last counts. NULL is no sample.
	it.add([]int64{1000, 1999, 2000, 3000, 4000}, &chunk.Column{Kind: chunk.Int, I64: []int64{1, 2, 3, 4, 5}, Null: []bool{false, false, false, true, false}}, clock{perMilli: 1000})
	var got []float64
	for it.Next() == chunkenc.ValFloat {
		_, v := it.At()
		got = append(got, v)
	}
	if len(got) != 3 || got[0] != 2 || got[1] != 3 || got[2] != 5 {
		t.Error(got)
	}
	it.at = -1
	for _, c := range []struct{ to, want int64 }{{0, 1}, {2, 2}, {1, 2}, {3, 4}} {
		if it.Seek(c.to) != chunkenc.ValFloat || it.AtT() != c.want {
			t.Errorf("seek %d: at %d", c.to, it.AtT())
		}
	}
	if it.Seek(5) != chunkenc.ValNone || it.Next() != chunkenc.ValNone {
		t.Error("past the end")
	}
}

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{"cpu": "cpu", "9lives": "_9lives", "a-b.c": "a_b_c", "s:m": "s:m", "": "_", "ü": "_"} {
		if got := sanitize(in, true); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if sanitize("s:m", false) != "s_m" {
		t.Error("colon in a label name")
	}
}
