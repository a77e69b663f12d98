package explain

import (
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
)

// members hangs the inputs of an Append under it. Those that the values of
// parameters have ruled out are counted only, once it has run.
func (b *builder) members(n *node, inputs []planner.Node, p *planner.Pruning) {
	removed := 0
	early := p != nil && n.stats != nil && b.opt.Analyze && !perRun(p)
	for _, in := range inputs {
		c := b.node(in)
		if early && (c.stats == nil || c.stats.Loops == 0) {
			removed++
			continue
		}
		n.children = append(n.children, child{"Member", "", c})
	}
	if removed > 0 {
		n.add("Subplans Removed", removed)
	}
}

// perRun reports that a Pruning depends on values that change while the plan runs.
func perRun(p *planner.Pruning) bool {
	found := false
	for _, s := range p.Steps {
		for _, c := range s.Conds {
			for _, v := range c.Values {
				planner.Visit(v, func(e expr.Expr) bool {
					_, is := e.(*expr.ExecParam)
					found = found || is
					return !found
				})
			}
		}
	}
	return found
}

// targets lists the tables of a tree that a statement may write.
func (b *builder) targets(n *node, op string, rel *catalog.Relation, tree []*planner.Member, input planner.Node) {
	if tree == nil {
		return
	}
	of := map[string]bool{}
	for _, m := range tree {
		of[m.Rel.Name] = true
	}
	var walk func(in planner.Node)
	walk = func(in planner.Node) {
		switch x := in.(type) {
		case *planner.Scan:
			if x.RefSlot >= 0 && of[x.Rel.Name] {
				line := op + " on " + QuoteIdent(x.Rel.Name)
				if x.Alias != x.Rel.Name {
					line += " " + QuoteIdent(x.Alias)
				}
				n.items = append(n.items, item{"", line, true})
			}
		case *planner.Append:
			for _, i := range x.Inputs {
				walk(i)
			}
		case *planner.MergeAppend:
			for _, i := range x.Inputs {
				walk(i)
			}
		case *planner.Project:
			walk(x.Input)
		case *planner.Filter:
			walk(x.Input)
		case *planner.Sort:
			walk(x.Input)
		case *planner.Materialize:
			walk(x.Input)
		case *planner.NestLoop:
			walk(x.Left)
			walk(x.Right)
		case *planner.HashJoin:
			walk(x.Left)
			walk(x.Right)
		case *planner.MergeJoin:
			walk(x.Left)
			walk(x.Right)
		}
	}
	walk(input)
}
