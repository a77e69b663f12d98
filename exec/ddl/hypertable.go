package ddl

import (
	"context"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// MakeHypertable turns an empty ordinary table into a time-series table, as
// TimescaleDB's create_hypertable does. Its tags are the table's text, varchar and
// uuid columns; window "" is the default.
func MakeHypertable(ctx context.Context, s Session, oid sqltypes.OID, timeColumn, window string, ifNotExists bool) error {
	r := &run{ctx: ctx, s: s, txn: s.Txn()}
	rel := r.catalog().Relation(oid)
	if rel == nil || rel.Kind != catalog.KindTable {
		return pgerror.New(pgerror.WrongObjectType, "relation with OID %d is not a table", oid)
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	rel, err := r.lock(rel, engine.AccessExclusive)
	if err != nil {
		return err
	}
	if rel.TimeSeries {
		if ifNotExists {
			r.notice("table %q is already a hypertable, skipping", rel.Name)
			return nil
		}
		return pgerror.New(pgerror.DuplicateTable, "table %q is already a hypertable", rel.Name)
	}
	switch {
	case len(rel.Indexes) > 0:
		return pgerror.NotSupported("create_hypertable of a table with indexes")
	case len(rel.ForeignKeys) > 0 || len(r.referencing(rel.OID)) > 0:
		return pgerror.NotSupported("create_hypertable of a table with foreign keys")
	case rel.Persistence != 'p':
		return pgerror.NotSupported("create_hypertable of a temporary or unlogged table")
	}
	some, err := engine.FindsRow(r.txn.Scan(ctx, engine.ScanSpec{Rel: rel, RowHint: 1}))
	if err != nil {
		return err
	}
	if some {
		return pgerror.New(pgerror.FeatureNotSupported, "table %q is not empty", rel.Name).WithHint("Make a new time-series table and INSERT … SELECT into it.")
	}
	b := &builder{run: r, rel: copyRelation(rel), schema: r.catalog().Schema(rel.Schema)}
	opts := SeriesOptions{"time_column": timeColumn}
	if window != "" {
		opts["window"] = window
	}
	ts, err := SeriesSpec(b.rel, opts)
	if err != nil {
		return err
	}
	if err := b.newStorage(); err != nil {
		return err
	}
	if err := b.makeSeries(ts, opts, b.rel.Options); err != nil {
		return err
	}
	b.put()
	return nil
}
