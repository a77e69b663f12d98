package expr

import "ostraka/sqltypes"

// andNode is AND with three-valued logic: a row leaves the selection as soon as
// an argument is false for it, so later arguments are not evaluated there.
type andNode struct {
	args []node
	out  scratch
	bufs [2]selBuf
}

func (n *andNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	res := sqltypes.Bool(true)
	for _, a := range n.args {
		d, err := a.row(s, row)
		if err != nil {
			return d, err
		}
		if d.Null {
			res = sqltypes.Null
		} else if d.I == 0 {
			return d, nil
		}
	}
	return res, nil
}

func (n *andNode) filter(s *state, b *Batch, sel, out []uint16) ([]uint16, error) {
	last := len(n.args) - 1
	cur := sel
	for k, a := range n.args {
		dst := out
		if k < last {
			dst = n.bufs[k&1].get()
		}
		next, err := filterNode(a, s, b, cur, dst)
		if err != nil {
			return out, err
		}
		// A row that is NULL here is out too: filter wants true only. PostgreSQL
		// would still evaluate later arguments there; only errors could tell.
		cur = next
		if k < last && len(cur) == 0 {
			return out, nil
		}
	}
	return cur, nil
}

func (n *andNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	return logic(n.args, 0, s, b, sel, &n.out, &n.bufs)
}

// orNode is OR; a row leaves the selection as soon as an argument is true for it.
type orNode struct {
	args []node
	out  scratch
	bufs [2]selBuf
}

func (n *orNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	res := sqltypes.Bool(false)
	for _, a := range n.args {
		d, err := a.row(s, row)
		if err != nil {
			return d, err
		}
		if d.Null {
			res = sqltypes.Null
		} else if d.I != 0 {
			return d, nil
		}
	}
	return res, nil
}

func (n *orNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	return logic(n.args, 1, s, b, sel, &n.out, &n.bufs)
}

// logic evaluates AND (decides = 0) or OR (decides = 1).
func logic(args []node, decides int64, s *state, b *Batch, sel []uint16, out *scratch, bufs *[2]selBuf) (*Vec, error) {
	res := out.get(sqltypes.KInt)
	for _, i := range sel {
		res.I64[i] = 1 - decides
	}
	cur := sel
	for k, a := range args {
		v, err := a.vec(s, b, cur)
		if err != nil {
			return nil, err
		}
		next := bufs[k&1].get()
		for _, i := range cur {
			switch {
			case v.Null.Get(int(i)):
				res.SetNull(int(i))
			case v.I64[i]&1 == decides:
				res.I64[i] = decides
				if res.Null != nil {
					res.Null.Clear(int(i))
				}
				continue
			}
			next = append(next, i)
		}
		if cur = next; len(cur) == 0 {
			break
		}
	}
	return res, nil
}

// notNode is NOT.
type notNode struct {
	arg node
	out scratch
}

func (n *notNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	d, err := n.arg.row(s, row)
	if err != nil || d.Null {
		return d, err
	}
	return sqltypes.Bool(d.I == 0), nil
}

func (n *notNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	v, err := n.arg.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	res := n.out.get(sqltypes.KInt)
	for _, i := range sel {
		res.I64[i] = v.I64[i] ^ 1
	}
	res.Null = v.Null
	return res, nil
}

// boolTestNode is IS [NOT] TRUE, FALSE, UNKNOWN.
type boolTestNode struct {
	arg  node
	want int8
	not  bool
	out  scratch
}

func (n *boolTestNode) test(null bool, v int64) bool {
	is := null
	if n.want >= 0 {
		is = !null && v == int64(n.want)
	}
	return is != n.not
}

func (n *boolTestNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	d, err := n.arg.row(s, row)
	return sqltypes.Bool(n.test(d.Null, d.I)), err
}

func (n *boolTestNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	v, err := n.arg.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	res := n.out.get(sqltypes.KInt)
	for _, i := range sel {
		res.I64[i] = b2i(n.test(v.Null.Get(int(i)), v.I64[i]))
	}
	return res, nil
}

// nullTestNode is IS [NOT] NULL of a value.
type nullTestNode struct {
	arg node
	not bool
	out scratch
}

func (n *nullTestNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	d, err := n.arg.row(s, row)
	return sqltypes.Bool(d.Null != n.not), err
}

func (n *nullTestNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	v, err := n.arg.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	res := n.out.get(sqltypes.KInt)
	for _, i := range sel {
		res.I64[i] = b2i(v.Null.Get(int(i)) != n.not)
	}
	return res, nil
}

// b2i is 1 for true.
func b2i(b bool) int64 {
	var r int64
	if b {
		r = 1
	}
	return r
}
