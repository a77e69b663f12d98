package exec

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// TriggerCall is one firing of a trigger. Rows have one Datum per attribute.
type TriggerCall struct {
	Rel     *catalog.Relation
	Trigger *catalog.Trigger
	Op      byte // i, u, d, t (TRUNCATE)
	Old     []sqltypes.Datum
	New     []sqltypes.Datum
	// Changed are the rows of the statement, for transition tables; nil: none are kept.
	Changed *Transition
}

// Transition are the rows that a statement changed, before and after.
type Transition struct{ Old, New [][]sqltypes.Datum }

// TriggerRunner runs trigger functions: the session, found through
// sqltypes.Env.Session.Ext().
type TriggerRunner interface {
	// FireTrigger returns the row that a BEFORE ROW trigger gave; nil: the operation
	// is left out for this row. Triggers whose WHEN is not true return New (or Old).
	FireTrigger(c *TriggerCall) ([]sqltypes.Datum, error)
	// ReplicationRole is session_replication_role.
	ReplicationRole() string
}

// triggers are those of a table that a statement may fire.
type triggers struct {
	run     TriggerRunner
	list    []*catalog.Trigger
	changed map[byte]*Transition // by operation
	// set are the attributes that UPDATE assigns; nil: not known, all count.
	set []bool
}

// FiresNow reports whether a trigger is enabled under a session_replication_role.
func FiresNow(t *catalog.Trigger, role string) bool {
	switch t.Enabled {
	case 'D':
		return false
	case 'R':
		return role == "replica"
	case 'A':
		return true
	}
	return role != "replica"
}

func (x *Execution) newTriggers(rel *catalog.Relation) (*triggers, error) {
	if len(rel.Triggers) == 0 {
		return nil, nil
	}
	if x.env == nil || x.env.Session == nil {
		return nil, pgerror.NotSupported("firing triggers of relation %q here", rel.Name)
	}
	run, ok := x.env.Session.Ext().(TriggerRunner)
	if !ok {
		return nil, pgerror.NotSupported("firing triggers of relation %q here", rel.Name)
	}
	t := &triggers{run: run}
	role := run.ReplicationRole()
	for _, tr := range rel.Triggers {
		if FiresNow(tr, role) {
			t.list = append(t.list, tr)
		}
	}
	if len(t.list) == 0 {
		return nil, nil
	}
	return t, nil
}

func onEvent(t *catalog.Trigger, op byte) bool {
	switch op {
	case 'i':
		return t.Insert
	case 'u':
		return t.Update
	case 'd':
		return t.Delete
	}
	return t.Truncate
}

// fires reports whether a trigger belongs to an event.
func (ts *triggers) fires(t *catalog.Trigger, timing byte, row bool, op byte) bool {
	if t.Timing != timing || t.Row != row || !onEvent(t, op) {
		return false
	}
	if op != 'u' || len(t.Columns) == 0 || ts.set == nil {
		return true
	}
	return slices.ContainsFunc(t.Columns, func(a int16) bool { return int(a) <= len(ts.set) && ts.set[a-1] })
}

// assigns tells which attributes an UPDATE sets.
func (w *tableWriter) assigns(set []expr.Expr) {
	if w.trig == nil {
		return
	}
	if w.trig.set == nil {
		w.trig.set = make([]bool, len(w.rel.Columns))
	}
	for i, e := range set {
		if e != nil {
			w.trig.set[i] = true
		}
	}
}

// transition keeps the rows of an operation when a trigger wants to see them.
func (ts *triggers) transition(op byte) *Transition {
	if c, ok := ts.changed[op]; ok {
		return c
	}
	var c *Transition
	for _, t := range ts.list {
		if t.Timing == 'a' && onEvent(t, op) && (t.OldTable != "" || t.NewTable != "") {
			c = &Transition{}
		}
	}
	if ts.changed == nil {
		ts.changed = map[byte]*Transition{}
	}
	ts.changed[op] = c
	return c
}

// before fires BEFORE ROW triggers. row is the new row, or the old one of DELETE; it
// is changed in place. false: leave the row alone.
func (w *tableWriter) before(op byte, old, row []sqltypes.Datum) (bool, error) {
	if w.trig == nil {
		return true, nil
	}
	for _, t := range w.trig.list {
		if !w.trig.fires(t, 'b', true, op) {
			continue
		}
		c := &TriggerCall{Rel: w.rel, Trigger: t, Op: op, Old: old, New: row}
		if op == 'd' {
			c.New = nil
		}
		out, err := w.trig.run.FireTrigger(c)
		if err != nil || out == nil {
			return false, err
		}
		if op != 'd' {
			copy(row, out)
		}
	}
	return true, nil
}

// after queues AFTER ROW triggers and keeps what transition tables show.
func (w *tableWriter) after(op byte, old, row []sqltypes.Datum) {
	if w.named != nil && w.named.trig != nil {
		w.named.trig.seen(op, old, row, w.toNamed)
	}
	ts := w.trig
	if ts == nil {
		return
	}
	var o, n []sqltypes.Datum
	kept := false
	keep := func() {
		if !kept {
			o, n, kept = cloneRow(old), cloneRow(row), true
		}
	}
	c := ts.transition(op)
	if c != nil {
		keep()
		if o != nil {
			c.Old = append(c.Old, o)
		}
		if n != nil {
			c.New = append(c.New, n)
		}
	}
	for _, t := range ts.list {
		if !ts.fires(t, 'a', true, op) {
			continue
		}
		keep()
		w.x.fk.add(w.x, fkEvent{trigger: &TriggerCall{Rel: w.rel, Trigger: t, Op: op, Old: o, New: n, Changed: c}})
	}
}

// seen keeps a row of another table of the tree for the transition tables of the
// statement's target.
func (ts *triggers) seen(op byte, old, row []sqltypes.Datum, shape *reshape) {
	c := ts.transition(op)
	if c == nil {
		return
	}
	if old != nil {
		c.Old = append(c.Old, cloneRow(shape.row(old)))
	}
	if row != nil {
		c.New = append(c.New, cloneRow(shape.row(row)))
	}
}

func cloneRow(row []sqltypes.Datum) []sqltypes.Datum {
	if row == nil {
		return nil
	}
	return slices.Clone(row)
}

// statement fires (BEFORE) or queues (AFTER) the triggers FOR EACH STATEMENT.
func (w *tableWriter) statement(timing byte, ops string) error {
	if w.trig == nil {
		return nil
	}
	order := "iud"
	if timing == 'a' {
		order = "dui"
	}
	for i := range len(order) {
		op := order[i]
		if strings.IndexByte(ops, op) < 0 {
			continue
		}
		for _, t := range w.trig.list {
			if !w.trig.fires(t, timing, false, op) {
				continue
			}
			c := &TriggerCall{Rel: w.rel, Trigger: t, Op: op, Changed: w.trig.transition(op)}
			if timing == 'a' {
				w.x.fk.add(w.x, fkEvent{trigger: c})
				continue
			}
			if _, err := w.trig.run.FireTrigger(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// fire runs a queued trigger.
func (x *Execution) fire(c *TriggerCall) error {
	run, ok := x.env.Session.Ext().(TriggerRunner)
	if !ok {
		return pgerror.NotSupported("firing triggers of relation %q here", c.Rel.Name)
	}
	_, err := run.FireTrigger(c)
	return err
}
