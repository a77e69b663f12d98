package exec

import (
	"math"
	"slices"
	"sort"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// seriesAggOp groups a time-series table by buckets of its time and by tags without
// making batches of its rows: a group is looked up once per stretch of a series that
// lies in one bucket. Where the scan has no runs, the plain operator does the work.
type seriesAggOp struct {
	x     *Execution
	p     *planner.Aggregate
	scan  *planner.Scan
	plain *aggregateOp
	using bool // plain
	spec  engine.ScanSpec
	conds *seriesConds
	peers *peerAggs // nil: other nodes are not asked, or for rows

	bucket  int // place of the bucket in GROUP BY, -1
	call    *expr.Call
	args    []*expr.Program // of the bucket function; nil for the time
	tagAt   []int           // by place in GROUP BY: tag, -1 the bucket
	fns     []runAgg
	cols    []int // by aggregate: column of a run, -1 none
	mem     budget
	out     *batch
	loaded  bool
	at      int
	rows    int64
	inv     *sqltypes.Call
	argVals []sqltypes.Datum
	fixed   sqltypes.Buckets // the buckets when they have one width, else Width 0

	prefixes map[string]int32
	tags     [][]sqltypes.Datum // by prefix: the GROUP BY tags
	index    map[seriesGroup]int32
	groups   []seriesGroup
}

type seriesGroup struct {
	bucket int64
	prefix int32
}

// seriesAggregate makes the operator when the aggregation allows it, nil otherwise.
func (x *Execution) seriesAggregate(p *planner.Aggregate, plain *aggregateOp, kinds []sqltypes.Kind) (*seriesAggOp, error) {
	scan, ok := p.Input.(*planner.Scan)
	if !ok || p.Sets != nil || len(p.Groupings) > 0 {
		return nil, nil
	}
	ts := scan.Rel.TimeSeriesSpec()
	if ts == nil || scan.RefSlot >= 0 || scan.Sample != nil || scan.Ranges != nil || scan.Newest || scan.Reverse {
		return nil, nil
	}
	o := &seriesAggOp{x: x, p: p, scan: scan, plain: plain, bucket: -1, mem: budget{x: x}}
	o.spec.Rel = scan.Rel
	place := map[int16]int{}
	for i, a := range ts.Tags {
		place[a] = i
	}
	for i, g := range p.GroupBy {
		switch e := g.(type) {
		case *expr.Col:
			t, tag := place[scan.Attrs[e.Idx]]
			if !tag {
				return nil, nil
			}
			o.tagAt = append(o.tagAt, t)
		case *expr.Call:
			if e.Proc.Buckets == nil || o.bucket >= 0 || !o.isTime(e.Args[1]) {
				return nil, nil
			}
			o.bucket, o.call = i, e
			o.tagAt = append(o.tagAt, -1)
			for k, a := range e.Args {
				if k == 1 {
					o.args = append(o.args, nil)
					continue
				}
				if !constant(a) {
					return nil, nil
				}
				prog, err := x.compile(a)
				if err != nil {
					return nil, err
				}
				o.args = append(o.args, prog)
			}
		default:
			return nil, nil
		}
	}
	for _, a := range p.Aggs {
		if !o.aggregate(a, place) {
			return nil, nil
		}
	}
	var err error
	if o.conds, err = x.newSeriesConds(scan); err != nil || o.conds != nil && !o.conds.exact {
		return nil, err
	}
	o.out = ownBatch(kinds, nil, 0)
	return o, nil
}

// isTime: the expression is the scan's time column itself.
func (o *seriesAggOp) isTime(e expr.Expr) bool {
	c, ok := e.(*expr.Col)
	return ok && o.scan.Attrs[c.Idx] == o.scan.Rel.TS.Time
}

// aggregate adds an aggregate; false when it does not work on runs.
func (o *seriesAggOp) aggregate(a *expr.Agg, tags map[int16]int) bool {
	if a.Distinct || a.Filter != nil || len(a.ArgSorts) > 0 || len(a.Direct) > 0 || a.Proc.Namespace != sqltypes.NamespaceCatalog || a.VariadicArray {
		return false
	}
	col := -1
	if len(a.Args) > 0 {
		c, ok := a.Args[0].(*expr.Col)
		if !ok {
			return false
		}
		attr := o.scan.Attrs[c.Idx]
		if _, tag := tags[attr]; tag || attr <= 0 {
			return false
		}
		for i, have := range o.spec.Cols {
			if have == attr {
				col = i
			}
		}
		if col < 0 {
			col = len(o.spec.Cols)
			o.spec.Cols = append(o.spec.Cols, attr)
		}
	}
	var fn runAgg
	switch {
	case (a.Proc.Name == "first" || a.Proc.Name == "last") && len(a.Args) == 2 && o.isTime(a.Args[1]):
		fn = &edgeAgg{last: a.Proc.Name == "last"}
	case len(a.Args) > 1:
		return false
	default:
		typed, _ := o.x.typedAgg(a)
		if fn, _ = typed.(runAgg); fn == nil {
			return false
		}
		if _, ok := fn.(*numericAgg); ok && a.Proc.ArgTypes[0] == sqltypes.OIDNumeric {
			return false
		}
	}
	o.fns, o.cols = append(o.fns, fn), append(o.cols, col)
	return true
}

func (o *seriesAggOp) open() error {
	o.using, o.loaded, o.at, o.rows = false, false, 0, 0
	o.mem.release()
	o.prefixes, o.tags, o.index, o.groups = map[string]int32{}, nil, map[seriesGroup]int32{}, nil
	for _, f := range o.fns {
		f.reset()
	}
	return nil
}

func (o *seriesAggOp) close() {
	if o.using {
		o.plain.close()
	}
	o.mem.release()
}

func (o *seriesAggOp) next() (*batch, error) {
	if !o.loaded && !o.using {
		if err := o.load(); err != nil {
			return nil, err
		}
	}
	if o.using {
		return o.plain.next()
	}
	return o.emit()
}

// load reads everything.
func (o *seriesAggOp) load() error {
	if len(o.p.GroupBy) == 0 { // one group, even without rows
		o.group(0, 0)
	}
	if o.conds != nil {
		none, err := o.conds.fill(&o.spec)
		if err != nil {
			return err
		}
		if none {
			o.loaded = true
			return nil
		}
	}
	o.peers = o.plain.peers
	if o.spec.Cluster = o.x.wholeCluster(); o.spec.Cluster && o.peers == nil {
		o.using = true
		return o.plain.open()
	}
	o.spec.Partial = o.peers != nil
	if o.bucket >= 0 {
		if ok, err := o.prepareBuckets(); err != nil || !ok {
			if err == nil {
				o.using = true
				err = o.plain.open()
			}
			return err
		}
	}
	sc, err := o.x.view.Scan(o.x.ctx, o.spec)
	if err != nil {
		return err
	}
	defer sc.Close()
	runs, ok := sc.(engine.SeriesScanner)
	if !ok || !runs.HasRuns() {
		o.using = true
		return o.plain.open()
	}
	tell := scanOp{x: o.x, p: o.scan, sc: sc}
	tell.tell()
	var answers []engine.PeerRows
	if o.peers != nil {
		if answers, err = o.peers.ask(); err != nil {
			return err
		}
		defer closePeers(answers)
	}
	if err := o.consume(runs); err != nil {
		return err
	}
	if st := o.x.stats[o.scan]; st != nil {
		st.Loops, st.Rows = st.Loops+1, st.Rows+o.rows
		if d, ok := sc.(interface{ Detail() map[string]int64 }); ok {
			st.Detail = d.Detail()
		}
	}
	if len(answers) > 0 {
		if err := o.mergePeers(answers); err != nil {
			return err
		}
	}
	o.loaded = true
	return nil
}

// prepareBuckets evaluates the bucket function's arguments; false when one is NULL.
func (o *seriesAggOp) prepareBuckets() (bool, error) {
	o.inv = &sqltypes.Call{Env: o.x.env, Proc: o.call.Proc, RetType: o.call.Typ}
	o.argVals = o.argVals[:0]
	for _, p := range o.args {
		d := sqltypes.Datum{}
		if p != nil {
			var err error
			if d, err = o.x.scalar(p); err != nil || d.Null {
				return false, err
			}
		}
		o.argVals = append(o.argVals, d)
	}
	o.fixed = sqltypes.Buckets{}
	b, err := o.call.Proc.Buckets(o.argVals)
	if err != nil {
		return false, err
	}
	if b.Months == 0 && b.Width > 0 && b.Width < 1<<60 {
		b.Origin %= b.Width
		o.fixed = b
	}
	return true, nil
}

// bucketOf is the bucket [start, end) of a time.
func (o *seriesAggOp) bucketOf(t int64) (start, end int64, err error) {
	if w := o.fixed.Width; w > 0 && t > -1<<61 && t < 1<<61 {
		d := t - o.fixed.Origin
		r := d % w
		if r < 0 {
			r += w
		}
		return t - r, t - r + w, nil
	}
	o.argVals[1] = sqltypes.Int(t)
	d, err := o.inv.Proc.Fn(o.inv, o.argVals)
	if err != nil {
		return 0, 0, err
	}
	o.argVals[1] = d
	e, err := o.inv.Proc.NextBucket(o.inv, o.argVals)
	if err != nil { // the last bucket that there is
		return d.I, math.MaxInt64, nil
	}
	return d.I, e.I, nil
}

func (o *seriesAggOp) consume(runs engine.SeriesScanner) error {
	prefix, skip := int32(0), false
	var own []sqltypes.Datum
	first := true
	last := int32(-1)
	for n := 0; ; n++ {
		if n&63 == 0 {
			if err := o.x.cancelled(); err != nil {
				return err
			}
			if err := o.account(); err != nil {
				return err
			}
		}
		r, err := runs.NextRun()
		if err != nil {
			return err
		}
		if r == nil {
			return o.account()
		}
		if !r.Same || first {
			first, skip = false, false
			if o.spec.KeyFilter != nil { // the store keeps series whose test fails
				keep, err := o.spec.KeyFilter(r.Tags)
				if err != nil {
					return err
				}
				skip = !keep
			}
			own = own[:0]
			for _, t := range o.tagAt {
				if t >= 0 {
					own = append(own, r.Tags[t])
				}
			}
			prefix = o.prefix(own)
		}
		if skip {
			continue
		}
		o.rows += int64(len(r.Time))
		t := r.Time
		for at := 0; at < len(t); {
			start, end := int64(0), int64(math.MaxInt64)
			if o.bucket >= 0 {
				if start, end, err = o.bucketOf(t[at]); err != nil {
					return err
				}
			}
			to := at + 1
			if end > t[len(t)-1] {
				to = len(t)
			} else {
				for to < len(t) && t[to] < end {
					if to++; to-at > 64 {
						to += sort.Search(len(t)-to, func(k int) bool { return t[to+k] >= end })
						break
					}
				}
			}
			g := last + 1
			if int(g) >= len(o.groups) || o.groups[g] != (seriesGroup{start, prefix}) {
				g = o.group(start, prefix)
			}
			last = g
			for k, f := range o.fns {
				c := &noColumn
				if o.cols[k] >= 0 {
					c = &r.Cols[o.cols[k]]
				}
				if err := f.stepRun(g, c, t, at, to); err != nil {
					return err
				}
			}
			at = to
		}
	}
}

var noColumn engine.SeriesColumn

// prefix numbers the GROUP BY tags of a series.
func (o *seriesAggOp) prefix(tags []sqltypes.Datum) int32 {
	var key []byte
	for _, d := range tags {
		if d.Null {
			key = append(key, 0)
			continue
		}
		key = append(key, 1)
		key = appendInt64(key, int64(len(d.S)))
		key = appendInt64(append(key, d.S...), d.I)
	}
	n, ok := o.prefixes[string(key)]
	if !ok {
		n = int32(len(o.tags))
		o.prefixes[string(key)] = n
		o.tags = append(o.tags, slices.Clone(tags))
	}
	return n
}

func appendInt64(b []byte, v int64) []byte {
	return append(b, byte(v>>56), byte(v>>48), byte(v>>40), byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// group finds or makes a group.
func (o *seriesAggOp) group(bucket int64, prefix int32) int32 {
	k := seriesGroup{bucket, prefix}
	g, ok := o.index[k]
	if !ok {
		g = int32(len(o.groups))
		o.groups = append(o.groups, k)
		o.index[k] = g
		for _, f := range o.fns {
			f.resize(len(o.groups))
		}
	}
	return g
}

// account charges the groups to the query.
func (o *seriesAggOp) account() error {
	if len(o.groups) > math.MaxInt32-expr.BatchSize {
		return pgerror.New(pgerror.ProgramLimitExceeded, "too many groups")
	}
	total := int64(len(o.groups))*64 + int64(len(o.tags))*64
	for _, f := range o.fns {
		total += f.bytes()
	}
	return o.mem.grow(total - o.mem.used)
}

func (o *seriesAggOp) emit() (*batch, error) {
	n := min(expr.BatchSize, len(o.groups)-o.at)
	if n <= 0 {
		return nil, nil
	}
	o.out.reset()
	for i := range n {
		g := o.groups[o.at+i]
		k := 0
		for c, t := range o.tagAt {
			d := sqltypes.Int(g.bucket)
			if t >= 0 {
				d = o.tags[g.prefix][k]
				k++
			}
			o.out.Cols[c].Set(i, d)
		}
		for k, f := range o.fns {
			d, err := f.final(o.at+i, nil)
			if err != nil {
				return nil, err
			}
			o.out.Cols[len(o.tagAt)+k].Set(i, d)
		}
	}
	o.out.N = n
	o.at += n
	return o.out, nil
}
