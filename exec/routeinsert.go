package exec

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// An INSERT into a partitioned table has one insertOp for each partition that rows
// have gone to. They share the statement's expressions: what those see are rows as
// the partitioned table has them.

// routed is what the insertOp of a partition knows of the one of the statement.
type routed struct {
	up   *insertOp
	root *catalog.Relation
	// toRoot and fromRoot turn rows.
	toRoot, fromRoot *reshape
	excluded         *reshape // a second toRoot
}

// routeRow sends o.row to its partition.
func (o *insertOp) routeRow() error {
	root := o.w.rel
	if root.Bound != nil {
		if ok, err := o.router.fits(root, o.row); err != nil {
			return err
		} else if !ok {
			return o.w.outOfBounds(o.row)
		}
	}
	rel, row, err := o.router.leaf(root, o.row)
	if err != nil {
		return err
	}
	c := o.leaves[rel.OID]
	if c == nil {
		if c, err = o.newLeaf(rel); err != nil {
			return err
		}
	}
	copy(c.row, row)
	o.last = c
	return c.insertRow()
}

func (o *insertOp) newLeaf(rel *catalog.Relation) (*insertOp, error) {
	root := o.w.rel
	attrs := catalog.AttrsIn(root, rel)
	w, err := o.w.writerBelow(rel, attrs)
	if err != nil {
		return nil, err
	}
	m := &modifyOp{x: o.x, w: w, root: o.root}
	c := &insertOp{modifyOp: m, p: o.p, checks: o.checks, row: make([]sqltypes.Datum, len(rel.Columns)), set: o.set, where: o.where,
		routed: &routed{up: o, root: root, toRoot: newReshape(attrs, root, rel, true), fromRoot: newReshape(attrs, root, rel, false), excluded: newReshape(attrs, root, rel, true)}}
	if oc := o.conflict; oc != nil {
		cp := *oc
		if cp.Arbiters, err = o.leafArbiters(rel, oc.Arbiters); err != nil {
			return nil, err
		}
		c.conflict = &cp
		c.both, c.updated = make([]sqltypes.Datum, 2*len(root.Columns)), make([]sqltypes.Datum, len(rel.Columns))
		if oc.DoUpdate {
			m.w.assigns(inChild(oc.Set, attrs, len(rel.Columns)))
		}
	}
	if o.leaves == nil {
		o.leaves = map[sqltypes.OID]*insertOp{}
	}
	o.leaves[rel.OID] = c
	return c, nil
}

// leafArbiters are a partition's parts of the indexes that ON CONFLICT names.
func (o *insertOp) leafArbiters(rel *catalog.Relation, list []*catalog.Index) ([]*catalog.Index, error) {
	var out []*catalog.Index
	for _, ix := range list {
		part := partOf(o.x.view.Catalog(), rel, ix.OID)
		if part == nil {
			return nil, pgerror.New(pgerror.InternalError, "index %q has no part in partition %q", ix.Name, rel.Name)
		}
		out = append(out, part)
	}
	return out, nil
}

// partOf is the index of a partition that is part of an index of one of its ancestors.
func partOf(cat *catalog.Catalog, rel *catalog.Relation, index sqltypes.OID) *catalog.Index {
	for _, ix := range rel.Indexes {
		for p := ix; p != nil; {
			if p.OID == index {
				return ix
			}
			if p.Parent == 0 {
				break
			}
			_, p = cat.Index(p.Parent)
		}
	}
	return nil
}

// stillFits refuses a row that a BEFORE trigger has made one of another partition.
func (o *insertOp) stillFits() error {
	if o.routed == nil || o.w.trig == nil {
		return nil
	}
	i := slices.IndexFunc(o.w.trig.list, func(t *catalog.Trigger) bool { return o.w.trig.fires(t, 'b', true, 'i') })
	if i < 0 {
		return nil
	}
	ok, err := o.routed.up.router.fits(o.w.rel, o.row)
	if err != nil || ok {
		return err
	}
	return pgerror.New(pgerror.FeatureNotSupported, "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported").
		WithDetail("Before executing trigger %q, the row was to be in partition \"%s.%s\".", o.w.trig.list[i].Name, o.w.schema(), o.w.rel.Name)
}

// inChild puts expressions by a parent's attributes where a child has them.
func inChild(set []expr.Expr, attrs []int16, n int) []expr.Expr {
	out := make([]expr.Expr, n)
	for i, e := range set {
		if e != nil && attrs[i] > 0 {
			out[attrs[i]-1] = e
		}
	}
	return out
}

// programsInChild is inChild for what is compiled.
func programsInChild(set []*expr.Program, attrs []int16, n int) []*expr.Program {
	out := make([]*expr.Program, n)
	for i, p := range set {
		if p != nil && attrs[i] > 0 {
			out[attrs[i]-1] = p
		}
	}
	return out
}

// inserter makes an insertOp for rows that other statements put into a partitioned
// table: UPDATE that moves them, MERGE.
func (x *Execution) inserter(t *planner.Target) (*insertOp, error) {
	m, err := x.modifyOver(built{}, false, t, nil)
	if err != nil {
		return nil, err
	}
	return x.newInsert(m, &planner.Insert{Target: t})
}
