package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// windowOp computes window functions over sorted input. It keeps the input, cuts
// it into partitions and adds one column per function.
type windowOp struct {
	x       *Execution
	in      built
	p       *planner.WindowAgg
	kinds   []sqltypes.Kind // stored columns: input, refs, computed ones
	extra   []*expr.Program // of the computed columns
	part    []int
	order   []int
	orders  []*sortOrder
	partKey *hashKeys
	funcs   []*windowFunc
	start   *expr.Program
	end     *expr.Program

	mem     budget
	rows    *store
	results []*expr.Vec
	loaded  bool
	at      int
	out     batch
	scratch []*expr.Vec
	view    []*expr.Vec
}

// windowFunc is one function with the columns that hold its arguments.
type windowFunc struct {
	w      *expr.Window
	args   []int
	filter int // column of FILTER, -1
	agg    aggFn
	kind   sqltypes.Kind
}

func (x *Execution) buildWindow(p *planner.WindowAgg, _ need) (built, error) {
	in, err := x.build(p.Input, nil)
	if err != nil {
		return built{}, err
	}
	o := &windowOp{x: x, in: in, p: p, mem: budget{x: x}}
	o.kinds = append(append([]sqltypes.Kind{}, in.kinds...), refKinds(len(in.slots))...)
	add := func(e expr.Expr) (int, error) {
		if c, ok := e.(*expr.Col); ok {
			return c.Idx, nil
		}
		prog, err := x.compile(e)
		if err != nil {
			return 0, err
		}
		o.extra = append(o.extra, prog)
		o.kinds = append(o.kinds, x.kind(e.Type()))
		return len(o.kinds) - 1, nil
	}
	var types []sqltypes.ColumnType
	for _, e := range p.PartitionBy {
		c, err := add(e)
		if err != nil {
			return built{}, err
		}
		o.part = append(o.part, c)
		types = append(types, e.Type())
	}
	if o.partKey, err = x.newHashKeys(types); err != nil {
		return built{}, err
	}
	for _, k := range p.OrderBy {
		c, err := add(k.Expr)
		if err != nil {
			return built{}, err
		}
		o.order = append(o.order, c)
	}
	if o.orders, err = x.newSortOrders(p.OrderBy); err != nil {
		return built{}, err
	}
	outKinds := append([]sqltypes.Kind{}, in.kinds...)
	for _, w := range p.Funcs {
		f := &windowFunc{w: w, filter: -1, kind: x.kind(w.Type())}
		for _, a := range w.Args {
			c, err := add(a)
			if err != nil {
				return built{}, err
			}
			f.args = append(f.args, c)
		}
		if w.Filter != nil {
			if f.filter, err = add(w.Filter); err != nil {
				return built{}, err
			}
		}
		if w.Proc.Kind == 'a' {
			agg := &expr.Agg{T: w.T, Proc: w.Proc, Args: w.Args, Star: w.Star, Collation: w.Collation}
			if f.agg, err = x.newAggFn(agg); err != nil {
				return built{}, err
			}
		} else if windowFuncs[w.Proc.Name] == nil {
			return built{}, pgerror.NotSupported("window function %s", w.Proc.Name)
		}
		o.funcs = append(o.funcs, f)
		outKinds = append(outKinds, f.kind)
	}
	if o.start, err = x.compile(p.Frame.Start.Offset); err != nil {
		return built{}, err
	}
	if o.end, err = x.compile(p.Frame.End.Offset); err != nil {
		return built{}, err
	}
	return built{op: o, kinds: outKinds, slots: in.slots}, nil
}

func (o *windowOp) open() error {
	o.mem.release()
	o.rows, o.loaded, o.at = newStore(o.kinds, nil), false, 0
	return o.in.op.open()
}

func (o *windowOp) close() {
	o.in.op.close()
	o.rows, o.results = nil, nil
	o.mem.release()
}

func (o *windowOp) next() (*batch, error) {
	if !o.loaded {
		if err := o.load(); err != nil {
			return nil, err
		}
		o.loaded = true
		if err := o.compute(); err != nil {
			return nil, err
		}
	}
	n := min(expr.BatchSize, o.rows.n-o.at)
	if n <= 0 {
		return nil, nil
	}
	visible := len(o.in.kinds)
	var b batch
	o.rows.slice(o.at, n, visible, &b)
	o.out.N, o.out.Sel = n, nil
	o.out.Cols = append(o.out.Cols[:0], b.Cols...)
	o.out.refs = b.refs[:refVecs*len(o.in.slots)]
	if o.view == nil {
		for range o.funcs {
			o.view = append(o.view, &expr.Vec{})
		}
	}
	for i, r := range o.results {
		sliceVec(o.view[i], r, o.at, n)
		o.out.Cols = append(o.out.Cols, o.view[i])
	}
	o.at += n
	return &o.out, nil
}

func (o *windowOp) load() error {
	for {
		b, err := o.in.op.next()
		if err != nil {
			return err
		}
		if b == nil {
			o.in.op.close()
			return nil
		}
		if err := o.x.cancelled(); err != nil {
			return err
		}
		o.scratch = b.all(o.scratch)
		for _, p := range o.extra {
			v, err := p.Eval(&b.Batch, &o.x.params, o.x.env)
			if err != nil {
				return err
			}
			o.scratch = append(o.scratch, v)
		}
		if err := o.mem.grow(o.rows.append(o.scratch, b.Selection())); err != nil {
			return err
		}
	}
}

// compute fills the result columns, partition by partition.
func (o *windowOp) compute() error {
	n := o.rows.n
	o.results = make([]*expr.Vec, len(o.funcs))
	for i, f := range o.funcs {
		v := &expr.Vec{}
		v.Reset(f.kind)
		v.Ensure(n)
		o.results[i] = v
	}
	if err := o.mem.grow(int64(n) * 16 * int64(len(o.funcs))); err != nil {
		return err
	}
	keys := make([]*expr.Vec, len(o.part))
	for i, c := range o.part {
		keys[i] = o.rows.cols[c]
	}
	for from := 0; from < n; {
		to := from + 1
		for to < n && o.partKey.equal(keys, from, keys, to) {
			to++
		}
		p := &partition{o: o, from: from, to: to}
		p.findPeers()
		for i, f := range o.funcs {
			var err error
			if f.agg != nil {
				err = p.aggregate(f, o.results[i])
			} else {
				err = windowFuncs[f.w.Proc.Name](p, f, o.results[i])
			}
			if err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// partition is the rows [from,to) of the store, with their peer groups.
type partition struct {
	o        *windowOp
	from, to int
	groups   []int // first row of each peer group, then to
	groupOf  []int // by row - from
}

// findPeers cuts the partition into groups of rows equal in ORDER BY.
func (p *partition) findPeers() {
	p.groupOf = make([]int, p.to-p.from)
	for r := p.from; r < p.to; r++ {
		if r == p.from || p.differ(r-1, r) {
			p.groups = append(p.groups, r)
		}
		p.groupOf[r-p.from] = len(p.groups) - 1
	}
	p.groups = append(p.groups, p.to)
}

func (p *partition) differ(a, b int) bool {
	for k, ord := range p.o.orders {
		v := p.o.rows.cols[p.o.order[k]]
		if ord.compare(v, a, v, b) != 0 {
			return true
		}
	}
	return false
}

func (p *partition) peers(r int) (from, to int) {
	g := p.groupOf[r-p.from]
	return p.groups[g], p.groups[g+1]
}

// arg reads argument k of a function at a row.
func (p *partition) arg(f *windowFunc, k, row int) sqltypes.Datum {
	return p.o.rows.cols[f.args[k]].Datum(row)
}

// windowFuncs are the functions that are not aggregates, by name.
var windowFuncs map[string]func(p *partition, f *windowFunc, out *expr.Vec) error

func init() {
	windowFuncs = map[string]func(p *partition, f *windowFunc, out *expr.Vec) error{
		"row_number": func(p *partition, _ *windowFunc, out *expr.Vec) error {
			for r := p.from; r < p.to; r++ {
				out.I64[r] = int64(r - p.from + 1)
			}
			return nil
		},
		"rank": func(p *partition, _ *windowFunc, out *expr.Vec) error {
			for r := p.from; r < p.to; r++ {
				first, _ := p.peers(r)
				out.I64[r] = int64(first - p.from + 1)
			}
			return nil
		},
		"dense_rank": func(p *partition, _ *windowFunc, out *expr.Vec) error {
			for r := p.from; r < p.to; r++ {
				out.I64[r] = int64(p.groupOf[r-p.from] + 1)
			}
			return nil
		},
		"percent_rank": func(p *partition, _ *windowFunc, out *expr.Vec) error {
			n := float64(p.to - p.from - 1)
			for r := p.from; r < p.to; r++ {
				first, _ := p.peers(r)
				out.F64[r] = 0
				if n > 0 {
					out.F64[r] = float64(first-p.from) / n
				}
			}
			return nil
		},
		"cume_dist": func(p *partition, _ *windowFunc, out *expr.Vec) error {
			n := float64(p.to - p.from)
			for r := p.from; r < p.to; r++ {
				_, last := p.peers(r)
				out.F64[r] = float64(last-p.from) / n
			}
			return nil
		},
		"ntile":       ntile,
		"lag":         func(p *partition, f *windowFunc, out *expr.Vec) error { return shift(p, f, out, -1) },
		"lead":        func(p *partition, f *windowFunc, out *expr.Vec) error { return shift(p, f, out, 1) },
		"first_value": firstValue,
		"last_value":  lastValue,
		"nth_value":   nthValue,
	}
}

func ntile(p *partition, f *windowFunc, out *expr.Vec) error {
	d := p.arg(f, 0, p.from)
	n := int64(p.to - p.from)
	if !d.Null && d.I <= 0 {
		return pgerror.New(pgerror.InvalidArgumentForNtile, "argument of ntile must be greater than zero")
	}
	for r := p.from; r < p.to; r++ {
		if d.Null {
			out.SetNull(r)
			continue
		}
		size, larger := n/d.I, n%d.I
		i := int64(r - p.from)
		if i < larger*(size+1) {
			out.I64[r] = i/(size+1) + 1
		} else {
			out.I64[r] = larger + (i-larger*(size+1))/size + 1
		}
	}
	return nil
}

// shift is lag and lead: the value some rows before or after.
func shift(p *partition, f *windowFunc, out *expr.Vec, sign int64) error {
	for r := p.from; r < p.to; r++ {
		off := sqltypes.Int(1)
		if len(f.args) > 1 {
			off = p.arg(f, 1, r)
		}
		if off.Null {
			out.SetNull(r)
			continue
		}
		t := int64(r) + sign*off.I
		switch {
		case t >= int64(p.from) && t < int64(p.to):
			out.Set(r, p.arg(f, 0, int(t)))
		case len(f.args) > 2:
			out.Set(r, p.arg(f, 2, r))
		default:
			out.SetNull(r)
		}
	}
	return nil
}

func firstValue(p *partition, f *windowFunc, out *expr.Vec) error {
	return p.eachFrame(func(r int, fr *frame) error {
		for _, s := range fr.parts() {
			if s.from < s.to {
				out.Set(r, p.arg(f, 0, s.from))
				return nil
			}
		}
		out.SetNull(r)
		return nil
	})
}

func lastValue(p *partition, f *windowFunc, out *expr.Vec) error {
	return p.eachFrame(func(r int, fr *frame) error {
		parts := fr.parts()
		for k := len(parts) - 1; k >= 0; k-- {
			if s := parts[k]; s.from < s.to {
				out.Set(r, p.arg(f, 0, s.to-1))
				return nil
			}
		}
		out.SetNull(r)
		return nil
	})
}

func nthValue(p *partition, f *windowFunc, out *expr.Vec) error {
	return p.eachFrame(func(r int, fr *frame) error {
		d := p.arg(f, 1, r)
		if d.Null {
			out.SetNull(r)
			return nil
		}
		if d.I <= 0 {
			return pgerror.New(pgerror.InvalidArgumentForNthValue, "argument of nth_value must be greater than zero")
		}
		n := int(d.I - 1)
		for _, s := range fr.parts() {
			if n < s.to-s.from {
				out.Set(r, p.arg(f, 0, s.from+n))
				return nil
			}
			n -= max(s.to-s.from, 0)
		}
		out.SetNull(r)
		return nil
	})
}
