package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

func (b *builder) dropConstraint(cmd *pg.AlterTableCmd) error {
	name := cmd.Name
	for i, c := range b.rel.Checks {
		if c.Name == name {
			b.rel.Checks = slices.Delete(b.rel.Checks, i, i+1)
			b.put()
			return nil
		}
	}
	for i, f := range b.rel.ForeignKeys {
		if f.Name == name {
			b.rel.ForeignKeys = slices.Delete(b.rel.ForeignKeys, i, i+1)
			b.put()
			return nil
		}
	}
	for i, ix := range b.rel.Indexes {
		if ix.Constraint != name {
			continue
		}
		cascade := cmd.Behavior == pg.DropBehavior_DROP_CASCADE
		if err := b.dropKey(i, cascade); err != nil || !ix.Primary {
			return err
		}
		return b.dropKeyViews(name, cascade)
	}
	if cmd.MissingOk {
		b.notice("constraint %q of relation %q does not exist, skipping", name, b.rel.Name)
		return nil
	}
	return pgerror.New(pgerror.UndefinedObject, "constraint %q of relation %q does not exist", name, b.rel.Name)
}

func (b *builder) dropKey(i int, cascade bool) error {
	ix := b.rel.Indexes[i]
	var blockers []string
	refs := b.referencingIndex(ix.OID)
	for _, f := range refs {
		blockers = append(blockers, "constraint "+f.name+" on table "+b.visibleName(b.catalog().Relation(f.table))+
			" depends on index "+ix.Name)
	}
	if len(blockers) > 0 && !cascade {
		return dependencyError("constraint "+ix.Constraint+" on table "+b.rel.Name, false, blockers)
	}
	for _, f := range refs {
		rel := b.rel
		if f.table != b.rel.OID {
			rel = copyRelation(b.catalog().Relation(f.table))
		}
		rel.ForeignKeys = slices.DeleteFunc(rel.ForeignKeys, func(k *catalog.ForeignKey) bool { return k.Name == f.name })
		if rel != b.rel {
			b.run.schema().PutRelation(rel)
		}
	}
	old := copyRelation(b.rel)
	b.rel.Indexes = slices.Delete(b.rel.Indexes, i, i+1)
	if ix.Clustered {
		return b.rewrite(old, nil)
	}
	if ix.StorageID != 0 {
		b.run.schema().DeleteStorage(ix.StorageID)
	}
	b.put()
	return nil
}

func (b *builder) validateConstraint(name string) error {
	for i, c := range b.rel.Checks {
		if c.Name == name {
			if err := b.validateCheck(c); err != nil {
				return err
			}
			cp := *c
			cp.NotValid = false
			b.rel.Checks[i] = &cp
			b.put()
			return nil
		}
	}
	for i, f := range b.rel.ForeignKeys {
		if f.Name == name {
			if err := b.validateForeignKey(f, b.catalog().Relation(f.RefTable)); err != nil {
				return err
			}
			cp := *f
			cp.NotValid = false
			b.rel.ForeignKeys[i] = &cp
			b.put()
			return nil
		}
	}
	return pgerror.New(pgerror.UndefinedObject, "constraint %q of relation %q does not exist", name, b.rel.Name)
}

func (b *builder) alterConstraint(c *pg.Constraint) error {
	for i, f := range b.rel.ForeignKeys {
		if f.Name == c.Conname {
			cp := *f
			cp.Deferrable, cp.InitiallyDeferred = c.Deferrable || c.Initdeferred, c.Initdeferred
			b.rel.ForeignKeys[i] = &cp
			b.put()
			return nil
		}
	}
	if b.constraintExists(c.Conname) {
		return pgerror.New(pgerror.WrongObjectType, "constraint %q of relation %q is not a foreign key constraint", c.Conname, b.rel.Name)
	}
	return pgerror.New(pgerror.UndefinedObject, "constraint %q of relation %q does not exist", c.Conname, b.rel.Name)
}
