package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// opNames splits a possibly qualified operator name and checks its schema.
func (b *binder) opNames(names []*pg.Node, loc int32) (name string) {
	name = strOf(names[len(names)-1])
	if len(names) > 1 {
		schema := strOf(names[len(names)-2])
		if b.schemaOID(schema) == 0 {
			b.fail(loc, pgerror.InvalidSchemaName, `schema "%s" does not exist`, schema)
		}
		if schema != "pg_catalog" {
			return "\x00" // nothing is defined there
		}
	}
	return name
}

// binaryOperator is oper(): the infix operator for two types, nil if none (noError).
func (b *binder) binaryOperator(names []*pg.Node, l, r sqltypes.OID, loc int32, noError bool) *sqltypes.Operator {
	name := b.opNames(names, loc)
	// An unknown literal is first taken as the other side's type.
	el, er := l, r
	if isUnknown(er) && !isUnknown(el) {
		er = el
	} else if isUnknown(el) && !isUnknown(er) {
		el = er
	}
	if op := sqltypes.FindOperator(name, el, er); op != nil {
		return op
	}
	if isUnknown(l) || isUnknown(r) {
		// The other side may be a domain.
		if base := b.baseType(el); base != el {
			if op := sqltypes.FindOperator(name, base, base); op != nil {
				return op
			}
		}
	}
	var cands []*candidate
	for _, op := range sqltypes.OperatorsByName(name) {
		if op.Kind == 'b' {
			cands = append(cands, &candidate{op: op, args: []sqltypes.OID{op.Left, op.Right}})
		}
	}
	al, ar := l, r
	if al == 0 {
		al = ar
	}
	if ar == 0 {
		ar = al
	}
	actual := []sqltypes.OID{al, ar}
	match := b.matchTypes(actual, cands)
	if len(match) == 1 {
		return match[0].op
	}
	if len(match) > 1 {
		if c := b.selectCandidate(actual, match); c != nil {
			return c.op
		}
	}
	if !noError {
		b.operatorError(names, []sqltypes.OID{l, r}, len(match) > 1, loc)
	}
	return nil
}

func (b *binder) prefixOperator(names []*pg.Node, r sqltypes.OID, loc int32) *sqltypes.Operator {
	name := b.opNames(names, loc)
	if op := sqltypes.FindOperator(name, 0, r); op != nil && op.Kind == 'l' {
		return op
	}
	var cands []*candidate
	for _, op := range sqltypes.OperatorsByName(name) {
		if op.Kind == 'l' {
			cands = append(cands, &candidate{op: op, args: []sqltypes.OID{op.Right}})
		}
	}
	actual := []sqltypes.OID{r}
	match := b.matchTypes(actual, cands)
	if len(match) == 1 {
		return match[0].op
	}
	if len(match) > 1 {
		if c := b.selectCandidate(actual, match); c != nil {
			return c.op
		}
	}
	b.operatorError(names, []sqltypes.OID{0, r}, len(match) > 1, loc)
	return nil
}

// operatorError is op_error; the first type is 0 for a prefix operator.
func (b *binder) operatorError(names []*pg.Node, types []sqltypes.OID, ambiguous bool, loc int32) {
	sig := ""
	if types[0] != 0 {
		sig = b.typeName(types[0]) + " "
	}
	sig += fieldsString(names) + " " + b.typeName(types[1])
	if ambiguous {
		panic(b.errAt(loc, pgerror.AmbiguousFunction, "operator is not unique: %s", sig).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts."))
	}
	err := b.errAt(loc, pgerror.UndefinedFunction, "operator does not exist: %s", sig)
	if types[0] == 0 {
		panic(err.WithHint("No operator matches the given name and argument type. You might need to add an explicit type cast."))
	}
	panic(err.WithHint("No operator matches the given name and argument types. You might need to add explicit type casts."))
}

// makeOp is make_op: l is nil for a prefix operator.
func (s *scope) makeOp(names []*pg.Node, l, r expr.Expr, loc int32) *expr.Call {
	b := s.b
	if r == nil {
		b.fail(loc, pgerror.SyntaxError, "postfix operators are not supported")
	}
	var op *sqltypes.Operator
	lastSRF := s.lastSRF
	if l == nil {
		op = b.prefixOperator(names, typeOf(r), loc)
		return s.opCall(op, []expr.Expr{r}, loc, lastSRF)
	}
	op = b.binaryOperator(names, typeOf(l), typeOf(r), loc, false)
	return s.opCall(op, []expr.Expr{l, r}, loc, lastSRF)
}

// opCall applies an operator to arguments, coercing them.
func (s *scope) opCall(op *sqltypes.Operator, args []expr.Expr, loc int32, lastSRF *expr.Call) *expr.Call {
	b := s.b
	actual := make([]sqltypes.OID, len(args))
	declared := make([]sqltypes.OID, 0, 2)
	for i, a := range args {
		actual[i] = typeOf(a)
	}
	if len(args) == 2 {
		declared = append(declared, op.Left)
	}
	declared = append(declared, op.Right)
	ret := op.Result
	if op.Proc == nil {
		b.fail(loc, pgerror.UndefinedFunction, "operator is only a shell: %s", op.Name)
	}
	ret = b.resolveGeneric(actual, declared, ret)
	c := &expr.Call{T: tt(b.columnType(ret)), Proc: op.Proc, Op: op.Name, Args: s.coerceArgs(args, declared, loc)}
	s.setCollation(c, c.Args, loc)
	if op.Proc.RetSet {
		s.checkSRF(c, lastSRF, loc)
	}
	return c
}

// coerceArgs is make_fn_arguments.
func (s *scope) coerceArgs(args []expr.Expr, declared []sqltypes.OID, loc int32) []expr.Expr {
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		if typeOf(a) == declared[i] {
			out[i] = a
			continue
		}
		out[i] = s.coerce(a, declared[i], noTypMod, implicit, s.locOf(a, loc))
	}
	return out
}

// locOf is the place of a literal, or a default.
func (s *scope) locOf(e expr.Expr, loc int32) int32 {
	if c, ok := e.(*expr.Const); ok {
		if l := s.litLoc(c); l >= 0 {
			return l
		}
	}
	return loc
}

func (s *scope) litLoc(c *expr.Const) int32 {
	if l, ok := s.b.litLocs[c]; ok {
		return l
	}
	return -1
}

// scalarArrayOp is make_scalar_array_op: l op ANY/ALL (array).
func (s *scope) scalarArrayOp(names []*pg.Node, all bool, l, r expr.Expr, loc int32) expr.Expr {
	b := s.b
	lt, at := typeOf(l), typeOf(r)
	rt := at
	if !isUnknown(at) {
		rt = b.baseElemType(at)
		if rt == 0 {
			b.fail(loc, pgerror.WrongObjectType, "op ANY/ALL (array) requires array on right side")
		}
	}
	op := b.binaryOperator(names, lt, rt, loc, false)
	actual := []sqltypes.OID{lt, rt}
	declared := []sqltypes.OID{op.Left, op.Right}
	ret := op.Result
	ret = b.resolveGeneric(actual, declared, ret)
	if ret != sqltypes.OIDBool {
		b.fail(loc, pgerror.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean")
	}
	if op.Proc.RetSet {
		b.fail(loc, pgerror.WrongObjectType, "op ANY/ALL (array) requires operator not to return a set")
	}
	arr := b.arrayType(declared[1])
	if arr == 0 {
		b.fail(loc, pgerror.UndefinedObject, "could not find array type for data type %s", b.typeName(declared[1]))
	}
	if t := b.typ(declared[1]); t.IsArray && isPoly(op.Right) {
		arr = at
	}
	args := s.coerceArgs([]expr.Expr{l, r}, []sqltypes.OID{declared[0], arr}, loc)
	coll, _ := s.inputCollation(args, loc)
	return &expr.ArrayOp{T: boolT, Proc: op.Proc, Op: op.Name, Left: args[0], Array: args[1], All: all, Collation: coll}
}

// sortOperators is get_sort_group_operators; lt may be nil when only equality exists.
func (b *binder) sortOperators(t sqltypes.OID, needLt bool, loc int32) (lt, eq *sqltypes.Operator) {
	base := b.baseType(t)
	ty := b.typ(base)
	if ty != nil {
		if l, e, _, ok := sqltypes.SortOperatorsOf(ty); ok && b.orderable(ty) {
			return l, e
		}
	}
	if needLt {
		panic(b.errAt(loc, pgerror.UndefinedFunction, "could not identify an ordering operator for type %s", b.typeName(t)).
			WithHint("Use an explicit ordering operator or modify the query."))
	}
	if c := sqltypes.DefaultOpClass(sqltypes.AMHash, base); c != nil {
		if op := sqltypes.FamilyOperator(c.Family, c.InType, c.InType, 1); op != nil {
			return nil, op
		}
	}
	b.fail(loc, pgerror.UndefinedFunction, "could not identify an equality operator for type %s", b.typeName(t))
	return nil, nil
}

// orderable reports whether a container's elements have an order.
func (b *binder) orderable(t *sqltypes.Type) bool {
	switch {
	case t.IsArray:
		e := b.typ(b.baseType(t.Elem))
		if e == nil {
			return false
		}
		if e.TypType == 'p' {
			return true
		}
		_, _, _, ok := sqltypes.SortOperatorsOf(e)
		return ok && b.orderable(e)
	case t.TypType == 'c' && t.OID != sqltypes.OIDRecord:
		for _, f := range t.Fields {
			ft := b.typ(b.baseType(f.OID))
			if ft == nil {
				return false
			}
			if _, _, _, ok := sqltypes.SortOperatorsOf(ft); !ok || !b.orderable(ft) {
				return false
			}
		}
	}
	return true
}

func opName(name string) []*pg.Node { return []*pg.Node{pg.MakeStrNode(name)} }
