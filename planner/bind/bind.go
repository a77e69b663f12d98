// Package bind turns a syntax tree into a planner.Query by PostgreSQL 15's rules:
// names, overloads, coercions, parameter types, grouping, subqueries, views.
//
// It promises PostgreSQL's error texts, SQLSTATEs and character positions, and
// that what it does not know is refused by name (0A000). It reads the catalogue
// and nothing else; it optimises nothing and folds no calls.
//
// Inside, errors travel as panics of type *pgerror.Error from the place they are
// found to the exported function, which returns them: a binder is one deep
// recursion in which nearly every step can fail. Everything exported returns
// errors the ordinary way. Exported functions are safe for concurrent use; one
// call works on one goroutine.
//
// Conventions of the trees it makes, beyond planner/query.go:
//   - a query without FROM has an empty From; it stands for one row of no columns;
//   - UPDATE and DELETE have their target as the first item of From; INSERT's is
//     in Range only; MERGE's From is one join, source LEFT (or INNER, when there is
//     no NOT MATCHED action) JOIN target;
//   - UPDATE uses TargetAttrs as INSERT does; columns not named are unchanged;
//   - an aggregate belongs to the query level expr.Agg.Level says (0: the query whose list it stands in);
//   - a whole-row reference is a Var with Col -1; of a join, a RowCtor.
package bind

import (
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// maxExprDepth bounds recursion into expressions and subqueries.
const maxExprDepth = 7000

// Bind binds a SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE. The second result
// are the types of the parameters $1… . ctx.Source should be the query string that
// the tree was parsed from; without it error positions count bytes.
func Bind(ctx *planner.Context, stmt *pg.Node) (q *planner.Query, params []sqltypes.OID, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	if ctx.Body != nil {
		b.vars = ctx.Body.Vars
	}
	if up := stmt.GetUpdateStmt(); up != nil && b.vars != nil && ctx.Body.Assign {
		q = b.assignPath(up)
	} else {
		q = b.statement(nil, stmt, true)
	}
	if ctx.Body != nil && ctx.Body.Final {
		q = b.functionResult(q, ctx.Body)
	}
	params = b.finishParams()
	return q, params, nil
}

// binder is the state of one binding.
type binder struct {
	ctx    *planner.Context
	cat    *catalog.Catalog
	env    *sqltypes.Env
	source string
	params []paramType
	noPar  bool // parameters are errors (view definitions, defaults)
	depth  int
	views  int
	// explicit marks expressions whose collation was written with COLLATE.
	explicit map[expr.Expr]bool
	// litLocs and paramLocs are the places of literals and parameters of unknown type.
	litLocs   map[*expr.Const]int32
	paramLocs map[*expr.Param]int32
	// checkAs is the role whose privileges count for relations bound now (a view's owner).
	checkAs sqltypes.OID
	// argNames are the names by which a SQL function's body refers to its parameters.
	argNames []string
	// vars are the variables of the procedural function that the statement stands in;
	// varFields the fields of those of type record.
	vars      planner.Variables
	varFields map[expr.Expr][]field
	// outArgs: a procedure is being looked up; arguments stand for OUT parameters too.
	outArgs bool
	// nextDepth are the calls that SEARCH BREADTH FIRST stands for its depth.
	nextDepth []*pg.FuncCall
	// stored: the text is of an object, which may name what its user may not look up.
	stored bool
	// quiet drops error positions: the text being bound is not the client's.
	quiet bool
	// frozen, when not nil, gathers what a stored query needs.
	frozen *frozen
}

func newBinder(ctx *planner.Context) *binder {
	b := &binder{ctx: ctx, cat: ctx.Catalog, env: ctx.Env, source: ctx.Source}
	if b.env == nil {
		b.env = &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	}
	if ctx.Body != nil {
		b.argNames, b.quiet = ctx.Body.ArgNames, ctx.Body.Vars == nil
	}
	b.params = make([]paramType, len(ctx.ParamTypes))
	for i, t := range ctx.ParamTypes {
		b.params[i] = paramType{oid: t, declared: t != 0 && t != sqltypes.OIDUnknown, used: false}
	}
	return b
}

// catch turns a panic with an error of ours into a returned error; other panics go on.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *pgerror.Error:
		*err = r
	default:
		panic(r)
	}
}

// fail ends the binding with an error at a byte offset of the source (-1: none).
func (b *binder) fail(loc int32, code pgerror.Code, format string, args ...any) {
	panic(b.errAt(loc, code, format, args...))
}

func (b *binder) errAt(loc int32, code pgerror.Code, format string, args ...any) *pgerror.Error {
	return pgerror.New(code, format, args...).At(b.position(loc))
}

func (b *binder) unsupported(loc int32, format string, args ...any) {
	panic(pgerror.NotSupported(format, args...).At(b.position(loc)))
}

// position converts a byte offset to a 1-based character position.
func (b *binder) position(loc int32) int {
	if loc < 0 || b.quiet {
		return 0
	}
	if int(loc) > len(b.source) {
		return int(loc) + 1
	}
	return utf8.RuneCountInString(b.source[:loc]) + 1
}

// check raises an error that came back from a function of another package, giving
// it a position if it has none.
func (b *binder) check(err error, loc int32) {
	if err == nil {
		return
	}
	e, ok := err.(*pgerror.Error)
	if !ok {
		panic(pgerror.Wrap(err, pgerror.CodeOf(err), "%s", err.Error()))
	}
	if e.Position == 0 {
		c := *e
		e = c.At(b.position(loc))
	}
	panic(e)
}

// enter counts a level of recursion; the caller defers leave.
func (b *binder) enter() {
	if b.depth++; b.depth > maxExprDepth {
		panic(pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded").
			WithHint(`Increase the configuration parameter "max_stack_depth" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.`))
	}
}

func (b *binder) leave() { b.depth-- }

// statement binds an optimisable statement in its own scope below parent.
// resolve: literals of unknown type in a SELECT's output become text.
func (b *binder) statement(parent *scope, n *pg.Node, resolve bool) *planner.Query {
	b.enter()
	defer b.leave()
	s := b.newScope(parent)
	s.resolveUnknowns = resolve
	return s.statement(n)
}

func (s *scope) statement(n *pg.Node) *planner.Query {
	switch x := n.GetNode().(type) {
	case *pg.Node_SelectStmt:
		return s.selectStmt(x.SelectStmt)
	case *pg.Node_InsertStmt:
		return s.insertStmt(x.InsertStmt)
	case *pg.Node_UpdateStmt:
		return s.updateStmt(x.UpdateStmt)
	case *pg.Node_DeleteStmt:
		return s.deleteStmt(x.DeleteStmt)
	case *pg.Node_MergeStmt:
		return s.mergeStmt(x.MergeStmt)
	}
	panic(pgerror.NotSupported("this statement in a query"))
}
