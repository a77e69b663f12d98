package ddl

import (
	"context"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rollupOptions are what WITH (…) may say of a continuous aggregate.
var rollupOptions = map[string]string{
	"timeseries.continuous": "continuous", "timescaledb.continuous": "continuous", "tsdb.continuous": "continuous",
	"timeseries.materialized_only": "materialized_only", "timescaledb.materialized_only": "materialized_only", "tsdb.materialized_only": "materialized_only",
	// Accepted and without effect: what they choose is so here in any case.
	"timescaledb.finalized": "", "timescaledb.create_group_indexes": "", "tsdb.finalized": "", "tsdb.create_group_indexes": "",
}

// splitRollupOptions gives the options of a continuous aggregate by their own
// names; nil when the list is not one's.
func splitRollupOptions(list []string) (map[string]string, error) {
	opts := map[string]string{}
	for _, o := range list {
		name, value, _ := strings.Cut(o, "=")
		if own, known := rollupOptions[name]; known && own != "" {
			opts[own] = value
		}
	}
	if on := opts["continuous"]; on == "" || !optionOn(on) {
		return nil, nil
	}
	for _, o := range list {
		name, _, _ := strings.Cut(o, "=")
		if _, known := rollupOptions[name]; !known {
			return nil, pgerror.NotSupported("option %q of a continuous aggregate", name)
		}
	}
	return opts, nil
}

func optionOn(v string) bool { return v != "false" && v != "off" && v != "0" && v != "no" }

// createRollup makes a continuous aggregate: a view, and the time-series table that
// keeps its finished buckets, out of sight in the schema of the product's own.
func (r *run) createRollup(n *pg.CreateTableAsStmt, schema *catalog.Schema, name string, opts map[string]string) error {
	pc := r.s.PlanContext()
	shape, err := bind.RollupQuery(pc, n.Query)
	if err != nil {
		return err
	}
	below := shape.Raw
	if shape.Source != nil {
		below = shape.Source
	}
	if err := r.mustOwn(below); err != nil {
		return err
	}
	cols := queryColumns(shape.Query)
	if err := aliasColumns(cols, strs(n.Into.ColNames), "CREATE MATERIALIZED VIEW"); err != nil {
		return err
	}
	if seen := duplicateName(cols); seen != "" {
		return pgerror.New(pgerror.DuplicateColumn, "column %q specified more than once", seen)
	}
	store := &catalog.Relation{Schema: catalog.SchemaOstraka, Kind: catalog.KindTable, Persistence: 'p', Owner: r.role()}
	for _, c := range cols {
		if !keptType(c.Type.OID) {
			return pgerror.NotSupported("type %s in a continuous aggregate", formatType(c))
		}
		cc := *c
		store.Columns = append(store.Columns, &cc)
	}
	ts := &catalog.TimeSeries{Time: int16(shape.Bucket + 1), Window: rollupWindow(shape.Raw.TS.Window, shape.Buckets)}
	for _, at := range shape.Tags {
		if !tagType(cols[at].Type.OID) {
			return pgerror.NotSupported("grouping a continuous aggregate by a column of type %s", formatType(cols[at]))
		}
		ts.Tags = append(ts.Tags, int16(at+1))
	}
	view := &catalog.Relation{Name: name, Schema: schema.OID, Kind: catalog.KindView, Persistence: 'p', Owner: r.role(), ACL: r.newACL('r', schema.OID), Columns: cols}
	if view.ViewDef, err = bind.QualifiedText(pc, n.Query); err != nil {
		return err
	}
	if err := r.putNew(view, schema); err != nil {
		return err
	}
	store.Name = sprintf("_buckets_%d", view.OID)
	b := &builder{run: r, rel: store, schema: r.catalog().Schema(catalog.SchemaOstraka)}
	if err := b.makeSeries(ts, SeriesOptions{}, nil); err != nil {
		return err
	}
	if err := b.create(); err != nil {
		return err
	}
	view = copyRelation(r.catalog().Relation(view.OID))
	view.Rollup = &catalog.Rollup{Raw: shape.Raw.OID, Store: store.OID, Bucket: ts.Time, Buckets: shape.Buckets, Time: shape.Raw.TS.Time,
		StoredOnly: opts["materialized_only"] != "" && optionOn(opts["materialized_only"])}
	if shape.Source != nil {
		view.Rollup.Source = shape.Source.OID
	}
	r.schema().PutRelation(view)
	return nil
}

// rollupWindow: ten windows of the raw rows, but some buckets in any case.
func rollupWindow(raw int64, b sqltypes.Buckets) int64 {
	const most, month = maxSpan, 31 * defaultWindow
	width := b.Width
	if b.Months > 0 {
		width = min(b.Months, 10_000) * month
	}
	if raw > most/10 || width > most/16 {
		return max(raw, width)
	}
	return max(10*raw, 16*width)
}

// keptType: time series can keep values of a built-in type.
func keptType(oid sqltypes.OID) bool { return seriesType(oid) }

// alterRollup changes the options of a continuous aggregate.
func (b *builder) alterRollup(cmd *pg.AlterTableCmd) error {
	r := *b.rel.Rollup
	switch cmd.Subtype {
	case pg.AlterTableType_AT_ChangeOwner:
		if err := b.changeOwner(cmd.Newowner); err != nil {
			return err
		}
		store := &builder{run: b.run, rel: copyRelation(b.catalog().Relation(r.Store)), schema: b.catalog().Schema(catalog.SchemaOstraka)}
		return store.changeOwner(cmd.Newowner)
	case pg.AlterTableType_AT_SetRelOptions:
		opts, err := relOptions(cmd.Def.GetList().GetItems())
		if err != nil {
			return err
		}
		for _, o := range opts {
			name, value, _ := strings.Cut(o, "=")
			switch own, known := rollupOptions[name]; {
			case own == "materialized_only":
				r.StoredOnly = optionOn(value)
			case !known || own != "":
				return pgerror.NotSupported("changing option %q of a continuous aggregate", name)
			}
		}
		b.rel.Rollup = &r
		b.put()
		return nil
	}
	return pgerror.NotSupported("ALTER action %s on a continuous aggregate", actionName(cmd.Subtype))
}

// dropRollupStore drops the table of a continuous aggregate's buckets.
func (d *dropper) dropRollupStore(view *catalog.Relation) {
	if view.Rollup == nil {
		return
	}
	if store := d.catalog().Relation(view.Rollup.Store); store != nil {
		d.dropOne(store)
	}
}

// Rollup finds a continuous aggregate that the session may change.
func Rollup(ctx context.Context, s Session, oid sqltypes.OID) (*catalog.Relation, error) {
	r := &run{ctx: ctx, s: s, txn: s.Txn()}
	rel := r.catalog().Relation(oid)
	if rel == nil || rel.Rollup == nil {
		return nil, pgerror.New(pgerror.WrongObjectType, "relation with OID %d is not a continuous aggregate", oid)
	}
	if err := r.mustOwn(rel); err != nil {
		return nil, err
	}
	return r.lock(rel, engine.ShareUpdateExclusive)
}

// SetRollupPolicy gives a continuous aggregate its refresh policy, nil takes it away.
func SetRollupPolicy(ctx context.Context, s Session, oid sqltypes.OID, change func(old *catalog.RollupPolicy) (*catalog.RollupPolicy, error)) error {
	rel, err := Rollup(ctx, s, oid)
	if err != nil {
		return err
	}
	roll := *rel.Rollup
	if roll.Policy, err = change(roll.Policy); err != nil {
		return err
	}
	cp := copyRelation(rel)
	cp.Rollup = &roll
	s.Txn().Schema().PutRelation(cp)
	return nil
}

// SetRetention sets how long rows of a time-series table, or buckets of a
// continuous aggregate, are kept, in µs; change gets what it was, 0: for ever.
func SetRetention(ctx context.Context, s Session, oid sqltypes.OID, change func(old int64) (int64, error)) error {
	r := &run{ctx: ctx, s: s, txn: s.Txn()}
	rel := r.catalog().Relation(oid)
	if rel != nil && rel.Rollup != nil {
		if err := r.mustOwn(rel); err != nil {
			return err
		}
		rel = r.catalog().Relation(rel.Rollup.Store)
	}
	if rel.TimeSeriesSpec() == nil {
		return pgerror.New(pgerror.WrongObjectType, "relation with OID %d is not a time-series table or continuous aggregate", oid)
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	rel, err := r.lock(rel, engine.ShareUpdateExclusive)
	if err != nil {
		return err
	}
	if rel.Columns[rel.TS.Time-1].Type.OID == sqltypes.OIDInt8 {
		return pgerror.NotSupported("retention of a time-series table whose time is a bigint")
	}
	ts := *rel.TS
	if ts.Retention, err = change(ts.Retention); err != nil {
		return err
	}
	cp := copyRelation(rel)
	cp.TS = &ts
	cp.Options = slices.DeleteFunc(slices.Clone(cp.Options), func(o string) bool { return strings.HasPrefix(o, "retention=") })
	if ts.Retention > 0 {
		cp.Options = append(cp.Options, sprintf("retention=%d microseconds", ts.Retention))
	}
	r.schema().PutRelation(cp)
	return nil
}
