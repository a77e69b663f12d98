package explain

import (
	"context"
	"strconv"
	"strings"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// QuoteIdent quotes an identifier if PostgreSQL would.
func QuoteIdent(s string) string { return sqltypes.QuoteIdent(s) }

// deparser turns bound expressions into SQL text as ruleutils.c does without
// pretty-printing: every operator in parentheses, implicit casts shown below
// operators and functions.
type deparser struct {
	name  func(*planner.Var) string // before planning; nil afterwards
	types func(sqltypes.OID) string // names of user types
	typ   func(sqltypes.OID) *sqltypes.Type
	// cols overrides the text of columns (Output of VERBOSE); nil: their names.
	cols func(*expr.Col) string
}

var textEnv = &sqltypes.Env{Ctx: context.Background(), Formats: sqltypes.DefaultFormats()}

// Text is the SQL text of an expression; name gives the text of columns that are
// still Vars (nil: none are).
func Text(e expr.Expr, name func(*planner.Var) string) string {
	d := &deparser{name: name}
	return d.text(e, false)
}

// ColumnText is how EXPLAIN refers to a column of a lower node: a plain column by
// its name, anything else by its expression in parentheses.
func ColumnText(e expr.Expr, name func(*planner.Var) string) string {
	if v, ok := e.(*planner.Var); ok {
		return name(v)
	}
	t := Text(e, name)
	if strings.HasPrefix(t, "(") && strings.HasSuffix(t, ")") && closesAtEnd(t) {
		return t
	}
	return "(" + t + ")"
}

// closesAtEnd: the first parenthesis is closed by the last character.
func closesAtEnd(t string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(t); i++ {
		switch t[i] {
		case '\'':
			quoted = !quoted
		case '(':
			if !quoted {
				depth++
			}
		case ')':
			if !quoted {
				if depth--; depth == 0 {
					return i == len(t)-1
				}
			}
		}
	}
	return false
}

func (d *deparser) typeName(t sqltypes.ColumnType) string {
	if d.types != nil && sqltypes.TypeByOID(t.OID) == nil {
		return d.types(t.OID)
	}
	return sqltypes.FormatType(t.OID, t.TypMod)
}

func (d *deparser) list(es []expr.Expr, implicit bool) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = d.text(e, implicit)
	}
	return strings.Join(out, ", ")
}

func (d *deparser) joined(es []expr.Expr, word string) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = d.text(e, false)
	}
	return "(" + strings.Join(out, " "+word+" ") + ")"
}

// text deparses e; implicit: show implicit casts.
func (d *deparser) text(e expr.Expr, implicit bool) string {
	switch n := e.(type) {
	case nil:
		return ""
	case *expr.Const:
		return d.constant(n)
	case *expr.Col:
		if d.cols != nil {
			return d.cols(n)
		}
		if n.Name == "" {
			return "column" + strconv.Itoa(n.Idx+1)
		}
		return n.Name
	case *planner.Var:
		if d.name != nil {
			return d.name(n)
		}
		return n.Name
	case *planner.SubCol:
		return "$col" + strconv.Itoa(n.N)
	case *expr.Param:
		return "$" + strconv.Itoa(n.N)
	case *expr.ExecParam:
		if n.Name != "" {
			return n.Name
		}
		return "$" + strconv.Itoa(n.ID)
	case *expr.Call:
		return d.call(n, implicit)
	case *expr.And:
		return d.joined(n.Args, "AND")
	case *expr.Or:
		return d.joined(n.Args, "OR")
	case *expr.Not:
		return "(NOT " + d.text(n.Arg, false) + ")"
	case *expr.NullTest:
		return "(" + d.text(n.Arg, true) + " IS " + not(n.IsNot) + "NULL)"
	case *expr.BoolTest:
		word := map[int8]string{1: "TRUE", 0: "FALSE", -1: "UNKNOWN"}[n.Value]
		return "(" + d.text(n.Arg, false) + " IS " + not(n.IsNot) + word + ")"
	case *expr.Distinct:
		if len(n.Eq.Args) == 2 {
			return "(" + d.text(n.Eq.Args[0], true) + " IS " + not(n.Not) + "DISTINCT FROM " + d.text(n.Eq.Args[1], true) + ")"
		}
	case *expr.NullIf:
		return "NULLIF(" + d.list(n.Eq.Args, true) + ")"
	case *expr.Case:
		return d.caseExpr(n)
	case *expr.CaseValue:
		return "CASE_TEST_EXPR"
	case *expr.Coalesce:
		return "COALESCE(" + d.list(n.Args, true) + ")"
	case *expr.MinMax:
		if n.Least {
			return "LEAST(" + d.list(n.Args, true) + ")"
		}
		return "GREATEST(" + d.list(n.Args, true) + ")"
	case *expr.ArrayCtor:
		t := "ARRAY[" + d.list(n.Elems, true) + "]"
		if len(n.Elems) == 0 {
			t += "::" + d.typeName(n.Typ)
		}
		return t
	case *expr.RowCtor:
		return "ROW(" + d.list(n.Fields, true) + ")"
	case *expr.Field:
		return "(" + d.text(n.Arg, false) + ").f" + strconv.Itoa(n.Num+1)
	case *expr.Subscript:
		return d.subscript(n)
	case *expr.ArrayOp:
		word := "ANY"
		if n.All {
			word = "ALL"
		}
		return "(" + d.text(n.Left, true) + " " + n.Op + " " + word + " (" + d.text(n.Array, true) + "))"
	case *expr.RowCompare:
		op := map[byte]string{'<': "<", '>': ">", 'l': "<=", 'g': ">="}[n.Op]
		return "(ROW(" + d.list(n.Left, true) + ") " + op + " ROW(" + d.list(n.Right, true) + "))"
	case *expr.Relabel:
		return d.cast(n.Arg, n.Typ, n.Coercion, implicit)
	case *expr.CoerceViaIO:
		return d.cast(n.Arg, n.Typ, n.Coercion, implicit)
	case *expr.ArrayCoerce:
		return d.cast(n.Arg, n.Typ, n.Coercion, implicit)
	case *expr.CoerceDomain:
		return d.cast(n.Arg, n.Typ, 'e', implicit)
	case *expr.SubPlan:
		return d.subPlan(n)
	case *planner.SubLink:
		return "(SubPlan)"
	case *expr.Agg:
		return d.aggregate(n)
	case *expr.Grouping:
		out := make([]string, len(n.Cols))
		for i, c := range n.Cols {
			out[i] = strconv.Itoa(c)
		}
		return "GROUPING(" + strings.Join(out, ", ") + ")"
	case *expr.Window:
		args := d.list(n.Args, true)
		if n.Star {
			args = "*"
		}
		t := QuoteIdent(n.Proc.Name) + "(" + args + ")"
		if n.Filter != nil {
			t += " FILTER (WHERE " + d.text(n.Filter, false) + ")"
		}
		return t + " OVER (?)"
	}
	return "?"
}

func not(is bool) string {
	if is {
		return "NOT "
	}
	return ""
}

func (d *deparser) call(c *expr.Call, implicit bool) string {
	if c.Coercion != 0 && len(c.Args) > 0 {
		if c.Coercion != 'e' && !implicit {
			return d.text(c.Args[0], false)
		}
		return d.castText(c.Args[0], c.Typ)
	}
	if c.Op != "" {
		if len(c.Args) == 1 {
			return "(" + c.Op + " " + d.text(c.Args[0], true) + ")"
		}
		if len(c.Args) == 2 {
			return "(" + d.text(c.Args[0], true) + " " + c.Op + " " + d.text(c.Args[1], true) + ")"
		}
	}
	if (c.Proc.Name == "current_user" || c.Proc.Name == "session_user") && len(c.Args) == 0 {
		return strings.ToUpper(c.Proc.Name)
	}
	if c.Proc.Name == "extract" && len(c.Args) == 2 {
		if k, ok := c.Args[0].(*expr.Const); ok && !k.Val.Null {
			return "EXTRACT(" + k.Val.S + " FROM " + d.text(c.Args[1], true) + ")"
		}
	}
	args := d.list(c.Args, true)
	if c.VariadicArray && len(c.Args) > 0 {
		n := len(c.Args) - 1
		args = d.list(c.Args[:n], true)
		if n > 0 {
			args += ", "
		}
		args += "VARIADIC " + d.text(c.Args[n], true)
	}
	return QuoteIdent(c.Proc.Name) + "(" + args + ")"
}

func (d *deparser) cast(arg expr.Expr, t sqltypes.ColumnType, coercion byte, implicit bool) string {
	if coercion != 'e' && !implicit {
		return d.text(arg, implicit)
	}
	return d.castText(arg, t)
}

func (d *deparser) castText(arg expr.Expr, t sqltypes.ColumnType) string {
	if k, ok := arg.(*expr.Const); ok {
		c := *k
		c.Typ = t
		if !k.Val.Null {
			return "(" + d.text(arg, false) + ")::" + d.typeName(t)
		}
		return "NULL::" + d.typeName(t)
	}
	in := d.text(arg, false)
	if !(strings.HasPrefix(in, "(") && closesAtEnd(in)) {
		in = "(" + in + ")"
	}
	return in + "::" + d.typeName(t)
}

// constant follows get_const_expr: plain numbers and booleans bare, everything
// else quoted and labelled with its type.
func (d *deparser) constant(c *expr.Const) string {
	if c.Val.Null {
		return "NULL::" + d.typeName(c.Typ)
	}
	var t *sqltypes.Type
	if t = sqltypes.TypeByOID(c.Typ.OID); t == nil && d.typ != nil {
		t = d.typ(c.Typ.OID)
	}
	if t == nil || t.Out == nil {
		return "'?'::" + d.typeName(c.Typ)
	}
	s := string(t.Out(textEnv, nil, c.Val))
	switch c.Typ.OID {
	case 16:
		if c.Val.Bool() {
			return "true"
		}
		return "false"
	case 23: // integers need no label, unless negative
		if s[0] == '-' {
			return "'" + s + "'::integer"
		}
		return s
	case 1700:
		if strings.ContainsAny(s, ".") && strings.Trim(s, "0123456789.") == "" {
			return s
		}
	case 705:
		return quote(s)
	}
	ct := c.Typ
	if ct.OID == 1042 || ct.OID == 1043 || ct.OID == 1560 || ct.OID == 1562 || ct.OID == 1700 {
		if ct.OID == 1042 && ct.TypMod < 0 {
			return quote(s) + "::bpchar"
		}
	}
	return quote(s) + "::" + d.typeName(ct)
}

func quote(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, "\\") {
		return "E" + strings.ReplaceAll(q, "\\", "\\\\")
	}
	return q
}

func (d *deparser) caseExpr(n *expr.Case) string {
	var b strings.Builder
	b.WriteString("CASE")
	if n.Arg != nil {
		b.WriteString(" " + d.text(n.Arg, true))
	}
	for _, w := range n.Whens {
		cond := w.Cond
		if c, ok := cond.(*expr.Call); ok && n.Arg != nil && len(c.Args) == 2 && isCaseValue(c.Args[0]) {
			cond = c.Args[1]
		}
		b.WriteString(" WHEN " + d.text(cond, false) + " THEN " + d.text(w.Result, true))
	}
	if n.Else != nil {
		b.WriteString(" ELSE " + d.text(n.Else, true))
	} else {
		b.WriteString(" ELSE NULL::" + d.typeName(n.Typ))
	}
	b.WriteString(" END")
	return b.String()
}

func isCaseValue(e expr.Expr) bool {
	for {
		switch n := e.(type) {
		case *expr.CaseValue:
			return true
		case *expr.Relabel:
			e = n.Arg
		default:
			return false
		}
	}
}

func (d *deparser) subscript(n *expr.Subscript) string {
	t := d.text(n.Arg, false)
	if _, ok := n.Arg.(*expr.Col); !ok {
		t = "(" + t + ")"
	}
	for i := range n.Upper {
		t += "["
		if n.IsSlice {
			if i < len(n.Lower) && n.Lower[i] != nil {
				t += d.text(n.Lower[i], false)
			}
			t += ":"
		}
		if n.Upper[i] != nil {
			t += d.text(n.Upper[i], false)
		}
		t += "]"
	}
	return t
}

func (d *deparser) subPlan(n *expr.SubPlan) string {
	if sp, ok := n.Plan.(*planner.SubPlan); ok && sp.Hashed {
		return "(hashed " + n.Name + ")"
	}
	return "(" + n.Name + ")"
}

func (d *deparser) aggregate(a *expr.Agg) string {
	var b strings.Builder
	b.WriteString(QuoteIdent(a.Proc.Name) + "(")
	ordered := a.Proc.Agg != nil && a.Proc.Agg.OrderedSet
	if a.Distinct {
		b.WriteString("DISTINCT ")
	}
	switch {
	case ordered:
		b.WriteString(d.list(a.Direct, true))
	case a.Star:
		b.WriteString("*")
	default:
		b.WriteString(d.list(a.Args, true))
	}
	if len(a.ArgSorts) > 0 {
		keys := make([]string, len(a.ArgSorts))
		for i, s := range a.ArgSorts {
			if s.Arg < len(a.Args) {
				keys[i] = d.text(a.Args[s.Arg], false) + direction(s.Desc, s.NullsFirst)
			}
		}
		if ordered {
			b.WriteString(") WITHIN GROUP (ORDER BY " + strings.Join(keys, ", "))
		} else {
			b.WriteString(" ORDER BY " + strings.Join(keys, ", "))
		}
	}
	b.WriteString(")")
	if a.Filter != nil {
		b.WriteString(" FILTER (WHERE " + d.text(a.Filter, false) + ")")
	}
	return b.String()
}

// direction is the suffix of a sort key: nothing for the defaults.
func direction(desc, nullsFirst bool) string {
	s := ""
	if desc {
		s = " DESC"
	}
	if nullsFirst != desc {
		if nullsFirst {
			s += " NULLS FIRST"
		} else {
			s += " NULLS LAST"
		}
	}
	return s
}
