package exec

import (
	"context"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// pointPlan is a point plan made ready to run, reused by one execution at a time
// (planner.PointPlan.Prepared keeps the idle ones).
type pointPlan struct {
	x      Execution
	key    []*expr.Program
	keyVal []sqltypes.Datum
	filter *expr.Program
	out    []*expr.Program
	in     []sqltypes.Datum // fetched attributes, or the row of values to insert
	full   []sqltypes.Datum // every attribute, for reads of the newest row
	attrs  []int16          // attributes to fetch into in
	direct bool             // the fetched attributes are the output

	insert *insertOp
	update *updateOp
	delete *deleteOp
	mode   engine.RowLock
}

// CanPoint reports whether a plan may run by PointSelect or PointWrite.
func CanPoint(plan *planner.Plan) bool {
	return plan.Point != nil && plan.Catalog != nil && len(plan.Inits) == 0 && len(plan.CTEs) == 0 && len(plan.SubPlans) == 0
}

// PointSelect answers a plan whose Point.Kind is 's' from the newest applied
// state without a snapshot; out receives the output columns. stale: the
// catalogue has moved on, nothing was read.
func PointSelect(ctx context.Context, eng engine.Engine, plan *planner.Plan, env *sqltypes.Env, args, out []sqltypes.Datum) (found, stale bool, err error) {
	pt := plan.Point
	p, err := takePoint(plan)
	if err != nil {
		return false, false, err
	}
	p.x.env, p.x.params.Bind = env, args
	ok, err := p.evalKey()
	if err == nil && ok {
		dst := out
		if !p.direct {
			dst = p.in
		}
		found, stale, err = eng.GetNewest(ctx, plan.Catalog, pt.Rel, pt.Index, p.keyVal, p.attrs, dst[:len(p.attrs)])
		if err == nil && found {
			found, err = p.result(dst, out)
		}
	}
	p.x.env, p.x.params.Bind = nil, nil
	pt.Prepared.Put(p)
	return found, stale, err
}

// PointSelectView is PointSelect over a view or transaction.
func PointSelectView(ctx context.Context, view engine.View, plan *planner.Plan, env *sqltypes.Env, args, out []sqltypes.Datum) (found bool, err error) {
	pt := plan.Point
	p, err := takePoint(plan)
	if err != nil {
		return false, err
	}
	p.x.env, p.x.params.Bind = env, args
	ok, err := p.evalKey()
	if err == nil && ok {
		dst := out
		if !p.direct {
			dst = p.in
		}
		_, found, err = view.Get(ctx, pt.Rel, pt.Index, p.keyVal, p.attrs, dst[:len(p.attrs)])
		if err == nil && found {
			found, err = p.result(dst, out)
		}
	}
	p.x.env, p.x.params.Bind = nil, nil
	pt.Prepared.Put(p)
	return found, err
}

func takePoint(plan *planner.Plan) (*pointPlan, error) {
	if p, _ := plan.Point.Prepared.Get().(*pointPlan); p != nil {
		return p, nil
	}
	return newPoint(plan)
}

func newPoint(plan *planner.Plan) (*pointPlan, error) {
	pt := plan.Point
	p := &pointPlan{attrs: pt.Attrs, direct: pt.OutIsAttrs && pt.Filter == nil, in: make([]sqltypes.Datum, len(pt.Attrs)), keyVal: make([]sqltypes.Datum, len(pt.Key))}
	x := &p.x
	x.plan, x.types = plan, plan.Catalog.Type
	x.mem.limit = DefaultHardLimit
	x.params.Runner = x
	var err error
	if p.key, err = x.compileAll(pt.Key); err != nil {
		return nil, err
	}
	if p.filter, err = x.compile(pt.Filter); err != nil {
		return nil, err
	}
	if pt.Kind == 's' && p.direct {
		return p, nil
	}
	p.out, err = x.compileAll(pt.Out)
	return p, err
}

// evalKey computes the key; false: it is NULL somewhere, so there is no row.
func (p *pointPlan) evalKey() (bool, error) {
	for i, k := range p.key {
		d, err := k.Row(nil, &p.x.params, p.x.env)
		if err != nil || d.Null {
			return false, err
		}
		p.keyVal[i] = d
	}
	return true, nil
}

// result filters the fetched row and computes the output columns.
func (p *pointPlan) result(row, out []sqltypes.Datum) (bool, error) {
	if p.filter != nil {
		ok, err := p.filter.True(row, &p.x.params, p.x.env)
		if err != nil || !ok {
			return false, err
		}
	}
	for i, e := range p.out {
		d, err := e.Row(row, &p.x.params, p.x.env)
		if err != nil {
			return false, err
		}
		out[i] = d
	}
	return true, nil
}

// PointWrite runs a plan whose Point.Kind is 'i', 'u' or 'd' in args.Txn, with
// all checks, foreign keys included. returned: RETURNING yielded a row into out.
func PointWrite(ctx context.Context, rt *Runtime, plan *planner.Plan, args Args, out []sqltypes.Datum) (affected int64, returned bool, err error) {
	p, err := takePoint(plan)
	if err != nil {
		return 0, false, err
	}
	x := &p.x
	x.ctx, x.rt, x.txn, x.view, x.env, x.args = ctx, rt, args.Txn, args.Txn, args.Env, args
	x.params.Bind, x.affected = args.Params, 0
	if err := x.needTxn(); err != nil {
		return 0, false, err
	}
	m, err := p.write(plan)
	if err == nil {
		err = x.fk.run(x)
	}
	if err != nil {
		return 0, false, err // p is left to the collector: its queue may not be empty
	}
	affected = x.affected
	if m.yielded {
		copy(out, m.retRow)
		m.yielded, returned = false, true
	}
	x.ctx, x.txn, x.view, x.env, x.args, x.params.Bind = nil, nil, nil, nil, Args{}, nil
	plan.Point.Prepared.Put(p)
	return affected, returned, nil
}

func (p *pointPlan) write(plan *planner.Plan) (*modifyOp, error) {
	switch n := plan.Root.(type) {
	case *planner.Insert:
		if p.insert == nil {
			if err := p.prepareInsert(n); err != nil {
				return nil, err
			}
		}
		return p.insert.modifyOp, p.runInsert()
	case *planner.Update:
		if p.update == nil {
			if err := identifiable(p.x.view.Catalog(), n.Target.Rel, false); err != nil {
				return nil, err
			}
			c, err := p.prepareChange(n.Target, n.Input, n.OldCols, n.Recheck, n.Returning)
			if err != nil {
				return nil, err
			}
			p.update = &updateOp{changeOp: c}
			if p.update.set, err = p.x.compileAll(n.Set); err != nil {
				return nil, err
			}
			p.mode = engine.LockNoKeyUpdate
			for i, e := range n.Set {
				if e != nil && c.w.keyAttrs[i] {
					p.mode = engine.LockUpdate
				}
			}
		}
		return p.update.modifyOp, p.runChange(p.update.changeOp, p.update.updateRow, func(ref engine.RowRef, row []sqltypes.Datum) error {
			if err := p.update.assign(row); err != nil {
				return err
			}
			return p.update.writeNew(ref, row)
		})
	case *planner.Delete:
		if p.delete == nil {
			if err := identifiable(p.x.view.Catalog(), n.Target.Rel, true); err != nil {
				return nil, err
			}
			c, err := p.prepareChange(n.Target, n.Input, n.OldCols, n.Recheck, n.Returning)
			if err != nil {
				return nil, err
			}
			p.delete = &deleteOp{changeOp: c}
			p.mode = engine.LockUpdate
		}
		return p.delete.modifyOp, p.runChange(p.delete.changeOp, p.delete.deleteRow, p.delete.writeGone)
	}
	return nil, errNoRefs
}

func (p *pointPlan) prepareInsert(n *planner.Insert) error {
	p.in = make([]sqltypes.Datum, len(p.out))
	m, err := p.x.modifyOver(built{}, true, n.Target, n.Returning)
	if err != nil {
		return err
	}
	p.insert, err = p.x.newInsert(m, n)
	return err
}

func (p *pointPlan) runInsert() error {
	for i, e := range p.out {
		d, err := e.Row(nil, &p.x.params, p.x.env)
		if err != nil {
			return err
		}
		p.in[i] = d
	}
	o := p.insert
	for i := range o.row {
		o.row[i] = sqltypes.Null
		if i < len(o.progs) && o.progs[i] != nil {
			d, err := o.progs[i].Row(p.in, &p.x.params, p.x.env)
			if err != nil {
				return err
			}
			o.row[i] = d
		}
	}
	return o.insertRow()
}

func (p *pointPlan) prepareChange(t *planner.Target, input planner.Node, oldCols []int, recheck expr.Expr, returning []expr.Expr) (*changeOp, error) {
	m, err := p.x.modifyOver(built{kinds: p.x.outKinds(input)}, true, t, returning)
	if err != nil {
		return nil, err
	}
	if s, ok := input.(*planner.Scan); ok {
		p.attrs = s.Attrs
		p.in = make([]sqltypes.Datum, len(s.Attrs))
	}
	p.full = make([]sqltypes.Datum, len(t.Rel.Columns))
	return p.x.newChange(m, 0, oldCols, recheck)
}

// runChange finds the row and updates or deletes it. At READ COMMITTED, by the
// table's own key, the row is locked and read in one step: a statement that
// touches one row may as well have begun when it got the lock.
func (p *pointPlan) runChange(c *changeOp, ordinary, locked func(ref engine.RowRef, row []sqltypes.Datum) error) error {
	x := &p.x
	pt := x.plan.Point
	ok, err := p.evalKey()
	if err != nil || !ok {
		return err
	}
	if pt.Index == nil || !pt.Index.Clustered || x.txn.Options().Isolation != engine.ReadCommitted {
		ref, found, err := x.view.Get(x.ctx, pt.Rel, pt.Index, p.keyVal, p.attrs, p.in)
		if err != nil || !found {
			return err
		}
		if ok, err := p.passes(); err != nil || !ok {
			return err
		}
		return ordinary(ref, p.in)
	}
	mark := x.txn.Savepoint()
	ref, found, err := x.txn.LookupNewest(x.ctx, pt.Rel, pt.Index, p.keyVal, p.mode, p.full)
	if err != nil {
		return err
	}
	ok = found
	if found {
		for i, a := range p.attrs {
			p.in[i] = p.full[a-1]
		}
		if ok, err = p.passes(); err != nil {
			return err
		}
	}
	if !ok { // nothing to change: nothing stays locked
		err := x.txn.RollbackTo(mark)
		x.txn.Release(mark)
		return err
	}
	x.txn.Release(mark)
	c.oldRow(p.in)
	return locked(ref, p.in)
}

func (p *pointPlan) passes() (bool, error) {
	if p.filter == nil {
		return true, nil
	}
	return p.filter.True(p.in, &p.x.params, p.x.env)
}

// startPoint is Start for a point plan.
func startPoint(ctx context.Context, rt *Runtime, plan *planner.Plan, args Args) *Execution {
	r := &struct {
		x  Execution
		op pointOp
	}{}
	x := &r.x
	x.ctx, x.rt, x.plan, x.txn, x.view, x.env, x.args, x.types = ctx, rt, plan, args.Txn, args.View, args.Env, args, plan.Catalog.Type
	if x.view == nil {
		x.view = args.Txn
	}
	r.op.x = x
	x.root, x.dml = &r.op, plan.Point.Kind != 's'
	return x
}

// pointOp is a whole point plan as an operator.
type pointOp struct {
	x    *Execution
	done bool
	out  *batch
	row  []sqltypes.Datum
}

func (o *pointOp) open() error { o.done = false; return nil }
func (o *pointOp) close()      {}

func (o *pointOp) next() (*batch, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	x := o.x
	if err := x.cancelled(); err != nil {
		return nil, err
	}
	o.row = make([]sqltypes.Datum, len(x.plan.Columns))
	var found bool
	var err error
	if x.plan.Point.Kind == 's' {
		found, err = PointSelectView(x.ctx, x.view, x.plan, x.env, x.args.Params, o.row)
	} else {
		x.affected, found, err = PointWrite(x.ctx, x.rt, x.plan, x.args, o.row)
	}
	if err != nil || !found {
		return nil, err
	}
	o.out = &batch{}
	for i, c := range x.plan.Columns {
		v := &expr.Vec{}
		v.Reset(x.kind(c.Type))
		v.Ensure(1)
		v.Set(0, o.row[i])
		o.out.Cols = append(o.out.Cols, v)
	}
	o.out.N = 1
	return o.out, nil
}
