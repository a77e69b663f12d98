package expr

import (
	"ostraka/sqltypes"
)

// TypeFinder finds runtime types by OID: the catalogue's Type method, or
// sqltypes.TypeByOID where only built-in types can occur.
type TypeFinder func(sqltypes.OID) *sqltypes.Type

// KindOf is how values of a type lie in vectors; unknown types are bytes.
func (f TypeFinder) KindOf(oid sqltypes.OID) sqltypes.Kind {
	if t := f.Find(oid); t != nil {
		return t.Kind
	}
	return sqltypes.KBytes
}

// Find looks a type up; a nil TypeFinder knows the built-in types.
func (f TypeFinder) Find(oid sqltypes.OID) *sqltypes.Type {
	if t := sqltypes.TypeByOID(oid); t != nil {
		return t
	}
	if f == nil {
		return nil
	}
	return f(oid)
}

// Program is an expression made ready to run. It keeps scratch vectors and call
// caches, so it belongs to one goroutine and is not reentrant.
type Program struct {
	root node
	kind sqltypes.Kind
	st   state
}

// state is what the nodes of one Program share while it runs.
type state struct {
	params *Params
	env    *sqltypes.Env
	// The value CaseValue stands for: caseVec in vector evaluation, caseDatum in row evaluation.
	caseVec   *Vec
	caseDatum sqltypes.Datum
}

var noParams Params

func (s *state) begin(params *Params, env *sqltypes.Env) {
	if params == nil {
		params = &noParams
	}
	s.params, s.env = params, env
}

// node is one compiled expression node.
type node interface {
	// vec evaluates the node for the rows sel of b. The vector is only defined at
	// those rows and stays valid until the node runs again.
	vec(s *state, b *Batch, sel []uint16) (*Vec, error)
	// row evaluates it over one row.
	row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error)
}

// filterer is a node of type boolean that can select directly.
type filterer interface {
	// filter appends to out (empty, with room) those rows of sel for which the node is true.
	filter(s *state, b *Batch, sel, out []uint16) ([]uint16, error)
}

// constant is a node whose value does not depend on the row.
type constant interface {
	value(s *state) (sqltypes.Datum, error)
}

// Compile prepares an expression. It fails for nodes that only exist while planning.
func Compile(e Expr, types TypeFinder) (*Program, error) {
	c := &compiler{types: types}
	root, err := c.compile(e)
	if err != nil {
		return nil, err
	}
	return &Program{root: root, kind: types.KindOf(e.Type().OID)}, nil
}

// Kind is the representation of the results.
func (p *Program) Kind() sqltypes.Kind { return p.kind }

// Eval evaluates the expression for the selected rows of b. The vector is only
// defined at those rows; it is valid until the next call, and may be a column of b.
func (p *Program) Eval(b *Batch, params *Params, env *sqltypes.Env) (*Vec, error) {
	p.st.begin(params, env)
	return p.root.vec(&p.st, b, b.Selection())
}

// Filter returns, in out's storage, the selected rows of b for which the condition is true.
func (p *Program) Filter(b *Batch, out []uint16, params *Params, env *sqltypes.Env) ([]uint16, error) {
	p.st.begin(params, env)
	return filterNode(p.root, &p.st, b, b.Selection(), out[:0])
}

// Row evaluates the expression over one row.
func (p *Program) Row(row []sqltypes.Datum, params *Params, env *sqltypes.Env) (sqltypes.Datum, error) {
	p.st.begin(params, env)
	return p.root.row(&p.st, row)
}

// True reports whether the condition is true for one row. Like Filter it evaluates no
// argument of an outermost AND after one that is not true: what hides rows comes first.
func (p *Program) True(row []sqltypes.Datum, params *Params, env *sqltypes.Env) (bool, error) {
	p.st.begin(params, env)
	args := []node{p.root}
	if a, ok := p.root.(*andNode); ok {
		args = a.args
	}
	for _, a := range args {
		if d, err := a.row(&p.st, row); err != nil || !d.True() {
			return false, err
		}
	}
	return true, nil
}

// filterNode selects by any boolean node.
func filterNode(n node, s *state, b *Batch, sel, out []uint16) ([]uint16, error) {
	if f, ok := n.(filterer); ok {
		return f.filter(s, b, sel, out)
	}
	if c, ok := n.(constant); ok {
		d, err := c.value(s)
		if err != nil || !d.True() {
			return out, err
		}
		return append(out, sel...), nil
	}
	v, err := n.vec(s, b, sel)
	if err != nil {
		return out, err
	}
	return appendTrue(v, sel, out), nil
}

func appendTrue(v *Vec, sel, out []uint16) []uint16 {
	k := len(out)
	out = out[:k+len(sel)]
	if v.Null == nil {
		for _, i := range sel {
			out[k] = i
			k += int(v.I64[i] & 1)
		}
		return out[:k]
	}
	for _, i := range sel {
		if v.I64[i] != 0 && !v.Null.Get(int(i)) {
			out[k] = i
			k++
		}
	}
	return out[:k]
}

// selBuf is scratch for one selection.
type selBuf struct{ buf []uint16 }

func (s *selBuf) get() []uint16 {
	if s.buf == nil {
		s.buf = make([]uint16, BatchSize)
	}
	return s.buf[:0]
}

// scratch is the result vector of a node.
type scratch struct{ v *Vec }

// sized is get with room for n values only: most batches of statements that call
// functions have one row.
func (s *scratch) sized(k sqltypes.Kind, n int) *Vec {
	if s.v == nil {
		s.v = &Vec{}
	}
	s.v.Reset(k)
	s.v.Ensure(min(max(n, 8), BatchSize))
	return s.v
}

func (s *scratch) get(k sqltypes.Kind) *Vec {
	if s.v == nil {
		s.v = NewVec(k)
		return s.v
	}
	s.v.Reset(k)
	return s.v
}
