package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// RollupShape is what a query must have to be a continuous aggregate's.
type RollupShape struct {
	Query   *planner.Query
	Raw     *catalog.Relation
	Source  *catalog.Relation // the continuous aggregate that is grouped; nil: Raw itself
	Buckets sqltypes.Buckets
	Bucket  int   // place of the bucket among the visible columns
	Tags    []int // places of the other GROUP BY columns
}

// RollupQuery binds the query of a continuous aggregate and checks that its result
// can be kept bucket by bucket: rows of one time-series table, or of another continuous
// aggregate, grouped by one time_bucket of their time and by columns, through immutable
// functions only.
func RollupQuery(ctx *planner.Context, node *pg.Node) (*RollupShape, error) {
	q, params, err := Bind(ctx, node)
	if err != nil {
		return nil, err
	}
	if len(params) > 0 {
		return nil, pgerror.New(pgerror.UndefinedParameter, "there is no parameter $1")
	}
	s := &RollupShape{Query: q, Bucket: -1}
	if q.SetOp == nil && len(q.Range) == 1 {
		switch r := q.Range[0]; {
		case r.Kind == planner.RTERelation && r.Rel.TimeSeries:
			s.Raw = r.Rel
		case r.Kind == planner.RTESubquery && r.ViewOID != 0 && r.Rel != nil && r.Rel.Rollup != nil:
			s.Source, s.Raw = r.Rel, ctx.Catalog.Relation(r.Rel.Rollup.Raw)
		}
	}
	if s.Raw == nil {
		return nil, pgerror.NotSupported("a continuous aggregate over anything but one time-series table or continuous aggregate")
	}
	for what, has := range map[string]bool{
		"ORDER BY": len(q.Sort) > 0, "LIMIT": q.Limit != nil || q.Offset != nil, "DISTINCT": q.Distinct || len(q.DistinctOn) > 0,
		"window functions": q.HasWindow, "WITH": len(q.CTEs) > 0, "set-returning functions": q.HasTargetSRF, "TABLESAMPLE": q.Range[0].Sample != nil,
		"grouping sets": q.GroupSets != nil, "FOR UPDATE": len(q.RowMarks) > 0,
	} {
		if has {
			return nil, pgerror.NotSupported("%s in a continuous aggregate", what)
		}
	}
	for _, t := range append([]planner.Target1{{Expr: q.Where}, {Expr: q.Having}}, q.Targets...) {
		if err := rollupExpr(t.Expr); err != nil {
			return nil, err
		}
	}
	return s, s.groups()
}

func rollupExpr(e expr.Expr) error {
	var err error
	planner.Visit(e, func(x expr.Expr) bool {
		switch n := x.(type) {
		case *planner.SubLink:
			err = pgerror.NotSupported("subqueries in a continuous aggregate")
		case *expr.Call:
			if n.Proc.Volatility != sqltypes.Immutable {
				err = pgerror.New(pgerror.FeatureNotSupported, "only immutable functions supported in continuous aggregate view").
					WithHint("Make sure all functions in the continuous aggregate definition have IMMUTABLE volatility. %s is not.", n.Proc.Name)
			}
		case *expr.CoerceViaIO:
			switch n.Arg.Type().OID {
			case sqltypes.OIDTimestamptz, sqltypes.OIDTimestamp, sqltypes.OIDDate, sqltypes.OIDInterval:
				err = pgerror.New(pgerror.FeatureNotSupported, "only immutable functions supported in continuous aggregate view")
			}
		}
		return err == nil
	})
	return err
}

// groups finds the bucket and the other columns of GROUP BY.
func (s *RollupShape) groups() error {
	place := map[int]int{}
	n := 0
	for i, t := range s.Query.Targets {
		if !t.Junk {
			place[i] = n
			n++
		}
	}
	for _, g := range s.Query.GroupBy {
		at, visible := place[g]
		if !visible {
			return pgerror.NotSupported("a continuous aggregate that does not select all of its GROUP BY expressions")
		}
		c, ok := s.Query.Targets[g].Expr.(*expr.Call)
		if !ok || c.Proc.NextBucket == nil {
			s.Tags = append(s.Tags, at)
			continue
		}
		if s.Bucket >= 0 {
			return pgerror.New(pgerror.FeatureNotSupported, "continuous aggregate view cannot contain multiple time bucket functions")
		}
		s.Bucket = at
		if err := s.bucket(c); err != nil {
			return err
		}
	}
	if s.Bucket < 0 {
		return pgerror.New(pgerror.FeatureNotSupported, "continuous aggregate view must include a valid time bucket function")
	}
	return nil
}

func (s *RollupShape) bucket(c *expr.Call) error {
	v, ok := c.Args[1].(*planner.Var)
	time := s.Raw.TS.Time
	if s.Source != nil {
		time = s.Source.Rollup.Bucket
	}
	if r := s.Query.Range[0]; !ok || v.Level != 0 || v.Col < 0 || r.Attrs[v.Col] != time {
		return pgerror.New(pgerror.FeatureNotSupported, "time bucket function must reference the primary hypertable dimension column")
	}
	buckets := c.Proc.Buckets
	if c.Proc.ZoneBuckets != nil {
		buckets = c.Proc.ZoneBuckets
	}
	if buckets == nil {
		return pgerror.NotSupported("such buckets in a continuous aggregate")
	}
	args := make([]sqltypes.Datum, len(c.Args))
	for i, a := range c.Args {
		k, ok := a.(*expr.Const)
		if i != 1 && (!ok || k.Val.Null) {
			return pgerror.New(pgerror.FeatureNotSupported, "only immutable expressions allowed in time bucket function").
				WithHint("Use an immutable expression as first argument to the time bucket function.")
		}
		if ok {
			args[i] = k.Val
		}
	}
	var err error
	if s.Buckets, err = buckets(args); err != nil || s.Source == nil {
		return err
	}
	if s.Buckets, err = nested(s.Buckets, s.Source.Rollup.Buckets); err != nil || s.Buckets.Step == 0 || s.Source.Rollup.Buckets.Step != 0 {
		return err
	}
	return s.steps(c.Proc, args)
}

// steps checks that days by the clock of a zone begin where buckets below do.
func (s *RollupShape) steps(p *sqltypes.Proc, args []sqltypes.Datum) error {
	const from, to = 0, 37 * 366 * usecDay // 2000 to 2037
	c := &sqltypes.Call{Env: &sqltypes.Env{Formats: sqltypes.DefaultFormats()}, Proc: p}
	a := append([]sqltypes.Datum{}, args...)
	a[0], a[1] = sqltypes.MakeInterval(sqltypes.Interval{Days: 1}), sqltypes.Int(from)
	d, err := p.Fn(c, a)
	for err == nil && d.I < to {
		if (d.I-s.Buckets.StepOrigin)%s.Buckets.Step != 0 {
			return errNested
		}
		a[1] = d
		d, err = p.NextBucket(c, a)
	}
	return err
}

const usecDay = 86_400_000_000

var errNested = pgerror.NotSupported("a continuous aggregate whose buckets are not made of whole buckets of the one below it")

// nested are the buckets of a continuous aggregate over one with the inner buckets:
// all raw rows of an inner bucket must be in one of them.
func nested(b, inner sqltypes.Buckets) (sqltypes.Buckets, error) {
	const least = 28 * usecDay // a month
	width := func(b sqltypes.Buckets) int64 {
		if b.Months > 0 {
			return b.Months * least
		}
		return b.Width
	}
	if width(b) < width(inner) {
		return b, pgerror.New(pgerror.FeatureNotSupported, "cannot create continuous aggregate with incompatible bucket width").
			WithDetail("Time bucket width of the continuous aggregate should be greater or equal than that of the one below it.")
	}
	fits := false
	switch {
	case inner.Months > 0:
		fits = b.Months > 0 && b.Months%inner.Months == 0 && b.Origin == inner.Origin
	case b.Months > 0:
		fits = usecDay%inner.Width == 0 && (inner.Zone != "" || inner.Origin%inner.Width == 0)
	default:
		fits = b.Width%inner.Width == 0 && (b.Zone != "" || (b.Origin-inner.Origin)%inner.Width == 0)
	}
	switch {
	case inner.Zone == b.Zone:
		b.Step, b.StepOrigin = inner.Step, inner.StepOrigin
	case inner.Zone == "" && inner.Months == 0:
		b.Step, b.StepOrigin = inner.Width, inner.Origin
	default:
		fits = false
	}
	if !fits {
		return b, errNested
	}
	return b, nil
}

func (b *binder) parsed(text string) *pg.Node {
	st, err := parse.One(text)
	b.check(err, -1)
	return st.AST
}
