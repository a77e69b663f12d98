package tsdb

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/tsdb/chunk"
	"ostraka/tsdb/store"
)

// reader reads time series for a view or a transaction. The store's snapshot is
// taken at the first read of a statement.
type reader struct {
	db  *DB
	txn *txn // nil for a view
	// database is the one whose tables are read.
	database sqltypes.OID
	snap     *store.Snapshot
	// scanned is the snapshot of the statement's first scan: what LockRow compares with.
	scanned *uint64
}

func (r *reader) snapshot() *store.Snapshot {
	if r.snap == nil {
		r.snap = r.db.st.Snapshot()
	}
	return r.snap
}

func (r *reader) close() {
	if r.snap != nil {
		r.snap.Close()
		r.snap = nil
	}
}

// scanner hands the rows of a scan up as vectors.
type scanner struct {
	ctx  context.Context
	rel  *Relation
	st   *store.Store
	spec engine.ScanSpec
	sc   *store.Scan // nil: nothing in the store, or at the end
	at   int         // next row of the current run
	end  int         // where its rows that are wanted end
	run  *chunk.Rows
	// todo are the ranges still to be scanned, allowed those that rows must be in
	// (nil: any).
	todo    []store.Range
	allowed []store.Range
	begin   func(store.Range) *store.Scan
	stats   store.ScanStats
	last    *store.Series // of the run before
	out1    engine.SeriesRun
	tags    []sqltypes.Datum
	out     []*expr.Vec
	refs    []engine.RowRef
	own     map[ownKey]ownRow // rows of the transaction itself
	mine    []ownEntry        // those to be handed out, at the end
	n       int
	rows    int64
	// absent: this node has never had rows of the table, others may have some.
	absent bool
	node   string
	// others are what is still to be read of other nodes, holders the nodes that have
	// rows when they are not read.
	others  []engine.PeerRows
	holders []string
}

// scan implements View.Scan for a time-series relation.
func (r *reader) scan(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	rel, table, err := r.db.Relation(spec.Rel)
	if err != nil {
		return nil, err
	}
	s := &scanner{ctx: ctx, rel: rel, st: r.db.st, spec: spec, tags: make([]sqltypes.Datum, len(rel.Spec.Tags))}
	for _, a := range spec.Cols {
		k := sqltypes.KInt
		if a > 0 {
			k = rel.kinds[a-1]
		}
		s.out = append(s.out, expr.NewVec(k))
	}
	if spec.Cluster && slices.ContainsFunc(spec.Conds, func(c engine.Cond) bool { return c.Op == 's' }) {
		return s, nil // buckets of all nodes' rows are computed: each node has stored its own
	}
	if spec.Cluster && !spec.Refs {
		if !spec.Partial {
			if s.others, err = r.remotes(ctx, rel, &spec, rel.timeRange(spec.Conds)); err != nil {
				return nil, err
			}
		}
		spec.Conds = slices.DeleteFunc(slices.Clone(spec.Conds), func(c engine.Cond) bool { return c.Op == 'r' })
	} else if r.db.opt.Holders != nil {
		s.holders = r.db.opt.Holders(rel.Rel.StorageID)
	}
	if table == nil {
		s.absent = !spec.Cluster && r.db.opt.Elsewhere != nil && r.db.opt.Elsewhere()
		s.node = r.db.opt.Node
		return s, nil
	}
	rng := rel.timeRange(spec.Conds)
	series := rel.series(table, &spec)
	if s.allowed, err = r.part(ctx, spec.Conds, rng); err != nil {
		return nil, err
	}
	if r.txn != nil {
		if s.own, err = r.txn.ownRows(table); err != nil {
			return nil, err
		}
		s.collectOwn(series, rng)
	}
	want := map[int16]bool{}
	for _, a := range spec.Cols {
		want[a] = true
	}
	if snap := r.snapshot(); r.scanned == nil {
		seq := snap.Seq()
		r.scanned = &seq
	}
	snap := r.snapshot()
	s.begin = func(rng store.Range) *store.Scan {
		sc := snap.Scan(ctx, table, series, rng, func(id int16) bool { return want[id] })
		sc.Only(s.allowed)
		return sc
	}
	s.todo = []store.Range{rng}
	if s.allowed != nil {
		s.todo = coarse(s.allowed)
	}
	return s, s.open()
}

// open begins the next of the ranges to be scanned; s.sc is nil after the last.
func (s *scanner) open() error {
	if s.sc != nil {
		s.stats.Chunks += s.sc.Stats.Chunks
		s.stats.Skipped += s.sc.Stats.Skipped
		s.stats.Memory += s.sc.Stats.Memory
		s.sc.Close()
		s.sc = nil
	}
	if len(s.todo) == 0 {
		return nil
	}
	s.sc = s.begin(s.todo[0])
	s.todo = s.todo[1:]
	return s.sc.Err()
}

// advance makes run, at and end the next rows of one series; false at the end.
func (s *scanner) advance() (bool, error) {
	for {
		if s.run != nil && s.allowed != nil {
			if s.at, s.end = stretch(s.run.Time, s.end, s.allowed); s.at < s.end {
				return true, nil
			}
		}
		s.run = nil
		for s.sc != nil && !s.sc.Next() {
			if err := s.sc.Err(); err != nil {
				return false, err
			}
			if err := s.open(); err != nil {
				return false, err
			}
		}
		if s.sc == nil {
			return false, nil
		}
		s.run, s.at, s.end = s.sc.Rows(), 0, 0
		s.rel.tagValues(s.sc.Series(), s.tags)
		if s.allowed == nil {
			s.end = len(s.run.Time)
			return true, nil
		}
	}
}

// timeRange is what the conditions leave of the time.
func (rel *Relation) timeRange(conds []engine.Cond) store.Range {
	rng := store.All
	for _, c := range conds {
		if c.Attr != rel.Spec.Time || len(c.Values) == 0 {
			continue
		}
		v := c.Values[0].I
		switch c.Op {
		case 'g':
			rng.Lo = max(rng.Lo, v)
		case '>':
			if v == math.MaxInt64 {
				return store.Range{Lo: 1, Hi: 0}
			}
			rng.Lo = max(rng.Lo, v+1)
		case 'l':
			rng.Hi = min(rng.Hi, v)
		case '<':
			if v == math.MinInt64 {
				return store.Range{Lo: 1, Hi: 0}
			}
			rng.Hi = min(rng.Hi, v-1)
		case '=':
			lo, hi := v, v
			for _, d := range c.Values {
				lo, hi = min(lo, d.I), max(hi, d.I)
			}
			rng.Lo, rng.Hi = max(rng.Lo, lo), min(rng.Hi, hi)
		}
	}
	return rng
}

// series selects the series that the conditions leave; nil: all of the table.
func (rel *Relation) series(t *store.Table, spec *engine.ScanSpec) []*store.Series {
	var ms []store.Matcher
	for _, c := range spec.Conds {
		if c.Attr == rel.Spec.Time || c.Op != '=' {
			continue
		}
		m := store.Matcher{Tag: rel.tagAt[c.Attr-1], Null: c.Null}
		for _, d := range c.Values {
			m.Values = append(m.Values, rel.tag(c.Attr, d).Value)
		}
		ms = append(ms, m)
	}
	if len(ms) == 0 && spec.KeyFilter == nil {
		return nil
	}
	list := t.Select(ms)
	if spec.KeyFilter == nil {
		return list
	}
	tags := make([]sqltypes.Datum, len(rel.Spec.Tags))
	out := list[:0]
	for _, s := range list {
		rel.tagValues(s, tags)
		// A condition that fails is evaluated again on the rows, and fails there.
		if ok, err := spec.KeyFilter(tags); ok || err != nil {
			out = append(out, s)
		}
	}
	return out
}

func (rel *Relation) tagValues(s *store.Series, dst []sqltypes.Datum) {
	for i, a := range rel.Spec.Tags {
		dst[i] = rel.datum(a, s.Tags[i])
	}
}

// Next implements engine.Scanner.
func (s *scanner) Next(b *expr.Batch) (int, error) {
	for _, v := range s.out {
		v.Reset(v.Kind)
	}
	s.refs = s.refs[:0]
	s.n = 0
	for s.n < expr.BatchSize {
		if s.run == nil || s.at == s.end {
			more, err := s.advance()
			if err != nil {
				return 0, err
			}
			if !more {
				break
			}
		}
		if s.own != nil {
			s.copyOthers()
		} else {
			s.copyRun(min(s.end-s.at, expr.BatchSize-s.n))
		}
	}
	for s.n < expr.BatchSize && s.run == nil && len(s.mine) > 0 {
		s.emitOwn(&s.mine[0])
		s.mine = s.mine[1:]
	}
	if s.run == nil && s.sc == nil && len(s.mine) == 0 {
		if err := s.emitRemote(); err != nil {
			return 0, err
		}
	}
	b.N, b.Sel, b.Cols = s.n, nil, append(b.Cols[:0], s.out...)
	s.rows += int64(s.n)
	return s.n, nil
}

// copyRun appends the next k rows of the run.
func (s *scanner) copyRun(k int) {
	r := s.run
	for i, a := range s.spec.Cols {
		v := s.out[i]
		v.Ensure(s.n + k)
		switch {
		case a == s.rel.Spec.Time:
			copy(v.I64[s.n:], r.Time[s.at:s.at+k])
		case a < 0:
			s.system(v, a, k)
		case s.rel.tagAt[a-1] >= 0:
			fill(v, s.n, k, s.tags[s.rel.tagAt[a-1]])
		default:
			s.copyField(v, a, k)
		}
	}
	if s.spec.Refs {
		for i := range k {
			s.refs = append(s.refs, engine.RowRef{Key: refKey(s.sc.Series().SID, r.Time[s.at+i]), Xid: 1})
		}
	}
	s.n += k
	s.at += k
}

func (s *scanner) system(v *expr.Vec, a int16, k int) {
	d := int64(0)
	if a == engine.AttrTableOID {
		d = int64(s.rel.Rel.OID)
	}
	fill(v, s.n, k, sqltypes.Int(d))
}

func fill(v *expr.Vec, at, k int, d sqltypes.Datum) {
	switch {
	case d.Null:
		for i := range k {
			v.SetNull(at + i)
		}
	case v.Kind == sqltypes.KBytes:
		for i := range k {
			v.Str[at+i] = d.S
		}
	default:
		for i := range k {
			v.Set(at+i, d)
		}
	}
}

func (s *scanner) copyField(v *expr.Vec, a int16, k int) {
	for c := range s.run.Cols {
		col := &s.run.Cols[c]
		if col.ID != a {
			continue
		}
		switch col.Kind {
		case chunk.Float:
			copy(v.F64[s.n:], col.F64[s.at:s.at+k])
		case chunk.Int:
			copy(v.I64[s.n:], col.I64[s.at:s.at+k])
		default:
			if s.rel.packed[a-1] {
				for i := range k {
					if col.Null == nil || !col.Null[s.at+i] {
						v.Set(s.n+i, unpack(col.Str[s.at+i]))
					}
				}
				break
			}
			copy(v.Str[s.n:], col.Str[s.at:s.at+k])
		}
		if col.Null != nil {
			for i := range k {
				if col.Null[s.at+i] {
					v.SetNull(s.n + i)
				}
			}
		}
		return
	}
	for i := range k {
		v.SetNull(s.n + i)
	}
}

// copyOthers appends the next rows of the run that the transaction has not written.
func (s *scanner) copyOthers() {
	sid := s.sc.Series().SID
	for s.at < s.end && s.n < expr.BatchSize {
		if _, mine := s.own[ownKey{sid, s.run.Time[s.at]}]; mine {
			s.at++
			continue
		}
		s.copyRun(1)
	}
}

// Refs implements engine.Scanner.
func (s *scanner) Refs() []engine.RowRef { return s.refs }

// Close implements engine.Scanner.
func (s *scanner) Close() {
	if s.sc != nil {
		s.sc.Close()
	}
	for _, o := range s.others {
		o.Close()
	}
	s.others = nil
}

// Notice says that an empty answer is that of this node only.
func (s *scanner) Notice() string {
	switch {
	case len(s.holders) > 0 && s.rel.Rel.Schema != catalog.SchemaOstraka:
		has := ""
		if s.begin == nil {
			has = "has no rows on node " + s.node + ", but "
		}
		return fmt.Sprintf("time-series table %q %shas rows on node %s that are not read here (SET ostraka.ts_scope = 'cluster' reads all nodes)",
			s.rel.Rel.Name, has, strings.Join(s.holders, ", "))
	case !s.absent:
		return ""
	}
	return fmt.Sprintf("time-series table %q has no rows on node %s; rows are on the nodes they were written to (ostraka.timeseries)", s.rel.Rel.Name, s.node)
}

// Detail is what EXPLAIN ANALYZE shows of the scan.
func (s *scanner) Detail() map[string]int64 {
	st := s.stats
	if s.sc != nil {
		st.Chunks, st.Skipped, st.Memory = st.Chunks+s.sc.Stats.Chunks, st.Skipped+s.sc.Stats.Skipped, st.Memory+s.sc.Stats.Memory
	}
	return map[string]int64{"Chunks Read": int64(st.Chunks), "Chunks Skipped": int64(st.Skipped), "Rows from Memory": st.Memory}
}

// get reads one row by the values of the key index: tags, then time.
func (r *reader) get(ctx context.Context, c *catalog.Relation, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (engine.RowRef, bool, error) {
	rel, table, err := r.db.Relation(c)
	if err != nil || table == nil {
		return engine.RowRef{}, false, err
	}
	s, t := rel.fromKey(table, key)
	if s == nil || t.Null {
		return engine.RowRef{}, false, nil
	}
	row := make([]sqltypes.Datum, len(c.Columns))
	found, err := r.row(ctx, rel, s, t.I, row)
	if err != nil || !found {
		return engine.RowRef{}, false, err
	}
	for i, a := range cols {
		if a > 0 {
			dst[i] = row[a-1]
		} else {
			dst[i] = sqltypes.Int(0)
		}
	}
	return engine.RowRef{Key: refKey(s.SID, t.I), Xid: 1}, true, nil
}

// fromKey splits a key of the unique index.
func (rel *Relation) fromKey(t *store.Table, key []sqltypes.Datum) (*store.Series, sqltypes.Datum) {
	tags := make([]store.Tag, 0, len(rel.Spec.Tags))
	for i, a := range rel.Spec.Tags {
		tags = append(tags, rel.tag(a, key[i]))
	}
	return t.Find(tags), key[len(rel.Spec.Tags)]
}

// row reads one row, the transaction's own one first, into a Datum per attribute.
func (r *reader) row(ctx context.Context, rel *Relation, s *store.Series, t int64, dst []sqltypes.Datum) (bool, error) {
	if r.txn != nil {
		own, err := r.txn.ownRows(s.Table)
		if err != nil {
			return false, err
		}
		if o, ok := own[ownKey{s.SID, t}]; ok {
			if o.gone {
				return false, nil
			}
			rel.fullRow(s, t, dst)
			for i, f := range s.Table.Fields() {
				if i < len(o.vals) {
					dst[f.ID-1] = rel.datumOf(f.ID, o.vals[i])
				}
			}
			return true, nil
		}
	}
	rows, err := r.snapshot().Get(ctx, s, t)
	if err != nil || rows == nil {
		return false, err
	}
	rel.fullRow(s, t, dst)
	for i := range rows.Cols {
		c := &rows.Cols[i]
		if int(c.ID) > len(dst) || c.Null != nil && c.Null[0] {
			continue
		}
		switch c.Kind {
		case chunk.Float:
			dst[c.ID-1] = sqltypes.Float(c.F64[0])
		case chunk.Int:
			dst[c.ID-1] = sqltypes.Int(c.I64[0])
		default:
			dst[c.ID-1] = rel.datumOf(c.ID, sqltypes.Text(c.Str[0]))
		}
	}
	return true, nil
}

// fullRow sets time and tags, and the rest to NULL.
func (rel *Relation) fullRow(s *store.Series, t int64, dst []sqltypes.Datum) {
	for i := range dst {
		dst[i] = sqltypes.Null
	}
	dst[rel.Spec.Time-1] = sqltypes.Int(t)
	for i, a := range rel.Spec.Tags {
		dst[a-1] = rel.datum(a, s.Tags[i])
	}
}
