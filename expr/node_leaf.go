package expr

import (
	"fmt"

	"ostraka/sqltypes"
)

// constNode is a literal.
type constNode struct {
	val  sqltypes.Datum
	kind sqltypes.Kind
	out  broadcast
}

func (n *constNode) value(*state) (sqltypes.Datum, error) { return n.val, nil }
func (n *constNode) row(*state, []sqltypes.Datum) (sqltypes.Datum, error) {
	return n.val, nil
}
func (n *constNode) vec(*state, *Batch, []uint16) (*Vec, error) {
	return n.out.get(n.kind, n.val), nil
}

// broadcast is one value repeated for a whole batch, kept while the value stays the same.
type broadcast struct {
	v    *Vec
	last sqltypes.Datum
}

func (c *broadcast) get(k sqltypes.Kind, d sqltypes.Datum) *Vec {
	if c.v == nil || c.last != d {
		v := NewVec(k) // a new one: the old may have been handed upward
		v.Fill(d, identity[:])
		c.v, c.last = v, d
	}
	return c.v
}

func fill(out *scratch, k sqltypes.Kind, d sqltypes.Datum, sel []uint16) *Vec {
	v := out.get(k)
	v.Fill(d, sel)
	return v
}

// colNode is an input column.
type colNode struct {
	idx  int
	kind sqltypes.Kind
	null scratch
}

func (n *colNode) row(_ *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	return row[n.idx], nil
}
func (n *colNode) vec(_ *state, b *Batch, sel []uint16) (*Vec, error) {
	if v := b.Cols[n.idx]; v != nil {
		return v, nil
	}
	return fill(&n.null, n.kind, sqltypes.Null, sel), nil
}

// paramNode is $N.
type paramNode struct {
	n    int
	kind sqltypes.Kind
	out  broadcast
}

func (n *paramNode) value(s *state) (sqltypes.Datum, error) {
	if n.n >= len(s.params.Bind) {
		return sqltypes.Null, fmt.Errorf("expr: parameter $%d has no value", n.n+1)
	}
	return s.params.Bind[n.n], nil
}
func (n *paramNode) row(s *state, _ []sqltypes.Datum) (sqltypes.Datum, error) { return n.value(s) }
func (n *paramNode) vec(s *state, _ *Batch, _ []uint16) (*Vec, error) {
	d, err := n.value(s)
	return n.out.get(n.kind, d), err
}

// execParamNode is a value the executor sets while running. Values that are
// computed on demand (InitPlans) come from the LazyParams of the runner.
type execParamNode struct {
	id   int
	kind sqltypes.Kind
	out  broadcast
}

// LazyParams is implemented by a SubPlanRunner that computes some execution
// parameters on first use.
type LazyParams interface {
	// ExecParam returns the value of parameter id, computing it if need be.
	ExecParam(id int, params *Params, env *sqltypes.Env) (sqltypes.Datum, error)
}

func (n *execParamNode) value(s *state) (sqltypes.Datum, error) {
	if l, ok := s.params.Runner.(LazyParams); ok {
		return l.ExecParam(n.id, s.params, s.env)
	}
	if n.id >= len(s.params.Exec) {
		return sqltypes.Null, fmt.Errorf("expr: execution parameter %d has no value", n.id)
	}
	return s.params.Exec[n.id], nil
}
func (n *execParamNode) row(s *state, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	return n.value(s)
}
func (n *execParamNode) vec(s *state, _ *Batch, _ []uint16) (*Vec, error) {
	d, err := n.value(s)
	return n.out.get(n.kind, d), err
}

// caseValueNode is the value of the enclosing CASE, array coercion or domain check.
type caseValueNode struct{}

func (n *caseValueNode) row(s *state, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	return s.caseDatum, nil
}
func (n *caseValueNode) vec(s *state, _ *Batch, _ []uint16) (*Vec, error) { return s.caseVec, nil }
