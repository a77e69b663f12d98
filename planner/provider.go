package planner

import (
	"context"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// VirtualRelation is a relation whose rows a provider makes: pg_catalog,
// information_schema, ostraka.*. Its descriptor is like any other's (real OID,
// columns) and is listed in pg_class.
type VirtualRelation struct {
	Rel *catalog.Relation
	// Node: rows differ from node to node; never moved to another one.
	Node bool
	// EqAttrs are attributes for which Rows uses an equality condition itself.
	EqAttrs []int16
	// RowsEstimate for the optimiser; Size, when set, knows it better (0: not yet).
	RowsEstimate float64
	Size         func() float64
	// Distinct, when set, estimates the distinct values of an attribute (0: unknown).
	Distinct func(attr int16) float64
	Rows     func(ctx context.Context, q VirtualQuery) (sqltypes.RowSource, error)
}

// VirtualQuery is what a provider is asked.
type VirtualQuery struct {
	View engine.View
	Env  *sqltypes.Env
	// Eq maps attribute → value; the provider may ignore them (the condition is evaluated again).
	Eq map[int16]sqltypes.Datum
	// Attrs wanted; other columns may be left NULL.
	Attrs []int16
}

// Relations finds virtual relations; node registers the providers.
type Relations interface {
	VirtualByName(schema, name string) *VirtualRelation
	VirtualByOID(oid sqltypes.OID) *VirtualRelation
	AllVirtual(func(*VirtualRelation) bool)
}
