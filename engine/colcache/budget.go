package colcache

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Budget bounds the memory of all caches of a process.
type Budget struct {
	max int64
	// Worth is how many rows a scan must have read before its table is remembered.
	Worth  int
	used   atomic.Int64
	tick   atomic.Int64
	served atomic.Int64

	mu     sync.Mutex
	tables []*table // guarded by mu
}

// NewBudget allows max bytes.
func NewBudget(max int64) *Budget { return &Budget{max: max, Worth: worthRows} }

// Used is the memory in use, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Served is how many rows were answered from memory.
func (b *Budget) Served() int64 { return b.served.Load() }

func (b *Budget) add(t *table) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables = append(b.tables, t)
}

func (b *Budget) remove(t *table) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables = slices.DeleteFunc(b.tables, func(x *table) bool { return x == t })
}

func (b *Budget) release(n int64) { b.used.Add(-n) }

// reserve takes n bytes for a chunk of t, at the expense of tables whose newest
// scan is older, and answers false when there is not enough.
func (b *Budget) reserve(n int64, t *table) bool {
	if b.used.Add(n) <= b.max {
		return true
	}
	b.mu.Lock()
	others := slices.Clone(b.tables)
	b.mu.Unlock()
	slices.SortFunc(others, func(x, y *table) int { return int(x.used.Load() - y.used.Load()) })
	for _, x := range others {
		if x == t || x.used.Load() >= t.used.Load() {
			break
		}
		x.mu.Lock()
		x.empty()
		x.mu.Unlock()
		if b.used.Load() <= b.max {
			return true
		}
	}
	if b.used.Load() <= b.max {
		return true
	}
	b.used.Add(-n)
	return false
}
