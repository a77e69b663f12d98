package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/engine/catalog/scram"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (r *run) mayManageRoles() error {
	role := r.catalog().Role(r.role())
	if role != nil && (role.Super || role.CreateRole) {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "permission denied to create role")
}

func (r *run) createRole(n *pg.CreateRoleStmt) error {
	if err := r.mayManageRoles(); err != nil {
		return err
	}
	if strings.HasPrefix(n.Role, "pg_") {
		return pgerror.New(pgerror.ReservedName, "role name %q is reserved", n.Role).
			WithDetail("Role names starting with \"pg_\" are reserved.")
	}
	if err := r.claim(0, n.Role); err != nil {
		return err
	}
	if r.catalog().RoleByName(n.Role) != nil {
		return pgerror.New(pgerror.DuplicateObject, "role %q already exists", n.Role)
	}
	oid, err := r.newOID()
	if err != nil {
		return err
	}
	role := &catalog.Role{OID: oid, Name: truncateIdent(n.Role), Inherit: true, ConnLimit: -1,
		Login: n.StmtType == pg.RoleStmtType_ROLESTMT_USER}
	if err := r.roleOptions(role, n.Options); err != nil {
		return err
	}
	r.schema().PutRole(role)
	return nil
}

// roleOptions applies CREATE/ALTER ROLE options.
func (r *run) roleOptions(role *catalog.Role, opts []*pg.Node) error {
	super := r.isSuper()
	for _, node := range opts {
		d := node.GetDefElem()
		on := d.Arg == nil || d.Arg.GetBoolean().GetBoolval()
		switch d.Defname {
		case "superuser":
			if on && !super {
				return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to create superusers")
			}
			role.Super = on
		case "inherit":
			role.Inherit = on
		case "createrole":
			role.CreateRole = on
		case "createdb":
			role.CreateDB = on
		case "canlogin":
			role.Login = on
		case "isreplication":
			if on && !super {
				return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to create replication users")
			}
			role.Replication = on
		case "bypassrls":
			if on && !super {
				return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to create bypassrls users")
			}
			role.BypassRLS = on
		case "connectionlimit":
			v, err := defInt(d)
			if err != nil {
				return err
			}
			if v < -1 {
				return pgerror.New(pgerror.InvalidParameterValue, "invalid connection limit: %d", v)
			}
			role.ConnLimit = int32(v)
		case "password":
			if d.Arg == nil {
				role.Password = ""
				continue
			}
			verifier, err := scram.Encrypt(defText(d))
			if err != nil {
				return err
			}
			role.Password = verifier
		case "validUntil":
			t := sqltypes.TypeByOID(sqltypes.OIDTimestamptz)
			v, err := t.In(r.s.PlanContext().Env, defText(d), -1)
			if err != nil {
				return err
			}
			role.ValidUntil = v.I
		case "addroleto":
			for _, spec := range d.Arg.GetList().GetItems() {
				group, err := r.roleSpec(spec.GetRoleSpec())
				if err != nil {
					return err
				}
				role.MemberOf = append(role.MemberOf, catalog.Membership{Role: group.OID, Grantor: r.role()})
			}
		case "rolemembers", "adminmembers":
			for _, spec := range d.Arg.GetList().GetItems() {
				member, err := r.roleSpec(spec.GetRoleSpec())
				if err != nil {
					return err
				}
				cp := *member
				cp.MemberOf = append(slices.Clone(member.MemberOf), catalog.Membership{Role: role.OID, Grantor: r.role(), Admin: d.Defname == "adminmembers"})
				r.schema().PutRole(&cp)
			}
		case "sysid":
		default:
			return pgerror.NotSupported("role option %q", d.Defname)
		}
	}
	return nil
}

func (r *run) alterRole(n *pg.AlterRoleStmt) error {
	role, err := r.roleSpec(n.Role)
	if err != nil {
		return err
	}
	onlyPassword := len(n.Options) == 1 && n.Options[0].GetDefElem().Defname == "password" && role.OID == r.role()
	if !onlyPassword {
		if err := r.mayManageRoles(); err != nil {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied")
		}
	}
	if role.Super && !r.isSuper() {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to alter superuser roles or change superuser attribute")
	}
	cp := *role
	cp.MemberOf = slices.Clone(role.MemberOf)
	if n.Action < 0 { // ALTER GROUP … DROP USER
		for _, spec := range n.Options[0].GetDefElem().Arg.GetList().GetItems() {
			member, err := r.roleSpec(spec.GetRoleSpec())
			if err != nil {
				return err
			}
			r.dropMembership(member, role.OID)
		}
		return nil
	}
	if err := r.roleOptions(&cp, n.Options); err != nil {
		return err
	}
	r.schema().PutRole(&cp)
	return nil
}

func (r *run) dropMembership(member *catalog.Role, group sqltypes.OID) {
	cp := *member
	cp.MemberOf = slices.DeleteFunc(slices.Clone(member.MemberOf), func(m catalog.Membership) bool { return m.Role == group })
	r.schema().PutRole(&cp)
}

// setConfig applies ALTER … SET/RESET to a list of "name=value" settings.
func (r *run) setConfig(config []string, st *pg.VariableSetStmt) ([]string, error) {
	if st.Kind == pg.VariableSetKind_VAR_RESET_ALL {
		return nil, nil
	}
	out := slices.DeleteFunc(slices.Clone(config), func(s string) bool { return strings.HasPrefix(s, st.Name+"=") })
	switch st.Kind {
	case pg.VariableSetKind_VAR_RESET, pg.VariableSetKind_VAR_SET_DEFAULT:
		return out, nil
	case pg.VariableSetKind_VAR_SET_CURRENT:
		v, _ := r.s.PlanContext().Env.Session.Setting(st.Name)
		return append(out, st.Name+"="+v), nil
	}
	var vals []string
	for _, a := range st.Args {
		v := constText(a)
		if quotedLists[strings.ToLower(st.Name)] {
			v = sqltypes.QuoteIdent(v)
		}
		vals = append(vals, v)
	}
	value := strings.Join(vals, ", ")
	if c, ok := r.s.PlanContext().Env.Session.Ext().(settingChecker); ok {
		if err := c.CheckSetting(st.Name, value); err != nil {
			return nil, err
		}
	}
	return append(out, st.Name+"="+value), nil
}

// settingChecker is the session's table of parameters. Errors: 42704 for an
// unknown one, 22023 for a value that it cannot have, 55P02 for one that cannot be set.
type settingChecker interface {
	CheckSetting(name, value string) error
}

// quotedLists are parameters whose value is a list of names.
var quotedLists = map[string]bool{"search_path": true, "temp_tablespaces": true, "local_preload_libraries": true,
	"session_preload_libraries": true, "shared_preload_libraries": true, "unix_socket_directories": true}

// constText is the text of an A_Const argument of SET.
func constText(n *pg.Node) string {
	c := n.GetAConst()
	if c == nil {
		return ""
	}
	switch v := c.Val.(type) {
	case *pg.A_Const_Sval:
		return v.Sval.Sval
	case *pg.A_Const_Ival:
		return sprintf("%d", v.Ival.Ival)
	case *pg.A_Const_Fval:
		return v.Fval.Fval
	case *pg.A_Const_Boolval:
		return sprintf("%t", v.Boolval.Boolval)
	}
	return ""
}

func (r *run) alterRoleSet(n *pg.AlterRoleSetStmt) error {
	if n.Database != "" {
		return pgerror.NotSupported("ALTER ROLE ... IN DATABASE ... SET")
	}
	if n.Role == nil {
		return pgerror.NotSupported("ALTER ROLE ALL SET")
	}
	role, err := r.roleSpec(n.Role)
	if err != nil {
		return err
	}
	if role.OID != r.role() {
		if err := r.mayManageRoles(); err != nil {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied")
		}
	}
	cp := *role
	if cp.Config, err = r.setConfig(role.Config, n.Setstmt); err != nil {
		return err
	}
	r.schema().PutRole(&cp)
	return nil
}

func (r *run) dropRole(n *pg.DropRoleStmt) error {
	if err := r.mayManageRoles(); err != nil {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied to drop role")
	}
	for _, node := range n.Roles {
		spec := node.GetRoleSpec()
		role, err := r.roleSpec(spec)
		if err != nil {
			if n.MissingOk && pgerror.Is(err, pgerror.UndefinedObject) {
				r.s.Notice("NOTICE", pgerror.SuccessfulCompletion, sprintf("role %q does not exist, skipping", spec.Rolename))
				continue
			}
			return err
		}
		if role.OID == r.role() {
			return pgerror.New(pgerror.ObjectInUse, "current user cannot be dropped")
		}
		if role.Super && !r.isSuper() {
			return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to drop superusers")
		}
		if uses := r.roleUses(role.OID); len(uses) > 0 {
			return pgerror.New(pgerror.DependentObjectsStillExist, "role %q cannot be dropped because some objects depend on it", role.Name).
				WithDetail("%s", strings.Join(uses, "\n"))
		}
		r.catalog().AllRoles(func(m *catalog.Role) bool {
			if slices.ContainsFunc(m.MemberOf, func(x catalog.Membership) bool { return x.Role == role.OID }) {
				r.dropMembership(m, role.OID)
			}
			return true
		})
		r.schema().DropRole(role.OID)
	}
	return nil
}

// roleUses lists what a role owns or has privileges on in this database.
func (r *run) roleUses(role sqltypes.OID) []string {
	var out []string
	cat := r.catalog()
	grants := func(acl []catalog.ACLItem) bool {
		return slices.ContainsFunc(acl, func(a catalog.ACLItem) bool { return a.Grantee == role })
	}
	cat.AllRelations(func(rel *catalog.Relation) bool {
		what := kindWord(rel.Kind) + " " + rel.Name
		if rel.Owner == role && (rel.Kind != catalog.KindSequence || rel.Sequence.OwnerTable == 0) {
			out = append(out, "owner of "+what)
		} else if grants(rel.ACL) {
			out = append(out, "privileges for "+what)
		}
		return true
	})
	cat.AllSchemas(func(s *catalog.Schema) bool {
		if s.Owner == role {
			out = append(out, "owner of schema "+s.Name)
		} else if grants(s.ACL) {
			out = append(out, "privileges for schema "+s.Name)
		}
		return true
	})
	cat.AllPublications(func(p *catalog.Publication) bool {
		if p.Owner == role {
			out = append(out, "owner of publication "+p.Name)
		}
		return true
	})
	cat.AllDatabases(func(d *catalog.Database) bool {
		if d.Owner == role {
			out = append(out, "owner of database "+d.Name)
		}
		return true
	})
	slices.Sort(out)
	for _, u := range r.rolePolicies(role) {
		out = append(out, "target of "+u.word(r))
	}
	return out
}

func (r *run) grantRole(n *pg.GrantRoleStmt) error {
	for _, g := range n.GrantedRoles {
		name := g.GetAccessPriv().GetPrivName()
		group := r.catalog().RoleByName(name)
		if group == nil {
			return pgerror.New(pgerror.UndefinedObject, "role %q does not exist", name)
		}
		if !r.isSuper() && r.mayManageRoles() != nil && !r.isAdminOf(group.OID) {
			return pgerror.New(pgerror.InsufficientPrivilege, "must have admin option on role %q", name)
		}
		admin := slices.ContainsFunc(n.Opt, func(o *pg.Node) bool { return o.GetDefElem().GetDefname() == "admin" && defBool(o.GetDefElem()) })
		for _, m := range n.GranteeRoles {
			member, err := r.roleSpec(m.GetRoleSpec())
			if err != nil {
				return err
			}
			if n.IsGrant {
				err = r.addMembership(member, group, admin)
			} else {
				r.revokeMembership(member, group, admin)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) isAdminOf(group sqltypes.OID) bool {
	role := r.catalog().Role(r.role())
	return role != nil && slices.ContainsFunc(role.MemberOf, func(m catalog.Membership) bool { return m.Role == group && m.Admin })
}

func (r *run) addMembership(member, group *catalog.Role, admin bool) error {
	if member.OID == group.OID || r.catalog().BelongsTo(group.OID, member.OID) {
		return pgerror.New(pgerror.InvalidGrantOperation, "role %q is a member of role %q", group.Name, member.Name)
	}
	cp := *member
	cp.MemberOf = slices.Clone(member.MemberOf)
	for i, m := range cp.MemberOf {
		if m.Role == group.OID {
			if m.Admin || !admin {
				r.notice("role %q is already a member of role %q", member.Name, group.Name)
				return nil
			}
			cp.MemberOf[i].Admin = true
			r.schema().PutRole(&cp)
			return nil
		}
	}
	cp.MemberOf = append(cp.MemberOf, catalog.Membership{Role: group.OID, Grantor: r.role(), Admin: admin})
	r.schema().PutRole(&cp)
	return nil
}

func (r *run) revokeMembership(member, group *catalog.Role, adminOnly bool) {
	i := slices.IndexFunc(member.MemberOf, func(m catalog.Membership) bool { return m.Role == group.OID })
	if i < 0 {
		r.s.Notice("WARNING", pgerror.SuccessfulCompletion, sprintf("role %q is not a member of role %q", member.Name, group.Name))
		return
	}
	if !adminOnly {
		r.dropMembership(member, group.OID)
		return
	}
	cp := *member
	cp.MemberOf = slices.Clone(member.MemberOf)
	cp.MemberOf[i].Admin = false
	r.schema().PutRole(&cp)
}
