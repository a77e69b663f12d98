package exec

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// A deferrable unique constraint is not looked at when a row is written but when
// the statement ends, or at COMMIT if it is deferred: the keys that new rows have
// are queued and counted then.

// uniqueEvent is one key to count.
type uniqueEvent struct {
	rel *catalog.Relation
	ix  *catalog.Index
	key []sqltypes.Datum
}

// addUnique queues the keys of a new row, or those that an update has changed.
func (q *fkQueue) addUnique(x *Execution, w *tableWriter, old, row []sqltypes.Datum) {
	for _, ix := range w.deferrable {
		attrs := indexAttrs(ix)
		if old == nil || x.differ(w.rel, old, row, attrs) {
			q.add(x, fkEvent{unique: &uniqueEvent{w.rel, ix, attrValues(row, attrs)}})
		}
	}
}

// indexAttrs are the attributes of an index's keys.
func indexAttrs(ix *catalog.Index) []int16 {
	attrs := make([]int16, len(ix.Keys))
	for i, k := range ix.Keys {
		attrs[i] = k.Attr
	}
	return attrs
}

// checkUnique fails if two rows have the key.
func (x *Execution) checkUnique(e *uniqueEvent) error {
	n, err := x.txn.CountNewest(x.ctx, e.rel, e.ix, e.key)
	if err != nil || n < 2 {
		return err
	}
	attrs := indexAttrs(e.ix)
	v := pgerror.New(pgerror.UniqueViolation, "duplicate key value violates unique constraint %q", e.ix.Name).
		WithTable(x.schemaName(e.rel), e.rel.Name).WithConstraint(e.ix.Name)
	if shown := x.keyShown(e.rel, attrs, e.key); shown != "" {
		v.WithDetail("Key%s already exists.", shown)
	}
	return v
}
