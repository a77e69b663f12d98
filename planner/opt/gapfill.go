package opt

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// bucketCall is e when it is a call that groups by buckets and fills gaps.
func bucketCall(e expr.Expr) *expr.Call {
	if c, ok := e.(*expr.Call); ok && c.Proc.Gapfill != nil {
		return c
	}
	return nil
}

func hasGapfill(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool {
		c, ok := x.(*expr.Call)
		return ok && (c.Proc.Gapfill != nil || c.Proc.Fill != 0)
	})
}

// gapfillGroup is the place of the gap-filling bucket among GROUP BY's targets, -1
// if there is none. Its functions are refused where they would fill nothing.
func gapfillGroup(q *planner.Query) (int, error) {
	at, n := -1, 0
	for _, g := range q.GroupBy {
		if bucketCall(q.Targets[g].Expr) != nil {
			at = g
			n++
		}
	}
	switch {
	case n > 1:
		return -1, pgerror.New(pgerror.FeatureNotSupported, "multiple time_bucket_gapfill calls not allowed")
	case n == 1 && q.GroupSets != nil:
		return -1, pgerror.NotSupported("time_bucket_gapfill with GROUPING SETS")
	case n == 1 && hasGapfill(q.Where):
		return -1, pgerror.New(pgerror.FeatureNotSupported, "no top level time_bucket_gapfill in group by clause")
	case n == 1:
		return at, nil
	}
	misplaced := hasGapfill(q.Where) || hasGapfill(q.Having)
	for _, t := range q.Targets {
		misplaced = misplaced || hasGapfill(t.Expr)
	}
	if misplaced {
		return -1, pgerror.New(pgerror.FeatureNotSupported, "no top level time_bucket_gapfill in group by clause").
			WithHint("time_bucket_gapfill, locf and interpolate need GROUP BY time_bucket_gapfill(…).")
	}
	return -1, nil
}

// rowBucket is the call that computes the bucket of a row.
func rowBucket(c *expr.Call) *expr.Call {
	r := *c
	r.Proc, r.Args = c.Proc.Gapfill, c.Args[:len(c.Proc.Gapfill.ArgTypes)]
	return &r
}

// gapfill adds the GapFill above the grouping: groups are its columns' expressions,
// target the query's target that is the bucket.
func (s *upper) gapfill(groups []expr.Expr, target int) {
	lv := s.lv
	call := bucketCall(s.q.Targets[target].Expr)
	n := &planner.GapFill{Bucket: -1}
	key := exprKey(call)
	var order []pathKey
	var keys []planner.SortKey
	add := func(e expr.Expr) {
		if id, constant := lv.orderID(e); !constant {
			order = append(order, pathKey{id: id})
			keys = append(keys, planner.SortKey{Expr: lv.resolve(e, s.b)})
		}
	}
	for i, g := range groups {
		if n.Bucket < 0 && exprKey(g) == key {
			n.Bucket = i
			continue
		}
		n.Groups = append(n.Groups, i)
		add(g)
	}
	add(call)
	s.sort(order, keys, 0, nil)

	n.Call = rowBucket(call)
	args := append([]expr.Expr(nil), n.Call.Args...)
	for i := range args {
		switch {
		case i == 1:
			args[i] = nullConst(args[i].Type())
		case readsColumns(args[i]):
			lv.p.fail(pgerror.New(pgerror.FeatureNotSupported, "bucket width and time zone of time_bucket_gapfill must not depend on the row"))
			return
		default:
			args[i] = lv.resolve(args[i], built{})
		}
	}
	n.Call.Args = args
	s.gapBounds(n, call)

	out := built{node: n, cols: append([]expr.Expr(nil), s.b.cols...)}
	n.Columns = append([]planner.Column(nil), s.b.node.Out()...)
	seen := map[string]bool{}
	for _, t := range s.q.Targets {
		planner.Visit(t.Expr, func(x expr.Expr) bool {
			c, ok := x.(*expr.Call)
			if !ok || c.Proc.Fill == 0 {
				return true
			}
			if k := exprKey(c); !seen[k] {
				seen[k] = true
				n.Fills = append(n.Fills, s.fillColumn(c))
				n.Columns = append(n.Columns, planner.Column{Name: c.Proc.Name, Type: c.Type()})
				out.cols = append(out.cols, c)
			}
			return false
		})
	}
	in := s.est()
	n.Input, n.Estimate = s.b.node, *in
	n.Estimate.Rows = clampRows(2 * in.Rows)
	n.Estimate.Total += n.Estimate.Rows * costEmit
	s.b = out
}

func readsColumns(e expr.Expr) bool {
	return contains(e, func(x expr.Expr) bool {
		v, ok := x.(*planner.Var)
		return ok && v.Level == 0
	})
}

// fillColumn is a call of locf(value, before, skip) or interpolate(value, before, after).
func (s *upper) fillColumn(c *expr.Call) planner.GapFillColumn {
	f := planner.GapFillColumn{Kind: c.Proc.Fill}
	for i, a := range c.Args {
		if contains(a, func(x expr.Expr) bool { n, ok := x.(*expr.Call); return ok && n.Proc.Fill != 0 }) {
			s.lv.p.fail(pgerror.NotSupported("nested calls of locf and interpolate"))
			return f
		}
		e := s.lv.resolve(a, s.b)
		if k, ok := isConst(e); ok && k.Val.Null && i > 0 {
			continue
		}
		switch {
		case i == 0:
			f.Value = e
		case i == 1:
			f.Before = e
		case f.Kind == 'l':
			f.SkipNull = e
		default:
			f.After = e
		}
	}
	if f.Value == nil {
		f.Value = nullConst(c.Type())
	}
	return f
}

// gapBounds finds start and finish: arguments of the call, else what the query's
// conditions say of the time.
func (s *upper) gapBounds(n *planner.GapFill, call *expr.Call) {
	lv, first := s.lv, len(call.Proc.Gapfill.ArgTypes)
	given := func(i int) []planner.GapBound {
		if i >= len(call.Args) {
			return nil
		}
		e := call.Args[i]
		if k, ok := isConst(e); ok && k.Val.Null {
			return nil
		}
		if readsColumns(e) {
			lv.p.fail(pgerror.New(pgerror.FeatureNotSupported, "invalid time_bucket_gapfill argument: bounds must not depend on the row"))
			return nil
		}
		return []planner.GapBound{{Value: lv.resolve(e, built{})}}
	}
	n.Start, n.Finish = given(first), given(first+1)
	inferStart, inferFinish := n.Start == nil, n.Finish == nil
	key := exprKey(stripRelabel(call.Args[1]))
	for _, c := range conjuncts(s.q.Where) {
		op, value, ok := comparedWith(c, key)
		if !ok || value.Type().OID != call.Args[1].Type().OID || readsColumns(value) || volatileExpr(value) {
			continue
		}
		value = lv.resolve(value, built{})
		if inferStart && (op == ">" || op == ">=" || op == "=") {
			n.Start = append(n.Start, planner.GapBound{Value: value, Plus: op == ">"})
		}
		if inferFinish && (op == "<" || op == "<=" || op == "=") {
			n.Finish = append(n.Finish, planner.GapBound{Value: value, Plus: op != "<"})
		}
	}
	if len(n.Start) == 0 {
		lv.p.fail(missingBound("start"))
	} else if len(n.Finish) == 0 {
		lv.p.fail(missingBound("finish"))
	}
}

func missingBound(what string) error {
	return pgerror.New(pgerror.InvalidParameterValue, "missing time_bucket_gapfill argument: could not infer %s from WHERE clause", what).
		WithHint("Specify start and finish as arguments or in the WHERE clause.")
}

// comparedWith recognises "column op value", either way round, for the column of a key.
func comparedWith(e expr.Expr, key string) (op string, value expr.Expr, ok bool) {
	b, ok := asBinary(e)
	if !ok {
		return "", nil, false
	}
	if exprKey(stripRelabel(b.left)) != key {
		if b, ok = b.commute(); !ok || exprKey(stripRelabel(b.left)) != key {
			return "", nil, false
		}
	}
	return b.op.Name, b.right, true
}
