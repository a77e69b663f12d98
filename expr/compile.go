package expr

import (
	"fmt"

	"ostraka/sqltypes"
)

type compiler struct {
	types TypeFinder
}

func (c *compiler) list(es []Expr) ([]node, error) {
	out := make([]node, len(es))
	for i, e := range es {
		if e == nil {
			continue
		}
		n, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func (c *compiler) opt(e Expr) (node, error) {
	if e == nil {
		return nil, nil
	}
	return c.compile(e)
}

func (c *compiler) kind(e Expr) sqltypes.Kind { return c.types.KindOf(e.Type().OID) }

// compile turns one node and what is below it into its runnable form.
func (c *compiler) compile(e Expr) (node, error) {
	switch n := e.(type) {
	case *Const:
		return &constNode{val: n.Val, kind: c.kind(e)}, nil
	case *Col:
		return &colNode{idx: n.Idx, kind: c.kind(e)}, nil
	case *Param:
		return &paramNode{n: n.N - 1, kind: c.kind(e)}, nil
	case *ExecParam:
		return &execParamNode{id: n.ID, kind: c.kind(e)}, nil
	case *CaseValue:
		return &caseValueNode{}, nil
	case *Call:
		return c.call(n)
	case *And:
		args, err := c.list(n.Args)
		return &andNode{args: args}, err
	case *Or:
		args, err := c.list(n.Args)
		return &orNode{args: args}, err
	case *Not:
		arg, err := c.compile(n.Arg)
		return &notNode{arg: arg}, err
	case *NullTest:
		return c.nullTest(n)
	case *BoolTest:
		arg, err := c.compile(n.Arg)
		return &boolTestNode{arg: arg, want: n.Value, not: n.IsNot}, err
	case *Distinct:
		return c.distinct(n)
	case *NullIf:
		return c.nullIf(n)
	case *Case:
		return c.caseExpr(n)
	case *Coalesce:
		args, err := c.list(n.Args)
		return &coalesceNode{args: args, kind: c.kind(e)}, err
	case *MinMax:
		return c.minMax(n)
	case *ArrayCtor:
		return c.arrayCtor(n)
	case *RowCtor:
		return c.rowCtor(n)
	case *Field:
		return c.field(n)
	case *Subscript:
		return c.subscript(n)
	case *ArrayOp:
		return c.arrayOp(n)
	case *RowCompare:
		return c.rowCompare(n)
	case *Relabel:
		return c.relabel(n)
	case *CoerceViaIO:
		return c.viaIO(n)
	case *ArrayCoerce:
		return c.arrayCoerce(n)
	case *CoerceDomain:
		return c.coerceDomain(n)
	case *SubPlan:
		return c.subPlan(n)
	}
	return nil, fmt.Errorf("expr: cannot run a %T", e)
}
