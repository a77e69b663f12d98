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
	indexes []*catalog.Index
	cols    []int // positions of the declared columns
	rows    Rows
	// static: the rows depend on the catalogue snapshot alone and may be cached.
	static bool

	mu    sync.Mutex
	cache *cached // guarded by mu
}

// cached holds a static table's rows of one catalogue snapshot. Its fields are
// filled under table.mu and immutable afterwards, except indexes.
type cached struct {
	cat  *catalog.Catalog
	rows [][]sqltypes.Datum
	// shown rows come first; the rest belong to schema ostraka (own.go).
	shown int
	// index by attribute: value → row numbers; guarded by table.mu
	index map[int16]map[indexKey][]int32
}

type indexKey struct {
	i int64
	s string
}

// Set is all system relations; it implements planner.Relations. Registration
// happens before use, after that it is safe for concurrent use.
type Set struct {
	byName map[string]*table
	byOID  map[sqltypes.OID]*table
	order  []*table
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
	registerRoles(s)
	registerConstraints(s)
	registerFacts(s)
	registerStats(s)
	registerEmpty(s)
	registerViews(s)
	return s
}

func (s *Set) add(t *table) {
	t.virtual.Rows = func(ctx context.Context, vq planner.VirtualQuery) (sqltypes.RowSource, error) {
		return t.read(&Query{VirtualQuery: vq, Ctx: ctx, Cat: vq.View.Catalog(), set: s, rel: t})
	}
	for _, c := range t.virtual.Rel.Columns {
		t.virtual.EqAttrs = append(t.virtual.EqAttrs, c.Num)
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
	t := &table{schema: schema, kind: 'v', rows: rows}
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

// read answers a query.
func (t *table) read(q *Query) (sqltypes.RowSource, error) {
	if !t.static {
		rows, err := t.build(q)
		return &rowList{rows: rows}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cache == nil || t.cache.cat != q.Cat {
		rows, err := t.build(q)
		if err != nil {
			return nil, err
		}
		rows, shown := t.partition(q, rows)
		t.cache = &cached{cat: q.Cat, rows: rows, shown: shown, index: map[int16]map[indexKey][]int32{}}
	}
	all := t.cache.shown == len(t.cache.rows) || listsOwn(q)
	if attr, key, ok := t.lookup(q); ok {
		pick := t.cache.find(attr, key)
		if !all {
			n, _ := slices.BinarySearch(pick, int32(t.cache.shown))
			pick = pick[:n]
		}
		return &rowList{rows: t.cache.rows, pick: pick, picked: true}, nil
	}
	if !all {
		return &rowList{rows: t.cache.rows[:t.cache.shown]}, nil
	}
	return &rowList{rows: t.cache.rows}, nil
}

// lookup chooses the equality condition to use: the first column of the table that has one.
func (t *table) lookup(q *Query) (int16, indexKey, bool) {
	best := int16(0)
	for attr := range q.Eq {
		typ := t.virtual.Rel.Columns[attr-1].Type.OID
		ty := sqltypes.TypeByOID(typ)
		if ty == nil || ty.Kind != sqltypes.KInt && ty.Kind != sqltypes.KBytes {
			continue
		}
		if best == 0 || attr < best {
			best = attr
		}
	}
	if best == 0 || q.Eq[best].Null {
		return 0, indexKey{}, false
	}
	return best, indexKey{q.Eq[best].I, q.Eq[best].S}, true
}

func (c *cached) find(attr int16, key indexKey) []int32 {
	m := c.index[attr]
	if m == nil {
		m = make(map[indexKey][]int32, len(c.rows))
		for i, row := range c.rows {
			if d := row[attr-1]; !d.Null {
				k := indexKey{d.I, d.S}
				m[k] = append(m[k], int32(i))
			}
		}
		c.index[attr] = m
	}
	return m[key]
}

// build makes all rows.
func (t *table) build(q *Query) ([][]sqltypes.Datum, error) {
	n := len(t.virtual.Rel.Columns)
	var out [][]sqltypes.Datum
	var arena []sqltypes.Datum
	err := t.rows(q, func(vals ...sqltypes.Datum) {
		if len(arena) < n {
			arena = make([]sqltypes.Datum, 64*n)
		}
		row := arena[:n:n]
		arena = arena[n:]
		for i := range row {
			row[i] = sqltypes.Null
		}
		for i, v := range vals {
			row[t.cols[i]] = v
		}
		out = append(out, row)
	})
	return out, err
}

// rowList is a RowSource over rows in memory.
type rowList struct {
	rows   [][]sqltypes.Datum
	pick   []int32
	picked bool
	next   int
}

func (l *rowList) Next() ([]sqltypes.Datum, bool, error) {
	if l.picked {
		if l.next >= len(l.pick) {
			return nil, false, nil
		}
		l.next++
		return l.rows[l.pick[l.next-1]], true, nil
	}
	if l.next >= len(l.rows) {
		return nil, false, nil
	}
	l.next++
	return l.rows[l.next-1], true, nil
}
