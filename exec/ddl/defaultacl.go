package ddl

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// builtinACL are what the owner and PUBLIC have on a new object by its kind, a
// letter of pg_default_acl.
func builtinACL(kind byte) (owner, public string) {
	if kind == 'S' { // a sequence there; acldefault's S is a foreign server
		kind = 's'
	}
	owner, public, _ = catalog.InitialPrivileges(kind)
	return owner, public
}

// newACL is the access list of a new object of the current role: what ALTER DEFAULT
// PRIVILEGES says, of all schemas and of this one; nil when it says nothing.
func (r *run) newACL(kind byte, schema sqltypes.OID) []catalog.ACLItem {
	var out []catalog.ACLItem
	found := false
	take := func(s sqltypes.OID) {
		for _, d := range r.catalog().DefaultACLs() {
			if d.Role == r.role() && d.Schema == s && d.ObjType == kind {
				found = true
				for _, it := range d.ACL {
					out = mergeItem(out, it)
				}
			}
		}
	}
	take(0)
	if !found {
		owner, public := builtinACL(kind)
		if public != "" {
			out = append(out, catalog.ACLItem{Grantor: r.role(), Privs: public})
		}
		out = append(out, catalog.ACLItem{Grantee: r.role(), Grantor: r.role(), Privs: owner})
	}
	if schema != 0 {
		take(schema)
	}
	if !found {
		return nil
	}
	return out
}

func mergeItem(list []catalog.ACLItem, it catalog.ACLItem) []catalog.ACLItem {
	for i := range list {
		if list[i].Grantee == it.Grantee {
			list[i].Privs = mergePrivs(list[i].Privs, it.Privs)
			list[i].GrantOptions = mergePrivs(list[i].GrantOptions, it.GrantOptions)
			return list
		}
	}
	return append(list, it)
}
