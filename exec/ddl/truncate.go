package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// truncate gives the tables, and with CASCADE those that reference them, empty
// storage; the old rows are range-deleted at commit.
func (r *run) truncate(n *pg.TruncateStmt) error {
	var rels []*catalog.Relation
	have := map[sqltypes.OID]bool{}
	for _, node := range n.Relations {
		rv := node.GetRangeVar()
		rel, err := r.relation(rv, engine.AccessExclusive, "rp", "table")
		if err != nil {
			return err
		}
		if !r.mayTruncate(rel) {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for table %s", rel.Name)
		}
		if !rv.Inh && rel.Partitioning != nil {
			return pgerror.New(pgerror.WrongObjectType, "cannot truncate only a partitioned table").
				WithHint("Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.")
		}
		tree := []*catalog.Relation{rel}
		if rv.Inh {
			tree = r.catalog().TreeFor(rel, r.s.PlanContext().TempSchema)
		}
		for i, t := range tree {
			if i > 0 {
				if t, err = r.lock(t, engine.AccessExclusive); err != nil {
					return err
				}
			}
			if !have[t.OID] {
				have[t.OID] = true
				rels = append(rels, t)
			}
		}
	}
	for i := 0; i < len(rels); i++ {
		for _, child := range r.referencing(rels[i].OID) {
			if have[child.OID] {
				continue
			}
			if n.Behavior != pg.DropBehavior_DROP_CASCADE {
				return pgerror.New(pgerror.FeatureNotSupported, "cannot truncate a table referenced in a foreign key constraint").
					WithDetail("Table %q references %q.", child.Name, rels[i].Name).
					WithHint("Truncate table %q at the same time, or use TRUNCATE ... CASCADE.", child.Name)
			}
			r.notice("truncate cascades to table %q", child.Name)
			locked, err := r.lock(child, engine.AccessExclusive)
			if err != nil {
				return err
			}
			have[child.OID] = true
			rels = append(rels, locked)
		}
	}
	if err := r.fireTruncate(rels, 'b'); err != nil {
		return err
	}
	for _, rel := range rels {
		if err := r.truncateOne(rel, n.RestartSeqs); err != nil {
			return err
		}
	}
	return r.fireTruncate(rels, 'a')
}

func (r *run) mayTruncate(rel *catalog.Relation) bool {
	return r.hasRole(rel.Owner) || slices.ContainsFunc(rel.ACL, func(a catalog.ACLItem) bool {
		return (a.Grantee == 0 || r.hasRole(a.Grantee)) && slices.Contains([]byte(a.Privs), 'D')
	})
}

// referencing lists the tables with a foreign key to rel, by OID.
func (r *run) referencing(rel sqltypes.OID) []*catalog.Relation {
	var out []*catalog.Relation
	r.catalog().AllRelations(func(c *catalog.Relation) bool {
		for _, fk := range c.ForeignKeys {
			if fk.RefTable == rel && c.OID != rel {
				out = append(out, c)
				break
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b *catalog.Relation) int { return int(a.OID) - int(b.OID) })
	return out
}

func (r *run) truncateOne(rel *catalog.Relation, restart bool) error {
	b := &builder{run: r, rel: copyRelation(rel)}
	r.dropStorage(rel) // a partitioned table has none
	if err := b.newStorage(); err != nil {
		return err
	}
	b.put()
	if !restart {
		return nil
	}
	for _, c := range rel.Columns {
		if c.OwnedSequence == 0 || c.Dropped {
			continue
		}
		if seq := r.catalog().Relation(c.OwnedSequence); seq != nil {
			if err := r.restartSequence(copyRelation(seq), seq.Sequence.Start); err != nil {
				return err
			}
		}
	}
	return nil
}
