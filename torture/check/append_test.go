package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ostraka/torture/history"
)

// parse makes a history from lines "outcome step step …": "a1:5" appends 5 to
// key 1, "r1:5,6" read [5 6] from key 1, "r1:" nothing. "final" is an outcome
// too: a read at rest. Operations follow one another in time, in one session.
func parse(t *testing.T, text string) history.History {
	t.Helper()
	var h history.History
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		o := &history.Op{ID: len(h), Process: len(h), Node: "1", Invoke: int64(10 * len(h)), Return: int64(10*len(h) + 5), Outcome: history.Outcome(f[0])}
		if f[0] == "final" {
			o.Outcome, o.Final = history.OK, true
		}
		if o.Outcome == history.Unknown {
			o.Return = history.Forever
		}
		for _, s := range f[1:] {
			k, v, _ := strings.Cut(s[1:], ":")
			key, _ := strconv.ParseInt(k, 10, 64)
			m := history.Mop{F: map[byte]string{'a': "append", 'r': "r"}[s[0]], Key: key}
			for _, e := range strings.Split(v, ",") {
				n, err := strconv.ParseInt(e, 10, 64)
				switch {
				case e == "":
				case err != nil:
					t.Fatal(err)
				case m.F == "append":
					m.Arg = n
				default:
					m.Read = append(m.Read, n)
				}
			}
			o.Mops = append(o.Mops, m)
		}
		h = append(h, o)
	}
	return h
}

// TestAppends: a hand-written history for every anomaly, and the levels that forbid it.
func TestAppends(t *testing.T) {
	for _, c := range []struct {
		name, history string
		want          string // kinds
		levels        string // first letters of the levels that forbid it: c, r, s
	}{
		{"serial", `
			ok a1:1 r1:1
			ok r1:1 a1:2
			ok r1:1,2 a2:1
			final r1:1,2 r2:1`, "", ""},
		{"unknown, seen", `
			unknown a1:1 a2:1
			ok r1:1 r2:1
			unknown a1:2
			final r1:1 r2:1`, "", ""},
		{"G0: two transactions write two keys in opposite orders", `
			ok a1:1 a2:1
			ok a1:2 a2:2
			final r1:1,2 r2:2,1`, "G0", "crs"},
		{"G1a: a failed append is read", `
			fail a1:1
			ok r1:1`, "G1a", "crs"},
		{"G1b: a state in the middle of a transaction is read", `
			ok a1:1 a1:2
			ok r1:1
			final r1:1,2`, "G-single G1b", "crs"},
		{"G1c: two transactions read each other's writes", `
			ok a1:1 r2:1
			ok a2:1 r1:1
			final r1:1 r2:1`, "G1c", "crs"},
		{"G-single: a read skew", `
			ok a1:1 a2:1
			ok r1:1 r2:
			final r1:1 r2:1`, "G-single", "rs"},
		{"G-single: a lost update", `
			ok r1: a1:1
			ok r1: a1:2
			final r1:1,2`, "G-single", "rs"},
		{"G2-item: a write skew", `
			ok r1: r2: a1:1
			ok r1: r2: a2:1
			final r1:1 r2:1`, "G2-item", "s"},
		{"G-nonadjacent: a long fork", `
			ok a1:1
			ok a2:1
			ok r1:1 r2:
			ok r1: r2:1
			final r1:1 r2:1`, "G-nonadjacent", "rs"},
		{"lost", `
			ok a1:1
			ok a1:2
			final r1:1`, "lost-write", "crs"},
		{"applied twice", `
			ok a1:1
			final r1:1,1`, "duplicate-elements", "crs"},
		{"garbage", `
			ok r1:7`, "never-written", "crs"},
		{"replicas differ", `
			ok a1:1
			unknown a1:2
			final r1:1
			final r1:1,2`, "G-single replicas-differ", ""},
		{"two orders of one list", `
			ok a1:1
			ok a1:2
			ok r1:2
			ok r1:1,2`, "G1c incompatible-order", "crs"},
		{"a transaction does not see its own append", `
			ok a1:1 r1:
			final r1:1`, "internal", "crs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Appends(parse(t, c.history))
			kinds := strings.Trim(fmt.Sprint(Kinds(got)), "[]")
			if c.name == "replicas differ" || c.name == "two orders of one list" {
				for _, k := range strings.Fields(c.want)[1:] {
					if !strings.Contains(kinds, k) {
						t.Errorf("found %s, want %s among them", kinds, k)
					}
				}
				return
			}
			if kinds != c.want {
				t.Errorf("found %q, want %q", kinds, c.want)
			}
			for letter, level := range map[string]string{"c": "read committed", "r": "repeatable read", "s": "serializable"} {
				forbidden := len(Only(got, Levels[level])) > 0
				if want := strings.Contains(c.levels, letter); forbidden != want {
					t.Errorf("%s: forbidden %v, want %v", level, forbidden, want)
				}
			}
			for _, a := range got {
				t.Log(a)
			}
		})
	}
}

// TestAppendsOfSerialHistory: what a serial execution produces has no anomaly,
// however long, and each one planted in it is found.
func TestAppendsOfSerialHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	state := map[int64][]int64{}
	var h history.History
	for i := range 3000 {
		o := &history.Op{ID: i, Outcome: history.OK}
		for range 1 + rng.IntN(4) {
			key := int64(i/40 + rng.IntN(4))
			if rng.IntN(2) == 0 {
				v := int64(len(state[key]) + 1)
				state[key] = append(state[key], v)
				o.Mops = append(o.Mops, history.Mop{F: "append", Key: key, Arg: v})
			} else {
				o.Mops = append(o.Mops, history.Mop{F: "r", Key: key, Read: slices.Clone(state[key])})
			}
		}
		h = append(h, o)
	}
	if got := Appends(h); len(got) != 0 {
		t.Fatalf("a serial history has %v", got[0])
	}
	// One transaction reads one key an append too early and another one as it was.
	a, b := &history.Op{ID: 3000, Outcome: history.OK}, &history.Op{ID: 3001, Outcome: history.OK}
	a.Mops = []history.Mop{{F: "append", Key: 9001, Arg: 1}, {F: "append", Key: 9002, Arg: 1}}
	b.Mops = []history.Mop{{F: "r", Key: 9001, Read: []int64{1}}, {F: "r", Key: 9002}}
	end := &history.Op{ID: 3002, Outcome: history.OK, Mops: []history.Mop{{F: "r", Key: 9002, Read: []int64{1}}}}
	if got := Kinds(Appends(append(h, a, b, end))); !slices.Equal(got, []Kind{GSingle}) {
		t.Errorf("found %v, want [G-single]", got)
	}
}
