package syscat

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// sharedDependRows says which roles own objects and stand in access lists: those
// of the session's database and of the cluster. As in PostgreSQL the roles that
// every cluster has are left out.
func sharedDependRows(q *Query, emit Emit) error {
	put := func(db, class, obj sqltypes.OID, sub int, owner sqltypes.OID, acl []catalog.ACLItem) {
		on := func(role sqltypes.OID, kind byte) {
			if role >= catalog.FirstUserOID {
				emit(oid(db), oid(class), oid(obj), num(sub), oid(classAuthid), oid(role), char(kind))
			}
		}
		on(owner, 'o')
		seen := map[sqltypes.OID]bool{owner: true}
		for _, a := range acl {
			for _, role := range []sqltypes.OID{a.Grantor, a.Grantee} {
				if !seen[role] {
					seen[role] = true
					on(role, 'a')
				}
			}
		}
	}
	db := q.Cat.DB
	q.Cat.AllDatabases(func(d *catalog.Database) bool {
		put(0, classDatabase, d.OID, 0, d.Owner, d.ACL)
		return true
	})
	for _, s := range sorted(q.Cat.AllSchemas, func(s *catalog.Schema) sqltypes.OID { return s.OID }) {
		put(db, classNamespace, s.OID, 0, s.Owner, s.ACL)
	}
	for _, r := range relations(q.Cat) {
		put(db, classClass, r.OID, 0, r.Owner, r.ACL)
		for _, c := range r.Columns {
			if !c.Dropped && c.ACL != nil {
				put(db, classClass, r.OID, int(c.Num), 0, c.ACL)
			}
		}
	}
	eachStatistic(q.Cat, func(_ *catalog.Relation, s *catalog.Statistic) { put(db, classStatisticExt, s.OID, 0, s.Owner, nil) })
	for _, p := range publications(q.Cat) {
		put(db, classPublication, p.OID, 0, p.Owner, nil)
	}
	for _, u := range subscriptions(q.Cat) {
		put(0, classSubscription, u.OID, 0, u.Owner, nil)
	}
	eachPolicy(q.Cat, func(_ *catalog.Relation, p *catalog.Policy) {
		for _, role := range p.Roles {
			if role >= catalog.FirstUserOID {
				emit(oid(db), oid(classPolicy), oid(p.OID), num(0), oid(classAuthid), oid(role), char('r'))
			}
		}
	})
	for _, t := range userTypes(q.Cat) {
		if t.Relation == 0 { // a row type is its relation's
			put(db, classType, t.OID, 0, t.Owner, t.ACL)
		}
	}
	for _, f := range sorted(q.Cat.AllFunctions, func(f *catalog.Function) sqltypes.OID { return f.OID }) {
		put(db, classProc, f.OID, 0, f.Owner, f.ACL)
	}
	return nil
}
