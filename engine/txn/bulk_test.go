package txn

import (
	"fmt"
	"hash/maphash"
	"math/rand"
	"testing"
)

// A Bulk knows the keys that were claimed, in whatever order they came, and next to
// no others.
func TestBulkKeys(t *testing.T) {
	for _, order := range []string{"ascending", "random", "runs", "twice"} {
		t.Run(order, func(t *testing.T) {
			tab := NewTable(0)
			o := &Owner{}
			b := tab.StartBulk(o, "k", true)
			rng := rand.New(rand.NewSource(1))
			claimed := map[string]bool{}
			for i := range 5000 {
				n := 2 * i
				switch order {
				case "random":
					n = 2 * rng.Intn(5000)
				case "runs":
					n = 2 * (i%10*500 + i/10)
				case "twice":
					n = 2 * (i / 2)
				}
				key := fmt.Sprintf("k%08d", n)
				fresh, ok := tab.Claim(b, key)
				if !ok || fresh == claimed[key] {
					t.Fatalf("%s: fresh %v, ok %v, claimed %v", key, fresh, ok, claimed[key])
				}
				claimed[key] = true
			}
			other := &Owner{}
			for n := range 10000 {
				key := fmt.Sprintf("k%08d", n)
				h := maphash.String(tab.seed, key)
				sh := &tab.shards[h%lockShards]
				sh.mu.Lock()
				e := tab.yield(sh, *tab.bulks.Load(), sh.m[key], other, key, h)
				sh.mu.Unlock()
				if (e != nil) != claimed[key] {
					t.Fatalf("%s: held %v, claimed %v", key, e != nil, claimed[key])
				}
			}
		})
	}
}
