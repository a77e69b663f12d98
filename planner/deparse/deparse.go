// Package deparse prints bound expressions and queries as PostgreSQL prints their
// parsed form: pg_get_expr, pg_get_viewdef, pg_get_constraintdef.
//
// The text binds to the same tree again. It differs from PostgreSQL's where the
// bound tree no longer knows how something was written: aliases of joins are gone.
package deparse

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Expr is pg_get_expr of an expression's text over a row of rel (nil: over
// nothing). pretty leaves out parentheses that are not needed.
func Expr(ctx *planner.Context, rel *catalog.Relation, text string, pretty bool) (string, error) {
	if rel == nil {
		rel = &catalog.Relation{}
	}
	e, err := bind.RelationExpr(ctx, rel, text)
	if err != nil {
		return "", err
	}
	p := newPrinter(ctx, pretty)
	p.indenting = true
	return p.protect(func() { p.expr(e, false) })
}

// Bound prints an expression that is bound already; "" when it has no text.
func Bound(ctx *planner.Context, e expr.Expr, pretty bool) string {
	p := newPrinter(ctx, pretty)
	p.indenting = true
	s, err := p.protect(func() { p.expr(e, false) })
	if err != nil {
		return ""
	}
	return s
}

// IsCall reports whether the text of an expression is that of a function call,
// which stands without parentheses as a key of an index.
func IsCall(e expr.Expr) bool {
	switch n := e.(type) {
	case *expr.Call:
		return n.Op == "" && n.Coercion == 0
	case *expr.Coalesce, *expr.MinMax, *expr.NullIf:
		return true
	}
	return false
}

// Column is the text of a column's default or generation expression, coerced to
// the column's type as it is stored in pg_attrdef.
func Column(ctx *planner.Context, rel *catalog.Relation, col *catalog.Column, pretty bool) (string, error) {
	e, err := bind.DefaultExpr(ctx, rel, col)
	if err != nil || e == nil {
		return "", err
	}
	p := newPrinter(ctx, pretty)
	p.indenting = true
	return p.protect(func() { p.expr(e, false) })
}

// View is pg_get_viewdef of a view's text, with the semicolon. names are the
// view's column names.
func View(ctx *planner.Context, text string, names []string, pretty bool) (string, error) {
	st, err := parse.One(text)
	if err != nil {
		return "", err
	}
	c := *ctx
	c.Source, c.ParamTypes = "", nil
	q, _, err := bind.Bind(&c, st.AST)
	if err != nil {
		return "", err
	}
	if names == nil {
		for _, t := range q.Targets {
			if !t.Junk {
				names = append(names, t.Name)
			}
		}
	}
	p := newPrinter(ctx, pretty)
	p.indenting = true
	out, err := p.protect(func() { p.query(q, names, true) })
	return out + ";", err
}

// Policy is the text of a policy's stored condition.
func Policy(ctx *planner.Context, text string, pretty bool) (string, error) {
	q, err := bind.PolicyQuery(ctx, text)
	if err != nil {
		return "", err
	}
	p := newPrinter(ctx, pretty)
	p.indenting, p.bare = true, true
	return p.protect(func() {
		p.levels = []*level{{q: q, names: p.rteNames(q)}}
		p.expr(q.Where, false)
	})
}

// Query prints a bound query on one line, as rules and EXPLAIN do.
func Query(ctx *planner.Context, q *planner.Query) (string, error) {
	p := newPrinter(ctx, false)
	return p.protect(func() { p.query(q, nil, true) })
}

// printer writes one text.
type printer struct {
	ctx       *planner.Context
	b         strings.Builder
	pretty    bool // PRETTY_PAREN
	indenting bool // PRETTY_INDENT
	indent    int
	levels    []*level
	value     string // how CaseValue prints
	env       *sqltypes.Env
	// bare: columns of the outermost query's only table are not qualified outside of subqueries.
	bare bool
}

// level is one query with the names its range table has.
type level struct {
	q     *planner.Query
	names []string
	// inside are the joins that are being printed: their own columns are not meant then.
	inside map[*planner.JoinTree]bool
}

func newPrinter(ctx *planner.Context, pretty bool) *printer {
	return &printer{ctx: ctx, pretty: pretty, value: "VALUE", env: &sqltypes.Env{Formats: sqltypes.DefaultFormats()}}
}

// unprintable stops the printing of something that has no text.
type unprintable string

func (p *printer) protect(f func()) (out string, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unprintable:
			err = pgerror.NotSupported("printing %s", string(r))
		default:
			panic(r)
		}
	}()
	f()
	return p.b.String(), nil
}

func (p *printer) s(t ...string) {
	for _, x := range t {
		p.b.WriteString(x)
	}
}

// keyword is appendContextKeyword.
func (p *printer) keyword(t string, before, after, plus int) {
	if !p.indenting {
		p.s(t)
		return
	}
	p.indent += before
	trimmed := strings.TrimRight(p.b.String(), " ")
	if len(trimmed) != p.b.Len() {
		p.b.Reset()
		p.b.WriteString(trimmed)
	}
	n := max(p.indent, 0)
	const limit = 40
	if n >= limit {
		n = (limit + (n-limit)/4) % limit
	}
	p.s("\n", strings.Repeat(" ", n+plus), t)
	p.indent = max(p.indent+after, 0)
}

const (
	indentStd  = 8
	indentJoin = 4
	indentVar  = 4
)

func (p *printer) typ(oid sqltypes.OID) *sqltypes.Type {
	if t := sqltypes.TypeByOID(oid); t != nil {
		return t
	}
	return p.ctx.Catalog.Type(oid)
}

func (p *printer) typeName(ct sqltypes.ColumnType) string {
	return sqltypes.FormatTypeWith(ct.OID, ct.TypMod, func(o sqltypes.OID) (*sqltypes.Type, string) {
		t := p.ctx.Catalog.Type(o)
		if t == nil {
			return nil, ""
		}
		return t, p.qualify(t.Namespace, t.Name, func(ns sqltypes.OID) bool {
			return p.ctx.Catalog.TypeByName(ns, t.Name) != nil
		})
	})
}

// qualify writes a name, with its schema unless the search path finds it.
func (p *printer) qualify(ns sqltypes.OID, name string, hides func(sqltypes.OID) bool) string {
	for _, s := range p.ctx.SearchPath {
		if s == ns {
			return sqltypes.QuoteIdent(name)
		}
		if hides(s) {
			break
		}
	}
	schema := ""
	switch ns {
	case sqltypes.NamespaceCatalog:
		schema = "pg_catalog"
	default:
		if s := p.ctx.Catalog.Schema(ns); s != nil {
			schema = s.Name
		}
	}
	if schema == "" {
		return sqltypes.QuoteIdent(name)
	}
	return sqltypes.QuoteIdent(schema) + "." + sqltypes.QuoteIdent(name)
}

func (p *printer) relName(r *catalog.Relation) string {
	return p.qualify(r.Schema, r.Name, func(ns sqltypes.OID) bool { return p.ctx.Catalog.RelationByName(ns, r.Name) != nil })
}
