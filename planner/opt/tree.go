package opt

import (
	"math"
	"slices"
	"strconv"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
)

// A reference to a partitioned table, or to one that others inherit from, is an
// Append over the tables of its tree. Each of them is planned in a level of its own
// that is the reference's but for the range-table entry: there it is that table, its
// columns in the order of the parent's. So conditions, orders and join keys serve
// parent and children alike, without translation.

// member is one table of a tree.
type member struct {
	rel   *catalog.Relation
	attrs []int16 // by column of the entry: the attribute, 0: it has none
	alias string
}

// members are the tables that entry i stands for, nil when it is one table. A
// partitioned table without partitions has none: the list is not nil but empty.
func (lv *level) members(i int) []*member {
	if ms, ok := lv.trees[i]; ok {
		return ms
	}
	t := lv.rte(i)
	cat := lv.p.ctx.Catalog
	var ms []*member
	if t.Kind == planner.RTERelation && t.Rel != nil && cat != nil {
		switch {
		case t.Rel.Partitioning != nil:
			ms = []*member{}
			if !t.Only {
				var walk func(rel *catalog.Relation)
				n := 0
				walk = func(rel *catalog.Relation) {
					for _, part := range cat.Partitions(rel).Parts {
						n++
						if part.Partitioning != nil {
							walk(part)
							continue
						}
						ms = append(ms, newMember(t, part, n))
					}
				}
				walk(t.Rel)
			}
		case !t.Only && cat.HasChildren(t.Rel.OID):
			for n, rel := range cat.TreeFor(t.Rel, lv.p.ctx.TempSchema) {
				if rel.Persistence == 't' {
					lv.p.plan.Cacheable = false // others have other ones
				}
				if rel.Partitioning == nil {
					ms = append(ms, newMember(t, rel, n+1))
				}
			}
		}
	}
	if lv.trees == nil {
		lv.trees = map[int][]*member{}
	}
	lv.trees[i] = ms
	return ms
}

// newMember is the n-th table below an entry; EXPLAIN calls it by the entry's alias and n.
func newMember(t *planner.RTE, rel *catalog.Relation, n int) *member {
	m := &member{rel: rel, attrs: make([]int16, len(t.Attrs)), alias: t.Alias + "_" + strconv.Itoa(n)}
	to := catalog.AttrsIn(t.Rel, rel)
	for c, a := range t.Attrs {
		if a > 0 {
			m.attrs[c] = to[a-1]
		}
	}
	return m
}

// carryChildColumns gives the entry of a table that is to be written the columns that
// only its children have, so that their whole old rows are in the input.
func (lv *level) carryChildColumns(i int) {
	ms := lv.members(i)
	if ms == nil {
		return
	}
	t := *lv.rte(i)
	t.Cols, t.Attrs = slices.Clone(t.Cols), slices.Clone(t.Attrs)
	for k, m := range ms {
		for _, c := range m.rel.Columns {
			if c.Dropped || slices.Contains(m.attrs, c.Num) {
				continue
			}
			t.Cols = append(t.Cols, planner.Column{Name: c.Name, Type: c.Type, TableOID: m.rel.OID, Attr: c.Num})
			t.Attrs = append(t.Attrs, 0)
			for o := range ms {
				a := int16(0)
				if o == k {
					a = c.Num
				}
				ms[o].attrs = append(ms[o].attrs, a)
			}
		}
	}
	lv.q.Range[i] = &t
}

// written describes the tables of the target's tree for what writes them.
func (lv *level) written(s *upper) []*planner.Member {
	i := lv.q.ResultRel
	ms := lv.locked(i)
	for k, m := range lv.members(i) {
		out := make([]int, len(m.rel.Columns))
		for a := range out {
			out[a] = -1
		}
		for c, a := range m.attrs {
			if a > 0 {
				out[a-1] = s.b.find(&planner.Var{Rel: i, Col: c})
			}
		}
		ms[k].OldCols = out
	}
	return ms
}

// locked describes the tables of an entry's tree for what locks their rows.
func (lv *level) locked(i int) []*planner.Member {
	ms := lv.members(i)
	if ms == nil {
		return nil
	}
	out := make([]*planner.Member, 0, len(ms))
	for _, m := range ms {
		out = append(out, &planner.Member{Rel: m.rel, Attrs: catalog.AttrsIn(lv.rte(i).Rel, m.rel)})
	}
	return out
}

// indexesOf are the indexes whose promises (uniqueness) hold for all rows of an entry.
func (lv *level) indexesOf(i int) []*catalog.Index {
	t := lv.rte(i)
	if lv.members(i) != nil && t.Rel.Partitioning == nil {
		return nil
	}
	return t.Rel.Indexes
}

// treeSize is tableSize of all tables that an entry stands for.
func (lv *level) treeSize(i int) float64 {
	ms := lv.members(i)
	if ms == nil {
		return lv.p.tableSize(lv.rte(i).Rel)
	}
	rows := 0.0
	for _, m := range ms {
		rows += lv.p.tableSize(m.rel)
	}
	return math.Max(1, rows)
}

// childLevel is the level with entry i replaced by a member.
func (lv *level) childLevel(i int, m *member) *level {
	if lv.deps == nil {
		lv.deps = map[int]*level{}
	}
	if lv.params == nil {
		lv.params = map[string]int{}
	}
	if lv.owned == nil {
		lv.owned = map[int]expr.Expr{}
	}
	c, q, t := *lv, *lv.q, *lv.rte(i)
	t.Rel, t.Attrs, t.Alias, t.Only = m.rel, m.attrs, m.alias, true
	q.Range = slices.Clone(lv.q.Range)
	q.Range[i] = &t
	parent := lv.rel(i)
	c.q, c.trees = &q, map[int][]*member{i: nil}
	c.rels = slices.Clone(lv.rels)
	r := &rel{rels: relOf(i), base: i, restrict: parent.restrict, width: parent.width, lateral: parent.lateral, tuples: lv.p.tableSize(m.rel)}
	for _, n := range parent.needed {
		if n < 0 || m.attrs[n] > 0 {
			r.needed = append(r.needed, n)
		}
	}
	c.rels[i] = r
	var live []expr.Expr
	for _, cl := range r.restrict {
		if !cl.derived {
			live = append(live, cl.e)
		}
	}
	r.rows = clampRows(r.tuples * c.conjunctionSel(live))
	return &c
}

// treeInput is one input of the Append of a tree.
type treeInput struct {
	lv   *level
	path *path
}

// treePaths makes the ways to read a tree: one table after the other, or merged in
// an order that each of them has.
func (lv *level) treePaths(i int, ms []*member) {
	r := lv.rel(i)
	keep, prune := lv.pruneTree(i, ms, nil)
	var levels []*level
	for k, m := range ms {
		if !keep[k] {
			continue
		}
		c := lv.childLevel(i, m)
		c.tablePaths(i)
		levels = append(levels, c)
	}
	removed := len(ms) - len(levels)
	if len(levels) == 0 {
		r.rows, r.empty = 1, true
		r.addPath(&path{rel: r, rows: 1, leaf: func(need map[varKey]bool) built { return lv.emptyLeaf(i, need) }})
		return
	}
	r.rows = 0
	for _, c := range levels {
		r.rows += c.rel(i).rows
	}
	if len(levels) == 1 {
		c := levels[0]
		for _, p := range c.rel(i).paths {
			q := *p
			q.rel, q.scan = r, nil
			q.leaf = func(need map[varKey]bool) built { return lv.treeMember(i, treeInput{c, p}, need) }
			r.addPath(&q)
		}
		return
	}
	var plain []treeInput
	for _, c := range levels {
		plain = append(plain, treeInput{c, c.rel(i).cheapest(r.lateral)})
	}
	lv.addAppend(i, plain, nil, prune, removed)
	var tried [][]pathKey
	for _, c := range levels {
		for _, p := range c.rel(i).paths {
			if len(p.order) == 0 || !lv.usefulOrder(p.order) || slices.ContainsFunc(tried, func(o []pathKey) bool { return orderCovers(o, p.order) }) {
				continue
			}
			tried = append(tried, p.order)
			if ins := orderedInputs(i, levels, p.order); ins != nil {
				lv.addAppend(i, ins, p.order, prune, removed)
			}
		}
	}
}

// orderedInputs are the members' cheapest paths that have an order; nil when one has none.
func orderedInputs(i int, levels []*level, order []pathKey) []treeInput {
	var out []treeInput
	for _, c := range levels {
		var best *path
		for _, p := range c.rel(i).paths {
			if orderCovers(p.order, order) && (best == nil || p.total < best.total) {
				best = p
			}
		}
		if best == nil {
			return nil
		}
		out = append(out, treeInput{c, best})
	}
	return out
}

// addAppend adds the path that reads all inputs; with an order they are merged.
func (lv *level) addAppend(i int, ins []treeInput, order []pathKey, prune *planner.Pruning, removed int) {
	r := lv.rel(i)
	var keys []*planner.Var
	for _, k := range order {
		v := lv.orderColumn(i, k.id)
		if v == nil {
			break
		}
		keys = append(keys, v)
	}
	order = order[:len(keys)]
	p := &path{rel: r, rows: r.rows, req: r.lateral, order: order}
	for n, in := range ins {
		p.total += in.path.total + in.path.rows*costEmit/2
		if n == 0 || len(order) > 0 {
			p.startup += in.path.startup
		}
		p.req = p.req.union(in.path.req)
	}
	if len(order) > 0 {
		p.total += r.rows * costOp * math.Log2(float64(len(ins)+1))
	}
	p.leaf = func(need map[varKey]bool) built { return lv.buildTree(i, p, ins, keys, prune, removed, need) }
	r.addPath(p)
}

// orderColumn is the column of entry i that an order is by.
func (lv *level) orderColumn(i int, id string) *planner.Var {
	t := lv.rte(i)
	for c, col := range t.Cols {
		v := &planner.Var{T: expr.T{Typ: col.Type}, Rel: i, Col: c, Name: col.Name}
		if o, constant := lv.orderID(v); !constant && o == id && hasCol(lv.rel(i).needed, c) {
			return v
		}
	}
	return nil
}

func hasCol(list []int, c int) bool { return slices.Contains(list, c) }

// treeLookups are look-ups in every table of a tree by values of outer relations.
func (lv *level) treeLookups(i int, ms []*member, outer relSet, extra []*clause) []*path {
	r := lv.rel(i)
	keep, prune := lv.pruneTree(i, ms, extra)
	p := &path{rel: r}
	var ins []treeInput
	indexed := false
	for k, m := range ms {
		if !keep[k] {
			continue
		}
		c := lv.childLevel(i, m)
		c.tablePaths(i)
		best := c.rel(i).cheapest(r.lateral)
		for _, q := range c.indexPaths(i, outer, extra) {
			if best == nil || q.total < best.total {
				best = q
			}
		}
		if best == nil {
			return nil
		}
		indexed = indexed || best.scan != nil && len(best.scan.ranges) > 0
		ins = append(ins, treeInput{c, best})
		p.total += best.total
		p.rows += best.rows
		p.req = p.req.union(best.req)
	}
	if len(ins) == 0 || !indexed && prune == nil {
		return nil
	}
	p.req = p.req.union(lv.pruneRels(prune, i))
	if prune != nil {
		p.total /= float64(len(ins))
		p.rows = math.Max(1, p.rows/float64(len(ins)))
	}
	p.leaf = func(need map[varKey]bool) built {
		return lv.buildTree(i, p, ins, nil, prune, len(ms)-len(ins), need)
	}
	return []*path{p}
}

// treeMember builds one table of a tree with the columns that the parent's would have.
func (lv *level) treeMember(i int, in treeInput, need map[varKey]bool) built {
	in.lv.pending = lv.pending
	b := in.lv.build(in.path, need)
	lv.pending = in.lv.pending
	cols, vars := lv.leafColumns(i, need)
	out := built{node: b.node, cols: vars}
	same := len(b.cols) == len(vars)
	n := &planner.Project{Input: b.node}
	n.Columns = cols
	for k, v := range vars {
		at := b.find(v)
		same = same && at == k
		if at < 0 {
			n.Exprs = append(n.Exprs, nullConst(cols[k].Type))
			continue
		}
		n.Exprs = append(n.Exprs, &expr.Col{T: expr.T{Typ: cols[k].Type}, Idx: at, Name: lv.colName(v)})
	}
	if same {
		return out
	}
	n.Estimate = *b.node.Est()
	out.node = n
	return out
}

// buildTree builds the Append, or MergeAppend, of a tree.
func (lv *level) buildTree(i int, p *path, ins []treeInput, keys []*planner.Var, prune *planner.Pruning, removed int, need map[varKey]bool) built {
	if len(keys) > 0 {
		more := make(map[varKey]bool, len(need)+len(keys))
		for k := range need {
			more[k] = true
		}
		for _, k := range keys {
			more[keyOf(k)] = true
		}
		need = more
	}
	if prune != nil {
		prune = lv.buildPruning(prune, removed)
	}
	var nodes []planner.Node
	for _, in := range ins {
		nodes = append(nodes, lv.treeMember(i, in, need).node)
	}
	cols, vars := lv.leafColumns(i, need)
	b := built{cols: vars}
	est := lv.estimate(p, p.rel.width)
	if len(keys) == 0 {
		n := &planner.Append{Inputs: nodes, Prune: prune}
		n.Columns, n.Estimate = cols, est
		b.node = n
		return b
	}
	n := &planner.MergeAppend{Inputs: nodes, Prune: prune}
	n.Columns, n.Estimate = cols, est
	for k, v := range keys {
		n.Keys = append(n.Keys, planner.SortKey{Expr: lv.resolve(v, b), Desc: p.order[k].desc, NullsFirst: p.order[k].nullsFirst})
	}
	b.node = n
	return b
}
