package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// nestLoopOp runs its right side once per left row when that depends on the row,
// else it keeps the right rows and pairs them with every left row.
type nestLoopOp struct {
	x           *Execution
	kind        planner.JoinKind
	left, right built
	params      []planner.NestParam
	progs       []*expr.Program
	out         *joinOut
	mem         budget
	rows        *store // right rows: all of them, or those of the queued pairs
	rkinds      []sqltypes.Kind
	rused       need
	loaded      bool
	seen        expr.Bitmap
	tail        int
	buf         []int32
	scratch     []*expr.Vec

	cur       *batch
	sel       []uint16
	pos       int
	rpos      int    // next right row for the current left row (kept rows)
	rightOpen bool   // the right side is running for the current left row
	pending   *batch // right batch not yet queued completely
	psel      []uint16
}

func (x *Execution) buildNestLoop(p *planner.NestLoop, used need) (built, error) {
	lw, rw := len(p.Left.Out()), len(p.Right.Out())
	all, lused, rused := joinColumns(used, lw, rw, p.Kind, p.Cond)
	o := &nestLoopOp{x: x, kind: p.Kind, params: p.Params, mem: budget{x: x}}
	for _, np := range p.Params {
		lused.add(np.Expr)
		prog, err := x.compile(np.Expr)
		if err != nil {
			return built{}, err
		}
		o.progs = append(o.progs, prog)
	}
	var err error
	if o.left, err = x.build(p.Left, lused); err != nil {
		return built{}, err
	}
	if o.right, err = x.build(p.Right, rused); err != nil {
		return built{}, err
	}
	if o.out, err = x.newJoinOut(p.Kind, o.left, o.right, all, p.Cond); err != nil {
		return built{}, err
	}
	o.rkinds = append(append([]sqltypes.Kind{}, o.right.kinds...), refKinds(len(o.right.slots))...)
	o.rused = rused.copy(len(o.rkinds))
	for i := rw; i < len(o.rkinds); i++ {
		o.rused[i] = true
	}
	return o.out.built(o), nil
}

func (o *nestLoopOp) open() error {
	o.mem.release()
	o.rows, o.cur, o.loaded, o.rightOpen, o.pending, o.seen, o.tail = newStore(o.rkinds, o.rused), nil, false, false, nil, nil, -1
	o.out.lidx, o.out.ridx = o.out.lidx[:0], o.out.ridx[:0]
	return o.left.op.open()
}

func (o *nestLoopOp) close() {
	o.left.op.close()
	o.right.op.close()
	o.rows, o.cur, o.pending = nil, nil, nil
	o.mem.release()
}

// load keeps all right rows (right side without parameters).
func (o *nestLoopOp) load() error {
	o.loaded = true
	if err := o.right.op.open(); err != nil {
		return err
	}
	defer o.right.op.close()
	for {
		b, err := o.right.op.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := o.x.cancelled(); err != nil {
			return err
		}
		o.scratch = b.all(o.scratch)
		if err := o.mem.grow(o.rows.append(o.scratch, b.Selection())); err != nil {
			return err
		}
	}
	if o.kind == planner.JoinRight || o.kind == planner.JoinFull {
		o.seen = make(expr.Bitmap, (o.rows.n+64)>>6)
	}
	return nil
}

func (o *nestLoopOp) next() (*batch, error) {
	for o.tail < 0 {
		if o.cur == nil {
			b, err := o.left.op.next()
			if err != nil {
				return nil, err
			}
			if b == nil {
				if len(o.params) == 0 && !o.loaded && (o.kind == planner.JoinRight || o.kind == planner.JoinFull) {
					if err := o.load(); err != nil {
						return nil, err
					}
				}
				o.tail = 0
				break
			}
			if len(o.params) == 0 && !o.loaded {
				if err := o.load(); err != nil {
					return nil, err
				}
			}
			o.cur, o.sel, o.pos, o.rpos = b, b.Selection(), 0, 0
			o.out.begin(b)
		}
		if o.pos < len(o.sel) {
			var err error
			if len(o.params) == 0 {
				o.pairKept()
			} else {
				err = o.pairDependent()
			}
			if err != nil {
				return nil, err
			}
			if !o.out.full() && o.pos < len(o.sel) {
				continue
			}
		}
		b, err := o.flush()
		if err != nil || b != nil {
			return b, err
		}
		if o.pos < len(o.sel) || len(o.out.lidx) > 0 {
			continue
		}
		cur := o.cur
		o.cur = nil
		if b := o.out.rest(cur, o.sel); b != nil {
			return b, nil
		}
	}
	return o.unmatchedRight(), nil
}

// flush evaluates the queued pairs.
func (o *nestLoopOp) flush() (*batch, error) {
	b, err := o.out.emit(o.rows, o.seen)
	if len(o.params) > 0 {
		o.rows.clear()
	}
	return b, err
}

// early reports whether the first match of a left row is enough.
func (o *nestLoopOp) early() bool { return o.kind == planner.JoinSemi || o.kind == planner.JoinAnti }

// pairKept queues pairs with the kept right rows.
func (o *nestLoopOp) pairKept() {
	for o.pos < len(o.sel) {
		i := o.sel[o.pos]
		if o.early() && o.out.cond == nil {
			if o.rows.n > 0 {
				o.out.mark(i)
			}
			o.pos++
			continue
		}
		for o.rpos < o.rows.n {
			if o.out.full() || o.early() && o.rpos&(expr.BatchSize-1) == 0 && o.out.isMatched(i) {
				break
			}
			o.out.add(i, int32(o.rpos))
			o.rpos++
		}
		if o.rpos < o.rows.n && !(o.early() && o.out.isMatched(i)) {
			return
		}
		o.pos, o.rpos = o.pos+1, 0
	}
}

// pairDependent runs the right side for the current left row, or a part of it.
func (o *nestLoopOp) pairDependent() error {
	i := o.sel[o.pos]
	if !o.rightOpen {
		if err := o.x.cancelled(); err != nil {
			return err
		}
		if err := o.setParams(int(i)); err != nil {
			return err
		}
		if err := o.right.op.open(); err != nil {
			return err
		}
		o.rightOpen = true
	}
	for {
		if o.pending == nil {
			b, err := o.right.op.next()
			if err != nil {
				return err
			}
			if b == nil {
				break
			}
			o.pending, o.psel = b, b.Selection()
		}
		if o.early() && o.out.cond == nil {
			o.out.mark(i)
			o.pending = nil
			break
		}
		room := expr.BatchSize - len(o.out.lidx)
		take := o.psel[:min(room, len(o.psel))]
		o.scratch = o.pending.all(o.scratch)
		from := o.rows.n
		o.rows.append(o.scratch, take)
		for k := range take {
			o.out.add(i, int32(from+k))
		}
		if o.psel = o.psel[len(take):]; len(o.psel) == 0 {
			o.pending = nil
		}
		if o.early() {
			if _, err := o.flush(); err != nil {
				return err
			}
			if o.out.isMatched(i) {
				o.pending = nil
				break
			}
			continue
		}
		if o.out.full() {
			return nil
		}
	}
	o.right.op.close()
	o.rightOpen = false
	o.pos++
	return nil
}

func (o *nestLoopOp) setParams(row int) error {
	for k, p := range o.params {
		if c, ok := p.Expr.(*expr.Col); ok && o.cur.Cols[c.Idx] != nil {
			o.x.params.Exec[p.ID] = o.cur.Cols[c.Idx].Datum(row)
			continue
		}
		one := batch{Batch: o.cur.Batch}
		one.Sel = []uint16{uint16(row)}
		v, err := o.progs[k].Eval(&one.Batch, &o.x.params, o.x.env)
		if err != nil {
			return err
		}
		o.x.params.Exec[p.ID] = v.Datum(row)
	}
	return nil
}

func (o *nestLoopOp) unmatchedRight() *batch {
	if o.seen == nil {
		return nil
	}
	o.buf = o.buf[:0]
	for ; o.tail < o.rows.n && len(o.buf) < expr.BatchSize; o.tail++ {
		if !o.seen.Get(o.tail) {
			o.buf = append(o.buf, int32(o.tail))
		}
	}
	if len(o.buf) == 0 {
		return nil
	}
	return o.out.rightRows(o.rows, o.buf)
}
