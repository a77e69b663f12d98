package exec

import (
	"fmt"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// cteState is one WITH query: its rows are kept once and read by all its scans.
type cteState struct {
	s    *spool
	deps depWatch
}

// cte builds the query of a CTE on first use.
func (x *Execution) cte(c *planner.CTE) (*cteState, error) {
	if st := x.ctes[c]; st != nil {
		return st, nil
	}
	if c.Root == nil {
		return nil, fmt.Errorf("exec: WITH query %s has no plan", c.Name)
	}
	if x.ctes == nil {
		x.ctes = map[*planner.CTE]*cteState{}
	}
	in, err := x.build(c.Root, nil)
	if err != nil {
		return nil, err
	}
	st := &cteState{s: x.newSpool(in, nil), deps: newDepWatch(x, c.Deps)}
	x.ctes[c] = st
	return st, nil
}

// completeCTE runs a modifying WITH query to its end.
func (x *Execution) completeCTE(c *planner.CTE) error {
	st, err := x.cte(c)
	if err != nil {
		return err
	}
	for {
		ok, err := st.s.more()
		if err != nil || !ok {
			return err
		}
	}
}

// cteScanOp reads the kept rows of a WITH query.
type cteScanOp struct {
	x      *Execution
	cte    *planner.CTE
	st     *cteState
	r      spoolReader
	filter *expr.Program
	sel    []uint16
	rejected
	out batch
}

func (x *Execution) buildCTEScan(p *planner.CTEScan) (built, error) {
	filter, err := x.compile(p.Filter)
	if err != nil {
		return built{}, err
	}
	// The query itself is built when it is first read: it may refer to a WITH
	// query that is being built.
	return built{op: &cteScanOp{x: x, cte: p.CTE, filter: filter}, kinds: x.outKinds(p)}, nil
}

func (o *cteScanOp) open() error {
	if o.st == nil {
		st, err := o.x.cte(o.cte)
		if err != nil {
			return err
		}
		o.st, o.r.s = st, st.s
	}
	if !o.cte.Modifying && o.st.deps.changed() && o.st.s.started {
		o.st.s.reset()
	}
	o.r.rewind()
	return nil
}

func (o *cteScanOp) close() {}

func (o *cteScanOp) next() (*batch, error) {
	for {
		b, err := o.r.next()
		if err != nil || b == nil || o.filter == nil {
			return b, err
		}
		o.out = *b
		ok, err := applyFilter(o.x, o.filter, &o.out, &o.sel, &o.rejected)
		if err != nil {
			return nil, err
		}
		if ok {
			return &o.out, nil
		}
	}
}

// worktable holds the rows of the previous round of a recursive query.
type worktable struct{ rows *store }

// recursiveOp is WITH RECURSIVE: the non-recursive rows, then rounds over the
// rows of the round before, until one yields nothing.
type recursiveOp struct {
	x        *Execution
	p        *planner.RecursiveUnion
	nonRec   operator
	rec      operator
	kinds    []sqltypes.Kind
	mem      budget
	work     *worktable
	fresh    *store // rows of the running round
	seen     *groupTable
	inRounds bool
	out      batch
	sel      []uint16
	done     bool
	// round is shown to the plan by ExecParam workParam; it never repeats.
	round     int64
	workParam int
}

func (x *Execution) buildRecursiveUnion(p *planner.RecursiveUnion) (built, error) {
	o := &recursiveOp{x: x, p: p, workParam: p.CTE.WorkParam, kinds: x.outKinds(p), mem: budget{x: x}, work: &worktable{}}
	if x.work == nil {
		x.work = map[*planner.CTE]*worktable{}
	}
	x.work[p.CTE] = o.work
	nonRec, err := x.build(p.NonRec, nil)
	if err != nil {
		return built{}, err
	}
	rec, err := x.build(p.Rec, nil)
	if err != nil {
		return built{}, err
	}
	o.nonRec, o.rec = nonRec.op, rec.op
	if p.Distinct {
		types := make([]sqltypes.ColumnType, len(p.Columns))
		for i, c := range p.Columns {
			types[i] = c.Type
		}
		keys, err := x.newHashKeys(types)
		if err != nil {
			return built{}, err
		}
		o.seen = newGroupTable(keys, o.kinds)
	}
	return built{op: o, kinds: o.kinds}, nil
}

func (o *recursiveOp) open() error {
	o.mem.release()
	o.fresh, o.inRounds, o.done = newStore(o.kinds, nil), false, false
	o.work.rows = newStore(o.kinds, nil)
	if o.seen != nil {
		o.seen.reset()
	}
	return o.nonRec.open()
}

func (o *recursiveOp) close() {
	o.nonRec.close()
	o.rec.close()
	o.mem.release()
}

func (o *recursiveOp) next() (*batch, error) {
	for !o.done {
		if err := o.x.cancelled(); err != nil {
			return nil, err
		}
		src := o.nonRec
		if o.inRounds {
			src = o.rec
		}
		b, err := src.next()
		if err != nil {
			return nil, err
		}
		if b == nil {
			src.close()
			if o.fresh.n == 0 {
				o.done = true
				break
			}
			o.work.rows, o.fresh = o.fresh, newStore(o.kinds, nil)
			o.mem.release()
			if err := o.mem.grow(o.work.rows.bytes); err != nil {
				return nil, err
			}
			o.inRounds = true
			if o.round++; o.workParam < len(o.x.params.Exec) {
				o.x.params.Exec[o.workParam] = sqltypes.Int(o.round)
			}
			if err := o.rec.open(); err != nil {
				return nil, err
			}
			continue
		}
		o.out.N, o.out.Sel, o.out.Cols = b.N, b.Sel, b.Cols
		if o.seen != nil {
			o.sel = o.seen.newRows(b.Cols, b.Selection(), o.sel)
			if len(o.sel) == 0 {
				continue
			}
			o.out.Sel = o.sel
		}
		if err := o.mem.grow(o.fresh.append(b.Cols, o.out.Selection())); err != nil {
			return nil, err
		}
		return &o.out, nil
	}
	return nil, nil
}

// workTableScanOp reads the working table of the enclosing recursive query.
type workTableScanOp struct {
	x      *Execution
	work   *worktable
	rows   *store
	at     int
	filter *expr.Program
	sel    []uint16
	rejected
	out batch
}

func (x *Execution) buildWorkTableScan(p *planner.WorkTableScan) (built, error) {
	w := x.work[p.CTE]
	if w == nil {
		return built{}, fmt.Errorf("exec: recursive reference to %s outside its query", p.Alias)
	}
	filter, err := x.compile(p.Filter)
	return built{op: &workTableScanOp{x: x, work: w, filter: filter}, kinds: x.outKinds(p)}, err
}

func (o *workTableScanOp) open() error {
	o.rows, o.at = &store{cols: o.work.rows.cols, n: o.work.rows.n}, 0
	return nil
}
func (o *workTableScanOp) close() {}

func (o *workTableScanOp) next() (*batch, error) {
	for o.at < o.rows.n {
		n := min(expr.BatchSize, o.rows.n-o.at)
		o.rows.slice(o.at, n, len(o.rows.cols), &o.out)
		o.at += n
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
