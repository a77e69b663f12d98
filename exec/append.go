package exec

import (
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// inputs are the inputs of an Append or MergeAppend. They are built when they are
// first needed: a tree may have many tables, of which a statement reads one.
type inputs struct {
	x      *Execution
	nodes  []planner.Node
	used   need
	ops    []operator
	slots  []int
	pruner *pruner
	live   []int // inputs that can have rows, set by open
}

func (x *Execution) newInputs(nodes []planner.Node, prune *planner.Pruning, used need) (*inputs, error) {
	in := &inputs{x: x, nodes: nodes, used: used, ops: make([]operator, len(nodes))}
	var err error
	if in.pruner, err = x.newPruner(prune, len(nodes)); err != nil {
		return nil, err
	}
	for i := range nodes {
		if i > 0 && in.pruner != nil && x.stats == nil {
			break
		}
		if err := in.build(i); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (in *inputs) build(i int) error {
	if in.ops[i] != nil {
		return nil
	}
	b, err := in.x.build(in.nodes[i], in.used)
	if err != nil {
		return err
	}
	in.ops[i] = b.op
	if len(b.slots) > 0 {
		in.slots = b.slots
	}
	return nil
}

// open decides which inputs are read.
func (in *inputs) open() error {
	in.live = in.live[:0]
	var keep []bool
	if in.pruner != nil {
		var err error
		if keep, err = in.pruner.keep(); err != nil {
			return err
		}
	}
	for i := range in.nodes {
		if keep != nil && !keep[i] {
			continue
		}
		if err := in.build(i); err != nil {
			return err
		}
		in.live = append(in.live, i)
	}
	return nil
}

func (in *inputs) close() {
	for _, op := range in.ops {
		if op != nil {
			op.close()
		}
	}
}

// appendOp yields its inputs one after the other.
type appendOp struct {
	*inputs
	at int
}

func (x *Execution) buildAppend(p *planner.Append, used need) (built, error) {
	in, err := x.newInputs(p.Inputs, p.Prune, used)
	if err != nil {
		return built{}, err
	}
	return built{op: &appendOp{inputs: in}, kinds: x.outKinds(p), slots: in.slots}, nil
}

func (o *appendOp) open() error {
	o.at = 0
	if err := o.inputs.open(); err != nil || len(o.live) == 0 {
		return err
	}
	return o.ops[o.live[0]].open()
}

func (o *appendOp) next() (*batch, error) {
	for o.at < len(o.live) {
		b, err := o.ops[o.live[o.at]].next()
		if err != nil || b != nil {
			return b, err
		}
		if o.at++; o.at < len(o.live) {
			if err := o.ops[o.live[o.at]].open(); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// pruner evaluates a planner.Pruning.
type pruner struct {
	x     *Execution
	steps []pruneStep
	n     int
}

type pruneStep struct {
	*planner.PruneStep
	values [][]*expr.Program
}

func (x *Execution) newPruner(p *planner.Pruning, n int) (*pruner, error) {
	if p == nil {
		return nil, nil
	}
	out := &pruner{x: x, n: n}
	for i := range p.Steps {
		s := pruneStep{PruneStep: &p.Steps[i]}
		for _, c := range s.Conds {
			progs, err := x.compileAll(c.Values)
			if err != nil {
				return nil, err
			}
			s.values = append(s.values, progs)
		}
		out.steps = append(out.steps, s)
	}
	return out, nil
}

func (p *pruner) keep() ([]bool, error) {
	keep := make([]bool, p.n)
	for i := range keep {
		keep[i] = true
	}
	for _, s := range p.steps {
		conds := make([]catalog.KeyCond, len(s.Conds))
		for i, c := range s.Conds {
			conds[i] = catalog.KeyCond{Key: c.Key, Op: c.Op}
			for _, prog := range s.values[i] {
				d, err := p.x.scalar(prog)
				if err != nil {
					return nil, err
				}
				if c.Array && !d.Null {
					a := sqltypes.OpenArray(d)
					for k := range a.Len() {
						conds[i].Values = append(conds[i].Values, a.At(k))
					}
					continue
				}
				conds[i].Values = append(conds[i].Values, d)
			}
		}
		for k, y := range s.Parts.Keep(conds) {
			if !y {
				for _, in := range s.Inputs[k] {
					keep[in] = false
				}
			}
		}
	}
	return keep, nil
}
