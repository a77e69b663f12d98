package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// aggregateOp groups its input and computes aggregates. Plain and hashed
// grouping read the whole input first; sorted grouping hands out groups as they
// become complete. Past work_mem, rows of new groups go to files by hash and are
// aggregated afterwards.
type aggregateOp struct {
	x        *Execution
	p        *planner.Aggregate
	in       operator
	group    *keyEval
	types    []sqltypes.ColumnType
	gkinds   []sqltypes.Kind
	keys     *hashKeys // of all GROUP BY columns
	sets     []*groupSet
	inputs   []*aggInput
	sorted   bool
	mem      budget
	ids      []int32
	selBuf   []uint16
	out      *batch
	rows     []int32
	width    int // input columns
	inKinds  []sqltypes.Kind
	tasks    []joinTask
	spilled  *partitions
	depth    int
	loaded   bool
	setAt    int // set being handed out
	at       int // next group of it
	cur      *batch
	curSel   []uint16
	inDone   bool
	spilling bool      // for EXPLAIN
	peers    *peerAggs // nil: other nodes are not asked, or for rows
	asked    bool
}

// aggInput is what an aggregate reads of a batch.
type aggInput struct {
	agg    *expr.Agg
	args   *keyEval
	filter *expr.Program
	direct []*expr.Program
	vecs   []*expr.Vec
	sel    []uint16
	buf    []uint16
}

// groupSet is one grouping set with its groups and states.
type groupSet struct {
	cols  []int // indexes into GroupBy; all of them without GROUPING SETS
	table *groupTable
	keys  []*expr.Vec
	n     int
	aggs  []*aggRun
	masks []sqltypes.Datum // value of each GROUPING call
}

// aggRun is one aggregate's states over the groups of a set.
type aggRun struct {
	fn     aggFn
	direct [][]sqltypes.Datum // direct arguments by group
}

func (x *Execution) buildAggregate(p *planner.Aggregate) (built, error) {
	used := make(need, len(p.Input.Out()))
	used.add(p.GroupBy...)
	for _, a := range p.Aggs {
		used.add(a)
	}
	in, err := x.build(p.Input, used)
	if err != nil {
		return built{}, err
	}
	o := &aggregateOp{x: x, p: p, in: in.op, mem: budget{x: x}, ids: make([]int32, expr.BatchSize), width: len(in.kinds), inKinds: in.kinds,
		gkinds: x.exprKinds(p.GroupBy), sorted: p.Strategy == planner.AggSorted && p.Sets == nil && len(p.GroupBy) > 0}
	if o.group, err = x.newKeyEval(p.GroupBy); err != nil {
		return built{}, err
	}
	for _, e := range p.GroupBy {
		o.types = append(o.types, e.Type())
	}
	if o.keys, err = x.newHashKeys(o.types); err != nil {
		return built{}, err
	}
	for _, a := range p.Aggs {
		ai := &aggInput{agg: a}
		if ai.args, err = x.newKeyEval(a.Args); err != nil {
			return built{}, err
		}
		if ai.filter, err = x.compile(a.Filter); err != nil {
			return built{}, err
		}
		if ai.direct, err = x.compileAll(a.Direct); err != nil {
			return built{}, err
		}
		o.inputs = append(o.inputs, ai)
	}
	sets := p.Sets
	if sets == nil {
		all := make([]int, len(p.GroupBy))
		for i := range all {
			all[i] = i
		}
		sets = [][]int{all}
	}
	for _, cols := range sets {
		s, err := o.newSet(cols)
		if err != nil {
			return built{}, err
		}
		o.sets = append(o.sets, s)
	}
	kinds := append([]sqltypes.Kind{}, o.gkinds...)
	for _, a := range p.Aggs {
		kinds = append(kinds, x.kind(a.Type()))
	}
	for range p.Groupings {
		kinds = append(kinds, sqltypes.KInt)
	}
	o.out = ownBatch(kinds, nil, 0)
	o.peers = x.newPeerAggs(p)
	if s, err := x.seriesAggregate(p, o, kinds); err != nil || s != nil {
		return built{op: s, kinds: kinds}, err
	}
	return built{op: o, kinds: kinds}, nil
}

func (o *aggregateOp) newSet(cols []int) (*groupSet, error) {
	s := &groupSet{cols: cols, keys: make([]*expr.Vec, len(cols))}
	if len(cols) > 0 {
		types := make([]sqltypes.ColumnType, len(cols))
		kinds := make([]sqltypes.Kind, len(cols))
		for i, c := range cols {
			types[i], kinds[i] = o.types[c], o.gkinds[c]
		}
		keys, err := o.x.newHashKeys(types)
		if err != nil {
			return nil, err
		}
		s.table = newGroupTable(keys, kinds)
	}
	for _, ai := range o.inputs {
		fn, err := o.x.newAggFn(ai.agg)
		if err != nil {
			return nil, err
		}
		s.aggs = append(s.aggs, &aggRun{fn: fn})
	}
	for _, g := range o.p.Groupings {
		mask := int64(0)
		for _, c := range g.Cols {
			mask <<= 1
			in := false
			for _, have := range cols {
				in = in || have == c
			}
			if !in {
				mask |= 1
			}
		}
		s.masks = append(s.masks, sqltypes.Int(mask))
	}
	return s, nil
}

func (s *groupSet) reset() {
	if s.table != nil {
		s.table.reset()
	}
	s.n = 0
	for _, a := range s.aggs {
		a.fn.reset()
		a.direct = nil
	}
}

func (o *aggregateOp) open() error {
	o.dropTasks()
	o.mem.release()
	for _, s := range o.sets {
		s.reset()
		if len(s.cols) == 0 { // the empty grouping has one group even without rows
			s.n = 1
			for _, a := range s.aggs {
				a.fn.resize(1)
			}
		}
	}
	o.asked = false
	o.loaded, o.setAt, o.at, o.cur, o.inDone, o.depth, o.spilled = false, 0, 0, nil, false, 0, nil
	return o.in.open()
}

func (o *aggregateOp) close() {
	o.in.close()
	o.dropTasks()
	o.mem.release()
}

func (o *aggregateOp) dropTasks() {
	for _, t := range o.tasks {
		t.build.drop()
	}
	o.tasks = nil
}

func (o *aggregateOp) next() (*batch, error) {
	if o.sorted {
		return o.nextSorted()
	}
	for {
		if !o.loaded {
			if o.peers != nil && !o.asked {
				o.asked = true
				if err := o.mergePeers(); err != nil {
					return nil, err
				}
			}
			if err := o.load(&joinInput{op: o.in}); err != nil {
				return nil, err
			}
			o.in.close()
			o.loaded = true
		}
		for o.setAt < len(o.sets) {
			if b, err := o.emit(o.sets[o.setAt]); err != nil || b != nil {
				return b, err
			}
			o.setAt++
			o.at = 0
		}
		if len(o.tasks) == 0 {
			return nil, nil
		}
		t := o.tasks[len(o.tasks)-1]
		o.tasks = o.tasks[:len(o.tasks)-1]
		o.sets[0].reset()
		o.mem.release()
		o.depth, o.setAt, o.at = t.depth, 0, 0
		if err := t.build.open(); err != nil {
			return nil, err
		}
		err := o.load(t.build)
		t.build.drop()
		if err != nil {
			return nil, err
		}
	}
}

// load aggregates a whole input.
func (o *aggregateOp) load(in *joinInput) error {
	for {
		b, err := in.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := o.x.cancelled(); err != nil {
			return err
		}
		if err := o.consume(b); err != nil {
			return err
		}
	}
	if o.spilled != nil {
		p := o.spilled
		o.spilled = nil
		for i, f := range p.files {
			if err := p.finish(i); err != nil {
				return err
			}
			if f.rows == 0 {
				f.remove()
				continue
			}
			o.tasks = append(o.tasks, joinTask{depth: o.depth + 1, build: &joinInput{file: f, width: o.width}})
		}
	}
	return nil
}

// consume adds a batch to every grouping set.
func (o *aggregateOp) consume(b *batch) error {
	keys, err := o.group.eval(b)
	if err != nil {
		return err
	}
	sel := b.Selection()
	for _, s := range o.sets {
		part := sel
		ids := o.ids
		if s.table == nil {
			ids = nil
		} else {
			for i, c := range s.cols {
				s.keys[i] = keys[c]
			}
			s.table.lookup(s.keys, sel, ids, o.spilled != nil)
			if o.spilled != nil {
				if part, err = o.divert(b, sel, ids); err != nil {
					return err
				}
			}
			s.n = s.table.n()
		}
		if err := o.step(s, b, part, ids); err != nil {
			return err
		}
	}
	return o.account()
}

// divert writes the rows of groups that are not in memory to files and returns the others.
func (o *aggregateOp) divert(b *batch, sel []uint16, ids []int32) ([]uint16, error) {
	if o.selBuf == nil {
		o.selBuf = make([]uint16, 0, expr.BatchSize)
	}
	keep, away := o.selBuf[:0], make([]uint16, 0, len(sel))
	for _, i := range sel {
		if ids[i] < 0 {
			away = append(away, i)
		} else {
			keep = append(keep, i)
		}
	}
	if len(away) > 0 {
		out := batch{Batch: expr.Batch{N: b.N, Sel: away, Cols: b.Cols}}
		if err := o.spilled.add(&out, o.group); err != nil {
			return nil, err
		}
	}
	return keep, nil
}

// step gives the rows sel to the aggregates of a set.
func (o *aggregateOp) step(s *groupSet, b *batch, sel []uint16, ids []int32) error {
	in := batch{Batch: expr.Batch{N: b.N, Sel: sel, Cols: b.Cols}}
	if len(sel) == 0 {
		return nil
	}
	for k, ai := range o.inputs {
		run := s.aggs[k]
		run.fn.resize(s.n)
		if err := ai.load(o.x, &in, sel); err != nil {
			return err
		}
		if len(ai.direct) > 0 {
			if err := o.keepDirect(run, ai, &in, sel, ids); err != nil {
				return err
			}
		}
		if len(ai.sel) > 0 {
			if err := run.fn.step(ai.vecs, ai.sel, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// load evaluates filter and arguments over the rows sel of a batch.
func (ai *aggInput) load(x *Execution, in *batch, sel []uint16) error {
	ai.sel = sel
	src := in
	if ai.filter != nil {
		if ai.buf == nil {
			ai.buf = make([]uint16, 0, expr.BatchSize)
		}
		var err error
		if ai.sel, err = ai.filter.Filter(&in.Batch, ai.buf, &x.params, x.env); err != nil {
			return err
		}
		src = &batch{Batch: in.Batch}
		src.Sel = ai.sel
	}
	var err error
	ai.vecs, err = ai.args.eval(src)
	return err
}

// keepDirect evaluates the direct arguments on the first row of each group.
func (o *aggregateOp) keepDirect(run *aggRun, ai *aggInput, b *batch, sel []uint16, ids []int32) error {
	row := make([]sqltypes.Datum, len(b.Cols))
	for _, i := range sel {
		g := 0
		if ids != nil {
			g = int(ids[i])
		}
		for len(run.direct) <= g {
			run.direct = append(run.direct, nil)
		}
		if run.direct[g] != nil {
			continue
		}
		b.Row(int(i), row)
		vals := make([]sqltypes.Datum, len(ai.direct))
		for k, p := range ai.direct {
			d, err := p.Row(row, &o.x.params, o.x.env)
			if err != nil {
				return err
			}
			vals[k] = d
		}
		run.direct[g] = vals
	}
	return nil
}

// account compares the memory of all states with the budget and starts to spill when it is too much.
func (o *aggregateOp) account() error {
	if err := o.mem.grow(o.stateBytes() - o.mem.used); err != nil {
		return err
	}
	if o.mem.over() && o.spilled == nil && len(o.sets) == 1 && o.sets[0].table != nil && !o.sorted && o.depth < joinMaxDepth {
		j := &hashJoinOp{x: o.x, keys: o.keys}
		p, err := j.newPartitions(o.depth)
		if err != nil {
			return err
		}
		o.spilled, o.spilling = p, true
	}
	return nil
}

// stateBytes is the memory of all groups.
func (o *aggregateOp) stateBytes() int64 {
	total := int64(0)
	for _, s := range o.sets {
		if s.table != nil {
			total += s.table.bytes()
		}
		for _, a := range s.aggs {
			total += a.fn.bytes()
		}
	}
	return total
}

// emit hands out the next groups of a set, nil when all are out.
func (o *aggregateOp) emit(s *groupSet) (*batch, error) {
	n := min(expr.BatchSize, s.n-o.at)
	if n <= 0 {
		return nil, nil
	}
	o.out.reset()
	o.rows = o.rows[:0]
	for k := range n {
		o.rows = append(o.rows, int32(o.at+k))
	}
	ng := len(o.gkinds)
	in := make([]bool, ng)
	for i, c := range s.cols {
		in[c] = true
		o.out.Cols[c].GatherRows(0, s.table.store.cols[i], o.rows)
	}
	for c := range ng {
		if !in[c] {
			fillNull(o.out.Cols[c], n)
		}
	}
	for k, a := range s.aggs {
		v := o.out.Cols[ng+k]
		for i := range n {
			g := o.at + i
			var direct []sqltypes.Datum
			if g < len(a.direct) {
				direct = a.direct[g]
			}
			if direct == nil && len(o.inputs[k].direct) > 0 {
				if err := o.directWithoutRows(k, &direct); err != nil {
					return nil, err
				}
			}
			d, err := a.fn.final(g, direct)
			if err != nil {
				return nil, err
			}
			v.Set(i, d)
		}
	}
	for k, m := range s.masks {
		o.out.Cols[ng+len(s.aggs)+k].Fill(m, expr.All(n))
	}
	o.out.N = n
	o.at += n
	return o.out, nil
}

// directWithoutRows evaluates direct arguments for a group without rows, where they can only be constants.
func (o *aggregateOp) directWithoutRows(k int, out *[]sqltypes.Datum) error {
	row := make([]sqltypes.Datum, o.width)
	for i := range row {
		row[i] = sqltypes.Null
	}
	for _, p := range o.inputs[k].direct {
		d, err := p.Row(row, &o.x.params, o.x.env)
		if err != nil {
			return err
		}
		*out = append(*out, d)
	}
	return nil
}

// nextSorted groups sorted input, handing out complete groups between batches.
func (o *aggregateOp) nextSorted() (*batch, error) {
	s := o.sets[0]
	for {
		if o.at < s.n && o.loaded {
			return o.emit(s)
		}
		if o.loaded { // all out: go on with the rest of the batch
			s.reset()
			o.at, o.loaded = 0, false
			o.mem.release()
			if o.inDone {
				return nil, nil
			}
		}
		if o.cur == nil {
			b, err := o.in.next()
			if err != nil {
				return nil, err
			}
			if b == nil {
				o.inDone, o.loaded = true, true
				if s.n == 0 {
					return nil, nil
				}
				continue
			}
			if err := o.x.cancelled(); err != nil {
				return nil, err
			}
			o.cur, o.curSel = b, b.Selection()
		}
		keys, err := o.group.eval(o.cur)
		if err != nil {
			return nil, err
		}
		sel := o.curSel
		// With enough groups at hand, stop where the next one begins.
		flush := s.n >= 256
		var k int
		for k = 0; k < len(sel); k++ {
			i := sel[k]
			same := false
			if k > 0 {
				same = o.keys.equal(keys, int(sel[k-1]), keys, int(i))
			} else if s.n > 0 {
				same = o.keys.equal(s.table.store.cols, s.n-1, keys, int(i))
			}
			if !same {
				if flush {
					break
				}
				s.table.add(keys, i)
				s.n = s.table.n()
			}
			o.ids[i] = int32(s.n - 1)
		}
		if err := o.step(s, o.cur, sel[:k], o.ids); err != nil {
			return nil, err
		}
		if err := o.account(); err != nil {
			return nil, err
		}
		if o.curSel = sel[k:]; len(o.curSel) == 0 {
			o.cur = nil
		} else {
			o.loaded = true
		}
	}
}
