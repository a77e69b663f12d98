package catalog

import (
	"fmt"
	"sync/atomic"
)

// ObjectKind is the kind of descriptor a Change is about.
type ObjectKind byte

const (
	ObjDatabase ObjectKind = iota + 1 // shared
	ObjRole                           // shared
	ObjSchema
	ObjType
	ObjRelation
	ObjFunction
	ObjDefaultACL
	ObjStats
	ObjShards // shared
	ObjOwned  // shared
	ObjOperator
	ObjCast
	ObjPublication
	ObjSubscription // shared
)

// Shared reports whether objects of the kind belong to no database.
func (k ObjectKind) Shared() bool {
	return k == ObjDatabase || k == ObjRole || k == ObjShards || k == ObjOwned || k == ObjSubscription
}

// Change puts or drops one descriptor. It is the unit in which DDL travels in
// commit entries and is kept in the store.
type Change struct {
	DB   OID // 0 for shared kinds
	Kind ObjectKind
	OID  OID // of the object; of the relation for statistics; of the role for default ACLs
	// Schema and ObjType complete the key of a default ACL.
	Schema  OID
	ObjType byte
	// Desc is *Database, *Role … by Kind; nil drops the object.
	Desc any
}

// Put makes the Change that inserts or replaces desc. The database is ignored for shared kinds.
func Put(db OID, desc any) Change {
	c := Change{DB: db, Desc: desc}
	switch d := desc.(type) {
	case *Database:
		c.Kind, c.OID, c.DB = ObjDatabase, d.OID, 0
	case *Role:
		c.Kind, c.OID, c.DB = ObjRole, d.OID, 0
	case *Schema:
		c.Kind, c.OID = ObjSchema, d.OID
	case *UserType:
		c.Kind, c.OID = ObjType, d.OID
	case *Relation:
		c.Kind, c.OID = ObjRelation, d.OID
	case *Function:
		c.Kind, c.OID = ObjFunction, d.OID
	case *Operator:
		c.Kind, c.OID = ObjOperator, d.OID
	case *Cast:
		c.Kind, c.OID = ObjCast, d.OID
	case *Publication:
		c.Kind, c.OID = ObjPublication, d.OID
	case *Subscription:
		c.Kind, c.OID, c.DB = ObjSubscription, d.OID, 0
	case *DefaultACL:
		c.Kind, c.OID, c.Schema, c.ObjType = ObjDefaultACL, d.Role, d.Schema, d.ObjType
		if len(d.ACL) == 0 {
			c.Desc = nil
		}
	case *TableStats:
		c.Kind, c.OID = ObjStats, d.Relation
	case *Shards:
		c.Kind, c.OID, c.DB = ObjShards, ShardsOID, 0
	case *Owned:
		c.Kind, c.OID, c.DB = ObjOwned, OwnedOID, 0
	default:
		panic(fmt.Sprintf("catalog: no descriptor: %T", desc))
	}
	return c
}

// Drop makes the Change that removes an object.
func Drop(db OID, kind ObjectKind, oid OID) Change {
	if kind.Shared() {
		db = 0
	}
	return Change{DB: db, Kind: kind, OID: oid}
}

// overlayVersions numbers the snapshots that only a transaction sees; the top
// bit keeps them apart from committed ones.
var overlayVersions atomic.Uint64

// With returns the snapshot as it is after the changes to its own database and
// to shared objects, under a version that no committed snapshot has.
func (c *Catalog) With(changes []Change) *Catalog {
	n := c.edit(changes)
	n.Version = 1<<63 | overlayVersions.Add(1)
	return n
}

// Set is the committed catalogue of all databases of a shard. Immutable.
type Set struct {
	version uint64
	dbs     map[OID]*Catalog
	shared  *Catalog // roles and databases only
}

// NewSet returns an empty catalogue: not even a database.
func NewSet() *Set { return &Set{dbs: map[OID]*Catalog{}, shared: &Catalog{built: new(typeCache)}} }

// Database returns the snapshot of one database, nil when there is none.
func (s *Set) Database(oid OID) *Catalog { return s.dbs[oid] }

// Shared is a snapshot that has only what belongs to no database.
func (s *Set) Shared() *Catalog { return s.shared }

// Empty reports whether nothing was ever put.
func (s *Set) Empty() bool { return len(s.dbs) == 0 }

// Apply returns the set after the changes.
func (s *Set) Apply(changes []Change) *Set {
	n := &Set{version: s.version + 1, dbs: make(map[OID]*Catalog, len(s.dbs)+1), shared: s.shared}
	for k, v := range s.dbs {
		n.dbs[k] = v
	}
	perDB := map[OID][]Change{}
	var shared []Change
	for _, c := range changes {
		if c.Kind.Shared() {
			shared = append(shared, c)
		} else {
			perDB[c.DB] = append(perDB[c.DB], c)
		}
	}
	if len(shared) > 0 {
		n.shared = s.shared.edit(shared)
		for _, c := range shared {
			if c.Kind != ObjDatabase {
				continue
			}
			if c.Desc == nil {
				delete(n.dbs, c.OID)
			} else if n.dbs[c.OID] == nil {
				n.dbs[c.OID] = &Catalog{DB: c.OID, built: new(typeCache)}
			}
		}
	}
	for oid, c := range n.dbs {
		mine := perDB[oid]
		if len(mine) > 0 {
			c = c.edit(mine)
		} else if len(shared) > 0 {
			cc := *c
			c = &cc
		} else {
			continue
		}
		c.roles, c.databases, c.sharding, c.subscriptions = n.shared.roles, n.shared.databases, n.shared.sharding, n.shared.subscriptions
		c.Version = n.version
		n.dbs[oid] = c
	}
	return n
}
