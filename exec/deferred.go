package exec

import (
	"context"

	"ostraka/engine"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// Deferred is a transaction's queue of constraint checks that wait for COMMIT.
// It belongs to one session. The session calls Run before it commits, Truncate
// after a rollback to a savepoint, and Set for SET CONSTRAINTS.
type Deferred struct {
	events []fkEvent
	all    *bool // SET CONSTRAINTS ALL
	modes  map[sqltypes.OID]bool
}

// isDeferred tells the current mode of an event's constraint.
func (d *Deferred) isDeferred(e *fkEvent) bool {
	oid, deferrable, initially := e.constraint()
	if !deferrable {
		return false
	}
	if m, ok := d.modes[oid]; ok {
		return m
	}
	if d.all != nil {
		return *d.all
	}
	return initially
}

// Len is the number of waiting checks; it serves as a mark for Truncate.
func (d *Deferred) Len() int { return len(d.events) }

// Truncate forgets the checks queued after Len was n (ROLLBACK TO SAVEPOINT).
func (d *Deferred) Truncate(n int) {
	if n < len(d.events) {
		d.events = d.events[:n]
	}
}

// SetAll is SET CONSTRAINTS ALL; after setting IMMEDIATE the caller runs the queue.
func (d *Deferred) SetAll(deferred bool) {
	d.all, d.modes = &deferred, nil
}

// Set is SET CONSTRAINTS name for the constraint with that OID.
func (d *Deferred) Set(constraint sqltypes.OID, deferred bool) {
	if d.modes == nil {
		d.modes = map[sqltypes.OID]bool{}
	}
	d.modes[constraint] = deferred
}

// Run makes the checks of the constraints that are not (or, with commit, no
// longer may be) deferred, and forgets them. On an error the transaction has failed.
func (d *Deferred) Run(ctx context.Context, rt *Runtime, txn engine.Txn, env *sqltypes.Env, commit bool) error {
	if len(d.events) == 0 {
		return nil
	}
	x := &Execution{ctx: ctx, rt: rt, plan: &planner.Plan{}, txn: txn, view: txn, env: env, args: Args{Txn: txn, Env: env, WorkMem: DefaultWorkMem, HardLimit: DefaultHardLimit}}
	x.mem.limit = DefaultHardLimit
	x.params.Runner = x
	if cat := txn.Catalog(); cat != nil {
		x.types = cat.Type
	}
	defer x.Close()
	var keep []fkEvent
	for _, e := range d.events {
		if !commit && d.isDeferred(&e) {
			keep = append(keep, e)
			continue
		}
		x.fk.events = append(x.fk.events, e)
	}
	all := d.events
	d.events = keep
	err := x.fk.run(x)
	if err != nil {
		d.events = all // a savepoint that is rolled back to leaves those before it
	}
	return err
}
