package shard

import (
	"sync"

	"ostraka/engine/catalog"
	"ostraka/engine/storage"
	"ostraka/sqltypes"
)

// usages has the counters of relations. Those of relations that are gone are
// dropped when there are many.
type usages struct {
	mu    sync.RWMutex
	byOID map[sqltypes.OID]*storage.Usage // guarded by mu
	prune int                             // guarded by mu: how many make it look for gone ones
}

// fewUsages is how many relations are counted before gone ones are looked for.
const fewUsages = 10000

// usage returns the counters of a table; its compiled descriptor keeps them at hand.
func (s *Shard) usage(tbl *storage.Table) *storage.Usage {
	if u := tbl.Usage.Load(); u != nil {
		return u
	}
	o := tbl.Rel.OID
	t := &s.usages
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.byOID[o]
	if u == nil {
		if t.byOID == nil {
			t.byOID, t.prune = map[sqltypes.OID]*storage.Usage{}, fewUsages
		}
		if len(t.byOID) >= t.prune {
			s.forgetGone()
		}
		u = new(storage.Usage)
		t.byOID[o] = u
	}
	tbl.Usage.Store(u)
	return u
}

// forgetGone drops the counters of relations that no database has. The caller holds usages.mu.
func (s *Shard) forgetGone() {
	cats := s.cur.Load().cats
	there := func(o sqltypes.OID) (found bool) {
		cats.Shared().AllDatabases(func(d *catalog.Database) bool {
			c := cats.Database(d.OID)
			found = c != nil && c.Relation(o) != nil
			return !found
		})
		return found
	}
	for o := range s.usages.byOID {
		if !there(o) {
			delete(s.usages.byOID, o)
		}
	}
	s.usages.prune = max(2*len(s.usages.byOID), fewUsages)
}

// Usage returns what statements did with a relation on this node since it started; nil when nothing.
func (s *Shard) Usage(rel sqltypes.OID) *storage.Usage {
	s.usages.mu.RLock()
	defer s.usages.mu.RUnlock()
	return s.usages.byOID[rel]
}
