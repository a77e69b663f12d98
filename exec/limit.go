package exec

import (
	"math"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// limitOp is LIMIT, OFFSET and FETCH … WITH TIES.
type limitOp struct {
	x             *Execution
	in            operator
	goal          rowGoal // the input, when it does not want to work ahead
	count, offset *expr.Program
	ties          *rowComparer

	skip, left int64
	unlimited  bool
	tie        *store // the last row counted, while looking for its ties
	out        batch
	done       bool
}

// rowGoal is an operator whose work on a row has effects: it is told before each
// next how many rows are still wanted.
type rowGoal interface{ wantRows(n int64) }

func (x *Execution) buildLimit(p *planner.Limit, used need) (built, error) {
	if used != nil && p.WithTies != nil {
		used = used.copy(len(p.Input.Out()))
		for _, k := range p.WithTies {
			used.add(k.Expr)
		}
	}
	in, err := x.build(p.Input, used)
	if err != nil {
		return built{}, err
	}
	o := &limitOp{x: x, in: in.op}
	o.goal, _ = in.op.(rowGoal)
	if o.count, err = x.compile(p.Count); err != nil {
		return built{}, err
	}
	if o.offset, err = x.compile(p.Offset); err != nil {
		return built{}, err
	}
	if p.WithTies != nil {
		if o.ties, err = x.newRowComparer(p.WithTies); err != nil {
			return built{}, err
		}
	}
	in.op = o
	return in, nil
}

func (o *limitOp) open() error {
	o.skip, o.left, o.unlimited, o.done = 0, 0, true, false
	o.tie = nil
	if o.offset != nil {
		d, err := o.x.scalar(o.offset)
		if err != nil {
			return err
		}
		if !d.Null {
			if o.skip = d.I; o.skip < 0 {
				return pgerror.New(pgerror.InvalidRowCountInResultOffsetClause, "OFFSET must not be negative")
			}
		}
	}
	if o.count != nil {
		d, err := o.x.scalar(o.count)
		if err != nil {
			return err
		}
		if !d.Null {
			o.unlimited = false
			if o.left = d.I; o.left < 0 {
				return pgerror.New(pgerror.InvalidRowCountInLimitClause, "LIMIT must not be negative")
			}
		} else if o.ties != nil {
			return pgerror.New(pgerror.InvalidRowCountInLimitClause, "row count cannot be null in FETCH FIRST ... WITH TIES clause")
		}
	}
	if !o.unlimited && o.left == 0 {
		o.done = true
		return nil
	}
	return o.in.open()
}

func (o *limitOp) close() { o.in.close() }

func (o *limitOp) next() (*batch, error) {
	for !o.done {
		if o.goal != nil && !o.unlimited {
			o.goal.wantRows(o.wanted())
		}
		b, err := o.in.next()
		if err != nil || b == nil {
			return nil, err
		}
		sel := b.Selection()
		if o.tie != nil {
			return o.moreTies(b, sel, 0)
		}
		if o.skip > 0 {
			if int64(len(sel)) <= o.skip {
				o.skip -= int64(len(sel))
				continue
			}
			sel = sel[o.skip:]
			o.skip = 0
		}
		o.out = *b
		if !o.unlimited {
			if int64(len(sel)) >= o.left {
				k := int(o.left)
				if o.ties != nil {
					return o.moreTies(b, sel, k)
				}
				sel = sel[:k]
				o.done = true
			} else {
				o.left -= int64(len(sel))
			}
		}
		o.out.Sel = sel
		return &o.out, nil
	}
	return nil, nil
}

// wanted is how many rows are still needed from the input; ties come one by one.
func (o *limitOp) wanted() int64 {
	if o.tie != nil {
		return 1
	}
	if o.skip > math.MaxInt64-o.left {
		return math.MaxInt64
	}
	return o.skip + o.left
}

// moreTies returns the first k rows of sel and those after them that compare
// equal to the last row counted.
func (o *limitOp) moreTies(b *batch, sel []uint16, k int) (*batch, error) {
	if err := o.ties.load(b); err != nil {
		return nil, err
	}
	if k > 0 {
		o.tie = o.ties.keep(sel[k-1])
	}
	for k < len(sel) && o.ties.compareKept(o.tie, sel[k]) == 0 {
		k++
	}
	o.done = k < len(sel)
	if k == 0 {
		return nil, nil
	}
	o.out = *b
	o.out.Sel = sel[:k]
	return &o.out, nil
}
