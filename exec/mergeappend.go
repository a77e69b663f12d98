package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// mergeAppendOp merges sorted inputs.
type mergeAppendOp struct {
	*inputs
	keys  []*sortOrder
	cols  []int // columns of the keys
	heads []mergeHead
	out   *batch
	row   []sqltypes.Datum
}

// mergeHead is the next row of one input.
type mergeHead struct {
	op operator
	b  *batch
	at int // index into b.Selection()
}

func (x *Execution) buildMergeAppend(p *planner.MergeAppend, used need) (built, error) {
	if used != nil {
		used = used.copy(len(p.Columns))
		for _, k := range p.Keys {
			used.add(k.Expr)
		}
	}
	in, err := x.newInputs(p.Inputs, p.Prune, used)
	if err != nil {
		return built{}, err
	}
	kinds := x.outKinds(p)
	o := &mergeAppendOp{inputs: in, out: ownBatch(kinds, nil, len(in.slots)), row: make([]sqltypes.Datum, len(kinds))}
	for _, k := range p.Keys {
		so, err := x.newSortOrder(k)
		if err != nil {
			return built{}, err
		}
		o.keys = append(o.keys, so)
		o.cols = append(o.cols, k.Expr.(*expr.Col).Idx)
	}
	return built{op: o, kinds: kinds, slots: in.slots}, nil
}

func (o *mergeAppendOp) open() error {
	if err := o.inputs.open(); err != nil {
		return err
	}
	o.heads = o.heads[:0]
	for _, i := range o.live {
		if err := o.ops[i].open(); err != nil {
			return err
		}
		h := mergeHead{op: o.ops[i]}
		if ok, err := h.fill(); err != nil {
			return err
		} else if ok {
			o.heads = append(o.heads, h)
		}
	}
	return nil
}

// fill makes sure that the head has a row; false: the input is at its end.
func (h *mergeHead) fill() (bool, error) {
	for h.b == nil || h.at >= len(h.b.Selection()) {
		b, err := h.op.next()
		if err != nil || b == nil {
			return false, err
		}
		h.b, h.at = b, 0
	}
	return true, nil
}

func (h *mergeHead) row() int { return int(h.b.Selection()[h.at]) }

func (o *mergeAppendOp) less(a, b *mergeHead) bool {
	for k, so := range o.keys {
		if c := so.compare(a.b.Cols[o.cols[k]], a.row(), b.b.Cols[o.cols[k]], b.row()); c != 0 {
			return c < 0
		}
	}
	return false
}

func (o *mergeAppendOp) next() (*batch, error) {
	o.out.reset()
	for len(o.heads) > 0 && !o.out.Full() {
		best := 0
		for i := 1; i < len(o.heads); i++ {
			if o.less(&o.heads[i], &o.heads[best]) {
				best = i
			}
		}
		h := &o.heads[best]
		i, n := h.row(), o.out.N
		for c := range o.row {
			o.row[c] = sqltypes.Null
			if h.b.Cols[c] != nil {
				o.row[c] = h.b.Cols[c].Datum(i)
			}
		}
		o.out.Append(o.row)
		for k, v := range o.out.refs {
			v.CopyAt(n, h.b.refs[k], i)
		}
		h.at++
		ok, err := h.fill()
		if err != nil {
			return nil, err
		}
		if !ok {
			o.heads = append(o.heads[:best], o.heads[best+1:]...)
		}
	}
	if o.out.N == 0 {
		return nil, nil
	}
	return o.out, o.x.cancelled()
}
