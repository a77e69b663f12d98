package ddl

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// cloneForeignKeys gives a partition the foreign keys of its parent: one that it has
// already becomes the parent's, others are made and tested.
func (r *run) cloneForeignKeys(parent, part sqltypes.OID) error {
	for _, fk := range r.catalog().Relation(parent).ForeignKeys {
		if err := r.cloneForeignKey(parent, part, fk); err != nil {
			return err
		}
	}
	return nil
}

// cloneForeignKey gives a partition, and its own partitions, a foreign key of its parent.
func (r *run) cloneForeignKey(parent, part sqltypes.OID, fk *catalog.ForeignKey) error {
	p, rel := r.catalog().Relation(parent), r.catalog().Relation(part)
	attrs := catalog.AttrsIn(p, rel)
	b := &builder{run: r, rel: copyRelation(rel), schema: r.catalog().Schema(rel.Schema)}
	n := *fk
	n.Parent, n.Comment = fk.OID, ""
	n.Attrs = slices.Clone(fk.Attrs)
	for i, a := range fk.Attrs {
		n.Attrs[i] = attrs[a-1]
	}
	n.SetAttrs = nil
	for _, a := range fk.SetAttrs {
		n.SetAttrs = append(n.SetAttrs, attrs[a-1])
	}
	for i, have := range b.rel.ForeignKeys {
		if have.Parent == 0 && have.RefTable == n.RefTable && slices.Equal(have.Attrs, n.Attrs) && slices.Equal(have.RefAttrs, n.RefAttrs) &&
			have.OnDelete == n.OnDelete && have.OnUpdate == n.OnUpdate && have.Match == n.Match && have.Deferrable == n.Deferrable &&
			have.InitiallyDeferred == n.InitiallyDeferred && !have.NotValid {
			cp := *have
			cp.Parent = fk.OID
			b.rel.ForeignKeys[i] = &cp
			b.put()
			return nil
		}
	}
	var err error
	if n.OID, err = r.newOID(); err != nil {
		return err
	}
	if b.constraintExists(n.Name) {
		var column string
		for i, a := range n.Attrs {
			if i > 0 {
				column += "_"
			}
			column += rel.Columns[a-1].Name
		}
		if n.Name, err = b.constraintName("", column, "fkey"); err != nil {
			return err
		}
	}
	ref := r.catalog().Relation(n.RefTable)
	if rel.Partitioning == nil && !fk.NotValid && ref != nil {
		if err := b.validateForeignKey(&n, ref); err != nil {
			return err
		}
	}
	b.rel.ForeignKeys = append(b.rel.ForeignKeys, &n)
	b.put()
	if rel.Partitioning == nil {
		return nil
	}
	for _, sub := range r.catalog().Partitions(r.catalog().Relation(part)).Parts {
		if err := r.cloneForeignKey(part, sub.OID, &n); err != nil {
			return err
		}
	}
	return nil
}

// cloneTriggers gives a partition clones of the row triggers of its parent.
func (r *run) cloneTriggers(parent, part sqltypes.OID) error {
	for _, t := range r.catalog().Relation(parent).Triggers {
		if !t.Row {
			continue
		}
		if err := r.cloneTrigger(parent, part, t); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) cloneTrigger(parent, part sqltypes.OID, t *catalog.Trigger) error {
	p, rel := r.catalog().Relation(parent), copyRelation(r.catalog().Relation(part))
	attrs := catalog.AttrsIn(p, rel)
	if slices.ContainsFunc(rel.Triggers, func(o *catalog.Trigger) bool { return o.Name == t.Name }) {
		return pgerror.New(pgerror.DuplicateObject, "trigger %q for relation %q already exists", t.Name, rel.Name)
	}
	n := *t
	n.Parent, n.Comment = t.OID, ""
	var err error
	if n.OID, err = r.newOID(); err != nil {
		return err
	}
	n.Columns = nil
	for _, a := range t.Columns {
		n.Columns = append(n.Columns, attrs[a-1])
	}
	rel.Triggers = append(rel.Triggers, &n)
	slices.SortFunc(rel.Triggers, func(a, b *catalog.Trigger) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	r.schema().PutRelation(rel)
	if rel.Partitioning == nil {
		return nil
	}
	for _, sub := range r.catalog().Partitions(r.catalog().Relation(part)).Parts {
		if err := r.cloneTrigger(part, sub.OID, &n); err != nil {
			return err
		}
	}
	return nil
}

// dropClonedTriggers takes the clones of parent's triggers from a table that is no
// longer its partition, and from that table's own partitions.
func (r *run) dropClonedTriggers(parent *catalog.Relation, part sqltypes.OID) error {
	of := map[sqltypes.OID]bool{}
	for _, t := range parent.Triggers {
		of[t.OID] = true
	}
	r.dropClones(part, of)
	return nil
}

// dropClones takes the clones of triggers from a table and what is below it.
func (r *run) dropClones(table sqltypes.OID, of map[sqltypes.OID]bool) {
	rel := r.catalog().Relation(table)
	gone := map[sqltypes.OID]bool{}
	cp := copyRelation(rel)
	cp.Triggers = slices.DeleteFunc(cp.Triggers, func(t *catalog.Trigger) bool {
		if of[t.Parent] {
			gone[t.OID] = true
		}
		return of[t.Parent]
	})
	if len(gone) == 0 {
		return
	}
	r.schema().PutRelation(cp)
	for _, c := range r.catalog().Children(table) {
		r.dropClones(c.OID, gone)
	}
}

// renameClones renames the clones of a trigger on the tables below one.
func (r *run) renameClones(table, trigger sqltypes.OID, name string) {
	for _, c := range r.catalog().Children(table) {
		cp := copyRelation(c)
		for i, t := range cp.Triggers {
			if t.Parent != trigger {
				continue
			}
			n := *t
			n.Name = name
			cp.Triggers[i] = &n
			r.schema().PutRelation(cp)
			r.renameClones(c.OID, t.OID, name)
			break
		}
	}
}

// detachReferenced refuses to take a partition with rows that foreign keys refer to
// out of a referenced table.
func (b *builder) detachReferenced(parent, part *catalog.Relation) error {
	roots := append([]*catalog.Relation{parent}, b.catalog().Ancestors(parent)...)
	for _, root := range roots {
		for _, child := range b.referencing(root.OID) {
			for _, fk := range child.ForeignKeys {
				if fk.RefTable != root.OID || fk.Parent != 0 {
					continue
				}
				found, err := b.refersTo(child, fk, root, part)
				if err != nil {
					return err
				}
				if found {
					return pgerror.New(pgerror.ForeignKeyViolation, "removing partition %q violates foreign key constraint %q", part.Name, fk.Name+"1").
						WithTable(b.catalog().Schema(child.Schema).Name, child.Name).WithConstraint(fk.Name)
				}
			}
		}
	}
	return nil
}

// refersTo reports whether any row refers to a row of a partition.
func (b *builder) refersTo(child *catalog.Relation, fk *catalog.ForeignKey, root, part *catalog.Relation) (bool, error) {
	on := ""
	for i, a := range fk.Attrs {
		if i > 0 {
			on += " AND "
		}
		on += "p." + quoteIdent(root.Columns[fk.RefAttrs[i]-1].Name) + " = c." + quoteIdent(child.Columns[a-1].Name)
	}
	rows, err := b.s.Query(b.ctx, "SELECT 1 FROM "+b.whole(child)+" c JOIN "+b.whole(part)+" p ON "+on+" LIMIT 1")
	return len(rows) > 0, err
}
