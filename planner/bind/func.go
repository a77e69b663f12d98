package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// maxArgs is FUNC_MAX_ARGS.
const maxArgs = 100

// funcCall binds f(…), aggregates and window functions included.
func (s *scope) funcCall(fc *pg.FuncCall) expr.Expr {
	if len(s.b.nextDepth) > 0 {
		if e := s.depthCall(fc); e != nil {
			return e
		}
	}
	lastSRF := s.lastSRF
	args := make([]expr.Expr, 0, len(fc.Args)+1)
	var names []string
	for _, a := range fc.Args {
		if na := a.GetNamedArgExpr(); na != nil {
			for _, n := range names {
				if n == na.Name {
					s.b.fail(na.Location, pgerror.SyntaxError, `argument name "%s" used more than once`, na.Name)
				}
			}
			names = append(names, na.Name)
			args = append(args, s.expr(na.Arg))
			continue
		}
		if len(names) > 0 {
			s.b.fail(exprLoc(a), pgerror.SyntaxError, "positional argument cannot follow named argument")
		}
		args = append(args, s.expr(a))
	}
	argNodes := fc.Args
	if fc.AggWithinGroup {
		// The sort expressions are arguments too.
		for _, o := range fc.AggOrder {
			sb := o.GetSortBy()
			args = append(args, s.exprKindOf(sb.Node, kindOrderBy))
			argNodes = append(argNodes[:len(argNodes):len(argNodes)], sb.Node)
		}
	}
	return s.callOrColumn(fc, fc.Funcname, args, argNodes, names, lastSRF, fc.Location)
}

// callOrColumn is ParseFuncOrColumn. fc is nil for attribute notation (x.f).
// In that case nil is returned when there is no such function.
func (s *scope) callOrColumn(fc *pg.FuncCall, name []*pg.Node, args []expr.Expr, argNodes []*pg.Node, names []string, lastSRF *expr.Call, loc int32) expr.Expr {
	b := s.b
	isColumn := fc == nil
	if len(args) > maxArgs {
		b.fail(loc, pgerror.TooManyArguments, "cannot pass more than %d arguments to a function", maxArgs)
	}
	plain := isColumn
	if fc != nil {
		if fc.AggDistinct && fc.AggWithinGroup {
			b.fail(loc, pgerror.SyntaxError, "cannot use DISTINCT with WITHIN GROUP")
		}
		plain = !fc.AggStar && !fc.AggDistinct && fc.Over == nil && !fc.FuncVariadic && fc.AggOrder == nil && fc.AggFilter == nil &&
			len(names) == 0 && len(args) == 1 && !fc.AggWithinGroup
	}
	// f(x) may be the column f of a composite x.
	couldProject := plain && len(name) == 1 && len(args) == 1 && (b.isComplex(typeOf(args[0])))
	if couldProject && isColumn {
		if e := s.projectColumn(strOf(name[0]), args[0], loc); e != nil {
			return e
		}
	}
	types := make([]sqltypes.OID, len(args))
	for i, a := range args {
		types[i] = typeOf(a)
	}
	var first argInfo
	if len(args) > 0 {
		first.unknownConst = isConst(args[0]) && isUnknown(types[0])
	}
	variadic := fc != nil && fc.FuncVariadic
	kind, c := b.funcDetail(name, types, first, names, variadic, true, loc)
	switch kind {
	case funcCoercion:
		if fc == nil || plain {
			return s.coerceToTargetOrFail(args[0], c.args[0], loc)
		}
		kind = funcNotFound
	case funcNotFound, funcMultiple:
		if couldProject && !isColumn {
			if e := s.projectColumn(strOf(name[0]), args[0], loc); e != nil {
				return e
			}
		}
		if isColumn {
			if kind == funcNotFound {
				return nil
			}
		}
	}
	switch {
	case s.callNode != nil && s.callNode == fc && kind == funcMultiple:
		panic(b.errAt(loc, pgerror.AmbiguousFunction, "procedure %s is not unique", b.funcSignature(name, names, types)).
			WithHint("Could not choose a best candidate procedure. You might need to add explicit type casts."))
	case s.callNode != nil && s.callNode == fc && kind == funcNotFound:
		panic(b.errAt(loc, pgerror.UndefinedFunction, "procedure %s does not exist", b.funcSignature(name, names, types)).
			WithHint("No procedure matches the given name and argument types. You might need to add explicit type casts."))
	}
	switch kind {
	case funcMultiple:
		panic(b.errAt(loc, pgerror.AmbiguousFunction, "function %s is not unique", b.funcSignature(name, names, types)).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts."))
	case funcNotFound:
		err := b.errAt(loc, pgerror.UndefinedFunction, "function %s does not exist", b.funcSignature(name, names, types))
		if fc != nil && fc.AggOrder != nil && !fc.AggWithinGroup {
			err.WithHint("No aggregate function matches the given name and argument types. Perhaps you misplaced ORDER BY; ORDER BY must appear after all regular arguments of the aggregate.")
		} else {
			err.WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
		}
		panic(err)
	}
	p := c.proc
	s.checkCallForm(fc, kind, c, name, names, len(args), loc)
	// Named arguments go to their places, missing ones get their defaults.
	if c.argnums != nil || c.defaults > 0 {
		args = s.completeArgs(c, args)
		types = types[:0]
		for _, a := range args {
			types = append(types, typeOf(a))
		}
	}
	declared := append([]sqltypes.OID(nil), c.args...)
	if c.argnums != nil {
		declared = append(declared[:0], p.ArgTypes...)
	}
	ret := p.RetType
	ret = b.resolveGeneric(types, declared, ret)
	args = s.coerceArgs(args, declared, loc)
	variadicArray := variadic
	if c.variadic > 0 && p.Variadic != sqltypes.OIDAny {
		// Collect the variadic arguments into an array.
		fixed := len(args) - c.variadic
		el := typeOf(args[fixed])
		arr := &expr.ArrayCtor{T: tt(b.columnType(b.arrayOf(el))), Elem: el, Elems: append([]expr.Expr(nil), args[fixed:]...)}
		arr.Typ = s.keepCollation(arr.Elems[0], arr.Typ)
		args = append(args[:fixed:fixed], arr)
		variadicArray = true
	}
	if variadic && p.Variadic == sqltypes.OIDAny {
		if t := typeOf(args[len(args)-1]); b.baseElemType(t) == 0 {
			b.fail(exprLoc(argNodes[len(argNodes)-1]), pgerror.DatatypeMismatch, "VARIADIC argument must be an array")
		}
	}
	switch {
	case kind == funcNormal || kind == funcProcedure:
		call := &expr.Call{T: tt(b.columnType(ret)), Proc: p, Args: args, VariadicArray: variadicArray}
		if fc != nil && fc.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX {
			call.Form = 's'
		}
		s.setCollation(call, args, loc)
		if p.RetSet {
			s.checkSRF(call, lastSRF, loc)
		}
		return call
	case kind == funcAggregate && (fc == nil || fc.Over == nil):
		if p.RetSet {
			b.fail(loc, pgerror.InvalidFunctionDefinition, "aggregates cannot return sets")
		}
		a := &expr.Agg{T: tt(b.columnType(ret)), Proc: p, VariadicArray: variadicArray}
		coll, _ := s.inputCollation(args, loc)
		a.Collation = coll
		if t := b.typ(ret); t != nil && t.Collation != 0 && coll != 0 {
			a.Typ.Collation = coll
		}
		return s.aggregate(a, fc, args, argNodes, loc)
	}
	w := &expr.Window{T: tt(b.columnType(ret)), Proc: p, Args: args}
	w.Collation, _ = s.inputCollation(args, loc)
	if t := b.typ(ret); t != nil && t.Collation != 0 && w.Collation != 0 {
		w.Typ.Collation = w.Collation
	}
	return s.windowFunc(w, fc, name, kind, loc)
}

func (s *scope) coerceToTargetOrFail(e expr.Expr, t sqltypes.OID, loc int32) expr.Expr {
	r := s.coerceToTarget(e, t, noTypMod, explicit, loc)
	if r == nil {
		s.b.fail(loc, pgerror.CannotCoerce, "cannot cast type %s to %s", s.b.typeName(typeOf(e)), s.b.typeName(t))
	}
	return r
}

// checkCallForm refuses decorations that the kind of function cannot have.
func (s *scope) checkCallForm(fc *pg.FuncCall, kind funcKind, c *candidate, name []*pg.Node, names []string, nargs int, loc int32) {
	b := s.b
	fn := fieldsString(name)
	if s.kind == kindCallArgument && kind != funcProcedure && fc != nil && s.callNode == fc {
		panic(b.errAt(loc, pgerror.WrongObjectType, "%s is not a procedure", b.funcSignature(name, nil, c.args)).
			WithHint("To call a function, use SELECT."))
	}
	if kind == funcProcedure && (fc == nil || s.callNode != fc) {
		panic(b.errAt(loc, pgerror.WrongObjectType, "%s is a procedure", b.funcSignature(name, nil, c.args)).
			WithHint("To call a procedure, use CALL."))
	}
	if fc == nil {
		return
	}
	p := c.proc
	if kind == funcNormal || kind == funcProcedure {
		switch {
		case fc.AggStar:
			b.fail(loc, pgerror.WrongObjectType, "%s(*) specified, but %s is not an aggregate function", fn, fn)
		case fc.AggDistinct:
			b.fail(loc, pgerror.WrongObjectType, "DISTINCT specified, but %s is not an aggregate function", fn)
		case fc.AggWithinGroup:
			b.fail(loc, pgerror.WrongObjectType, "WITHIN GROUP specified, but %s is not an aggregate function", fn)
		case fc.AggOrder != nil:
			b.fail(loc, pgerror.WrongObjectType, "ORDER BY specified, but %s is not an aggregate function", fn)
		case fc.AggFilter != nil:
			b.fail(loc, pgerror.WrongObjectType, "FILTER specified, but %s is not an aggregate function", fn)
		case fc.Over != nil:
			b.fail(loc, pgerror.WrongObjectType, "OVER specified, but %s is not a window function nor an aggregate function", fn)
		}
		return
	}
	if kind == funcAggregate {
		if len(names) > 0 {
			b.fail(loc, pgerror.FeatureNotSupported, "aggregates cannot use named arguments")
		}
		if nargs == 0 && !fc.AggStar && !p.Agg.OrderedSet {
			b.fail(loc, pgerror.WrongObjectType, "%s(*) must be used to call a parameterless aggregate function", fn)
		}
		if p.Agg.OrderedSet {
			if !fc.AggWithinGroup {
				b.fail(loc, pgerror.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", fn)
			}
			if fc.Over != nil {
				b.fail(loc, pgerror.FeatureNotSupported, "OVER is not supported for ordered-set aggregate %s", fn)
			}
			direct := nargs - len(fc.AggOrder)
			if p.Variadic != sqltypes.OIDAny && direct != p.Agg.NumDirect || p.Agg.Hypothetical && direct != len(fc.AggOrder) {
				panic(b.errAt(loc, pgerror.UndefinedFunction, "function %s does not exist", b.funcSignature(name, nil, c.args)).
					WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).", fn, direct, len(fc.AggOrder)))
			}
		} else if fc.AggWithinGroup {
			b.fail(loc, pgerror.WrongObjectType, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", fn)
		}
		if fc.Over != nil && fc.AggOrder != nil {
			b.fail(loc, pgerror.FeatureNotSupported, "aggregate ORDER BY is not implemented for window functions")
		}
		if fc.Over != nil && fc.AggDistinct {
			b.fail(loc, pgerror.FeatureNotSupported, "DISTINCT is not implemented for window functions")
		}
		return
	}
	// A window function.
	if fc.Over == nil {
		b.fail(loc, pgerror.WrongObjectType, "window function %s requires an OVER clause", fn)
	}
	if fc.AggWithinGroup {
		b.fail(loc, pgerror.WrongObjectType, "window function %s cannot have WITHIN GROUP", fn)
	}
	if fc.AggDistinct {
		b.fail(loc, pgerror.FeatureNotSupported, "DISTINCT is not implemented for window functions")
	}
	if fc.AggOrder != nil {
		b.fail(loc, pgerror.FeatureNotSupported, "aggregate ORDER BY is not implemented for window functions")
	}
	if fc.AggFilter != nil {
		b.fail(loc, pgerror.FeatureNotSupported, "FILTER is not implemented for non-aggregate window functions")
	}
	if nargs == 0 && fc.AggStar {
		b.fail(loc, pgerror.WrongObjectType, "%s(*) specified, but %s is not an aggregate function", fn, fn)
	}
}

// completeArgs reorders named arguments and adds defaults.
func (s *scope) completeArgs(c *candidate, args []expr.Expr) []expr.Expr {
	p := c.proc
	out := make([]expr.Expr, len(p.ArgTypes))
	if c.argnums != nil {
		for i, a := range args {
			out[c.argnums[i]] = a
		}
	} else {
		copy(out, args)
	}
	first := len(p.ArgTypes) - p.NumDefaults
	for i, a := range out {
		if a == nil {
			out[i] = s.defaultArg(p, i-first, p.ArgTypes[i])
		}
	}
	return out
}

// defaultArg binds the text of a function's default.
func (s *scope) defaultArg(p *sqltypes.Proc, n int, want sqltypes.OID) expr.Expr {
	node, err := parse.Expression(p.Defaults[n])
	s.b.check(err, -1)
	sub := s.b.subBinder("")
	ss := sub.newScope(nil)
	ss.kind = kindFunctionDefault
	e := ss.expr(node)
	if isPoly(want) {
		return e
	}
	if r := ss.coerceToTarget(e, want, noTypMod, assignment, -1); r != nil {
		return r
	}
	return e
}

// subBinder binds text that is not the client's (a default, a view): errors have no position.
func (b *binder) subBinder(source string) *binder {
	n := newBinder(b.ctx)
	n.source, n.params, n.noPar, n.quiet = source, nil, true, true
	n.depth, n.views, n.checkAs, n.stored = b.depth, b.views, b.checkAs, b.stored
	return n
}

// returnsSet is expression_returns_set.
func returnsSet(e expr.Expr) bool {
	found := false
	planner.Visit(e, func(x expr.Expr) bool {
		switch c := x.(type) {
		case *expr.Call:
			if c.Proc != nil && c.Proc.RetSet {
				found = true
			}
		case *expr.Agg, *expr.Window:
			return false
		}
		return !found
	})
	return found
}

// checkSRF is check_srf_call_placement.
func (s *scope) checkSRF(c *expr.Call, last *expr.Call, loc int32) {
	b := s.b
	switch {
	case s.kind == kindFromFunction:
		// Only the outermost call of a FROM function may return a set.
		if s.lastSRF != last {
			b.fail(s.srfLoc, pgerror.FeatureNotSupported, "set-returning functions must appear at top level of FROM")
		}
	case !s.kind.allowsSRF():
		b.fail(loc, pgerror.FeatureNotSupported, "set-returning functions are not allowed in %s", s.kind.srfPlace())
	default:
		s.hasSRF = true
	}
	s.lastSRF, s.srfLoc = c, loc
}
