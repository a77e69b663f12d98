package exec

import (
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// UPDATE, DELETE and MERGE of a tree have one operator for each table whose rows
// they meet; it shares the input and the expressions of the statement's own. Which
// table a row is of, its reference tells.

// treeChange is what the operator of one table of a tree knows of the statement's.
type treeChange struct {
	up     *changeOp
	attrs  []int16 // of the table by attribute-1 of the one named
	toRoot *reshape
}

// treeOf finds the members by storage id.
func treeOf(ms []*planner.Member) map[uint64]*planner.Member {
	if ms == nil {
		return nil
	}
	out := make(map[uint64]*planner.Member, len(ms))
	for _, m := range ms {
		out[m.Rel.StorageID] = m
	}
	return out
}

func notInTree(ref *engine.RowRef) error {
	return pgerror.New(pgerror.InternalError, "a row of storage %d is of no table of the statement", ref.StorageOf())
}

// treeOps has the operators of a tree's tables by storage id, each made for the first
// row of its table. nil: the statement is of one table.
type treeOps[T any] struct {
	members map[uint64]*planner.Member
	made    map[uint64]T
}

func newTreeOps[T any](ms []*planner.Member) *treeOps[T] {
	if ms == nil {
		return nil
	}
	return &treeOps[T]{members: treeOf(ms), made: map[uint64]T{}}
}

// of is the operator of the table that a row is of; from makes it of the operator of
// that table that does what all of them do.
func (t *treeOps[T]) of(ref *engine.RowRef, up *changeOp, from func(c *changeOp, m *planner.Member) T) (T, error) {
	id := ref.StorageOf()
	if op, ok := t.made[id]; ok {
		return op, nil
	}
	var none T
	m := t.members[id]
	if m == nil {
		return none, notInTree(ref)
	}
	c, err := up.child(m)
	if err != nil {
		return none, err
	}
	op := from(c, m)
	t.made[id] = op
	return op, nil
}

// child makes the operator of one member.
func (o *changeOp) child(m *planner.Member) (*changeOp, error) {
	w, err := o.w.writerBelow(m.Rel, m.Attrs)
	if err != nil {
		return nil, err
	}
	mo := &modifyOp{x: o.x, w: w, in: o.in, root: o.root}
	c, err := o.x.newChange(mo, 0, m.OldCols, nil)
	if err != nil {
		return nil, err
	}
	c.slot, c.recheck = o.slot, o.recheck
	c.tree = &treeChange{up: o, attrs: m.Attrs, toRoot: newReshape(m.Attrs, o.w.rel, m.Rel, true)}
	return c, nil
}

// fits reports whether a new row may stay in its table.
func (o *changeOp) fits(row []sqltypes.Datum) (bool, error) {
	if o.w.rel.Bound == nil {
		return true, nil
	}
	return o.w.bounds().fits(o.w.rel, row)
}

// move puts the new row into another partition than the old one's. Triggers and
// foreign keys see a DELETE and an INSERT, as in PostgreSQL.
func (o *changeOp) move(ref engine.RowRef, old, row, in []sqltypes.Datum) error {
	top := o.tree.up
	if top.w.rel.Partitioning == nil {
		return o.w.outOfBounds(row)
	}
	if top.mover == nil {
		ins, err := o.x.inserter(top.w.t)
		if err != nil {
			return err
		}
		ins.checks = planner.PolicyUpdate
		top.mover = ins
	}
	if ok, err := o.w.before('d', old, nil); err != nil || !ok {
		return err
	}
	if err := o.w.leave(ref, old, row); err != nil {
		return err
	}
	copy(top.mover.row, o.tree.toRoot.row(row))
	if err := top.mover.insertRow(); err != nil {
		return err
	}
	o.count()
	if len(top.returning) == 0 {
		return nil
	}
	to := top.mover.last
	if top.tableOID >= 0 {
		in[top.tableOID] = sqltypes.Int(int64(to.w.rel.OID))
	}
	return top.yieldRow(to.routed.toRoot.row(to.row), in)
}

// outOfBounds is the error for a row that its partition may not have.
func (w *tableWriter) outOfBounds(row []sqltypes.Datum) error {
	return pgerror.New(pgerror.CheckViolation, "new row for relation \"%s\" violates partition constraint", w.rel.Name).
		WithDetail("%s", w.failingRow(row)).WithTable(w.schema(), w.rel.Name)
}

// bounds is the router that tests rows against the table's own bounds.
func (w *tableWriter) bounds() *router {
	if w.router == nil {
		w.router = w.x.newRouter()
	}
	return w.router
}

// writerBelow makes the writer of another table of the tree of w's.
func (w *tableWriter) writerBelow(rel *catalog.Relation, attrs []int16) (*tableWriter, error) {
	t, err := w.x.targetOf(rel)
	if err != nil {
		return nil, err
	}
	if w.t.HideRows {
		c := *t
		c.HideRows = true
		t = &c
	}
	child, err := w.x.newTableWriter(t)
	if err != nil {
		return nil, err
	}
	child.routed, child.named, child.toNamed = true, w, newReshape(attrs, w.rel, rel, true)
	return child, nil
}
