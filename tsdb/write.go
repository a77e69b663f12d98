package tsdb

import (
	"context"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// write appends a batch of rows of the given relations. Everything that writes
// rows of tables goes through it, so that continuous aggregates learn of it.
func (db *DB) write(ctx context.Context, b *store.Batch, rels map[sqltypes.OID]*catalog.Relation, sync bool) error {
	db.marks.gate.RLock()
	defer db.marks.gate.RUnlock()
	gone, err := db.invalidate(b)
	if err != nil {
		return err
	}
	if err := db.st.Append(ctx, b, sync); err != nil {
		return err
	}
	for _, g := range gone {
		g.done()
	}
	return nil
}

// Write appends rows of one relation, as the line protocols do: put them into a
// batch of Store().NewBatch() with series from Store().Series and the values in the
// order of the table's Fields.
func (db *DB) Write(ctx context.Context, rel *catalog.Relation, b *store.Batch, sync bool) error {
	return db.write(ctx, b, map[sqltypes.OID]*catalog.Relation{rel.OID: rel}, sync)
}
