package chunk

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestRoundTrip: what is decoded is bit for bit what was encoded.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 600).Draw(t, "n")
		r := Rows{Time: make([]int64, n)}
		at := rapid.Int64Range(-1<<50, 1<<50).Draw(t, "start")
		step := rapid.SampledFrom([]int64{1, 1000, 10_000_000}).Draw(t, "step")
		for i := range r.Time {
			r.Time[i] = at
			at += step * rapid.Int64Range(1, 4).Draw(t, "gap")
		}
		if rapid.Bool().Draw(t, "deletes") {
			r.Del = rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "del")
		}
		null := func() []bool {
			if rapid.Bool().Draw(t, "nulls") {
				return rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "null")
			}
			return nil
		}
		bitsOf := rapid.OneOf(rapid.Uint64(), rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) uint64 { return math.Float64bits(math.Round(f*100) / 100) }),
			rapid.SampledFrom([]uint64{0, 1 << 63, 0x7ff0000000000000, 0xfff8000000000001, 0x7ff0000000000001}))
		floats := make([]float64, n)
		for i := range floats {
			floats[i] = math.Float64frombits(bitsOf.Draw(t, "f"))
		}
		ints := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 3), rapid.Just[int64](math.MinInt64)), n, n).Draw(t, "ints")
		texts := rapid.SliceOfN(rapid.StringN(0, 3, 12), n, n).Draw(t, "texts")
		r.Cols = []Column{{ID: 2, Kind: Float, F64: floats, Null: null()}, {ID: 3, Kind: Int, I64: ints, Null: null()}, {ID: 9, Kind: Text, Str: texts, Null: null()}}
		var got Rows
		if err := Decode(Encode(nil, &r, 0, n), nil, &got); err != nil {
			t.Fatal(err)
		}
		equalRows(t, &r, &got)
	})
}

func equalRows(t *rapid.T, want, got *Rows) {
	cols := map[int16]*Column{}
	for i := range got.Cols {
		cols[got.Cols[i].ID] = &got.Cols[i]
	}
	for i := range want.Time {
		if want.Time[i] != got.Time[i] {
			t.Fatalf("time %d: %d, want %d", i, got.Time[i], want.Time[i])
		}
		if (want.Del != nil && want.Del[i]) != (got.Del != nil && got.Del[i]) {
			t.Fatalf("delete mark %d differs", i)
		}
		for k := range want.Cols {
			w := &want.Cols[k]
			g := cols[w.ID]
			wn, gn := w.Null != nil && w.Null[i], g == nil || g.Null != nil && g.Null[i]
			if wn != gn {
				t.Fatalf("column %d row %d: null %v, want %v", w.ID, i, gn, wn)
			}
			if wn {
				continue
			}
			switch w.Kind {
			case Float:
				if math.Float64bits(w.F64[i]) != math.Float64bits(g.F64[i]) {
					t.Fatalf("float %d: %x, want %x", i, math.Float64bits(g.F64[i]), math.Float64bits(w.F64[i]))
				}
			case Int:
				if w.I64[i] != g.I64[i] {
					t.Fatalf("int %d: %d, want %d", i, g.I64[i], w.I64[i])
				}
			case Text:
				if w.Str[i] != g.Str[i] {
					t.Fatalf("text %d: %q, want %q", i, g.Str[i], w.Str[i])
				}
			}
		}
	}
}

// FuzzDecode: damaged bytes are refused, never a panic.
func FuzzDecode(f *testing.F) {
	r := Rows{Time: []int64{1, 2, 3, 10}, Cols: []Column{{ID: 1, Kind: Float, F64: []float64{1, 2.5, math.Pi, 4}}, {ID: 2, Kind: Int, I64: []int64{5, -5, 1 << 62, 0}}, {ID: 3, Kind: Text, Str: []string{"a", "b", "a", ""}}}}
	f.Add(Encode(nil, &r, 0, 4))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Rows
		_ = Decode(append([]byte(nil), b...), nil, &got)
	})
}
