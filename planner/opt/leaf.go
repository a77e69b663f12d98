package opt

import (
	"math"
	"sort"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// rel returns the base relation of a range index, making it on first use.
func (lv *level) rel(i int) *rel {
	if lv.rels == nil {
		lv.rels = make([]*rel, len(lv.q.Range))
	}
	for len(lv.rels) <= i {
		lv.rels = append(lv.rels, nil)
	}
	if lv.rels[i] == nil {
		lv.rels[i] = &rel{rels: relOf(i), base: i}
	}
	return lv.rels[i]
}

// sizeRels estimates the base relations' rows before restrictions; subqueries are planned later.
func (lv *level) sizeRels() {
	for _, i := range lv.allRels.members() {
		r, t := lv.rel(i), lv.rte(i)
		switch t.Kind {
		case planner.RTERelation:
			r.tuples = lv.treeSize(i)
			if t.Sample != nil {
				f := 0.1
				if c, ok := lv.p.evalStable(t.Sample.Percent); ok && !c.Val.Null {
					f = clampSel(c.Val.Float() / 100)
				}
				r.tuples = math.Max(1, r.tuples*f)
			}
		case planner.RTEVirtual:
			r.tuples = virtualTuples(t.Virtual)
		case planner.RTEFunction:
			r.tuples = lv.functionRows(t)
		case planner.RTEValues:
			r.tuples = float64(len(t.Values))
		case planner.RTECTE:
			r.tuples = defaultRows
			if _, est := lv.findCTE(t.CTE); est != nil {
				r.tuples = est.Rows
				if t.SelfRef {
					r.tuples = math.Max(10, est.Rows)
				}
			}
		case planner.RTEResult:
			r.tuples = 1
		default:
			r.tuples = defaultRows
		}
		r.tuples = math.Max(1, r.tuples)
		r.needed = lv.columnsOf(i)
		for _, c := range r.needed {
			r.width += lv.columnWidth(t, c)
		}
		r.lateral = lv.lateralRefs(t)
	}
}

func (lv *level) columnWidth(t *planner.RTE, col int) int {
	if col < 0 || col >= len(t.Cols) {
		return 6
	}
	if t.Kind == planner.RTERelation && lv.p.ctx.Catalog != nil {
		if st := lv.p.ctx.Catalog.Stats(t.Rel.OID); st != nil {
			if c := st.Columns[t.Attrs[col]]; c != nil && c.AvgWidth > 0 {
				return int(math.Ceil(c.AvgWidth))
			}
		}
	}
	return lv.p.typeWidth(t.Cols[col].Type)
}

// columnsOf lists the columns of a relation that anything reads.
func (lv *level) columnsOf(i int) []int {
	var out []int
	for k := range lv.used {
		if k.rel == i {
			out = append(out, k.col)
		}
	}
	sort.Ints(out)
	return out
}

func (lv *level) functionRows(t *planner.RTE) float64 {
	rows := 1.0
	for _, c := range t.Calls {
		n := 1.0
		if c.Proc.RetSet {
			n = math.Max(1, float64(c.Proc.Rows))
			if c.Proc.Rows == 0 {
				n = 100
			}
			if c.Proc.Name == "generate_series" && len(c.Args) >= 2 {
				a, aok := lv.p.evalStable(c.Args[0])
				b, bok := lv.p.evalStable(c.Args[1])
				if ty := lv.p.typ(c.Args[0].Type().OID); aok && bok && ty != nil && ty.Kind == sqltypes.KInt && !a.Val.Null && !b.Val.Null {
					step := 1.0
					if len(c.Args) == 3 {
						if s, ok := lv.p.evalStable(c.Args[2]); ok && !s.Val.Null && s.Val.I != 0 && s.Val.S == "" {
							step = float64(s.Val.I)
						}
					}
					if c.Args[0].Type().OID != oidTimestamp && c.Args[0].Type().OID != 1184 {
						n = math.Max(1, math.Floor((float64(b.Val.I)-float64(a.Val.I))/step)+1)
					}
				}
			}
			if elems, ok := constElems(firstArg(c)); ok && c.Proc.Name == "unnest" {
				n = float64(len(elems))
			}
		}
		rows = math.Max(rows, n)
	}
	return rows
}

func firstArg(c *expr.Call) expr.Expr {
	if len(c.Args) == 0 {
		return nil
	}
	return c.Args[0]
}

// lateralRefs are the relations of this level that an entry's own expressions read.
func (lv *level) lateralRefs(t *planner.RTE) relSet {
	var s relSet
	add := func(v *planner.Var, depth int) {
		if v.Level == depth && v.Rel >= 0 {
			s = s.union(relOf(v.Rel))
		}
	}
	switch t.Kind {
	case planner.RTESubquery:
		if t.Sub != nil {
			visitQueryVars(t.Sub, 1, add)
		}
	case planner.RTEFunction:
		for _, c := range t.Calls {
			visitVars(c, 0, add)
		}
	case planner.RTEValues:
		for _, row := range t.Values {
			for _, e := range row {
				visitVars(e, 0, add)
			}
		}
	}
	if t.Sample != nil {
		visitVars(t.Sample.Percent, 0, add)
		visitVars(t.Sample.Seed, 0, add)
	}
	return s
}

// leafPaths makes the ways to read a base relation.
func (lv *level) leafPaths(i int) {
	r, t := lv.rel(i), lv.rte(i)
	lv.orderRestrict(r)
	r.empty = lv.contradiction(r.restrict)
	if r.empty {
		r.rows = 1
		r.addPath(&path{rel: r, rows: 1, leaf: func(need map[varKey]bool) built { return lv.emptyLeaf(i, need) }})
		return
	}
	if t.Kind == planner.RTESubquery {
		lv.subqueryLeaf(i)
		return
	}
	var live []expr.Expr
	for _, c := range r.restrict {
		if !c.derived {
			live = append(live, c.e)
		}
	}
	r.rows = clampRows(r.tuples * lv.conjunctionSel(live))
	if t.Kind == planner.RTERelation {
		if ms := lv.members(i); ms != nil {
			lv.treePaths(i, ms)
		} else {
			lv.tablePaths(i)
		}
		return
	}
	p := &path{rel: r, rows: r.rows, req: r.lateral}
	p.total = r.tuples*(costRow+clausesCost(r.restrict)) + restrictStartup(r.restrict)
	if t.Kind == planner.RTEFunction {
		for _, c := range t.Calls {
			p.total += exprCost(c) + exprsCost(c.Args)
		}
	}
	if t.Kind == planner.RTEVirtual {
		p.total += 1
		lv.virtualRestrict(i, p)
	}
	p.leaf = func(need map[varKey]bool) built { return lv.simpleLeaf(i, need) }
	r.addPath(p)
}

// contradiction finds a condition that is never true, or two that equate one
// expression with different constants.
func (lv *level) contradiction(cs []*clause) bool {
	equal := map[string]*expr.Const{}
	for _, c := range cs {
		if isFalseOrNull(c.e) {
			return true
		}
		if !c.isBin || c.family == 0 {
			continue
		}
		l, r := c.bin.left, c.bin.right
		k, ok := isConst(r)
		if !ok {
			if k, ok = isConst(l); !ok {
				continue
			}
			l = r
		}
		t := lv.p.typ(k.Typ.OID)
		if t == nil || t.Compare == nil || k.Val.Null {
			continue
		}
		id := string(keyInt([]byte(exprKey(l)), ':', int64(k.Typ.OID)))
		if old := equal[id]; old != nil && t.Compare(old.Val, k.Val) != 0 {
			return true
		}
		equal[id] = k
	}
	return false
}

// orderRestrict puts what hides rows first, then cheap conditions, and keeps the
// written order otherwise.
func (lv *level) orderRestrict(r *rel) {
	guarded := len(lv.rte(r.base).SecurityQuals) > 0
	sort.SliceStable(r.restrict, func(a, b int) bool {
		x, y := r.restrict[a], r.restrict[b]
		if guarded {
			if sx, sy := lv.securityLevel(x), lv.securityLevel(y); sx != sy {
				return sx < sy
			}
		}
		return costClass(x.e) < costClass(y.e)
	})
}

func costClass(e expr.Expr) int {
	switch c := exprCost(e) + exprStartup(e); {
	case c > 10*costOp*100:
		return 2
	case hasSubPlan(e):
		return 1
	}
	return 0
}

func restrictStartup(cs []*clause) float64 {
	s := 0.0
	for _, c := range cs {
		s += exprStartup(c.e)
	}
	return s
}

// tablePaths: the whole table, and each index that restricts or orders usefully.
func (lv *level) tablePaths(i int) {
	r, t := lv.rel(i), lv.rte(i)
	full := &path{rel: r, rows: r.rows, scan: &scanPath{}, req: r.lateral}
	full.startup = restrictStartup(r.restrict)
	// Finding the first row costs what positioning in an index costs, so that a key
	// wins over a scan of a table however small: overwritten versions of hot rows are
	// passed over by scans, not by look-ups.
	full.total = full.startup + costSeek + r.tuples*(costRow+costColumn*float64(len(r.needed))+clausesCost(r.restrict))
	for _, ix := range t.Rel.Indexes {
		if ix.Clustered {
			full.order = lv.indexOrder(i, ix, 0, false)
		}
	}
	if lv.p.ctx.Settings.DisableSeqScan {
		full.total += costDisable
	}
	r.addPath(full)
	if len(full.order) > 0 && lv.usefulOrder(full.order) {
		back := *full
		back.scan = &scanPath{reverse: true}
		back.order = lv.indexOrder(i, clusteredIndex(t.Rel), 0, true)
		back.total *= 1.05
		r.addPath(&back)
	}
	if t.Sample != nil {
		return
	}
	for _, p := range lv.indexPaths(i, relSet{}, nil) {
		r.addPath(p)
	}
}

// emptyLeaf is a relation that yields nothing.
func (lv *level) emptyLeaf(i int, need map[varKey]bool) built {
	cols, vars := lv.leafColumns(i, need)
	n := &planner.Empty{}
	n.Columns = cols
	return built{node: n, cols: vars}
}

// leafColumns are the needed columns of a relation, in column order.
func (lv *level) leafColumns(i int, need map[varKey]bool) ([]planner.Column, []expr.Expr) {
	t := lv.rte(i)
	var cols []planner.Column
	var vars []expr.Expr
	for _, c := range lv.rel(i).needed {
		if !need[varKey{i, c}] {
			continue
		}
		col := lv.columnInfo(t, c)
		cols = append(cols, col)
		vars = append(vars, &planner.Var{T: expr.T{Typ: col.Type}, Rel: i, Col: c, Name: col.Name})
	}
	return cols, vars
}

func (lv *level) columnInfo(t *planner.RTE, c int) planner.Column {
	if c >= 0 && c < len(t.Cols) {
		return t.Cols[c]
	}
	return systemColumn(int16(c + 1))
}

func systemColumn(attr int16) planner.Column {
	typ := func(o sqltypes.OID) sqltypes.ColumnType { return sqltypes.ColumnType{OID: o, TypMod: -1} }
	switch attr {
	case -1:
		return planner.Column{Name: "ctid", Type: typ(27), Attr: attr}
	case -2:
		return planner.Column{Name: "xmin", Type: typ(28), Attr: attr}
	case -3:
		return planner.Column{Name: "cmin", Type: typ(29), Attr: attr}
	case -4:
		return planner.Column{Name: "xmax", Type: typ(28), Attr: attr}
	case -5:
		return planner.Column{Name: "cmax", Type: typ(29), Attr: attr}
	}
	return planner.Column{Name: "tableoid", Type: typ(26), Attr: attr}
}

// attrOf is the attribute number of a relation's column.
func attrOf(t *planner.RTE, col int) int16 {
	if col < 0 {
		return int16(col + 1)
	}
	return t.Attrs[col]
}

// colOfAttr is the reverse; -1 when the column is not there.
func colOfAttr(t *planner.RTE, attr int16) int {
	for i, a := range t.Attrs {
		if a == attr {
			return i
		}
	}
	return -1
}

// simpleLeaf builds virtual, function, VALUES, WITH and one-row relations.
func (lv *level) simpleLeaf(i int, need map[varKey]bool) built {
	r, t := lv.rel(i), lv.rte(i)
	need = withVars(need, r.restrict)
	est := planner.Estimate{Rows: r.rows, Width: r.width, Total: r.paths[0].total}
	var b built
	var filter *expr.Expr
	switch t.Kind {
	case planner.RTEVirtual:
		n := &planner.VirtualScan{Rel: t.Virtual, Alias: t.Alias}
		n.Columns, b.cols = lv.leafColumns(i, need)
		for _, v := range b.cols {
			n.Attrs = append(n.Attrs, attrOf(t, v.(*planner.Var).Col))
		}
		for _, c := range r.restrict {
			if v, val, ok := columnEqualsValue(c); ok && t.Virtual != nil && hasAttr(t.Virtual.EqAttrs, attrOf(t, v.Col)) {
				n.Eq = append(n.Eq, planner.VirtualEq{Attr: attrOf(t, v.Col), Value: lv.resolve(val, built{})})
			}
		}
		n.Estimate = est
		b.node, filter = n, &n.Filter
	case planner.RTEFunction:
		n := &planner.FunctionScan{Alias: t.Alias, ColCounts: t.CallCols, Ordinality: t.Ordinality}
		for _, c := range t.Calls {
			if call, ok := lv.resolve(lv.lateralParams(c), built{}).(*expr.Call); ok {
				n.Calls = append(n.Calls, call)
			}
		}
		n.Columns = t.Cols
		n.Estimate = est
		b.node, b.cols, filter = n, lv.allColumns(i), &n.Filter
	case planner.RTEValues:
		n := &planner.Values{Alias: t.Alias}
		for _, row := range t.Values {
			out := make([]expr.Expr, len(row))
			for k, e := range row {
				out[k] = lv.resolve(lv.lateralParams(e), built{})
			}
			n.Rows = append(n.Rows, out)
		}
		n.Columns = t.Cols
		n.Estimate = est
		b.node, b.cols = n, lv.allColumns(i)
	case planner.RTECTE:
		k, _ := lv.findCTE(t.CTE)
		b.cols = lv.allColumns(i)
		if t.SelfRef {
			n := &planner.WorkTableScan{CTE: k, Alias: t.Alias}
			n.Columns, n.Estimate = t.Cols, est
			b.node, filter = n, &n.Filter
		} else {
			n := &planner.CTEScan{CTE: k, Alias: t.Alias}
			n.Columns, n.Estimate = t.Cols, est
			b.node, filter = n, &n.Filter
		}
	default:
		n := &planner.Result{}
		n.Estimate = est
		b.node = n
	}
	cond := lv.condOf(r.restrict, b)
	if cond == nil {
		return b
	}
	if filter != nil {
		*filter = cond
		return b
	}
	f := &planner.Filter{Input: b.node, Cond: cond}
	f.Columns, f.Estimate = b.node.Out(), est
	b.node = f
	return b
}

func hasAttr(as []int16, a int16) bool {
	for _, x := range as {
		if x == a {
			return true
		}
	}
	return false
}

// columnEqualsValue recognises column = value with a value that no column is in.
func columnEqualsValue(c *clause) (*planner.Var, expr.Expr, bool) {
	if !c.isBin || c.family == 0 {
		return nil, nil, false
	}
	l, r := c.bin.left, c.bin.right
	if relsOf(l).empty() {
		l, r = r, l
	}
	v, ok := stripRelabel(l).(*planner.Var)
	if !ok || v.Col < 0 || !relsOf(r).empty() || volatileExpr(r) || !sameRepresentation(v.Typ.OID, r.Type().OID) {
		return nil, nil, false
	}
	return v, r, true
}

// allColumns are Vars for every column of an entry.
func (lv *level) allColumns(i int) []expr.Expr {
	t := lv.rte(i)
	out := make([]expr.Expr, len(t.Cols))
	for c := range t.Cols {
		out[c] = &planner.Var{T: expr.T{Typ: t.Cols[c].Type}, Rel: i, Col: c, Name: t.Cols[c].Name}
	}
	return out
}

// lateralParams replaces columns of this level by the ExecParams that a nested loop sets.
func (lv *level) lateralParams(e expr.Expr) expr.Expr {
	return mapVars(e, 0, func(v *planner.Var, _ int) expr.Expr {
		if v.Level != 0 || v.Rel < 0 {
			return v
		}
		return lv.nestParam(v)
	})
}

// nestParam reads a column of a relation to the left by an ExecParam.
func (lv *level) nestParam(v *planner.Var) *expr.ExecParam {
	for _, o := range lv.pending {
		if keyOf(o.v) == keyOf(v) {
			return &expr.ExecParam{T: v.T, ID: o.id, Name: lv.name(v)}
		}
	}
	id := lv.p.newExecParam()
	lv.pending = append(lv.pending, nestNeed{v, id})
	return &expr.ExecParam{T: v.T, ID: id, Name: lv.name(v)}
}

// clusteredIndex is the index that is the table itself, or nil.
func clusteredIndex(r *catalog.Relation) *catalog.Index {
	for _, ix := range r.Indexes {
		if ix.Clustered {
			return ix
		}
	}
	return nil
}
