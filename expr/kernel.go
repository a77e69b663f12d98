package expr

import (
	"ostraka/sqltypes"
)

// kernel makes the typed form of a call of one function. build may return nil:
// then the call runs through Proc.Fn.
type kernel struct {
	nargs int
	build func(c *compiler, e *Call, args []node, generic *mapNode) node
}

// kernels by Proc.Src. Filled by the init functions of the kernel files.
var kernels = map[string]*kernel{}

func addKernel(src string, nargs int, build func(c *compiler, e *Call, args []node, generic *mapNode) node) {
	kernels[src] = &kernel{nargs, build}
}

// binNode is a strict two-operand kernel.
type binNode struct {
	a, b    node
	generic *mapNode
	kind    sqltypes.Kind
	out     scratch
	// run computes res at the rows sel, whatever is NULL there. It answers false
	// when it cannot (overflow, a wide numeric): then the function itself runs.
	run func(res, x, y *Vec, sel []uint16) bool
	// one is run for one row; nil: the function itself.
	one func(a, b sqltypes.Datum) (sqltypes.Datum, bool)
}

func (n *binNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	x, err := n.a.row(s, row)
	if err != nil {
		return x, err
	}
	y, err := n.b.row(s, row)
	if err != nil {
		return y, err
	}
	if x.Null || y.Null {
		return sqltypes.Null, nil
	}
	if n.one != nil {
		if d, ok := n.one(x, y); ok {
			return d, nil
		}
	}
	n.generic.buf[0], n.generic.buf[1] = x, y
	return n.generic.fn(s, n.generic.buf)
}

func (n *binNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	x, err := n.a.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	y, err := n.b.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	res := n.out.get(n.kind)
	res.eitherNull(x, y, b.N)
	if n.run(res, x, y, sel) {
		return res, nil
	}
	res.Reset(n.kind)
	n.generic.vecs[0], n.generic.vecs[1] = x, y
	return res, n.generic.apply(s, res, sel)
}

// eitherNull makes NULL what is NULL in x or y.
func (v *Vec) eitherNull(x, y *Vec, n int) {
	switch {
	case y.Null == nil:
		v.Null = x.Null
	case x.Null == nil:
		v.Null = y.Null
	default:
		v.needNull()
		for i := range (n + 63) >> 6 {
			v.Null[i] = x.Null[i] | y.Null[i]
		}
	}
}

// unNode is a strict one-operand kernel.
type unNode struct {
	a       node
	generic *mapNode
	kind    sqltypes.Kind
	out     scratch
	run     func(res, x *Vec, sel []uint16) bool
	one     func(a sqltypes.Datum) (sqltypes.Datum, bool)
}

func (n *unNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	x, err := n.a.row(s, row)
	if err != nil || x.Null {
		return x, err
	}
	if n.one != nil {
		if d, ok := n.one(x); ok {
			return d, nil
		}
	}
	n.generic.buf[0] = x
	return n.generic.fn(s, n.generic.buf)
}

func (n *unNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	x, err := n.a.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	res := n.out.get(n.kind)
	res.Null = x.Null
	if n.run(res, x, sel) {
		return res, nil
	}
	res.Reset(n.kind)
	n.generic.vecs[0] = x
	return res, n.generic.apply(s, res, sel)
}

// ignored reports whether an impossible value at row i does not matter, since the row is NULL.
func (v *Vec) ignored(i uint16) bool { return v.Null.Get(int(i)) }
