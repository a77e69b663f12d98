package engine

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// NewestReader reads a few rows of one state, the newest applied one, without the
// cost of a snapshot. It lives during the call of Engine.ReadNewest that made it
// and belongs to its goroutine.
type NewestReader interface {
	// Rows calls f for the rows of a span of an index (nil: the table's own key), in
	// key order or backwards, until f answers false. key is the row's storage key and
	// val the value of the variable-length attribute attr; both are valid during the call only.
	Rows(rel *catalog.Relation, ix *catalog.Index, span Span, reverse bool, attr int16, f func(key, val string) (more bool, err error)) error
	// Same is Rows for the rows with one value of an index's first column; val stays
	// valid. It must be the only look of a read.
	Same(rel *catalog.Relation, ix *catalog.Index, value sqltypes.Datum, attr int16, f func(key, val string) (more bool, err error)) error
	// Any reports that the span is not empty.
	Any(rel *catalog.Relation, ix *catalog.Index, span Span) (bool, error)
}
