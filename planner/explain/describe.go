package explain

import (
	"maps"
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
)

// describe fills in what is particular to a kind of node.
func (b *builder) describe(n *node, p planner.Node) {
	switch x := p.(type) {
	case *planner.Scan:
		b.scan(n, x)
	case *planner.VirtualScan:
		n.kind = "Seq Scan"
		name := ""
		if x.Rel != nil && x.Rel.Rel != nil {
			name = x.Rel.Rel.Name
		}
		b.on(n, name, x.Alias)
		b.filter(n, x.Filter)
	case *planner.FunctionScan:
		n.kind = "Function Scan"
		name := x.Alias
		if len(x.Calls) == 1 {
			name = x.Calls[0].Proc.Name
			n.hidden("Function Name", name)
		}
		b.on(n, name, x.Alias)
		if b.opt.Function != nil {
			for _, c := range x.Calls {
				for _, p := range b.opt.Function(c) {
					n.add(p.Label, p.Value)
				}
			}
		}
		if b.opt.Verbose {
			var es []expr.Expr
			for _, c := range x.Calls {
				es = append(es, c)
			}
			n.add("Function Call", b.d.list(es, false))
		}
		b.filter(n, x.Filter)
	case *planner.Values:
		n.kind = "Values Scan"
		b.on(n, x.Alias, x.Alias)
	case *planner.Result:
		n.kind = "Result"
		b.cond(n, "One-Time Filter", x.OneTime)
	case *planner.Empty:
		n.kind = "Result"
		n.add("One-Time Filter", "false")
	case *planner.CTEScan:
		n.kind = "CTE Scan"
		n.hidden("CTE Name", x.CTE.Name)
		b.on(n, x.CTE.Name, x.Alias)
		b.filter(n, x.Filter)
	case *planner.WorkTableScan:
		n.kind = "WorkTable Scan"
		n.hidden("CTE Name", x.CTE.Name)
		b.on(n, x.CTE.Name, x.Alias)
		b.filter(n, x.Filter)
	case *planner.RecursiveUnion:
		n.kind = "Recursive Union"
		b.input(n, "Outer", x.NonRec)
		b.input(n, "Inner", x.Rec)
	case *planner.ProjectSet:
		n.kind = "ProjectSet"
		b.input(n, "Outer", x.Input)
	case *planner.NestLoop:
		b.nestLoop(n, x)
	case *planner.HashJoin:
		b.hashJoin(n, x)
	case *planner.MergeJoin:
		b.join(n, "Merge", x.Kind)
		var conds []expr.Expr
		for i := range x.LeftKeys {
			conds = append(conds, eq(x.LeftKeys[i], x.RightKeys[i]))
		}
		b.condition(n, "Merge Cond", conds)
		b.cond(n, "Join Filter", x.Cond)
		b.input(n, "Outer", x.Left)
		b.input(n, "Inner", x.Right)
	case *planner.Aggregate:
		b.aggregate(n, x)
	case *planner.GapFill:
		n.kind = "GapFill"
		b.input(n, "Outer", x.Input)
	case *planner.WindowAgg:
		n.kind = "WindowAgg"
		b.input(n, "Outer", x.Input)
	case *planner.Sort:
		b.sort(n, x)
	case *planner.Unique:
		n.kind = "Unique"
		b.input(n, "Outer", x.Input)
	case *planner.Limit:
		n.kind = "Limit"
		b.input(n, "Outer", x.Input)
	case *planner.Append:
		n.kind = "Append"
		b.members(n, x.Inputs, x.Prune)
	case *planner.MergeAppend:
		n.kind = "Merge Append"
		n.add("Sort Key", b.sortKeys(x.Keys))
		b.members(n, x.Inputs, x.Prune)
	case *planner.SetOp:
		n.kind = "SetOp"
		n.hidden("Strategy", "Hashed")
		cmd := "Intersect"
		if x.Except {
			cmd = "Except"
		}
		if x.All {
			cmd += " All"
		}
		n.hidden("Command", cmd)
		n.title = "HashSetOp " + cmd
		b.input(n, "Outer", x.Left)
		b.input(n, "Inner", x.Right)
	case *planner.Materialize:
		n.kind = "Materialize"
		b.input(n, "Outer", x.Input)
	case *planner.LockRows:
		n.kind = "LockRows"
		b.input(n, "Outer", x.Input)
	case *planner.Insert:
		b.modify(n, "Insert", x.Target.Rel)
		if c := x.OnConflict; c != nil {
			how := "NOTHING"
			if c.DoUpdate {
				how = "UPDATE"
			}
			n.add("Conflict Resolution", how)
			if len(c.Arbiters) > 0 {
				var names []string
				for _, ix := range c.Arbiters {
					names = append(names, QuoteIdent(ix.Name))
				}
				n.add("Conflict Arbiter Indexes", names)
			}
			b.cond(n, "Conflict Filter", c.Where)
		}
		b.input(n, "Outer", x.Input)
		b.exprs(n, x.Returning)
	case *planner.Update:
		b.modify(n, "Update", x.Target.Rel)
		b.targets(n, "Update", x.Target.Rel, x.Tree, x.Input)
		b.input(n, "Outer", x.Input)
		b.exprs(n, x.Set)
		b.exprs(n, x.Returning)
	case *planner.Delete:
		b.modify(n, "Delete", x.Target.Rel)
		b.targets(n, "Delete", x.Target.Rel, x.Tree, x.Input)
		b.input(n, "Outer", x.Input)
		b.exprs(n, x.Returning)
	case *planner.Merge:
		b.modify(n, "Merge", x.Target.Rel)
		b.targets(n, "Merge", x.Target.Rel, x.Tree, x.Input)
		b.input(n, "Outer", x.Input)
	default:
		n.kind = "Custom Scan"
	}
	if n.title == "" {
		n.title = n.kind
	}
}

func (b *builder) exprs(n *node, es []expr.Expr) {
	for _, e := range es {
		if e != nil {
			b.subPlans(n, e)
		}
	}
}

// on names what a scan reads: "Seq Scan on tab alias".
func (b *builder) on(n *node, name, alias string) {
	t := n.title
	if t == "" {
		t = n.kind
	}
	if name != "" {
		t += " on " + QuoteIdent(name)
	}
	if alias != "" {
		if alias != name {
			t += " " + QuoteIdent(alias)
		}
		n.hidden("Alias", alias)
	}
	n.title = t
}

// scanAlias is the name by which a scan's columns are qualified.
func scanAlias(n planner.Node) (string, bool) {
	switch x := n.(type) {
	case *planner.Scan:
		return x.Alias, true
	case *planner.VirtualScan:
		return x.Alias, true
	case *planner.FunctionScan:
		return x.Alias, true
	case *planner.CTEScan:
		return x.Alias, true
	case *planner.WorkTableScan:
		return x.Alias, true
	}
	return "", false
}

// scanColumns shows the columns of a scan in its conditions: without the relation,
// but with VERBOSE always with it.
func (b *builder) scanColumns(alias string) func(*expr.Col) string {
	prefix := QuoteIdent(alias) + "."
	return func(c *expr.Col) string {
		name, qualified := strings.CutPrefix(c.Name, prefix)
		if b.opt.Verbose && (qualified || !strings.ContainsAny(name, ".( ")) {
			return prefix + name
		}
		return name
	}
}

func (b *builder) filter(n *node, e expr.Expr) {
	if e == nil {
		return
	}
	b.cond(n, "Filter", e)
	b.removed(n, "Rows Removed by Filter", func(s *NodeStats) int64 { return s.RemovedByFilter })
}

// detail shows what the store of a scanned relation tells of its work.
func (b *builder) detail(n *node) {
	if n.stats == nil {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(n.stats.Detail)) {
		n.items = append(n.items, item{k, n.stats.Detail[k], true})
	}
}

func (b *builder) scan(n *node, x *planner.Scan) {
	defer b.detail(n)
	ix := x.Index
	ordered := ix != nil || x.Reverse
	if ix == nil && x.Reverse {
		for _, i := range x.Rel.Indexes {
			if i.Clustered {
				ix = i
			}
		}
	}
	switch {
	case x.Sample != nil:
		n.kind = "Sample Scan"
	case !ordered || ix == nil:
		n.kind = "Seq Scan"
	default:
		n.kind = "Index Scan"
		if x.IndexOnly {
			n.kind = "Index Only Scan"
		}
		n.title = n.kind
		dir := "Forward"
		if x.Reverse {
			n.title += " Backward"
			dir = "Backward"
		}
		n.title += " using " + QuoteIdent(ix.Name)
		n.hidden("Scan Direction", dir)
		n.hidden("Index Name", ix.Name)
	}
	n.hidden("Relation Name", x.Rel.Name)
	if b.opt.Verbose {
		if schema := b.schema(x.Rel); schema != "" {
			n.hidden("Schema", schema)
			t := n.title
			if t == "" {
				t = n.kind
			}
			n.title = t + " on " + QuoteIdent(schema) + "." + QuoteIdent(x.Rel.Name)
			if x.Alias != x.Rel.Name {
				n.title += " " + QuoteIdent(x.Alias)
			}
			n.hidden("Alias", x.Alias)
		} else {
			b.on(n, x.Rel.Name, x.Alias)
		}
	} else {
		b.on(n, x.Rel.Name, x.Alias)
	}
	if x.Sample != nil {
		n.add("Sampling", x.Sample.Method+" ("+b.d.text(x.Sample.Percent, true)+")")
	}
	if x.IndexCond != nil {
		b.cond(n, "Index Cond", x.IndexCond)
	}
	b.filter(n, x.Filter)
	if x.IndexOnly && n.stats != nil {
		n.add("Heap Fetches", n.stats.HeapFetches)
	}
}

func (b *builder) schema(r *catalog.Relation) string {
	if b.cat == nil {
		return ""
	}
	if s := b.cat.Schema(r.Schema); s != nil {
		return s.Name
	}
	return ""
}

var joinWords = map[planner.JoinKind]string{
	planner.JoinInner: "Inner", planner.JoinLeft: "Left", planner.JoinRight: "Right",
	planner.JoinFull: "Full", planner.JoinSemi: "Semi", planner.JoinAnti: "Anti",
}

func (b *builder) join(n *node, method string, kind planner.JoinKind) {
	n.hidden("Join Type", joinWords[kind])
	switch method {
	case "Nested Loop":
		n.kind = "Nested Loop"
		n.title = "Nested Loop"
		if kind != planner.JoinInner {
			n.title += " " + joinWords[kind] + " Join"
		}
	default:
		n.kind = method + " Join"
		n.title = method + " Join"
		if kind != planner.JoinInner {
			n.title = method + " " + joinWords[kind] + " Join"
		}
	}
}

func (b *builder) nestLoop(n *node, x *planner.NestLoop) {
	if r, ok := x.Left.(*planner.Result); ok && r.OneTime != nil && x.Cond == nil && x.Kind == planner.JoinInner {
		n.kind = "Result"
		b.cond(n, "One-Time Filter", r.OneTime)
		b.input(n, "Outer", x.Right)
		return
	}
	b.join(n, "Nested Loop", x.Kind)
	b.cond(n, "Join Filter", x.Cond)
	b.removed(n, "Rows Removed by Join Filter", func(s *NodeStats) int64 { return s.RemovedByJoinFilter })
	b.input(n, "Outer", x.Left)
	b.input(n, "Inner", x.Right)
}

// eq is l = r for display.
func eq(l, r expr.Expr) expr.Expr {
	return &expr.Call{T: expr.T{Typ: l.Type()}, Op: "=", Args: []expr.Expr{l, r}, Proc: eqProc}
}

func (b *builder) hashJoin(n *node, x *planner.HashJoin) {
	b.join(n, "Hash", x.Kind)
	var conds []expr.Expr
	for i := range x.LeftKeys {
		conds = append(conds, eq(x.LeftKeys[i], x.RightKeys[i]))
	}
	b.condition(n, "Hash Cond", conds)
	if x.Cond != nil {
		b.cond(n, "Join Filter", x.Cond)
		b.removed(n, "Rows Removed by Join Filter", func(s *NodeStats) int64 { return s.RemovedByJoinFilter })
	}
	b.input(n, "Outer", x.Left)
	right := b.node(x.Right)
	h := &node{title: "Hash", kind: "Hash", est: right.est, children: []child{{"Outer", "", right}}}
	h.est.Startup = right.est.Total
	if n.stats != nil {
		h.stats = &NodeStats{}
		if right.stats != nil {
			*h.stats = *right.stats
			h.stats.RemovedByFilter = 0
		}
		buckets, batches := n.stats.Buckets, n.stats.Batches
		if h.stats.Loops > 0 && buckets > 0 {
			h.items = append(h.items,
				item{"Hash Buckets", buckets, false}, item{"Hash Batches", batches, false}, item{"Peak Memory Usage", (n.stats.Memory + 1023) / 1024, false},
				item{"", textLine("Buckets: %d  Batches: %d  Memory Usage: %dkB", buckets, max(batches, 1), (n.stats.Memory+1023)/1024), true})
		}
	}
	n.children = append(n.children, child{"Inner", "", h})
}

func (b *builder) aggregate(n *node, x *planner.Aggregate) {
	n.kind = "Aggregate"
	switch x.Strategy {
	case planner.AggPlain:
		n.hidden("Strategy", "Plain")
		n.title = "Aggregate"
	case planner.AggHash:
		n.hidden("Strategy", "Hashed")
		n.title = "HashAggregate"
	default:
		n.hidden("Strategy", "Sorted")
		n.title = "GroupAggregate"
		if len(x.Aggs) == 0 {
			n.kind, n.title = "Group", "Group"
		}
	}
	n.hidden("Partial Mode", "Simple")
	keys := func(idx []int) []string {
		var out []string
		for _, g := range idx {
			out = append(out, b.d.text(x.GroupBy[g], false))
		}
		return out
	}
	switch {
	case x.Sets != nil:
		for _, s := range x.Sets {
			if len(s) == 0 {
				n.items = append(n.items, item{"Group Key", "()", true})
			} else {
				n.add("Hash Key", keys(s))
			}
		}
	case len(x.GroupBy) > 0:
		all := make([]int, len(x.GroupBy))
		for i := range all {
			all[i] = i
		}
		n.add("Group Key", keys(all))
	}
	if b.opt.Aggregate != nil {
		for _, p := range b.opt.Aggregate(x) {
			n.add(p.Label, p.Value)
		}
	}
	if n.stats != nil && x.Strategy == planner.AggHash && n.stats.Loops > 0 && n.stats.Memory > 0 {
		line := textLine("Batches: %d  Memory Usage: %dkB", max(n.stats.Batches, 1), (n.stats.Memory+1023)/1024)
		if n.stats.Disk > 0 {
			line += textLine("  Disk Usage: %dkB", (n.stats.Disk+1023)/1024)
		}
		n.items = append(n.items, item{"HashAgg Batches", max(n.stats.Batches, 1), false}, item{"Peak Memory Usage", (n.stats.Memory + 1023) / 1024, false},
			item{"Disk Usage", (n.stats.Disk + 1023) / 1024, false}, item{"", line, true})
	}
	b.input(n, "Outer", x.Input)
	for _, a := range x.Aggs {
		b.subPlans(n, a)
	}
}

func (b *builder) sort(n *node, x *planner.Sort) {
	n.kind = "Sort"
	if x.Presorted > 0 {
		n.kind = "Incremental Sort"
	}
	n.add("Sort Key", b.sortKeys(x.Keys))
	if x.Presorted > 0 {
		n.add("Presorted Key", b.sortKeys(x.Keys[:x.Presorted]))
	}
	if s := n.stats; s != nil && s.Loops > 0 && s.SortMethod != "" {
		space, used := "Memory", s.Memory
		if s.Disk > 0 {
			space, used = "Disk", s.Disk
		}
		n.items = append(n.items, item{"Sort Method", s.SortMethod, false}, item{"Sort Space Used", (used + 1023) / 1024, false}, item{"Sort Space Type", space, false},
			item{"", textLine("Sort Method: %s  %s: %dkB", s.SortMethod, space, (used+1023)/1024), true})
	}
	b.input(n, "Outer", x.Input)
}

func (b *builder) sortKeys(keys []planner.SortKey) []string {
	var out []string
	for _, k := range keys {
		t := b.d.text(k.Expr, false)
		if k.Lt != nil {
			t += " USING " + k.Lt.Name
		}
		out = append(out, t+direction(k.Desc, k.NullsFirst))
	}
	return out
}

func (b *builder) modify(n *node, op string, r *catalog.Relation) {
	n.kind = "ModifyTable"
	n.hidden("Operation", op)
	n.hidden("Relation Name", r.Name)
	name := QuoteIdent(r.Name)
	if b.opt.Verbose {
		if s := b.schema(r); s != "" {
			name = QuoteIdent(s) + "." + name
		}
	}
	n.title = op + " on " + name
	n.hidden("Alias", strings.Trim(r.Name, `"`))
}
