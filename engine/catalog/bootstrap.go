package catalog

import "ostraka/sqltypes"

// OIDs that PostgreSQL 15 gives the objects every cluster starts with.
const (
	PostgresDB  OID = 5
	Template0DB OID = 4
	Template1DB OID = 1

	SchemaPgCatalog         OID = 11
	SchemaPgToast           OID = 99
	SchemaPublic            OID = 2200
	SchemaInformationSchema OID = 13207
	SchemaOstraka           OID = 13999

	BootstrapRole     OID = 10
	PgDatabaseOwner   OID = 6171
	PgReadAllData     OID = 6181
	PgWriteAllData    OID = 6182
	PgMonitor         OID = 3373
	PgReadAllSettings OID = 3374
	PgReadAllStats    OID = 3375
	PgStatScanTables  OID = 3377
	// OstrakaAdmin may call the functions that change the cluster.
	OstrakaAdmin OID = 9900

	collationC OID = 950
)

// Bootstrap lists what a new shard 0 starts with: the superuser, the predefined
// roles, databases postgres, template1 and template0 and their schemas.
func Bootstrap(superuser string) []Change {
	var out []Change
	shared := func(d any) { out = append(out, Put(0, d)) }
	shared(&Role{OID: BootstrapRole, Name: superuser, Super: true, Inherit: true, CreateRole: true,
		CreateDB: true, Login: true, Replication: true, BypassRLS: true, ConnLimit: -1})
	monitor := []Membership{{PgReadAllSettings, BootstrapRole, false}, {PgReadAllStats, BootstrapRole, false}, {PgStatScanTables, BootstrapRole, false}}
	for _, r := range []Role{
		{OID: PgMonitor, Name: "pg_monitor", MemberOf: monitor},
		{OID: PgReadAllSettings, Name: "pg_read_all_settings"},
		{OID: PgReadAllStats, Name: "pg_read_all_stats"},
		{OID: PgStatScanTables, Name: "pg_stat_scan_tables"},
		{OID: 4200, Name: "pg_signal_backend"},
		{OID: 4544, Name: "pg_checkpoint"},
		{OID: 4569, Name: "pg_read_server_files"},
		{OID: 4570, Name: "pg_write_server_files"},
		{OID: 4571, Name: "pg_execute_server_program"},
		{OID: PgDatabaseOwner, Name: "pg_database_owner"},
		{OID: PgReadAllData, Name: "pg_read_all_data"},
		{OID: PgWriteAllData, Name: "pg_write_all_data"},
		{OID: OstrakaAdmin, Name: "ostraka_admin"},
	} {
		r.Inherit, r.ConnLimit = true, -1
		shared(&r)
	}
	templateACL := []ACLItem{{Grantee: 0, Grantor: BootstrapRole, Privs: "c"}, {Grantee: BootstrapRole, Grantor: BootstrapRole, Privs: "CTc"}}
	shared(&Database{OID: Template1DB, Name: "template1", Owner: BootstrapRole, ACL: templateACL, IsTemplate: true, AllowConn: true,
		ConnLimit: -1, Comment: "default template for new databases"})
	shared(&Database{OID: Template0DB, Name: "template0", Owner: BootstrapRole, ACL: templateACL, IsTemplate: true, AllowConn: false,
		ConnLimit: -1, Comment: "unmodifiable empty database"})
	shared(&Database{OID: PostgresDB, Name: "postgres", Owner: BootstrapRole, AllowConn: true, ConnLimit: -1,
		Comment: "default administrative connection database"})
	for _, db := range []OID{Template1DB, Template0DB, PostgresDB} {
		usage := func(owner OID) []ACLItem {
			return []ACLItem{{Grantee: owner, Grantor: owner, Privs: "UC"}, {Grantee: 0, Grantor: owner, Privs: "U"}}
		}
		for _, s := range []*Schema{
			{OID: SchemaPgToast, Name: "pg_toast", Owner: BootstrapRole, Comment: "reserved schema for TOAST tables"},
			{OID: SchemaPgCatalog, Name: "pg_catalog", Owner: BootstrapRole, ACL: usage(BootstrapRole), Comment: "system catalog schema"},
			{OID: SchemaPublic, Name: "public", Owner: PgDatabaseOwner, ACL: usage(PgDatabaseOwner), Comment: "standard public schema"},
			{OID: SchemaOstraka, Name: "ostraka", Owner: BootstrapRole, ACL: usage(BootstrapRole), Comment: "the product's own views"},
			{OID: SchemaInformationSchema, Name: "information_schema", Owner: BootstrapRole, ACL: usage(BootstrapRole)},
		} {
			out = append(out, Put(db, s))
		}
		for _, t := range informationSchemaTypes() {
			out = append(out, Put(db, t))
		}
	}
	return out
}

// informationSchemaTypes are the domains that the columns of information_schema
// have. Their CHECK constraints are left out: only our own views make values of them.
func informationSchemaTypes() []*UserType {
	domain := func(oid, array OID, name string, base sqltypes.OID, mod int32) *UserType {
		return &UserType{OID: oid, ArrayOID: array, Name: name, ArrayName: "_" + name, Schema: SchemaInformationSchema, Owner: BootstrapRole,
			Kind: 'd', Base: sqltypes.ColumnType{OID: base, TypMod: mod}}
	}
	text := func(oid, array OID, name string, base sqltypes.OID, mod int32) *UserType {
		t := domain(oid, array, name, base, mod)
		t.Base.Collation = collationC
		return t
	}
	return []*UserType{
		domain(13221, 13220, "cardinal_number", sqltypes.OIDInt4, -1),
		text(13224, 13223, "character_data", sqltypes.OIDVarchar, -1),
		text(13226, 13225, "sql_identifier", sqltypes.OIDName, -1),
		domain(13232, 13231, "time_stamp", sqltypes.OIDTimestamptz, 2),
		text(13234, 13233, "yes_or_no", sqltypes.OIDVarchar, 7),
	}
}
