package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

func mapChildren(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	return planner.MapChildren(e, f)
}

// canonical prepares a folded condition for distribution: common factors of ORs
// are drawn out, equalities with constants under OR become = ANY, duplicates go.
func (p *planning) canonical(cond expr.Expr) []expr.Expr {
	var out []expr.Expr
	seen := map[string]bool{}
	for _, c := range conjuncts(cond) {
		for _, f := range p.factorOr(c) {
			k := exprKey(f)
			if seen[k] && !volatileExpr(f) {
				continue
			}
			seen[k] = true
			out = append(out, f)
		}
	}
	return out
}

// factorOr turns (a AND b) OR (a AND c) into a, (b OR c).
func (p *planning) factorOr(e expr.Expr) []expr.Expr {
	if _, ok := e.(*expr.Or); !ok {
		return []expr.Expr{e}
	}
	arms := disjuncts(e)
	parts := make([][]expr.Expr, len(arms))
	for i, a := range arms {
		parts[i] = conjuncts(a)
	}
	var common []expr.Expr
	for _, c := range parts[0] {
		k, all := exprKey(c), true
		for _, other := range parts[1:] {
			if !containsKey(other, k) {
				all = false
				break
			}
		}
		if all && !volatileExpr(c) {
			common = append(common, c)
		}
	}
	if len(common) > 0 {
		for i := range parts {
			parts[i] = withoutKeys(parts[i], common)
			if len(parts[i]) == 0 {
				return common // a OR (a AND b) is a
			}
		}
	}
	rest := make([]expr.Expr, len(parts))
	for i := range parts {
		rest[i] = andOf(parts[i])
	}
	return append(common, p.orToAny(rest)...)
}

func containsKey(es []expr.Expr, key string) bool {
	for _, e := range es {
		if exprKey(e) == key {
			return true
		}
	}
	return false
}

func withoutKeys(es, remove []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, e := range es {
		if !containsKey(remove, exprKey(e)) {
			out = append(out, e)
		}
	}
	return out
}

// orToAny gathers x = c1 OR x = c2 OR … of one operator into x = ANY ('{…}').
func (p *planning) orToAny(arms []expr.Expr) []expr.Expr {
	type group struct {
		b    binaryOp
		vals []sqltypes.Datum
		at   int
	}
	var out []expr.Expr
	groups := map[string]*group{}
	var order []*group
	for _, a := range arms {
		b, ok := asBinary(a)
		if ok {
			if _, left := isConst(b.left); left {
				if c, can := b.commute(); can {
					b = c
				}
			}
			c, isC := isConst(b.right)
			strategy, _ := btreeStrategy(b.op, 0)
			if isC && !c.Val.Null && strategy == sqltypes.BtreeEqual && b.op.Name == "=" && !volatileExpr(b.left) {
				k := keyInt([]byte(exprKey(b.left)), '=', int64(b.op.OID))
				k = keyInt(k, ':', int64(c.Typ.OID))
				if g := groups[string(k)]; g != nil {
					g.vals = append(g.vals, c.Val)
					continue
				}
				g := &group{b: b, vals: []sqltypes.Datum{c.Val}, at: len(out)}
				groups[string(k)] = g
				order = append(order, g)
			}
		}
		out = append(out, a)
	}
	for _, g := range order {
		elem := p.typ(g.b.right.Type().OID)
		if len(g.vals) < 2 || elem == nil || elem.Array == 0 {
			if len(g.vals) > 1 {
				return []expr.Expr{orOf(arms)}
			}
			continue
		}
		arr := &expr.Const{
			T:   expr.T{Typ: sqltypes.ColumnType{OID: elem.Array, TypMod: -1, Collation: g.b.right.Type().Collation}},
			Val: sqltypes.MakeArray(elem, []sqltypes.ArrayDim{{Len: int32(len(g.vals)), Lower: 1}}, g.vals),
		}
		out[g.at] = &expr.ArrayOp{T: expr.T{Typ: boolType}, Proc: g.b.op.Proc, Op: g.b.op.Name, Left: g.b.left, Array: arr, Collation: g.b.call.Collation}
	}
	return []expr.Expr{orOf(out)}
}

// orRestrictions derives from a condition over several relations, an OR whose
// every arm restricts one relation, the weaker condition on that relation alone.
func orRestrictions(e expr.Expr) []expr.Expr {
	if _, ok := e.(*expr.Or); !ok {
		return nil
	}
	arms := disjuncts(e)
	var out []expr.Expr
	for _, r := range relsOf(e).members() {
		var parts []expr.Expr
		for _, a := range arms {
			var mine []expr.Expr
			for _, c := range conjuncts(a) {
				if relsOf(c) == relOf(r) && !volatileExpr(c) && !hasSubPlan(c) {
					mine = append(mine, c)
				}
			}
			if len(mine) == 0 {
				parts = nil
				break
			}
			parts = append(parts, andOf(mine))
		}
		if len(parts) > 0 {
			out = append(out, orOf(dedupe(parts)))
		}
	}
	return out
}

func dedupe(es []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, e := range es {
		if !containsKey(out, exprKey(e)) {
			out = append(out, e)
		}
	}
	return out
}
