package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// quickCall is a plan's only call made ready, reused by one execution at a time
// (planner.CallPlan.Prepared keeps the idle ones).
type quickCall struct {
	params expr.Params
	args   []*expr.Program
	inv    sqltypes.Call
	buf    []sqltypes.Datum
}

// QuickCall answers a plan that is one call by the function's short way, without an
// execution or a snapshot. done is false when it must be started; nothing has
// been emitted then.
func QuickCall(plan *planner.Plan, env *sqltypes.Env, args []sqltypes.Datum, emit func(row []sqltypes.Datum) error) (done bool, err error) {
	cp := plan.Call
	q, _ := cp.Prepared.Get().(*quickCall)
	if q == nil {
		if q, err = newQuickCall(plan); err != nil {
			return false, err
		}
	}
	q.params.Bind, q.inv.Env = args, env
	null := false
	for i, a := range q.args {
		if q.buf[i], err = a.Row(nil, &q.params, env); err != nil {
			return false, err
		}
		null = null || q.buf[i].Null
	}
	if !null || !cp.Call.Proc.Strict {
		done, err = cp.Call.Proc.Quick(&q.inv, q.buf, emit)
	}
	q.params.Bind, q.inv.Env = nil, nil
	clear(q.buf)
	cp.Prepared.Put(q)
	return done, err
}

func newQuickCall(plan *planner.Plan) (*quickCall, error) {
	c := plan.Call.Call
	x := Execution{plan: plan, types: plan.Catalog.Type}
	args, err := x.compileAll(c.Args)
	if err != nil {
		return nil, err
	}
	types := make([]sqltypes.ColumnType, len(c.Args))
	for i, a := range c.Args {
		types[i] = a.Type()
	}
	return &quickCall{args: args, buf: make([]sqltypes.Datum, len(args)),
		inv: sqltypes.Call{Proc: c.Proc, ArgTypes: types, RetType: c.Typ, Collation: c.Collation, VariadicArray: c.VariadicArray}}, nil
}
