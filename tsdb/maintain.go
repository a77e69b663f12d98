package tsdb

import (
	"context"
	"math"
	"time"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// Maintainer does what time passing asks for: rows of dropped tables go, and
// windows that are older than their table keeps them.
type Maintainer struct {
	db *DB
	// Now is the wall clock. Ready reports that the catalogue of this node is one
	// to go by; a node that has just joined has an empty one.
	Now   func() time.Time
	Ready func() bool
	// Retained, if not nil, is told of every look for windows that are too old.
	Retained func(rel *catalog.Relation, err error)

	missing map[uint64]int // by storage id: passes in a row in which nothing named it
}

// NewMaintainer makes the maintainer of a DB.
func NewMaintainer(db *DB, now func() time.Time, ready func() bool) *Maintainer {
	return &Maintainer{db: db, Now: now, Ready: ready, missing: map[uint64]int{}}
}

// Run works every so often until ctx ends.
func (m *Maintainer) Run(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := m.Pass(ctx); err != nil && ctx.Err() == nil {
			m.db.log.Warn("time-series maintenance", "error", err)
		}
	}
}

// passesBefore a table that nothing names is dropped.
const passesBefore = 3

// Pass is one round of maintenance.
func (m *Maintainer) Pass(ctx context.Context) error {
	if !m.Ready() {
		return nil
	}
	rels := m.db.Relations()
	for _, t := range m.db.st.Tables() {
		rel := rels[t.ID&^markBit]
		if rel == nil {
			if m.missing[t.ID]++; m.missing[t.ID] >= passesBefore {
				delete(m.missing, t.ID)
				m.db.marks.forget(t.ID &^ markBit)
				if err := m.db.st.DropTable(t.ID); err != nil {
					return err
				}
			}
			continue
		}
		delete(m.missing, t.ID)
		if t.ID&markBit == 0 && rel.TS.Retention > 0 && rel.Columns[rel.TS.Time-1].Type.OID != sqltypes.OIDInt8 {
			_, err := m.db.DropBefore(ctx, t, m.Now().Sub(epoch2000).Microseconds()-rel.TS.Retention)
			if m.Retained != nil {
				m.Retained(rel, err)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// DropBefore removes the windows of a table that end at or before a time and
// returns how many there were.
func (db *DB) DropBefore(ctx context.Context, t *store.Table, before int64) (int, error) {
	ws, err := db.st.Windows(ctx, t)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, w := range ws {
		if w <= math.MaxInt64-t.Window && w+t.Window <= before {
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	_, _, err = db.st.DropRange(t, ws[0], before)
	return n, err
}

// Relations are the time-series relations of all databases by their storage ids.
func (db *DB) Relations() map[uint64]*catalog.Relation {
	out := map[uint64]*catalog.Relation{}
	first := db.inner.Catalog(catalog.PostgresDB)
	if first == nil {
		return out
	}
	first.AllDatabases(func(d *catalog.Database) bool {
		if cat := db.inner.Catalog(d.OID); cat != nil {
			cat.AllRelations(func(r *catalog.Relation) bool {
				if r.TimeSeriesSpec() != nil {
					out[r.StorageID] = r
				}
				return true
			})
		}
		return true
	})
	return out
}
