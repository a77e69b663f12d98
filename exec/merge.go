package exec

import (
	"errors"
	"strings"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// errNoRefs: a row came without its reference. An input that is known to be empty
// (WHERE false) has no references at all, but yields no row either.
var errNoRefs = errors.New("exec: the input carries no row references for the target")

// mergeOp is MERGE: per source row the first action whose condition holds.
type mergeOp struct {
	*changeOp
	actions []mergeAction
	tables  *treeOps[*mergeOp]
	top     *mergeOp  // of a table of a tree: the statement's
	ins     *insertOp // into a partitioned table
}

type mergeAction struct {
	*planner.MergeAction
	cond *expr.Program
	set  []*expr.Program
}

func (x *Execution) buildMerge(p *planner.Merge) (built, error) {
	m, err := x.newModify(p, p.Target, p.Input, nil)
	if err != nil {
		return built{}, err
	}
	c, err := x.newChange(m, p.RefSlot, p.OldCols, p.Recheck)
	if err != nil {
		return built{}, err
	}
	o := &mergeOp{changeOp: c, tables: newTreeOps[*mergeOp](p.Tree)}
	for i := range p.Actions {
		a := mergeAction{MergeAction: &p.Actions[i]}
		if a.cond, err = x.compile(a.Cond); err != nil {
			return built{}, err
		}
		if a.set, err = x.compileAll(a.Set); err != nil {
			return built{}, err
		}
		o.actions = append(o.actions, a)
	}
	m.run = o.merge
	for _, a := range o.actions {
		if a.Kind != 'n' && strings.IndexByte(m.events, a.Kind) < 0 {
			m.events += string(rune(a.Kind))
		}
		if a.Kind == 'u' {
			m.w.assigns(a.MergeAction.Set)
		}
	}
	return m.built(), nil
}

// mergePolicies are what an action must be allowed to do to the row it found.
var mergePolicies = map[byte]planner.PolicyKind{'u': planner.PolicyMergeUpdate, 'd': planner.PolicyMergeDelete}

// choose finds the action for a row; nil: none.
func (o *mergeOp) choose(matched bool, row []sqltypes.Datum) (*mergeAction, error) {
	for i := range o.actions {
		a := &o.actions[i]
		if a.Matched != matched {
			continue
		}
		if a.cond != nil {
			d, err := a.cond.Row(row, &o.x.params, o.x.env)
			if err != nil {
				return nil, err
			}
			if !d.True() {
				continue
			}
		}
		return a, nil
	}
	return nil, nil
}

func (o *mergeOp) merge(b *batch, at int, row []sqltypes.Datum) error {
	if o.slot < 0 { // the target side is known to be empty
		return o.notMatched(row)
	}
	ref, matched := b.ref(o.slot, at)
	if !matched {
		return o.notMatched(row)
	}
	if o.tables != nil {
		k, err := o.tables.of(&ref, o.changeOp, o.below)
		if err != nil {
			return err
		}
		return k.matched(ref, row)
	}
	return o.matched(ref, row)
}

// below makes the operator of one table of the tree.
func (o *mergeOp) below(c *changeOp, m *planner.Member) *mergeOp {
	k := &mergeOp{changeOp: c, top: o}
	for _, a := range o.actions {
		if a.Kind == 'u' {
			a.set = programsInChild(a.set, m.Attrs, len(m.Rel.Columns))
			c.w.assigns(inChild(a.MergeAction.Set, m.Attrs, len(m.Rel.Columns)))
		}
		k.actions = append(k.actions, a)
	}
	return k
}

// matched is what WHEN MATCHED says of a row.
func (o *mergeOp) matched(ref engine.RowRef, row []sqltypes.Datum) error {
	o.oldRow(row)
	locked := false
	for {
		a, err := o.choose(true, row)
		if err != nil || a == nil || a.Kind == 'n' {
			return err
		}
		mode := engine.LockUpdate
		if a.Kind == 'u' {
			if err := assignRow(o.x, a.set, o.old, o.new, row); err != nil {
				return err
			}
			mode = o.w.lockMode(o.old, o.new)
		}
		if !locked {
			outcome, err := o.w.lock(&ref, mode, o.old)
			if err != nil {
				return err
			}
			switch outcome {
			case engine.OwnWrite:
				return pgerror.New(pgerror.CardinalityViolation, "MERGE command cannot affect row a second time").
					WithHint("Ensure that not more than one source row matches any one target row.")
			case engine.Gone:
				return o.notMatched(row)
			case engine.Changed:
				o.refresh(row)
				locked = true
				if o.recheck != nil {
					holds, err := o.recheck.True(row, &o.x.params, o.x.env)
					if err != nil {
						return err
					}
					if !holds {
						return o.notMatched(row)
					}
				}
				continue
			}
		}
		if err := o.w.policy(mergePolicies[a.Kind], o.old); err != nil {
			return err
		}
		if a.Kind == 'd' {
			if ok, err := o.w.before('d', o.old, nil); err != nil || !ok {
				return err
			}
			o.count()
			return o.w.delete(ref, o.old)
		}
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
		o.count()
		if err := o.w.prepare(planner.PolicyUpdate, o.new); err != nil {
			return err
		}
		return o.w.update(ref, o.old, o.new)
	}
}

// notMatched inserts, if an action says so. The target's columns are NULL.
func (o *mergeOp) notMatched(row []sqltypes.Datum) error {
	if o.top != nil {
		return o.top.notMatched(row)
	}
	for _, c := range o.oldCols {
		if c >= 0 {
			row[c] = sqltypes.Null
		}
	}
	a, err := o.choose(false, row)
	if err != nil || a == nil || a.Kind != 'i' {
		return err
	}
	for i := range o.new {
		o.new[i] = sqltypes.Null
	}
	if err := assignRow(o.x, a.set, o.new, o.new, row); err != nil {
		return err
	}
	if o.w.rel.Partitioning != nil {
		if o.ins == nil {
			if o.ins, err = o.x.inserter(o.w.t); err != nil {
				return err
			}
		}
		o.count()
		copy(o.ins.row, o.new)
		return o.ins.insertRow()
	}
	if ok, err := o.w.before('i', nil, o.new); err != nil || !ok {
		return err
	}
	if err := o.w.prepare(planner.PolicyInsert, o.new); err != nil {
		return err
	}
	if _, err := o.w.insert(o.new, nil); err != nil {
		return err
	}
	o.count()
	return nil
}
