package opt

import (
	"math"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// scanPath is a scan of a table: of all of it, or by an index.
type scanPath struct {
	index     *catalog.Index // nil: the table in its own order
	ranges    []planner.KeyRange
	used      []*clause   // what the ranges stand for
	conds     []expr.Expr // the same in the form key op value, for EXPLAIN
	exact     map[*clause]bool
	reverse   bool
	indexOnly bool
}

// keyMatch is how one key column is bound.
type keyMatch struct {
	eq           expr.Expr
	isNull, any  bool
	lower, upper expr.Expr
	loInc, upInc bool
	used         []*clause
	conds        []expr.Expr
	exact        []bool
}

// indexPaths makes the scans of relation i by each of its indexes. With outer not
// empty, extra are join conditions whose other side those relations give; then only
// paths that use one of them are returned.
func (lv *level) indexPaths(i int, outer relSet, extra []*clause) []*path {
	t := lv.rte(i)
	if lv.p.ctx.Settings.DisableIndexScan {
		return nil
	}
	var out []*path
	for _, ix := range t.Rel.Indexes {
		if !ix.Ready && !ix.Clustered || !ix.Stored() {
			continue
		}
		keys, ok := lv.indexKeys(i, ix)
		if !ok {
			continue
		}
		if s := lv.matchIndex(i, ix, keys, extra); s != nil {
			if p := lv.indexScanPath(i, ix, keys, s, outer); p != nil {
				out = append(out, p)
				if outer.empty() && len(p.order) > 0 {
					q := *p
					sc := *p.scan
					sc.reverse = true
					q.scan = &sc
					q.order = lv.indexOrder(i, ix, 0, true)
					q.total *= 1.05
					out = append(out, &q)
				}
			}
		}
	}
	return out
}

// indexKeys are the key columns as expressions over the level's Vars; ok is false
// when the index cannot be used: its expressions are unknown or its predicate is not implied.
func (lv *level) indexKeys(i int, ix *catalog.Index) ([]expr.Expr, bool) {
	t := lv.rte(i)
	var exprs []expr.Expr
	var pred expr.Expr
	needs := ix.Predicate != ""
	for _, k := range ix.Keys {
		needs = needs || k.Attr == 0
	}
	if needs {
		if lv.p.ctx.IndexExprs == nil {
			return nil, false
		}
		exprs, pred = lv.p.ctx.IndexExprs(t.Rel, ix)
		if ix.Predicate != "" && (pred == nil || !lv.implied(i, lv.toVars(i, pred))) {
			return nil, false
		}
	}
	out := make([]expr.Expr, len(ix.Keys))
	for k, key := range ix.Keys {
		if key.Attr == 0 {
			if k >= len(exprs) || exprs[k] == nil {
				return nil, false
			}
			out[k] = lv.p.simplify(lv.toVars(i, exprs[k]))
			continue
		}
		c := colOfAttr(t, key.Attr)
		if c < 0 {
			return nil, false
		}
		out[k] = &planner.Var{T: expr.T{Typ: t.Cols[c].Type}, Rel: i, Col: c, Name: t.Cols[c].Name}
	}
	return out, true
}

// toVars turns an expression over attributes (Col.Idx = attribute-1) into one over the level's Vars.
func (lv *level) toVars(i int, e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Col); ok {
		t := lv.rte(i)
		if at := colOfAttr(t, int16(c.Idx+1)); at >= 0 {
			return &planner.Var{T: expr.T{Typ: t.Cols[at].Type}, Rel: i, Col: at, Name: t.Cols[at].Name}
		}
		return e
	}
	return mapChildren(e, func(x expr.Expr) expr.Expr { return lv.toVars(i, x) })
}

// implied reports that the relation's conditions imply a partial index's predicate.
func (lv *level) implied(i int, pred expr.Expr) bool {
	r := lv.rel(i)
	for _, want := range conjuncts(lv.p.simplify(pred)) {
		ok, param := false, false
		for _, c := range r.restrict {
			if lv.p.implies(c.e, want) {
				ok = true
				break
			}
			param = param || hasParam(c.e)
		}
		if !ok {
			if param {
				lv.p.plan.ParamsMatter = true
			}
			return false
		}
	}
	return true
}

// implies reports that whenever have is true, want is.
func (p *planning) implies(have, want expr.Expr) bool {
	if sameExpr(have, want) {
		return true
	}
	switch w := want.(type) {
	case *expr.Or:
		for _, a := range w.Args {
			if p.implies(have, a) {
				return true
			}
		}
		return false
	case *expr.And:
		for _, a := range w.Args {
			if !p.implies(have, a) {
				return false
			}
		}
		return true
	case *expr.NullTest:
		if w.IsNot && !w.Row {
			if v, ok := stripRelabel(w.Arg).(*planner.Var); ok {
				return strictVars(have)[keyOf(v)]
			}
		}
		return false
	}
	switch h := have.(type) {
	case *expr.Or:
		for _, a := range h.Args {
			if !p.implies(a, want) {
				return false
			}
		}
		return true
	case *expr.And:
		for _, a := range h.Args {
			if p.implies(a, want) {
				return true
			}
		}
		return false
	}
	return p.impliesByOrder(have, want)
}

// impliesByOrder compares x op1 c1 with x op2 c2.
func (p *planning) impliesByOrder(have, want expr.Expr) bool {
	w, ok := asBinary(want)
	if !ok {
		return false
	}
	wc, ok := isConst(w.right)
	if !ok || wc.Val.Null {
		return false
	}
	ws, fam := btreeStrategy(w.op, 0)
	typ := p.typ(w.left.Type().OID)
	if typ == nil || typ.Compare == nil {
		return false
	}
	test := func(c *expr.Const, hs int) bool {
		if c.Val.Null || !sameRepresentation(c.Typ.OID, wc.Typ.OID) || !sameRepresentation(c.Typ.OID, w.left.Type().OID) {
			return false
		}
		cmp := typ.Compare(c.Val, wc.Val) // have's constant against want's
		if w.op.Name == "<>" {
			return hs == sqltypes.BtreeEqual && cmp != 0 || hs == sqltypes.BtreeLess && cmp <= 0 || hs == sqltypes.BtreeGreater && cmp >= 0
		}
		switch ws {
		case sqltypes.BtreeEqual:
			return hs == sqltypes.BtreeEqual && cmp == 0
		case sqltypes.BtreeLess:
			return (hs == sqltypes.BtreeLess) && cmp <= 0 || (hs == sqltypes.BtreeLessEqual || hs == sqltypes.BtreeEqual) && cmp < 0
		case sqltypes.BtreeLessEqual:
			return hs <= sqltypes.BtreeEqual && cmp <= 0
		case sqltypes.BtreeGreater:
			return (hs == sqltypes.BtreeGreater) && cmp >= 0 || (hs == sqltypes.BtreeGreaterEqual || hs == sqltypes.BtreeEqual) && cmp > 0
		case sqltypes.BtreeGreaterEqual:
			return hs >= sqltypes.BtreeEqual && cmp >= 0
		}
		return false
	}
	if a, ok := have.(*expr.ArrayOp); ok && !a.All && a.Op == "=" && a.Proc.Lang == 12 && sameExpr(a.Left, w.left) {
		elems, known := constElems(a.Array)
		for _, d := range elems {
			if d.Null || !test(&expr.Const{T: expr.T{Typ: sqltypes.ColumnType{OID: p.elemType(a.Array.Type().OID)}}, Val: d}, sqltypes.BtreeEqual) {
				return false
			}
		}
		return known
	}
	h, ok := asBinary(have)
	if !ok {
		return false
	}
	if _, left := isConst(h.left); left {
		if h, ok = h.commute(); !ok {
			return false
		}
	}
	hc, ok := isConst(h.right)
	if !ok || !sameExpr(h.left, w.left) {
		return false
	}
	hs, hfam := btreeStrategy(h.op, fam)
	if hs == 0 || fam != 0 && hfam != fam {
		return false
	}
	return test(hc, hs)
}

// matchIndex finds bounds on the leading key columns. Nil when extra conditions are
// given and none is used.
func (lv *level) matchIndex(i int, ix *catalog.Index, keys []expr.Expr, extra []*clause) *scanPath {
	r := lv.rel(i)
	s := &scanPath{index: ix, exact: map[*clause]bool{}}
	kr := planner.KeyRange{AnyArray: -1}
	cands := lv.promotable(i, append(append([]*clause(nil), extra...), r.restrict...))
	usedExtra := false
	take := func(m *keyMatch) {
		for n, c := range m.used {
			s.used = append(s.used, c)
			s.conds = append(s.conds, m.conds[n])
			if m.exact[n] {
				s.exact[c] = true
			}
			for _, x := range extra {
				usedExtra = usedExtra || x == c
			}
		}
	}
	for k, key := range keys {
		m := lv.matchKey(i, ix, k, key, cands, kr.AnyArray < 0)
		if m == nil {
			break
		}
		take(m)
		if m.eq != nil || m.isNull {
			kr.Eq = append(kr.Eq, m.eq)
			kr.EqNull = append(kr.EqNull, m.isNull)
			if m.any {
				kr.AnyArray = k
			}
			continue
		}
		kr.Lower, kr.Upper, kr.LowerInc, kr.UpperInc = m.lower, m.upper, m.loInc, m.upInc
		break
	}
	if ix.Method == "hash" && len(kr.Eq) != len(keys) {
		return nil
	}
	if len(kr.Eq) > 0 || kr.Lower != nil || kr.Upper != nil {
		s.ranges = []planner.KeyRange{kr}
	}
	if len(extra) > 0 && !usedExtra {
		return nil
	}
	return s
}

// matchKey finds conditions that bind one key column; nil: none.
func (lv *level) matchKey(i int, ix *catalog.Index, k int, key expr.Expr, cands []*clause, anyOK bool) *keyMatch {
	family := lv.keyFamily(ix, k)
	var rng *keyMatch
	var anyM *keyMatch
	for _, c := range cands {
		switch n := c.e.(type) {
		case *expr.NullTest:
			if !n.IsNot && !n.Row && sameExpr(n.Arg, key) {
				return &keyMatch{isNull: true, used: []*clause{c}, conds: []expr.Expr{c.e}, exact: []bool{true}}
			}
			continue
		case *expr.ArrayOp:
			if anyM == nil && anyOK && !n.All && lv.boundable(i, n.Array) && sameExpr(stripRelabel(n.Left), key) {
				op := operatorOfProc(n.Proc, n.Op)
				et := lv.p.elemType(n.Array.Type().OID)
				if op != nil && sameRepresentation(key.Type().OID, et) {
					if st, _ := btreeStrategy(op, family); st == sqltypes.BtreeEqual {
						anyM = &keyMatch{eq: n.Array, any: true, used: []*clause{c}, conds: []expr.Expr{c.e}, exact: []bool{true}}
					}
				}
			}
			continue
		}
		if key.Type().OID == oidBool {
			if m := boolMatch(c, key); m != nil {
				return m
			}
		}
		if !c.isBin {
			continue
		}
		b := c.bin
		if !sameExpr(stripRelabel(b.left), key) || !lv.boundable(i, b.right) {
			var ok bool
			if b, ok = b.commute(); !ok || !sameExpr(stripRelabel(b.left), key) || !lv.boundable(i, b.right) {
				continue
			}
		}
		st, _ := btreeStrategy(b.op, family)
		if st == 0 {
			if rng == nil {
				rng = lv.prefixMatch(ix, k, key, b, c)
			}
			continue
		}
		val, exact, ok := lv.boundValue(key, b.right, st)
		if !ok {
			continue
		}
		if st == sqltypes.BtreeEqual {
			if !exact {
				continue
			}
			return &keyMatch{eq: val, used: []*clause{c}, conds: []expr.Expr{b.call}, exact: []bool{true}}
		}
		if rng == nil {
			rng = &keyMatch{}
		}
		if st >= sqltypes.BtreeGreaterEqual {
			if rng.lower != nil {
				if better, inc := lv.p.tighter(key, rng.lower, rng.loInc, val, st == sqltypes.BtreeGreaterEqual || !exact, 1); better {
					rng.lower, rng.loInc = val, inc
				} else if !lv.p.bothConst(rng.lower, val) {
					continue
				}
			} else {
				rng.lower, rng.loInc = val, st == sqltypes.BtreeGreaterEqual || !exact
			}
		} else {
			if rng.upper != nil {
				if better, inc := lv.p.tighter(key, rng.upper, rng.upInc, val, st == sqltypes.BtreeLessEqual || !exact, -1); better {
					rng.upper, rng.upInc = val, inc
				} else if !lv.p.bothConst(rng.upper, val) {
					continue
				}
			} else {
				rng.upper, rng.upInc = val, st == sqltypes.BtreeLessEqual || !exact
			}
		}
		rng.used, rng.conds, rng.exact = append(rng.used, c), append(rng.conds, b.call), append(rng.exact, exact)
	}
	if anyM != nil {
		return anyM
	}
	if rng == nil {
		rng = lv.rowMatch(i, ix, k, key, cands)
	}
	if rng != nil && len(rng.used) == 0 {
		return nil
	}
	return rng
}

func (p *planning) bothConst(a, b expr.Expr) bool {
	_, x := isConst(a)
	_, y := isConst(b)
	return x && y
}

// tighter decides between two constant bounds of one side: dir 1 lower, -1 upper.
func (p *planning) tighter(key, old expr.Expr, oldInc bool, val expr.Expr, inc bool, dir int) (bool, bool) {
	a, aok := isConst(old)
	b, bok := isConst(val)
	t := p.typ(key.Type().OID)
	if !aok || !bok || t == nil || t.Compare == nil || a.Val.Null || b.Val.Null {
		return false, false
	}
	c := t.Compare(b.Val, a.Val) * dir
	if c > 0 || c == 0 && oldInc && !inc {
		return true, inc
	}
	return false, false
}

// rowMatch uses (a, b, …) > (x, y, …) as a bound on the leading column; the
// condition is checked again.
func (lv *level) rowMatch(i int, ix *catalog.Index, k int, key expr.Expr, cands []*clause) *keyMatch {
	for _, c := range cands {
		n, ok := c.e.(*expr.RowCompare)
		if !ok || len(n.Left) == 0 {
			continue
		}
		l, r, op := n.Left[0], n.Right[0], n.Op
		if !sameExpr(stripRelabel(l), key) {
			l, r = r, l
			switch op {
			case '<':
				op = '>'
			case '>':
				op = '<'
			case 'l':
				op = 'g'
			default:
				op = 'l'
			}
		}
		if !sameExpr(stripRelabel(l), key) || !lv.boundable(i, r) || !sameRepresentation(l.Type().OID, r.Type().OID) {
			continue
		}
		m := &keyMatch{used: []*clause{c}, conds: []expr.Expr{c.e}, exact: []bool{false}}
		if op == '>' || op == 'g' {
			m.lower, m.loInc = r, true
		} else {
			m.upper, m.upInc = r, true
		}
		return m
	}
	return nil
}

func boolMatch(c *clause, key expr.Expr) *keyMatch {
	val := true
	e := c.e
	switch n := e.(type) {
	case *expr.Not:
		e, val = n.Arg, false
	case *expr.BoolTest:
		if n.IsNot || n.Value < 0 {
			return nil
		}
		e, val = n.Arg, n.Value == 1
	}
	if !sameExpr(e, key) {
		return nil
	}
	return &keyMatch{eq: boolConst(val), used: []*clause{c}, conds: []expr.Expr{c.e}, exact: []bool{true}}
}

// boundable: e can be computed before relation i is read.
func (lv *level) boundable(i int, e expr.Expr) bool {
	return !relsOf(e).has(i) && !volatileExpr(e) && !hasSubPlan(e)
}

func (lv *level) keyFamily(ix *catalog.Index, k int) sqltypes.OID {
	if oc := sqltypes.OpClassByOID(ix.Keys[k].OpClass); oc != nil {
		return oc.Family
	}
	t := ix.Keys[k].Type.OID
	if c := sqltypes.DefaultOpClass(sqltypes.AMBtree, t); c != nil {
		return c.Family
	}
	if ty := lv.p.typ(t); ty != nil {
		if _, eq, _, ok := sqltypes.SortOperatorsOf(ty); ok {
			_, fam := btreeStrategy(eq, 0)
			return fam
		}
	}
	return 0
}

// boundValue fits a value to the key's type; exact is false when the bound is
// weaker than the condition.
func (lv *level) boundValue(key, val expr.Expr, strategy int) (v expr.Expr, exact, ok bool) {
	kt, vt := key.Type().OID, val.Type().OID
	if sameRepresentation(kt, vt) {
		return val, true, true
	}
	if kt == oidDate && vt == oidTimestamp {
		// A date is before a timestamp when it is not after the timestamp's day.
		c, isC := lv.p.evalImmutable(val)
		if !isC || c.Val.Null {
			return nil, false, false
		}
		const day = 86400e6
		us := c.Val.I
		if us == math.MaxInt64 || us == math.MinInt64 {
			return nil, false, false
		}
		d := us / day
		if us%day < 0 {
			d--
		}
		return &expr.Const{T: expr.T{Typ: key.Type()}, Val: sqltypes.Int(d)}, us%day == 0, strategy != sqltypes.BtreeEqual || us%day == 0
	}
	return nil, false, false
}

func (p *planning) evalImmutable(e expr.Expr) (*expr.Const, bool) {
	return isConst(p.simplify(e))
}

// prefixMatch turns LIKE 'abc%' on a text column into a range; keys are ordered by
// bytes (collation C), as all of ours are.
func (lv *level) prefixMatch(ix *catalog.Index, k int, key expr.Expr, b binaryOp, c *clause) *keyMatch {
	if (b.op.Name != "~~" && b.op.Name != "^@") || repClass(key.Type().OID) != 3 {
		return nil
	}
	pat, ok := isConst(b.right)
	if !ok {
		if hasParam(b.right) {
			lv.p.plan.ParamsMatter = true
		}
		return nil
	}
	prefix, whole, exact := pat.Val.S, false, true
	if b.op.Name == "~~" {
		prefix, whole, exact = likePrefix(pat.Val.S)
	}
	if pat.Val.Null || prefix == "" {
		return nil
	}
	lit := func(s string) expr.Expr {
		return &expr.Const{T: expr.T{Typ: sqltypes.ColumnType{OID: oidText, TypMod: -1, Collation: key.Type().Collation}}, Val: sqltypes.Text(s)}
	}
	m := &keyMatch{used: []*clause{c}, conds: []expr.Expr{b.call}, exact: []bool{exact}}
	if whole {
		m.eq = lit(prefix)
		return m
	}
	m.lower, m.loInc = lit(prefix), true
	if up := successor(prefix); up != "" {
		m.upper = lit(up)
	} else {
		m.exact[0] = false
	}
	return m
}

// likePrefix is the fixed text before the first wildcard; whole: there is none;
// exact: the pattern is that text and one final %.
func likePrefix(pat string) (prefix string, whole, exact bool) {
	var b []byte
	for i := 0; i < len(pat); i++ {
		switch pat[i] {
		case '%':
			return string(b), false, i == len(pat)-1
		case '_':
			return string(b), false, false
		case '\\':
			if i++; i == len(pat) {
				return string(b), false, false
			}
		}
		b = append(b, pat[i])
	}
	return string(b), true, true
}

// successor is the least text above everything that begins with s, in code-point
// order: the last character is raised; "" if there is none.
func successor(s string) string {
	r := []rune(s)
	for n := len(r); n > 0; n-- {
		c := r[n-1] + 1
		if c == 0xD800 {
			c = 0xE000
		}
		if c <= 0x10FFFF {
			return string(r[:n-1]) + string(c)
		}
	}
	return ""
}

// indexScanPath prices a scan by an index.
func (lv *level) indexScanPath(i int, ix *catalog.Index, keys []expr.Expr, s *scanPath, outer relSet) *path {
	r, t := lv.rel(i), lv.rte(i)
	s.indexOnly = !ix.Clustered && lv.covers(t, ix, r.needed)
	var sels []expr.Expr
	for _, c := range s.used {
		sels = append(sels, c.e)
	}
	sel := 1.0
	if len(sels) > 0 {
		sel = lv.boundSel(i, sels)
	}
	unique := false
	if len(s.ranges) > 0 && ix.UniqueAtOnce() && len(s.ranges[0].Eq) == len(ix.Keys) {
		unique = true
		sel = math.Min(sel, 1/r.tuples)
		if a := s.ranges[0].AnyArray; a >= 0 {
			sel = math.Min(1, sel*arrayLen(s.ranges[0].Eq[a]))
		}
	}
	if ix.Predicate != "" {
		if _, pred := lv.p.ctx.IndexExprs(t.Rel, ix); pred != nil {
			if len(s.ranges) == 0 {
				sel = math.Min(sel, lv.selectivity(lv.toVars(i, pred)))
			}
		}
	}
	fetched := math.Max(1, r.tuples*sel)
	var rest []*clause
	for _, c := range r.restrict {
		if !s.exact[c] {
			rest = append(rest, c)
		}
	}
	order := lv.indexOrder(i, ix, 0, false)
	if len(s.ranges) == 0 {
		if ix.Clustered {
			return nil // the full scan
		}
		if !lv.usefulOrder(order) && !s.indexOnly && ix.Predicate == "" {
			return nil
		}
	}
	p := &path{rel: r, scan: s, order: order, req: r.lateral}
	for _, c := range s.used {
		p.req = p.req.union(c.rels.minus(relOf(i)))
	}
	seeks := 1.0
	if len(s.ranges) > 0 && s.ranges[0].AnyArray >= 0 {
		seeks = arrayLen(s.ranges[0].Eq[s.ranges[0].AnyArray])
	}
	per := costRow + costColumn*float64(len(r.needed)) + clausesCost(rest)
	if !ix.Clustered && !s.indexOnly {
		per += costLookup * lv.lookupFactor(i, ix, fetched)
	}
	p.startup = restrictStartup(rest)
	if !ix.Clustered {
		p.startup += costSeek
	}
	p.total = restrictStartup(rest) + costSeek*seeks + fetched*per
	if unique && s.ranges[0].AnyArray < 0 {
		p.rows = math.Min(1, r.rows)
	} else if !outer.empty() {
		p.rows = clampRows(r.tuples * lv.boundSel(i, append(restOf(r.restrict, s.used), sels...)))
	} else {
		p.rows = r.rows
	}
	return p
}

func restOf(all, used []*clause) []expr.Expr {
	var out []expr.Expr
	for _, c := range all {
		skip := c.derived
		for _, u := range used {
			skip = skip || u == c
		}
		if !skip {
			out = append(out, c.e)
		}
	}
	return out
}

// boundSel is the selectivity of conditions on relation i in which other
// relations' columns count as unknown values.
func (lv *level) boundSel(i int, es []expr.Expr) float64 {
	out := make([]expr.Expr, len(es))
	for k, e := range es {
		out[k] = mapVars(e, 0, func(v *planner.Var, _ int) expr.Expr {
			if v.Level == 0 && v.Rel != i {
				return &expr.Param{T: v.T, N: 1 << 20}
			}
			return v
		})
	}
	return lv.conjunctionSel(out)
}

// lookupFactor: rows fetched in the table's own order lie together.
func (lv *level) lookupFactor(i int, ix *catalog.Index, fetched float64) float64 {
	corr := 0.0
	if len(ix.Keys) > 0 && ix.Keys[0].Attr > 0 && lv.p.ctx.Catalog != nil {
		if st := lv.p.ctx.Catalog.Stats(lv.rte(i).Rel.OID); st != nil {
			if c := st.Columns[ix.Keys[0].Attr]; c != nil {
				corr = c.Correlation * c.Correlation
			}
		}
	}
	return 1 - 0.5*corr
}

func arrayLen(e expr.Expr) float64 {
	if elems, ok := constElems(e); ok {
		return math.Max(1, float64(len(elems)))
	}
	if a, ok := e.(*expr.ArrayCtor); ok {
		return math.Max(1, float64(len(a.Elems)))
	}
	return 10
}

// covers reports that the index holds all needed columns.
func (lv *level) covers(t *planner.RTE, ix *catalog.Index, needed []int) bool {
	for _, c := range needed {
		if c < 0 {
			return false
		}
		a, found := t.Attrs[c], false
		for _, k := range ix.Keys {
			found = found || k.Attr == a
		}
		found = found || hasAttr(ix.Include, a)
		if !found {
			return false
		}
	}
	return true
}

// indexOrder is the order in which an index yields rows; keys that conditions fix
// to one value are left out.
func (lv *level) indexOrder(i int, ix *catalog.Index, _ int, reverse bool) []pathKey {
	if ix.Method == "hash" {
		return nil
	}
	t := lv.rte(i)
	var exprs []expr.Expr
	var out []pathKey
	for k, key := range ix.Keys {
		var e expr.Expr
		if key.Attr == 0 {
			if exprs == nil {
				if lv.p.ctx.IndexExprs == nil {
					return out
				}
				exprs, _ = lv.p.ctx.IndexExprs(t.Rel, ix)
			}
			if k >= len(exprs) || exprs[k] == nil {
				return out
			}
			e = lv.p.simplify(lv.toVars(i, exprs[k]))
		} else {
			c := colOfAttr(t, key.Attr)
			if c < 0 {
				return out
			}
			e = &planner.Var{T: expr.T{Typ: t.Cols[c].Type}, Rel: i, Col: c}
		}
		if dc := sqltypes.DefaultOpClass(sqltypes.AMBtree, key.Type.OID); dc != nil && lv.keyFamily(ix, k) != dc.Family {
			return out // another order than the type's own
		}
		id, constant := lv.orderID(e)
		if constant {
			continue
		}
		dup := false
		for _, o := range out {
			dup = dup || o.id == id
		}
		if !dup {
			out = append(out, pathKey{id: id, desc: key.Desc != reverse, nullsFirst: key.NullsFirst != reverse})
		}
	}
	return out
}
