package opt

import (
	"errors"
	"strings"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// simplify folds constants and reduces boolean structure, innermost first. What
// a constant decides (an unreachable branch, a COALESCE argument after a value) is
// not looked at; anything else that fails to evaluate fails the planning, as in
// PostgreSQL.
func (p *planning) simplify(e expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	switch n := e.(type) {
	case *expr.Const:
		return e
	case *expr.Param:
		if v := p.ctx.ParamValues; v != nil && n.N >= 1 && n.N <= len(v) {
			return &expr.Const{T: n.T, Val: v[n.N-1]}
		}
		return e
	case *expr.Case:
		return p.simplifyCase(n)
	case *expr.Coalesce:
		return foldCoalesce(&expr.Coalesce{T: n.T, Args: p.simplifyUntil(n.Args, func(c *expr.Const) bool { return !c.Val.Null })})
	case *expr.And:
		return foldAnd(&expr.And{T: n.T, Args: p.simplifyUntil(n.Args, func(c *expr.Const) bool { return !c.Val.Null && !c.Val.Bool() })})
	case *expr.Or:
		return foldOr(&expr.Or{T: n.T, Args: p.simplifyUntil(n.Args, func(c *expr.Const) bool { return c.Val.True() })})
	}
	return p.fold(mapChildren(e, p.simplify))
}

// simplifyUntil simplifies arguments in order up to a constant that decides.
func (p *planning) simplifyUntil(args []expr.Expr, decides func(*expr.Const) bool) []expr.Expr {
	out := make([]expr.Expr, 0, len(args))
	for _, a := range args {
		a = p.simplify(a)
		out = append(out, a)
		if c, ok := isConst(a); ok && decides(c) {
			break
		}
	}
	return out
}

func (p *planning) fold(e expr.Expr) expr.Expr {
	switch n := e.(type) {
	case *expr.Call:
		return p.foldCall(n)
	case *expr.And:
		return foldAnd(n)
	case *expr.Or:
		return foldOr(n)
	case *expr.Not:
		return p.negate(n.Arg)
	case *expr.NullTest:
		if n.Row {
			return e
		}
		if c, ok := isConst(n.Arg); ok {
			return boolConst(c.Val.Null != n.IsNot)
		}
	case *expr.BoolTest:
		if c, ok := isConst(n.Arg); ok {
			v := int8(-1)
			if !c.Val.Null {
				v = int8(c.Val.I & 1)
			}
			return boolConst((v == n.Value) != n.IsNot)
		}
	case *expr.Coalesce:
		return foldCoalesce(n)
	case *expr.Relabel:
		return foldRelabel(n)
	case *expr.CoerceDomain:
		if len(n.Checks) == 0 && !n.NotNull {
			return foldRelabel(&expr.Relabel{T: n.T, Arg: n.Arg, Coercion: 'i'})
		}
	case *expr.CoerceViaIO:
		if c, ok := isConst(n.Arg); ok {
			return p.foldViaIO(n, c)
		}
	case *expr.ArrayCtor:
		return p.foldArray(n)
	case *expr.ArrayOp:
		if c, ok := isConst(n.Array); ok && c.Val.Null && n.Proc.Strict {
			return nullConst(boolType)
		}
	case *expr.Distinct:
		return p.foldDistinct(n)
	case *expr.Field:
		if r, ok := n.Arg.(*expr.RowCtor); ok && n.Num < len(r.Fields) {
			return r.Fields[n.Num]
		}
	case *expr.MinMax, *expr.NullIf, *expr.ArrayCoerce:
		return p.foldConstant(e)
	}
	return e
}

// foldConstant evaluates a node all of whose operands are constants.
func (p *planning) foldConstant(e expr.Expr) expr.Expr {
	all := true
	planner.VisitChildren(e, func(x expr.Expr) {
		switch x.(type) {
		case *expr.Const, *expr.CaseValue:
		default:
			all = false
		}
	})
	if !all {
		return e
	}
	return expr.Fold(e, p.typ)
}

// foldRelabel makes one relabelling of several, and none of one back to the type
// that the value has.
func foldRelabel(n *expr.Relabel) expr.Expr {
	arg := n.Arg
	for {
		r, ok := arg.(*expr.Relabel)
		if !ok {
			break
		}
		arg = r.Arg
	}
	if c, ok := isConst(arg); ok {
		return &expr.Const{T: n.T, Val: c.Val}
	}
	if arg.Type() == n.Typ {
		return arg
	}
	if arg == n.Arg {
		return n
	}
	return &expr.Relabel{T: n.T, Arg: arg, Coercion: n.Coercion}
}

func (p *planning) foldCall(c *expr.Call) expr.Expr {
	allConst := true
	for _, a := range c.Args {
		k, ok := isConst(a)
		if !ok {
			allConst = false
			continue
		}
		if k.Val.Null && c.Proc.Strict && !c.Proc.RetSet && !c.VariadicArray {
			return nullConst(c.Typ)
		}
	}
	if allConst && c.Proc.Volatility == sqltypes.Immutable && !c.Proc.RetSet && c.Proc.Fn != nil {
		v, err := p.evalCall(c)
		if err == nil {
			return &expr.Const{T: c.T, Val: v}
		}
		if strings.HasPrefix(string(pgerror.CodeOf(err)), "22") {
			if p.plan.Early == nil {
				p.plan.Early = err
			}
		}
		return c
	}
	// boolean column = true, and the like.
	if c.Op == "=" && c.Proc.Lang == 12 && len(c.Args) == 2 && c.Args[0].Type().OID == oidBool && c.Args[1].Type().OID == oidBool {
		for i, a := range c.Args {
			if k, ok := isConst(a); ok && !k.Val.Null {
				if k.Val.Bool() {
					return c.Args[1-i]
				}
				return p.negate(c.Args[1-i])
			}
		}
	}
	return c
}

// evalCall runs an immutable function over constants.
func (p *planning) evalCall(c *expr.Call) (sqltypes.Datum, error) {
	args := make([]sqltypes.Datum, len(c.Args))
	types := make([]sqltypes.ColumnType, len(c.Args))
	for i, a := range c.Args {
		k, ok := isConst(a)
		if !ok {
			return sqltypes.Null, errNotConstant
		}
		args[i], types[i] = k.Val, k.Typ
	}
	call := &sqltypes.Call{Env: p.env, Proc: c.Proc, ArgTypes: types, RetType: c.Typ, Collation: c.Collation, VariadicArray: c.VariadicArray, RecordNames: c.Names, RetFields: c.RetFields}
	return c.Proc.Fn(call, args)
}

var errNotConstant = errors.New("an argument is not constant")

// evalStable is evalCall for estimates: stable functions too, over anything that folds.
func (p *planning) evalStable(e expr.Expr) (*expr.Const, bool) {
	switch n := e.(type) {
	case *expr.Const:
		return n, true
	case *expr.Relabel:
		if k, ok := p.evalStable(n.Arg); ok {
			return &expr.Const{T: n.T, Val: k.Val}, true
		}
	case *expr.Call:
		if n.Proc.Volatility == sqltypes.Volatile || n.Proc.Fn == nil || n.Proc.RetSet || p.env.Session == nil && n.Proc.Volatility != sqltypes.Immutable {
			return nil, false
		}
		args := make([]expr.Expr, len(n.Args))
		for i, a := range n.Args {
			k, ok := p.evalStable(a)
			if !ok || k.Val.Null && n.Proc.Strict {
				return nil, false
			}
			args[i] = k
		}
		c := *n
		c.Args = args
		if v, err := p.evalCall(&c); err == nil {
			return &expr.Const{T: n.T, Val: v}, true
		}
	}
	return nil, false
}

func foldAnd(n *expr.And) expr.Expr {
	var out []expr.Expr
	null := false
	for _, a := range appendConjuncts(nil, n) {
		if c, ok := isConst(a); ok {
			if c.Val.Null {
				null = true
				continue
			}
			return boolConst(false)
		}
		out = append(out, a)
	}
	if null {
		out = append(out, nullConst(boolType))
	}
	switch len(out) {
	case 0:
		return boolConst(true)
	case 1:
		return out[0]
	case len(n.Args):
		return &expr.And{T: n.T, Args: out}
	}
	return &expr.And{T: n.T, Args: out}
}

// disjuncts splits nested ORs.
func disjuncts(e expr.Expr) []expr.Expr {
	if o, ok := e.(*expr.Or); ok {
		var out []expr.Expr
		for _, a := range o.Args {
			out = append(out, disjuncts(a)...)
		}
		return out
	}
	return []expr.Expr{e}
}

func orOf(es []expr.Expr) expr.Expr {
	if len(es) == 1 {
		return es[0]
	}
	return &expr.Or{T: expr.T{Typ: boolType}, Args: es}
}

func foldOr(n *expr.Or) expr.Expr {
	var out []expr.Expr
	null := false
	for _, a := range disjuncts(n) {
		if c, ok := isConst(a); ok {
			if c.Val.Null {
				null = true
				continue
			}
			if c.Val.Bool() {
				return boolConst(true)
			}
			continue
		}
		out = append(out, a)
	}
	if null {
		out = append(out, nullConst(boolType))
	}
	if len(out) == 0 {
		return boolConst(false)
	}
	return orOf(out)
}

// negate returns NOT e, pushed inward as far as three-valued logic allows.
func (p *planning) negate(e expr.Expr) expr.Expr {
	switch n := e.(type) {
	case *expr.Const:
		if n.Val.Null {
			return n
		}
		return boolConst(!n.Val.Bool())
	case *expr.Not:
		return n.Arg
	case *expr.And:
		out := make([]expr.Expr, len(n.Args))
		for i, a := range n.Args {
			out[i] = p.negate(a)
		}
		return foldOr(&expr.Or{T: n.T, Args: out})
	case *expr.Or:
		out := make([]expr.Expr, len(n.Args))
		for i, a := range n.Args {
			out[i] = p.negate(a)
		}
		return foldAnd(&expr.And{T: n.T, Args: out})
	case *expr.NullTest:
		if !n.Row {
			return &expr.NullTest{T: n.T, Arg: n.Arg, IsNot: !n.IsNot}
		}
	case *expr.BoolTest:
		return &expr.BoolTest{T: n.T, Arg: n.Arg, Value: n.Value, IsNot: !n.IsNot}
	case *expr.Distinct:
		return &expr.Distinct{T: n.T, Eq: n.Eq, Not: !n.Not}
	case *expr.Call:
		if b, ok := asBinary(n); ok {
			if neg := sqltypes.OperatorByOID(b.op.Negator); neg != nil && neg.Proc != nil {
				c := *n
				c.Proc, c.Op = neg.Proc, neg.Name
				return &c
			}
		}
	case *expr.ArrayOp:
		if op := operatorOfProc(n.Proc, n.Op); op != nil {
			if neg := sqltypes.OperatorByOID(op.Negator); neg != nil && neg.Proc != nil {
				c := *n
				c.Proc, c.Op, c.All = neg.Proc, neg.Name, !n.All
				return &c
			}
		}
	}
	return &expr.Not{T: expr.T{Typ: boolType}, Arg: e}
}

func foldCoalesce(n *expr.Coalesce) expr.Expr {
	var out []expr.Expr
	for _, a := range n.Args {
		c, ok := isConst(a)
		if ok && c.Val.Null {
			continue
		}
		out = append(out, a)
		if ok {
			break
		}
	}
	switch {
	case len(out) == 0:
		return nullConst(n.Typ)
	case len(out) == 1:
		return out[0]
	case len(out) == len(n.Args):
		return n
	}
	return &expr.Coalesce{T: n.T, Args: out}
}

// simplifyCase folds branches in order, so that one that cannot be reached is never evaluated.
func (p *planning) simplifyCase(n *expr.Case) expr.Expr {
	c := &expr.Case{T: n.T, Arg: p.simplify(n.Arg)}
	for _, w := range n.Whens {
		cond := w.Cond
		if k, ok := isConst(c.Arg); ok {
			cond = substCaseValue(cond, k)
		}
		cond = p.simplify(cond)
		if isFalseOrNull(cond) {
			continue
		}
		res := p.simplify(w.Result)
		if isTrue(cond) {
			if len(c.Whens) == 0 {
				return res
			}
			c.Else = res
			return c
		}
		c.Whens = append(c.Whens, expr.When{Cond: cond, Result: res})
	}
	c.Else = p.simplify(n.Else)
	if len(c.Whens) == 0 {
		if c.Else == nil {
			return nullConst(n.Typ)
		}
		return c.Else
	}
	return c
}

func substCaseValue(e expr.Expr, k *expr.Const) expr.Expr {
	switch n := e.(type) {
	case *expr.CaseValue:
		return &expr.Const{T: n.T, Val: k.Val}
	case *expr.Case, *expr.ArrayCoerce, *expr.CoerceDomain:
		return e // has a CaseValue of its own
	}
	return mapChildren(e, func(x expr.Expr) expr.Expr { return substCaseValue(x, k) })
}

// foldViaIO converts a constant between types whose text forms depend on no setting.
func (p *planning) foldViaIO(n *expr.CoerceViaIO, c *expr.Const) expr.Expr {
	if c.Val.Null {
		return nullConst(n.Typ)
	}
	if !plainText(n.Typ.OID) || !plainText(c.Typ.OID) {
		return n
	}
	from, to := p.typ(c.Typ.OID), p.typ(n.Typ.OID)
	if from == nil || to == nil || from.Out == nil || to.In == nil {
		return n
	}
	v, err := to.In(p.env, string(from.Out(p.env, nil, c.Val)), n.Typ.TypMod)
	if err != nil {
		return n
	}
	return &expr.Const{T: n.T, Val: v}
}

// plainText: bool, integers, oid, text types, numeric, uuid, name.
func plainText(t sqltypes.OID) bool {
	switch t {
	case 16, 19, 20, 21, 23, 25, 26, 1042, 1043, 1700, 2950:
		return true
	}
	return false
}

func (p *planning) foldArray(n *expr.ArrayCtor) expr.Expr {
	if n.Multi || len(n.Elems) == 0 {
		return n
	}
	vals := make([]sqltypes.Datum, len(n.Elems))
	for i, e := range n.Elems {
		c, ok := isConst(e)
		if !ok {
			return n
		}
		vals[i] = c.Val
	}
	t := p.typ(n.Elem)
	if t == nil {
		return n
	}
	return &expr.Const{T: n.T, Val: sqltypes.MakeArray(t, []sqltypes.ArrayDim{{Len: int32(len(vals)), Lower: 1}}, vals)}
}

func (p *planning) foldDistinct(n *expr.Distinct) expr.Expr {
	if len(n.Eq.Args) != 2 {
		return n
	}
	a, aok := isConst(n.Eq.Args[0])
	b, bok := isConst(n.Eq.Args[1])
	switch {
	case aok && a.Val.Null && bok && b.Val.Null:
		return boolConst(n.Not)
	case aok && a.Val.Null:
		return &expr.NullTest{T: n.T, Arg: n.Eq.Args[1], IsNot: !n.Not}
	case bok && b.Val.Null:
		return &expr.NullTest{T: n.T, Arg: n.Eq.Args[0], IsNot: !n.Not}
	}
	return n
}
