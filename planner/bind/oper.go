package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// An operatorSet is the operators that a possibly qualified name can mean, those
// of schemas further up the search path first (OpernameGetCandidates).
type operatorSet struct {
	name    string
	builtin bool // those of pg_catalog are meant too
	before  []*sqltypes.Operator
	after   []*sqltypes.Operator
}

func (b *binder) operatorsNamed(names []*pg.Node, loc int32) operatorSet {
	set := operatorSet{name: strOf(names[len(names)-1]), builtin: true}
	schema := sqltypes.OID(0)
	if len(names) > 1 {
		if schema = b.schemaOID(strOf(names[len(names)-2])); schema == 0 {
			b.fail(loc, pgerror.InvalidSchemaName, `schema "%s" does not exist`, strOf(names[len(names)-2]))
		}
		set.builtin = schema == sqltypes.NamespaceCatalog
	}
	if b.cat == nil {
		return set
	}
	own := b.cat.OperatorsByName(set.name)
	if len(own) == 0 {
		return set
	}
	if schema != 0 {
		for _, o := range own {
			if o.Schema == schema {
				set.after = append(set.after, b.userOperator(o))
			}
		}
		return set
	}
	catalogAt := b.pathPos(sqltypes.NamespaceCatalog)
	for i, ns := range b.ctx.SearchPath {
		for _, o := range own {
			if o.Schema != ns || ns == b.ctx.TempSchema {
				continue
			}
			if i+1 < catalogAt {
				set.before = append(set.before, b.userOperator(o))
			} else {
				set.after = append(set.after, b.userOperator(o))
			}
		}
	}
	return set
}

// exact finds the operator of exactly these operand types (left 0: prefix), or nil.
func (s *operatorSet) exact(left, right sqltypes.OID) *sqltypes.Operator {
	for _, op := range s.before {
		if op.Left == left && op.Right == right {
			return op
		}
	}
	if s.builtin {
		if op := sqltypes.FindOperator(s.name, left, right); op != nil {
			return op
		}
	}
	for _, op := range s.after {
		if op.Left == left && op.Right == right {
			return op
		}
	}
	return nil
}

// candidates are the operators of a kind that no other of the same operand types hides.
func (s *operatorSet) candidates(kind byte) []*candidate {
	var out []*candidate
	add := func(op *sqltypes.Operator) {
		if op.Kind != kind {
			return
		}
		c := &candidate{op: op, args: []sqltypes.OID{op.Left, op.Right}}
		if kind == 'l' {
			c.args = c.args[1:]
		}
		if len(s.before)+len(s.after) > 0 {
			for _, o := range out {
				if sameTypes(o.args, c.args) {
					return
				}
			}
		}
		out = append(out, c)
	}
	for _, op := range s.before {
		add(op)
	}
	if s.builtin {
		for _, op := range sqltypes.OperatorsByName(s.name) {
			add(op)
		}
	}
	for _, op := range s.after {
		add(op)
	}
	return out
}

// userOperator presents a user's operator; a shell has no Proc.
func (b *binder) userOperator(o *catalog.Operator) *sqltypes.Operator {
	op := &sqltypes.Operator{OID: o.OID, Name: o.Name, Kind: 'b', Left: o.Left, Right: o.Right, Result: o.Result,
		Commutator: o.Commutator, Negator: o.Negator}
	if o.Left == 0 {
		op.Kind = 'l'
	}
	op.Proc = b.procByOID(o.Proc)
	return op
}

// procByOID finds a built-in or a user's function; nil if there is none.
func (b *binder) procByOID(oid sqltypes.OID) *sqltypes.Proc {
	if oid == 0 {
		return nil
	}
	if p := sqltypes.ProcByOID(oid); p != nil {
		return p
	}
	if b.cat != nil {
		if f := b.cat.Function(oid); f != nil {
			return b.userProc(f)
		}
	}
	return nil
}

// binaryOperator is oper(): the infix operator for two types, nil if none (noError).
func (b *binder) binaryOperator(names []*pg.Node, l, r sqltypes.OID, loc int32, noError bool) *sqltypes.Operator {
	set := b.operatorsNamed(names, loc)
	// An unknown literal is first taken as the other side's type.
	el, er := l, r
	if isUnknown(er) && !isUnknown(el) {
		er = el
	} else if isUnknown(el) && !isUnknown(er) {
		el = er
	}
	if op := set.exact(el, er); op != nil {
		return op
	}
	if isUnknown(l) || isUnknown(r) {
		// The other side may be a domain.
		if base := b.baseType(el); base != el {
			if op := set.exact(base, base); op != nil {
				return op
			}
		}
	}
	cands := set.candidates('b')
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
	set := b.operatorsNamed(names, loc)
	if op := set.exact(0, r); op != nil && op.Kind == 'l' {
		return op
	}
	cands := set.candidates('l')
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
