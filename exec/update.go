package exec

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// changeOp is what Update and Delete share: finding the old row and locking it.
type changeOp struct {
	*modifyOp
	slot    int
	oldCols []int
	recheck *expr.Program
	old     []sqltypes.Datum
	new     []sqltypes.Datum
	ret     []sqltypes.Datum // row and input columns, for RETURNING
	tree    *treeChange      // of a table of a tree
	mover   *insertOp        // of a statement over a partitioned table, see move
	// tableOID is the input column with the row's tableoid, -1 none.
	tableOID int
}

func (x *Execution) newChange(m *modifyOp, slot int, oldCols []int, recheck expr.Expr) (*changeOp, error) {
	n := len(m.w.rel.Columns)
	o := &changeOp{modifyOp: m, slot: m.in.slot(slot), oldCols: oldCols, tableOID: -1,
		old: make([]sqltypes.Datum, n), new: make([]sqltypes.Datum, n), ret: make([]sqltypes.Datum, n+len(m.in.kinds))}
	var err error
	o.recheck, err = x.compile(recheck)
	return o, err
}

// oldRow copies the old row out of the input row.
func (o *changeOp) oldRow(row []sqltypes.Datum) {
	for i := range o.old {
		o.old[i] = sqltypes.Null
		if i < len(o.oldCols) && o.oldCols[i] >= 0 {
			o.old[i] = row[o.oldCols[i]]
		}
	}
}

// lockOld locks the old row. When it has changed, the input row is brought up to
// date and the statement's condition evaluated again. false: leave the row alone.
func (o *changeOp) lockOld(ref *engine.RowRef, mode engine.RowLock, row []sqltypes.Datum) (bool, error) {
	outcome, err := o.w.lock(ref, mode, o.old)
	if err != nil {
		return false, err
	}
	switch outcome {
	case engine.Locked:
		return true, nil
	case engine.Changed:
		o.refresh(row)
		if o.recheck == nil {
			return true, nil
		}
		return o.recheck.True(row, &o.x.params, o.x.env)
	}
	return false, nil
}

// refresh puts the newest values of the old row into the input row.
func (o *changeOp) refresh(row []sqltypes.Datum) {
	for i, c := range o.oldCols {
		if c >= 0 && i < len(o.old) {
			row[c] = o.old[i]
		}
	}
}

// yieldRow is RETURNING over a row's attributes and the input columns.
func (o *changeOp) yieldRow(target, row []sqltypes.Datum) error {
	if o.tree != nil {
		if len(o.tree.up.returning) == 0 {
			return nil
		}
		return o.tree.up.yieldRow(o.tree.toRoot.row(target), row)
	}
	if len(o.returning) == 0 {
		return nil
	}
	copy(o.ret, target)
	copy(o.ret[len(target):], row)
	return o.yield(o.ret)
}

// updateOp is UPDATE.
type updateOp struct {
	*changeOp
	set    []*expr.Program
	p      *planner.Update
	tables *treeOps[*updateOp]
}

func (x *Execution) buildUpdate(p *planner.Update) (built, error) {
	if err := identifiable(x.view.Catalog(), p.Target.Rel, false); err != nil {
		return built{}, err
	}
	m, err := x.newModify(p, p.Target, p.Input, p.Returning)
	if err != nil {
		return built{}, err
	}
	c, err := x.newChange(m, p.RefSlot, p.OldCols, p.Recheck)
	if err != nil {
		return built{}, err
	}
	o := &updateOp{changeOp: c, p: p, tables: newTreeOps[*updateOp](p.Tree)}
	c.tableOID = p.TableOID
	if o.set, err = x.compileAll(p.Set); err != nil {
		return built{}, err
	}
	m.run, m.events = o.update, "u"
	m.w.assigns(p.Set)
	return m.built(), nil
}

func (o *updateOp) update(b *batch, at int, row []sqltypes.Datum) error {
	if o.slot < 0 {
		return errNoRefs
	}
	ref, ok := b.ref(o.slot, at)
	if !ok {
		return nil
	}
	return o.updateRow(ref, row)
}

// below makes the operator of one table of the tree.
func (o *updateOp) below(c *changeOp, m *planner.Member) *updateOp {
	c.w.assigns(inChild(o.p.Set, m.Attrs, len(m.Rel.Columns)))
	return &updateOp{changeOp: c, set: programsInChild(o.set, m.Attrs, len(m.Rel.Columns))}
}

// updateRow updates the row of an input row.
func (o *updateOp) updateRow(ref engine.RowRef, row []sqltypes.Datum) error {
	if o.tables != nil {
		k, err := o.tables.of(&ref, o.changeOp, o.below)
		if err != nil {
			return err
		}
		return k.updateRow(ref, row)
	}
	o.oldRow(row)
	if err := o.assign(row); err != nil {
		return err
	}
	xid, key, seq := ref.Xid, ref.Key, ref.Seq
	ok, err := o.lockOld(&ref, o.w.lockMode(o.old, o.new), row)
	if err != nil || !ok {
		return err
	}
	if ref.Xid != xid || ref.Key != key || ref.Seq != seq {
		if err := o.assign(row); err != nil {
			return err
		}
	}
	return o.writeNew(ref, row)
}

// writeNew writes the new row over the locked old one.
func (o *updateOp) writeNew(ref engine.RowRef, row []sqltypes.Datum) error {
	if ok, err := o.w.before('u', o.old, o.new); err != nil || !ok {
		return err
	}
	if o.tree != nil {
		if ok, err := o.fits(o.new); err != nil {
			return err
		} else if !ok {
			return o.move(ref, o.old, o.new, row)
		}
	}
	if err := o.w.prepare(planner.PolicyUpdate, o.new); err != nil {
		return err
	}
	if err := o.w.update(ref, o.old, o.new); err != nil {
		return err
	}
	o.count()
	return o.yieldRow(o.new, row)
}

// assign computes the new row from the old one and the input row.
func (o *updateOp) assign(row []sqltypes.Datum) error {
	return assignRow(o.x, o.set, o.old, o.new, row)
}

func assignRow(x *Execution, set []*expr.Program, old, new, row []sqltypes.Datum) error {
	copy(new, old)
	for i, p := range set {
		if p == nil {
			continue
		}
		d, err := p.Row(row, &x.params, x.env)
		if err != nil {
			return err
		}
		new[i] = d
	}
	return nil
}

// deleteOp is DELETE.
type deleteOp struct {
	*changeOp
	tables *treeOps[*deleteOp]
}

func (x *Execution) buildDelete(p *planner.Delete) (built, error) {
	if err := identifiable(x.view.Catalog(), p.Target.Rel, true); err != nil {
		return built{}, err
	}
	m, err := x.newModify(p, p.Target, p.Input, p.Returning)
	if err != nil {
		return built{}, err
	}
	c, err := x.newChange(m, p.RefSlot, p.OldCols, p.Recheck)
	if err != nil {
		return built{}, err
	}
	o := &deleteOp{changeOp: c, tables: newTreeOps[*deleteOp](p.Tree)}
	m.run, m.events = o.delete, "d"
	return m.built(), nil
}

func (o *deleteOp) delete(b *batch, at int, row []sqltypes.Datum) error {
	if o.slot < 0 {
		return errNoRefs
	}
	ref, ok := b.ref(o.slot, at)
	if !ok {
		return nil
	}
	return o.deleteRow(ref, row)
}

func (o *deleteOp) deleteRow(ref engine.RowRef, row []sqltypes.Datum) error {
	if o.tables != nil {
		k, err := o.tables.of(&ref, o.changeOp, func(c *changeOp, _ *planner.Member) *deleteOp { return &deleteOp{changeOp: c} })
		if err != nil {
			return err
		}
		return k.deleteRow(ref, row)
	}
	o.oldRow(row)
	ok, err := o.lockOld(&ref, engine.LockUpdate, row)
	if err != nil || !ok {
		return err
	}
	return o.writeGone(ref, row)
}

// writeGone deletes the locked old row.
func (o *deleteOp) writeGone(ref engine.RowRef, row []sqltypes.Datum) error {
	if ok, err := o.w.before('d', o.old, nil); err != nil || !ok {
		return err
	}
	if err := o.w.delete(ref, o.old); err != nil {
		return err
	}
	o.count()
	return o.yieldRow(o.old, row)
}
