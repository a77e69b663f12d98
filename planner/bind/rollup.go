package bind

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

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
	Buckets sqltypes.Buckets
	Bucket  int   // place of the bucket among the visible columns
	Tags    []int // places of the other GROUP BY columns
}

// RollupQuery binds the query of a continuous aggregate and checks that its result
// can be kept bucket by bucket: rows of one time-series table, grouped by one
// time_bucket of their time and by columns, through immutable functions only.
func RollupQuery(ctx *planner.Context, node *pg.Node) (*RollupShape, error) {
	q, params, err := Bind(ctx, node)
	if err != nil {
		return nil, err
	}
	if len(params) > 0 {
		return nil, pgerror.New(pgerror.UndefinedParameter, "there is no parameter $1")
	}
	if q.SetOp != nil || len(q.Range) != 1 || q.Range[0].Kind != planner.RTERelation || !q.Range[0].Rel.TimeSeries {
		return nil, pgerror.NotSupported("a continuous aggregate over anything but one time-series table")
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
	s := &RollupShape{Query: q, Raw: q.Range[0].Rel, Bucket: -1}
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
	if r := s.Query.Range[0]; !ok || v.Level != 0 || v.Col < 0 || r.Attrs[v.Col] != s.Raw.TS.Time {
		return pgerror.New(pgerror.FeatureNotSupported, "time bucket function must reference the primary hypertable dimension column")
	}
	if c.Proc.Buckets == nil {
		return pgerror.NotSupported("time zones in the buckets of a continuous aggregate")
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
	s.Buckets, err = c.Proc.Buckets(args)
	return err
}

// rollupTree is the query that a continuous aggregate stands for: the buckets that
// are stored and up to date, and the definition's query over all other rows.
func (b *binder) rollupTree(rel *catalog.Relation) *pg.Node {
	r := rel.Rollup
	store, raw := b.cat.Relation(r.Store), b.cat.Relation(r.Raw)
	if store == nil || raw == nil {
		b.fail(-1, pgerror.InternalError, "continuous aggregate %q has lost a table", rel.Name)
	}
	var cols []string
	for _, c := range store.Columns {
		cols = append(cols, sqltypes.QuoteIdent(c.Name))
	}
	text := "SELECT " + strings.Join(cols, ", ") + " FROM ostraka." + sqltypes.QuoteIdent(store.Name)
	if r.StoredOnly {
		return b.parsed(text)
	}
	stored := b.parsed(text + fmt.Sprintf(" WHERE pg_catalog.ostraka_bucket_stored('%d'::int8, '%d'::int8, %s)", store.StorageID, raw.StorageID, cols[r.Bucket-1]))
	rest, err := RollupWhere(rel, raw, "ostraka_bucket_raw", int64(store.StorageID), int64(raw.StorageID))
	b.check(err, -1)
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{Op: pg.SetOperation_SETOP_UNION, All: true,
		Larg: stored.GetSelectStmt(), Rarg: rest.GetSelectStmt(), LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT}}}
}

func (b *binder) parsed(text string) *pg.Node {
	st, err := parse.One(text)
	b.check(err, -1)
	return st.AST
}

// RollupWhere is the definition's query of a continuous aggregate with one of the
// store's conditions on the time of the raw rows added.
func RollupWhere(rel, raw *catalog.Relation, cond string, x, y int64) (*pg.Node, error) {
	st, err := parse.One(rel.ViewDef)
	if err != nil {
		return nil, err
	}
	tree := proto.Clone(st.AST).(*pg.Node)
	sel := tree.GetSelectStmt()
	alias := sqltypes.QuoteIdent(raw.Name)
	if v := sel.GetFromClause()[0].GetRangeVar(); v.GetAlias() != nil {
		alias = sqltypes.QuoteIdent(v.Alias.Aliasname)
	}
	e, err := parse.Expression(fmt.Sprintf("pg_catalog.%s('%d'::int8, '%d'::int8, %s.%s)", cond, x, y, alias, sqltypes.QuoteIdent(raw.Columns[rel.Rollup.Time-1].Name)))
	if err != nil {
		return nil, err
	}
	if sel.WhereClause != nil {
		e = &pg.Node{Node: &pg.Node_BoolExpr{BoolExpr: &pg.BoolExpr{Boolop: pg.BoolExprType_AND_EXPR, Args: []*pg.Node{sel.WhereClause, e}, Location: -1}}}
	}
	sel.WhereClause = e
	return tree, nil
}
