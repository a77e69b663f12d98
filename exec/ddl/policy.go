package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// policyTable finds and locks the table of a policy statement.
func (r *run) policyTable(rv *pg.RangeVar) (*catalog.Relation, error) {
	rel, _, err := r.findRelation(rv.Schemaname, rv.Relname)
	switch {
	case err != nil:
		return nil, err
	case rel == nil:
		return nil, noRelation(rv.Schemaname, rv.Relname)
	case rel.Kind == catalog.KindVirtual:
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "permission denied: %q is a system catalog", rv.Relname)
	}
	if err := r.mustOwn(rel); err != nil {
		return nil, err
	}
	if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned {
		return nil, pgerror.New(pgerror.WrongObjectType, "%q is not a table", rv.Relname)
	}
	if rel.TimeSeries {
		return nil, pgerror.NotSupported("policies on time-series tables")
	}
	return r.lock(rel, engine.AccessExclusive)
}

var policyCommands = map[string]byte{"all": '*', "select": 'r', "insert": 'a', "update": 'w', "delete": 'd'}

// createPolicy is CREATE POLICY.
func (r *run) createPolicy(n *pg.CreatePolicyStmt) error {
	p := &catalog.Policy{Name: truncateIdent(n.PolicyName), Command: policyCommands[n.CmdName], Restrictive: !n.Permissive}
	switch {
	case p.Command == 0:
		return pgerror.New(pgerror.SyntaxError, "unrecognized policy command")
	case n.WithCheck != nil && (p.Command == 'r' || p.Command == 'd'):
		return pgerror.New(pgerror.SyntaxError, "WITH CHECK cannot be applied to SELECT or DELETE")
	case n.Qual != nil && p.Command == 'a':
		return pgerror.New(pgerror.SyntaxError, "only WITH CHECK expression allowed for INSERT")
	}
	var err error
	if p.Roles, err = r.policyRoles(n.Roles); err != nil {
		return err
	}
	rel, err := r.policyTable(n.Table)
	if err != nil {
		return err
	}
	if err := r.policyConditions(rel, p, n.Qual, n.WithCheck); err != nil {
		return err
	}
	if policyIndex(rel, p.Name) >= 0 {
		return pgerror.New(pgerror.DuplicateObject, "policy %q for table %q already exists", p.Name, rel.Name)
	}
	if p.OID, err = r.newOID(); err != nil {
		return err
	}
	cp := copyRelation(rel)
	cp.Policies = append(cp.Policies, p)
	r.putPolicies(cp)
	return nil
}

// policyConditions binds and stores the conditions that a statement gives.
func (r *run) policyConditions(rel *catalog.Relation, p *catalog.Policy, using, check *pg.Node) (err error) {
	if using != nil {
		if p.Using, err = bind.PolicyText(r.s.PlanContext(), rel, using); err != nil {
			return err
		}
	}
	if check != nil {
		p.Check, err = bind.PolicyText(r.s.PlanContext(), rel, check)
	}
	return err
}

// policyRoles are the roles of TO; PUBLIC takes in all others.
func (r *run) policyRoles(list []*pg.Node) ([]sqltypes.OID, error) {
	out := []sqltypes.OID{}
	for _, n := range list {
		spec := n.GetRoleSpec()
		if spec.GetRoletype() == pg.RoleSpecType_ROLESPEC_PUBLIC {
			if len(list) != 1 {
				r.s.NoticeError(&pgerror.Error{Severity: "WARNING", Code: pgerror.Warning, Message: "ignoring specified roles other than PUBLIC",
					Hint: "All roles are members of the PUBLIC role."})
			}
			return []sqltypes.OID{0}, nil
		}
		role, err := r.roleSpec(spec)
		if err != nil {
			return nil, err
		}
		out = append(out, role.OID)
	}
	if len(out) == 0 {
		return []sqltypes.OID{0}, nil
	}
	return out, nil
}

func policyIndex(rel *catalog.Relation, name string) int {
	return slices.IndexFunc(rel.Policies, func(p *catalog.Policy) bool { return p.Name == name })
}

func noPolicy(name string, rel *catalog.Relation) error {
	return pgerror.New(pgerror.UndefinedObject, "policy %q for table %q does not exist", name, rel.Name)
}

func (r *run) putPolicies(cp *catalog.Relation) {
	slices.SortFunc(cp.Policies, func(a, b *catalog.Policy) int { return strings.Compare(a.Name, b.Name) })
	r.schema().PutRelation(cp)
}

// alterPolicy is ALTER POLICY … TO, USING, WITH CHECK.
func (r *run) alterPolicy(n *pg.AlterPolicyStmt) error {
	rel, err := r.policyTable(n.Table)
	if err != nil {
		return err
	}
	var roles []sqltypes.OID
	if len(n.Roles) > 0 {
		if roles, err = r.policyRoles(n.Roles); err != nil {
			return err
		}
	}
	p := &catalog.Policy{}
	if err := r.policyConditions(rel, p, n.Qual, n.WithCheck); err != nil {
		return err
	}
	at := policyIndex(rel, n.PolicyName)
	if at < 0 {
		return noPolicy(n.PolicyName, rel)
	}
	c := *rel.Policies[at]
	switch {
	case (c.Command == 'r' || c.Command == 'd') && n.WithCheck != nil:
		return pgerror.New(pgerror.SyntaxError, "only USING expression allowed for SELECT, DELETE")
	case c.Command == 'a' && n.Qual != nil:
		return pgerror.New(pgerror.SyntaxError, "only WITH CHECK expression allowed for INSERT")
	}
	if roles != nil {
		c.Roles = roles
	}
	if n.Qual != nil {
		c.Using = p.Using
	}
	if n.WithCheck != nil {
		c.Check = p.Check
	}
	cp := copyRelation(rel)
	cp.Policies[at] = &c
	r.putPolicies(cp)
	return nil
}

// dropPolicies is DROP POLICY.
func (r *run) dropPolicies(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		parts := nameParts(obj)
		name := parts[len(parts)-1]
		schema, table, err := split(parts[:len(parts)-1])
		if err != nil {
			return err
		}
		rel, _, err := r.findRelation(schema, table)
		if err != nil && !n.MissingOk {
			return err
		}
		if rel == nil {
			if n.MissingOk {
				if schema != "" && r.catalog().SchemaByName(schema) == nil {
					r.notice("schema %q does not exist, skipping", schema)
				} else {
					r.notice("relation %q does not exist, skipping", table)
				}
				continue
			}
			return noRelation(schema, table)
		}
		if policyIndex(rel, name) < 0 {
			if n.MissingOk {
				r.notice("policy %q for relation %q does not exist, skipping", name, table)
				continue
			}
			return noPolicy(name, rel)
		}
		if !r.hasRole(rel.Owner) {
			return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of relation %s", rel.Name)
		}
		if rel, err = r.lock(rel, engine.AccessExclusive); err != nil {
			return err
		}
		r.removePolicy(rel.OID, name)
	}
	return nil
}

func (r *run) removePolicy(rel sqltypes.OID, name string) {
	cp := copyRelation(r.catalog().Relation(rel))
	cp.Policies = slices.DeleteFunc(cp.Policies, func(p *catalog.Policy) bool { return p.Name == name })
	r.putPolicies(cp)
}

// renamePolicy is ALTER POLICY … RENAME TO.
func (r *run) renamePolicy(n *pg.RenameStmt, name string) error {
	rel, err := r.policyTable(n.Relation)
	if err != nil {
		return err
	}
	if policyIndex(rel, name) >= 0 {
		return pgerror.New(pgerror.DuplicateObject, "policy %q for table %q already exists", name, rel.Name)
	}
	at := policyIndex(rel, n.Subname)
	if at < 0 {
		return noPolicy(n.Subname, rel)
	}
	cp := copyRelation(rel)
	p := *cp.Policies[at]
	p.Name = name
	cp.Policies[at] = &p
	r.putPolicies(cp)
	return nil
}

// commentPolicy is COMMENT ON POLICY.
func (r *run) commentPolicy(cp *catalog.Relation, name, comment string) error {
	at := policyIndex(cp, name)
	if at < 0 {
		return noPolicy(name, cp)
	}
	p := *cp.Policies[at]
	p.Comment = comment
	cp.Policies[at] = &p
	r.schema().PutRelation(cp)
	return nil
}

// rowSecurity is ALTER TABLE … ROW LEVEL SECURITY; false: another command.
func (b *builder) rowSecurity(t pg.AlterTableType) (bool, error) {
	on, force := b.rel.RowSecurity, b.rel.ForceRowSecurity
	switch t {
	case pg.AlterTableType_AT_EnableRowSecurity:
		on = true
	case pg.AlterTableType_AT_DisableRowSecurity:
		on = false
	case pg.AlterTableType_AT_ForceRowSecurity:
		force = true
	case pg.AlterTableType_AT_NoForceRowSecurity:
		force = false
	default:
		return false, nil
	}
	if (on || force) && b.rel.TimeSeries {
		return true, pgerror.NotSupported("row-level security on time-series tables")
	}
	b.rel.RowSecurity, b.rel.ForceRowSecurity = on, force
	b.put()
	return true, nil
}

// policyUse is a policy whose conditions read something.
type policyUse struct {
	rel    *catalog.Relation
	policy *catalog.Policy
}

func (u policyUse) word(r *run) string {
	return "policy " + u.policy.Name + " on table " + r.visibleName(u.rel)
}

// policiesReading lists the policies, of all tables, whose conditions read a relation;
// attr > 0: that column of it.
func (r *run) policiesReading(rel sqltypes.OID, attr int16) []policyUse {
	var out []policyUse
	r.catalog().AllRelations(func(t *catalog.Relation) bool {
		for _, p := range t.Policies {
			for _, text := range []string{p.Using, p.Check} {
				if text == "" {
					continue
				}
				v := &catalog.Relation{ViewDef: text}
				uses := false
				if attr > 0 {
					uses, _ = bind.ViewUsesColumn(r.s.PlanContext(), v, rel, attr)
				} else if deps, err := bind.ViewDependencies(r.s.PlanContext(), v); err == nil {
					uses = slices.Contains(deps, rel)
				}
				if uses {
					out = append(out, policyUse{t, p})
					break
				}
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b policyUse) int { return int(a.policy.OID) - int(b.policy.OID) })
	return out
}

// rebasePolicies rewrites conditions that read a relation which a change renames.
func (r *run) rebasePolicies(rel sqltypes.OID) (after func() error) {
	uses := r.policiesReading(rel, 0)
	if len(uses) == 0 {
		return func() error { return nil }
	}
	before := r.s.PlanContext()
	return func() error {
		for _, u := range uses {
			p := *u.policy
			for _, text := range []*string{&p.Using, &p.Check} {
				if *text == "" {
					continue
				}
				now, err := bind.RebaseView(before, r.s.PlanContext(), &catalog.Relation{ViewDef: *text})
				if err != nil {
					return err
				}
				*text = now
			}
			cp := copyRelation(r.catalog().Relation(u.rel.OID))
			if at := policyIndex(cp, p.Name); at >= 0 {
				cp.Policies[at] = &p
				r.schema().PutRelation(cp)
			}
		}
		return nil
	}
}

// rolePolicies lists the policies that name a role.
func (r *run) rolePolicies(role sqltypes.OID) []policyUse {
	var out []policyUse
	r.catalog().AllRelations(func(t *catalog.Relation) bool {
		for _, p := range t.Policies {
			if slices.Contains(p.Roles, role) {
				out = append(out, policyUse{t, p})
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b policyUse) int { return int(a.policy.OID) - int(b.policy.OID) })
	return out
}

// dropFromPolicies takes roles out of policies; one that is for nobody else goes
// (RemoveRoleFromObjectPolicy).
func (r *run) dropFromPolicies(is func(sqltypes.OID) bool) {
	r.catalog().AllRelations(func(t *catalog.Relation) bool {
		if !slices.ContainsFunc(t.Policies, func(p *catalog.Policy) bool { return slices.ContainsFunc(p.Roles, is) }) {
			return true
		}
		cp := copyRelation(t)
		for i, p := range cp.Policies {
			c := *p
			c.Roles = slices.DeleteFunc(slices.Clone(p.Roles), is)
			cp.Policies[i] = &c
		}
		cp.Policies = slices.DeleteFunc(cp.Policies, func(p *catalog.Policy) bool { return len(p.Roles) == 0 })
		r.putPolicies(cp)
		return true
	})
}
