package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// joinOut makes the output batches of a join from pairs of rows: left ones of
// the current batch, right ones of a store.
type joinOut struct {
	x           *Execution
	kind        planner.JoinKind
	cond        *expr.Program
	left, right built
	pairs       *batch // columns of both sides, refs of both sides
	ldst, rdst  []*expr.Vec
	lidx        []uint16
	ridx        []int32
	sel         []uint16
	rejected
	lcols []*expr.Vec
	// matched left rows of the current batch, by physical row.
	matched [expr.BatchSize / 64]uint64
	res     batch
}

// joinColumns splits the columns a parent needs of a join, plus those its
// condition and keys read, between the sides.
func joinColumns(used need, leftWidth, rightWidth int, kind planner.JoinKind, cond expr.Expr) (all, left, right need) {
	all = make(need, leftWidth+rightWidth)
	for i := range all {
		if i < leftWidth || kind != planner.JoinSemi && kind != planner.JoinAnti {
			all[i] = used.has(i)
		}
	}
	all.add(cond)
	return all, all[:leftWidth:leftWidth].copy(leftWidth), all[leftWidth:].copy(rightWidth)
}

func (x *Execution) newJoinOut(kind planner.JoinKind, left, right built, used need, cond expr.Expr) (*joinOut, error) {
	o := &joinOut{x: x, kind: kind, left: left, right: right, lidx: make([]uint16, 0, expr.BatchSize), ridx: make([]int32, 0, expr.BatchSize)}
	var err error
	if o.cond, err = x.compile(cond); err != nil {
		return nil, err
	}
	kinds := append(append([]sqltypes.Kind{}, left.kinds...), right.kinds...)
	o.pairs = ownBatch(kinds, used, len(left.slots)+len(right.slots))
	nl, lr := len(left.kinds), refVecs*len(left.slots)
	o.ldst = append(append([]*expr.Vec{}, o.pairs.Cols[:nl]...), o.pairs.refs[:lr]...)
	o.rdst = append(append([]*expr.Vec{}, o.pairs.Cols[nl:]...), o.pairs.refs[lr:]...)
	return o, nil
}

// built describes the join's output.
func (o *joinOut) built(op operator) built {
	if o.kind == planner.JoinSemi || o.kind == planner.JoinAnti {
		return built{op: op, kinds: o.left.kinds, slots: o.left.slots}
	}
	return built{op: op, kinds: append(append([]sqltypes.Kind{}, o.left.kinds...), o.right.kinds...),
		slots: append(append([]int{}, o.left.slots...), o.right.slots...)}
}

func (o *joinOut) begin(b *batch) {
	o.matched = [len(o.matched)]uint64{}
	o.lcols = b.all(o.lcols)
}

func (o *joinOut) isMatched(i uint16) bool { return o.matched[i>>6]&(1<<(i&63)) != 0 }
func (o *joinOut) mark(i uint16)           { o.matched[i>>6] |= 1 << (i & 63) }

// add queues a pair; full tells when emit must be called.
func (o *joinOut) add(l uint16, r int32) { o.lidx, o.ridx = append(o.lidx, l), append(o.ridx, r) }
func (o *joinOut) full() bool            { return len(o.lidx) >= expr.BatchSize }

// emit turns the queued pairs into rows, keeps those that pass the condition,
// and marks their left rows (and, in rightSeen, right rows) as matched. It
// returns nil when no row is left, or the join yields no pairs.
func (o *joinOut) emit(s *store, rightSeen expr.Bitmap) (*batch, error) {
	n := len(o.lidx)
	if n == 0 {
		return nil, nil
	}
	if err := o.x.cancelled(); err != nil {
		return nil, err
	}
	b := o.pairs
	b.reset()
	for i, d := range o.ldst {
		if d != nil && o.lcols[i] != nil {
			d.Gather(0, o.lcols[i], o.lidx)
		}
	}
	s.gather(o.rdst, 0, o.ridx)
	b.N = n
	if o.cond != nil {
		ok, err := applyFilter(o.x, o.cond, b, &o.sel, &o.rejected)
		if err != nil {
			return nil, err
		}
		if !ok {
			o.lidx, o.ridx = o.lidx[:0], o.ridx[:0]
			return nil, nil
		}
	}
	if o.kind != planner.JoinInner {
		for _, k := range b.Selection() {
			o.mark(o.lidx[k])
			if rightSeen != nil {
				rightSeen.Set(int(o.ridx[k]))
			}
		}
	}
	o.lidx, o.ridx = o.lidx[:0], o.ridx[:0]
	if o.kind == planner.JoinSemi || o.kind == planner.JoinAnti {
		return nil, nil
	}
	return b, nil
}

// rest yields what a left batch contributes after all its pairs: matched rows of
// a semi join, unmatched ones of an anti join, padded ones of a left or full join.
func (o *joinOut) rest(b *batch, sel []uint16) *batch {
	switch o.kind {
	case planner.JoinSemi, planner.JoinAnti:
		want := o.kind == planner.JoinSemi
		out := o.lidx[:0]
		for _, i := range sel {
			if o.isMatched(i) == want {
				out = append(out, i)
			}
		}
		if len(out) == 0 {
			return nil
		}
		o.res = *b
		o.res.Sel = out
		return &o.res
	case planner.JoinLeft, planner.JoinFull:
		o.lidx, o.ridx = o.lidx[:0], o.ridx[:0]
		for _, i := range sel {
			if !o.isMatched(i) {
				o.lidx = append(o.lidx, i)
			}
		}
		n := len(o.lidx)
		if n == 0 {
			return nil
		}
		p := o.pairs
		p.reset()
		for i, d := range o.ldst {
			if d != nil && o.lcols[i] != nil {
				d.Gather(0, o.lcols[i], o.lidx)
			}
		}
		for _, d := range o.rdst {
			fillNull(d, n)
		}
		p.N = n
		o.lidx = o.lidx[:0]
		return p
	}
	return nil
}

// rightRows yields right rows padded with NULLs on the left.
func (o *joinOut) rightRows(s *store, rows []int32) *batch {
	p := o.pairs
	p.reset()
	for _, d := range o.ldst {
		fillNull(d, len(rows))
	}
	s.gather(o.rdst, 0, rows)
	p.N = len(rows)
	return p
}

func fillNull(v *expr.Vec, n int) {
	if v == nil {
		return
	}
	for i := range n {
		v.SetNull(i)
	}
}
