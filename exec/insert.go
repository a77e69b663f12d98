package exec

import (
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// emptyArbiters asks for conflicts on any unique index.
var emptyArbiters = []*catalog.Index{}

// insertOp is INSERT, with ON CONFLICT.
type insertOp struct {
	*modifyOp
	p     *planner.Insert
	progs []*expr.Program
	vecs  []*expr.Vec
	row   []sqltypes.Datum // the new row

	// checks are the policies for the new row: an UPDATE's when it moves one to another partition.
	checks   planner.PolicyKind
	conflict *planner.OnConflict
	set      []*expr.Program
	where    *expr.Program
	both     []sqltypes.Datum // existing row, excluded row
	updated  []sqltypes.Datum
	ret      []sqltypes.Datum // a row for RETURNING, with its xmin, xmax and tableoid

	// Of a partitioned table: where rows go.
	router *router
	leaves map[sqltypes.OID]*insertOp
	routed *routed   // of a partition that rows are sent to
	last   *insertOp // of the partition that the last row went to
}

func (x *Execution) buildInsert(p *planner.Insert) (built, error) {
	m, err := x.newModify(p, p.Target, p.Input, p.Returning)
	if err != nil {
		return built{}, err
	}
	o, err := x.newInsert(m, p)
	if err != nil {
		return built{}, err
	}
	m.batch, m.run, m.events = o.values, o.insert, "i"
	if c := p.OnConflict; c != nil && c.DoUpdate {
		m.events = "iu"
		m.w.assigns(c.Set)
	}
	return m.built(), nil
}

func (x *Execution) newInsert(m *modifyOp, p *planner.Insert) (*insertOp, error) {
	n := len(p.Target.Rel.Columns)
	o := &insertOp{modifyOp: m, p: p, row: make([]sqltypes.Datum, n), conflict: p.OnConflict}
	var err error
	if o.progs, err = x.compileAll(p.Row); err != nil {
		return nil, err
	}
	o.vecs = make([]*expr.Vec, len(o.progs))
	if p.Target.Rel.Partitioning != nil {
		o.router = x.newRouter()
	}
	if c := p.OnConflict; c != nil {
		if o.set, err = x.compileAll(c.Set); err != nil {
			return nil, err
		}
		if o.where, err = x.compile(c.Where); err != nil {
			return nil, err
		}
		o.both, o.updated = make([]sqltypes.Datum, 2*n), make([]sqltypes.Datum, n)
		arbiters := c.Arbiters
		if len(arbiters) == 0 {
			arbiters = o.w.rel.Indexes
		}
		for _, ix := range arbiters {
			if ix.Unique && ix.Deferrable {
				return nil, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters")
			}
		}
	}
	return o, nil
}

// values evaluates the new rows of a batch, column by column.
func (o *insertOp) values(b *batch) error {
	for i, p := range o.progs {
		if p == nil {
			continue
		}
		v, err := p.Eval(&b.Batch, &o.x.params, o.x.env)
		if err != nil {
			return err
		}
		o.vecs[i] = v
	}
	return nil
}

func (o *insertOp) insert(_ *batch, at int, _ []sqltypes.Datum) error {
	for i := range o.row {
		if i < len(o.vecs) && o.vecs[i] != nil {
			o.row[i] = o.vecs[i].Datum(at)
		} else {
			o.row[i] = sqltypes.Null
		}
	}
	return o.insertRow()
}

// insertRow writes o.row.
func (o *insertOp) insertRow() error {
	if o.router != nil {
		return o.routeRow()
	}
	if ok, err := o.w.before('i', nil, o.row); err != nil || !ok {
		return err
	}
	if err := o.stillFits(); err != nil {
		return err
	}
	if err := o.w.prepare(o.checks, o.row); err != nil {
		return err
	}
	if o.conflict == nil {
		if _, err := o.w.insert(o.row, nil); err != nil {
			return err
		}
		o.count()
		return o.yieldNew(o.row, 0)
	}
	arbiters := o.conflict.Arbiters
	if arbiters == nil {
		arbiters = emptyArbiters
	}
	for {
		c, err := o.w.insert(o.row, arbiters)
		if err != nil {
			return err
		}
		if c == nil {
			o.count()
			return o.yieldNew(o.row, 0)
		}
		if !o.conflict.DoUpdate {
			return nil
		}
		done, err := o.update(c)
		if err != nil || done {
			return err
		}
		if err := o.x.cancelled(); err != nil {
			return err
		}
	}
}

// update is DO UPDATE of the row that is in the way; false: it has gone, insert again.
func (o *insertOp) update(c *engine.Conflict) (bool, error) {
	if c.Own {
		return false, pgerror.New(pgerror.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
			WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
	}
	n := len(o.both) / 2
	key, _, err := o.conflictKey(c)
	if err != nil {
		return false, err
	}
	old := o.both[:n]
	set := o.set
	if t := o.routed; t != nil {
		old = make([]sqltypes.Datum, len(o.row))
		set = programsInChild(o.set, t.toRoot.to, len(o.row))
	}
	mode := engine.LockNoKeyUpdate
	for i, p := range set {
		if p != nil && o.w.keyAttrs[i] {
			mode = engine.LockUpdate
		}
	}
	ref, found, err := o.x.txn.LookupNewest(o.x.ctx, o.w.rel, c.Index, key, mode, old)
	if err != nil {
		return false, err
	}
	if o.x.txn.Options().Isolation != engine.ReadCommitted && c.Ref.Seq == 0 {
		// The snapshot has the version that was in the way: locking that one fails
		// with 40001 when it was changed or deleted while this waited for the lock.
		ref = c.Ref
	} else if !found {
		return false, nil
	}
	outcome, err := o.w.lock(&ref, mode, nil)
	if err != nil || outcome != engine.Locked {
		return false, err
	}
	if t := o.routed; t != nil {
		copy(o.both, t.toRoot.row(old))
		copy(o.both[n:], t.excluded.row(o.row))
	} else {
		copy(o.both[n:], o.row)
	}
	if o.where != nil {
		d, err := o.where.Row(o.both, &o.x.params, o.x.env)
		if err != nil || !d.True() {
			return true, err
		}
	}
	if err := o.w.policy(planner.PolicyConflict, old); err != nil {
		return false, err
	}
	copy(o.updated, old)
	for i, p := range set {
		if p == nil {
			continue
		}
		if o.updated[i], err = p.Row(o.both, &o.x.params, o.x.env); err != nil {
			return false, err
		}
	}
	if ok, err := o.w.before('u', old, o.updated); err != nil || !ok {
		return true, err
	}
	if o.routed != nil {
		if ok, err := o.w.bounds().fits(o.w.rel, o.updated); err != nil {
			return false, err
		} else if !ok {
			return false, pgerror.New(pgerror.FeatureNotSupported, "invalid ON UPDATE specification").
				WithDetail("The result tuple would appear in a different partition than the original tuple.")
		}
	}
	if err := o.w.prepare(planner.PolicyUpdate, o.updated); err != nil {
		return false, err
	}
	if err := o.w.update(ref, old, o.updated); err != nil {
		return false, err
	}
	o.count()
	// As in PostgreSQL the new version of a row that was locked first says by whom.
	return true, o.yieldNew(o.updated, o.x.txn.XidIfAssigned())
}

// yieldNew is yield of a row followed by its xmin and xmax.
func (o *insertOp) yieldNew(row []sqltypes.Datum, xmax uint64) error {
	top, rel := o, o.w.rel
	if o.routed != nil {
		top = o.routed.up
		row = o.routed.toRoot.row(row)
	}
	if len(top.returning) == 0 {
		return nil
	}
	top.ret = append(append(top.ret[:0], row...), xidDatum(o.x.txn.XidIfAssigned()), xidDatum(xmax), sqltypes.Int(int64(rel.OID)))
	return top.yield(top.ret)
}

// xidDatum is the 32-bit form of a transaction id.
func xidDatum(xid uint64) sqltypes.Datum { return sqltypes.Int(int64(uint32(xid))) }

// conflictKey is the new row's key in the index it collided in.
func (o *insertOp) conflictKey(c *engine.Conflict) ([]sqltypes.Datum, bool, error) {
	if o.w.keys[c.Index.OID] != nil || o.w.preds[c.Index.OID] != nil {
		return o.w.indexKey(c.Index, o.row)
	}
	key := make([]sqltypes.Datum, len(c.Index.Keys))
	for i, k := range c.Index.Keys {
		key[i] = o.row[k.Attr-1]
	}
	return key, true, nil
}
