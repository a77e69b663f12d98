package expr

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// call compiles a function call: a typed kernel where there is one, else the
// function itself row by row.
func (c *compiler) call(e *Call) (node, error) {
	args, err := c.list(e.Args)
	if err != nil {
		return nil, err
	}
	if e.Proc.Strict {
		for _, a := range e.Args {
			if k, ok := a.(*Const); ok && k.Val.Null {
				return &constNode{val: sqltypes.Null, kind: c.kind(e)}, nil
			}
		}
	}
	generic := c.genericCall(e, args)
	if mk := kernels[e.Proc.Src]; mk != nil && len(e.Args) == mk.nargs && c.usualKinds(e) {
		if n := mk.build(c, e, args, generic); n != nil {
			return n, nil
		}
	}
	return generic, nil
}

// usualKinds reports whether the function is a built-in one whose arguments come
// in the representation of its declared types.
func (c *compiler) usualKinds(e *Call) bool {
	if e.Proc.Lang != langInternal || len(e.Proc.ArgTypes) != len(e.Args) {
		return false
	}
	for i, a := range e.Args {
		if c.types.KindOf(e.Proc.ArgTypes[i]) != c.kind(a) {
			return false
		}
	}
	return true
}

// langInternal is the OID of language internal: only there is Src the name of a C function.
const langInternal = 12

// genericCall runs Proc.Fn for every row.
func (c *compiler) genericCall(e *Call, args []node) *mapNode {
	inv := newInvocation(e)
	n := newMap(c.kind(e), e.Proc.Strict, args, nil)
	n.fn, n.steady = inv.call, e.Proc.Volatility != sqltypes.Volatile
	return n
}

// invocation is one call site of a function.
type invocation struct {
	c sqltypes.Call
}

func newInvocation(e *Call) *invocation {
	types := make([]sqltypes.ColumnType, len(e.Args))
	for i, a := range e.Args {
		types[i] = a.Type()
	}
	return &invocation{sqltypes.Call{Proc: e.Proc, ArgTypes: types, RetType: e.Typ, Collation: e.Collation, VariadicArray: e.VariadicArray, RecordNames: e.recordNames(), RetFields: e.RetFields}}
}

func (v *invocation) call(s *state, args []sqltypes.Datum) (sqltypes.Datum, error) {
	p := v.c.Proc
	if p.Fn == nil {
		return sqltypes.Null, pgerror.NotSupported("function %s", p.Name)
	}
	v.c.Env = s.env
	return p.Fn(&v.c, args)
}

// pairFunc returns a function that calls a two-argument Proc.
func pairFunc(p *sqltypes.Proc, types [2]sqltypes.ColumnType, ret sqltypes.ColumnType, coll sqltypes.OID) func(s *state, a, b sqltypes.Datum) (sqltypes.Datum, error) {
	inv := &invocation{sqltypes.Call{Proc: p, ArgTypes: types[:], RetType: ret, Collation: coll}}
	var buf [2]sqltypes.Datum
	return func(s *state, a, b sqltypes.Datum) (sqltypes.Datum, error) {
		if p.Strict && (a.Null || b.Null) {
			return sqltypes.Null, nil
		}
		buf[0], buf[1] = a, b
		return inv.call(s, buf[:])
	}
}

// distinct compiles IS [NOT] DISTINCT FROM.
func (c *compiler) distinct(e *Distinct) (node, error) {
	args, err := c.list(e.Eq.Args)
	if err != nil {
		return nil, err
	}
	inv := newInvocation(e.Eq)
	same := e.Not
	return newMap(sqltypes.KInt, false, args, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		if a[0].Null || a[1].Null {
			return sqltypes.Bool((a[0].Null && a[1].Null) == same), nil
		}
		d, err := inv.call(s, a)
		return sqltypes.Bool(d.True() == same), err
	}), nil
}

// nullIf compiles NULLIF.
func (c *compiler) nullIf(e *NullIf) (node, error) {
	args, err := c.list(e.Eq.Args)
	if err != nil {
		return nil, err
	}
	inv := newInvocation(e.Eq)
	return newMap(c.kind(e), false, args, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		if a[0].Null || a[1].Null {
			return a[0], nil
		}
		first := a[0]
		d, err := inv.call(s, a)
		if err != nil || d.True() {
			return sqltypes.Null, err
		}
		return first, nil
	}), nil
}

// minMax compiles GREATEST and LEAST, which ignore NULLs.
func (c *compiler) minMax(e *MinMax) (node, error) {
	args, err := c.list(e.Args)
	if err != nil {
		return nil, err
	}
	t := c.types.Find(e.Typ.OID)
	if t == nil || t.Compare == nil {
		return nil, pgerror.New(pgerror.UndefinedFunction, "could not identify a comparison function for type %s", typeName(t, e.Typ.OID))
	}
	less := e.Least
	return newMap(t.Kind, false, args, func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		best := sqltypes.Null
		for _, d := range a {
			if d.Null {
				continue
			}
			if best.Null || (t.Compare(d, best) < 0) == less && t.Compare(d, best) != 0 {
				best = d
			}
		}
		return best, nil
	}), nil
}

// relabel passes the value through; a node of another kind than its result
// (which binary coercibility does not know, but a NULL of type unknown does)
// goes value by value.
func (c *compiler) relabel(e *Relabel) (node, error) {
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	if k := c.kind(e); k != c.kind(e.Arg) {
		return newMap(k, true, []node{arg}, func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) { return a[0], nil }), nil
	}
	return arg, nil
}

// viaIO converts through the text forms.
func (c *compiler) viaIO(e *CoerceViaIO) (node, error) {
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	from, to := c.types.Find(e.Arg.Type().OID), c.types.Find(e.Typ.OID)
	if from == nil || to == nil {
		return nil, pgerror.NotSupported("conversion of type %s to %s", typeName(from, e.Arg.Type().OID), typeName(to, e.Typ.OID))
	}
	typmod := e.Typ.TypMod
	var buf []byte
	return newMap(to.Kind, true, []node{arg}, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		buf = from.Out(s.env, buf[:0], a[0])
		return to.In(s.env, string(buf), typmod)
	}), nil
}

// rowCompare compares rows column by column, as PostgreSQL's row-wise comparison does.
func (c *compiler) rowCompare(e *RowCompare) (node, error) {
	n := len(e.Left)
	args, err := c.list(append(append([]Expr{}, e.Left...), e.Right...))
	if err != nil {
		return nil, err
	}
	type pair = func(s *state, a, b sqltypes.Datum) (sqltypes.Datum, error)
	lt, eq := make([]pair, n), make([]pair, n)
	for i := range n {
		coll := sqltypes.OID(0)
		if i < len(e.Collations) {
			coll = e.Collations[i]
		}
		types := [2]sqltypes.ColumnType{e.Left[i].Type(), e.Right[i].Type()}
		lt[i], eq[i] = pairFunc(e.Lt[i], types, e.Typ, coll), pairFunc(e.Eq[i], types, e.Typ, coll)
	}
	less := e.Op == '<' || e.Op == 'l'
	orEqual := e.Op == 'l' || e.Op == 'g'
	return newMap(sqltypes.KInt, false, args, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		for i := range n {
			same, err := eq[i](s, a[i], a[n+i])
			if err != nil || same.Null {
				return same, err
			}
			if same.I != 0 {
				continue
			}
			d, err := lt[i](s, a[i], a[n+i])
			if err != nil || d.Null {
				return d, err
			}
			return sqltypes.Bool((d.I != 0) == less), nil
		}
		return sqltypes.Bool(orEqual), nil
	}), nil
}

func typeName(t *sqltypes.Type, oid sqltypes.OID) string {
	if t == nil {
		return "with OID " + utoa(oid)
	}
	return t.Name
}

func utoa(v sqltypes.OID) string {
	var b [10]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + v%10)
		if v /= 10; v == 0 {
			return string(b[i:])
		}
	}
}
