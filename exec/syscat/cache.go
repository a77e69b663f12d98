package syscat

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// cachedDatabases bounds how many databases a relation keeps its rows for.
const cachedDatabases = 4

// cached holds a static table's rows of one catalogue snapshot. Its fields are
// filled under table.mu and immutable afterwards, except index.
type cached struct {
	cat  *catalog.Catalog
	rows [][]sqltypes.Datum
	// shown rows come first; the rest belong to schema ostraka (own.go).
	shown int
	// parts are the rows by the descriptor they come from (Query.each).
	parts map[partKey][][]sqltypes.Datum
	// index by attribute; guarded by table.mu
	index map[int16]*hashIndex
}

// partKey names what a part of a relation's rows is made from: a descriptor, which
// never changes once it is in a catalogue, and what else goes into the rows.
type partKey struct {
	rel   *catalog.Relation // nil: the rows about the system's own relations
	stats *catalog.TableStats
	flag  int
}

// hashIndex finds rows by the value of one column: the first row of a value, then
// from row to row in ascending order.
type hashIndex struct {
	ints map[int64]int32
	strs map[string]int32
	next []int32 // -1: no further row
}

// read answers a query.
func (t *table) read(q *Query) (sqltypes.RowSource, error) {
	if !t.static {
		b, err := t.build(q, nil)
		return &rowList{rows: b.out}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.fresh(q)
	if err != nil {
		return nil, err
	}
	rows := c.rows
	if c.shown < len(rows) && !listsOwn(q) {
		rows = rows[:c.shown]
	}
	if attr, ok := t.lookup(q); ok {
		ix := t.indexOn(c, attr)
		return &rowList{rows: rows, chain: ix.next, next: int(ix.first(q.Eq[attr]))}, nil
	}
	return &rowList{rows: rows}, nil
}

// fresh returns the rows of the query's snapshot; what its catalogue shares with
// the one before is taken over. The caller holds mu.
func (t *table) fresh(q *Query) (*cached, error) {
	old := t.cache[q.Cat.DB]
	if old != nil && old.cat == q.Cat {
		return old, nil
	}
	b, err := t.build(q, old)
	if err != nil {
		return nil, err
	}
	rows, shown := t.partition(q, b.out)
	c := &cached{cat: q.Cat, rows: rows, shown: shown, parts: b.parts, index: map[int16]*hashIndex{}}
	if t.cache == nil || len(t.cache) >= cachedDatabases && old == nil {
		t.cache = map[sqltypes.OID]*cached{}
	}
	t.cache[q.Cat.DB], t.last = c, c
	return c, nil
}

// lookupAttrs are the columns worth an index: object identifiers and names.
func (t *table) lookupAttrs() []int16 {
	var out []int16
	for _, c := range t.virtual.Rel.Columns {
		ty := sqltypes.TypeByOID(c.Type.OID)
		if c.Type.OID == sqltypes.OIDName || ty != nil && ty.Kind == sqltypes.KInt && (c.Type.OID == sqltypes.OIDOid || strings.HasPrefix(ty.Name, "reg")) {
			out = append(out, c.Num)
		}
	}
	return out
}

// size is the number of rows when they were last made; 0: not yet.
func (t *table) size() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		return usualSize[t.virtual.Rel.Name]
	}
	return float64(len(t.last.rows))
}

// usualSize is what to expect of the large relations before they were read.
var usualSize = map[string]float64{"pg_class": 600, "pg_attribute": 4000, "pg_type": 700, "pg_proc": 3300, "pg_description": 5000,
	"pg_depend": 2000, "pg_operator": 800, "pg_amop": 950, "pg_amproc": 700, "pg_collation": 800, "pg_namespace": 6, "pg_am": 7, "pg_language": 3}

// distinct estimates the different values of a column.
func (t *table) distinct(attr int16) float64 {
	n := t.size()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil {
		if ix := t.last.index[attr]; ix != nil {
			return float64(max(len(ix.ints)+len(ix.strs), 1))
		}
	}
	return t.guessDistinct(attr, n)
}

func (t *table) guessDistinct(attr int16, rows float64) float64 {
	if attr <= 0 || int(attr) > len(t.virtual.Rel.Columns) {
		return 0
	}
	col := t.virtual.Rel.Columns[attr-1]
	leading := false
	for _, ix := range t.indexes {
		if ix.Unique && len(ix.Keys) == 1 && ix.Keys[0].Attr == attr {
			return rows
		}
		leading = leading || ix.Keys[0].Attr == attr
	}
	switch {
	case strings.HasSuffix(col.Name, "classid") || strings.HasSuffix(col.Name, "classoid"):
		return min(rows, 10)
	case strings.HasSuffix(col.Name, "objid") || leading:
		return max(rows/4, 1)
	case strings.HasSuffix(col.Name, "relid") || strings.HasSuffix(col.Name, "typid"):
		return max(rows/8, 1)
	case strings.HasSuffix(col.Name, "namespace"), strings.HasSuffix(col.Name, "owner"):
		return min(rows, 8)
	case !slices.Contains(t.virtual.EqAttrs, attr):
		return 0
	}
	return max(rows/16, 1)
}

// lookup chooses the equality condition to use: the column with the most values.
// The caller holds mu.
func (t *table) lookup(q *Query) (int16, bool) {
	best, most := int16(0), 0.0
	c := t.cache[q.Cat.DB]
	for _, attr := range t.virtual.EqAttrs {
		if d, ok := q.Eq[attr]; !ok || d.Null {
			continue
		}
		n := t.guessDistinct(attr, float64(len(c.rows)))
		if ix := c.index[attr]; ix != nil {
			n = float64(len(ix.ints) + len(ix.strs))
		}
		if best == 0 || n > most {
			best, most = attr, n
		}
	}
	return best, best != 0
}

// indexOn returns the index of a column, made at its first use. The caller holds mu.
func (t *table) indexOn(c *cached, attr int16) *hashIndex {
	ix := c.index[attr]
	if ix != nil {
		return ix
	}
	ix = &hashIndex{next: make([]int32, len(c.rows))}
	if t.virtual.Rel.Columns[attr-1].Type.OID == sqltypes.OIDName {
		ix.strs = make(map[string]int32, len(c.rows)/2)
	} else {
		ix.ints = make(map[int64]int32, len(c.rows)/2)
	}
	for i := len(c.rows) - 1; i >= 0; i-- {
		ix.next[i] = -1
		d := c.rows[i][attr-1]
		if d.Null {
			continue
		}
		if after := ix.first(d); after >= 0 {
			ix.next[i] = after
		}
		if ix.strs != nil {
			ix.strs[d.S] = int32(i)
		} else {
			ix.ints[d.I] = int32(i)
		}
	}
	c.index[attr] = ix
	return ix
}

// first is the first row with a value, or -1.
func (ix *hashIndex) first(d sqltypes.Datum) int32 {
	var i int32
	var ok bool
	if ix.strs != nil {
		i, ok = ix.strs[d.S]
	} else {
		i, ok = ix.ints[d.I]
	}
	if !ok {
		return -1
	}
	return i
}

// builder collects a relation's rows.
type builder struct {
	t          *table
	out        [][]sqltypes.Datum
	arena      []sqltypes.Datum
	chunk      int // rows that the next arena gets
	old, parts map[partKey][][]sqltypes.Datum
}

// build makes all rows, with the parts of the old ones that are still right.
func (t *table) build(q *Query, old *cached) (*builder, error) {
	b := &builder{t: t, parts: map[partKey][][]sqltypes.Datum{}}
	if old != nil {
		b.out = make([][]sqltypes.Datum, 0, len(old.rows)+64)
		if old.cat.SameRoles(q.Cat) { // access lists show the names of roles
			b.old = old.parts
		}
	}
	q.out = b
	err := t.rows(q, b.emit)
	return b, err
}

func (b *builder) emit(vals ...sqltypes.Datum) {
	n := len(b.t.virtual.Rel.Columns)
	if len(b.arena) < n {
		b.chunk = min(max(b.chunk*2, 4), 64)
		b.arena = make([]sqltypes.Datum, b.chunk*n)
	}
	row := b.arena[:n:n]
	b.arena = b.arena[n:]
	for i := range row {
		row[i] = sqltypes.Null
	}
	for i, v := range vals {
		row[b.t.cols[i]] = v
	}
	b.out = append(b.out, row)
}

// part takes over the rows of a key or makes them.
func (b *builder) part(k partKey, make func()) {
	rows, ok := b.old[k]
	if ok {
		b.out = append(b.out, rows...)
	} else {
		// Rows of one part share no memory with another's, which may be dropped before.
		b.arena, b.chunk = nil, 0
		start := len(b.out)
		make()
		rows = slices.Clone(b.out[start:])
		b.arena, b.chunk = nil, 0
	}
	b.parts[k] = rows
}

// system makes the rows about the system's own relations, once.
func (q *Query) system(rows func()) { q.out.part(partKey{}, rows) }

// each makes the rows about every relation of users. They may depend on the
// relation's descriptor, its statistics, roles, and flag, and on nothing else.
func (q *Query) each(flag func(*catalog.Relation) int, rows func(*catalog.Relation)) {
	for _, r := range relations(q.Cat) {
		k := partKey{rel: r, stats: q.Cat.Stats(r.OID)}
		if flag != nil {
			k.flag = flag(r)
		}
		q.out.part(k, func() { rows(r) })
	}
}

// rowList is a RowSource over rows in memory: all of them, or those of a chain.
type rowList struct {
	rows  [][]sqltypes.Datum
	chain []int32
	next  int
}

func (l *rowList) Next() ([]sqltypes.Datum, bool, error) {
	at := l.next
	if at < 0 || at >= len(l.rows) { // the rows after those shown end a chain, too
		return nil, false, nil
	}
	if l.chain != nil {
		l.next = int(l.chain[at])
	} else {
		l.next++
	}
	return l.rows[at], true, nil
}
