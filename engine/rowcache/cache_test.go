package rowcache

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func TestStamps(t *testing.T) {
	c := New(1 << 20)
	key := []byte("\x11\x05\x20k\x00\x01")
	_, at, ok := c.Row(key)
	if ok || !c.Holds(at) {
		t.Fatal("a new cache has something")
	}
	c.PutRow(at, string(key), "one")
	if v, _, ok := c.Row(key); !ok || v != "one" {
		t.Fatalf("got %q, %v", v, ok)
	}
	m := c.Begin()
	m.Key(key)
	_, during, ok := c.Row(key)
	if ok || c.Holds(during) || c.Holds(at) {
		t.Error("a row holds while its batch becomes visible")
	}
	c.PutRow(during, string(key), "between")
	m.End()
	if v, _, ok := c.Row(key); ok {
		t.Errorf("%q was kept", v)
	}
	_, at, _ = c.Row(key)
	c.PutRow(at, string(key), "two")
	m = c.Begin()
	m.Range()
	m.End()
	if v, _, ok := c.Row(key); ok {
		t.Errorf("%q outlived a deleted range", v)
	}
	// A write of an index entry is one of its first column.
	_, at, _ = c.Keys(key)
	c.PutKeys(at, string(key), []string{"a"})
	m = c.Begin()
	m.Key(append(bytes.Clone(key), "row"...))
	m.End()
	if _, _, ok := c.Keys(key); ok {
		t.Error("keys under a prefix outlived a new entry under it")
	}
}

func TestBound(t *testing.T) {
	for _, limit := range []int64{0, 64 << 10} {
		c := New(limit)
		for i := range 10000 {
			key := fmt.Sprint("\x11\x01\x20key ", i)
			_, at, _ := c.Row([]byte(key))
			c.PutRow(at, key, string(make([]byte, 500)))
		}
		if n := c.bytes.Load(); n > limit+64<<10 || limit > 0 && n < limit/2 {
			t.Errorf("limit %d: %d bytes", limit, n)
		}
		total := int64(0)
		for i := range c.slots {
			if e := c.slots[i].Load(); e != nil {
				total += e.size()
			}
		}
		if total != c.bytes.Load() {
			t.Errorf("%d bytes are counted, there are %d", c.bytes.Load(), total)
		}
	}
}

// TestFirstLook: a batch that was under way at the first look at a storage has no
// marks, so nothing is kept before it has ended.
func TestFirstLook(t *testing.T) {
	c := New(1 << 20)
	key := []byte("\x11\x05\x20k\x00\x01")
	m := c.Begin()
	m.Key(key) // nobody has looked
	for range 2 {
		_, at, _ := c.Row(key)
		c.PutRow(at, string(key), "before")
	}
	m.End()
	if v, _, ok := c.Row(key); ok {
		t.Errorf("%q was kept", v)
	}
	m = c.Begin()
	m.Key(key)
	m.End()
	_, at, _ := c.Row(key)
	c.PutRow(at, string(key), "after")
	if _, _, ok := c.Row(key); !ok {
		t.Error("nothing is kept")
	}
}

// TestFirstColumn: the end of the first column is the same for all keys that begin with it.
func TestFirstColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.SampledFrom([]byte{0, 1, 0xff, 'a'}))
		key := append([]byte{0x12, 0, 1, 0x30}, raw.Draw(t, "key")...)
		n := FirstColumn(key)
		if n == 0 {
			return
		}
		for _, other := range [][]byte{key[:n], append(bytes.Clone(key[:n]), raw.Draw(t, "other")...)} {
			if got := FirstColumn(other); got != n {
				t.Fatalf("%x ends at %d, %x at %d", key, n, other, got)
			}
		}
	})
	for _, key := range []string{"", "\x10", "\x01cxxxxxxxxx\x00\x01", "\x11\x05", "\x18123"} {
		if n := FirstColumn([]byte(key)); n != 0 {
			t.Errorf("%x: %d", key, n)
		}
	}
}

// TestConcurrent: nobody is shown an older value than one that was visible before he asked.
func TestConcurrent(t *testing.T) {
	c := New(1 << 16)
	const keys = 50
	var store [keys]atomic.Int64
	name := func(i int) []byte { return []byte(fmt.Sprint("\x11\x07\x20k", i, "\x00\x01")) }
	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for n := g; !stop.Load(); n++ {
				i := n % keys
				before := store[i].Load()
				v, at, ok := c.Row(name(i))
				if !ok {
					v = fmt.Sprint(store[i].Load())
					c.PutRow(at, string(name(i)), v)
				}
				var got int64
				if _, err := fmt.Sscan(v, &got); err != nil || got < before {
					t.Errorf("key %d: %q after %d was visible", i, v, before)
					return
				}
			}
		})
	}
	for n := range 20000 {
		m := c.Begin()
		i, j := n%keys, n*7%keys
		m.Key(name(i))
		m.Key(name(j))
		store[i].Add(1)
		store[j].Add(1)
		m.End()
	}
	stop.Store(true)
	wg.Wait()
}
