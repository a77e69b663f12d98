package planner

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// RowSecurityActive reports whether policies decide which rows of a table a role
// sees and writes: it is on, and the role is neither exempt from it (superusers,
// BYPASSRLS) nor the owner of a table without FORCE. Role 0 is the server itself.
func RowSecurityActive(cat *catalog.Catalog, role sqltypes.OID, rel *catalog.Relation) bool {
	if !rel.RowSecurity || role == 0 || cat == nil {
		return false
	}
	if r := cat.Role(role); r != nil && (r.Super || r.BypassRLS) {
		return false
	}
	return rel.ForceRowSecurity || !cat.Member(role, rel.Owner)
}
