package syscat

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func roles(cat *catalog.Catalog) []*catalog.Role {
	return sorted(cat.AllRoles, func(r *catalog.Role) sqltypes.OID { return r.OID })
}

const encodingUTF8 = 6

// frozenXid is what a new PostgreSQL 15 shows. Transaction ids have 64 bits here and
// nothing is ever frozen: it says that nothing has to be.
const frozenXid = 716

func registerRoles(s *Set) {
	s.static("pg_catalog.pg_authid", []string{"oid", "rolname", "rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin",
		"rolreplication", "rolbypassrls", "rolconnlimit", "rolpassword", "rolvaliduntil"}, func(q *Query, emit Emit) error {
		for _, r := range roles(q.Cat) {
			emit(oid(r.OID), text(r.Name), yes(r.Super), yes(r.Inherit), yes(r.CreateRole), yes(r.CreateDB), yes(r.Login), yes(r.Replication),
				yes(r.BypassRLS), sqltypes.Int(int64(r.ConnLimit)), textOrNull(r.Password), validUntil(r))
		}
		return nil
	})
	s.static("pg_catalog.pg_roles", []string{"rolname", "rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication",
		"rolconnlimit", "rolpassword", "rolvaliduntil", "rolbypassrls", "rolconfig", "oid"}, func(q *Query, emit Emit) error {
		for _, r := range roles(q.Cat) {
			config := sqltypes.Null
			if len(r.Config) > 0 {
				config = textArray(r.Config)
			}
			emit(text(r.Name), yes(r.Super), yes(r.Inherit), yes(r.CreateRole), yes(r.CreateDB), yes(r.Login), yes(r.Replication),
				sqltypes.Int(int64(r.ConnLimit)), text("********"), validUntil(r), yes(r.BypassRLS), config, oid(r.OID))
		}
		return nil
	})
	s.static("pg_catalog.pg_auth_members", []string{"roleid", "member", "grantor", "admin_option"}, func(q *Query, emit Emit) error {
		for _, r := range roles(q.Cat) {
			for _, m := range r.MemberOf {
				emit(oid(m.Role), oid(r.OID), oid(m.Grantor), yes(m.Admin))
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_database", []string{"oid", "datname", "datdba", "encoding", "datlocprovider", "datistemplate", "datallowconn",
		"datconnlimit", "datfrozenxid", "datminmxid", "dattablespace", "datcollate", "datctype", "datacl"}, func(q *Query, emit Emit) error {
		for _, d := range sorted(q.Cat.AllDatabases, func(d *catalog.Database) sqltypes.OID { return d.OID }) {
			emit(oid(d.OID), text(d.Name), oid(d.Owner), num(encodingUTF8), char('c'), yes(d.IsTemplate), yes(d.AllowConn),
				sqltypes.Int(int64(d.ConnLimit)), sqltypes.Int(frozenXid), sqltypes.Int(1), oid(1663), text("C"), text("C"), aclArray(q.Cat, d.ACL))
		}
		return nil
	})
	s.static("pg_catalog.pg_db_role_setting", []string{"setdatabase", "setrole", "setconfig"}, func(q *Query, emit Emit) error {
		for _, r := range roles(q.Cat) {
			if len(r.Config) > 0 {
				emit(oid(0), oid(r.OID), textArray(r.Config))
			}
		}
		for _, d := range sorted(q.Cat.AllDatabases, func(d *catalog.Database) sqltypes.OID { return d.OID }) {
			if len(d.Config) > 0 {
				emit(oid(d.OID), oid(0), textArray(d.Config))
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_shdepend", columnNames("pg_shdepend"), sharedDependRows)
	s.static("pg_catalog.pg_init_privs", columnNames("pg_init_privs"), initPrivileges)
	s.static("pg_catalog.pg_default_acl", []string{"oid", "defaclrole", "defaclnamespace", "defaclobjtype", "defaclacl"}, func(q *Query, emit Emit) error {
		for i, d := range q.Cat.DefaultACLs() {
			emit(oid(sqltypes.OID(i+1)), oid(d.Role), oid(d.Schema), char(d.ObjType), aclArray(q.Cat, d.ACL))
		}
		return nil
	})
}

func validUntil(r *catalog.Role) sqltypes.Datum {
	if r.ValidUntil == 0 {
		return sqltypes.Null
	}
	return sqltypes.Int(r.ValidUntil)
}

// initPrivileges are the access lists that objects have from the start: pg_dump
// leaves out what did not change since.
func initPrivileges(q *Query, emit Emit) error {
	q.emitFixedACL("pg_init_privs", "initprivs", emit)
	return nil
}
