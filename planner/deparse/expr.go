package deparse

import (
	"strconv"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

func (p *printer) list(es []expr.Expr) {
	for i, e := range es {
		if i > 0 {
			p.s(", ")
		}
		p.expr(e, true)
	}
}

// variable is get_variable; target: it stands as an output column, where a whole
// row needs its cast.
func (p *printer) variable(v *planner.Var, target bool) {
	l := p.levels[len(p.levels)-1-v.Level]
	if name, _, ok := p.throughJoin(v); ok {
		p.s(name)
		return
	}
	if v.Rel < 0 {
		p.s(sqltypes.QuoteIdent(v.Name))
		return
	}
	name := sqltypes.QuoteIdent(l.names[v.Rel])
	switch {
	case v.Col == -1:
		p.s(name, ".*")
		if target {
			p.s("::", p.typeName(v.Typ))
		}
	case v.Col < -1:
		p.s(name, ".", v.Name)
	case p.bare && len(p.levels) == 1:
		p.s(sqltypes.QuoteIdent(l.q.Range[v.Rel].Cols[v.Col].Name))
	default:
		p.s(name, ".", sqltypes.QuoteIdent(l.q.Range[v.Rel].Cols[v.Col].Name))
	}
}

// expr is get_rule_expr. showImplicit: implicit casts are written.
func (p *printer) expr(e expr.Expr, showImplicit bool) {
	switch x := e.(type) {
	case *expr.Const:
		if x.Name != "" {
			p.s(x.Name)
			return
		}
		p.constant(x, false)
	case *expr.Param:
		p.s("$", strconv.Itoa(x.N))
	case *planner.Var:
		p.variable(x, false)
	case *expr.Col:
		p.s(sqltypes.QuoteIdent(x.Name))
	case *expr.CaseValue:
		p.s(p.value)
	case *expr.Call:
		p.call(x, showImplicit)
	case *expr.And:
		p.boolean(x.Args, x, " AND ")
	case *expr.Or:
		p.boolean(x.Args, x, " OR ")
	case *expr.Not:
		p.open()
		p.s("NOT ")
		p.inner(x.Arg, x, false)
		p.close()
	case *expr.NullTest:
		p.open()
		p.inner(x.Arg, x, true)
		switch {
		case x.IsNot:
			p.s(" IS NOT NULL")
		default:
			p.s(" IS NULL")
		}
		p.close()
	case *expr.BoolTest:
		p.open()
		p.inner(x.Arg, x, false)
		p.s(" IS ")
		if x.IsNot {
			p.s("NOT ")
		}
		p.s(map[int8]string{1: "TRUE", 0: "FALSE", -1: "UNKNOWN"}[x.Value])
		p.close()
	case *expr.Distinct:
		p.open()
		p.inner(x.Eq.Args[0], x, true)
		if x.Not {
			p.s(" IS NOT DISTINCT FROM ")
		} else {
			p.s(" IS DISTINCT FROM ")
		}
		p.inner(x.Eq.Args[1], x, true)
		p.close()
	case *expr.NullIf:
		p.s("NULLIF(")
		p.list(x.Eq.Args)
		p.s(")")
	case *expr.Case:
		p.caseExpr(x)
	case *expr.Coalesce:
		if name, _, ok := p.throughJoin(x); ok {
			p.s(name)
			return
		}
		p.s("COALESCE(")
		p.list(x.Args)
		p.s(")")
	case *expr.MinMax:
		if x.Least {
			p.s("LEAST(")
		} else {
			p.s("GREATEST(")
		}
		p.list(x.Args)
		p.s(")")
	case *expr.ArrayCtor:
		p.s("ARRAY[")
		p.list(x.Elems)
		p.s("]")
		if len(x.Elems) == 0 {
			p.s("::", p.typeName(sqltypes.ColumnType{OID: x.Typ.OID, TypMod: -1}))
		}
	case *expr.RowCtor:
		p.s("ROW(")
		p.list(x.Fields)
		p.s(")")
		if x.Typ.OID != sqltypes.OIDRecord {
			p.s("::", p.typeName(x.Typ))
		}
	case *expr.Field:
		p.s("(")
		p.expr(x.Arg, true)
		p.s(").", sqltypes.QuoteIdent(p.fieldName(x)))
	case *expr.Subscript:
		p.subscript(x)
	case *expr.ArrayOp:
		p.open()
		p.inner(x.Left, x, true)
		p.s(" ", x.Op)
		if x.All {
			p.s(" ALL (")
		} else {
			p.s(" ANY (")
		}
		p.inner(x.Array, x, true)
		p.s(")")
		p.close()
	case *expr.RowCompare:
		p.s("(ROW(")
		p.list(x.Left)
		p.s(") ", map[byte]string{'<': "<", 'l': "<=", '>': ">", 'g': ">="}[x.Op], " ROW(")
		p.list(x.Right)
		p.s("))")
	case *expr.Relabel:
		if x.Typ.Collation != 0 && x.Typ.OID == x.Arg.Type().OID && x.Typ.Collation != x.Arg.Type().Collation {
			p.s("(")
			p.expr(x.Arg, showImplicit)
			p.s(" COLLATE ", collationName(x.Typ.Collation), ")")
			return
		}
		p.cast(x.Arg, x.Typ, x.Coercion, showImplicit)
	case *expr.CoerceViaIO:
		p.cast(x.Arg, x.Typ, x.Coercion, showImplicit)
	case *expr.ArrayCoerce:
		p.cast(x.Arg, x.Typ, x.Coercion, showImplicit)
	case *expr.CoerceDomain:
		p.cast(x.Arg, x.Typ, 'e', showImplicit)
	case *expr.Agg:
		p.aggregate(x)
	case *expr.Window:
		p.windowCall(x)
	case *expr.Grouping:
		p.s("GROUPING(")
		q := p.levels[len(p.levels)-1-x.Level].q
		for i, c := range x.Cols {
			if i > 0 {
				p.s(", ")
			}
			p.expr(q.Targets[q.GroupBy[c]].Expr, true)
		}
		p.s(")")
	case *planner.SubLink:
		p.subLink(x)
	default:
		panic(unprintable("an expression"))
	}
}

func (p *printer) boolean(args []expr.Expr, parent expr.Expr, word string) {
	p.open()
	for i, a := range args {
		if i > 0 {
			p.s(word)
		}
		p.inner(a, parent, false)
	}
	p.close()
}

// castParent stands for a cast in isSimple.
var castParent = &expr.Call{Coercion: 'e'}

func (p *printer) call(x *expr.Call, showImplicit bool) {
	if x.Form == 's' && p.sqlSyntax(x) {
		return
	}
	switch {
	case x.Coercion == 'i' && !showImplicit:
		p.expr(x.Args[0], false)
		return
	case x.Coercion != 0 && len(x.Args) > 0:
		p.cast(x.Args[0], x.Typ, 'e', showImplicit)
		return
	case x.Op != "" && len(x.Args) == 2:
		p.open()
		p.inner(x.Args[0], x, true)
		p.s(" ", x.Op, " ")
		p.inner(x.Args[1], x, true)
		p.close()
		return
	case x.Op != "":
		p.open()
		p.s(x.Op, " ")
		p.inner(x.Args[0], x, true)
		p.close()
		return
	}
	p.s(p.procName(x.Proc), "(")
	args := x.Args
	if x.VariadicArray && x.Proc.Variadic != sqltypes.OIDAny && len(args) > 0 {
		if c, ok := args[len(args)-1].(*expr.ArrayCtor); ok && !c.Multi {
			// The elements were written one by one.
			args = append(args[:len(args)-1:len(args)-1], c.Elems...)
			p.list(args)
			p.s(")")
			return
		}
	}
	for i, a := range args {
		if i > 0 {
			p.s(", ")
		}
		if x.VariadicArray && i == len(args)-1 {
			p.s("VARIADIC ")
		}
		p.expr(a, true)
	}
	p.s(")")
}

func (p *printer) procName(f *sqltypes.Proc) string {
	return p.qualify(f.Namespace, f.Name, func(ns sqltypes.OID) bool { return false })
}

// cast is get_coercion_expr.
func (p *printer) cast(arg expr.Expr, ct sqltypes.ColumnType, form byte, showImplicit bool) {
	if form == 'i' && !showImplicit {
		p.expr(arg, false)
		return
	}
	if ct.OID == sqltypes.OIDRegclass {
		// Sequences of defaults are stored by number, so that they survive renaming.
		if o, ok := constantOID(arg); ok && p.ctx.Catalog.Relation(o) != nil {
			p.s(quoteLiteral(p.regclass(o, "")), "::regclass")
			return
		}
	}
	// A constant of the type itself needs no second label.
	if c, ok := arg.(*expr.Const); ok && c.Typ.OID == ct.OID && ct.TypMod < 0 {
		p.constant(c, true)
		return
	}
	if c, ok := arg.(*expr.Const); ok && c.Typ.OID == ct.OID {
		p.constantBare(c)
		p.s("::", p.typeName(ct))
		return
	}
	// Two steps of one cast: the length is part of the outer name.
	if in, ok := arg.(*expr.Call); ok && in.Coercion != 0 && in.Typ.OID == ct.OID && in.Typ.TypMod < 0 && len(in.Args) > 0 {
		p.cast(in.Args[0], ct, form, showImplicit)
		return
	}
	switch in := arg.(type) {
	case *expr.Relabel:
		if in.Typ.OID == ct.OID && ct.TypMod >= 0 {
			p.cast(in.Arg, ct, form, showImplicit)
			return
		}
	case *expr.CoerceViaIO:
		if in.Typ.OID == ct.OID && ct.TypMod >= 0 {
			p.cast(in.Arg, ct, form, showImplicit)
			return
		}
	}
	p.open()
	p.inner(arg, castParent, false)
	p.close()
	p.s("::", p.typeName(ct))
}

func (p *printer) caseExpr(x *expr.Case) {
	p.keyword("CASE", 0, indentVar, 0)
	if x.Arg != nil {
		p.s(" ")
		p.expr(x.Arg, true)
	}
	for _, w := range x.Whens {
		p.clause("WHEN ")
		cond := w.Cond
		if x.Arg != nil {
			// Written as CASE x WHEN y: the condition is x = y.
			if c, ok := cond.(*expr.Call); ok && len(c.Args) == 2 {
				cond = c.Args[1]
			}
		}
		p.expr(cond, false)
		p.s(" THEN ")
		p.expr(w.Result, true)
	}
	p.clause("ELSE ")
	if x.Else != nil {
		p.expr(x.Else, true)
	} else {
		p.s("NULL::", p.typeName(sqltypes.ColumnType{OID: x.Typ.OID, TypMod: -1}))
	}
	if !p.indenting {
		p.s(" ")
	}
	p.keyword("END", -indentVar, 0, 0)
}

// clause starts a line of a CASE.
func (p *printer) clause(word string) {
	if !p.indenting {
		p.s(" ")
	}
	p.keyword(word, 0, 0, 0)
}

func (p *printer) fieldName(x *expr.Field) string {
	if t := p.typ(x.Arg.Type().OID); t != nil && x.Num < len(t.Fields) {
		return t.Fields[x.Num].Name
	}
	if r, ok := x.Arg.(*expr.RowCtor); ok && x.Num < len(r.Names) {
		return r.Names[x.Num]
	}
	if c, ok := x.Arg.(*expr.Call); ok {
		k := 0
		for i, m := range c.Proc.ArgModes {
			if m == 'o' || m == 'b' || m == 't' {
				if k == x.Num {
					return c.Proc.ArgNames[i]
				}
				k++
			}
		}
	}
	return "f" + strconv.Itoa(x.Num+1)
}

func (p *printer) subscript(x *expr.Subscript) {
	switch x.Arg.(type) {
	case *planner.Var, *expr.Col, *expr.Subscript, *expr.Param:
		p.expr(x.Arg, true)
	default:
		p.s("(")
		p.expr(x.Arg, true)
		p.s(")")
	}
	for i := range x.Upper {
		p.s("[")
		if x.IsSlice {
			if x.Lower[i] != nil {
				p.expr(x.Lower[i], false)
			}
			p.s(":")
		}
		if x.Upper[i] != nil {
			p.expr(x.Upper[i], false)
		}
		p.s("]")
	}
}
