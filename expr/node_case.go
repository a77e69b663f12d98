package expr

import "ostraka/sqltypes"

// caseNode is CASE. A branch's result is only evaluated for the rows that take it.
type caseNode struct {
	arg   node // nil: searched CASE
	whens []whenNode
	other node // nil: NULL
	kind  sqltypes.Kind
	out   scratch
	take  selBuf
	rest  [2]selBuf
}

type whenNode struct{ cond, result node }

func (c *compiler) caseExpr(e *Case) (node, error) {
	n := &caseNode{kind: c.kind(e)}
	var err error
	if n.arg, err = c.opt(e.Arg); err != nil {
		return nil, err
	}
	for _, w := range e.Whens {
		cond, err := c.compile(w.Cond)
		if err != nil {
			return nil, err
		}
		res, err := c.compile(w.Result)
		if err != nil {
			return nil, err
		}
		n.whens = append(n.whens, whenNode{cond, res})
	}
	n.other, err = c.opt(e.Else)
	return n, err
}

func (n *caseNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	saved := s.caseDatum
	if n.arg != nil {
		d, err := n.arg.row(s, row)
		if err != nil {
			return d, err
		}
		s.caseDatum = d
	}
	arg := s.caseDatum
	for _, w := range n.whens {
		s.caseDatum = arg
		d, err := w.cond.row(s, row)
		s.caseDatum = saved
		if err != nil {
			return d, err
		}
		if d.True() {
			return w.result.row(s, row)
		}
	}
	s.caseDatum = saved
	if n.other == nil {
		return sqltypes.Null, nil
	}
	return n.other.row(s, row)
}

func (n *caseNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	saved := s.caseVec
	defer func() { s.caseVec = saved }()
	arg := saved
	if n.arg != nil {
		var err error
		if arg, err = n.arg.vec(s, b, sel); err != nil {
			return nil, err
		}
	}
	res := n.out.get(n.kind)
	cur := sel
	for k, w := range n.whens {
		if len(cur) == 0 {
			return res, nil
		}
		s.caseVec = arg
		take, err := filterNode(w.cond, s, b, cur, n.take.get())
		s.caseVec = saved
		if err != nil {
			return nil, err
		}
		if len(take) == 0 {
			continue
		}
		if len(take) < len(cur) {
			cur = subtract(n.rest[k&1].get(), cur, take)
		} else {
			cur = nil
		}
		if err := copyResult(res, w.result, s, b, take); err != nil {
			return nil, err
		}
	}
	if len(cur) == 0 {
		return res, nil
	}
	if n.other == nil {
		for _, i := range cur {
			res.SetNull(int(i))
		}
		return res, nil
	}
	return res, copyResult(res, n.other, s, b, cur)
}

// copyResult evaluates a branch for the rows sel and copies it there.
func copyResult(res *Vec, branch node, s *state, b *Batch, sel []uint16) error {
	if c, ok := branch.(constant); ok {
		d, err := c.value(s)
		if err != nil {
			return err
		}
		res.Fill(d, sel)
		return nil
	}
	v, err := branch.vec(s, b, sel)
	if err != nil {
		return err
	}
	res.CopySel(v, sel)
	return nil
}

// subtract appends the rows of all that are not in some, a sorted subset, to out.
func subtract(out, all, some []uint16) []uint16 {
	k := 0
	for _, i := range all {
		if k < len(some) && some[k] == i {
			k++
			continue
		}
		out = append(out, i)
	}
	return out
}

// coalesceNode is COALESCE; later arguments are evaluated only where the earlier ones are NULL.
type coalesceNode struct {
	args []node
	kind sqltypes.Kind
	out  scratch
	take selBuf
	rest [2]selBuf
}

func (n *coalesceNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	for _, a := range n.args {
		d, err := a.row(s, row)
		if err != nil || !d.Null {
			return d, err
		}
	}
	return sqltypes.Null, nil
}

func (n *coalesceNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	res := n.out.get(n.kind)
	cur := sel
	for k, a := range n.args {
		v, err := a.vec(s, b, cur)
		if err != nil {
			return nil, err
		}
		if v.Null == nil {
			res.CopySel(v, cur)
			return res, nil
		}
		take, rest := n.take.get(), n.rest[k&1].get()
		for _, i := range cur {
			if v.Null.Get(int(i)) {
				rest = append(rest, i)
			} else {
				take = append(take, i)
			}
		}
		res.CopySel(v, take)
		if cur = rest; len(cur) == 0 {
			return res, nil
		}
	}
	for _, i := range cur {
		res.SetNull(int(i))
	}
	return res, nil
}
