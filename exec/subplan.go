package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// initState is an InitPlan: run at most once, when one of its parameters is first read.
type initState struct {
	plan *planner.InitPlan
	done bool
}

// ExecParam implements expr.LazyParams.
func (x *Execution) ExecParam(id int, params *expr.Params, _ *sqltypes.Env) (sqltypes.Datum, error) {
	if x.inits != nil {
		if st := x.inits[id]; st != nil && !st.done {
			st.done = true
			if err := x.runInit(st.plan); err != nil {
				return sqltypes.Null, err
			}
		}
	}
	return params.Exec[id], nil
}

func (x *Execution) runInit(p *planner.InitPlan) error {
	b, err := x.build(p.Root, nil)
	if err != nil {
		return err
	}
	defer b.op.close()
	if err := b.op.open(); err != nil {
		return err
	}
	r := rowReader{op: b.op, width: len(b.kinds)}
	switch p.Kind {
	case expr.SubExists:
		row, err := r.next()
		x.params.Exec[p.Params[0]] = sqltypes.Bool(row != nil)
		return err
	case expr.SubArray:
		var elems []sqltypes.Datum
		for {
			row, err := r.next()
			if err != nil {
				return err
			}
			if row == nil {
				break
			}
			elems = append(elems, row[0])
		}
		d, err := x.makeArray(p.Root.Out()[0].Type.OID, elems)
		x.params.Exec[p.Params[0]] = d
		return err
	}
	row, err := r.next()
	if err != nil || row == nil {
		return err
	}
	for i, id := range p.Params {
		if i < len(row) {
			x.params.Exec[id] = row[i]
		}
	}
	if row, err = r.next(); err == nil && row != nil {
		return tooManyRows()
	}
	return err
}

func tooManyRows() error {
	return pgerror.New(pgerror.CardinalityViolation, "more than one row returned by a subquery used as an expression")
}

// makeArray builds an array value of elements of a type; elements that are
// arrays make one of a dimension more.
func (x *Execution) makeArray(elem sqltypes.OID, elems []sqltypes.Datum) (sqltypes.Datum, error) {
	t := x.typ(elem)
	if t == nil {
		return sqltypes.Null, pgerror.NotSupported("array of type with OID %d", elem)
	}
	if t.IsArray {
		return expr.NestArrays(t.ElemType, elems)
	}
	return sqltypes.MakeVector(t, elems), nil
}

// rowReader reads an operator row by row.
type rowReader struct {
	op    operator
	width int
	cur   *batch
	sel   []uint16
	pos   int
	row   []sqltypes.Datum
}

// next returns the next row (valid until the next call), nil at the end.
func (r *rowReader) next() ([]sqltypes.Datum, error) {
	if r.row == nil {
		r.row = make([]sqltypes.Datum, r.width)
	}
	for r.cur == nil || r.pos >= len(r.sel) {
		b, err := r.op.next()
		if err != nil || b == nil {
			return nil, err
		}
		r.cur, r.sel, r.pos = b, b.Selection(), 0
	}
	r.cur.Row(int(r.sel[r.pos]), r.row)
	r.pos++
	return r.row, nil
}

// subState is a SubPlan of this execution.
type subState struct {
	op    operator
	width int
	elem  sqltypes.OID
	test  *expr.Program
	// Hashed: the rows by value, and whether any has a NULL.
	hashed  bool
	loaded  bool
	table   *groupTable
	probe   []*expr.Program // left sides of the test's equalities
	vecs    []*expr.Vec
	hasNull bool
	deps    depWatch
	busy    bool
}

func (x *Execution) subplan(sp *expr.SubPlan) (*subState, error) {
	if st := x.subs[sp]; st != nil && !st.busy {
		return st, nil
	}
	plan, ok := sp.Plan.(*planner.SubPlan)
	if !ok {
		return nil, pgerror.NotSupported("this subquery")
	}
	b, err := x.build(plan.Root, nil)
	if err != nil {
		return nil, err
	}
	st := &subState{op: b.op, width: len(b.kinds), deps: newDepWatch(x, paramsOf(plan.Root))}
	if len(plan.Root.Out()) > 0 {
		st.elem = plan.Root.Out()[0].Type.OID
	}
	if st.test, err = x.compile(sp.Test); err != nil {
		return nil, err
	}
	if plan.Hashed && sp.Kind == expr.SubAny {
		if err := x.prepareHashed(st, sp, plan, b.kinds); err != nil {
			return nil, err
		}
	}
	if x.subs == nil {
		x.subs = map[*expr.SubPlan]*subState{}
	}
	x.subs[sp] = st
	x.onClose = append(x.onClose, st.op.close)
	return st, nil
}

// prepareHashed finds the equalities left = column that the test consists of; the
// subquery is hashed only if it is made of nothing else.
func (x *Execution) prepareHashed(st *subState, sp *expr.SubPlan, plan *planner.SubPlan, kinds []sqltypes.Kind) error {
	left := make([]expr.Expr, len(sp.TestParams))
	ok := true
	var visit func(e expr.Expr)
	visit = func(e expr.Expr) {
		switch n := e.(type) {
		case *expr.And:
			for _, a := range n.Args {
				visit(a)
			}
		case *expr.Call:
			if len(n.Args) != 2 || n.Op != "=" || n.Proc.Lang != 12 {
				ok = false
				return
			}
			for i := range 2 {
				if p := execParam(n.Args[i]); p != nil {
					for k, id := range sp.TestParams {
						if id == p.ID && sameRepresentation(x, n) {
							left[k] = n.Args[1-i]
							return
						}
					}
				}
			}
			ok = false
		default:
			ok = false
		}
	}
	visit(sp.Test)
	var types []sqltypes.ColumnType
	for k, e := range left {
		if e == nil {
			ok = false
			break
		}
		types = append(types, plan.Root.Out()[k].Type)
	}
	if !ok || len(left) != len(kinds) {
		return nil
	}
	keys, err := x.newHashKeys(types)
	if err != nil {
		return nil // no hash: row by row
	}
	if st.probe, err = x.compileAll(left); err != nil {
		return err
	}
	for _, k := range kinds {
		st.vecs = append(st.vecs, expr.NewVec(k))
	}
	st.table = newGroupTable(keys, kinds)
	st.hashed = true
	return nil
}

// execParam sees through relabelling.
func execParam(e expr.Expr) *expr.ExecParam {
	for {
		switch n := e.(type) {
		case *expr.ExecParam:
			return n
		case *expr.Relabel:
			e = n.Arg
		default:
			return nil
		}
	}
}

// sameRepresentation: hashing both sides by one type's rules needs one type, or integers.
func sameRepresentation(x *Execution, c *expr.Call) bool {
	a, b := x.typ(c.Args[0].Type().OID), x.typ(c.Args[1].Type().OID)
	if a == nil || b == nil {
		return false
	}
	return a == b || classOf(a) != keyOther && classOf(a) == classOf(b)
}

// RunSubPlan implements expr.SubPlanRunner.
func (x *Execution) RunSubPlan(sp *expr.SubPlan, params *expr.Params, env *sqltypes.Env) (sqltypes.Datum, error) {
	st, err := x.subplan(sp)
	if err != nil {
		return sqltypes.Null, err
	}
	if st.hashed {
		return x.probeHashed(st)
	}
	st.busy = true
	defer func() { st.busy = false }()
	if err := x.cancelled(); err != nil {
		return sqltypes.Null, err
	}
	if err := st.op.open(); err != nil {
		return sqltypes.Null, err
	}
	defer st.op.close()
	r := rowReader{op: st.op, width: st.width}
	switch sp.Kind {
	case expr.SubExists:
		b, err := st.op.next()
		return sqltypes.Bool(b != nil), err
	case expr.SubScalar, expr.SubRow:
		row, err := r.next()
		if err != nil {
			return sqltypes.Null, err
		}
		val := sqltypes.Null
		if sp.Kind == expr.SubRow {
			for i, id := range sp.TestParams {
				x.params.Exec[id] = sqltypes.Null
				if row != nil {
					x.params.Exec[id] = row[i]
				}
			}
		}
		if row == nil {
			if sp.Kind == expr.SubRow && st.test != nil {
				return st.test.Row(params.Row, params, env)
			}
			return val, nil
		}
		val = row[0]
		if row, err = r.next(); err != nil || row != nil {
			if err == nil {
				err = tooManyRows()
			}
			return sqltypes.Null, err
		}
		if sp.Kind == expr.SubRow && st.test != nil {
			return st.test.Row(params.Row, params, env)
		}
		return val, nil
	case expr.SubArray:
		var elems []sqltypes.Datum
		for {
			row, err := r.next()
			if err != nil {
				return sqltypes.Null, err
			}
			if row == nil {
				return x.makeArray(st.elem, elems)
			}
			elems = append(elems, row[0])
		}
	}
	// Any, All.
	decides := int64(1)
	if sp.Kind == expr.SubAll {
		decides = 0
	}
	res := sqltypes.Int(1 - decides)
	row := params.Row
	for {
		in, err := r.next()
		if err != nil || in == nil {
			return res, err
		}
		for i, id := range sp.TestParams {
			x.params.Exec[id] = in[i]
		}
		d, err := st.test.Row(row, params, env)
		if err != nil {
			return d, err
		}
		if d.Null {
			res = sqltypes.Null
		} else if d.I == decides {
			return d, nil
		}
	}
}

// probeHashed answers x IN (subquery) from the hash table.
func (x *Execution) probeHashed(st *subState) (sqltypes.Datum, error) {
	if st.deps.changed() || !st.loaded {
		st.table.reset()
		st.hasNull, st.loaded = false, true
		if err := st.op.open(); err != nil {
			return sqltypes.Null, err
		}
		mem := budget{x: x}
		for {
			b, err := st.op.next()
			if err != nil {
				return sqltypes.Null, err
			}
			if b == nil {
				break
			}
			if err := x.cancelled(); err != nil {
				return sqltypes.Null, err
			}
			sel := b.Selection()
			for _, c := range b.Cols {
				if c.Null != nil {
					for _, i := range sel {
						st.hasNull = st.hasNull || c.Null.Get(int(i))
					}
				}
			}
			before := st.table.bytes()
			st.table.lookup(b.Cols, sel, st.table.ids, false)
			if err := mem.grow(st.table.bytes() - before); err != nil {
				return sqltypes.Null, err
			}
		}
		st.op.close()
	}
	if st.table.n() == 0 {
		return sqltypes.Bool(false), nil
	}
	null := false
	for i, p := range st.probe {
		d, err := p.Row(x.params.Row, &x.params, x.env)
		if err != nil {
			return d, err
		}
		st.vecs[i].Reset(st.vecs[i].Kind)
		st.vecs[i].Set(0, d)
		null = null || d.Null
	}
	if !null {
		st.table.lookup(st.vecs, expr.All(1), st.table.ids, true)
		if st.table.ids[0] >= 0 {
			return sqltypes.Bool(true), nil
		}
		if !st.hasNull {
			return sqltypes.Bool(false), nil
		}
	}
	return st.matchNulls(), nil
}

// matchNulls decides between NULL and false when NULLs are involved: NULL if some
// row could be equal were its NULLs known.
func (st *subState) matchNulls() sqltypes.Datum {
rows:
	for r := range st.table.n() {
		for i, v := range st.vecs {
			c := st.table.store.cols[i]
			if v.Null.Get(0) || c.Null.Get(r) {
				continue
			}
			one := hashKeys{types: st.table.keys.types[i : i+1], classes: st.table.keys.classes[i : i+1]}
			if !one.equal([]*expr.Vec{v}, 0, []*expr.Vec{c}, r) {
				continue rows
			}
		}
		return sqltypes.Null
	}
	return sqltypes.Bool(false)
}
