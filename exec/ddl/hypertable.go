package ddl

import (
	"context"
	"slices"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// MakeHypertable turns an empty ordinary table into a time-series table, as
// TimescaleDB's create_hypertable does. Its tags are the other columns of its one unique
// key, or without one those that read like names, see SeriesSpec; window "" is the default.
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
	opts := SeriesOptions{"time_column": timeColumn}
	tags, keyed := keyTags(rel, timeColumn)
	if keyed {
		opts["tags"] = tags
	}
	switch {
	case len(rel.Indexes) > 0 && !keyed:
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
	b.rel.Indexes = nil
	if err := b.makeSeries(ts, opts, b.rel.Options); err != nil {
		return err
	}
	b.put()
	if !keyed {
		b.tellKey()
	}
	return nil
}

// keyTags are the columns beside the time of a table's only index, a unique key.
func keyTags(rel *catalog.Relation, timeColumn string) (tags string, ok bool) {
	if len(rel.Indexes) != 1 {
		return "", false
	}
	ix := rel.Indexes[0]
	if !ix.Unique || ix.Predicate != "" {
		return "", false
	}
	var list []string
	for _, k := range ix.Keys {
		if k.Attr <= 0 {
			return "", false
		}
		if name := rel.Columns[k.Attr-1].Name; name == timeColumn {
			ok = true
		} else {
			list = append(list, name)
		}
	}
	return strings.Join(list, ","), ok
}

// tellKey says which columns were taken for the key when nobody has named them: a row
// replaces the one with the same.
func (b *builder) tellKey() {
	var names []string
	for _, a := range append(slices.Clone(b.rel.TS.Tags), b.rel.TS.Time) {
		names = append(names, b.rel.Columns[a-1].Name)
	}
	b.notice("rows of \"%s\" are told apart by (%s): a second row with the same replaces the first; name other columns with tsdb.segmentby, or a unique key", b.rel.Name, strings.Join(names, ", "))
}
