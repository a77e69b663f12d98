package expr

import "slices"

// Children calls f for every direct operand of e, in evaluation order. The test
// expression of a SubPlan counts as an operand, its plan does not.
func Children(e Expr, f func(Expr)) {
	each := func(list []Expr) {
		for _, x := range list {
			if x != nil {
				f(x)
			}
		}
	}
	one := func(x Expr) {
		if x != nil {
			f(x)
		}
	}
	switch n := e.(type) {
	case *Call:
		each(n.Args)
	case *And:
		each(n.Args)
	case *Or:
		each(n.Args)
	case *Not:
		one(n.Arg)
	case *NullTest:
		one(n.Arg)
	case *BoolTest:
		one(n.Arg)
	case *Distinct:
		each(n.Eq.Args)
	case *NullIf:
		each(n.Eq.Args)
	case *Case:
		one(n.Arg)
		for _, w := range n.Whens {
			one(w.Cond)
			one(w.Result)
		}
		one(n.Else)
	case *Coalesce:
		each(n.Args)
	case *MinMax:
		each(n.Args)
	case *ArrayCtor:
		each(n.Elems)
	case *RowCtor:
		each(n.Fields)
	case *Field:
		one(n.Arg)
	case *Subscript:
		one(n.Arg)
		each(n.Lower)
		each(n.Upper)
		one(n.Assign)
	case *ArrayOp:
		one(n.Left)
		one(n.Array)
	case *RowCompare:
		each(n.Left)
		each(n.Right)
	case *Relabel:
		one(n.Arg)
	case *CoerceViaIO:
		one(n.Arg)
	case *ArrayCoerce:
		one(n.Arg)
		one(n.Elem)
	case *CoerceDomain:
		one(n.Arg)
		for _, c := range n.Checks {
			one(c.Cond)
		}
	case *SubPlan:
		each(n.Args)
		one(n.Test)
	case *Agg:
		each(n.Direct)
		each(n.Args)
		one(n.Filter)
	case *Window:
		each(n.Args)
		one(n.Filter)
	}
}

// Walk calls f for e and everything below it, parents first; f returns false to
// skip the operands.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	Children(e, func(c Expr) { Walk(c, f) })
}

// Rewrite builds a copy of e bottom-up: f is called with every node after its
// operands were rewritten and returns the node to put in its place. Nodes whose
// operands did not change are not copied.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	return f(mapChildren(e, func(c Expr) Expr { return Rewrite(c, f) }))
}

// mapChildren returns e with each operand replaced by f's result; e itself when
// nothing changed.
func mapChildren(e Expr, f func(Expr) Expr) Expr {
	changed := false
	one := func(x Expr) Expr {
		if x == nil {
			return nil
		}
		y := f(x)
		if y != x {
			changed = true
		}
		return y
	}
	list := func(l []Expr) []Expr {
		var out []Expr
		for i, x := range l {
			y := one(x)
			if y != x && out == nil {
				out = slices.Clone(l)
			}
			if out != nil {
				out[i] = y
			}
		}
		if out == nil {
			return l
		}
		return out
	}
	call := func(c *Call) *Call {
		args := list(c.Args)
		if !changed {
			return c
		}
		d := *c
		d.Args = args
		return &d
	}
	switch n := e.(type) {
	case *Call:
		return call(n)
	case *And:
		if args := list(n.Args); changed {
			return &And{n.T, args}
		}
	case *Or:
		if args := list(n.Args); changed {
			return &Or{n.T, args}
		}
	case *Not:
		if a := one(n.Arg); changed {
			return &Not{n.T, a}
		}
	case *NullTest:
		if a := one(n.Arg); changed {
			c := *n
			c.Arg = a
			return &c
		}
	case *BoolTest:
		if a := one(n.Arg); changed {
			c := *n
			c.Arg = a
			return &c
		}
	case *Distinct:
		if eq := call(n.Eq); changed {
			c := *n
			c.Eq = eq
			return &c
		}
	case *NullIf:
		if eq := call(n.Eq); changed {
			c := *n
			c.Eq = eq
			return &c
		}
	case *Case:
		c := *n
		c.Arg = one(n.Arg)
		c.Whens = slices.Clone(n.Whens)
		for i, w := range c.Whens {
			c.Whens[i] = When{one(w.Cond), one(w.Result)}
		}
		c.Else = one(n.Else)
		if changed {
			return &c
		}
	case *Coalesce:
		if args := list(n.Args); changed {
			return &Coalesce{n.T, args}
		}
	case *MinMax:
		if args := list(n.Args); changed {
			return &MinMax{n.T, args, n.Least}
		}
	case *ArrayCtor:
		if l := list(n.Elems); changed {
			c := *n
			c.Elems = l
			return &c
		}
	case *RowCtor:
		if l := list(n.Fields); changed {
			c := *n
			c.Fields = l
			return &c
		}
	case *Field:
		if a := one(n.Arg); changed {
			c := *n
			c.Arg = a
			return &c
		}
	case *Subscript:
		c := *n
		c.Arg, c.Lower, c.Upper, c.Assign = one(n.Arg), list(n.Lower), list(n.Upper), one(n.Assign)
		if changed {
			return &c
		}
	case *ArrayOp:
		c := *n
		c.Left, c.Array = one(n.Left), one(n.Array)
		if changed {
			return &c
		}
	case *RowCompare:
		c := *n
		c.Left, c.Right = list(n.Left), list(n.Right)
		if changed {
			return &c
		}
	case *Relabel:
		if a := one(n.Arg); changed {
			c := *n
			c.Arg = a
			return &c
		}
	case *CoerceViaIO:
		if a := one(n.Arg); changed {
			c := *n
			c.Arg = a
			return &c
		}
	case *ArrayCoerce:
		c := *n
		c.Arg, c.Elem = one(n.Arg), one(n.Elem)
		if changed {
			return &c
		}
	case *CoerceDomain:
		c := *n
		c.Arg = one(n.Arg)
		c.Checks = slices.Clone(n.Checks)
		for i, k := range c.Checks {
			c.Checks[i].Cond = one(k.Cond)
		}
		if changed {
			return &c
		}
	case *SubPlan:
		c := *n
		c.Args, c.Test = list(n.Args), one(n.Test)
		if changed {
			return &c
		}
	case *Agg:
		c := *n
		c.Direct, c.Args, c.Filter = list(n.Direct), list(n.Args), one(n.Filter)
		if changed {
			return &c
		}
	case *Window:
		c := *n
		c.Args, c.Filter = list(n.Args), one(n.Filter)
		if changed {
			return &c
		}
	}
	return e
}
