package expr

import "ostraka/sqltypes"

// Fold replaces what is constant by constants: immutable calls on constants,
// strict calls on NULL, decided conditions. A call that fails is left in place,
// so that its error is raised if and when the row needs it.
func Fold(e Expr, types TypeFinder) Expr {
	return Rewrite(e, func(x Expr) Expr { return foldNode(x, types) })
}

func foldNode(e Expr, types TypeFinder) Expr {
	switch n := e.(type) {
	case *Call:
		if n.Proc.Kind != 'f' || n.Proc.RetSet {
			return e
		}
		all := true
		for _, a := range n.Args {
			k, ok := a.(*Const)
			if !ok {
				all = false
				continue
			}
			if k.Val.Null && n.Proc.Strict {
				return &Const{T: n.T, Val: sqltypes.Null}
			}
		}
		if all && n.Proc.Volatility == sqltypes.Immutable && n.Proc.Fn != nil {
			return run(e, types)
		}
	case *And:
		return foldLogic(e, n.Args, 0, func(args []Expr) Expr { return &And{n.T, args} })
	case *Or:
		return foldLogic(e, n.Args, 1, func(args []Expr) Expr { return &Or{n.T, args} })
	case *Not:
		if constArgs(n.Arg) {
			return run(e, types)
		}
	case *NullTest:
		if !n.Row && constArgs(n.Arg) {
			return run(e, types)
		}
	case *BoolTest:
		if constArgs(n.Arg) {
			return run(e, types)
		}
	case *Distinct:
		if constArgs(n.Eq.Args...) && n.Eq.Proc.Volatility == sqltypes.Immutable && n.Eq.Proc.Fn != nil {
			return run(e, types)
		}
	case *NullIf:
		if constArgs(n.Eq.Args...) && n.Eq.Proc.Volatility == sqltypes.Immutable && n.Eq.Proc.Fn != nil {
			return run(e, types)
		}
	case *Case:
		return foldCase(n)
	case *Coalesce:
		return foldCoalesce(n)
	case *MinMax:
		if constArgs(n.Args...) {
			return run(e, types)
		}
	case *ArrayCtor:
		if constArgs(n.Elems...) {
			return run(e, types)
		}
	case *ArrayOp:
		if constArgs(n.Left, n.Array) && n.Proc.Volatility == sqltypes.Immutable && n.Proc.Fn != nil {
			return run(e, types)
		}
	case *Relabel:
		if k, ok := n.Arg.(*Const); ok {
			return &Const{T: n.T, Val: k.Val}
		}
		if r, ok := n.Arg.(*Relabel); ok {
			return &Relabel{n.T, r.Arg, n.Coercion}
		}
	case *CoerceViaIO:
		if constArgs(n.Arg) && plainText(n.Arg.Type().OID) && plainText(n.Typ.OID) {
			return run(e, types)
		}
	case *ArrayCoerce:
		if constArgs(n.Arg) && immutable(n.Elem) {
			return run(e, types)
		}
	}
	return e
}

func constArgs(args ...Expr) bool {
	for _, a := range args {
		if _, ok := a.(*Const); !ok {
			return false
		}
	}
	return true
}

// immutable reports whether e depends on nothing but its operands.
func immutable(e Expr) bool {
	ok := true
	Walk(e, func(x Expr) bool {
		switch n := x.(type) {
		case *Call:
			ok = ok && n.Proc.Volatility == sqltypes.Immutable && n.Proc.Fn != nil
		case *ArrayOp:
			ok = ok && n.Proc.Volatility == sqltypes.Immutable && n.Proc.Fn != nil
		case *CoerceViaIO:
			ok = ok && plainText(n.Arg.Type().OID) && plainText(n.Typ.OID)
		case *SubPlan, *Param, *ExecParam, *Col, *CoerceDomain:
			ok = false
		}
		return ok
	})
	return ok
}

// plainText tells types whose text form depends on no setting.
func plainText(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDBool, sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDNumeric, sqltypes.OIDText,
		sqltypes.OIDVarchar, sqltypes.OIDBpchar, sqltypes.OIDName, sqltypes.OIDUuid, sqltypes.OIDJson, sqltypes.OIDJsonb, sqltypes.OIDUnknown, sqltypes.OIDChar, sqltypes.OIDOid:
		return true
	}
	return false
}

// run evaluates an expression without columns and parameters; e itself when it fails.
func run(e Expr, types TypeFinder) Expr {
	p, err := Compile(e, types)
	if err != nil {
		return e
	}
	env := sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	d, err := p.Row(nil, nil, &env)
	if err != nil {
		return e
	}
	return &Const{T: T{e.Type()}, Val: d}
}

// foldLogic simplifies AND (decides = 0) and OR (decides = 1).
func foldLogic(e Expr, args []Expr, decides int64, make func([]Expr) Expr) Expr {
	var keep []Expr
	changed, hasNull := false, false
	for _, a := range args {
		k, ok := a.(*Const)
		switch {
		case !ok:
			if same, nested := nestedLogic(a, decides); same {
				keep = append(keep, nested...)
				changed = true
			} else {
				keep = append(keep, a)
			}
		case k.Val.Null:
			hasNull = true
			changed = true
		case k.Val.I == decides:
			return &Const{T: T{e.Type()}, Val: k.Val}
		default:
			changed = true
		}
	}
	if hasNull {
		keep = append(keep, &Const{T: T{e.Type()}, Val: sqltypes.Null})
	}
	switch {
	case len(keep) == 0:
		return &Const{T: T{e.Type()}, Val: sqltypes.Int(1 - decides)}
	case len(keep) == 1:
		return keep[0]
	case !changed || hasNull && len(keep) == len(args):
		return e
	}
	return make(keep)
}

func nestedLogic(e Expr, decides int64) (bool, []Expr) {
	switch n := e.(type) {
	case *And:
		return decides == 0, n.Args
	case *Or:
		return decides == 1, n.Args
	}
	return false, nil
}

// foldCase drops branches that cannot be taken and stops at one that always is.
func foldCase(n *Case) Expr {
	var whens []When
	changed := false
	other := n.Else
	for _, w := range n.Whens {
		k, ok := w.Cond.(*Const)
		if !ok {
			whens = append(whens, w)
			continue
		}
		changed = true
		if k.Val.True() {
			other = w.Result
			break
		}
	}
	if !changed {
		return n
	}
	if len(whens) == 0 {
		if other == nil {
			return &Const{T: n.T, Val: sqltypes.Null}
		}
		return other
	}
	return &Case{n.T, n.Arg, whens, other}
}

func foldCoalesce(n *Coalesce) Expr {
	var keep []Expr
	for _, a := range n.Args {
		if k, ok := a.(*Const); ok {
			if k.Val.Null {
				continue
			}
			keep = append(keep, a)
			break
		}
		keep = append(keep, a)
	}
	switch {
	case len(keep) == 0:
		return &Const{T: n.T, Val: sqltypes.Null}
	case len(keep) == 1:
		return keep[0]
	case len(keep) == len(n.Args):
		return n
	}
	return &Coalesce{n.T, keep}
}
