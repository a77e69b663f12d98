package node

import (
	"context"
	"sync"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
)

// tableSizes remembers for a few seconds how many bytes tables occupy, for the
// optimiser. Safe for concurrent use.
type tableSizes struct {
	eng engine.Engine
	mu  sync.Mutex
	at  map[uint64]sizeEntry // by storage id; guarded by mu
}

type sizeEntry struct {
	bytes int64
	until time.Time
}

const (
	sizeLifetime = 5 * time.Second
	maxSizes     = 10000
)

func newTableSizes(e engine.Engine) *tableSizes {
	return &tableSizes{eng: e, at: map[uint64]sizeEntry{}}
}

// hint implements planner.Context.SizeHint.
func (t *tableSizes) hint(rel *catalog.Relation) int64 {
	now := time.Now()
	t.mu.Lock()
	e, ok := t.at[rel.StorageID]
	t.mu.Unlock()
	if ok && now.Before(e.until) {
		return e.bytes
	}
	v, err := t.eng.View(context.Background(), catalog.PostgresDB)
	if err != nil {
		return -1
	}
	defer v.Close()
	e = sizeEntry{v.EstimateBytes(rel, nil), now.Add(sizeLifetime)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.at) >= maxSizes {
		clear(t.at)
	}
	t.at[rel.StorageID] = e
	return e.bytes
}
