package explain

import (
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
)

// item is one property of a node; in text format only those with text set show,
// and value is used in the others.
type item struct {
	label string
	value any // string, []string, int64, float64, bool
	// inText: printed as a line "label: value" in text format.
	inText bool
}

// node is one node as EXPLAIN shows it: planner's Project and Filter nodes are
// folded into the node below them.
type node struct {
	title    string // text: "Index Scan using a_pkey on a"
	kind     string // "Node Type"
	head     []item // non-text properties before the costs
	est      planner.Estimate
	stats    *NodeStats
	items    []item
	children []child
}

type child struct {
	relation string // Outer, Inner, Member, InitPlan, SubPlan, Subquery
	name     string // "InitPlan 1 (returns $0)"
	n        *node
}

type builder struct {
	plan *planner.Plan
	opt  Options
	st   *Stats
	d    *deparser
	done map[*planner.SubPlan]bool
	cat  *catalog.Catalog
}

// unwrap folds Project and Filter nodes: it returns the real node, the conditions
// on top of it, the outermost node and the output expressions (nil: the columns).
func unwrap(n planner.Node) (real planner.Node, filters []expr.Expr, exprs [][]expr.Expr) {
	for {
		switch x := n.(type) {
		case *planner.Project:
			exprs = append(exprs, x.Exprs)
			n = x.Input
		case *planner.Filter:
			filters = append([]expr.Expr{x.Cond}, filters...)
			exprs = append(exprs, []expr.Expr{x.Cond})
			n = x.Input
		default:
			return n, filters, exprs
		}
	}
}

func (b *builder) node(n planner.Node) *node {
	saved := b.d.cols
	b.d.cols = nil
	defer func() { b.d.cols = saved }()
	real, filters, above := unwrap(n)
	out := &node{est: *n.Est()}
	if b.st != nil && b.st.Node != nil {
		out.stats = b.st.Node(n)
		if out.stats == nil {
			out.stats = b.st.Node(real)
		}
	}
	if b.opt.Verbose {
		out.items = append(out.items, item{"Output", b.output(n), true})
	}
	if alias, ok := scanAlias(real); ok {
		b.d.cols = b.scanColumns(alias)
	}
	b.describe(out, real)
	if len(filters) > 0 {
		var all []expr.Expr
		for _, f := range filters {
			if a, ok := f.(*expr.And); ok {
				all = append(all, a.Args...)
			} else {
				all = append(all, f)
			}
		}
		if agg, ok := real.(*planner.Aggregate); ok {
			b.d.cols = b.aggregateColumn(agg)
		}
		b.condition(out, "Filter", all)
		b.d.cols = nil
		b.removed(out, "Rows Removed by Filter", func(s *NodeStats) int64 { return s.RemovedByFilter })
	}
	for _, es := range above {
		for _, e := range es {
			b.subPlans(out, e)
		}
	}
	return out
}

// aggregateColumn shows HAVING in terms of the aggregate calls themselves.
func (b *builder) aggregateColumn(a *planner.Aggregate) func(*expr.Col) string {
	plain := deparser{types: b.d.types, typ: b.d.typ}
	return func(c *expr.Col) string {
		switch i := c.Idx; {
		case i < 0:
		case i < len(a.GroupBy):
			return plain.text(a.GroupBy[i], true)
		case i-len(a.GroupBy) < len(a.Aggs):
			return plain.text(a.Aggs[i-len(a.GroupBy)], true)
		}
		return c.Name
	}
}

// output lists the texts of a node's columns.
func (b *builder) output(n planner.Node) []string {
	var out []string
	switch x := n.(type) {
	case *planner.Project:
		for _, e := range x.Exprs {
			out = append(out, b.d.text(e, false))
		}
		return out
	case *planner.Filter:
		return b.output(x.Input)
	case *planner.Aggregate:
		for _, g := range x.GroupBy {
			out = append(out, b.d.text(g, false))
		}
		for _, a := range x.Aggs {
			out = append(out, b.d.text(a, false))
		}
		return out
	case *planner.Scan:
		for _, c := range x.Columns {
			if b.plan != nil && b.opt.Verbose {
				out = append(out, QuoteIdent(x.Alias)+"."+QuoteIdent(c.Name))
			}
		}
		return out
	case *planner.Insert, *planner.Update, *planner.Delete, *planner.Merge:
		for _, c := range n.Out() {
			out = append(out, QuoteIdent(c.Name))
		}
		return out
	}
	for _, c := range n.Out() {
		out = append(out, QuoteIdent(c.Name))
	}
	return out
}

func (n *node) add(label string, value any) { n.items = append(n.items, item{label, value, true}) }
func (n *node) hidden(label string, value any) {
	n.head = append(n.head, item{label, value, false})
}

// condition adds a property with a condition's text.
func (b *builder) condition(n *node, label string, conds []expr.Expr) {
	switch len(conds) {
	case 0:
		return
	case 1:
		n.add(label, b.top(conds[0]))
	default:
		n.add(label, b.d.joined(conds, "AND"))
	}
	for _, c := range conds {
		b.subPlans(n, c)
	}
}

// top is the text of a whole condition.
func (b *builder) top(e expr.Expr) string { return b.d.text(e, false) }

func (b *builder) cond(n *node, label string, e expr.Expr) {
	if e != nil {
		b.condition(n, label, []expr.Expr{e})
	}
}

func (b *builder) removed(n *node, label string, f func(*NodeStats) int64) {
	if n.stats == nil || n.stats.Loops == 0 {
		return
	}
	if v := f(n.stats); v > 0 {
		n.add(label, (v+n.stats.Loops/2)/n.stats.Loops)
	}
}

// subPlans hangs the subplans that e refers to under the node, each once.
func (b *builder) subPlans(n *node, e expr.Expr) {
	planner.Visit(e, func(x expr.Expr) bool {
		if s, ok := x.(*expr.SubPlan); ok {
			if sp, ok := s.Plan.(*planner.SubPlan); ok && !b.done[sp] {
				b.done[sp] = true
				n.children = append(n.children, child{"SubPlan", sp.Name, b.node(sp.Root)})
			}
		}
		return true
	})
}

func (b *builder) input(n *node, relation string, in planner.Node) {
	n.children = append(n.children, child{relation, "", b.node(in)})
}

// root builds the whole plan: InitPlans and WITH queries hang under the top node.
func (b *builder) root() *node {
	n := b.node(b.plan.Root)
	var first []child
	for _, c := range b.plan.CTEs {
		if c.Root != nil {
			first = append(first, child{"InitPlan", "CTE " + QuoteIdent(c.Name), b.node(c.Root)})
		}
	}
	for _, i := range b.plan.Inits {
		first = append(first, child{"InitPlan", i.Name, b.node(i.Root)})
	}
	n.children = append(first, n.children...)
	return n
}
