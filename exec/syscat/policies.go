package syscat

import (
	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/deparse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

const classPolicy sqltypes.OID = 3256

// eachPolicy lists all policies, by table and name.
func eachPolicy(cat *catalog.Catalog, f func(r *catalog.Relation, p *catalog.Policy)) {
	for _, r := range relations(cat) {
		for _, p := range r.Policies {
			f(r, p)
		}
	}
}

// registerPolicies declares pg_policy.
func registerPolicies(s *Set) {
	s.static("pg_catalog.pg_policy", columnNames("pg_policy"), func(q *Query, emit Emit) error {
		eachPolicy(q.Cat, func(r *catalog.Relation, p *catalog.Policy) {
			emit(oid(p.OID), text(p.Name), oid(r.OID), char(p.Command), yes(!p.Restrictive), oidArray(p.Roles),
				nodeText('P', p.OID, p.Using), nodeText('P', p.OID, p.Check))
		})
		return nil
	})
}

// policyText prints a policy's condition.
func (l *lookup) policyText(sql string, pretty bool) string {
	return l.cachedText("P"+prettyKey(pretty)+sql, func() string {
		s, err := deparse.Policy(l.ctx, sql, pretty)
		if err != nil {
			return sql
		}
		return s
	})
}

func init() {
	active := func(l *lookup, r *catalog.Relation) (sqltypes.Datum, error) {
		return yes(r != nil && planner.RowSecurityActive(l.cat, l.ctx.Role, r)), nil
	}
	register(map[string]scalar{
		"row_security_active": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return active(l, l.cat.Relation(argOID(a[0])))
		},
		"row_security_active_name": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r, err := l.byName(a[0].S)
			if err != nil {
				return sqltypes.Null, err
			}
			return active(l, r)
		},
	})
}

func (l *lookup) policyWords(o sqltypes.OID) (w objectWords, ok bool) {
	eachPolicy(l.cat, func(r *catalog.Relation, p *catalog.Policy) {
		if p.OID == o {
			rel, _ := l.relationWords(r.OID, 0)
			w, ok = objectWords{description: "policy " + p.Name + " on " + rel.description, kind: "policy",
				identity: quoteIdent(p.Name) + " on " + rel.identity, names: append(rel.names, p.Name)}, true
		}
	})
	return w, ok
}

func policyAddress(r *catalog.Relation, name string) (objectRef, error) {
	for _, p := range r.Policies {
		if p.Name == name {
			return objectRef{classPolicy, p.OID, 0}, nil
		}
	}
	return objectRef{}, pgerror.New(pgerror.UndefinedObject, "policy %q for table %q does not exist", name, r.Name)
}

// policies emits what the policies of a table depend on.
func (d *depender) policies(r *catalog.Relation) {
	for _, p := range r.Policies {
		o := objectRef{classPolicy, p.OID, 0}
		d.on(o, objectRef{classClass, r.OID, 0}, 'a')
		for _, sql := range []string{p.Using, p.Check} {
			if sql == "" || d.ctx == nil {
				continue
			}
			if q, err := bind.PolicyQuery(d.ctx, sql); err == nil {
				d.queryUses(o, r.OID, q)
			}
		}
	}
}

// hidesRows reports whether row-level security hides rows of a table from who asks.
func hidesRows(q *Query, r *catalog.Relation) bool {
	if q.Env == nil || q.Env.Session == nil {
		return false
	}
	role := q.Cat.RoleByName(q.Env.Session.CurrentUser())
	return role == nil || planner.RowSecurityActive(q.Cat, role.OID, r)
}
