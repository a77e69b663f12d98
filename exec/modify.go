package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// modifyOp is the common part of Insert, Update, Delete and Merge: it runs to
// completion when it is first asked for rows, keeps what RETURNING yields and
// hands that out.
type modifyOp struct {
	x    *Execution
	w    *tableWriter
	in   built
	root bool // counts go to the command tag
	// run processes one input row; row is all its columns.
	run func(b *batch, at int, row []sqltypes.Datum) error
	// batch, when set, is called before the rows of each batch.
	batch func(b *batch) error
	// events are the operations whose statement triggers fire: i, u, d.
	events string

	returning []*expr.Program
	retKinds  []sqltypes.Kind
	retRow    []sqltypes.Datum
	returned  *store
	yielded   bool
	mem       budget
	ran       bool
	at        int
	row       []sqltypes.Datum
	out       batch
}

func (x *Execution) newModify(n planner.Node, t *planner.Target, input planner.Node, returning []expr.Expr) (*modifyOp, error) {
	if err := x.needTxn(); err != nil {
		return nil, err
	}
	in, err := x.build(input, nil)
	if err != nil {
		return nil, err
	}
	if est := input.Est(); est != nil && est.Rows > 50000 {
		x.txn.BulkLoad()
	}
	return x.modifyOver(in, n == x.plan.Root, t, returning)
}

// modifyOver makes the operator over an input that is already there.
func (x *Execution) modifyOver(in built, root bool, t *planner.Target, returning []expr.Expr) (*modifyOp, error) {
	o := &modifyOp{x: x, in: in, root: root, mem: budget{x: x}, row: make([]sqltypes.Datum, len(in.kinds))}
	var err error
	if o.w, err = x.newTableWriter(t); err != nil {
		return nil, err
	}
	if o.returning, err = x.compileAll(returning); err != nil {
		return nil, err
	}
	o.retKinds = x.exprKinds(returning)
	o.retRow = make([]sqltypes.Datum, len(returning))
	return o, nil
}

func (o *modifyOp) built() built { return built{op: o, kinds: o.retKinds} }

func (o *modifyOp) open() error {
	o.at = 0
	return nil
}

func (o *modifyOp) next() (*batch, error) {
	if !o.ran {
		o.ran = true
		if err := o.all(); err != nil {
			return nil, err
		}
	}
	if o.returned == nil || o.at >= o.returned.n {
		return nil, nil
	}
	n := min(expr.BatchSize, o.returned.n-o.at)
	o.returned.slice(o.at, n, len(o.retKinds), &o.out)
	o.at += n
	return &o.out, nil
}

func (o *modifyOp) close() {
	o.in.op.close()
	o.mem.release()
}

func (o *modifyOp) all() error {
	if err := o.w.statement('b', o.events); err != nil {
		return err
	}
	if err := o.rows(); err != nil {
		return err
	}
	return o.w.statement('a', o.events)
}

// rows processes the input.
func (o *modifyOp) rows() error {
	if err := o.in.op.open(); err != nil {
		return err
	}
	defer o.in.op.close()
	if len(o.returning) > 0 {
		o.returned = newStore(o.retKinds, nil)
	}
	for {
		b, err := o.in.op.next()
		if err != nil || b == nil {
			return err
		}
		if err := o.x.cancelled(); err != nil {
			return err
		}
		if o.batch != nil {
			if err := o.batch(b); err != nil {
				return err
			}
		}
		for k, i := range b.Selection() {
			if k&63 == 63 {
				if err := o.x.cancelled(); err != nil {
					return err
				}
			}
			b.Row(int(i), o.row)
			if err := o.run(b, int(i), o.row); err != nil {
				return err
			}
		}
	}
}

// count adds one row to the command tag.
func (o *modifyOp) count() {
	if o.root {
		o.x.affected++
	}
}

// yield evaluates RETURNING over a row.
func (o *modifyOp) yield(row []sqltypes.Datum) error {
	if len(o.returning) == 0 {
		return nil
	}
	for i, p := range o.returning {
		d, err := p.Row(row, &o.x.params, o.x.env)
		if err != nil {
			return err
		}
		o.retRow[i] = d
	}
	if o.returned == nil { // a point plan takes the row from retRow
		o.yielded = true
		return nil
	}
	return o.mem.grow(o.returned.appendRow(o.retRow))
}
