package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/explain"
)

// built is a node with what each of its columns stands for.
type built struct {
	node planner.Node
	cols []expr.Expr
	pos  map[string]int // by exprKey, made on first use
	// computed: some columns are not plain Vars.
	computed bool
}

func (b *built) index() map[string]int {
	if b.pos == nil {
		b.pos = make(map[string]int, len(b.cols))
		for i, c := range b.cols {
			if c == nil {
				continue
			}
			k := exprKey(c)
			if _, dup := b.pos[k]; !dup {
				b.pos[k] = i
			}
			if _, ok := c.(*planner.Var); !ok {
				b.computed = true
			}
		}
	}
	return b.pos
}

// find is the column that holds e, or -1.
func (b *built) find(e expr.Expr) int {
	if i, ok := b.index()[exprKey(e)]; ok {
		return i
	}
	return -1
}

// resolve turns an expression over the level's columns into one over b's.
func (lv *level) resolve(e expr.Expr, b built) expr.Expr {
	b.index()
	return lv.resolveIn(e, &b)
}

func (lv *level) resolveAll(es []expr.Expr, b built) []expr.Expr {
	b.index()
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = lv.resolveIn(e, &b)
	}
	return out
}

func (lv *level) resolveIn(e expr.Expr, b *built) expr.Expr {
	switch n := e.(type) {
	case nil:
		return nil
	case *expr.Const, *expr.Param, *expr.ExecParam:
		return e
	case *planner.Var:
		if i := b.find(n); i >= 0 {
			return &expr.Col{T: n.T, Idx: i, Name: lv.colName(b.cols[i])}
		}
		lv.p.bug("column %s (%d.%d) is not in its input", n.Name, n.Rel, n.Col)
		return nullConst(n.Typ)
	case *expr.Agg, *expr.Grouping, *expr.Window:
		if i := b.find(n); i >= 0 {
			return &expr.Col{T: expr.T{Typ: e.Type()}, Idx: i, Name: lv.colName(e)}
		}
		lv.p.bug("%T is not in its input", e)
		return nullConst(e.Type())
	}
	if b.computed {
		if i := b.find(e); i >= 0 {
			return &expr.Col{T: expr.T{Typ: e.Type()}, Idx: i, Name: lv.colName(e)}
		}
	}
	return mapChildren(e, func(x expr.Expr) expr.Expr { return lv.resolveIn(x, b) })
}

// colName is how EXPLAIN shows a column: qualified, or the parenthesised
// expression it was computed by.
func (lv *level) colName(e expr.Expr) string {
	if !lv.p.ctx.Explain {
		if v, ok := e.(*planner.Var); ok {
			return v.Name
		}
		return ""
	}
	return explain.ColumnText(e, lv.name)
}

// name is the text of a Var.
func (lv *level) name(v *planner.Var) string {
	if v.Rel >= 0 && v.Rel < len(lv.q.Range) && lv.p.qualify {
		return explain.QuoteIdent(lv.q.Range[v.Rel].Alias) + "." + lv.plainName(v)
	}
	return lv.plainName(v)
}

// plainName is name without the relation.
func (lv *level) plainName(v *planner.Var) string {
	name := v.Name
	if v.Rel >= 0 && v.Rel < len(lv.q.Range) {
		if t := lv.q.Range[v.Rel]; v.Col >= 0 && v.Col < len(t.Cols) {
			name = t.Cols[v.Col].Name
		}
	}
	return explain.QuoteIdent(name)
}

// condOf resolves clauses into one condition; nil for none.
func (lv *level) condOf(cs []*clause, b built) expr.Expr {
	var out []expr.Expr
	for _, c := range cs {
		out = append(out, lv.resolve(c.e, b))
	}
	return andOf(out)
}

// addVars adds the columns of this level that e reads, those its subplans need included.
func addVars(need map[varKey]bool, e expr.Expr) {
	planner.Visit(e, func(x expr.Expr) bool {
		if v, ok := x.(*planner.Var); ok && v.Level == 0 {
			need[keyOf(v)] = true
		}
		return true
	})
}

func withVars(need map[varKey]bool, cs []*clause) map[varKey]bool {
	if len(cs) == 0 {
		return need
	}
	out := make(map[varKey]bool, len(need)+4)
	for k := range need {
		out[k] = true
	}
	for _, c := range cs {
		addVars(out, c.e)
	}
	return out
}

// build makes the node of a path; need are the columns that anything above reads.
func (lv *level) build(p *path, need map[varKey]bool) built {
	switch {
	case p.scan != nil:
		return lv.buildScan(p, need)
	case p.join != nil:
		return lv.buildJoin(p, need)
	case p.unique != nil:
		return lv.buildUnique(p)
	}
	return p.leaf(need)
}

func (lv *level) estimate(p *path, width int) planner.Estimate {
	return planner.Estimate{Rows: clampRows(p.rows), Width: width, Startup: p.startup, Total: p.total}
}

func (lv *level) buildScan(p *path, need map[varKey]bool) built {
	i := p.rel.base
	t := lv.rte(i)
	var rest []*clause
	for _, c := range p.rel.restrict {
		if !p.scan.exact[c] {
			rest = append(rest, c)
		}
	}
	need = withVars(need, rest)
	n := &planner.Scan{Rel: t.Rel, Alias: t.Alias, Index: p.scan.index, Reverse: p.scan.reverse, RefSlot: -1, IndexOnly: p.scan.indexOnly}
	var b built
	n.Columns, b.cols = lv.leafColumns(i, need)
	for _, v := range b.cols {
		n.Attrs = append(n.Attrs, attrOf(t, v.(*planner.Var).Col))
	}
	if slot, ok := lv.refSlots[i]; ok {
		n.RefSlot = slot
	}
	for _, r := range p.scan.ranges {
		n.Ranges = append(n.Ranges, lv.buildRange(r))
	}
	if len(p.scan.conds) > 0 {
		n.IndexCond = lv.keyCond(i, p.scan.conds)
	}
	n.Filter = lv.condOf(rest, b)
	if t.Sample != nil {
		s := *t.Sample
		s.Percent = lv.lateralParams(s.Percent)
		if s.Seed != nil {
			s.Seed = lv.lateralParams(s.Seed)
		}
		n.Sample = &s
	}
	n.Estimate = lv.estimate(p, p.rel.width)
	b.node = n
	return b
}

func (lv *level) buildRange(r planner.KeyRange) planner.KeyRange {
	eq := make([]expr.Expr, len(r.Eq))
	for i, e := range r.Eq {
		if e != nil {
			eq[i] = lv.lateralParams(e)
		}
	}
	r.Eq = eq
	if r.Lower != nil {
		r.Lower = lv.lateralParams(r.Lower)
	}
	if r.Upper != nil {
		r.Upper = lv.lateralParams(r.Upper)
	}
	return r
}

// keyCond is the index condition as EXPLAIN shows it: the table's columns by name.
func (lv *level) keyCond(i int, conds []expr.Expr) expr.Expr {
	out := make([]expr.Expr, len(conds))
	for k, e := range conds {
		out[k] = mapVars(e, 0, func(v *planner.Var, _ int) expr.Expr {
			if v.Level == 0 && v.Rel == i {
				// It is the index's column: PostgreSQL names no relation before it.
				return &expr.Col{T: v.T, Idx: -1, Name: lv.plainName(v)}
			}
			if v.Level != 0 || v.Rel < 0 {
				return v
			}
			return lv.nestParam(v)
		})
	}
	return andOf(out)
}

func (lv *level) buildUnique(p *path) built {
	need := map[varKey]bool{}
	for _, v := range p.unique.vars {
		need[keyOf(v)] = true
	}
	in := lv.build(p.unique.input, need)
	n := &planner.Aggregate{Input: in.node, Strategy: planner.AggHash}
	b := built{node: n}
	for _, v := range p.unique.vars {
		n.GroupBy = append(n.GroupBy, lv.resolve(v, in))
		n.Columns = append(n.Columns, planner.Column{Name: v.Name, Type: v.Typ})
		b.cols = append(b.cols, v)
	}
	n.Estimate = lv.estimate(p, p.rel.width)
	return b
}

// prune puts a projection above b when it has columns that are not needed.
func (lv *level) prune(b built, need map[varKey]bool) built {
	var keep []int
	for i, c := range b.cols {
		if v, ok := c.(*planner.Var); !ok || need[keyOf(v)] {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(b.cols) {
		return b
	}
	n := &planner.Project{Input: b.node}
	out := built{node: n}
	w := 0
	for _, i := range keep {
		n.Exprs = append(n.Exprs, &expr.Col{T: expr.T{Typ: b.cols[i].Type()}, Idx: i, Name: lv.colName(b.cols[i])})
		n.Columns = append(n.Columns, b.node.Out()[i])
		out.cols = append(out.cols, b.cols[i])
		w += lv.p.typeWidth(b.cols[i].Type())
	}
	n.Estimate = *b.node.Est()
	n.Estimate.Width = w
	return out
}

func (lv *level) buildJoin(p *path, need map[varKey]bool) built {
	j := p.join
	above := withVars(need, j.filter)
	inner := withVars(withVars(above, j.cond), j.keys)
	outerPending := lv.pending
	lv.pending = nil
	right := lv.prune(lv.build(j.right, inner), inner)
	var params []planner.NestParam
	left := inner
	var vars []nestNeed
	if j.method == 'n' {
		var still []nestNeed
		for _, v := range lv.pending {
			if !j.left.rel.rels.has(v.v.Rel) {
				still = append(still, v)
				continue
			}
			vars = append(vars, v)
		}
		lv.pending = still
		if len(vars) > 0 {
			left = make(map[varKey]bool, len(inner)+len(vars))
			for k := range inner {
				left[k] = true
			}
			for _, v := range vars {
				left[keyOf(v.v)] = true
			}
		}
	}
	fromRight := lv.pending
	lv.pending = nil
	lb := lv.prune(lv.build(j.left, left), left)
	lv.pending = append(append(outerPending, fromRight...), lv.pending...)
	for _, v := range vars {
		params = append(params, planner.NestParam{ID: v.id, Expr: lv.resolve(v.v, lb)})
	}
	both := built{cols: append(append([]expr.Expr(nil), lb.cols...), right.cols...)}
	semi := j.kind == planner.JoinSemi || j.kind == planner.JoinAnti
	columns := append([]planner.Column(nil), lb.node.Out()...)
	b := built{cols: lb.cols}
	if !semi {
		columns = append(columns, right.node.Out()...)
		b.cols = both.cols
	}
	est := lv.estimate(p, p.rel.width)
	switch j.method {
	case 'h':
		n := &planner.HashJoin{Left: lb.node, Right: right.node, Kind: j.kind, Cond: lv.condOf(j.cond, both)}
		for _, c := range j.keys {
			l, r := c.bin.left, c.bin.right
			if !c.leftRels.in(j.left.rel.rels) {
				l, r = r, l
			}
			n.LeftKeys = append(n.LeftKeys, lv.resolve(l, lb))
			n.RightKeys = append(n.RightKeys, lv.resolve(r, right))
		}
		if j.constKey {
			n.LeftKeys, n.RightKeys = []expr.Expr{boolConst(true)}, []expr.Expr{boolConst(true)}
		}
		n.Columns, n.Estimate = columns, est
		b.node = n
	case 'm':
		n := &planner.MergeJoin{Left: lb.node, Right: right.node, Kind: j.kind, Cond: lv.condOf(j.cond, both)}
		for _, c := range j.keys {
			l, r := c.bin.left, c.bin.right
			if !c.leftRels.in(j.left.rel.rels) {
				l, r = r, l
			}
			lk := lv.resolve(l, lb)
			n.LeftKeys = append(n.LeftKeys, lk)
			n.RightKeys = append(n.RightKeys, lv.resolve(r, right))
			n.Keys = append(n.Keys, planner.SortKey{Expr: lk})
		}
		n.Columns, n.Estimate = columns, est
		b.node = n
	default:
		inner := right.node
		if j.flat && !keepsRows(inner) {
			m := &planner.Materialize{Input: inner}
			m.Columns, m.Estimate = inner.Out(), *inner.Est()
			m.Estimate.Total += inner.Est().Rows * costEmit
			inner = m
		}
		n := &planner.NestLoop{Left: lb.node, Right: inner, Kind: j.kind, Cond: lv.condOf(j.cond, both), Params: params}
		n.Columns, n.Estimate = columns, est
		b.node = n
	}
	if cond := lv.condOf(j.filter, b); cond != nil {
		f := &planner.Filter{Input: b.node, Cond: cond}
		f.Columns, f.Estimate = b.node.Out(), est
		b.node = f
		b.pos = nil
	}
	return lv.prune(b, need)
}

// keepsRows: rescanning costs no more than reading kept rows.
func keepsRows(n planner.Node) bool {
	switch x := n.(type) {
	case *planner.Values, *planner.Materialize, *planner.Result, *planner.Empty:
		return true
	case *planner.CTEScan:
		return x.Filter == nil
	case *planner.WorkTableScan:
		return x.Filter == nil
	}
	return false
}

// nodeWidth sums the widths of columns.
func (p *planning) nodeWidth(cols []expr.Expr) int {
	w := 0
	for _, c := range cols {
		w += p.typeWidth(c.Type())
	}
	return w
}
