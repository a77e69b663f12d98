package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ownedRoles resolves the roles of DROP OWNED and REASSIGN OWNED and tests that the
// current role may act for each.
func (r *run) ownedRoles(list []*pg.Node, verb string) ([]sqltypes.OID, error) {
	var out []sqltypes.OID
	for _, n := range list {
		role, err := r.roleSpec(n.GetRoleSpec())
		if err != nil {
			return nil, err
		}
		out = append(out, role.OID)
	}
	for _, o := range out {
		if !r.hasRole(o) {
			return nil, pgerror.New(pgerror.InsufficientPrivilege, "permission denied to %s objects", verb)
		}
	}
	for _, o := range out {
		if o < catalog.FirstUserOID {
			name := r.catalog().Role(o).Name
			if verb == "drop" {
				return nil, pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop objects owned by role %s because they are required by the database system", name)
			}
			return nil, pgerror.New(pgerror.DependentObjectsStillExist, "cannot reassign ownership of objects owned by role %s because they are required by the database system", name)
		}
	}
	return out, nil
}

// reassignOwned is REASSIGN OWNED: of all objects of this database, and of databases.
func (r *run) reassignOwned(n *pg.ReassignOwnedStmt) error {
	roles, err := r.ownedRoles(n.Roles, "reassign")
	if err != nil {
		return err
	}
	to, err := r.roleSpec(n.Newrole)
	if err != nil {
		return err
	}
	if !r.hasRole(to.OID) {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied to reassign objects")
	}
	old := func(o sqltypes.OID) bool { return slices.Contains(roles, o) }
	owned := r.ownedBy(old)
	for _, s := range owned.schemas {
		cp := *s
		cp.Owner, cp.ACL = to.OID, renamedGrantor(s.ACL, s.Owner, to.OID)
		r.schema().PutSchema(&cp)
	}
	for _, rel := range owned.relations {
		cp := copyRelation(rel)
		cp.Owner, cp.ACL = to.OID, renamedGrantor(rel.ACL, rel.Owner, to.OID)
		for _, ix := range cp.Indexes {
			ix.Owner = to.OID
		}
		r.schema().PutRelation(cp)
	}
	for _, t := range owned.types {
		cp := *t
		cp.Owner = to.OID
		r.schema().PutType(&cp)
		if rel := r.catalog().Relation(t.Relation); t.Relation != 0 && rel != nil {
			c := copyRelation(rel)
			c.Owner = to.OID
			r.schema().PutRelation(c)
		}
	}
	for _, f := range owned.functions {
		cp := *f
		cp.Owner, cp.ACL = to.OID, renamedGrantor(f.ACL, f.Owner, to.OID)
		r.schema().PutFunction(&cp)
	}
	for _, o := range owned.operators {
		cp := *o
		cp.Owner = to.OID
		r.schema().PutOperator(&cp)
	}
	r.catalog().AllPublications(func(p *catalog.Publication) bool {
		if old(p.Owner) {
			cp := *p
			cp.Owner = to.OID
			r.schema().PutPublication(&cp)
		}
		return true
	})
	for _, d := range owned.databases {
		cp := *d
		cp.Owner, cp.ACL = to.OID, renamedGrantor(d.ACL, d.Owner, to.OID)
		r.schema().PutDatabase(&cp)
	}
	return nil
}

// renamedGrantor gives the new owner the place of the old one in a list (aclnewowner).
func renamedGrantor(list []catalog.ACLItem, old, now sqltypes.OID) []catalog.ACLItem {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Grantor == old {
			out[i].Grantor = now
		}
		if out[i].Grantee == old {
			out[i].Grantee = now
		}
	}
	return out
}

// ownedObjects are the objects that some roles own.
type ownedObjects struct {
	schemas   []*catalog.Schema
	relations []*catalog.Relation
	types     []*catalog.UserType
	functions []*catalog.Function
	operators []*catalog.Operator
	databases []*catalog.Database
}

func (r *run) ownedBy(is func(sqltypes.OID) bool) *ownedObjects {
	o := &ownedObjects{}
	cat := r.catalog()
	cat.AllSchemas(func(s *catalog.Schema) bool {
		if is(s.Owner) && s.OID >= catalog.FirstUserOID {
			o.schemas = append(o.schemas, s)
		}
		return true
	})
	cat.AllRelations(func(rel *catalog.Relation) bool {
		if is(rel.Owner) && rel.Kind != catalog.KindComposite {
			o.relations = append(o.relations, rel)
		}
		return true
	})
	cat.AllTypes(func(t *catalog.UserType) bool {
		if is(t.Owner) && t.Kind != 'm' && (t.Kind != 'c' || r.isPlainComposite(t)) {
			o.types = append(o.types, t)
		}
		return true
	})
	cat.AllFunctions(func(f *catalog.Function) bool {
		if is(f.Owner) {
			o.functions = append(o.functions, f)
		}
		return true
	})
	cat.AllOperators(func(p *catalog.Operator) bool {
		if is(p.Owner) {
			o.operators = append(o.operators, p)
		}
		return true
	})
	cat.AllDatabases(func(d *catalog.Database) bool {
		if is(d.Owner) {
			o.databases = append(o.databases, d)
		}
		return true
	})
	slices.SortFunc(o.relations, func(a, b *catalog.Relation) int { return int(a.OID) - int(b.OID) })
	slices.SortFunc(o.types, func(a, b *catalog.UserType) int { return int(a.OID) - int(b.OID) })
	slices.SortFunc(o.schemas, func(a, b *catalog.Schema) int { return int(a.OID) - int(b.OID) })
	return o
}

// dropOwned is DROP OWNED: the roles' objects in this database go, and what was
// granted to them.
func (r *run) dropOwned(n *pg.DropOwnedStmt) error {
	roles, err := r.ownedRoles(n.Roles, "drop")
	if err != nil {
		return err
	}
	is := func(o sqltypes.OID) bool { return slices.Contains(roles, o) }
	cascade := n.Behavior == pg.DropBehavior_DROP_CASCADE
	owned := r.ownedBy(is)
	d := &dropper{run: r, cascade: cascade, gone: map[sqltypes.OID]bool{}, quiet: true}
	var rels []*catalog.Relation
	for _, rel := range owned.relations {
		if rel.Kind == catalog.KindSequence && rel.Sequence.OwnerTable != 0 {
			continue // goes with its table
		}
		rels = append(rels, rel)
		d.gone[rel.OID] = true
	}
	if len(rels) > 0 {
		if err := d.dropAll(rels); err != nil {
			return err
		}
	}
	for _, o := range owned.operators {
		if r.catalog().Operator(o.OID) != nil {
			r.removeOperator(o)
		}
	}
	for _, f := range owned.functions {
		if r.catalog().Function(f.OID) != nil {
			r.schema().DropFunction(f.OID)
		}
	}
	for _, t := range owned.types {
		if r.catalog().UserType(t.OID) == nil {
			continue
		}
		if err := r.dropTypeUses(t, cascade); err != nil {
			return err
		}
		r.dropType(t)
	}
	for _, s := range owned.schemas {
		if err := r.emptySchema(s, cascade); err != nil {
			return err
		}
		r.unpublish(func(_, schema sqltypes.OID) bool { return schema == s.OID })
		r.schema().DropSchema(s.OID)
	}
	r.revokeEverything(is)
	r.dropFromPolicies(is)
	r.catalog().AllPublications(func(p *catalog.Publication) bool {
		if is(p.Owner) {
			r.schema().DropPublication(p.OID)
		}
		return true
	})
	return nil
}

// revokeEverything takes away all that was granted to the roles on objects of this
// database and on databases, and their default privileges.
func (r *run) revokeEverything(is func(sqltypes.OID) bool) {
	cat := r.catalog()
	without := func(list []catalog.ACLItem) ([]catalog.ACLItem, bool) {
		out := slices.DeleteFunc(slices.Clone(list), func(a catalog.ACLItem) bool { return is(a.Grantee) })
		return out, len(out) != len(list)
	}
	cat.AllSchemas(func(s *catalog.Schema) bool {
		if acl, changed := without(s.ACL); changed {
			cp := *s
			cp.ACL = acl
			r.schema().PutSchema(&cp)
		}
		return true
	})
	cat.AllRelations(func(rel *catalog.Relation) bool {
		acl, changed := without(rel.ACL)
		cols := slices.ContainsFunc(rel.Columns, func(c *catalog.Column) bool { _, ch := without(c.ACL); return ch })
		if changed || cols {
			cp := copyRelation(rel)
			cp.ACL = acl
			for _, c := range cp.Columns {
				c.ACL, _ = without(c.ACL)
			}
			r.schema().PutRelation(cp)
		}
		return true
	})
	cat.AllTypes(func(t *catalog.UserType) bool {
		if acl, changed := without(t.ACL); changed {
			cp := *t
			cp.ACL = acl
			r.schema().PutType(&cp)
		}
		return true
	})
	cat.AllFunctions(func(f *catalog.Function) bool {
		if acl, changed := without(f.ACL); changed {
			cp := *f
			cp.ACL = acl
			r.schema().PutFunction(&cp)
		}
		return true
	})
	cat.AllDatabases(func(d *catalog.Database) bool {
		if acl, changed := without(d.ACL); changed {
			cp := *d
			cp.ACL = acl
			r.schema().PutDatabase(&cp)
		}
		return true
	})
	for _, a := range cat.DefaultACLs() {
		acl, changed := without(a.ACL)
		if !changed && !is(a.Role) {
			continue
		}
		cp := *a
		if cp.ACL = acl; is(a.Role) {
			cp.ACL = nil
		}
		r.schema().PutDefaultACL(&cp)
	}
}
