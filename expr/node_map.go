package expr

import "ostraka/sqltypes"

// mapNode computes each value from the values of its operands with a Go
// function: the common form of everything that has no typed kernel.
type mapNode struct {
	args []node
	// strict: NULL in any operand gives NULL without calling fn.
	strict bool
	// steady: equal operands give equal values, so one call does for a batch when
	// all operands are constants.
	steady bool
	kind   sqltypes.Kind
	fn     func(s *state, args []sqltypes.Datum) (sqltypes.Datum, error)
	out    scratch
	buf    []sqltypes.Datum
	vecs   []*Vec
}

func newMap(kind sqltypes.Kind, strict bool, args []node, fn func(s *state, args []sqltypes.Datum) (sqltypes.Datum, error)) *mapNode {
	return &mapNode{args: args, strict: strict, kind: kind, fn: fn,
		buf: make([]sqltypes.Datum, len(args)), vecs: make([]*Vec, len(args))}
}

func (n *mapNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	null := false
	for i, a := range n.args {
		if a == nil {
			n.buf[i] = sqltypes.Null
			continue
		}
		d, err := a.row(s, row)
		if err != nil {
			return d, err
		}
		n.buf[i] = d
		null = null || d.Null
	}
	if null && n.strict {
		return sqltypes.Null, nil
	}
	return n.fn(s, n.buf)
}

func (n *mapNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	once := n.steady && len(sel) > 0
	for i, a := range n.args {
		n.vecs[i] = nil
		n.buf[i] = sqltypes.Null
		if a == nil {
			continue
		}
		if c, ok := a.(constant); ok {
			d, err := c.value(s)
			if err != nil {
				return nil, err
			}
			n.buf[i] = d
			if d.Null && n.strict {
				return fill(&n.out, n.kind, sqltypes.Null, sel), nil
			}
			continue
		}
		v, err := a.vec(s, b, sel)
		if err != nil {
			return nil, err
		}
		n.vecs[i] = v
		once = false
	}
	if once {
		d, err := n.fn(s, n.buf)
		if err != nil {
			return nil, err
		}
		return fill(&n.out, n.kind, d, sel), nil
	}
	rows := BatchSize
	if b != nil {
		rows = b.N
	}
	res := n.out.sized(n.kind, rows)
	return res, n.apply(s, res, sel)
}

// apply fills res from the operand vectors in n.vecs and constants in n.buf.
func (n *mapNode) apply(s *state, res *Vec, sel []uint16) error {
rows:
	for _, i := range sel {
		for k, v := range n.vecs {
			if v == nil {
				continue
			}
			d := v.Datum(int(i))
			if d.Null && n.strict {
				res.SetNull(int(i))
				continue rows
			}
			n.buf[k] = d
		}
		d, err := n.fn(s, n.buf)
		if err != nil {
			return err
		}
		res.Set(int(i), d)
	}
	return nil
}

// constMap is a mapNode whose value is the same for all rows.
type constMap struct{ *mapNode }

func (n constMap) value(s *state) (sqltypes.Datum, error) { return n.row(s, nil) }
