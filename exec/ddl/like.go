package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// likeIndex is an index to be copied by LIKE … INCLUDING INDEXES.
type likeIndex struct {
	source *catalog.Relation
	index  *catalog.Index
	attrs  map[int16]int16 // source attribute → new attribute
}

// The bits of TableLikeClause.options (PostgreSQL's CREATE_TABLE_LIKE_…).
const (
	likeComments    = 1 << 0
	likeConstraints = 1 << 2
	likeDefaults    = 1 << 3
	likeGenerated   = 1 << 4
	likeIdentity    = 1 << 5
	likeIndexes     = 1 << 6
)

// like copies another relation's columns and what INCLUDING names.
func (b *builder) like(n *pg.TableLikeClause) error {
	src, err := b.relation(n.Relation, engine.AccessShare, "rvmcp", "table, view, materialized view, composite type, or foreign table")
	if err != nil {
		return err
	}
	attrs := map[int16]int16{}
	for _, c := range src.Columns {
		if c.Dropped {
			continue
		}
		if columnByName(b.rel, c.Name) != nil {
			return duplicateColumn(c.Name)
		}
		col := &catalog.Column{Num: int16(len(b.rel.Columns) + 1), Name: c.Name, Type: c.Type, NotNull: c.NotNull, StatTarget: -1}
		attrs[c.Num] = col.Num
		switch {
		case c.Generated != 0:
			if n.Options&likeGenerated != 0 {
				col.HasDefault, col.Default, col.Generated = true, c.Default, c.Generated
			}
		case c.HasDefault && n.Options&likeDefaults != 0:
			col.HasDefault, col.Default = true, c.Default
		}
		if c.Identity != 0 && n.Options&likeIdentity != 0 {
			col.Identity = c.Identity
			if seq := b.catalog().Relation(c.OwnedSequence); seq != nil {
				def := *seq.Sequence
				def.StorageID = 0
				b.serials = append(b.serials, &serial{col: col, def: &def})
			}
		}
		if n.Options&likeComments != 0 {
			col.Comment = c.Comment
		}
		b.rel.Columns = append(b.rel.Columns, col)
	}
	if n.Options&likeConstraints != 0 {
		for _, c := range src.Checks {
			oid, err := b.newOID()
			if err != nil {
				return err
			}
			cp := *c
			cp.OID = oid
			cp.Attrs = mapAttrs(c.Attrs, attrs)
			b.rel.Checks = append(b.rel.Checks, &cp)
		}
	}
	if n.Options&likeIndexes != 0 {
		for _, ix := range src.Indexes {
			b.likeIndexes = append(b.likeIndexes, likeIndex{src, ix, attrs})
		}
	}
	return nil
}

func mapAttrs(list []int16, m map[int16]int16) []int16 {
	out := make([]int16, len(list))
	for i, a := range list {
		out[i] = m[a]
	}
	return out
}

// copyIndex makes the copy of one index on the new table.
func (b *builder) copyIndex(l likeIndex, isNew bool) error {
	ix := *l.index
	ix.OID, ix.StorageID, ix.Name, ix.Constraint, ix.ConstraintOID = 0, 0, "", "", 0
	ix.Keys = append([]catalog.IndexKey(nil), ix.Keys...)
	for i, k := range ix.Keys {
		if k.Attr != 0 {
			ix.Keys[i].Attr = l.attrs[k.Attr]
		}
	}
	ix.Include = mapAttrs(ix.Include, l.attrs)
	ix.ClusterOn, ix.ReplicaIdentity = false, false
	if ix.Primary && slices.ContainsFunc(b.rel.Indexes, func(o *catalog.Index) bool { return o.Primary }) {
		return pgerror.New(pgerror.InvalidTableDefinition, "multiple primary keys for table %q are not allowed", b.rel.Name)
	}
	names := catalog.IndexColumnNames(b.rel, &ix)
	var err error
	switch {
	case ix.Primary:
		ix.Name = b.freeRelationName(b.rel.Schema, b.rel.Name, "", "pkey", b.ownIndexNamed)
	case l.index.Constraint != "":
		ix.Name = b.freeRelationName(b.rel.Schema, b.rel.Name, strings.Join(names, "_"), "key", b.ownIndexNamed)
	default:
		ix.Name = b.freeRelationName(b.rel.Schema, b.rel.Name, strings.Join(names, "_"), "idx", b.ownIndexNamed)
	}
	if l.index.Constraint != "" {
		ix.Constraint = ix.Name
		if ix.ConstraintOID, err = b.newOID(); err != nil {
			return err
		}
	}
	ix.Clustered = ix.Primary && keysClusterable(b.catalog(), &ix) && isNew
	return b.addIndex(&ix, isNew)
}
