package exec

import (
	"cmp"
	"container/heap"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// sortOp sorts its input in memory by normalized prefixes, keeping only the best
// rows when it knows how many are wanted, else by runs on disk.
type sortOp struct {
	x      *Execution
	in     operator
	orders []*sortOrder
	eval   *keyEval
	top    *expr.Program
	kinds  []sqltypes.Kind // columns, refs, then computed keys
	width  int             // visible columns
	slots  int
	used   need
	keyAt  []int // column of the store that holds key k

	mem     budget
	rows    *store
	entries []sortEntry
	limit   int // -1: no top-N
	heap    *boundedHeap[sortEntry]
	cutoff  uint64
	hasCut  bool
	runs    []*spillFile
	merge   *runMerger
	at      int
	out     *batch
	scratch []*expr.Vec
	rowBuf  []int32
	selBuf  []uint16
	done    bool
	info    sortInfo
}

// sortInfo is what EXPLAIN ANALYZE tells of a sort.
type sortInfo struct {
	Method string
	Bytes  int64
	Disk   bool
}

type sortEntry struct {
	prefix uint64
	row    int32
}

func (x *Execution) buildSort(p *planner.Sort, used need) (built, error) {
	width := len(p.Input.Out())
	if used != nil {
		used = used.copy(width)
		for _, k := range p.Keys {
			used.add(k.Expr)
		}
	}
	in, err := x.build(p.Input, used)
	if err != nil {
		return built{}, err
	}
	o := &sortOp{x: x, in: in.op, width: width, slots: len(in.slots), mem: budget{x: x}}
	if o.orders, err = x.newSortOrders(p.Keys); err != nil {
		return built{}, err
	}
	if o.eval, err = x.newKeyEval(sortExprs(p.Keys)); err != nil {
		return built{}, err
	}
	if o.top, err = x.compile(p.Top); err != nil {
		return built{}, err
	}
	o.kinds = append(append([]sqltypes.Kind{}, in.kinds...), refKinds(len(in.slots))...)
	for i, k := range p.Keys {
		if c := o.eval.cols[i]; c >= 0 {
			o.keyAt = append(o.keyAt, c)
			continue
		}
		o.keyAt = append(o.keyAt, len(o.kinds))
		o.kinds = append(o.kinds, x.kind(k.Expr.Type()))
	}
	o.used = used.copy(len(o.kinds))
	for i := width; i < len(o.kinds); i++ {
		o.used[i] = true
	}
	if used == nil {
		o.used = nil
	}
	return built{op: o, kinds: in.kinds, slots: in.slots}, nil
}

func (o *sortOp) open() error {
	o.close()
	o.rows = newStore(o.kinds, o.used)
	o.limit, o.at, o.done, o.hasCut, o.heap = -1, 0, false, false, nil
	if o.top != nil {
		d, err := o.x.scalar(o.top)
		if err != nil {
			return err
		}
		if !d.Null && d.I >= 0 && d.I <= 1<<20 {
			o.limit = int(d.I)
		}
	}
	if err := o.in.open(); err != nil {
		return err
	}
	if o.out == nil {
		o.out = ownBatch(o.kinds[:o.width], o.used, o.slots)
	}
	return o.load()
}

// load reads the whole input.
func (o *sortOp) load() error {
	for {
		b, err := o.in.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := o.x.cancelled(); err != nil {
			return err
		}
		if err := o.add(b); err != nil {
			return err
		}
	}
	o.in.close()
	if len(o.runs) > 0 {
		if o.rows.n > 0 {
			if err := o.flush(); err != nil {
				return err
			}
		}
		o.info = sortInfo{Method: "external merge", Disk: true}
		for _, r := range o.runs {
			o.info.Bytes += r.size
		}
		var err error
		o.merge, err = newRunMerger(o.runs, o.orders, o.keyAt)
		return err
	}
	o.info = sortInfo{Method: "quicksort", Bytes: o.mem.peak}
	if o.limit >= 0 {
		o.info.Method = "top-N heapsort"
	}
	return o.sortRows()
}

func (o *sortOp) add(b *batch) error {
	keys, err := o.eval.eval(b)
	if err != nil {
		return err
	}
	sel := b.Selection()
	if o.hasCut { // rows beyond the worst one kept cannot get in
		o.selBuf = o.selBuf[:0]
		for _, i := range sel {
			if o.orders[0].prefix(keys[0], int(i)) <= o.cutoff {
				o.selBuf = append(o.selBuf, i)
			}
		}
		if sel = o.selBuf; len(sel) == 0 {
			return nil
		}
	}
	cols := b.all(o.scratch)
	for k, c := range o.eval.cols {
		if c < 0 {
			cols = append(cols, keys[k])
		}
	}
	o.scratch = cols
	from := o.rows.n
	grown := o.rows.append(cols, sel)
	for k, i := range sel {
		p := uint64(0)
		if len(keys) > 0 {
			p = o.orders[0].prefix(keys[0], int(i))
		}
		o.entries = append(o.entries, sortEntry{p, int32(from + k)})
	}
	if len(o.orders) > 0 && o.orders[0].class == keyNumeric {
		o.fixNumeric()
	}
	if err := o.mem.grow(grown + 16*int64(len(sel))); err != nil {
		return err
	}
	if o.limit > 0 {
		return o.keepBest()
	}
	if o.mem.over() && o.limit < 0 {
		return o.flush()
	}
	return nil
}

// fixNumeric makes prefixes comparable again when a numeric key has lost its common scale.
func (o *sortOp) fixNumeric() {
	v := o.rows.cols[o.keyAt[0]]
	if v.Wide && o.orders[0].class == keyNumeric {
		o.orders[0].class = keyOther
		again := func(entries []sortEntry) {
			for i := range entries {
				entries[i].prefix = o.orders[0].prefix(v, int(entries[i].row))
			}
		}
		again(o.entries)
		if o.heap != nil {
			again(o.heap.a)
		}
		o.hasCut = false
	}
}

func (o *sortOp) compareEntries(a, b sortEntry) int {
	if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
		return c
	}
	for k, ord := range o.orders {
		v := o.rows.cols[o.keyAt[k]]
		if c := ord.compare(v, int(a.row), v, int(b.row)); c != 0 {
			return c
		}
	}
	return 0
}

func (o *sortOp) sortRows() error {
	if o.heap != nil {
		o.entries = o.heap.sorted()
		return o.orderErr()
	}
	quickSort(o.entries, o.compareEntries)
	if o.limit >= 0 && len(o.entries) > o.limit {
		o.entries = o.entries[:o.limit]
	}
	return o.orderErr()
}

// keepBest gives the rows that came last to the heap, which is made as soon as
// there are more than twice the rows that are wanted.
func (o *sortOp) keepBest() error {
	if o.heap == nil {
		if len(o.entries) <= 2*o.limit {
			return nil
		}
		o.heap = &boundedHeap[sortEntry]{bound: o.limit, compare: o.compareEntries}
	}
	for _, e := range o.entries {
		o.heap.offer(e)
	}
	o.entries = o.entries[:0]
	o.cutoff, o.hasCut = o.heap.a[0].prefix, true
	if err := o.orderErr(); err != nil {
		return err
	}
	if o.rows.n >= 2*o.limit+4*expr.BatchSize {
		return o.compact()
	}
	return nil
}

// orderErr is an error that a USING operator raised while sorting.
func (o *sortOp) orderErr() error {
	for _, ord := range o.orders {
		if ord.lt != nil && ord.lt.err != nil {
			return ord.lt.err
		}
	}
	return nil
}

// compact drops the rows that are not in the heap.
func (o *sortOp) compact() error {
	kept := newStore(o.kinds, o.used)
	o.rowBuf = o.rowBuf[:0]
	for i := range o.heap.a {
		o.rowBuf = append(o.rowBuf, o.heap.a[i].row)
		o.heap.a[i].row = int32(i)
	}
	for i, c := range kept.cols {
		if c != nil {
			c.Ensure(len(o.rowBuf))
			c.GatherRows(0, o.rows.cols[i], o.rowBuf)
			kept.bytes += c.Bytes(len(o.rowBuf))
		}
	}
	kept.n = len(o.rowBuf)
	o.rows = kept
	o.mem.release()
	return o.mem.grow(kept.bytes + 16*int64(kept.n))
}

// flush writes the rows in memory to a sorted run.
func (o *sortOp) flush() error {
	if err := o.sortRows(); err != nil {
		return err
	}
	f, err := o.x.spills.create()
	if err != nil {
		return err
	}
	o.runs = append(o.runs, f)
	b := ownBatch(o.kinds, o.used, 0)
	for at := 0; at < len(o.entries); at += expr.BatchSize {
		n := min(expr.BatchSize, len(o.entries)-at)
		b.reset()
		o.rowBuf = o.rowBuf[:0]
		for _, e := range o.entries[at : at+n] {
			o.rowBuf = append(o.rowBuf, e.row)
		}
		o.rows.gather(b.Cols, 0, o.rowBuf)
		b.N = n
		if err := f.write(b.Cols, expr.All(n)); err != nil {
			return err
		}
	}
	if err := f.finish(); err != nil {
		return err
	}
	o.rows.reset()
	o.entries = o.entries[:0]
	o.mem.release()
	return nil
}

func (o *sortOp) next() (*batch, error) {
	if o.merge != nil {
		return o.nextMerged()
	}
	if o.rows == nil || o.at >= len(o.entries) {
		return nil, nil
	}
	n := min(expr.BatchSize, len(o.entries)-o.at)
	o.rowBuf = o.rowBuf[:0]
	for _, e := range o.entries[o.at : o.at+n] {
		o.rowBuf = append(o.rowBuf, e.row)
	}
	o.at += n
	o.out.reset()
	o.scratch = o.out.all(o.scratch)
	for i, c := range o.scratch {
		if c != nil && o.rows.cols[i] != nil {
			c.GatherRows(0, o.rows.cols[i], o.rowBuf)
		}
	}
	o.out.N = n
	return o.out, nil
}

func (o *sortOp) nextMerged() (*batch, error) {
	if err := o.x.cancelled(); err != nil {
		return nil, err
	}
	o.out.reset()
	o.scratch = o.out.all(o.scratch)
	for o.out.N < expr.BatchSize {
		r, err := o.merge.next()
		if err != nil {
			return nil, err
		}
		if r == nil {
			break
		}
		for i, c := range o.scratch {
			if c != nil {
				c.Set(o.out.N, r.b.Cols[i].Datum(r.at-1))
			}
		}
		o.out.N++
	}
	if o.out.N == 0 {
		return nil, nil
	}
	return o.out, nil
}

func (o *sortOp) close() {
	o.in.close()
	o.rows, o.entries, o.merge, o.heap = nil, nil, nil, nil
	for _, r := range o.runs {
		r.remove()
	}
	o.runs = nil
	o.mem.release()
}

// runMerger merges sorted runs; ties go to the earlier run, which keeps the sort stable.
type runMerger struct {
	runs   []*runCursor
	orders []*sortOrder
	keyAt  []int
	last   *runCursor
}

type runCursor struct {
	f   *spillReader
	b   expr.Batch
	at  int // next row; after next(), at-1 is the current one
	idx int
}

func newRunMerger(files []*spillFile, orders []*sortOrder, keyAt []int) (*runMerger, error) {
	m := &runMerger{orders: orders, keyAt: keyAt}
	for i, f := range files {
		r, err := f.reader()
		if err != nil {
			return nil, err
		}
		c := &runCursor{f: r, idx: i}
		ok, err := c.fill()
		if err != nil {
			return nil, err
		}
		if ok {
			m.runs = append(m.runs, c)
		}
	}
	heap.Init(m)
	return m, nil
}

// fill reads the next batch when the current one is used up.
func (c *runCursor) fill() (bool, error) {
	if c.at < c.b.N {
		return true, nil
	}
	n, err := c.f.read(&c.b)
	c.at = 0
	return n > 0, err
}

// next returns the cursor whose row at-1 is the next in order, nil at the end.
func (m *runMerger) next() (*runCursor, error) {
	if m.last != nil {
		ok, err := m.last.fill()
		if err != nil {
			return nil, err
		}
		if ok {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
		m.last = nil
	}
	if len(m.runs) == 0 {
		return nil, nil
	}
	c := m.runs[0]
	c.at++
	m.last = c
	return c, nil
}

func (m *runMerger) Len() int      { return len(m.runs) }
func (m *runMerger) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *runMerger) Push(c any)    { m.runs = append(m.runs, c.(*runCursor)) }
func (m *runMerger) Pop() any {
	n := len(m.runs) - 1
	c := m.runs[n]
	m.runs = m.runs[:n]
	return c
}
func (m *runMerger) Less(i, j int) bool {
	a, b := m.runs[i], m.runs[j]
	for k, o := range m.orders {
		if c := o.compare(a.b.Cols[m.keyAt[k]], a.at, b.b.Cols[m.keyAt[k]], b.at); c != 0 {
			return c < 0
		}
	}
	return a.idx < b.idx
}
