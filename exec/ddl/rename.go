package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes/pgerror"
)

// rename is ALTER … RENAME.
func (r *run) rename(n *pg.RenameStmt) (string, error) {
	tag := alterTag(n.RenameType)
	name := truncateIdent(n.Newname)
	switch n.RenameType {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_INDEX:
		return tag, r.renameRelation(n, name)
	case pg.ObjectType_OBJECT_COLUMN, pg.ObjectType_OBJECT_ATTRIBUTE:
		return alterTag(n.RelationType), r.renameColumn(n, name)
	case pg.ObjectType_OBJECT_TRIGGER:
		return "ALTER TRIGGER", r.renameTrigger(n, name)
	case pg.ObjectType_OBJECT_STATISTIC_EXT:
		return tag, r.editStatistics(nameParts(n.Object), func(s *catalog.Statistic) { s.Name = name })
	case pg.ObjectType_OBJECT_SUBSCRIPTION:
		return tag, r.renameSubscription(str(n.Object), name)
	case pg.ObjectType_OBJECT_PUBLICATION:
		return tag, r.renamePublication(str(n.Object), name)
	case pg.ObjectType_OBJECT_POLICY:
		return "ALTER POLICY", r.renamePolicy(n, name)
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
		return "ALTER TABLE", r.renameConstraint(n, name)
	case pg.ObjectType_OBJECT_SCHEMA:
		s, err := r.schemaByName(n.Subname)
		if err != nil {
			return tag, err
		}
		if err := r.mustOwnSchema(s); err != nil {
			return tag, err
		}
		if r.catalog().SchemaByName(name) != nil {
			return tag, pgerror.New(pgerror.DuplicateSchema, "schema %q already exists", name)
		}
		cp := *s
		cp.Name = name
		r.schema().PutSchema(&cp)
		return tag, nil
	case pg.ObjectType_OBJECT_ROLE:
		role := r.catalog().RoleByName(n.Subname)
		if role == nil {
			return tag, pgerror.New(pgerror.UndefinedObject, "role %q does not exist", n.Subname)
		}
		if err := r.mayManageRoles(); err != nil {
			return tag, pgerror.New(pgerror.InsufficientPrivilege, "permission denied to rename role")
		}
		if r.catalog().RoleByName(name) != nil {
			return tag, pgerror.New(pgerror.DuplicateObject, "role %q already exists", name)
		}
		cp := *role
		cp.Name = name
		r.schema().PutRole(&cp)
		return tag, nil
	case pg.ObjectType_OBJECT_DATABASE:
		db := r.catalog().DatabaseByName(n.Subname)
		if db == nil {
			return tag, pgerror.New(pgerror.UndefinedDatabase, "database %q does not exist", n.Subname)
		}
		if !r.hasRole(db.Owner) {
			return tag, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of database %s", db.Name)
		}
		if db.OID == r.catalog().DB {
			return tag, pgerror.New(pgerror.FeatureNotSupported, "current database cannot be renamed")
		}
		if r.catalog().DatabaseByName(name) != nil {
			return tag, pgerror.New(pgerror.DuplicateDatabase, "database %q already exists", name)
		}
		cp := *db
		cp.Name = name
		r.schema().PutDatabase(&cp)
		return tag, nil
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		t, err := r.userType(nameParts(n.Object))
		if err != nil {
			return tag, err
		}
		if err := r.mustOwnType(t); err != nil {
			return tag, err
		}
		if err := r.freeTypeName(t.Schema, name); err != nil {
			return tag, err
		}
		cp := *t
		cp.Name = name
		cp.ArrayName = (&builder{run: r, rel: &catalog.Relation{Schema: t.Schema}}).freeTypeName("_" + name)
		r.schema().PutType(&cp)
		if rel := r.catalog().Relation(t.Relation); t.Relation != 0 && rel != nil {
			c := copyRelation(rel)
			c.Name = name
			r.schema().PutRelation(c)
		}
		return tag, nil
	case pg.ObjectType_OBJECT_DOMCONSTRAINT:
		t, err := r.userType(nameParts(n.Object))
		if err != nil {
			return tag, err
		}
		cp := *t
		cp.Checks = append([]*catalog.Check(nil), t.Checks...)
		for i, c := range cp.Checks {
			if c.Name == n.Subname {
				cc := *c
				cc.Name = name
				cp.Checks[i] = &cc
				r.schema().PutType(&cp)
				return "ALTER DOMAIN", nil
			}
		}
		return tag, pgerror.New(pgerror.UndefinedObject, "constraint %q for domain %s does not exist", n.Subname, t.Name)
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE:
		f, err := r.function(n.RenameType, n.Object.GetObjectWithArgs())
		if err != nil {
			return tag, err
		}
		cp := *f
		cp.Name = name
		r.schema().PutFunction(&cp)
		return tag, nil
	}
	return tag, pgerror.NotSupported("ALTER %s RENAME", objectWord(n.RenameType))
}

func (r *run) renameRelation(n *pg.RenameStmt, name string) error {
	rel, ix, err := r.findRelation(n.Relation.Schemaname, n.Relation.Relname)
	if err != nil {
		return err
	}
	if rel == nil {
		if n.MissingOk {
			r.notice("relation %q does not exist, skipping", n.Relation.Relname)
			return nil
		}
		return noRelation(n.Relation.Schemaname, n.Relation.Relname)
	}
	if rel.Kind == catalog.KindVirtual {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied: %q is a system catalog", rel.Name)
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	if rel, err = r.lock(rel, engine.AccessExclusive); err != nil {
		return err
	}
	if err := r.mustBeFree(r.catalog().Schema(rel.Schema), name); err != nil {
		return err
	}
	cp := copyRelation(rel)
	if ix != nil {
		for _, i := range cp.Indexes {
			if i.OID == ix.OID {
				if i.Constraint == i.Name {
					i.Constraint = name
				}
				i.Name = name
			}
		}
		r.schema().PutRelation(cp)
		return nil
	}
	if err := r.freezeViews(rel, func() { cp.Name = name; r.schema().PutRelation(cp) }); err != nil {
		return err
	}
	if t := r.catalog().UserType(cp.RowType); t != nil {
		tc := *t
		tc.Name = name
		tc.ArrayName = (&builder{run: r, rel: cp}).freeTypeName("_" + name)
		r.schema().PutType(&tc)
	}
	return nil
}

// freezeViews applies a renaming and rewrites the text of the views that use the
// relation, so that they keep meaning the same.
func (r *run) freezeViews(rel *catalog.Relation, change func()) error {
	views := r.dependentViews(rel)
	before := r.s.PlanContext()
	policies := r.rebasePolicies(rel.OID)
	change()
	if err := policies(); err != nil {
		return err
	}
	for _, v := range views {
		text, err := bind.RebaseView(before, r.s.PlanContext(), v)
		if err != nil {
			return err
		}
		cp := copyRelation(r.catalog().Relation(v.OID))
		cp.ViewDef = text
		r.schema().PutRelation(cp)
	}
	return nil
}

func (r *run) renameColumn(n *pg.RenameStmt, name string) error {
	rel, err := r.ownRelation(n.Relation, "", "table")
	if err != nil {
		if n.MissingOk && pgerror.Is(err, pgerror.UndefinedTable) {
			r.notice("relation %q does not exist, skipping", n.Relation.Relname)
			return nil
		}
		return err
	}
	col := columnByName(rel, n.Subname)
	if col == nil {
		return pgerror.New(pgerror.UndefinedColumn, "column %q does not exist", n.Subname)
	}
	if columnByName(rel, name) != nil {
		return pgerror.New(pgerror.DuplicateColumn, "column %q of relation %q already exists", name, rel.Name)
	}
	if rel.OfType != 0 {
		return pgerror.New(pgerror.WrongObjectType, "cannot rename column of typed table")
	}
	if err := r.mayRename(rel, col, n.Relation.Inh); err != nil {
		return err
	}
	if n.Relation.Inh {
		for _, c := range r.catalog().Tree(rel)[1:] {
			if c, err = r.lock(c, engine.AccessExclusive); err != nil {
				return err
			}
			if columnByName(c, name) != nil {
				return pgerror.New(pgerror.DuplicateColumn, "column %q of relation %q already exists", name, c.Name)
			}
			if err := r.renameIn(c, n.Subname, name); err != nil {
				return err
			}
		}
	}
	tables, err := r.followers(rel, n.Behavior)
	if err != nil {
		return err
	}
	for _, t := range tables {
		of := copyRelation(t)
		of.OfType = 0
		r.schema().PutRelation(of)
		rv := &pg.RangeVar{Schemaname: r.catalog().Schema(t.Schema).Name, Relname: t.Name, Inh: true}
		if err := r.renameColumn(&pg.RenameStmt{Relation: rv, Subname: n.Subname, Newname: n.Newname}, name); err != nil {
			return err
		}
		of = copyRelation(r.catalog().Relation(t.OID))
		of.OfType = rel.RowType
		r.schema().PutRelation(of)
	}
	if systemColumn(name) {
		return pgerror.New(pgerror.DuplicateColumn, "column name %q conflicts with a system column name", name)
	}
	return r.renameIn(r.catalog().Relation(rel.OID), n.Subname, name)
}

// mayRename refuses to give a column another name than it has in parents or, with
// ONLY, in children.
func (r *run) mayRename(rel *catalog.Relation, col *catalog.Column, recurse bool) error {
	if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned {
		return nil
	}
	cannot := pgerror.New(pgerror.InvalidTableDefinition, "cannot rename inherited column %q", col.Name)
	if col.Inherited > 0 {
		return cannot
	}
	tree := r.catalog().Tree(rel)
	if !recurse && len(tree) > 1 {
		return pgerror.New(pgerror.InvalidTableDefinition, "inherited column %q must be renamed in child tables too", col.Name)
	}
	for _, c := range tree[1:] {
		inside := 0
		for _, p := range c.Parents {
			if slices.ContainsFunc(tree, func(t *catalog.Relation) bool { return t.OID == p }) {
				inside++
			}
		}
		if k := columnByName(c, col.Name); k != nil && k.Inherited > inside {
			return cannot
		}
	}
	return nil
}

// renameIn renames a column of one relation.
func (r *run) renameIn(rel *catalog.Relation, from, to string) error {
	cp := copyRelation(rel)
	if c := columnByName(cp, from); c != nil {
		c.Name = to
	}
	if err := bind.RenameInRelation(cp, from, to); err != nil {
		return err
	}
	if err := r.renamePublished(rel.OID, from, to); err != nil {
		return err
	}
	return r.freezeViews(rel, func() { r.schema().PutRelation(cp) })
}

func (r *run) renameConstraint(n *pg.RenameStmt, name string) error {
	rel, err := r.ownRelation(n.Relation, "rp", "table")
	if err != nil {
		if n.MissingOk && pgerror.Is(err, pgerror.UndefinedTable) {
			r.notice("relation %q does not exist, skipping", n.Relation.Relname)
			return nil
		}
		return err
	}
	if c := checkByName(rel, n.Subname); c != nil && !c.NoInherit {
		if c.Inherited > 0 && !n.MissingOk {
			return pgerror.New(pgerror.InvalidTableDefinition, "cannot rename inherited constraint %q", n.Subname)
		}
		if !n.Relation.Inh && r.catalog().HasChildren(rel.OID) {
			return pgerror.New(pgerror.InvalidTableDefinition, "inherited constraint %q must be renamed in child tables too", n.Subname)
		}
		for _, t := range r.catalog().Tree(rel)[1:] {
			cp := copyRelation(t)
			for i, k := range cp.Checks {
				if k.Name == n.Subname {
					kk := *k
					kk.Name = name
					cp.Checks[i] = &kk
				}
			}
			r.schema().PutRelation(cp)
		}
	}
	b := &builder{run: r, rel: copyRelation(rel)}
	if b.constraintExists(name) {
		return pgerror.New(pgerror.DuplicateObject, "constraint %q for relation %q already exists", name, rel.Name)
	}
	found := false
	for i, c := range b.rel.Checks {
		if c.Name == n.Subname {
			cc := *c
			cc.Name = name
			b.rel.Checks[i], found = &cc, true
		}
	}
	for i, f := range b.rel.ForeignKeys {
		if f.Name == n.Subname {
			ff := *f
			ff.Name = name
			b.rel.ForeignKeys[i], found = &ff, true
		}
	}
	for _, ix := range b.rel.Indexes {
		if ix.Constraint == n.Subname {
			ix.Constraint, ix.Name, found = name, name, true
		}
	}
	if !found {
		return pgerror.New(pgerror.UndefinedObject, "constraint %q for table %q does not exist", n.Subname, rel.Name)
	}
	b.put()
	return nil
}

// setSchema is ALTER … SET SCHEMA.
func (r *run) setSchema(n *pg.AlterObjectSchemaStmt) (string, error) {
	tag := alterTag(n.ObjectType)
	if n.Relation != nil && n.MissingOk {
		if rel, _, err := r.findRelation(n.Relation.Schemaname, n.Relation.Relname); err == nil && rel == nil {
			r.notice("relation %q does not exist, skipping", n.Relation.Relname)
			return tag, nil
		}
	}
	to, err := r.schemaByName(n.Newschema)
	if err != nil {
		return tag, err
	}
	if err := r.checkCreateIn(to); err != nil {
		return tag, err
	}
	switch n.ObjectType {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_MATVIEW:
		rel, err := r.ownRelation(n.Relation, "", "table")
		if err != nil {
			if n.MissingOk && pgerror.Is(err, pgerror.UndefinedTable) {
				r.notice("relation %q does not exist, skipping", n.Relation.Relname)
				return tag, nil
			}
			return tag, err
		}
		if rel.Schema == to.OID {
			return tag, nil
		}
		if err := r.mustBeFree(to, rel.Name); err != nil {
			return tag, pgerror.New(pgerror.DuplicateTable, "relation %q already exists in schema %q", rel.Name, to.Name)
		}
		cp := copyRelation(rel)
		cp.Schema = to.OID
		for _, ix := range cp.Indexes {
			ix.Schema = to.OID
		}
		if err := r.freezeViews(rel, func() { r.schema().PutRelation(cp) }); err != nil {
			return tag, err
		}
		if t := r.catalog().UserType(rel.RowType); t != nil {
			tc := *t
			tc.Schema = to.OID
			r.schema().PutType(&tc)
		}
		for _, c := range rel.Columns {
			if seq := r.catalog().Relation(c.OwnedSequence); c.OwnedSequence != 0 && seq != nil {
				sc := copyRelation(seq)
				sc.Schema = to.OID
				r.schema().PutRelation(sc)
			}
		}
		return tag, nil
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		t, err := r.userType(nameParts(n.Object))
		if err != nil {
			return tag, err
		}
		cp := *t
		cp.Schema = to.OID
		r.schema().PutType(&cp)
		return tag, nil
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE:
		f, err := r.function(n.ObjectType, n.Object.GetObjectWithArgs())
		if err != nil {
			return tag, err
		}
		cp := *f
		cp.Schema = to.OID
		r.schema().PutFunction(&cp)
		return tag, nil
	case pg.ObjectType_OBJECT_STATISTIC_EXT:
		return tag, r.editStatistics(nameParts(n.Object), func(s *catalog.Statistic) { s.Schema = to.OID })
	case pg.ObjectType_OBJECT_OPERATOR:
		o, err := r.ownOperator(n.Object.GetObjectWithArgs())
		if err != nil {
			return tag, err
		}
		if r.operatorIn(to.OID, o.Name, o.Left, o.Right) != nil && o.Schema != to.OID {
			return tag, pgerror.New(pgerror.DuplicateFunction, "operator %s already exists in schema %q", r.operatorText(o), to.Name)
		}
		cp := *o
		cp.Schema = to.OID
		r.schema().PutOperator(&cp)
		return tag, nil
	}
	return tag, pgerror.NotSupported("ALTER %s SET SCHEMA", objectWord(n.ObjectType))
}

// setOwner is ALTER … OWNER TO for what is not a relation.
func (r *run) setOwner(n *pg.AlterOwnerStmt) (string, error) {
	tag := alterTag(n.ObjectType)
	role, err := r.roleSpec(n.Newowner)
	if err != nil {
		return tag, err
	}
	if !r.mayBecome(role.OID) {
		return tag, pgerror.New(pgerror.InsufficientPrivilege, "must be member of role %q", role.Name)
	}
	switch n.ObjectType {
	case pg.ObjectType_OBJECT_SCHEMA:
		s, err := r.schemaByName(str(n.Object))
		if err != nil {
			return tag, err
		}
		if err := r.mustOwnSchema(s); err != nil {
			return tag, err
		}
		cp := *s
		cp.Owner = role.OID
		r.schema().PutSchema(&cp)
	case pg.ObjectType_OBJECT_DATABASE:
		db := r.catalog().DatabaseByName(str(n.Object))
		if db == nil {
			return tag, pgerror.New(pgerror.UndefinedDatabase, "database %q does not exist", str(n.Object))
		}
		if !r.hasRole(db.Owner) {
			return tag, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of database %s", db.Name)
		}
		cp := *db
		cp.Owner = role.OID
		r.schema().PutDatabase(&cp)
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		t, err := r.userType(nameParts(n.Object))
		if err != nil {
			return tag, err
		}
		if err := r.mustOwnType(t); err != nil {
			return tag, err
		}
		cp := *t
		cp.Owner = role.OID
		r.schema().PutType(&cp)
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE:
		f, err := r.function(n.ObjectType, n.Object.GetObjectWithArgs())
		if err != nil {
			return tag, err
		}
		if !r.hasRole(f.Owner) {
			return tag, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of function %s", f.Name)
		}
		cp := *f
		cp.Owner = role.OID
		r.schema().PutFunction(&cp)
	case pg.ObjectType_OBJECT_STATISTIC_EXT:
		return tag, r.editStatistics(nameParts(n.Object), func(s *catalog.Statistic) { s.Owner = role.OID })
	case pg.ObjectType_OBJECT_SUBSCRIPTION:
		return tag, r.setSubscriptionOwner(str(n.Object), role)
	case pg.ObjectType_OBJECT_PUBLICATION:
		return tag, r.setPublicationOwner(str(n.Object), role)
	case pg.ObjectType_OBJECT_OPERATOR:
		o, err := r.ownOperator(n.Object.GetObjectWithArgs())
		if err != nil {
			return tag, err
		}
		cp := *o
		cp.Owner = role.OID
		r.schema().PutOperator(&cp)
	default:
		return tag, pgerror.NotSupported("ALTER %s OWNER TO", objectWord(n.ObjectType))
	}
	return tag, nil
}
