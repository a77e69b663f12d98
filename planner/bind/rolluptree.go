package bind

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/engine/catalog"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rollupCond is a condition on the time of raw rows, or on the start of buckets made
// of them, that the store of time series answers.
type rollupCond struct {
	name string
	x, y int64
}

func (c rollupCond) on(column string) string {
	return fmt.Sprintf("pg_catalog.%s('%d'::int8, '%d'::int8, %s)", c.name, c.x, c.y, column)
}

// rollupTree is the query that a continuous aggregate stands for.
func (b *binder) rollupTree(rel *catalog.Relation) *pg.Node {
	var tree *pg.Node
	var err error
	if rel.Rollup.StoredOnly {
		tree, err = storedBuckets(b.cat, rel, nil)
	} else {
		tree, err = rollupRows(b.cat, rel, nil)
	}
	b.check(err, -1)
	return tree
}

// RollupBetween is the definition's query of a continuous aggregate over what has its
// time in [lo, hi).
func RollupBetween(cat *catalog.Catalog, rel *catalog.Relation, lo, hi int64) (*pg.Node, error) {
	return rollupQuery(cat, rel, []rollupCond{{"ostraka_time_between", lo, hi}})
}

// rollupTables are the table of an aggregate's buckets and that of the raw rows.
func rollupTables(cat *catalog.Catalog, rel *catalog.Relation) (store, raw *catalog.Relation, err error) {
	store, raw = cat.Relation(rel.Rollup.Store), cat.Relation(rel.Rollup.Raw)
	if store == nil || raw == nil {
		err = pgerror.New(pgerror.InternalError, "continuous aggregate %q has lost a table", rel.Name)
	}
	return store, raw, err
}

// storedBuckets reads the table of a continuous aggregate's buckets.
func storedBuckets(cat *catalog.Catalog, rel *catalog.Relation, conds []rollupCond) (*pg.Node, error) {
	store, _, err := rollupTables(cat, rel)
	if err != nil {
		return nil, err
	}
	var cols, where []string
	for _, c := range store.Columns {
		cols = append(cols, sqltypes.QuoteIdent(c.Name))
	}
	text := "SELECT " + strings.Join(cols, ", ") + " FROM ostraka." + sqltypes.QuoteIdent(store.Name)
	for _, c := range conds {
		where = append(where, c.on(cols[rel.Rollup.Bucket-1]))
	}
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	st, err := parse.One(text)
	if err != nil {
		return nil, err
	}
	return st.AST, nil
}

// rollupRows are the rows of a continuous aggregate whose time is as the conditions
// want: the buckets that are stored and up to date, and the definition's query over
// everything else.
func rollupRows(cat *catalog.Catalog, rel *catalog.Relation, conds []rollupCond) (*pg.Node, error) {
	store, raw, err := rollupTables(cat, rel)
	if err != nil {
		return nil, err
	}
	with := func(name string) []rollupCond {
		return append([]rollupCond{{name, int64(store.StorageID), int64(raw.StorageID)}}, conds...)
	}
	stored, err := storedBuckets(cat, rel, with("ostraka_bucket_stored"))
	if err != nil {
		return nil, err
	}
	rest, err := rollupQuery(cat, rel, with("ostraka_bucket_raw"))
	if err != nil {
		return nil, err
	}
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{Op: pg.SetOperation_SETOP_UNION, All: true,
		Larg: stored.GetSelectStmt(), Rarg: rest.GetSelectStmt(), LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT}}}, nil
}

// rollupQuery is the definition's query of a continuous aggregate over what the
// conditions on the time leave of the raw rows, or of the aggregate below it.
func rollupQuery(cat *catalog.Catalog, rel *catalog.Relation, conds []rollupCond) (*pg.Node, error) {
	st, err := parse.One(rel.ViewDef)
	if err != nil {
		return nil, err
	}
	tree := proto.Clone(st.AST).(*pg.Node)
	sel := tree.GetSelectStmt()
	from := sel.GetFromClause()[0].GetRangeVar()
	if rel.Rollup.Source != 0 {
		source := cat.Relation(rel.Rollup.Source)
		if source == nil || source.Rollup == nil {
			return nil, pgerror.New(pgerror.InternalError, "continuous aggregate %q has lost the one below it", rel.Name)
		}
		below, err := rollupRows(cat, source, conds)
		if err != nil {
			return nil, err
		}
		alias := from.GetAlias()
		if alias == nil {
			alias = &pg.Alias{Aliasname: from.GetRelname()}
		}
		sel.FromClause[0] = &pg.Node{Node: &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{Subquery: below, Alias: alias}}}
		return tree, nil
	}
	_, raw, err := rollupTables(cat, rel)
	if err != nil {
		return nil, err
	}
	alias := sqltypes.QuoteIdent(raw.Name)
	if a := from.GetAlias(); a != nil {
		alias = sqltypes.QuoteIdent(a.Aliasname)
	}
	for _, c := range conds {
		e, err := parse.Expression(c.on(alias + "." + sqltypes.QuoteIdent(raw.Columns[rel.Rollup.Time-1].Name)))
		if err != nil {
			return nil, err
		}
		if sel.WhereClause != nil {
			e = &pg.Node{Node: &pg.Node_BoolExpr{BoolExpr: &pg.BoolExpr{Boolop: pg.BoolExprType_AND_EXPR, Args: []*pg.Node{sel.WhereClause, e}, Location: -1}}}
		}
		sel.WhereClause = e
	}
	return tree, nil
}
