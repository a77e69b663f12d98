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

// fact is one relation of pg_catalog or information_schema.
type fact struct {
	rel     *catalog.Relation
	schema  string
	kind    byte // relkind in PostgreSQL: r, v
	indexes []*catalog.Index
}

var facts = sync.OnceValue(func() []*fact {
	var out []*fact
	byOID := map[sqltypes.OID]*fact{}
	for line := range strings.Lines(relationsTSV) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "R":
			schema := catalog.SchemaPgCatalog
			if f[1] == "information_schema" {
				schema = catalog.SchemaInformationSchema
			}
			x := &fact{schema: f[1], kind: f[4][0], rel: &catalog.Relation{OID: oidOf(f[3]), Name: f[2], Schema: schema,
				Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole, RowType: oidOf(f[5]),
				ACL: []catalog.ACLItem{{Grantee: catalog.BootstrapRole, Grantor: catalog.BootstrapRole, Privs: "arwdDxt"},
					{Grantee: 0, Grantor: catalog.BootstrapRole, Privs: "r"}}}}
			if catalog.Secret(x.rel.Name) {
				x.rel.ACL = x.rel.ACL[:1]
			}
			out = append(out, x)
			byOID[x.rel.OID] = x
		case "A":
			rel := out[len(out)-1].rel
			mod, _ := strconv.Atoi(f[3])
			rel.Columns = append(rel.Columns, &catalog.Column{Num: int16(len(rel.Columns) + 1), Name: f[1],
				Type: sqltypes.ColumnType{OID: oidOf(f[2]), TypMod: int32(mod), Collation: oidOf(f[5])}, NotNull: f[4] == "true", StatTarget: -1})
		case "I":
			x := byOID[oidOf(f[3])]
			if x == nil {
				continue
			}
			ix := &catalog.Index{OID: oidOf(f[1]), Name: f[2], Schema: catalog.SchemaPgCatalog, Owner: catalog.BootstrapRole,
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

func oidOf(s string) sqltypes.OID {
	n, _ := strconv.ParseUint(s, 10, 32)
	return sqltypes.OID(n)
}
