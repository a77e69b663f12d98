package exec

import (
	"context"

	"ostraka/engine"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// NewWriteTarget prepares a table for writing through a transaction directly:
// the expressions and predicates of its indexes are compiled.
func NewWriteTarget(rt *Runtime, txn engine.Txn, t *planner.Target, env *sqltypes.Env) (*engine.WriteTarget, error) {
	x := newExecution(context.Background(), rt, &planner.Plan{}, Args{Txn: txn, Env: env})
	w, err := x.newTableWriter(t)
	if err != nil {
		return nil, err
	}
	return &w.wt, nil
}
