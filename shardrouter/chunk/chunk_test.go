package chunk

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"ostraka/sqltypes"
)

func parse(t testing.TB, s string) sqltypes.JSON {
	v, err := sqltypes.ParseJSONB(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// The vectors that other programs can check themselves against.
func TestVectors(t *testing.T) {
	for in, want := range map[string]int{
		`"eu-west"`: 5, `"eu"`: 174, `"us"`: 202, `"apac"`: 46, `"sa"`: 4, `"af"`: 116, `"me"`: 194,
		`"5"`: 174, `5`: 174, `5.0`: 174, `5e0`: 174, `0.5e1`: 174, `50e-1`: 174,
		`null`: 79, `true`: 141, `"true"`: 141,
	} {
		got, err := OfValue(parse(t, in), 256)
		if err != nil || got != want {
			t.Errorf("%s: chunk %d, %v; want %d", in, got, err, want)
		}
	}
	if got, err := OfValue(sqltypes.JSON{}, 256); got != 79 || err != nil {
		t.Errorf("missing: %d, %v", got, err)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`-0`: "0", `0.0`: "0", `1.10`: "1.1", `100`: "100", `1e3`: "1000", `9007199254740993`: "9007199254740993", `18446744073709551615`: "18446744073709551615",
		`false`: "false", `"ä"`: "ä", `"\u00e4"`: "ä", `""`: "", `{"$date": "2024-05-01T02:00:00+02:00"}`: "2024-05-01T00:00:00Z",
	} {
		if got, err := Canonical(parse(t, in)); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`{}`, `[]`, `[1]`, `{"a": 1}`} {
		if _, err := Canonical(parse(t, in)); err == nil {
			t.Errorf("%s is a shard key", in)
		}
	}
	long, err := Canonical(parse(t, `1e100000`))
	if err != nil || len(long) > 100 {
		t.Errorf("1e100000: %d bytes, %v", len(long), err)
	}
}

func TestKey(t *testing.T) {
	k, err := ParseKey("a.b")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]int{`{"a": {"b": "eu"}}`: 174, `{"a": {}}`: 79, `{}`: 79, `{"a": 1}`: 79, `{"a": {"b": null}}`: 79} {
		if got, err := k.Chunk(parse(t, in), 256); err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{`{"a": [{"b": 1}]}`, `{"a": {"b": [1]}}`, `{"a": {"b": {"c": 1}}}`} {
		if _, err := k.Chunk(parse(t, in), 256); err == nil {
			t.Errorf("%s has a shard key", in)
		}
	}
	for _, bad := range []string{"", "a..b", "a.0", "$x"} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q is a path", bad)
		}
	}
}

// Rebalancing gives everyone an even share and moves no more than it must.
func TestRebalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "shards")
		m := make([]int32, rapid.IntRange(n, 300).Draw(t, "chunks"))
		for i := range m {
			m[i] = int32(rapid.IntRange(0, 9).Draw(t, "shard"))
		}
		var targets []int32
		for i := range n {
			targets = append(targets, int32(i+1))
		}
		need := 0
		count := map[int32]int{}
		for _, s := range m {
			count[s]++
		}
		for s, c := range count {
			if s < 1 || int(s) > n {
				need += c
			} else if c > len(m)/n+1 {
				need += c - len(m)/n - 1
			}
		}
		moved := 0
		after := append([]int32(nil), m...)
		for _, s := range Rebalance(m, targets) {
			for _, c := range s.Chunks {
				if after[c] != s.From || s.From == s.To {
					t.Fatalf("chunk %d is on %d, moved %d → %d", c, after[c], s.From, s.To)
				}
				after[c] = s.To
				moved++
			}
		}
		clear(count)
		for _, s := range after {
			count[s]++
		}
		for i := range n {
			if c := count[int32(i+1)]; c < len(m)/n || c > len(m)/n+1 {
				t.Fatalf("shard %d has %d of %d chunks over %d shards", i+1, c, len(m), n)
			}
		}
		if moved > need+n {
			t.Fatalf("%d chunks moved where %d had to", moved, need)
		}
	})
}

// Giving a new shard its share moves its share only.
func TestFourthShard(t *testing.T) {
	m := make([]int32, 256)
	for i := range m {
		m[i] = int32(i%3) + 1
	}
	moved := 0
	for _, s := range Rebalance(m, []int32{1, 2, 3, 4}) {
		if s.To != 4 {
			t.Errorf("moved to %d", s.To)
		}
		moved += len(s.Chunks)
	}
	if moved != 64 {
		t.Errorf("%d chunks moved", moved)
	}
	if got := fmt.Sprint(Rebalance(m, []int32{1, 2, 3})); got != "[]" {
		t.Errorf("an even map is changed: %s", got)
	}
}
