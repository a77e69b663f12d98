package ddl

import (
	"context"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// CreateTableAs runs CREATE TABLE AS, SELECT INTO and CREATE MATERIALIZED VIEW.
// params are the values of the statement's parameters' types, for binding. The
// tag is "SELECT n", or the CREATE tag WITH NO DATA.
func CreateTableAs(ctx context.Context, s Session, n *pg.CreateTableAsStmt) (string, error) {
	r := &run{ctx: ctx, s: s, txn: s.Txn()}
	into := n.Into
	matview := n.Objtype == pg.ObjectType_OBJECT_MATVIEW
	temp := into.Rel.Relpersistence == "t"
	schema, err := r.creationSchema(into.Rel.Schemaname, temp)
	if err != nil {
		return "", err
	}
	tag := "CREATE TABLE AS"
	if matview {
		tag = "CREATE MATERIALIZED VIEW"
	}
	name := truncateIdent(into.Rel.Relname)
	if err := r.mustBeFree(schema, name); err != nil {
		if n.IfNotExists && pgerror.Is(err, pgerror.DuplicateTable) {
			s.Notice("NOTICE", pgerror.DuplicateTable, sprintf("relation %q already exists, skipping", name))
			return tag, nil
		}
		return "", err
	}
	options, err := relOptions(into.Options)
	if err != nil {
		return "", err
	}
	if matview {
		opts, err := splitRollupOptions(options)
		if err != nil || opts != nil {
			if err == nil {
				err = r.createRollup(n, schema, name, opts)
			}
			return tag, err
		}
	}
	q, _, err := bind.Bind(s.PlanContext(), n.Query)
	if err != nil {
		return "", err
	}
	cols := queryColumns(q)
	if err := aliasColumns(cols, strs(into.ColNames), "CREATE TABLE AS"); err != nil {
		return "", err
	}
	if seen := duplicateName(cols); seen != "" {
		return "", pgerror.New(pgerror.DuplicateColumn, "column %q specified more than once", seen)
	}
	rel := &catalog.Relation{Name: name, Schema: schema.OID, Kind: catalog.KindTable, Persistence: 'p', Owner: r.role(), ACL: r.newACL('r', schema.OID), Columns: cols, Populated: true}
	if temp {
		rel.Persistence = 't'
	} else if into.Rel.Relpersistence == "u" {
		rel.Persistence = 'u'
	}
	if matview {
		rel.Kind, rel.Populated = catalog.KindMatView, !into.SkipData
		if rel.ViewDef, err = bind.QualifiedText(s.PlanContext(), n.Query); err != nil {
			return "", err
		}
	}
	if rel.Options, err = tableOptions(into.Options); err != nil {
		return "", err
	}
	if err := refuseSeriesOptions(rel.Options); err != nil {
		return "", err
	}
	if rel.StorageID, err = r.schema().NewStorageID(ctx); err != nil {
		return "", err
	}
	if err := r.putNew(rel, schema); err != nil {
		return "", err
	}
	if into.SkipData {
		return tag, nil
	}
	count, err := r.fill(r.catalog().Relation(rel.OID), 0, n.Query)
	if err != nil {
		return "", err
	}
	return sprintf("SELECT %d", count), nil
}

// fill inserts the rows that a query gives a role (0: the current one) into a new table.
func (r *run) fill(rel *catalog.Relation, as sqltypes.OID, query *pg.Node) (int64, error) {
	t, err := r.s.WriteTarget(rel)
	if err != nil {
		return 0, err
	}
	r.txn.BulkLoad()
	var count int64
	row := make([]sqltypes.Datum, len(rel.Columns))
	err = r.s.QueryNode(r.ctx, as, query, func(vals []sqltypes.Datum) error {
		copy(row, vals)
		count++
		_, _, err := r.txn.Insert(r.ctx, t, row, nil)
		return err
	})
	return count, err
}

// RefreshMatView replaces a materialised view's rows.
func RefreshMatView(ctx context.Context, s Session, n *pg.RefreshMatViewStmt) error {
	r := &run{ctx: ctx, s: s, txn: s.Txn()}
	if rel, _, err := r.findRelation(n.Relation.Schemaname, n.Relation.Relname); err == nil && rel != nil && rel.Rollup != nil {
		return pgerror.New(pgerror.FeatureNotSupported, "operation not supported on continuous aggregate").
			WithHint("Use CALL refresh_continuous_aggregate('%s', NULL, NULL) on each node that has rows.", n.Relation.Relname)
	}
	rel, err := r.relation(n.Relation, engine.AccessExclusive, "m", "materialized view")
	if err != nil {
		return err
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	b := &builder{run: r, rel: copyRelation(rel)}
	query, err := pg.Parse(rel.ViewDef)
	if err != nil {
		return pgerror.Wrap(err, pgerror.InternalError, "could not parse the definition of %q", rel.Name)
	}
	r.dropStorage(rel)
	if err := b.newStorage(); err != nil {
		return err
	}
	b.rel.Populated = !n.SkipData
	b.put()
	if n.SkipData {
		return nil
	}
	_, err = r.fill(r.catalog().Relation(rel.OID), rel.Owner, query.Stmts[0].Stmt)
	return err
}
