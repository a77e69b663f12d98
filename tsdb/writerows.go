package tsdb

import (
	"context"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// WriteRows is Write for a batch with rows of several relations.
func (db *DB) WriteRows(ctx context.Context, b *store.Batch, sync bool, rels ...*catalog.Relation) error {
	m := make(map[sqltypes.OID]*catalog.Relation, len(rels))
	for _, r := range rels {
		m[r.OID] = r
	}
	return db.write(ctx, b, m, sync)
}
