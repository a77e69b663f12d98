package ddl

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// reindex is REINDEX: of a table or an index; a schema's and a database's indexes
// are never in need of it.
func (r *run) reindex(n *pg.ReindexStmt) error {
	concurrently := false
	for _, p := range n.Params {
		switch d := p.GetDefElem(); d.Defname {
		case "concurrently":
			concurrently = defBool(d)
		case "verbose", "tablespace":
		default:
			return pgerror.New(pgerror.SyntaxError, "unrecognized REINDEX option %q", d.Defname)
		}
	}
	noSystem := pgerror.New(pgerror.FeatureNotSupported, "cannot reindex system catalogs concurrently")
	switch n.Kind {
	case pg.ReindexObjectType_REINDEX_OBJECT_SCHEMA:
		s, err := r.schemaByName(n.Name)
		if err != nil {
			return err
		}
		return r.mustOwnSchema(s)
	case pg.ReindexObjectType_REINDEX_OBJECT_SYSTEM, pg.ReindexObjectType_REINDEX_OBJECT_DATABASE:
		db := r.catalog().Database(r.catalog().DB)
		if n.Kind == pg.ReindexObjectType_REINDEX_OBJECT_SYSTEM && concurrently {
			return noSystem
		}
		if n.Name != "" && n.Name != db.Name {
			return pgerror.New(pgerror.FeatureNotSupported, "can only reindex the currently open database")
		}
		if !r.hasRole(db.Owner) {
			return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of database %s", db.Name)
		}
		return nil
	}
	rel, ix, err := r.findRelation(n.Relation.Schemaname, n.Relation.Relname)
	if err != nil {
		return err
	}
	index := n.Kind == pg.ReindexObjectType_REINDEX_OBJECT_INDEX
	switch {
	case rel == nil:
		return noRelation(n.Relation.Schemaname, n.Relation.Relname)
	case index && ix == nil:
		return pgerror.New(pgerror.WrongObjectType, "%q is not an index", n.Relation.Relname)
	case !index && (ix != nil || rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned && rel.Kind != catalog.KindMatView && rel.Kind != catalog.KindVirtual):
		return pgerror.New(pgerror.WrongObjectType, "%q is not a table or materialized view", n.Relation.Relname)
	case !r.hasRole(rel.Owner):
		word := kindWord(rel.Kind)
		if index {
			word = "index"
		}
		return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of %s %s", word, n.Relation.Relname)
	case rel.Kind == catalog.KindVirtual && concurrently:
		return noSystem
	case rel.Kind == catalog.KindVirtual:
		return nil
	}
	b := &builder{run: r, rel: copyRelation(rel)}
	for _, i := range b.rel.Indexes {
		if i.Clustered || !i.Stored() || rel.Partitioning != nil || ix != nil && i.OID != ix.OID {
			continue
		}
		r.schema().DeleteStorage(i.StorageID)
		if i.StorageID, err = r.schema().NewStorageID(r.ctx); err != nil {
			return err
		}
		b.put()
		if err := r.build(rel.OID, i.OID); err != nil {
			return err
		}
	}
	return nil
}
