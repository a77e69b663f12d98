package exec

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// lockRowsOp is FOR UPDATE / SHARE: it locks each row that passes, brings changed
// ones up to date and drops those that no longer qualify.
type lockRowsOp struct {
	x       *Execution
	in      built
	marks   []planner.RowMark
	trees   []map[uint64]*planner.Member // by mark; nil: one table
	slots   []int
	recheck []*expr.Program
	bufs    [][]sqltypes.Datum
	row     []sqltypes.Datum
	out     *batch
	// want is how many more rows are asked for, 0: all. Rows that nobody takes
	// must not be locked.
	want int64
	from *batch   // the input's batch, while rows of it are left
	left []uint16 // the rows of it that were not looked at yet
}

func (x *Execution) buildLockRows(p *planner.LockRows) (built, error) {
	if err := x.needTxn(); err != nil {
		return built{}, err
	}
	in, err := x.build(p.Input, nil)
	if err != nil {
		return built{}, err
	}
	o := &lockRowsOp{x: x, in: in, marks: p.Marks, row: make([]sqltypes.Datum, len(in.kinds)), out: ownBatch(in.kinds, nil, len(in.slots))}
	for _, m := range p.Marks {
		s := in.slot(m.RefSlot)
		o.slots = append(o.slots, s)
		o.trees = append(o.trees, treeOf(m.Tree))
		n := len(m.Rel.Columns)
		for _, k := range m.Tree {
			n = max(n, len(k.Rel.Columns))
		}
		o.bufs = append(o.bufs, make([]sqltypes.Datum, n))
	}
	for _, r := range p.Recheck {
		prog, err := x.compile(r.Cond)
		if err != nil {
			return built{}, err
		}
		if prog != nil {
			o.recheck = append(o.recheck, prog)
		}
	}
	in.op = o
	return in, nil
}

func (o *lockRowsOp) open() error {
	o.from, o.left = nil, nil
	return o.in.op.open()
}

func (o *lockRowsOp) close() { o.in.op.close() }

// wantRows implements rowGoal.
func (o *lockRowsOp) wantRows(n int64) { o.want = n }

func (o *lockRowsOp) next() (*batch, error) {
	for {
		if len(o.left) == 0 {
			b, err := o.in.op.next()
			if err != nil || b == nil {
				return nil, err
			}
			o.from, o.left = b, b.Selection()
		}
		b := o.from
		o.out.reset()
		for len(o.left) > 0 && (o.want == 0 || int64(o.out.N) < o.want) {
			i := o.left[0]
			o.left = o.left[1:]
			if err := o.x.cancelled(); err != nil {
				return nil, err
			}
			b.Row(int(i), o.row)
			keep, err := o.lock(b, int(i))
			if err != nil {
				return nil, err
			}
			if !keep {
				continue
			}
			n := o.out.N
			o.out.Append(o.row)
			for k, v := range o.out.refs {
				v.CopyAt(n, b.refs[k], int(i))
			}
		}
		if o.out.N > 0 {
			return o.out, nil
		}
	}
}

// lock locks the rows of all marks; false: the row is left out.
func (o *lockRowsOp) lock(b *batch, i int) (bool, error) {
	changed := false
	for k, m := range o.marks {
		if o.slots[k] < 0 {
			continue // this side is known to be empty
		}
		ref, ok := b.ref(o.slots[k], i)
		if !ok {
			continue
		}
		rel, attrs := m.Rel, []int16(nil)
		if o.trees[k] != nil {
			t := o.trees[k][ref.StorageOf()]
			if t == nil {
				return false, notInTree(&ref)
			}
			rel, attrs = t.Rel, t.Attrs
		}
		buf := o.bufs[k][:len(rel.Columns)]
		outcome, err := o.x.txn.LockRow(o.x.ctx, rel, &ref, m.Mode, m.Wait, buf)
		if err != nil {
			return false, err
		}
		switch outcome {
		case engine.Locked:
		case engine.Changed:
			changed = true
			for _, c := range m.Cols {
				a := c.Attr
				if attrs != nil && a > 0 {
					a = attrs[a-1]
				}
				if a > 0 {
					o.row[c.Col] = buf[a-1]
				}
			}
		default:
			return false, nil
		}
	}
	if changed {
		for _, p := range o.recheck {
			ok, err := p.True(o.row, &o.x.params, o.x.env)
			if err != nil || !ok {
				return false, err
			}
		}
	}
	return true, nil
}
