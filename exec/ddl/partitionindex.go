package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// An index of a partitioned table has no entries: each partition has an index of its
// own that is part of it.

// coversKey refuses a unique index that does not have the whole partition key, by
// which alone it is unique over all partitions.
func (b *builder) coversKey(ix *catalog.Index, word string) error {
	p := b.rel.Partitioning
	if p == nil || !ix.Unique {
		return nil
	}
	for _, k := range p.Keys {
		if k.Attr == 0 {
			return pgerror.New(pgerror.FeatureNotSupported, "unsupported %s constraint with partition key definition", word).
				WithDetail("%s constraints cannot be used when partition keys include expressions.", word)
		}
		if !slices.ContainsFunc(ix.Keys, func(x catalog.IndexKey) bool { return x.Attr == k.Attr }) {
			return pgerror.New(pgerror.FeatureNotSupported, "unique constraint on partitioned table must include all partitioning columns").
				WithDetail("%s constraint on table %q lacks column %q which is part of the partition key.", word, b.rel.Name, b.rel.Columns[k.Attr-1].Name)
		}
	}
	return nil
}

// spread gives all partitions of b.rel an index that is part of ix, which the
// catalogue has already.
func (r *run) spread(table, index sqltypes.OID) error {
	rel := r.catalog().Relation(table)
	for _, part := range r.catalog().Partitions(rel).Parts {
		if err := r.cloneIndex(index, part.OID); err != nil {
			return err
		}
	}
	return nil
}

// cloneIndexes gives a partition its parts of all indexes of its parent.
func (r *run) cloneIndexes(parent, part sqltypes.OID) error {
	var oids []sqltypes.OID
	for _, ix := range r.catalog().Relation(parent).Indexes {
		oids = append(oids, ix.OID)
	}
	for _, o := range oids {
		if err := r.cloneIndex(o, part); err != nil {
			return err
		}
	}
	return nil
}

// cloneIndex makes an index of a partition part of one of its parent: one that is
// like it and free, or else a new one.
func (r *run) cloneIndex(index, part sqltypes.OID) error {
	parent, ix := r.catalog().Index(index)
	rel, err := r.lock(r.catalog().Relation(part), engine.Share)
	if err != nil {
		return err
	}
	b := &builder{run: r, rel: copyRelation(rel), schema: r.catalog().Schema(rel.Schema)}
	attrs := catalog.AttrsIn(parent, rel)
	want := b.indexFor(ix, attrs)
	for _, have := range b.rel.Indexes {
		if have.Parent == 0 && have.Ready && sameIndex(have, want, ix.Constraint != "") {
			have.Parent = ix.OID
			b.put()
			return nil
		}
	}
	isNew := rel.Partitioning != nil
	word := "UNIQUE"
	if ix.Primary {
		word = "PRIMARY KEY"
	}
	if err := b.coversKey(want, word); err != nil {
		return err
	}
	if ix.Constraint != "" {
		label := "key"
		if ix.Primary {
			label = "pkey"
			if slices.ContainsFunc(b.rel.Indexes, func(o *catalog.Index) bool { return o.Primary }) {
				return pgerror.New(pgerror.InvalidTableDefinition, "multiple primary keys for table %q are not allowed", rel.Name)
			}
			for _, k := range want.Keys {
				if col := b.rel.Columns[k.Attr-1]; !col.NotNull {
					if !isNew {
						if err := b.validateNotNull(col); err != nil {
							return err
						}
					}
					col.NotNull = true
				}
			}
			want.Name = b.freeRelationName(rel.Schema, rel.Name, "", label, b.ownIndexNamed)
		} else {
			want.Name = b.freeRelationName(rel.Schema, rel.Name, strings.Join(catalog.IndexColumnNames(rel, want), "_"), label, b.ownIndexNamed)
		}
		want.Constraint = want.Name
		if want.ConstraintOID, err = b.newOID(); err != nil {
			return err
		}
		if ix.Primary && !ix.Deferrable && keysClusterable(b.catalog(), want) && !isNew {
			return b.clusterBy(want)
		}
	} else {
		want.Name = b.freeRelationName(rel.Schema, rel.Name, strings.Join(catalog.IndexColumnNames(rel, want), "_"), "idx", b.ownIndexNamed)
	}
	return b.addIndex(want, false)
}

// indexFor is an index like one of the parent, for a partition.
func (b *builder) indexFor(ix *catalog.Index, attrs []int16) *catalog.Index {
	out := *ix
	out.OID, out.StorageID, out.Name, out.Constraint, out.ConstraintOID = 0, 0, "", "", 0
	out.Parent, out.Invalid, out.Clustered, out.Comment, out.ConstraintComment = ix.OID, false, false, "", ""
	out.ClusterOn, out.ReplicaIdentity = false, false
	out.Keys = slices.Clone(ix.Keys)
	for i, k := range out.Keys {
		if k.Attr != 0 {
			out.Keys[i].Attr = attrs[k.Attr-1]
		}
	}
	out.Include = nil
	for _, a := range ix.Include {
		out.Include = append(out.Include, attrs[a-1])
	}
	return &out
}

// sameIndex is CompareIndexInfo. constraint: it must be a constraint's, too.
func sameIndex(a, b *catalog.Index, constraint bool) bool {
	if a.Method != b.Method || a.Unique != b.Unique || a.NullsNotDistinct != b.NullsNotDistinct || a.Predicate != b.Predicate ||
		len(a.Keys) != len(b.Keys) || !slices.Equal(a.Include, b.Include) || a.Primary != b.Primary || (a.Constraint != "") != constraint ||
		a.Deferrable != b.Deferrable || a.InitiallyDeferred != b.InitiallyDeferred {
		return false
	}
	for i := range a.Keys {
		x, y := a.Keys[i], b.Keys[i]
		if x.Attr != y.Attr || x.Expr != y.Expr || x.Desc != y.Desc || x.NullsFirst != y.NullsFirst || x.OpClass != y.OpClass {
			return false
		}
	}
	return true
}

// attachIndex is ALTER INDEX … ATTACH PARTITION.
func (r *run) attachIndex(rel *catalog.Relation, ix *catalog.Index, cmd *pg.PartitionCmd) error {
	if rel.Partitioning == nil {
		return pgerror.New(pgerror.WrongObjectType, "%q is not a partitioned index", ix.Name)
	}
	part, child, err := r.findRelation(cmd.Name.Schemaname, cmd.Name.Relname)
	if err != nil {
		return err
	}
	if part == nil {
		return noRelation(cmd.Name.Schemaname, cmd.Name.Relname)
	}
	if child == nil {
		return pgerror.New(pgerror.WrongObjectType, "%q is not an index", part.Name)
	}
	if child.Parent == ix.OID {
		return nil
	}
	cannot := func(detail string, args ...any) error {
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "cannot attach index %q as a partition of index %q", child.Name, ix.Name).WithDetail(detail, args...)
	}
	switch {
	case child.Parent != 0:
		return cannot("Index %q is already attached to another index.", child.Name)
	case !slices.Contains(part.Parents, rel.OID) || part.Bound == nil:
		return cannot("Index %q is not an index on any partition of table %q.", child.Name, rel.Name)
	case slices.ContainsFunc(part.Indexes, func(o *catalog.Index) bool { return o.Parent == ix.OID }):
		return cannot("Another index is already attached for partition %q.", part.Name)
	}
	b := &builder{run: r, rel: copyRelation(part), schema: r.catalog().Schema(part.Schema)}
	want := b.indexFor(ix, catalog.AttrsIn(rel, part))
	mine := indexByOID(b.rel, child.OID)
	if !sameIndex(mine, want, mine.Constraint != "") {
		return cannot("The index definitions do not match.")
	}
	if ix.Constraint != "" && mine.Constraint == "" {
		return cannot("The index %q belongs to a constraint in table %q but no constraint exists for index %q.", ix.Name, rel.Name, child.Name)
	}
	mine.Parent = ix.OID
	b.put()
	return r.validateIndex(rel.OID, ix.OID)
}

// validateIndex makes an index of a partitioned table valid when all partitions have
// a valid part of it, and so on upwards.
func (r *run) validateIndex(table, index sqltypes.OID) error {
	for {
		rel := r.catalog().Relation(table)
		_, ix := r.catalog().Index(index)
		if ix == nil || !ix.Invalid {
			return nil
		}
		for _, part := range r.catalog().Partitions(rel).Parts {
			if !slices.ContainsFunc(part.Indexes, func(o *catalog.Index) bool { return o.Parent == index && !o.Invalid }) {
				return nil
			}
		}
		b := &builder{run: r, rel: copyRelation(rel)}
		indexByOID(b.rel, index).Invalid = false
		b.put()
		if ix.Parent == 0 {
			return nil
		}
		up, _ := r.catalog().Index(ix.Parent)
		if up == nil {
			return nil
		}
		table, index = up.OID, ix.Parent
	}
}
