package syscat

import (
	"context"
	"slices"
	"sync"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Query is one read of a relation.
type Query struct {
	planner.VirtualQuery
	Ctx context.Context
	Cat *catalog.Catalog
	set *Set
	rel *table
	out *builder
}

// Emit takes one row: values of the columns that the table was declared with, in
// that order; the other columns are NULL.
type Emit func(vals ...sqltypes.Datum)

// Rows makes a relation's rows.
type Rows func(q *Query, emit Emit) error

// table is one relation with its source of rows.
type table struct {
	virtual *planner.VirtualRelation
	schema  string
	kind    byte
	own     bool // one of the product's, not PostgreSQL's
	indexes []*catalog.Index
	cols    []int // positions of the declared columns
	rows    Rows
	// static: the rows depend on the catalogue snapshot alone and may be cached.
	static bool

	mu    sync.Mutex
	cache map[sqltypes.OID]*cached // by database; guarded by mu
	last  *cached                  // the newest of any database, for estimates; guarded by mu
}

// Set is all system relations; it implements planner.Relations. Registration
// happens before use, after that it is safe for concurrent use.
type Set struct {
	byName map[string]*table
	byOID  map[sqltypes.OID]*table
	order  []*table
	// counters is where the statistics views read; nil: nothing is counted.
	counters Counters
}

// New returns the set with everything that needs only the catalogue. Relations
// that show the node or its sessions are registered by their owners.
func New() *Set {
	s := &Set{byName: map[string]*table{}, byOID: map[sqltypes.OID]*table{}}
	for _, f := range facts() {
		t := &table{schema: f.schema, kind: f.kind, indexes: f.indexes}
		t.virtual = &planner.VirtualRelation{Rel: f.rel, RowsEstimate: 100}
		t.rows = func(*Query, Emit) error {
			return pgerror.NotSupported("system relation %q", f.rel.Name)
		}
		s.add(t)
	}
	registerObjects(s)
	registerTypes(s)
	registerOperators(s)
	registerRoles(s)
	registerConstraints(s)
	registerFacts(s)
	registerStats(s)
	registerEmpty(s)
	registerTriggers(s)
	registerPolicies(s)
	registerInheritance(s)
	registerPublications(s)
	registerStatistics(s)
	registerViews(s)
	return s
}

func (s *Set) add(t *table) {
	t.virtual.Rows = func(ctx context.Context, vq planner.VirtualQuery) (sqltypes.RowSource, error) {
		return t.read(&Query{VirtualQuery: vq, Ctx: ctx, Cat: vq.View.Catalog(), set: s, rel: t})
	}
	s.byName[t.schema+"."+t.virtual.Rel.Name] = t
	s.byOID[t.virtual.Rel.OID] = t
	s.order = append(s.order, t)
}

// static declares the rows of a known relation that depend on the catalogue only.
func (s *Set) static(name string, cols []string, rows Rows) { s.define(name, cols, rows, true) }

// Register declares the rows of a known relation of pg_catalog, given with its
// schema, that show changing state. node: they differ from node to node.
func (s *Set) Register(name string, cols []string, node bool, rows Rows) {
	s.define(name, cols, rows, false)
	s.byName[name].virtual.Node = node
}

func (s *Set) define(name string, cols []string, rows Rows, static bool) {
	t := s.byName[name]
	if t == nil {
		panic("syscat: no relation " + name)
	}
	t.rows, t.static, t.cols = rows, static, nil
	t.virtual.EqAttrs, t.virtual.Size, t.virtual.Distinct = nil, nil, nil
	if static {
		t.virtual.EqAttrs, t.virtual.Size, t.virtual.Distinct = t.lookupAttrs(), t.size, t.distinct
	}
	for _, c := range cols {
		i := slices.IndexFunc(t.virtual.Rel.Columns, func(x *catalog.Column) bool { return x.Name == c })
		if i < 0 {
			panic("syscat: " + name + " has no column " + c)
		}
		t.cols = append(t.cols, i)
	}
}

// Add registers a relation of the product's own.
func (s *Set) Add(rel *catalog.Relation, schema string, node bool, rows Rows) {
	t := &table{schema: schema, kind: 'v', own: true, rows: rows}
	t.virtual = &planner.VirtualRelation{Rel: rel, Node: node, RowsEstimate: 10}
	for i := range rel.Columns {
		t.cols = append(t.cols, i)
	}
	s.add(t)
}

func (s *Set) VirtualByName(schema, name string) *planner.VirtualRelation {
	if t := s.byName[schema+"."+name]; t != nil {
		return t.virtual
	}
	return nil
}

func (s *Set) VirtualByOID(oid sqltypes.OID) *planner.VirtualRelation {
	if t := s.byOID[oid]; t != nil {
		return t.virtual
	}
	return nil
}

func (s *Set) AllVirtual(f func(*planner.VirtualRelation) bool) {
	for _, t := range s.order {
		if !f(t.virtual) {
			return
		}
	}
}
