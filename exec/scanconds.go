package exec

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// seriesConds are the parts of a scan's filter that a time-series store can use:
// comparisons of the time and of tags with values that do not depend on the row,
// and whatever else is only about tags.
type seriesConds struct {
	x       *Execution
	conds   []seriesCond
	buckets []bucketCond
	rollups []rollupCond
	tags    *expr.Program // over the tags in key order; nil: no condition
	// exact: rows that the conditions leave need not be tested again.
	exact bool
}

type seriesCond struct {
	attr  int16
	op    byte
	value *expr.Program // nil: IS NULL
	array bool          // = ANY(value)
}

// flipped is the comparison with its sides exchanged.
var flipped = map[string]string{"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

func (x *Execution) newSeriesConds(p *planner.Scan) (*seriesConds, error) {
	ts := p.Rel.TimeSeriesSpec()
	if ts == nil || p.Filter == nil {
		return nil, nil
	}
	s := &seriesConds{x: x, exact: true}
	place := map[int16]int{} // attribute → position among the tags
	for i, a := range ts.Tags {
		place[a] = i
	}
	var onTags []expr.Expr
	for _, e := range conjunction(p.Filter) {
		if c, ok := e.(*expr.Call); ok && c.Proc.Rollup != 0 {
			if err := s.rollup(c); err != nil {
				return nil, err
			}
			continue
		}
		if ok, err := s.bucket(p, e, ts.Time); ok || err != nil {
			if err != nil {
				return nil, err
			}
			s.exact = s.exact && s.buckets[len(s.buckets)-1].fixed()
			continue
		}
		if c, ok := s.cond(p, e, ts.Time, place); ok {
			var err error
			if e, ok := c.valueExpr.(expr.Expr); ok {
				if c.value, err = x.compile(e); err != nil {
					return nil, err
				}
			}
			s.conds = append(s.conds, c.seriesCond)
			s.exact = s.exact && !(c.array && c.attr == ts.Time)
			continue
		}
		if t, ok := tagsOnly(p, e, place); ok {
			onTags = append(onTags, t)
			continue
		}
		s.exact = false
	}
	if len(onTags) > 0 {
		e := onTags[0]
		if len(onTags) > 1 {
			e = &expr.And{T: expr.T{Typ: sqltypes.ColumnType{OID: sqltypes.OIDBool, TypMod: -1}}, Args: onTags}
		}
		var err error
		if s.tags, err = x.compile(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func conjunction(e expr.Expr) []expr.Expr {
	if a, ok := e.(*expr.And); ok {
		var out []expr.Expr
		for _, x := range a.Args {
			out = append(out, conjunction(x)...)
		}
		return out
	}
	return []expr.Expr{e}
}

type pendingCond struct {
	seriesCond
	valueExpr any
}

// cond recognises a comparison of the time or a tag with a value.
func (s *seriesConds) cond(p *planner.Scan, e expr.Expr, time int16, place map[int16]int) (pendingCond, bool) {
	c, ok := comparison(p, e, func(a int16) bool { _, tag := place[a]; return tag || a == time })
	if _, tag := place[c.attr]; ok && (tag && c.op != '=' || !tag && c.valueExpr == nil) {
		return pendingCond{}, false
	}
	return c, ok
}

// comparison recognises a condition that compares an attribute with a value that is
// the same for all rows.
func comparison(p *planner.Scan, e expr.Expr, usable func(attr int16) bool) (pendingCond, bool) {
	attr := func(e expr.Expr) (int16, sqltypes.ColumnType, bool) {
		for {
			r, ok := e.(*expr.Relabel)
			if !ok {
				break
			}
			e = r.Arg
		}
		c, ok := e.(*expr.Col)
		if !ok || c.Idx >= len(p.Attrs) || !usable(p.Attrs[c.Idx]) {
			return 0, sqltypes.ColumnType{}, false
		}
		return p.Attrs[c.Idx], c.Typ, true
	}
	none := pendingCond{}
	switch n := e.(type) {
	case *expr.NullTest:
		if a, _, ok := attr(n.Arg); ok && !n.IsNot {
			return pendingCond{seriesCond: seriesCond{attr: a, op: '='}}, true
		}
	case *expr.Call:
		if len(n.Args) != 2 || !rowless(n) {
			return none, false
		}
		op, value := n.Op, n.Args[1]
		a, typ, ok := attr(n.Args[0])
		if !ok {
			op, value = flipped[op], n.Args[0]
			if a, typ, ok = attr(n.Args[1]); !ok {
				return none, false
			}
		}
		if !constant(value) || !sameOrder(typ.OID, value.Type().OID) || flipped[op] == "" {
			return none, false
		}
		code := map[string]byte{"=": '=', "<": '<', ">": '>', "<=": 'l', ">=": 'g'}[op]
		return pendingCond{seriesCond: seriesCond{attr: a, op: code}, valueExpr: value}, true
	case *expr.ArrayOp:
		if n.All || n.Op != "=" || n.Proc.Lang != 12 || !constant(n.Array) {
			return none, false
		}
		a, typ, ok := attr(n.Left)
		if t := sqltypes.TypeByOID(n.Array.Type().OID); !ok || t == nil || !t.IsArray || !sameOrder(typ.OID, t.Elem) {
			return none, false
		}
		return pendingCond{seriesCond: seriesCond{attr: a, op: '=', array: true}, valueExpr: n.Array}, true
	}
	return none, false
}

// rowless: the operator of a comparison, which may be evaluated early.
func rowless(c *expr.Call) bool {
	return c.Op != "" && c.Proc.Lang == 12 && c.Proc.Volatility == sqltypes.Immutable
}

// sameOrder: values of the two types are represented alike and compare as numbers
// or bytes do.
func sameOrder(a, b sqltypes.OID) bool {
	class := func(o sqltypes.OID) int {
		switch o {
		case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8:
			return 1
		case sqltypes.OIDTimestamptz:
			return 2
		case sqltypes.OIDTimestamp:
			return 3
		case sqltypes.OIDText, sqltypes.OIDVarchar:
			return 4
		case sqltypes.OIDBool:
			return 5
		case sqltypes.OIDUuid:
			return 6
		case sqltypes.OIDDate:
			return 7
		}
		return 0
	}
	c := class(a)
	return c != 0 && c == class(b)
}

// constant reports an expression whose value is the same for all rows of a scan.
func constant(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *expr.Col, *expr.SubPlan:
			ok = false
		case *expr.Call:
			ok = ok && n.Proc.Volatility != sqltypes.Volatile
		}
		return ok
	})
	return ok
}

// tagsOnly is e over the tags in key order when it reads nothing else.
func tagsOnly(p *planner.Scan, e expr.Expr, place map[int16]int) (expr.Expr, bool) {
	ok, any := true, false
	expr.Walk(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *expr.Col:
			_, tag := place[p.Attrs[n.Idx]]
			ok, any = ok && tag, true
		case *expr.SubPlan:
			ok = false
		case *expr.Call:
			ok = ok && n.Proc.Volatility == sqltypes.Immutable
		}
		return ok
	})
	if !ok || !any {
		return nil, false
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			cp := *c
			cp.Idx = place[p.Attrs[c.Idx]]
			return &cp
		}
		return x
	}), true
}

// fill puts the conditions, with their values, into a scan's specification; none
// is true when a comparison with NULL leaves nothing.
func (s *seriesConds) fill(spec *engine.ScanSpec) (none bool, err error) {
	spec.Conds = spec.Conds[:0]
	for _, c := range s.conds {
		out := engine.Cond{Attr: c.attr, Op: c.op}
		if c.value == nil {
			out.Null = true
		} else {
			d, err := s.x.scalar(c.value)
			if err != nil {
				return false, err
			}
			if d.Null {
				return true, nil
			}
			if c.array {
				for _, e := range sqltypes.OpenArray(d).Elements() {
					if !e.Null {
						out.Values = append(out.Values, e)
					}
				}
				if len(out.Values) == 0 {
					return true, nil
				}
			} else {
				out.Values = []sqltypes.Datum{d}
			}
		}
		spec.Conds = append(spec.Conds, out)
	}
	for i := range s.buckets {
		if none, err := s.buckets[i].fill(s.x, spec); none || err != nil {
			return none, err
		}
	}
	for i := range s.rollups {
		if err := s.rollups[i].fill(s.x, spec); err != nil {
			return false, err
		}
	}
	if s.tags != nil {
		spec.KeyFilter = func(tags []sqltypes.Datum) (bool, error) {
			d, err := s.tags.Row(tags, &s.x.params, s.x.env)
			return err == nil && d.True(), err
		}
	}
	return false, nil
}
