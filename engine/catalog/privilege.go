package catalog

import "strings"

// Member reports whether role has the privileges of another: it is it, is a
// superuser, or inherits from it.
func (c *Catalog) Member(role, of OID) bool {
	if r := c.Role(role); r != nil && r.Super {
		return true
	}
	return c.memberOf(role, of, 0, true)
}

// MayBecome reports whether role is, directly or not, a member of another, so that
// SET ROLE to it is allowed.
func (c *Catalog) MayBecome(role, of OID) bool {
	if r := c.Role(role); r != nil && r.Super {
		return true
	}
	return c.memberOf(role, of, 0, false)
}

// BelongsTo reports whether role is another or a member of it, directly or not;
// being a superuser does not count.
func (c *Catalog) BelongsTo(role, of OID) bool { return c.memberOf(role, of, 0, false) }

// memberOf follows memberships; inherit stops at roles that do not inherit.
func (c *Catalog) memberOf(role, of OID, depth int, inherit bool) bool {
	if role == of {
		return true
	}
	r := c.Role(role)
	if r == nil || depth > 32 || inherit && !r.Inherit {
		return false
	}
	if of == PgDatabaseOwner {
		if db := c.Database(c.DB); db != nil && db.Owner == role {
			return true
		}
	}
	for _, m := range r.MemberOf {
		if c.memberOf(m.Role, of, depth+1, inherit) {
			return true
		}
	}
	return false
}

// Holds reports whether role has one privilege (a letter of aclitem) by an access
// list; public is what PUBLIC has while the list is the default one (nil). An owner
// has what the list gives, which may have been taken away.
func (c *Catalog) Holds(role, owner OID, acl []ACLItem, priv byte, public string) bool {
	if r := c.Role(role); r != nil && r.Super {
		return true
	}
	if acl == nil {
		return strings.IndexByte(public, priv) >= 0 || c.Member(role, owner)
	}
	for _, a := range acl {
		if strings.IndexByte(a.Privs, priv) >= 0 && (a.Grantee == 0 || c.Member(role, a.Grantee)) {
			return true
		}
	}
	return false
}

// HoldsOn reports whether role has a privilege (r, a, w, d, …) on a relation: on
// all of it, or on each of the attributes; without attributes a privilege on any
// column will do.
func (c *Catalog) HoldsOn(role OID, rel *Relation, priv byte, attrs []int16) bool {
	public := ""
	if rel.Schema == SchemaOstraka {
		public = "r"
	}
	if c.Holds(role, rel.Owner, rel.ACL, priv, public) || c.holdsOnAll(role, priv) {
		return true
	}
	if strings.IndexByte("raw", priv) < 0 {
		return false
	}
	column := func(col *Column) bool { return col.ACL != nil && c.Holds(role, rel.Owner, col.ACL, priv, "") }
	if len(attrs) == 0 {
		for _, col := range rel.Columns {
			if !col.Dropped && column(col) {
				return true
			}
		}
		return false
	}
	for _, a := range attrs {
		if a <= 0 || int(a) > len(rel.Columns) || !column(rel.Columns[a-1]) {
			return false
		}
	}
	return true
}

// holdsOnAll is membership in pg_read_all_data and pg_write_all_data.
func (c *Catalog) holdsOnAll(role OID, priv byte) bool {
	name := "pg_write_all_data"
	switch priv {
	case 'r':
		name = "pg_read_all_data"
	case 'a', 'w', 'd':
	default:
		return false
	}
	r := c.RoleByName(name)
	return r != nil && c.Member(role, r.OID)
}
