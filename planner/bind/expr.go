package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// exprKindOf binds an expression that stands in a clause (transformExpr).
func (s *scope) exprKindOf(n *pg.Node, k exprKind) expr.Expr {
	old := s.kind
	s.kind = k
	e := s.expr(n)
	s.kind = old
	return e
}

// expr is transformExprRecurse.
func (s *scope) expr(n *pg.Node) expr.Expr {
	s.b.enter()
	defer s.b.leave()
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return s.columnRef(x.ColumnRef)
	case *pg.Node_AConst:
		return s.literal(x.AConst)
	case *pg.Node_ParamRef:
		return s.paramRef(x.ParamRef)
	case *pg.Node_AExpr:
		return s.aExpr(x.AExpr)
	case *pg.Node_BoolExpr:
		return s.boolExpr(x.BoolExpr)
	case *pg.Node_FuncCall:
		return s.funcCall(x.FuncCall)
	case *pg.Node_TypeCast:
		return s.typeCast(x.TypeCast)
	case *pg.Node_CollateClause:
		return s.collateClause(x.CollateClause)
	case *pg.Node_AIndirection:
		return s.indirection(x.AIndirection)
	case *pg.Node_AArrayExpr:
		return s.arrayExpr(x.AArrayExpr, 0, 0, noTypMod)
	case *pg.Node_SubLink:
		return s.subLink(x.SubLink)
	case *pg.Node_CaseExpr:
		return s.caseExpr(x.CaseExpr)
	case *pg.Node_CoalesceExpr:
		c := &expr.Coalesce{}
		args := s.exprList(x.CoalesceExpr.Args)
		t := s.b.commonType(args, x.CoalesceExpr.Args, "COALESCE")
		for i, a := range args {
			args[i] = s.coerceCommon(a, t, "COALESCE", exprLoc(x.CoalesceExpr.Args[i]))
			s.refuseSRFIn(args[i], "COALESCE", exprLoc(x.CoalesceExpr.Args[i]))
		}
		c.Args = args
		c.Typ = s.listType(args, t, x.CoalesceExpr.Location)
		return c
	case *pg.Node_MinMaxExpr:
		m := x.MinMaxExpr
		name := "GREATEST"
		if m.Op == pg.MinMaxOp_IS_LEAST {
			name = "LEAST"
		}
		args := s.exprList(m.Args)
		t := s.b.commonType(args, m.Args, name)
		for i, a := range args {
			args[i] = s.coerceCommon(a, t, name, exprLoc(m.Args[i]))
		}
		if ty := s.b.typ(s.b.baseType(t)); ty != nil && ty.Compare == nil {
			if _, _, _, ok := sqltypes.SortOperatorsOf(ty); !ok {
				s.b.fail(m.Location, pgerror.UndefinedFunction, "could not identify a comparison function for type %s", s.b.typeName(t))
			}
		}
		return &expr.MinMax{T: tt(s.listType(args, t, m.Location)), Args: args, Least: m.Op == pg.MinMaxOp_IS_LEAST}
	case *pg.Node_NullTest:
		a := s.expr(x.NullTest.Arg)
		return &expr.NullTest{T: boolT, Arg: a, IsNot: x.NullTest.Nulltesttype == pg.NullTestType_IS_NOT_NULL, Row: s.b.isComplex(typeOf(a))}
	case *pg.Node_BooleanTest:
		return s.booleanTest(x.BooleanTest)
	case *pg.Node_RowExpr:
		return s.rowExpr(x.RowExpr)
	case *pg.Node_SqlvalueFunction:
		return s.sqlValue(x.SqlvalueFunction)
	case *pg.Node_SetToDefault:
		s.b.fail(x.SetToDefault.Location, pgerror.SyntaxError, "DEFAULT is not allowed in this context")
	case *pg.Node_GroupingFunc:
		return s.groupingFunc(x.GroupingFunc)
	case *pg.Node_NamedArgExpr:
		return s.expr(x.NamedArgExpr.Arg)
	case *pg.Node_CurrentOfExpr:
		return s.currentOf(x.CurrentOfExpr)
	case *pg.Node_XmlExpr:
		s.b.unsupported(x.XmlExpr.Location, "XML")
	case *pg.Node_XmlSerialize:
		s.b.unsupported(x.XmlSerialize.Location, "XML")
	case *pg.Node_JsonIsPredicate:
		s.b.fail(x.JsonIsPredicate.Location, pgerror.SyntaxError, `syntax error at or near "JSON"`)
	case *pg.Node_JsonObjectConstructor:
		s.b.unsupported(x.JsonObjectConstructor.Location, "JSON_OBJECT")
	case *pg.Node_JsonArrayConstructor:
		s.b.unsupported(x.JsonArrayConstructor.Location, "JSON_ARRAY")
	case *pg.Node_JsonArrayQueryConstructor:
		s.b.unsupported(x.JsonArrayQueryConstructor.Location, "JSON_ARRAY")
	case *pg.Node_JsonObjectAgg:
		s.b.unsupported(-1, "JSON_OBJECTAGG")
	case *pg.Node_JsonArrayAgg:
		s.b.unsupported(-1, "JSON_ARRAYAGG")
	case *pg.Node_MultiAssignRef:
		s.b.fail(-1, pgerror.InternalError, "multi-column assignment out of place")
	case *pg.Node_List:
		s.b.fail(exprLoc(n), pgerror.SyntaxError, "a list of expressions is not allowed here")
	}
	panic(pgerror.NotSupported("this expression").At(s.b.position(exprLoc(n))))
}

func (s *scope) exprList(l []*pg.Node) []expr.Expr {
	out := make([]expr.Expr, len(l))
	for i, n := range l {
		out[i] = s.expr(n)
	}
	return out
}

// listType is the type of a construct over arguments of a common type.
func (s *scope) listType(args []expr.Expr, t sqltypes.OID, loc int32) sqltypes.ColumnType {
	ct := s.b.columnTypeMod(t, commonTypmod(args, t))
	if ct.Collation != 0 {
		if c, _ := s.inputCollation(args, loc); c != 0 {
			ct.Collation = c
		}
	}
	return ct
}

func (s *scope) refuseSRFIn(e expr.Expr, construct string, loc int32) {
	if s.hasSRF && returnsSet(e) {
		panic(s.b.errAt(loc, pgerror.FeatureNotSupported, "set-returning functions are not allowed in %s", construct).
			WithHint("You might be able to move the set-returning function into a LATERAL FROM item."))
	}
}

func (s *scope) boolExpr(x *pg.BoolExpr) expr.Expr {
	name := "NOT"
	switch x.Boolop {
	case pg.BoolExprType_AND_EXPR:
		name = "AND"
	case pg.BoolExprType_OR_EXPR:
		name = "OR"
	}
	args := make([]expr.Expr, len(x.Args))
	for i, a := range x.Args {
		args[i] = s.coerceToBoolean(s.expr(a), a, name)
	}
	switch name {
	case "AND":
		return &expr.And{T: boolT, Args: args}
	case "OR":
		return &expr.Or{T: boolT, Args: args}
	}
	return &expr.Not{T: boolT, Arg: args[0]}
}

func (s *scope) booleanTest(x *pg.BooleanTest) expr.Expr {
	t := &expr.BoolTest{T: boolT}
	name := ""
	switch x.Booltesttype {
	case pg.BoolTestType_IS_TRUE:
		name, t.Value = "IS TRUE", 1
	case pg.BoolTestType_IS_NOT_TRUE:
		name, t.Value, t.IsNot = "IS NOT TRUE", 1, true
	case pg.BoolTestType_IS_FALSE:
		name = "IS FALSE"
	case pg.BoolTestType_IS_NOT_FALSE:
		name, t.IsNot = "IS NOT FALSE", true
	case pg.BoolTestType_IS_UNKNOWN:
		name, t.Value = "IS UNKNOWN", -1
	default:
		name, t.Value, t.IsNot = "IS NOT UNKNOWN", -1, true
	}
	t.Arg = s.coerceToBoolean(s.expr(x.Arg), x.Arg, name)
	return t
}

func (s *scope) typeCast(x *pg.TypeCast) expr.Expr {
	b := s.b
	ct := b.typeNameRef(x.TypeName)
	var e expr.Expr
	if a := x.Arg.GetAArrayExpr(); a != nil {
		// The cast's type guides the literals inside an ARRAY[].
		base, mod := b.baseTypeMod(ct.OID, ct.TypMod)
		if el := b.elemType(base); el != 0 {
			e = s.arrayExpr(a, base, el, mod)
		}
	}
	if e == nil {
		e = s.expr(x.Arg)
	}
	if typeOf(e) == 0 {
		return e
	}
	loc := x.Location
	if loc < 0 {
		loc = x.TypeName.Location
	}
	r := s.coerceToTarget(e, ct.OID, ct.TypMod, explicit, loc)
	if r == nil {
		b.fail(loc, pgerror.CannotCoerce, "cannot cast type %s to %s", b.typeName(typeOf(e)), b.typeName(ct.OID))
	}
	if r == e && isConst(e) {
		return r
	}
	return r
}

// arrayExpr is transformArrayExpr; arr and elem are the type asked for by a cast, or 0.
func (s *scope) arrayExpr(x *pg.A_ArrayExpr, arr, elem sqltypes.OID, typmod int32) expr.Expr {
	b := s.b
	out := &expr.ArrayCtor{}
	elems := make([]expr.Expr, len(x.Elements))
	for i, n := range x.Elements {
		if sub := n.GetAArrayExpr(); sub != nil {
			b.enter()
			elems[i] = s.arrayExpr(sub, arr, elem, typmod)
			b.leave()
			out.Multi = true
			continue
		}
		e := s.expr(n)
		if !out.Multi {
			if t := typeOf(e); t != sqltypes.OIDInt2vector && t != sqltypes.OIDOidvector && b.typ(t) != nil && b.typ(t).IsArray {
				out.Multi = true
			}
		}
		elems[i] = e
	}
	ctx := implicit
	var coerceTo sqltypes.OID
	switch {
	case arr != 0:
		ctx = explicit
		coerceTo = elem
		if out.Multi {
			coerceTo = arr
		}
	case len(elems) == 0:
		panic(b.errAt(x.Location, pgerror.IndeterminateDatatype, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."))
	default:
		coerceTo = b.commonType(elems, x.Elements, "ARRAY")
		if out.Multi {
			arr = coerceTo
			elem = b.elemType(coerceTo)
			if elem == 0 {
				b.fail(x.Location, pgerror.UndefinedObject, "could not find element type for data type %s", b.typeName(coerceTo))
			}
		} else {
			elem = coerceTo
			arr = b.arrayType(elem)
			if arr == 0 {
				b.fail(x.Location, pgerror.UndefinedObject, "could not find array type for data type %s", b.typeName(elem))
			}
		}
	}
	for i, e := range elems {
		loc := exprLoc(x.Elements[i])
		if ctx == explicit {
			r := s.coerceToTarget(e, coerceTo, typmod, explicit, loc)
			if r == nil {
				b.fail(loc, pgerror.CannotCoerce, "cannot cast type %s to %s", b.typeName(typeOf(e)), b.typeName(coerceTo))
			}
			elems[i] = r
			continue
		}
		elems[i] = s.coerceCommon(e, coerceTo, "ARRAY", loc)
	}
	out.Elems, out.Elem = elems, elem
	out.Typ = b.columnTypeMod(arr, commonTypmod(elems, coerceTo))
	if len(elems) == 0 {
		out.Typ.TypMod = noTypMod
	}
	if out.Typ.Collation != 0 {
		if c, _ := s.inputCollation(elems, x.Location); c != 0 {
			out.Typ.Collation = c
		}
	}
	return out
}

func (s *scope) rowExpr(x *pg.RowExpr) expr.Expr {
	out := &expr.RowCtor{T: tt(s.b.columnType(sqltypes.OIDRecord))}
	out.Fields = s.exprListStar(x.Args)
	if len(out.Fields) > 1664 {
		s.b.fail(x.Location, pgerror.TooManyColumns, "ROW expressions can have at most %d entries", 1664)
	}
	for i, f := range out.Fields {
		if isUnknownExpr(f) && false {
			out.Fields[i] = f
		}
		out.Names = append(out.Names, "f"+itoa(i+1))
	}
	return out
}

func (s *scope) caseExpr(x *pg.CaseExpr) expr.Expr {
	b := s.b
	out := &expr.Case{}
	if x.Arg != nil {
		arg := s.expr(x.Arg)
		if isUnknownExpr(arg) {
			arg = s.coerceCommon(arg, sqltypes.OIDText, "CASE", exprLoc(x.Arg))
		}
		out.Arg = arg
	}
	var results []expr.Expr
	var nodes []*pg.Node
	for _, n := range x.Args {
		w := n.GetCaseWhen()
		var cond expr.Expr
		if out.Arg != nil {
			cond = s.makeOp(opName("="), &expr.CaseValue{T: tt(out.Arg.Type())}, s.expr(w.Expr), w.Location)
		} else {
			cond = s.expr(w.Expr)
		}
		cond = s.coerceToBoolean(cond, w.Expr, "CASE/WHEN")
		r := s.expr(w.Result)
		out.Whens = append(out.Whens, expr.When{Cond: cond, Result: r})
		results = append(results, r)
		nodes = append(nodes, w.Result)
	}
	var els expr.Expr = s.nullConst(oidUnknown)
	if x.Defresult != nil {
		els = s.expr(x.Defresult)
	}
	all := append([]expr.Expr{els}, results...)
	t := b.commonType(all, append([]*pg.Node{x.Defresult}, nodes...), "CASE")
	els = s.coerceCommon(els, t, "CASE/ELSE", exprLoc(x.Defresult))
	s.refuseSRFIn(els, "CASE", exprLoc(x.Defresult))
	for i := range out.Whens {
		out.Whens[i].Result = s.coerceCommon(out.Whens[i].Result, t, "CASE/WHEN", exprLoc(nodes[i]))
		results[i] = out.Whens[i].Result
		s.refuseSRFIn(results[i], "CASE", exprLoc(nodes[i]))
	}
	if x.Defresult != nil {
		out.Else = els
	}
	out.Typ = s.listType(append(results, els), t, x.Location)
	return out
}

// sqlValue binds CURRENT_DATE and its like as the functions they stand for.
func (s *scope) sqlValue(x *pg.SQLValueFunction) expr.Expr {
	b := s.b
	call := func(name string) expr.Expr {
		p := sqltypes.ProcsByName(name)[0]
		c := &expr.Call{T: tt(b.columnType(p.RetType)), Proc: p, Form: 's'}
		s.setCollation(c, nil, x.Location)
		return c
	}
	cast := func(t sqltypes.OID, mod bool) expr.Expr {
		m := noTypMod
		if mod {
			m = x.Typmod
			if m > 6 {
				if b.env.Session != nil {
					b.env.Session.Notice("WARNING", "22023", "TIME precision reduced to maximum allowed, 6")
				}
				m = 6
			}
			if m < 0 {
				b.fail(x.Location, pgerror.InvalidParameterValue, "TIME(%d) precision must not be negative", m)
			}
		}
		e := s.coerceToTarget(call("now"), t, m, explicit, x.Location)
		if c, ok := e.(*expr.Call); ok {
			c.Form = 's'
		}
		return e
	}
	switch x.Op {
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE:
		return cast(sqltypes.OIDDate, false)
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME:
		return cast(sqltypes.OIDTimetz, false)
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:
		return cast(sqltypes.OIDTimetz, true)
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP:
		return call("now")
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N:
		return cast(sqltypes.OIDTimestamptz, true)
	case pg.SQLValueFunctionOp_SVFOP_LOCALTIME:
		return cast(sqltypes.OIDTime, false)
	case pg.SQLValueFunctionOp_SVFOP_LOCALTIME_N:
		return cast(sqltypes.OIDTime, true)
	case pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:
		return cast(sqltypes.OIDTimestamp, false)
	case pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:
		return cast(sqltypes.OIDTimestamp, true)
	case pg.SQLValueFunctionOp_SVFOP_SESSION_USER:
		return call("session_user")
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
		return call("current_database")
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
		return call("current_schema")
	}
	return call("current_user")
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// aExpr binds operators and what the grammar writes as operators.
func (s *scope) aExpr(x *pg.A_Expr) expr.Expr {
	switch x.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_SIMILAR:
		return s.operator(x)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		l := s.expr(x.Lexpr)
		r := s.expr(x.Rexpr)
		return s.scalarArrayOp(x.Name, x.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL, l, r, x.Location)
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return s.distinct(x)
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		l, r := s.expr(x.Lexpr), s.expr(x.Rexpr)
		c := s.makeOp(x.Name, l, r, x.Location)
		if c.Typ.OID != sqltypes.OIDBool {
			s.b.fail(x.Location, pgerror.DatatypeMismatch, "NULLIF requires = operator to yield boolean")
		}
		if c.Proc.RetSet {
			s.b.fail(x.Location, pgerror.DatatypeMismatch, "%s must not return a set", "NULLIF")
		}
		return &expr.NullIf{T: tt(c.Args[0].Type()), Eq: c}
	case pg.A_Expr_Kind_AEXPR_IN:
		return s.inList(x)
	}
	return s.between(x)
}

func (s *scope) operator(x *pg.A_Expr) expr.Expr {
	lrow, rrow := x.Lexpr.GetRowExpr(), x.Rexpr.GetRowExpr()
	if lrow != nil {
		if sub := x.Rexpr.GetSubLink(); sub != nil && sub.SubLinkType == pg.SubLinkType_EXPR_SUBLINK {
			// (a, b) op (SELECT …) compares rows.
			return s.subLink(&pg.SubLink{SubLinkType: pg.SubLinkType_ROWCOMPARE_SUBLINK, Testexpr: x.Lexpr, OperName: x.Name, Subselect: sub.Subselect, Location: x.Location})
		}
		if rrow != nil {
			l := s.expr(x.Lexpr).(*expr.RowCtor)
			r := s.expr(x.Rexpr).(*expr.RowCtor)
			return s.rowComparison(x.Name, l.Fields, r.Fields, x.Location)
		}
	}
	var l expr.Expr
	if x.Lexpr != nil {
		l = s.expr(x.Lexpr)
	}
	var r expr.Expr
	if x.Rexpr != nil {
		r = s.expr(x.Rexpr)
	}
	return s.makeOp(x.Name, l, r, x.Location)
}

func (s *scope) distinct(x *pg.A_Expr) expr.Expr {
	not := x.Kind == pg.A_Expr_Kind_AEXPR_NOT_DISTINCT
	l := s.expr(x.Lexpr)
	r := s.expr(x.Rexpr)
	nullTest := func(e expr.Expr) expr.Expr {
		return &expr.NullTest{T: boolT, Arg: e, IsNot: !not}
	}
	if isNullConst(r) {
		return nullTest(l)
	}
	if isNullConst(l) {
		return nullTest(r)
	}
	lr, lok := l.(*expr.RowCtor)
	rr, rok := r.(*expr.RowCtor)
	if lok && rok {
		if len(lr.Fields) != len(rr.Fields) {
			s.b.fail(x.Location, pgerror.SyntaxError, "unequal number of entries in row expressions")
		}
		var parts []expr.Expr
		for i := range lr.Fields {
			parts = append(parts, s.distinctOp(x.Name, lr.Fields[i], rr.Fields[i], false, x.Location))
		}
		var e expr.Expr
		switch len(parts) {
		case 0:
			e = &expr.Const{T: boolT, Val: sqltypes.Bool(false)}
		case 1:
			e = parts[0]
		default:
			e = &expr.Or{T: boolT, Args: parts}
		}
		if not {
			return &expr.Not{T: boolT, Arg: e}
		}
		return e
	}
	return s.distinctOp(x.Name, l, r, not, x.Location)
}

func (s *scope) distinctOp(name []*pg.Node, l, r expr.Expr, not bool, loc int32) expr.Expr {
	c := s.makeOp(name, l, r, loc)
	if c.Typ.OID != sqltypes.OIDBool {
		s.b.fail(loc, pgerror.DatatypeMismatch, "IS DISTINCT FROM requires = operator to yield boolean")
	}
	return &expr.Distinct{T: boolT, Eq: c, Not: not}
}

// inList is transformAExprIn.
func (s *scope) inList(x *pg.A_Expr) expr.Expr {
	b := s.b
	notIn := strOf(x.Name[0]) == "<>"
	l := s.expr(x.Lexpr)
	items := x.Rexpr.GetList().GetItems()
	_, lrow := l.(*expr.RowCtor)
	var vars, consts []expr.Expr
	var varNodes, constNodes []*pg.Node
	for _, n := range items {
		e := s.expr(n)
		if hasLocalVars(e) {
			vars, varNodes = append(vars, e), append(varNodes, n)
		} else {
			consts, constNodes = append(consts, e), append(constNodes, n)
		}
	}
	var parts []expr.Expr
	if len(consts) > 1 {
		all := append([]expr.Expr{l}, consts...)
		scalar := b.commonType(all, nil, "")
		if scalar != 0 {
			for _, e := range all {
				if !b.canCoerce1(typeOf(e), scalar, implicit) {
					scalar = 0
					break
				}
			}
		}
		arr := sqltypes.OID(0)
		if scalar != 0 && scalar != sqltypes.OIDRecord && !lrow {
			arr = b.arrayType(scalar)
		}
		if arr != 0 {
			ctor := &expr.ArrayCtor{T: tt(b.columnType(arr)), Elem: scalar}
			for i, e := range consts {
				ctor.Elems = append(ctor.Elems, s.coerceCommon(e, scalar, "IN", exprLoc(constNodes[i])))
			}
			if ctor.Typ.Collation != 0 {
				if c, _ := s.inputCollation(ctor.Elems, x.Location); c != 0 {
					ctor.Typ.Collation = c
				}
			}
			parts = append(parts, s.scalarArrayOp(x.Name, notIn, l, ctor, x.Location))
		} else {
			vars, varNodes = append(vars, consts...), append(varNodes, constNodes...)
		}
	} else {
		vars, varNodes = append(vars, consts...), append(varNodes, constNodes...)
	}
	for i, r := range vars {
		var cmp expr.Expr
		rr, rok := r.(*expr.RowCtor)
		if lrow && rok {
			cmp = s.rowComparison(x.Name, l.(*expr.RowCtor).Fields, rr.Fields, x.Location)
		} else {
			cmp = s.makeOp(x.Name, l, r, x.Location)
		}
		parts = append(parts, s.coerceToBoolean(cmp, varNodes[i], "IN"))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	if notIn {
		return &expr.And{T: boolT, Args: parts}
	}
	return &expr.Or{T: boolT, Args: parts}
}

func hasLocalVars(e expr.Expr) bool {
	found := false
	mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Level == depth {
			found = true
		}
		return v
	})
	return found
}

func (s *scope) between(x *pg.A_Expr) expr.Expr {
	items := x.Rexpr.GetList().GetItems()
	lo, hi := items[0], items[1]
	op := func(name string, r *pg.Node) *pg.Node {
		return &pg.Node{Node: &pg.Node_AExpr{AExpr: &pg.A_Expr{Kind: pg.A_Expr_Kind_AEXPR_OP, Name: opName(name), Lexpr: x.Lexpr, Rexpr: r, Location: x.Location}}}
	}
	boolOf := func(k pg.BoolExprType, args ...*pg.Node) *pg.Node {
		return &pg.Node{Node: &pg.Node_BoolExpr{BoolExpr: &pg.BoolExpr{Boolop: k, Args: args, Location: x.Location}}}
	}
	in := func(a, c *pg.Node) *pg.Node { return boolOf(pg.BoolExprType_AND_EXPR, op(">=", a), op("<=", c)) }
	out := func(a, c *pg.Node) *pg.Node { return boolOf(pg.BoolExprType_OR_EXPR, op("<", a), op(">", c)) }
	switch x.Kind {
	case pg.A_Expr_Kind_AEXPR_BETWEEN:
		return s.expr(in(lo, hi))
	case pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return s.expr(out(lo, hi))
	case pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		return s.expr(boolOf(pg.BoolExprType_OR_EXPR, in(lo, hi), in(hi, lo)))
	}
	return s.expr(boolOf(pg.BoolExprType_AND_EXPR, out(lo, hi), out(hi, lo)))
}

// rowComparison is make_row_comparison_op: equality becomes AND of operators,
// an ordering becomes a RowCompare.
func (s *scope) rowComparison(name []*pg.Node, l, r []expr.Expr, loc int32) expr.Expr {
	b := s.b
	if len(l) != len(r) {
		b.fail(loc, pgerror.SyntaxError, "unequal number of entries in row expressions")
	}
	if len(l) == 0 {
		b.fail(loc, pgerror.FeatureNotSupported, "cannot compare rows of zero length")
	}
	calls := make([]*expr.Call, len(l))
	for i := range l {
		calls[i] = s.makeOp(name, l[i], r[i], loc)
		if calls[i].Typ.OID != sqltypes.OIDBool {
			b.fail(loc, pgerror.DatatypeMismatch, "row comparison operator must yield type boolean, not type %s", b.typeName(calls[i].Typ.OID))
		}
		if calls[i].Proc.RetSet {
			b.fail(loc, pgerror.DatatypeMismatch, "row comparison operator must not return a set")
		}
	}
	if len(calls) == 1 {
		return calls[0]
	}
	args := make([]expr.Expr, len(calls))
	for i, c := range calls {
		args[i] = c
	}
	switch strategy := s.rowStrategy(name, calls, loc); strategy {
	case sqltypes.BtreeEqual:
		return &expr.And{T: boolT, Args: args}
	case 0:
		return &expr.Or{T: boolT, Args: args}
	default:
		out := &expr.RowCompare{T: boolT, Op: map[int]byte{sqltypes.BtreeLess: '<', sqltypes.BtreeLessEqual: 'l', sqltypes.BtreeGreaterEqual: 'g', sqltypes.BtreeGreater: '>'}[strategy]}
		for _, c := range calls {
			fam, lt, rt := s.opFamily(c, strategy)
			out.Left = append(out.Left, c.Args[0])
			out.Right = append(out.Right, c.Args[1])
			lop, eop := sqltypes.FamilyOperator(fam, lt, rt, sqltypes.BtreeLess), sqltypes.FamilyOperator(fam, lt, rt, sqltypes.BtreeEqual)
			if lop == nil || eop == nil {
				b.fail(loc, pgerror.FeatureNotSupported, "could not determine interpretation of row comparison operator %s", fieldsString(name))
			}
			out.Lt = append(out.Lt, lop.Proc)
			out.Eq = append(out.Eq, eop.Proc)
			out.Collations = append(out.Collations, c.Collation)
		}
		return out
	}
}

// rowStrategy finds the btree strategy that all the operators share; 0 stands for <>.
func (s *scope) rowStrategy(name []*pg.Node, calls []*expr.Call, loc int32) int {
	common := map[int]bool{}
	for i, c := range calls {
		here := map[int]bool{}
		if op := operatorOf(c); op != nil {
			for _, a := range sqltypes.OperatorFamilies(op.OID) {
				if a.Method == sqltypes.AMBtree {
					here[a.Strategy] = true
				}
			}
			if len(here) == 0 && op.Negator != 0 {
				for _, a := range sqltypes.OperatorFamilies(op.Negator) {
					if a.Method == sqltypes.AMBtree && a.Strategy == sqltypes.BtreeEqual {
						here[0] = true
					}
				}
			}
		}
		if i == 0 {
			common = here
			continue
		}
		for k := range common {
			if !here[k] {
				delete(common, k)
			}
		}
	}
	for _, k := range []int{sqltypes.BtreeEqual, sqltypes.BtreeLess, sqltypes.BtreeLessEqual, sqltypes.BtreeGreaterEqual, sqltypes.BtreeGreater, 0} {
		if common[k] {
			return k
		}
	}
	panic(s.b.errAt(loc, pgerror.FeatureNotSupported, "could not determine interpretation of row comparison operator %s", fieldsString(name)).
		WithHint("Row comparison operators must be associated with btree operator families."))
}

// operatorOf finds the pg_operator row of a call written as an operator.
func operatorOf(c *expr.Call) *sqltypes.Operator {
	for _, op := range sqltypes.OperatorsByName(c.Op) {
		if op.Proc == c.Proc {
			return op
		}
	}
	return nil
}

func (s *scope) opFamily(c *expr.Call, strategy int) (fam, l, r sqltypes.OID) {
	op := operatorOf(c)
	for _, a := range sqltypes.OperatorFamilies(op.OID) {
		if a.Method == sqltypes.AMBtree && a.Strategy == strategy {
			return a.Family, a.Left, a.Right
		}
	}
	return 0, 0, 0
}
