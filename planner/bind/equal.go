package bind

import (
	"fmt"
	"reflect"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// Equal compares bound expressions as PostgreSQL's equal() does: structurally,
// but without regard to how a coercion was written.
func Equal(a, b expr.Expr) bool { return equalExpr(a, b) }

func equalExpr(a, b expr.Expr) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	switch x := a.(type) {
	case *planner.Var:
		y := b.(*planner.Var)
		return x.Rel == y.Rel && x.Col == y.Col && x.Level == y.Level
	case *expr.Const:
		y := b.(*expr.Const)
		return x.Typ.OID == y.Typ.OID && x.Val == y.Val
	case *expr.Param:
		return x.N == b.(*expr.Param).N
	case *planner.SubLink:
		return reflect.DeepEqual(a, b)
	}
	if a.Type().OID != b.Type().OID || a.Type().Collation != b.Type().Collation || shallow(a) != shallow(b) {
		return false
	}
	ca, cb := children(a), children(b)
	if len(ca) != len(cb) {
		return false
	}
	for i := range ca {
		if !equalExpr(ca[i], cb[i]) {
			return false
		}
	}
	return true
}

func children(e expr.Expr) []expr.Expr {
	var out []expr.Expr
	planner.VisitChildren(e, func(x expr.Expr) { out = append(out, x) })
	return out
}

// node is what distinguishes two nodes of one kind besides type and children.
type node struct {
	proc    *sqltypes.Proc
	n, m, k int
	a, b, c bool
	s       string
}

func shallow(e expr.Expr) node {
	switch x := e.(type) {
	case *expr.Call:
		return node{proc: x.Proc, a: x.VariadicArray, n: int(x.Collation)}
	case *expr.Col:
		return node{n: x.Idx}
	case *expr.ExecParam:
		return node{n: x.ID}
	case *planner.SubCol:
		return node{n: x.N}
	case *expr.NullTest:
		return node{a: x.IsNot, b: x.Row}
	case *expr.BoolTest:
		return node{n: int(x.Value), a: x.IsNot}
	case *expr.Distinct:
		return node{proc: x.Eq.Proc, a: x.Not}
	case *expr.NullIf:
		return node{proc: x.Eq.Proc}
	case *expr.Case:
		return node{n: len(x.Whens), a: x.Arg != nil, b: x.Else != nil}
	case *expr.MinMax:
		return node{a: x.Least}
	case *expr.ArrayCtor:
		return node{n: int(x.Elem), a: x.Multi}
	case *expr.Field:
		return node{n: x.Num}
	case *expr.Subscript:
		nils := ""
		for _, l := range [][]expr.Expr{x.Lower, x.Upper} {
			for _, v := range l {
				if v == nil {
					nils += "0"
				} else {
					nils += "1"
				}
			}
		}
		return node{n: len(x.Lower), m: len(x.Upper), a: x.IsSlice, b: x.Assign != nil, s: nils}
	case *expr.ArrayOp:
		return node{proc: x.Proc, a: x.All}
	case *expr.RowCompare:
		return node{n: int(x.Op), m: len(x.Left)}
	case *expr.CoerceDomain:
		return node{s: x.Domain}
	case *expr.Agg:
		s := ""
		for _, o := range x.ArgSorts {
			s += itoa(o.Arg)
			if o.Desc {
				s += "d"
			}
			if o.NullsFirst {
				s += "f"
			}
			s += ","
		}
		return node{proc: x.Proc, n: len(x.Args), m: len(x.Direct), k: x.Level, a: x.Distinct, b: x.Star, c: x.Filter != nil, s: s}
	case *expr.Window:
		return node{proc: x.Proc, n: x.Def, a: x.Star, b: x.Filter != nil}
	case *expr.Grouping:
		if len(x.Cols) == 0 { // not resolved yet: only the same one is equal
			return node{s: fmt.Sprintf("%p", x)}
		}
		s := ""
		for _, c := range x.Cols {
			s += itoa(c) + ","
		}
		return node{s: s, n: x.Level}
	}
	return node{}
}
