package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// hashJoinOp joins by a hash table of the right side. When that outgrows
// work_mem both sides are split by hash into files and joined pair by pair.
type hashJoinOp struct {
	x           *Execution
	kind        planner.JoinKind
	nullAware   bool
	left, right built
	rused       need
	lkeys       *keyEval
	rkeys       *keyEval
	keys        *hashKeys
	rkinds      []sqltypes.Kind // right columns, refs, computed keys
	rkeyAt      []int
	out         *joinOut

	mem     budget
	tasks   []joinTask
	store   *store
	table   *joinTable
	seen    expr.Bitmap // right rows that matched (right and full joins)
	probe   *joinInput
	cur     *batch
	sel     []uint16
	kvecs   []*expr.Vec
	heads   []int32
	pos     int
	link    int32
	started bool
	tail    int // next right row to look at for unmatched ones, -1: not yet
	rows    []int32
	rNull   bool // right side has a NULL key (null-aware anti join)
	rAny    bool // right side has a row
	batches int  // for EXPLAIN
	scratch []*expr.Vec
}

// joinTask is a pair of inputs to join: the operators themselves or two files.
type joinTask struct {
	build, probe *joinInput
	depth        int
}

const (
	joinPartitions = 32
	joinMaxDepth   = 5
)

func (x *Execution) buildHashJoin(p *planner.HashJoin, used need) (built, error) {
	lw, rw := len(p.Left.Out()), len(p.Right.Out())
	all, lused, rused := joinColumns(used, lw, rw, p.Kind, p.Cond)
	pairs := all
	lused.add(p.LeftKeys...)
	rused = rused.copy(rw)
	rused.add(p.RightKeys...)
	left, err := x.build(p.Left, lused)
	if err != nil {
		return built{}, err
	}
	right, err := x.build(p.Right, rused)
	if err != nil {
		return built{}, err
	}
	o := &hashJoinOp{x: x, kind: p.Kind, nullAware: p.NullAware, left: left, right: right, mem: budget{x: x},
		heads: make([]int32, expr.BatchSize)}
	types := make([]sqltypes.ColumnType, len(p.LeftKeys))
	for i, k := range p.LeftKeys {
		types[i] = k.Type()
	}
	if o.keys, err = x.newHashKeys(types); err != nil {
		return built{}, err
	}
	if o.lkeys, err = x.newKeyEval(p.LeftKeys); err != nil {
		return built{}, err
	}
	if o.rkeys, err = x.newKeyEval(p.RightKeys); err != nil {
		return built{}, err
	}
	if o.out, err = x.newJoinOut(p.Kind, left, right, pairs, p.Cond); err != nil {
		return built{}, err
	}
	o.rkinds = append(append([]sqltypes.Kind{}, right.kinds...), refKinds(len(right.slots))...)
	for i, k := range p.RightKeys {
		if c := o.rkeys.cols[i]; c >= 0 {
			o.rkeyAt = append(o.rkeyAt, c)
			continue
		}
		o.rkeyAt = append(o.rkeyAt, len(o.rkinds))
		o.rkinds = append(o.rkinds, x.kind(k.Type()))
	}
	o.rused = rused.copy(len(o.rkinds))
	for i := rw; i < len(o.rkinds); i++ {
		o.rused[i] = true
	}
	return o.out.built(o), nil
}

func (o *hashJoinOp) open() error {
	o.reset()
	o.tasks = append(o.tasks, joinTask{build: &joinInput{op: o.right.op}, probe: &joinInput{op: o.left.op}})
	return nil
}

func (o *hashJoinOp) reset() {
	for _, t := range o.tasks {
		t.build.drop()
		t.probe.drop()
	}
	o.tasks, o.store, o.table, o.cur, o.probe, o.seen = nil, nil, nil, nil, nil, nil
	o.started, o.rNull, o.rAny, o.batches = false, false, false, 0
	o.mem.release()
}

func (o *hashJoinOp) close() {
	o.reset()
	o.left.op.close()
	o.right.op.close()
}

func (o *hashJoinOp) next() (*batch, error) {
	for {
		if !o.started {
			ok, err := o.startTask()
			if err != nil || !ok {
				return nil, err
			}
		}
		b, err := o.step()
		if err != nil || b != nil {
			return b, err
		}
		o.started = false
		o.probe.drop()
		o.store, o.table, o.seen = nil, nil, nil
		o.mem.release()
	}
}

// startTask builds the table of the next pair of inputs; false: none is left.
func (o *hashJoinOp) startTask() (bool, error) {
	for len(o.tasks) > 0 {
		t := o.tasks[len(o.tasks)-1]
		o.tasks = o.tasks[:len(o.tasks)-1]
		o.store = newStore(o.rkinds, o.rused)
		split, err := o.buildTable(&t)
		if err != nil {
			return false, err
		}
		if split {
			continue
		}
		o.batches++
		o.probe, o.cur, o.tail, o.started = t.probe, nil, -1, true
		if o.kind == planner.JoinRight || o.kind == planner.JoinFull {
			o.seen = make(expr.Bitmap, (o.store.n+64)>>6)
		}
		if o.store.n == 0 && (o.kind == planner.JoinInner || o.kind == planner.JoinRight || o.kind == planner.JoinSemi) {
			o.started = false // nothing can come of it
			o.probe.drop()
			continue
		}
		if t.depth == 0 && o.nullAware && o.rNull {
			return false, nil // x NOT IN (…, NULL) is never true
		}
		if err := o.probe.open(); err != nil {
			return false, err
		}
		return true, nil
	}
	return false, nil
}

// buildTable loads the right input; when it does not fit it splits both inputs
// into new tasks and answers true.
func (o *hashJoinOp) buildTable(t *joinTask) (split bool, err error) {
	if err := t.build.open(); err != nil {
		return false, err
	}
	defer t.build.drop()
	for {
		b, err := t.build.next()
		if err != nil {
			return false, err
		}
		if b == nil {
			break
		}
		if err := o.x.cancelled(); err != nil {
			return false, err
		}
		grown, err := o.keep(b)
		if err != nil {
			return false, err
		}
		if err := o.mem.grow(grown + joinTableBytes(b.Rows())); err != nil {
			return false, err
		}
		if o.mem.over() && t.depth < joinMaxDepth {
			return true, o.split(t)
		}
	}
	o.table = newJoinTable(o.keys, o.store, o.rkeyAt)
	return false, nil
}

// keep adds a right batch with its keys to the store.
func (o *hashJoinOp) keep(b *batch) (int64, error) {
	keys, err := o.rkeys.eval(b)
	if err != nil {
		return 0, err
	}
	sel := b.Selection()
	o.rAny = true
	if o.nullAware && !o.rNull {
		for _, i := range sel {
			o.rNull = o.rNull || anyNull(keys, int(i))
		}
	}
	cols := b.all(o.scratch)
	for k, c := range o.rkeys.cols {
		if c < 0 {
			cols = append(cols, keys[k])
		}
	}
	o.scratch = cols
	return o.store.append(cols, sel), nil
}

// split distributes the rows of the store and the rest of both inputs over files.
func (o *hashJoinOp) split(t *joinTask) error {
	build, err := o.newPartitions(t.depth)
	if err != nil {
		return err
	}
	probe, err := o.newPartitions(t.depth)
	if err != nil {
		return err
	}
	nr := len(o.right.kinds)
	var b batch
	for at := 0; at < o.store.n; at += expr.BatchSize {
		o.store.slice(at, min(expr.BatchSize, o.store.n-at), nr, &b)
		b.refs = b.refs[:refVecs*len(o.right.slots)]
		if err := build.add(&b, o.rkeys); err != nil {
			return err
		}
	}
	o.store = nil
	o.mem.release()
	for {
		b, err := t.build.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		o.rAny = true
		if o.nullAware && !o.rNull {
			keys, err := o.rkeys.eval(b)
			if err != nil {
				return err
			}
			for _, i := range b.Selection() {
				o.rNull = o.rNull || anyNull(keys, int(i))
			}
		}
		if err := build.add(b, o.rkeys); err != nil {
			return err
		}
	}
	if o.nullAware && o.rNull {
		return nil
	}
	if err := t.probe.open(); err != nil {
		return err
	}
	for {
		b, err := t.probe.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := probe.add(b, o.lkeys); err != nil {
			return err
		}
	}
	t.probe.drop()
	for i := range joinPartitions {
		bf, pf := build.files[i], probe.files[i]
		task := joinTask{depth: t.depth + 1,
			build: &joinInput{file: bf, width: nr}, probe: &joinInput{file: pf, width: len(o.left.kinds)}}
		if err := build.finish(i); err != nil {
			return err
		}
		if err := probe.finish(i); err != nil {
			return err
		}
		o.tasks = append(o.tasks, task)
	}
	return nil
}

// step yields the next batch of the current task, nil at its end.
func (o *hashJoinOp) step() (*batch, error) {
	for o.tail < 0 {
		if o.cur == nil {
			b, err := o.probe.next()
			if err != nil {
				return nil, err
			}
			if b == nil {
				o.tail = 0
				break
			}
			if err := o.x.cancelled(); err != nil {
				return nil, err
			}
			if o.kvecs, err = o.lkeys.eval(b); err != nil {
				return nil, err
			}
			o.cur, o.sel = b, b.Selection()
			o.out.begin(b)
			o.table.probe(o.kvecs, o.sel, o.heads)
			o.pos, o.link = 0, 0
			if o.out.cond == nil && (o.kind == planner.JoinSemi || o.kind == planner.JoinAnti) {
				for k, i := range o.sel {
					if o.heads[k] != 0 {
						o.out.mark(i)
					}
				}
				o.pos = len(o.sel)
			}
			if len(o.sel) > 0 && o.pos == 0 {
				o.link = o.heads[0]
			}
		}
		o.collect()
		b, err := o.out.emit(o.store, o.seen)
		if err != nil || b != nil {
			return b, err
		}
		if o.pos < len(o.sel) {
			continue
		}
		cur := o.cur
		o.cur = nil
		sel := o.sel
		if o.nullAware && o.rAny {
			sel = o.dropNullKeys(sel)
		}
		if b := o.out.rest(cur, sel); b != nil {
			return b, nil
		}
	}
	return o.unmatchedRight(), nil
}

// collect queues pairs until the output is full or the left batch is used up.
func (o *hashJoinOp) collect() {
	for o.pos < len(o.sel) {
		i := o.sel[o.pos]
		for o.link != 0 {
			if o.out.full() {
				return
			}
			o.out.add(i, o.link-1)
			o.link = o.table.after(o.link, o.kvecs, int(i))
		}
		if o.pos++; o.pos < len(o.sel) {
			o.link = o.heads[o.pos]
		}
	}
}

// dropNullKeys: NULL NOT IN (non-empty set) is not true.
func (o *hashJoinOp) dropNullKeys(sel []uint16) []uint16 {
	out := make([]uint16, 0, len(sel))
	for _, i := range sel {
		if !anyNull(o.kvecs, int(i)) {
			out = append(out, i)
		}
	}
	return out
}

func (o *hashJoinOp) unmatchedRight() *batch {
	if o.seen == nil {
		return nil
	}
	o.rows = o.rows[:0]
	for ; o.tail < o.store.n && len(o.rows) < expr.BatchSize; o.tail++ {
		if !o.seen.Get(o.tail) {
			o.rows = append(o.rows, int32(o.tail))
		}
	}
	if len(o.rows) == 0 {
		return nil
	}
	return o.out.rightRows(o.store, o.rows)
}

// joinInput is an operator or a file of rows.
type joinInput struct {
	op    operator
	file  *spillFile
	width int // visible columns in the file; refs follow
	r     *spillReader
	in    expr.Batch
	out   batch
}

func (j *joinInput) open() error {
	if j.op != nil {
		return j.op.open()
	}
	var err error
	j.r, err = j.file.reader()
	return err
}

func (j *joinInput) next() (*batch, error) {
	if j.op != nil {
		return j.op.next()
	}
	n, err := j.r.read(&j.in)
	if err != nil || n == 0 {
		return nil, err
	}
	j.out.N, j.out.Sel = n, nil
	j.out.Cols, j.out.refs = j.in.Cols[:j.width], j.in.Cols[j.width:]
	return &j.out, nil
}

// drop ends the use of the input.
func (j *joinInput) drop() {
	switch {
	case j == nil:
	case j.op != nil:
		j.op.close()
	case j.file != nil:
		j.file.remove()
		j.file = nil
	}
}

// partitions are the files one side of a join is split into.
type partitions struct {
	x       *Execution
	keys    *hashKeys
	depth   int
	files   [joinPartitions]*spillFile
	hashes  []uint64
	sels    [joinPartitions][]uint16
	scratch []*expr.Vec
	// Rows wait in small batches, so that a partition is not written row by row.
	wait [joinPartitions]*store
}

func (o *hashJoinOp) newPartitions(depth int) (*partitions, error) {
	p := &partitions{x: o.x, keys: o.keys, depth: depth, hashes: make([]uint64, expr.BatchSize)}
	for i := range p.files {
		f, err := o.x.spills.create()
		if err != nil {
			return nil, err
		}
		p.files[i] = f
	}
	return p, nil
}

func (p *partitions) add(b *batch, keys *keyEval) error {
	if err := p.x.cancelled(); err != nil {
		return err
	}
	vecs, err := keys.eval(b)
	if err != nil {
		return err
	}
	sel := b.Selection()
	p.keys.hash(vecs, sel, p.hashes)
	for i := range p.sels {
		p.sels[i] = p.sels[i][:0]
	}
	for k, i := range sel {
		part := p.hashes[k] >> (59 - 5*p.depth) & (joinPartitions - 1)
		p.sels[part] = append(p.sels[part], i)
	}
	p.scratch = b.all(p.scratch)
	for i, s := range p.sels {
		if len(s) == 0 {
			continue
		}
		w := p.wait[i]
		if w == nil {
			w = &store{cols: make([]*expr.Vec, len(p.scratch))}
			for c, v := range p.scratch {
				if v != nil {
					w.cols[c] = expr.NewVec(v.Kind)
				}
			}
			p.wait[i] = w
		}
		if w.n+len(s) > expr.BatchSize {
			if err := p.flush(i); err != nil {
				return err
			}
		}
		w.append(p.scratch, s)
	}
	return nil
}

func (p *partitions) flush(i int) error {
	w := p.wait[i]
	if w == nil || w.n == 0 {
		return nil
	}
	err := p.files[i].write(w.cols, expr.All(w.n))
	for _, v := range w.cols {
		if v != nil {
			v.Reset(v.Kind)
		}
	}
	w.n, w.bytes = 0, 0
	return err
}

func (p *partitions) finish(i int) error {
	if err := p.flush(i); err != nil {
		return err
	}
	p.wait[i] = nil
	return p.files[i].finish()
}
