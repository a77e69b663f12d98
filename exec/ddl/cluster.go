package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// cluster is CLUSTER: rows always stand in the order of their table's key, so that
// only the mark on the index is kept.
func (r *run) cluster(n *pg.ClusterStmt) error {
	for _, p := range n.Params {
		if d := p.GetDefElem(); d.Defname != "verbose" {
			return pgerror.New(pgerror.SyntaxError, "unrecognized CLUSTER option %q", d.Defname)
		}
	}
	if n.Relation == nil {
		return nil
	}
	rel, err := r.relation(n.Relation, engine.AccessExclusive, "rm", "table or materialized view")
	if err != nil {
		return err
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	if n.Indexname == "" {
		if !slices.ContainsFunc(rel.Indexes, func(ix *catalog.Index) bool { return ix.ClusterOn }) {
			return pgerror.New(pgerror.UndefinedObject, "there is no previously clustered index for table %q", rel.Name)
		}
		return nil
	}
	cp := copyRelation(rel)
	if err := clusterOn(cp, n.Indexname); err != nil {
		return err
	}
	r.schema().PutRelation(cp)
	return nil
}

// clusterOn marks the index that the table is clustered on; "" takes the mark away.
func clusterOn(rel *catalog.Relation, name string) error {
	var found *catalog.Index
	if name != "" {
		i := slices.IndexFunc(rel.Indexes, func(ix *catalog.Index) bool { return ix.Name == name })
		if i < 0 {
			return pgerror.New(pgerror.UndefinedObject, "index %q for table %q does not exist", name, rel.Name)
		}
		found = rel.Indexes[i]
		switch {
		case found.Method != "btree" && found.Method != "gist" && found.Method != "":
			return pgerror.New(pgerror.FeatureNotSupported, "cannot cluster on index %q because access method does not support clustering", name)
		case found.Predicate != "":
			return pgerror.New(pgerror.FeatureNotSupported, "cannot cluster on partial index %q", name)
		}
	}
	for _, ix := range rel.Indexes {
		ix.ClusterOn = ix == found
	}
	return nil
}

// replicaIdentity is ALTER TABLE … REPLICA IDENTITY; nothing replicates by it.
func replicaIdentity(rel *catalog.Relation, n *pg.ReplicaIdentityStmt) error {
	var found *catalog.Index
	kind := n.IdentityType[0]
	if kind == 'i' {
		i := slices.IndexFunc(rel.Indexes, func(ix *catalog.Index) bool { return ix.Name == n.Name })
		if i < 0 {
			return pgerror.New(pgerror.UndefinedObject, "index %q for table %q does not exist", n.Name, rel.Name)
		}
		found = rel.Indexes[i]
		switch {
		case !found.Unique:
			return pgerror.New(pgerror.WrongObjectType, "cannot use non-unique index %q as replica identity", n.Name)
		case found.Deferrable:
			return pgerror.New(pgerror.FeatureNotSupported, "cannot use non-immediate index %q as replica identity", n.Name)
		case slices.ContainsFunc(found.Keys, func(k catalog.IndexKey) bool { return k.Attr == 0 }):
			return pgerror.New(pgerror.FeatureNotSupported, "cannot use expression index %q as replica identity", n.Name)
		case found.Predicate != "":
			return pgerror.New(pgerror.FeatureNotSupported, "cannot use partial index %q as replica identity", n.Name)
		}
		for _, k := range found.Keys {
			if c := rel.Columns[k.Attr-1]; !c.NotNull {
				return pgerror.New(pgerror.WrongObjectType, "index %q cannot be used as replica identity because column %q is nullable", n.Name, c.Name)
			}
		}
	}
	if rel.ReplicaIdentity = kind; kind == 'd' {
		rel.ReplicaIdentity = 0
	}
	for _, ix := range rel.Indexes {
		ix.ReplicaIdentity = ix == found
	}
	return nil
}
