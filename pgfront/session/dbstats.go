package session

import (
	"sync/atomic"

	"ostraka/sqltypes"
)

// DatabaseStats count what sessions of this node did in one database since the
// node started (pg_stat_database).
type DatabaseStats struct {
	Commits, Rollbacks, Sessions atomic.Int64
}

// Database returns the counters of a database.
func (r *Registry) Database(db sqltypes.OID) *DatabaseStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.databases[db]
	if d == nil {
		d = new(DatabaseStats)
		r.databases[db] = d
	}
	return d
}

// Forget drops the counters of databases that keep does not name.
func (r *Registry) Forget(keep func(sqltypes.OID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for db := range r.databases {
		if !keep(db) {
			delete(r.databases, db)
		}
	}
}
