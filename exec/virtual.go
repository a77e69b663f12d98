package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// virtualOp reads a relation that a provider makes.
type virtualOp struct {
	x      *Execution
	p      *planner.VirtualScan
	eq     []*expr.Program
	filter *expr.Program
	src    sqltypes.RowSource
	row    []sqltypes.Datum
	out    *batch
	sel    []uint16
	rejected
	none bool
}

func (x *Execution) buildVirtual(p *planner.VirtualScan) (built, error) {
	kinds := x.outKinds(p)
	o := &virtualOp{x: x, p: p, row: make([]sqltypes.Datum, len(kinds)), out: ownBatch(kinds, nil, 0)}
	var err error
	for _, q := range p.Eq {
		prog, err := x.compile(q.Value)
		if err != nil {
			return built{}, err
		}
		o.eq = append(o.eq, prog)
	}
	o.filter, err = x.compile(p.Filter)
	return built{op: o, kinds: kinds}, err
}

func (o *virtualOp) open() error {
	q := planner.VirtualQuery{View: o.x.view, Env: o.x.env, Attrs: o.p.Attrs}
	o.none = false
	for i, e := range o.p.Eq {
		d, err := o.x.scalar(o.eq[i])
		if err != nil {
			return err
		}
		if d.Null {
			o.none = true
			return nil
		}
		if q.Eq == nil {
			q.Eq = map[int16]sqltypes.Datum{}
		}
		q.Eq[e.Attr] = d
	}
	src, err := o.p.Rel.Rows(o.x.ctx, q)
	o.src = src
	return err
}

func (o *virtualOp) close() { o.src = nil }

func (o *virtualOp) next() (*batch, error) {
	for !o.none && o.src != nil {
		if err := o.x.cancelled(); err != nil {
			return nil, err
		}
		o.out.reset()
		for !o.out.Full() {
			row, ok, err := o.src.Next()
			if err != nil {
				return nil, err
			}
			if !ok {
				o.src = nil
				break
			}
			for i, a := range o.p.Attrs {
				switch {
				case int(a) > 0 && int(a) <= len(row):
					o.row[i] = row[a-1]
				case a == -6: // tableoid
					o.row[i] = sqltypes.Int(int64(o.p.Rel.Rel.OID))
				case a == -2 || a == -4: // xmin, xmax: made with the system
					o.row[i] = sqltypes.Int(2)
				default:
					o.row[i] = sqltypes.Null
				}
			}
			o.out.Append(o.row)
		}
		if o.out.N == 0 {
			return nil, nil
		}
		if o.filter == nil {
			return o.out, nil
		}
		ok, err := applyFilter(o.x, o.filter, o.out, &o.sel, &o.rejected)
		if err != nil {
			return nil, err
		}
		if ok {
			return o.out, nil
		}
	}
	return nil, nil
}
