package deparse

import (
	"strconv"
	"strings"

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
	default:
		p.s(name, ".", sqltypes.QuoteIdent(l.q.Range[v.Rel].Cols[v.Col].Name))
	}
}

// inner is get_rule_expr_paren: an operand of parent, in parentheses if they are
// needed. Without saving parentheses every operand brings its own.
func (p *printer) inner(e, parent expr.Expr, showImplicit bool) {
	if !p.pretty || isSimple(e, parent) {
		p.expr(e, showImplicit)
		return
	}
	p.s("(")
	p.expr(e, showImplicit)
	p.s(")")
}

// isSimple is isSimpleNode: e below parent needs no parentheses.
func isSimple(e, parent expr.Expr) bool {
	lower := func() bool {
		switch x := parent.(type) {
		case *expr.Call:
			// A function has its own parentheses; an operator or a cast has not.
			return x.Op == "" && x.Coercion == 0 && x.Form == 0
		case *expr.And, *expr.Or, *expr.Not, *expr.Subscript, *expr.ArrayCtor, *expr.RowCtor, *expr.Coalesce, *expr.MinMax, *expr.NullIf,
			*expr.Agg, *expr.Grouping, *expr.Window, *expr.Case:
			return true
		}
		return false
	}
	switch x := e.(type) {
	case *planner.Var, *expr.Col, *expr.Const, *expr.Param, *expr.CaseValue, *expr.Subscript, *expr.ArrayCtor, *expr.RowCtor, *expr.Coalesce,
		*expr.MinMax, *expr.NullIf, *expr.Agg, *expr.Grouping, *expr.Window, *expr.Case:
		return true
	case *expr.Field:
		_, ok := parent.(*expr.Field)
		return !ok
	case *expr.Relabel:
		return isSimple(x.Arg, parent)
	case *expr.CoerceViaIO:
		return isSimple(x.Arg, parent)
	case *expr.ArrayCoerce:
		return isSimple(x.Arg, parent)
	case *expr.CoerceDomain:
		return isSimple(x.Arg, parent)
	case *expr.Call:
		if x.Op == "" {
			return true
		}
		if up, ok := parent.(*expr.Call); ok && up.Op != "" {
			return bindsTighter(x, up)
		}
		return lower()
	case *planner.SubLink, *expr.NullTest, *expr.BoolTest, *expr.Distinct:
		return lower()
	case *expr.And, *expr.Or, *expr.Not:
		switch parent.(type) {
		case *expr.And:
			_, or := e.(*expr.Or)
			return !or
		case *expr.Or:
			return true
		case *expr.Not:
			return false
		}
		return lower()
	}
	return false
}

// bindsTighter: an arithmetic operator below another one needs no parentheses.
func bindsTighter(x, up *expr.Call) bool {
	prec := func(c *expr.Call) int {
		if len(c.Args) != 2 || len(c.Op) != 1 {
			return 0
		}
		return strings.Index(" +-*/%", c.Op)
	}
	a, b := prec(x), prec(up)
	if a <= 0 || b <= 0 {
		return false
	}
	hi, hiUp := a > 2, b > 2
	if hi != hiUp {
		return hi
	}
	return up.Args[0] == expr.Expr(x)
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

func (p *printer) open() {
	if !p.pretty {
		p.s("(")
	}
}

func (p *printer) close() {
	if !p.pretty {
		p.s(")")
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

// sqlSyntax is get_func_sql_syntax, and the value functions of SQL.
func (p *printer) sqlSyntax(x *expr.Call) bool {
	prec := ""
	if x.Typ.TypMod >= 0 {
		prec = "(" + strconv.Itoa(int(x.Typ.TypMod)) + ")"
	}
	a := x.Args
	switch x.Proc.Name {
	case "now":
		p.s("CURRENT_TIMESTAMP")
		return true
	case "current_user", "session_user", "current_schema":
		p.s(strings.ToUpper(x.Proc.Name))
		return true
	case "current_database":
		p.s("CURRENT_CATALOG")
		return true
	case "date":
		p.s("CURRENT_DATE")
		return true
	case "timetz":
		p.s("CURRENT_TIME", prec)
		return true
	case "time":
		p.s("LOCALTIME", prec)
		return true
	case "timestamp":
		p.s("LOCALTIMESTAMP", prec)
		return true
	case "timestamptz":
		p.s("CURRENT_TIMESTAMP", prec)
		return true
	case "timezone":
		if len(a) == 2 {
			p.s("(")
			p.expr(a[1], true)
			p.s(" AT TIME ZONE ")
			p.expr(a[0], true)
			p.s(")")
			return true
		}
	case "extract":
		if c, ok := a[0].(*expr.Const); ok {
			p.s("EXTRACT(", c.Val.S, " FROM ")
			p.expr(a[1], true)
			p.s(")")
			return true
		}
	case "position":
		p.s("POSITION((")
		p.expr(a[1], true)
		p.s(") IN (")
		p.expr(a[0], true)
		p.s("))")
		return true
	case "overlay":
		p.s("OVERLAY(")
		p.expr(a[0], true)
		p.s(" PLACING ")
		p.expr(a[1], true)
		p.s(" FROM ")
		p.expr(a[2], true)
		if len(a) == 4 {
			p.s(" FOR ")
			p.expr(a[3], true)
		}
		p.s(")")
		return true
	case "substring":
		p.s("SUBSTRING(")
		p.expr(a[0], true)
		if len(a) == 3 && x.Proc.ArgTypes[1] == sqltypes.OIDText {
			p.s(" SIMILAR ")
			p.expr(a[1], true)
			p.s(" ESCAPE ")
			p.expr(a[2], true)
		} else {
			p.s(" FROM ")
			p.expr(a[1], true)
			if len(a) == 3 {
				p.s(" FOR ")
				p.expr(a[2], true)
			}
		}
		p.s(")")
		return true
	case "btrim", "ltrim", "rtrim":
		p.s("TRIM(", map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[x.Proc.Name])
		if len(a) == 2 {
			p.s(" ")
			p.expr(a[1], true)
		}
		p.s(" FROM ")
		p.expr(a[0], true)
		p.s(")")
		return true
	case "overlaps":
		if len(a) == 4 {
			p.s("((")
			p.list(a[:2])
			p.s(") OVERLAPS (")
			p.list(a[2:])
			p.s("))")
			return true
		}
	case "normalize":
		p.s("NORMALIZE(")
		p.expr(a[0], true)
		if len(a) == 2 {
			if c, ok := a[1].(*expr.Const); ok {
				p.s(", ", c.Val.S)
			}
		}
		p.s(")")
		return true
	}
	return false
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

// constantOID is the number below casts of a constant.
func constantOID(e expr.Expr) (sqltypes.OID, bool) {
	for {
		switch n := e.(type) {
		case *expr.Relabel:
			e = n.Arg
		case *expr.Call:
			if n.Coercion == 0 || len(n.Args) == 0 {
				return 0, false
			}
			e = n.Args[0]
		case *expr.Const:
			number := n.Typ.OID == sqltypes.OIDOid || n.Typ.OID == sqltypes.OIDInt4 || n.Typ.OID == sqltypes.OIDInt8
			return sqltypes.OID(n.Val.I), number && !n.Val.Null && n.Name == ""
		default:
			return 0, false
		}
	}
}

// constant is get_const_expr; label forces the type.
func (p *printer) constant(c *expr.Const, label bool) {
	ct := c.Typ
	if c.Val.Null {
		p.s("NULL::", p.typeName(sqltypes.ColumnType{OID: ct.OID, TypMod: ct.TypMod}))
		return
	}
	t := p.typ(ct.OID)
	text := ""
	if t != nil {
		text = string(t.Out(p.env, nil, c.Val))
	}
	if ct.OID == sqltypes.OIDRegclass {
		text = p.regclass(sqltypes.OID(c.Val.I), text)
	}
	switch ct.OID {
	case sqltypes.OIDInt4:
		if c.Val.I < 0 {
			p.s("'", text, "'::integer")
		} else {
			p.s(text)
		}
		return
	case sqltypes.OIDNumeric:
		if ct.TypMod < 0 && text != "" && text[0] >= '0' && text[0] <= '9' && strings.ContainsAny(text, ".eE") {
			p.s(text)
			return
		}
	case sqltypes.OIDBool:
		if c.Val.Bool() {
			p.s("true")
		} else {
			p.s("false")
		}
		return
	case sqltypes.OIDBit, sqltypes.OIDVarbit:
		p.s("B'", text, "'")
	default:
		p.s(quoteLiteral(text))
	}
	if ct.OID == sqltypes.OIDNumeric {
		p.s("'", text, "'")
	}
	if ct.OID == oidUnknown {
		return
	}
	p.s("::", p.typeName(ct))
}

// regclass names a relation as the type shows it.
func (p *printer) regclass(oid sqltypes.OID, text string) string {
	if r := p.ctx.Catalog.Relation(oid); r != nil {
		return p.relName(r)
	}
	if p.ctx.Relations != nil {
		if v := p.ctx.Relations.VirtualByOID(oid); v != nil {
			return p.relName(v.Rel)
		}
	}
	return text
}

const oidUnknown = sqltypes.OIDUnknown

func (p *printer) constantBare(c *expr.Const) {
	if c.Val.Null {
		p.s("NULL")
		return
	}
	if t := p.typ(c.Typ.OID); t != nil {
		p.s(quoteLiteral(string(t.Out(p.env, nil, c.Val))))
	}
}

func quoteLiteral(s string) string {
	e := ""
	if strings.Contains(s, `\`) {
		e = "E"
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return e + "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

func collationName(oid sqltypes.OID) string {
	switch oid {
	case 950:
		return `"C"`
	case 951:
		return `"POSIX"`
	case 100:
		return `"default"`
	}
	return "ucs_basic"
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

func (p *printer) aggregate(x *expr.Agg) {
	p.s(p.procName(x.Proc), "(")
	if x.Distinct {
		p.s("DISTINCT ")
	}
	n := len(x.Args)
	switch {
	case x.Star:
		p.s("*")
	case x.Proc.Agg != nil && x.Proc.Agg.OrderedSet:
		p.list(x.Direct)
		p.s(") WITHIN GROUP (ORDER BY ")
		p.aggSorts(x)
		p.s(")")
		p.filter(x.Filter)
		return
	default:
		if k := len(x.Proc.ArgTypes); x.Proc.Variadic == 0 && k < n {
			n = k
		}
		for i, a := range x.Args[:n] {
			if i > 0 {
				p.s(", ")
			}
			if x.VariadicArray && i == n-1 {
				p.s("VARIADIC ")
			}
			p.expr(a, true)
		}
	}
	if len(x.ArgSorts) > 0 {
		p.s(" ORDER BY ")
		p.aggSorts(x)
	}
	p.s(")")
	p.filter(x.Filter)
}

func (p *printer) aggSorts(x *expr.Agg) {
	for i, o := range x.ArgSorts {
		if i > 0 {
			p.s(", ")
		}
		p.sortExpr(x.Args[o.Arg])
		if o.Desc {
			p.s(" DESC")
		}
		if o.NullsFirst != o.Desc {
			if o.NullsFirst {
				p.s(" NULLS FIRST")
			} else {
				p.s(" NULLS LAST")
			}
		}
	}
}

func (p *printer) filter(e expr.Expr) {
	if e != nil {
		p.s(" FILTER (WHERE ")
		p.expr(e, false)
		p.s(")")
	}
}

func (p *printer) windowCall(x *expr.Window) {
	p.s(p.procName(x.Proc), "(")
	if x.Star {
		p.s("*")
	} else {
		p.list(x.Args)
	}
	p.s(")")
	p.filter(x.Filter)
	p.s(" OVER ")
	q := p.levels[len(p.levels)-1].q
	w := &q.Windows[x.Def]
	if w.Name != "" {
		p.s(sqltypes.QuoteIdent(w.Name))
		return
	}
	p.window(q, w)
}

func (p *printer) subLink(x *planner.SubLink) {
	body := func() {
		p.query(x.Sub, nil, false)
	}
	switch x.Kind {
	case expr.SubExists:
		p.s("(")
		p.s("EXISTS (")
		body()
		p.s(")")
		p.s(")")
	case expr.SubArray:
		p.s("ARRAY(")
		body()
		p.s(")")
	case expr.SubScalar:
		p.s("(")
		body()
		p.s(")")
	default:
		left, op := testParts(x.Test)
		p.s("(")
		if len(left) > 1 {
			p.s("(")
		}
		p.list(left)
		if len(left) > 1 {
			p.s(")")
		}
		switch {
		case x.Kind == expr.SubAny && op == "=":
			p.s(" IN (")
		case x.Kind == expr.SubAny:
			p.s(" ", op, " ANY (")
		case x.Kind == expr.SubAll:
			p.s(" ", op, " ALL (")
		default:
			p.s(" ", op, " (")
		}
		body()
		p.s(")")
		p.s(")")
	}
}

// testParts takes a SubLink's comparison apart.
func testParts(e expr.Expr) (left []expr.Expr, op string) {
	switch x := e.(type) {
	case *expr.Call:
		return x.Args[:1], x.Op
	case *expr.And:
		for _, a := range x.Args {
			l, o := testParts(a)
			left, op = append(left, l...), o
		}
	case *expr.Or:
		for _, a := range x.Args {
			l, o := testParts(a)
			left, op = append(left, l...), o
		}
	case *expr.RowCompare:
		return x.Left, map[byte]string{'<': "<", 'l': "<=", '>': ">", 'g': ">="}[x.Op]
	}
	return left, op
}
