package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// emptyOp yields nothing.
type emptyOp struct{}

func (*emptyOp) open() error           { return nil }
func (*emptyOp) next() (*batch, error) { return nil, nil }
func (*emptyOp) close()                {}

// resultOp yields one row without columns, unless its condition is not true.
type resultOp struct {
	x       *Execution
	oneTime *expr.Program
	done    bool
	out     batch
}

func (x *Execution) buildResult(p *planner.Result) (built, error) {
	cond, err := x.compile(p.OneTime)
	return built{op: &resultOp{x: x, oneTime: cond}}, err
}

func (o *resultOp) open() error {
	o.done = false
	if o.oneTime != nil {
		d, err := o.x.scalar(o.oneTime)
		o.done = !d.True()
		return err
	}
	return nil
}

func (o *resultOp) next() (*batch, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	o.out.N, o.out.Sel = 1, nil
	return &o.out, nil
}
func (o *resultOp) close() {}

// valuesOp yields VALUES lists.
type valuesOp struct {
	x    *Execution
	rows [][]*expr.Program
	at   int
	out  *batch
	row  []sqltypes.Datum
}

func (x *Execution) buildValues(p *planner.Values) (built, error) {
	kinds := x.outKinds(p)
	o := &valuesOp{x: x, out: ownBatch(kinds, nil, 0), row: make([]sqltypes.Datum, len(kinds))}
	for _, r := range p.Rows {
		progs, err := x.compileAll(r)
		if err != nil {
			return built{}, err
		}
		o.rows = append(o.rows, progs)
	}
	return built{op: o, kinds: kinds}, nil
}

func (o *valuesOp) open() error { o.at = 0; return nil }
func (o *valuesOp) close()      {}

func (o *valuesOp) next() (*batch, error) {
	if o.at >= len(o.rows) {
		return nil, nil
	}
	if err := o.x.cancelled(); err != nil {
		return nil, err
	}
	o.out.reset()
	for o.at < len(o.rows) && !o.out.Full() {
		for i, p := range o.rows[o.at] {
			d, err := p.Row(nil, &o.x.params, o.x.env)
			if err != nil {
				return nil, err
			}
			o.row[i] = d
		}
		o.out.Append(o.row)
		o.at++
	}
	return o.out, nil
}

// filterOp keeps the rows for which a condition is true.
type filterOp struct {
	x    *Execution
	in   operator
	cond *expr.Program
	out  batch
	sel  []uint16
	rejected
}

func (x *Execution) buildFilter(p *planner.Filter, used need) (built, error) {
	width := len(p.Input.Out())
	if used != nil {
		used = used.copy(width)
		used.add(p.Cond)
	}
	in, err := x.build(p.Input, used)
	if err != nil {
		return built{}, err
	}
	cond, err := x.compile(p.Cond)
	if err != nil {
		return built{}, err
	}
	in.op = &filterOp{x: x, in: in.op, cond: cond}
	return in, nil
}

func (o *filterOp) open() error { return o.in.open() }
func (o *filterOp) close()      { o.in.close() }

func (o *filterOp) next() (*batch, error) {
	for {
		b, err := o.in.next()
		if err != nil || b == nil {
			return nil, err
		}
		o.out = *b
		ok, err := applyFilter(o.x, o.cond, &o.out, &o.sel, &o.rejected)
		if err != nil {
			return nil, err
		}
		if ok {
			return &o.out, nil
		}
		if err := o.x.cancelled(); err != nil {
			return nil, err
		}
	}
}

// projectOp computes expressions.
type projectOp struct {
	x     *Execution
	in    operator
	progs []*expr.Program // nil: not needed or a plain column
	cols  []int           // input column of a plain column, else -1
	out   batch
}

func (x *Execution) buildProject(p *planner.Project, used need) (built, error) {
	o := &projectOp{x: x}
	below := make(need, len(p.Input.Out()))
	for i, e := range p.Exprs {
		o.progs = append(o.progs, nil)
		o.cols = append(o.cols, -1)
		if !used.has(i) {
			continue
		}
		below.add(e)
		if c, ok := e.(*expr.Col); ok {
			o.cols[i] = c.Idx
			continue
		}
		prog, err := x.compile(e)
		if err != nil {
			return built{}, err
		}
		o.progs[i] = prog
	}
	in, err := x.build(p.Input, below)
	if err != nil {
		return built{}, err
	}
	o.in = in.op
	o.out.Cols = make([]*expr.Vec, len(p.Exprs))
	return built{op: o, kinds: x.exprKinds(p.Exprs), slots: in.slots}, nil
}

func (o *projectOp) open() error { return o.in.open() }
func (o *projectOp) close()      { o.in.close() }

func (o *projectOp) next() (*batch, error) {
	b, err := o.in.next()
	if err != nil || b == nil {
		return nil, err
	}
	o.out.N, o.out.Sel, o.out.refs = b.N, b.Sel, b.refs
	for i := range o.progs {
		switch {
		case o.cols[i] >= 0:
			o.out.Cols[i] = b.Cols[o.cols[i]]
		case o.progs[i] != nil:
			if o.out.Cols[i], err = o.progs[i].Eval(&b.Batch, &o.x.params, o.x.env); err != nil {
				return nil, err
			}
		}
	}
	return &o.out, nil
}
