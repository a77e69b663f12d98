package opt

import (
	"math"
	"strings"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// PostgreSQL's defaults (utils/selfuncs.h).
const (
	defaultEqSel    = 0.005
	defaultIneqSel  = 1.0 / 3
	defaultRangeSel = 0.005
	defaultMatchSel = 0.005
	defaultFuncSel  = 1.0 / 3
)

func clampSel(s float64) float64 {
	if !(s > 0) {
		return 0
	}
	return math.Min(s, 1)
}

// selectivity is the fraction of rows (of the relations' cross product) that a condition keeps.
func (lv *level) selectivity(e expr.Expr) float64 {
	switch n := e.(type) {
	case nil:
		return 1
	case *expr.Const:
		if n.Val.True() {
			return 1
		}
		return 0
	case *expr.And:
		return lv.conjunctionSel(n.Args)
	case *expr.Or:
		s := 0.0
		for _, a := range n.Args {
			x := lv.selectivity(a)
			s = s + x - s*x
		}
		return clampSel(s)
	case *expr.Not:
		return clampSel(1 - lv.selectivity(n.Arg))
	case *expr.NullTest:
		f := 0.005
		if vs := lv.statOf(n.Arg); vs.col != nil {
			f = vs.nullFrac
		} else if v, ok := stripRelabel(n.Arg).(*planner.Var); ok && notNullColumn(lv.q, v) {
			f = 0
		}
		if n.IsNot {
			return clampSel(1 - f)
		}
		return clampSel(f)
	case *expr.BoolTest:
		s := lv.selectivity(n.Arg)
		switch {
		case n.Value < 0:
			s = 0.005
		case n.Value == 0:
			s = 1 - s
		}
		if n.IsNot {
			s = 1 - s
		}
		return clampSel(s)
	case *planner.Var:
		return lv.boolColumnSel(n)
	case *expr.ArrayOp:
		return lv.arrayOpSel(n)
	case *expr.Distinct:
		s := lv.selectivity(n.Eq)
		if n.Not {
			return s
		}
		return clampSel(1 - s)
	case *expr.RowCompare:
		return defaultIneqSel
	case *expr.SubPlan:
		return 0.5
	case *expr.Relabel:
		return lv.selectivity(n.Arg)
	case *expr.Call:
		if b, ok := asBinary(n); ok {
			return clampSel(lv.binarySel(b))
		}
		if n.Proc.RetType == oidBool {
			return defaultFuncSel
		}
	}
	return 0.5
}

// conjunctionSel multiplies, except that two bounds of one expression make a range.
func (lv *level) conjunctionSel(es []expr.Expr) float64 {
	type bounds struct{ lo, hi float64 } // < 0: none
	s := 1.0
	ranges := map[string]*bounds{}
	var keys []string
	for _, e := range es {
		b, ok := asBinary(e)
		if ok {
			if relsOf(b.left).empty() && !relsOf(b.right).empty() {
				if c, can := b.commute(); can {
					b = c
				}
			}
			st, _ := btreeStrategy(b.op, 0)
			if relsOf(b.right).empty() && st != 0 && st != sqltypes.BtreeEqual && relsOf(b.left).count() == 1 {
				k := exprKey(b.left)
				r := ranges[k]
				if r == nil {
					r = &bounds{-1, -1}
					ranges[k] = r
					keys = append(keys, k)
				}
				x := lv.binarySel(b)
				side := &r.hi
				if st >= sqltypes.BtreeGreaterEqual {
					side = &r.lo
				}
				if *side < 0 || x < *side {
					*side = x
				}
				continue
			}
		}
		s *= lv.selectivity(e)
	}
	for _, k := range keys {
		r := ranges[k]
		switch {
		case r.lo < 0:
			s *= r.hi
		case r.hi < 0:
			s *= r.lo
		case r.lo == defaultIneqSel && r.hi == defaultIneqSel:
			s *= defaultRangeSel
		default:
			x := r.lo + r.hi - 1
			if x <= 0 {
				if x < -0.01 {
					x = defaultRangeSel
				} else {
					x = 1e-10
				}
			}
			s *= x
		}
	}
	return clampSel(s)
}

func (lv *level) boolColumnSel(v *planner.Var) float64 {
	vs := lv.statOf(v)
	if vs.col != nil {
		for i, m := range vs.col.MCV {
			if m.I == 1 {
				return clampSel(vs.col.MCVFreq[i])
			}
		}
		if len(vs.col.MCV) > 0 {
			return clampSel(1 - vs.nullFrac - vs.col.MCVFreq[0])
		}
	}
	return 0.5
}

// binarySel estimates left op right.
func (lv *level) binarySel(b binaryOp) float64 {
	l, r := relsOf(b.left), relsOf(b.right)
	if !l.empty() && !r.empty() {
		return lv.joinOpSel(b)
	}
	if l.empty() && !r.empty() {
		c, ok := b.commute()
		if !ok {
			return lv.restrictDefault(b.op)
		}
		b = c
	}
	vs := lv.statOf(b.left)
	c, known := lv.p.evalStable(b.right)
	if known && c.Val.Null {
		return 0
	}
	switch b.op.Restrict {
	case "eqsel":
		return lv.eqSel(vs, b, c, known)
	case "neqsel":
		return 1 - lv.eqSel(vs, b, c, known) - vs.nullFrac
	case "scalarltsel", "scalarlesel", "scalargtsel", "scalargesel":
		if !known {
			return defaultIneqSel
		}
		less := b.op.Restrict == "scalarltsel" || b.op.Restrict == "scalarlesel"
		return lv.ineqSel(vs, b, c, less)
	case "likesel", "regexeqsel", "iclikesel", "icregexeqsel", "prefixsel":
		return lv.matchSel(vs, b, c, known, false)
	case "nlikesel", "regexnesel", "icnlikesel", "icregexnesel":
		return lv.matchSel(vs, b, c, known, true)
	}
	return lv.restrictDefault(b.op)
}

func (lv *level) restrictDefault(op *sqltypes.Operator) float64 {
	switch op.Restrict {
	case "eqsel":
		return defaultEqSel
	case "neqsel":
		return 1 - defaultEqSel
	case "contsel", "arraycontsel", "rangesel", "multirangesel", "areasel", "positionsel", "matchingsel", "networksel":
		return 0.01
	}
	return defaultIneqSel
}

// eqSel is the frequency of a value: by the most common values, else by the number of the others.
func (lv *level) eqSel(vs varStat, b binaryOp, c *expr.Const, known bool) float64 {
	if vs.unique {
		return 1 / math.Max(1, vs.tuples)
	}
	if vs.col == nil {
		if vs.distinct > 0 {
			return 1 / vs.distinct
		}
		return defaultEqSel
	}
	sum := 0.0
	for i, m := range vs.col.MCV {
		if known && vs.typ != nil && vs.typ.Compare != nil && sameRepresentation(b.left.Type().OID, c.Typ.OID) && vs.typ.Compare(m, c.Val) == 0 {
			return vs.col.MCVFreq[i]
		}
		sum += vs.col.MCVFreq[i]
	}
	if !known {
		s := (1 - vs.nullFrac) / vs.distinct
		if len(vs.col.MCVFreq) > 0 {
			if hasParam(b.right) && vs.col.MCVFreq[0] > 10*s {
				lv.p.plan.ParamsMatter = true
			}
			s = math.Min(s, vs.col.MCVFreq[0])
		}
		return s
	}
	others := vs.distinct - float64(len(vs.col.MCV))
	s := math.Max(0, 1-sum-vs.nullFrac)
	if others > 1 {
		s /= others
	}
	if n := len(vs.col.MCVFreq); n > 0 {
		s = math.Min(s, vs.col.MCVFreq[n-1])
	}
	return s
}

// ineqSel is the fraction below (less) or above a constant, by common values and the histogram.
func (lv *level) ineqSel(vs varStat, b binaryOp, c *expr.Const, less bool) float64 {
	if vs.col == nil || vs.typ == nil {
		return defaultIneqSel
	}
	ct := lv.p.typ(c.Typ.OID)
	x, ok := scalar(ct, c.Val)
	same := sameRepresentation(vs.typ.OID, c.Typ.OID) && vs.typ.Compare != nil
	if !ok && !same {
		return defaultIneqSel
	}
	below := func(d sqltypes.Datum) int { // sign of d - constant
		if same {
			return vs.typ.Compare(d, c.Val)
		}
		y, _ := scalar(vs.typ, d)
		switch {
		case y < x:
			return -1
		case y > x:
			return 1
		}
		return 0
	}
	inclusive := b.op.Restrict == "scalarlesel" || b.op.Restrict == "scalargesel"
	common, sum := 0.0, 0.0
	for i, m := range vs.col.MCV {
		f := vs.col.MCVFreq[i]
		sum += f
		s := below(m)
		if less && s < 0 || !less && s > 0 || s == 0 && inclusive {
			common += f
		}
	}
	h := vs.col.Histogram
	frac := defaultIneqSel
	if n := len(h); n >= 2 {
		lo, hi := 0, n // first bucket boundary ≥ constant
		for lo < hi {
			mid := (lo + hi) / 2
			if below(h[mid]) < 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		var pos float64
		switch lo {
		case 0:
			pos = 0
		case n:
			pos = float64(n - 1)
		default:
			a, aok := scalar(vs.typ, h[lo-1])
			z, zok := scalar(vs.typ, h[lo])
			in := 0.5
			if aok && zok && ok && z > a {
				in = math.Max(0, math.Min(1, (x-a)/(z-a)))
			}
			pos = float64(lo-1) + in
		}
		frac = pos / float64(n-1)
		if !less {
			frac = 1 - frac
		}
		frac = math.Max(0.0001, math.Min(0.9999, frac))
	} else if len(vs.col.MCV) > 0 {
		frac = 0.5
		if sum+vs.nullFrac > 0.999 {
			frac = 0
		}
	}
	return clampSel(common + frac*math.Max(0, 1-sum-vs.nullFrac))
}

// matchSel estimates LIKE and regular expressions: by trying the pattern on the
// histogram and the common values where there are any, else by its fixed characters.
func (lv *level) matchSel(vs varStat, b binaryOp, c *expr.Const, known, negate bool) float64 {
	if !known {
		if negate {
			return 1 - defaultMatchSel - vs.nullFrac
		}
		return defaultMatchSel
	}
	s := -1.0
	if vs.col != nil && b.call.Proc.Fn != nil {
		proc := b.call.Proc
		if negate {
			if neg := sqltypes.OperatorByOID(b.op.Negator); neg != nil && neg.Proc != nil && neg.Proc.Fn != nil {
				proc = neg.Proc
			} else {
				proc = nil
			}
		}
		if proc != nil {
			s = lv.trySel(vs, proc, b, c)
		}
	}
	if s < 0 {
		s = patternSel(c.Val.S, b.op.Name)
	}
	if negate {
		return clampSel(1 - s - vs.nullFrac)
	}
	return clampSel(s)
}

func (lv *level) trySel(vs varStat, proc *sqltypes.Proc, b binaryOp, c *expr.Const) float64 {
	if len(vs.col.Histogram) < 10 && len(vs.col.MCV) == 0 {
		return -1
	}
	call := &sqltypes.Call{Env: lv.p.env, Proc: proc, ArgTypes: []sqltypes.ColumnType{b.left.Type(), c.Typ}, RetType: boolType, Collation: b.call.Collation}
	match := func(d sqltypes.Datum) bool {
		v, err := proc.Fn(call, []sqltypes.Datum{d, c.Val})
		return err == nil && v.True()
	}
	common, sum := 0.0, 0.0
	for i, m := range vs.col.MCV {
		sum += vs.col.MCVFreq[i]
		if match(m) {
			common += vs.col.MCVFreq[i]
		}
	}
	rest := math.Max(0, 1-sum-vs.nullFrac)
	guess := patternSel(c.Val.S, b.op.Name)
	if n := len(vs.col.Histogram); n >= 10 {
		hits := 0
		for _, h := range vs.col.Histogram {
			if match(h) {
				hits++
			}
		}
		frac := float64(hits) / float64(n)
		if n < 100 {
			w := float64(n) / 100
			frac = frac*w + guess*(1-w)
		}
		guess = math.Max(0.0001, math.Min(0.9999, frac))
	}
	return common + guess*rest
}

// patternSel guesses from the pattern's text: a fixed prefix is a narrow range, each
// further fixed character keeps a fifth.
func patternSel(pat, op string) float64 {
	if op == "~~" || op == "!~~" {
		if prefix, whole, _ := likePrefix(pat); whole {
			return defaultEqSel
		} else if prefix != "" && len(prefix) < len(pat) {
			rest := pat[len(prefix):]
			if strings.Trim(rest, "%") == "" {
				return defaultRangeSel
			}
			return math.Max(1e-6, defaultRangeSel*patternSel(rest, ""))
		}
	}
	s, fixed := 1.0, 0
	for i := 0; i < len(pat); i++ {
		switch ch := pat[i]; {
		case ch == '%' || ch == '*':
			s *= 5
		case ch == '_' || ch == '.':
			s *= 0.9
		case ch == '\\':
		default:
			fixed++
			if fixed <= 8 {
				s *= 0.2
			}
		}
	}
	return math.Max(1e-5, math.Min(s, 0.999))
}

func (lv *level) arrayOpSel(n *expr.ArrayOp) float64 {
	op := operatorOfProc(n.Proc, n.Op)
	elems, known := constElems(n.Array)
	count := 10.0
	if a, ok := n.Array.(*expr.ArrayCtor); ok {
		count = float64(len(a.Elems))
	}
	if op == nil {
		return 0.5
	}
	one := func(e expr.Expr) float64 {
		call := &expr.Call{T: n.T, Proc: n.Proc, Op: n.Op, Args: []expr.Expr{n.Left, e}, Collation: n.Collation}
		return lv.selectivity(call)
	}
	eq := op.Restrict == "eqsel"
	s := 0.0
	if n.All {
		s = 1
	}
	add := func(x float64) {
		switch {
		case n.All && op.Restrict == "neqsel":
			s -= 1 - x
		case n.All:
			s *= x
		case eq:
			s += x
		default:
			s = s + x - s*x
		}
	}
	if known {
		if et := lv.p.elemType(n.Array.Type().OID); et != 0 && len(elems) <= 200 {
			for _, d := range elems {
				add(one(&expr.Const{T: expr.T{Typ: sqltypes.ColumnType{OID: et, TypMod: -1}}, Val: d}))
			}
			return clampSel(s)
		}
		count = float64(len(elems))
	}
	x := one(&expr.Param{T: expr.T{Typ: n.Left.Type()}, N: 1 << 20})
	for i := 0.0; i < count; i++ {
		add(x)
	}
	return clampSel(s)
}

// constElems are the elements of a constant array.
func constElems(e expr.Expr) ([]sqltypes.Datum, bool) {
	c, ok := isConst(e)
	if !ok || c.Val.Null {
		return nil, false
	}
	t := sqltypes.TypeByOID(c.Typ.OID)
	if t == nil || !t.IsArray {
		return nil, false
	}
	return sqltypes.OpenArray(c.Val).Elements(), true
}

func (p *planning) elemType(arr sqltypes.OID) sqltypes.OID {
	if t := p.typ(arr); t != nil {
		return t.Elem
	}
	return 0
}

// joinOpSel estimates a condition between two relations over their cross product.
func (lv *level) joinOpSel(b binaryOp) float64 {
	switch b.op.Join {
	case "eqjoinsel":
		return lv.eqJoinSel(lv.statOf(b.left), lv.statOf(b.right))
	case "neqjoinsel":
		return 1 - lv.eqJoinSel(lv.statOf(b.left), lv.statOf(b.right))
	case "likejoinsel", "regexeqjoinsel":
		return defaultMatchSel
	case "nlikejoinsel", "regexnejoinsel":
		return 1 - defaultMatchSel
	}
	return defaultIneqSel
}

func (lv *level) eqJoinSel(a, b varStat) float64 {
	nulls := (1 - a.nullFrac) * (1 - b.nullFrac)
	d := math.Max(a.distinct, b.distinct)
	base := nulls / math.Max(1, d)
	if a.col == nil || b.col == nil || len(a.col.MCV) == 0 || len(b.col.MCV) == 0 || a.typ == nil || a.typ.Compare == nil ||
		!sameRepresentation(a.typ.OID, b.typ.OID) {
		return base
	}
	match, fa, fb, n := 0.0, 0.0, 0.0, 0.0
	ta, tb := 0.0, 0.0
	for _, f := range a.col.MCVFreq {
		ta += f
	}
	for _, f := range b.col.MCVFreq {
		tb += f
	}
	used := make([]bool, len(b.col.MCV))
	for i, x := range a.col.MCV {
		for j, y := range b.col.MCV {
			if !used[j] && a.typ.Compare(x, y) == 0 {
				used[j] = true
				match += a.col.MCVFreq[i] * b.col.MCVFreq[j]
				fa += a.col.MCVFreq[i]
				fb += b.col.MCVFreq[j]
				n++
				break
			}
		}
	}
	oa, ob := math.Max(0, 1-ta-a.nullFrac), math.Max(0, 1-tb-b.nullFrac)
	s := match
	if r := b.distinct - n; r > 0 {
		s += (ta - fa) * (tb - fb + ob) / math.Max(1, r) * 0.5
	}
	rest := math.Max(1, math.Max(a.distinct, b.distinct)-n)
	s += oa * (ob + tb - fb) / rest
	return clampSel(math.Max(s, match))
}
