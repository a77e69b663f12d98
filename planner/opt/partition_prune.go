package opt

import (
	"slices"
	"strconv"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// pruneTree decides by the conditions on entry i which of its members can have rows.
// Values that are known only later (parameters; extra: columns of relations further
// out in a nested loop) give a Pruning for the execution, nil when there are none; its
// values are still over the level's columns, see buildPruning.
func (lv *level) pruneTree(i int, ms []*member, extra []*clause) ([]bool, *planner.Pruning) {
	keep := make([]bool, len(ms))
	for k := range keep {
		keep[k] = true
	}
	t := lv.rte(i)
	if t.Rel.Partitioning == nil || len(ms) == 0 {
		nameMembers(t, ms, keep)
		return keep, nil
	}
	cat := lv.p.ctx.Catalog
	var conds []expr.Expr
	for _, c := range lv.rel(i).restrict {
		if !volatileExpr(c.e) && !hasSubPlan(c.e) {
			conds = append(conds, c.e)
		}
	}
	var joins []expr.Expr
	for _, c := range extra {
		joins = append(joins, c.e)
	}
	at := map[sqltypes.OID]int{}
	for k, m := range ms {
		at[m.rel.OID] = k
	}
	later := &planner.Pruning{}
	// below returns the members of a partitioned table and prunes them.
	var below func(rel *catalog.Relation) []int
	below = func(rel *catalog.Relation) []int {
		parts := cat.Partitions(rel)
		keys := lv.partitionKeys(i, rel)
		live := lv.keptParts(i, parts, keys, conds)
		var all []int
		step := planner.PruneStep{Parts: parts, Inputs: make([][]int, len(parts.Parts))}
		for k, part := range parts.Parts {
			var in []int
			if part.Partitioning != nil {
				in = below(part)
			} else {
				in = []int{at[part.OID]}
			}
			if !live[k] {
				for _, m := range in {
					keep[m] = false
				}
			}
			step.Inputs[k] = in
			all = append(all, in...)
		}
		if known := lv.laterConds(i, keys, append(conds[:len(conds):len(conds)], joins...)); len(known) > 0 {
			step.Conds = known
			later.Steps = append(later.Steps, step)
		}
		return all
	}
	below(t.Rel)
	nameMembers(t, ms, keep)
	if len(later.Steps) == 0 {
		return keep, nil
	}
	// Number the inputs as the Append will have them.
	number := make([]int, len(ms))
	n := 0
	for k := range ms {
		number[k] = -1
		if keep[k] {
			number[k] = n
			n++
		}
	}
	for s := range later.Steps {
		for k, in := range later.Steps[s].Inputs {
			var out []int
			for _, m := range in {
				if number[m] >= 0 {
					out = append(out, number[m])
				}
			}
			later.Steps[s].Inputs[k] = out
		}
	}
	return keep, later
}

// nameMembers numbers the tables of a tree as EXPLAIN does: those that are left. One
// alone has the entry's own name.
func nameMembers(t *planner.RTE, ms []*member, keep []bool) {
	n := 0
	var last *member
	for k, m := range ms {
		if keep[k] {
			n++
			m.alias = t.Alias + "_" + strconv.Itoa(n)
			last = m
		}
	}
	if n == 1 {
		last.alias = t.Alias
	}
}

// partitionKeys are the key of a partitioned table of the tree over the entry's
// columns; nil for what cannot be told.
func (lv *level) partitionKeys(i int, rel *catalog.Relation) []expr.Expr {
	t := lv.rte(i)
	m := newMember(t, rel, 0)
	keys := make([]expr.Expr, len(rel.Partitioning.Keys))
	var exprs []expr.Expr
	for k, key := range rel.Partitioning.Keys {
		if key.Attr == 0 {
			if exprs == nil && lv.p.ctx.PartitionExprs != nil {
				exprs = lv.p.ctx.PartitionExprs(rel)
			}
			if k < len(exprs) && exprs[k] != nil {
				keys[k] = lv.p.simplify(memberVars(t, i, m, exprs[k]))
			}
			continue
		}
		if c := slices.Index(m.attrs, key.Attr); c >= 0 {
			keys[k] = &planner.Var{T: expr.T{Typ: t.Cols[c].Type}, Rel: i, Col: c, Name: t.Cols[c].Name}
		}
	}
	return keys
}

// memberVars turns an expression over a member's attributes into one over the entry's columns.
func memberVars(t *planner.RTE, i int, m *member, e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Col); ok {
		if at := slices.Index(m.attrs, int16(c.Idx+1)); at >= 0 {
			return &planner.Var{T: expr.T{Typ: t.Cols[at].Type}, Rel: i, Col: at, Name: t.Cols[at].Name}
		}
		return e
	}
	return mapChildren(e, func(x expr.Expr) expr.Expr { return memberVars(t, i, m, x) })
}

// keptParts prunes by conditions whose values are constants.
func (lv *level) keptParts(i int, parts *catalog.Partitions, keys, conds []expr.Expr) []bool {
	var known []catalog.KeyCond
	var ors []*expr.Or
	for _, e := range conds {
		if isFalseOrNull(e) {
			return make([]bool, len(parts.Parts))
		}
		if o, ok := e.(*expr.Or); ok {
			ors = append(ors, o)
			continue
		}
		if c := lv.keyCond1(i, keys, e); c != nil {
			if k, ok := constCond(c); ok {
				known = append(known, k)
			}
		}
	}
	keep := parts.Keep(known)
	for _, o := range ors {
		union := make([]bool, len(keep))
		for _, arm := range o.Args {
			if hasOr(arm) {
				copy(union, keep)
				break
			}
			both := append(conjuncts(arm), conds...)
			both = slices.DeleteFunc(both, func(e expr.Expr) bool { _, ok := e.(*expr.Or); return ok })
			for k, y := range lv.keptParts(i, parts, keys, both) {
				union[k] = union[k] || y
			}
		}
		for k := range keep {
			keep[k] = keep[k] && union[k]
		}
	}
	return keep
}

func hasOr(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool { _, ok := x.(*expr.Or); return ok })
}

// laterConds are the conditions on the key whose values the execution will know.
func (lv *level) laterConds(i int, keys, conds []expr.Expr) []planner.PruneCond {
	var out []planner.PruneCond
	later := false
	for _, e := range conds {
		c := lv.keyCond1(i, keys, e)
		if c == nil {
			continue
		}
		if _, ok := constCond(c); !ok {
			later = true
		}
		out = append(out, *c)
	}
	if !later {
		return nil
	}
	return out
}

// constCond is the condition with its values, if they are constants.
func constCond(c *planner.PruneCond) (catalog.KeyCond, bool) {
	out := catalog.KeyCond{Key: c.Key, Op: c.Op}
	if c.Array {
		elems, ok := constElems(c.Values[0])
		out.Values = elems
		return out, ok
	}
	for _, v := range c.Values {
		k, ok := isConst(v)
		if !ok {
			return out, false
		}
		out.Values = append(out.Values, k.Val)
	}
	return out, true
}

// keyCond1 recognises a condition on one column of a partition key.
func (lv *level) keyCond1(i int, keys []expr.Expr, e expr.Expr) *planner.PruneCond {
	key := func(x expr.Expr) int {
		x = stripRelabel(x)
		return slices.IndexFunc(keys, func(k expr.Expr) bool { return k != nil && sameExpr(stripRelabel(k), x) })
	}
	switch n := e.(type) {
	case *expr.NullTest:
		if k := key(n.Arg); k >= 0 && !n.Row {
			if n.IsNot {
				return &planner.PruneCond{Key: k, Op: 'N'}
			}
			return &planner.PruneCond{Key: k, Op: 'n'}
		}
		return nil
	case *expr.ArrayOp:
		k := key(n.Left)
		if k < 0 || n.All || !lv.boundable(i, n.Array) {
			return nil
		}
		op := operatorOfProc(n.Proc, n.Op)
		if op == nil || !sameRepresentation(keys[k].Type().OID, lv.p.elemType(n.Array.Type().OID)) {
			return nil
		}
		if st, _ := btreeStrategy(op, 0); st != sqltypes.BtreeEqual {
			return nil
		}
		return &planner.PruneCond{Key: k, Op: '=', Values: []expr.Expr{n.Array}, Array: true}
	case *expr.Not, *expr.BoolTest, *planner.Var:
		for k, x := range keys {
			if x != nil && x.Type().OID == oidBool {
				if m := boolMatch(&clause{e: e}, x); m != nil {
					return &planner.PruneCond{Key: k, Op: '=', Values: []expr.Expr{m.eq}}
				}
			}
		}
		return nil
	}
	b, ok := asBinary(e)
	if !ok {
		return nil
	}
	k := key(b.left)
	if k < 0 || !lv.boundable(i, b.right) {
		if b, ok = b.commute(); !ok {
			return nil
		}
		if k = key(b.left); k < 0 || !lv.boundable(i, b.right) {
			return nil
		}
	}
	st, _ := btreeStrategy(b.op, 0)
	if st == 0 {
		return nil
	}
	val, exact, ok := lv.boundValue(keys[k], b.right, st)
	if !ok || !exact && st == sqltypes.BtreeEqual {
		return nil
	}
	op := map[int]byte{sqltypes.BtreeLess: '<', sqltypes.BtreeLessEqual: 'l', sqltypes.BtreeEqual: '=', sqltypes.BtreeGreaterEqual: 'g', sqltypes.BtreeGreater: '>'}[st]
	if !exact {
		op = map[byte]byte{'<': 'l', '>': 'g', 'l': 'l', 'g': 'g'}[op]
	}
	return &planner.PruneCond{Key: k, Op: op, Values: []expr.Expr{val}}
}

// pruneRels are the relations whose columns a Pruning reads.
func (lv *level) pruneRels(p *planner.Pruning, i int) relSet {
	var out relSet
	if p == nil {
		return out
	}
	for _, s := range p.Steps {
		for _, c := range s.Conds {
			for _, v := range c.Values {
				out = out.union(relsOf(v))
			}
		}
	}
	return out.minus(relOf(i))
}

// buildPruning makes the values expressions over parameters.
func (lv *level) buildPruning(p *planner.Pruning, removed int) *planner.Pruning {
	out := &planner.Pruning{Removed: removed}
	for _, s := range p.Steps {
		c := s
		c.Conds = slices.Clone(s.Conds)
		for k := range c.Conds {
			vals := make([]expr.Expr, len(c.Conds[k].Values))
			for n, v := range c.Conds[k].Values {
				vals[n] = lv.resolve(lv.lateralParams(v), built{})
			}
			c.Conds[k].Values = vals
		}
		out.Steps = append(out.Steps, c)
	}
	return out
}
