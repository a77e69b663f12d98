package exec

import (
	"math/rand/v2"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// scanOp reads a table or an index.
type scanOp struct {
	x      *Execution
	p      *planner.Scan
	spec   engine.ScanSpec
	at     []int // output column of spec.Cols[i]
	spans  *spanMaker
	filter *expr.Program
	sample *sampler
	refs   bool
	series *seriesConds
	zones  *zoneConds
	told   bool
	detail map[string]int64 // what the scanner says of itself (EXPLAIN ANALYZE)

	sc  engine.Scanner
	in  expr.Batch
	out batch
	sel []uint16
	rejected
	done bool
	// unique: the whole key of a unique index is given: one Get instead of a scan.
	unique bool
	row    []sqltypes.Datum
}

func (x *Execution) buildScan(p *planner.Scan, used need) (built, error) {
	kinds := x.outKinds(p)
	o := &scanOp{x: x, p: p, refs: p.RefSlot >= 0}
	cols := used
	if used != nil && p.Filter != nil {
		cols = used.copy(len(kinds))
		cols.add(p.Filter)
	}
	system := false
	for i, a := range p.Attrs {
		if cols.has(i) {
			o.spec.Cols = append(o.spec.Cols, a)
			o.at = append(o.at, i)
			system = system || a < 0
		}
	}
	o.spec.Rel, o.spec.Index, o.spec.Reverse, o.spec.Refs = p.Rel, p.Index, p.Reverse, o.refs
	o.out.Cols = make([]*expr.Vec, len(p.Attrs))
	var err error
	if p.Ranges != nil {
		if o.spans, err = x.newSpanMaker(p.Rel, p.Index, p.Ranges); err != nil {
			return built{}, err
		}
		o.unique = !system && !p.Newest && p.Sample == nil && pointRange(p.Rel, p.Index, p.Ranges)
	}
	if o.filter, err = x.compile(rowFilter(p)); err != nil {
		return built{}, err
	}
	if o.series, err = x.newSeriesConds(p); err != nil {
		return built{}, err
	}
	if o.zones, err = x.newZoneConds(p); err != nil {
		return built{}, err
	}
	if p.Sample != nil {
		if o.sample, err = x.newSampler(p.Sample); err != nil {
			return built{}, err
		}
		o.spec.Steady = o.sample.system
	}
	b := built{op: o, kinds: kinds}
	if o.refs {
		b.slots = []int{p.RefSlot}
		o.out.refs = []*expr.Vec{expr.NewVec(sqltypes.KBytes), expr.NewVec(sqltypes.KInt), expr.NewVec(sqltypes.KInt)}
	}
	return b, nil
}

// pointRange reports whether the ranges give one complete key of a unique index.
func pointRange(rel *catalog.Relation, ix *catalog.Index, ranges []planner.KeyRange) bool {
	if ix == nil {
		ix = clusteredIndex(rel)
	}
	if ix == nil || !ix.UniqueAtOnce() || ix.NullsNotDistinct || ix.Predicate != "" || len(ranges) != 1 {
		return false
	}
	r := &ranges[0]
	if len(r.Eq) != len(ix.Keys) {
		return false
	}
	for i, e := range r.Eq {
		if i < len(r.EqNull) && r.EqNull[i] || e == nil {
			return false
		}
		if r.AnyArray == i {
			if t := sqltypes.TypeByOID(e.Type().OID); t == nil || t.IsArray {
				return false
			}
		}
	}
	return true
}

func (o *scanOp) open() error {
	o.stop()
	o.done = false
	if o.sample != nil {
		if err := o.sample.open(); err != nil {
			return err
		}
	}
	if o.spans != nil {
		spans, err := o.spans.spans()
		if err != nil {
			return err
		}
		if len(spans) == 0 {
			o.done = true
			return nil
		}
		o.spec.Spans = spans
		if o.unique {
			return o.get(spans[0].Lo)
		}
	}
	if o.series != nil {
		none, err := o.series.fill(&o.spec)
		if err != nil || none {
			o.done = true
			return err
		}
	}
	if o.zones != nil {
		o.zones.fill(&o.spec)
	}
	o.spec.Cluster = o.p.Rel.TimeSeries && o.x.wholeCluster()
	o.spec.Partial = o.spec.Cluster && o.x.partial[o.p]
	var err error
	if o.p.Newest {
		if o.x.txn == nil {
			return pgerror.New(pgerror.InternalError, "scan of the newest state outside a transaction")
		}
		o.sc, err = o.x.txn.ScanNewest(o.x.ctx, o.spec)
	} else {
		o.sc, err = o.x.view.Scan(o.x.ctx, o.spec)
	}
	if err == nil && o.p.Rel.TimeSeries {
		o.tell()
	}
	return err
}

// wholeCluster reports that the session reads time series of all nodes.
func (x *Execution) wholeCluster() bool {
	if x.env.Session == nil {
		return false
	}
	v, _ := x.env.Session.Setting("ostraka.ts_scope")
	return v == "cluster"
}

// tell passes on what the store of a time-series table has to say of its answer,
// once per scan of the statement.
func (o *scanOp) tell() {
	n, ok := o.sc.(interface{ Notice() string })
	if !ok || o.told || o.x.env.Session == nil {
		return
	}
	o.told = true
	if text := n.Notice(); text != "" {
		o.x.env.Session.Notice("NOTICE", "00000", text)
	}
}

// get reads the one row of a complete unique key into a batch that next returns.
func (o *scanOp) get(key []sqltypes.Datum) error {
	if o.row == nil {
		o.row = make([]sqltypes.Datum, len(o.spec.Cols))
		o.in.Cols = make([]*expr.Vec, len(o.spec.Cols))
		for i, c := range o.at {
			o.in.Cols[i] = expr.NewVec(o.x.kind(o.p.Columns[c].Type))
		}
	}
	ref, found, err := o.x.view.Get(o.x.ctx, o.p.Rel, o.p.Index, key, o.spec.Cols, o.row)
	if err != nil || !found {
		o.done = true
		return err
	}
	o.in.N = 1
	for i, v := range o.in.Cols {
		v.Reset(v.Kind)
		v.Set(0, o.row[i])
	}
	if o.refs {
		o.setRefs([]engine.RowRef{ref})
	}
	return nil
}

func (o *scanOp) setRefs(refs []engine.RowRef) {
	keys, xids, seqs := o.out.refs[0], o.out.refs[1], o.out.refs[2]
	for i := range refs {
		keys.Str[i], xids.I64[i], seqs.I64[i] = refs[i].Key, int64(refs[i].Xid), int64(refs[i].Seq)
	}
}

func (o *scanOp) next() (*batch, error) {
	for !o.done {
		if err := o.x.cancelled(); err != nil {
			return nil, err
		}
		if o.unique {
			o.done = true
		} else {
			n, err := o.sc.Next(&o.in)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				o.done = true
				o.stop()
				break
			}
			o.in.N, o.in.Sel = n, nil
			if o.refs {
				o.setRefs(o.sc.Refs()[:n])
			}
		}
		for i, c := range o.at {
			o.out.Cols[c] = o.in.Cols[i]
		}
		o.out.N, o.out.Sel = o.in.N, nil
		if o.sample != nil {
			o.out.Sel = o.sample.pick(o.out.N)
			if len(o.out.Sel) == 0 {
				continue
			}
		}
		if o.filter == nil {
			return &o.out, nil
		}
		ok, err := applyFilter(o.x, o.filter, &o.out, &o.sel, &o.rejected)
		if err != nil {
			return nil, err
		}
		if ok {
			return &o.out, nil
		}
	}
	return nil, nil
}

// rejected counts the rows that an operator's condition did not let through.
type rejected int64

func (r *rejected) rejectedRows() int64 { return int64(*r) }

// applyFilter narrows the batch's selection; false when no row is left.
func applyFilter(x *Execution, cond *expr.Program, b *batch, buf *[]uint16, out *rejected) (bool, error) {
	before := b.Rows()
	if *buf == nil {
		*buf = make([]uint16, 0, expr.BatchSize)
	}
	sel, err := cond.Filter(&b.Batch, *buf, &x.params, x.env)
	if err != nil {
		return false, err
	}
	if len(sel) == b.N {
		b.Sel = nil
	} else {
		b.Sel = sel
	}
	*out += rejected(before - len(sel))
	return len(sel) > 0, nil
}

func (o *scanOp) stop() {
	if o.sc != nil {
		if d, ok := o.sc.(interface{ Detail() map[string]int64 }); ok && o.x.stats != nil {
			o.detail = d.Detail()
		}
		if s, ok := o.sc.(interface{ Skipped() int64 }); ok {
			o.rejected += rejected(s.Skipped())
		}
		o.sc.Close()
		o.sc = nil
	}
}

func (o *scanOp) close() { o.stop() }

// sampler is TABLESAMPLE: each row with the same probability (bernoulli), or, the
// storage having no pages, each batch of rows (system).
type sampler struct {
	x             *Execution
	system        bool
	percent, seed *expr.Program
	p             float64
	rng           *rand.Rand
	sel           []uint16
}

func (x *Execution) newSampler(s *planner.Sample) (*sampler, error) {
	out := &sampler{x: x, system: s.Method == "system", sel: make([]uint16, 0, expr.BatchSize)}
	var err error
	if out.percent, err = x.compile(s.Percent); err != nil {
		return nil, err
	}
	out.seed, err = x.compile(s.Seed)
	return out, err
}

func (s *sampler) open() error {
	d, err := s.x.scalar(s.percent)
	if err != nil {
		return err
	}
	if d.Null {
		return pgerror.New(pgerror.InvalidTablesampleArgument, "TABLESAMPLE parameter cannot be null")
	}
	s.p = d.Float() / 100
	if s.p < 0 || s.p > 1 || s.p != s.p {
		return pgerror.New(pgerror.InvalidTablesampleArgument, "sample percentage must be between 0 and 100")
	}
	seed := rand.Uint64()
	if s.seed != nil {
		d, err := s.x.scalar(s.seed)
		if err != nil {
			return err
		}
		if d.Null {
			return pgerror.New(pgerror.InvalidTablesampleRepeat, "TABLESAMPLE REPEATABLE parameter cannot be null")
		}
		seed = uint64(d.I)
	}
	s.rng = rand.New(rand.NewPCG(seed, 0))
	return nil
}

func (s *sampler) pick(n int) []uint16 {
	sel := s.sel[:0]
	if s.system {
		if s.rng.Float64() < s.p {
			sel = append(sel, expr.All(n)...)
		}
		return sel
	}
	for i := range n {
		if s.rng.Float64() < s.p {
			sel = append(sel, uint16(i))
		}
	}
	return sel
}
