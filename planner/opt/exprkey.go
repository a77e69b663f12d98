package opt

import (
	"fmt"
	"strconv"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// exprKey is equal for two expressions exactly when they are the same
// expression over the same columns.
func exprKey(e expr.Expr) string {
	return string(appendKey(make([]byte, 0, 48), e))
}

func keyInt(b []byte, tag byte, v int64) []byte {
	return strconv.AppendInt(append(b, tag), v, 36)
}

func keyType(b []byte, t sqltypes.ColumnType) []byte {
	b = keyInt(b, ':', int64(t.OID))
	if t.TypMod > 0 {
		b = keyInt(b, '/', int64(t.TypMod))
	}
	return b
}

func keyBool(b []byte, v bool) []byte {
	if v {
		return append(b, '+')
	}
	return append(b, '-')
}

// appendKey appends a node's tag, its own attributes and its children.
func appendKey(b []byte, e expr.Expr) []byte {
	switch n := e.(type) {
	case nil:
		return append(b, '_')
	case *planner.Var:
		return keyInt(keyInt(keyInt(b, 'v', int64(n.Rel)), '.', int64(n.Col)), '^', int64(n.Level))
	case *expr.Const:
		b = keyType(append(b, 'c'), n.Typ)
		if n.Val.Null {
			return append(b, 'N')
		}
		b = keyInt(keyInt(b, '=', n.Val.I), '~', int64(n.Val.Aux))
		return append(strconv.AppendQuote(b, n.Val.S), ';')
	case *expr.Col:
		return keyInt(b, '#', int64(n.Idx))
	case *expr.Param:
		return keyInt(b, '$', int64(n.N))
	case *expr.ExecParam:
		return keyInt(b, '@', int64(n.ID))
	case *planner.SubCol:
		return keyInt(b, '%', int64(n.N))
	case *expr.CaseValue:
		return append(b, 'V')
	case *expr.Call:
		b = keyType(keyInt(b, 'f', int64(n.Proc.OID)), n.Typ)
		b = keyInt(b, 'l', int64(n.Collation))
		b = keyBool(b, n.VariadicArray)
	case *expr.And:
		b = append(b, '&')
	case *expr.Or:
		b = append(b, '|')
	case *expr.Not:
		b = append(b, '!')
	case *expr.NullTest:
		b = keyBool(keyBool(append(b, 'n'), n.IsNot), n.Row)
	case *expr.BoolTest:
		b = keyBool(keyInt(b, 't', int64(n.Value)), n.IsNot)
	case *expr.Distinct:
		b = keyBool(keyInt(b, 'd', int64(n.Eq.Proc.OID)), n.Not)
	case *expr.NullIf:
		b = keyInt(b, 'i', int64(n.Eq.Proc.OID))
	case *expr.Case:
		b = append(b, 'C', '(')
		b = appendKey(b, n.Arg)
		for _, w := range n.Whens {
			b = appendKey(append(b, ','), w.Cond)
			b = appendKey(append(b, ','), w.Result)
		}
		return append(appendKey(append(b, ','), n.Else), ')')
	case *expr.Coalesce:
		b = append(b, 'o')
	case *expr.MinMax:
		b = keyBool(append(b, 'm'), n.Least)
	case *expr.ArrayCtor:
		b = keyBool(keyType(append(b, 'A'), n.Typ), n.Multi)
	case *expr.RowCtor:
		b = keyType(append(b, 'R'), n.Typ)
	case *expr.Field:
		b = keyInt(b, 'F', int64(n.Num))
	case *expr.Subscript:
		b = append(keyBool(append(b, 'S'), n.IsSlice), '(')
		b = appendKey(b, n.Arg)
		for _, l := range [][]expr.Expr{n.Lower, n.Upper, {n.Assign}} {
			b = append(b, '[')
			for _, x := range l {
				b = appendKey(append(b, ','), x)
			}
		}
		return append(b, ')')
	case *expr.ArrayOp:
		b = keyBool(keyInt(b, 'a', int64(n.Proc.OID)), n.All)
	case *expr.RowCompare:
		b = append(b, 'r', n.Op)
	case *expr.Relabel:
		b = keyType(append(b, 'L'), n.Typ)
	case *expr.CoerceViaIO:
		b = keyType(append(b, 'I'), n.Typ)
	case *expr.ArrayCoerce:
		b = keyType(append(b, 'Y'), n.Typ)
	case *expr.CoerceDomain:
		b = keyType(append(b, 'D'), n.Typ)
	case *expr.Agg:
		b = keyBool(keyBool(keyInt(b, 'G', int64(n.Proc.OID)), n.Distinct), n.Star)
		for _, s := range n.ArgSorts {
			b = keyBool(keyBool(keyInt(b, 's', int64(s.Arg)), s.Desc), s.NullsFirst)
		}
		b = append(b, '{')
		b = append(appendKey(b, n.Filter), '|')
		for _, x := range n.Direct {
			b = append(appendKey(b, x), ',')
		}
		b = append(b, '|')
		for _, x := range n.Args {
			b = append(appendKey(b, x), ',')
		}
		return append(b, '}')
	case *expr.Grouping:
		b = append(b, 'g')
		for _, c := range n.Cols {
			b = keyInt(b, ',', int64(c))
		}
		return append(b, ';')
	case *expr.Window:
		b = keyBool(keyInt(keyInt(b, 'W', int64(n.Proc.OID)), '.', int64(n.Def)), n.Star)
	default:
		// SubPlan, SubLink and what may come: identity.
		return fmt.Appendf(b, "p%p", e)
	}
	b = append(b, '(')
	planner.VisitChildren(e, func(x expr.Expr) { b = append(appendKey(b, x), ',') })
	return append(b, ')')
}

func sameExpr(a, b expr.Expr) bool { return a == b || exprKey(a) == exprKey(b) }
