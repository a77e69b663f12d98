package ddl

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// isSuper reports whether the current role is a superuser.
func (r *run) isSuper() bool {
	role := r.catalog().Role(r.role())
	return role != nil && role.Super
}

// hasRole reports whether the current role is, or inherits from, a role.
func (r *run) hasRole(want sqltypes.OID) bool { return r.catalog().Member(r.role(), want) }

// mayBecome reports whether the current role is a member of a role, inheriting from it or not.
func (r *run) mayBecome(want sqltypes.OID) bool { return r.catalog().MayBecome(r.role(), want) }

func (r *run) mustOwn(rel *catalog.Relation) error {
	if r.hasRole(rel.Owner) {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of %s %s", kindWord(rel.Kind), rel.Name)
}

func (r *run) mustOwnSchema(s *catalog.Schema) error {
	if r.hasRole(s.Owner) {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of schema %s", s.Name)
}

func (r *run) mustOwnType(t *catalog.UserType) error {
	if r.hasRole(t.Owner) {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of type %s", t.Name)
}

// mayOnSchema tells whether the current role has privilege priv ('C' create, 'U' usage).
func (r *run) mayOnSchema(s *catalog.Schema, priv byte) bool {
	if r.hasRole(s.Owner) {
		return true
	}
	for _, a := range s.ACL {
		if strings.IndexByte(a.Privs, priv) >= 0 && (a.Grantee == 0 || r.hasRole(a.Grantee)) {
			return true
		}
	}
	return false
}
