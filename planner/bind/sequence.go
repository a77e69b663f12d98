package bind

import (
	"context"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// sequenceStates is what the engine's views and transactions tell of sequences.
type sequenceStates interface {
	SequenceState(seq *catalog.Relation) (last int64, isCalled bool, err error)
}

// sequenceRelation makes a sequence readable as the one-row table it is in PostgreSQL.
func sequenceRelation(rel *catalog.Relation) *planner.VirtualRelation {
	return &planner.VirtualRelation{Rel: rel, RowsEstimate: 1, Rows: func(_ context.Context, q planner.VirtualQuery) (sqltypes.RowSource, error) {
		v, ok := q.View.(sequenceStates)
		if !ok {
			return nil, pgerror.NotSupported("reading sequence %q here", rel.Name)
		}
		last, called, err := v.SequenceState(rel)
		return &oneRow{row: []sqltypes.Datum{sqltypes.Int(last), sqltypes.Int(0), sqltypes.Bool(called)}}, err
	}}
}

// oneRow is a RowSource of one row.
type oneRow struct {
	row  []sqltypes.Datum
	done bool
}

func (o *oneRow) Next() ([]sqltypes.Datum, bool, error) {
	if o.done {
		return nil, false, nil
	}
	o.done = true
	return o.row, true, nil
}
