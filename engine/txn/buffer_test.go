package txn

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The buffer behaves as a sorted map, copies stay what they were, and cursors
// walk any range both ways.
func TestBufferModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b Buffer
		model := map[string]string{}
		type saved struct {
			b *Buffer
			m map[string]string
		}
		var copies []saved
		key := rapid.Map(rapid.IntRange(0, 60), func(i int) string { return fmt.Sprintf("%02d", i) })
		check := func(b *Buffer, m map[string]string) {
			var want, got []string
			lo, hi := key.Draw(t, "lo"), key.Draw(t, "hi")
			if rapid.Bool().Draw(t, "open") {
				hi = ""
			}
			for k, v := range m {
				if k >= lo && (hi == "" || k < hi) {
					want = append(want, k+"="+v)
				}
				if w, ok := b.Get(k); !ok || string(w.Val) != v {
					t.Fatalf("get %s: %v %v", k, w, ok)
				}
			}
			slices.Sort(want)
			back := rapid.Bool().Draw(t, "back")
			if back {
				slices.Reverse(want)
			}
			for c := b.Cursor(lo, hi, back); c.Valid(); c.Next() {
				got = append(got, c.Key()+"="+string(c.Write().Val))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("range %s to %s back %v: got %v, want %v", lo, hi, back, got, want)
			}
			n := 0
			b.Ascend(func(k string, w Write) bool {
				n++
				return true
			})
			if n != len(m) || b.Len() < n || b.Err() != nil {
				t.Fatalf("%d keys of %d, want %d: %v", n, b.Len(), len(m), b.Err())
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					k, v := key.Draw(t, "k"), rapid.StringN(0, 3, 9).Draw(t, "v")
					b.Put(k, []byte(v))
					model[k] = v
				}
			},
			"spill": func(t *rapid.T) {
				if err := b.Spill(dir); err != nil {
					t.Fatal(err)
				}
			},
			"copy": func(t *rapid.T) {
				m := map[string]string{}
				for k, v := range model {
					m[k] = v
				}
				copies = append(copies, saved{b.Copy(), m})
			},
			"restore": func(t *rapid.T) {
				if len(copies) == 0 {
					t.Skip()
				}
				c := copies[rapid.IntRange(0, len(copies)-1).Draw(t, "which")]
				b.Restore(c.b)
				model = map[string]string{}
				for k, v := range c.m {
					model[k] = v
				}
			},
			"": func(t *rapid.T) {
				check(&b, model)
				for _, c := range copies {
					check(c.b, c.m)
				}
			},
		})
	})
}
