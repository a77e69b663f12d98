package exec

import (
	"slices"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// distinctAgg gives each distinct argument value of a group to the aggregate
// once, in order of appearance.
type distinctAgg struct {
	aggFn
	seen *groupTable
	gid  *expr.Vec
	keys []*expr.Vec
	sel  []uint16
	n    int
}

func (x *Execution) newDistinctAgg(a *expr.Agg, fn aggFn) (aggFn, error) {
	types := []sqltypes.ColumnType{{OID: sqltypes.OIDInt4, TypMod: -1}}
	kinds := []sqltypes.Kind{sqltypes.KInt}
	n := aggArgs(a)
	for _, e := range a.Args[:n] {
		types = append(types, e.Type())
		kinds = append(kinds, x.kind(e.Type()))
	}
	keys, err := x.newHashKeys(types)
	if err != nil {
		return nil, err
	}
	return &distinctAgg{aggFn: fn, seen: newGroupTable(keys, kinds), gid: expr.NewVec(sqltypes.KInt), n: n}, nil
}

func (d *distinctAgg) reset()       { d.aggFn.reset(); d.seen.reset() }
func (d *distinctAgg) bytes() int64 { return d.aggFn.bytes() + d.seen.bytes() }

func (d *distinctAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	for _, i := range sel {
		d.gid.I64[i] = int64(group(ids, i))
	}
	d.keys = append(append(d.keys[:0], d.gid), args[:d.n]...)
	d.sel = d.seen.newRows(d.keys, sel, d.sel)
	if len(d.sel) == 0 {
		return nil
	}
	return d.aggFn.step(args, d.sel, ids)
}

// collectAgg keeps the arguments of all rows, to give them to the aggregate
// group by group in the order that ORDER BY, WITHIN GROUP or DISTINCT asks for.
type collectAgg struct {
	x        *Execution
	agg      *expr.Agg
	inner    aggFn
	kinds    []sqltypes.Kind
	rows     *store // group, then the arguments
	orders   []*sortOrder
	keyAt    []int
	distinct *hashKeys // of the arguments proper
	nargs    int
	gid      *expr.Vec
	cols     []*expr.Vec
	n        int
	// index lists row numbers by group and order; start[g]… is where group g begins.
	index []int32
	start []int32
	hypo  bool
}

func (x *Execution) newCollectAgg(a *expr.Agg, inner aggFn) (*collectAgg, error) {
	c := &collectAgg{x: x, agg: a, inner: inner, nargs: aggArgs(a), gid: expr.NewVec(sqltypes.KInt), hypo: isHypothetical(a)}
	c.kinds = append([]sqltypes.Kind{sqltypes.KInt}, x.exprKinds(a.Args)...)
	sorted := map[int]bool{}
	add := func(arg int, desc, nullsFirst bool) error {
		o, err := x.newSortOrder(planner.SortKey{Expr: a.Args[arg], Desc: desc, NullsFirst: nullsFirst})
		if err != nil {
			return err
		}
		c.orders = append(c.orders, o)
		c.keyAt = append(c.keyAt, arg+1)
		sorted[arg] = true
		return nil
	}
	for _, s := range a.ArgSorts {
		if err := add(s.Arg, s.Desc, s.NullsFirst); err != nil {
			return nil, err
		}
	}
	if a.Distinct {
		types := make([]sqltypes.ColumnType, c.nargs)
		for i, e := range a.Args[:c.nargs] {
			types[i] = e.Type()
			if !sorted[i] {
				if err := add(i, false, false); err != nil {
					return nil, err
				}
			}
		}
		var err error
		if c.distinct, err = x.newHashKeys(types); err != nil {
			return nil, err
		}
	}
	c.reset()
	return c, nil
}

func (c *collectAgg) resize(n int) { c.n = max(c.n, n) }
func (c *collectAgg) reset() {
	c.rows, c.n, c.index, c.start = newStore(c.kinds, nil), 0, nil, nil
	c.inner.reset()
}
func (c *collectAgg) bytes() int64 { return c.rows.bytes + int64(c.rows.n)*4 }

func (c *collectAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	for _, i := range sel {
		c.gid.I64[i] = int64(group(ids, i))
	}
	c.cols = append(append(c.cols[:0], c.gid), args...)
	c.rows.append(c.cols, sel)
	c.index = nil
	return nil
}

// order sorts the rows by group and key.
func (c *collectAgg) order() {
	c.index = make([]int32, c.rows.n)
	gid := c.rows.cols[0].I64
	c.start = make([]int32, c.n+1)
	for i := range c.rows.n {
		c.start[gid[i]+1]++
	}
	for g := range c.n {
		c.start[g+1] += c.start[g]
	}
	at := slices.Clone(c.start)
	for i := range c.index {
		g := gid[i]
		c.index[at[g]] = int32(i)
		at[g]++
	}
	if len(c.orders) == 0 {
		return
	}
	for g := range c.n {
		quickSort(c.index[c.start[g]:c.start[g+1]], func(a, b int32) int {
			for k, o := range c.orders {
				v := c.rows.cols[c.keyAt[k]]
				if d := o.compare(v, int(a), v, int(b)); d != 0 {
					return d
				}
			}
			return 0
		})
	}
}

func (c *collectAgg) final(g int, direct []sqltypes.Datum) (sqltypes.Datum, error) {
	if c.index == nil {
		c.order()
	}
	rows := c.index[c.start[g]:c.start[g+1]]
	if c.hypo {
		return c.hypothetical(rows, direct)
	}
	c.inner.reset()
	c.inner.resize(1)
	args := c.rows.cols[1:]
	if c.distinct != nil {
		kept := rows[:0:0]
		for k, r := range rows {
			if k == 0 || !c.distinct.equal(args, int(rows[k-1]), args, int(r)) {
				kept = append(kept, r)
			}
		}
		rows = kept
	}
	vecs := make([]*expr.Vec, len(args))
	for i, k := range c.kinds[1:] {
		vecs[i] = expr.NewVec(k)
	}
	for len(rows) > 0 {
		n := min(len(rows), expr.BatchSize)
		for i, v := range vecs {
			v.Reset(v.Kind)
			v.GatherRows(0, args[i], rows[:n])
		}
		if err := c.inner.step(vecs, expr.All(n), nil); err != nil {
			return sqltypes.Null, err
		}
		rows = rows[n:]
		if err := c.x.cancelled(); err != nil {
			return sqltypes.Null, err
		}
	}
	return c.inner.final(0, direct)
}

// isHypothetical tells rank(…) WITHIN GROUP and its like.
func isHypothetical(a *expr.Agg) bool {
	if a.Proc.Agg == nil || !a.Proc.Agg.Hypothetical {
		return false
	}
	switch a.Proc.Name {
	case "rank", "dense_rank", "percent_rank", "cume_dist":
		return a.Proc.Namespace == sqltypes.NamespaceCatalog
	}
	return false
}

// hypothetical computes the rank that a row of the direct arguments would have
// among the group's rows.
func (c *collectAgg) hypothetical(rows []int32, direct []sqltypes.Datum) (sqltypes.Datum, error) {
	hyp := make([]*expr.Vec, len(c.rows.cols))
	for i, d := range direct {
		if i+1 < len(hyp) {
			hyp[i+1] = expr.NewVec(c.kinds[i+1])
			hyp[i+1].Set(0, d)
		}
	}
	before, distinct, peers := 0, 0, 0
	for k, r := range rows {
		cmp := 0
		for q, o := range c.orders {
			at := c.keyAt[q]
			if cmp = o.compare(c.rows.cols[at], int(r), hyp[at], 0); cmp != 0 {
				break
			}
		}
		if cmp > 0 {
			break
		}
		if cmp == 0 {
			peers++
			continue
		}
		before++
		if k == 0 || c.differ(rows[k-1], r) {
			distinct++
		}
	}
	n := float64(len(rows))
	switch c.agg.Proc.Name {
	case "rank":
		return sqltypes.Int(int64(before + 1)), nil
	case "dense_rank":
		return sqltypes.Int(int64(distinct + 1)), nil
	case "percent_rank":
		if n == 0 {
			return sqltypes.Float(0), nil
		}
		return sqltypes.Float(float64(before) / n), nil
	}
	return sqltypes.Float(float64(before+peers+1) / (n + 1)), nil
}

func (c *collectAgg) differ(a, b int32) bool {
	for k, o := range c.orders {
		v := c.rows.cols[c.keyAt[k]]
		if o.compare(v, int(a), v, int(b)) != 0 {
			return true
		}
	}
	return false
}
