package catalog

import (
	"ostraka/sqltypes"
)

// Catalog is an immutable snapshot of all descriptors that one database's
// statements can see: its own and the shared ones (roles, databases).
// Safe for concurrent use. Slices and descriptors it returns are not to be changed.
type Catalog struct {
	// DB is the database the snapshot is of.
	DB OID
	// Version grows with every change that reached this snapshot; equal versions
	// of the same lineage are the same catalogue. Plans remember it.
	Version uint64

	schemas    table[*Schema]
	relations  table[*Relation]
	indexes    table[indexRef]
	types      table[*UserType]
	functions  cow[oidKey, *Function]
	funcNames  cow[nameKey, []*Function]
	operators  cow[oidKey, *Operator]
	operNames  cow[nameKey, []*Operator] // under schema 0
	casts      cow[oidKey, *Cast]
	castPairs  cow[pairKey, *Cast]
	roles      table[*Role]
	databases  table[*Database]
	defaultACL []*DefaultACL
	stats      cow[oidKey, *TableStats]
	sharding   sharding
	children   cow[oidKey, []OID] // relations by what they inherit from, ascending
	built      *typeCache
	parted     *partitionCache

	publications  table[*Publication]
	subscriptions table[*Subscription]
}

type indexRef struct {
	rel *Relation
	ix  *Index
}

// table is a set of descriptors by OID and by (schema, name).
type table[T any] struct {
	byOID  cow[oidKey, T]
	byName cow[nameKey, T]
}

func (t table[T]) oid(oid OID) T                  { return t.byOID.get(oidKey(oid)) }
func (t table[T]) name(schema OID, name string) T { return t.byName.get(nameKey{schema, name}) }

// SchemaByName returns nil when there is none.
func (c *Catalog) SchemaByName(name string) *Schema { return c.schemas.name(0, name) }
func (c *Catalog) Schema(oid OID) *Schema           { return c.schemas.oid(oid) }

// RelationByName finds a table, view, sequence, materialised view or composite type in a schema.
func (c *Catalog) RelationByName(schema OID, name string) *Relation {
	return c.relations.name(schema, name)
}
func (c *Catalog) Relation(oid OID) *Relation { return c.relations.oid(oid) }

// IndexByName and Index return the index with the table it belongs to.
func (c *Catalog) IndexByName(schema OID, name string) (*Relation, *Index) {
	r := c.indexes.name(schema, name)
	return r.rel, r.ix
}

func (c *Catalog) Index(oid OID) (*Relation, *Index) {
	r := c.indexes.oid(oid)
	return r.rel, r.ix
}

// TypeByName finds a user type; the row types of relations are found here too.
func (c *Catalog) TypeByName(schema OID, name string) *UserType { return c.types.name(schema, name) }
func (c *Catalog) UserType(oid OID) *UserType                   { return c.types.oid(oid) }

// Type returns the runtime type: built-in or made from a user type; nil if unknown.
func (c *Catalog) Type(oid OID) *sqltypes.Type {
	if t := builtinType(oid); t != nil {
		return t
	}
	return c.built.get(c, oid)
}

// FunctionsByName lists the user functions of that name in a schema.
func (c *Catalog) FunctionsByName(schema OID, name string) []*Function {
	return c.funcNames.get(nameKey{schema, name})
}
func (c *Catalog) Function(oid OID) *Function { return c.functions.get(oidKey(oid)) }

// OperatorsByName lists the user operators of that name, of all schemas.
func (c *Catalog) OperatorsByName(name string) []*Operator { return c.operNames.get(nameKey{0, name}) }
func (c *Catalog) Operator(oid OID) *Operator              { return c.operators.get(oidKey(oid)) }

// CastBetween returns the user's cast of exactly these types, nil when there is none.
func (c *Catalog) CastBetween(source, target OID) *Cast {
	return c.castPairs.get(pairKey{source, target})
}
func (c *Catalog) Cast(oid OID) *Cast { return c.casts.get(oidKey(oid)) }

func (c *Catalog) RoleByName(name string) *Role         { return c.roles.name(0, name) }
func (c *Catalog) Role(oid OID) *Role                   { return c.roles.oid(oid) }
func (c *Catalog) DatabaseByName(name string) *Database { return c.databases.name(0, name) }
func (c *Catalog) Database(oid OID) *Database           { return c.databases.oid(oid) }

// Stats returns ANALYZE's results, nil when there are none.
func (c *Catalog) Stats(rel OID) *TableStats { return c.stats.get(oidKey(rel)) }

// DefaultACLs lists ALTER DEFAULT PRIVILEGES entries.
func (c *Catalog) DefaultACLs() []*DefaultACL { return c.defaultACL }

// SameRoles reports that both snapshots have the same roles, unchanged.
func (c *Catalog) SameRoles(o *Catalog) bool { return c.roles.byOID.b == o.roles.byOID.b }

// The All functions call f for every descriptor, in no particular order, until f returns false.
func (c *Catalog) AllSchemas(f func(*Schema) bool)     { c.schemas.byOID.all(f) }
func (c *Catalog) AllRelations(f func(*Relation) bool) { c.relations.byOID.all(f) }

// AllTypes leaves out the array types that come with others (UserType.ArrayOID).
func (c *Catalog) AllTypes(f func(*UserType) bool) {
	c.types.byOID.all(func(u *UserType) bool { return u.Kind == 'a' || f(u) })
}

func (c *Catalog) AllFunctions(f func(*Function) bool) { c.functions.all(f) }
func (c *Catalog) AllOperators(f func(*Operator) bool) { c.operators.all(f) }
func (c *Catalog) AllCasts(f func(*Cast) bool)         { c.casts.all(f) }
func (c *Catalog) AllRoles(f func(*Role) bool)         { c.roles.byOID.all(f) }
func (c *Catalog) AllDatabases(f func(*Database) bool) { c.databases.byOID.all(f) }
