package syscat

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

//go:embed facts/relations.tsv
var relationsTSV string

// fact is one relation of pg_catalog, information_schema or pg_toast.
type fact struct {
	rel     *catalog.Relation
	schema  string
	kind    byte // relkind in PostgreSQL: r, v, t
	indexes []*catalog.Index
}

var facts = sync.OnceValue(func() []*fact {
	var out []*fact
	byOID := map[sqltypes.OID]*fact{}
	for line := range strings.Lines(relationsTSV) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "R":
			x := &fact{schema: f[1], kind: f[4][0], rel: &catalog.Relation{OID: oidOf(f[3]), Name: f[2], Schema: factSchemas[f[1]],
				Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole, RowType: oidOf(f[5]), ACL: factACL(f[6])}}
			out = append(out, x)
			byOID[x.rel.OID] = x
		case "A":
			rel := out[len(out)-1].rel
			mod, _ := strconv.Atoi(f[3])
			rel.Columns = append(rel.Columns, &catalog.Column{Num: int16(len(rel.Columns) + 1), Name: f[1],
				Type: sqltypes.ColumnType{OID: oidOf(f[2]), TypMod: int32(mod), Collation: oidOf(f[5])}, NotNull: f[4] == "true", StatTarget: -1,
				ACL: factACL(f[6])})
		case "I":
			x := byOID[oidOf(f[3])]
			if x == nil {
				continue
			}
			ix := &catalog.Index{OID: oidOf(f[1]), Name: f[2], Schema: x.rel.Schema, Owner: catalog.BootstrapRole,
				Method: "btree", Unique: f[4] == "true", Primary: f[5] == "true", Ready: true}
			if ix.ConstraintOID = oidOf(f[7]); ix.ConstraintOID != 0 {
				ix.Constraint = ix.Name
			}
			for _, k := range strings.Fields(f[6]) {
				n, _ := strconv.Atoi(k)
				key := catalog.IndexKey{Attr: int16(n)}
				if n > 0 {
					key.Type = x.rel.Columns[n-1].Type
				}
				ix.Keys = append(ix.Keys, key)
			}
			x.indexes = append(x.indexes, ix)
		}
	}
	return out
})

var factSchemas = map[string]sqltypes.OID{"pg_catalog": catalog.SchemaPgCatalog, "information_schema": catalog.SchemaInformationSchema,
	"pg_toast": catalog.SchemaPgToast}

// factRoles are the roles that the access lists of new objects name.
var factRoles = map[string]sqltypes.OID{"postgres": catalog.BootstrapRole, "pg_read_all_stats": catalog.PgReadAllStats, "pg_monitor": catalog.PgMonitor,
	"pg_database_owner": catalog.PgDatabaseOwner}

// factACL reads an aclitem[] as a new PostgreSQL prints it; nil for "".
func factACL(s string) []catalog.ACLItem {
	if s == "" {
		return nil
	}
	var out []catalog.ACLItem
	for item := range strings.SplitSeq(strings.Trim(s, "{}"), ",") {
		p, _ := cutACL(item)
		out = append(out, catalog.ACLItem{Grantee: factRoles[p.grantee], Grantor: factRoles[p.grantor], Privs: p.privs})
	}
	return out
}

func oidOf(s string) sqltypes.OID {
	n, _ := strconv.ParseUint(s, 10, 32)
	return sqltypes.OID(n)
}
