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

// functionResult converts the columns of a SQL function's last statement to the
// function's result (check_sql_fn_retval).
func (b *binder) functionResult(q *planner.Query, body *planner.FunctionBody) *planner.Query {
	if body.Ret == sqltypes.OIDVoid {
		return q
	}
	mismatch := func(detail string, args ...any) {
		panic(pgerror.New(pgerror.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", b.typeName(body.Ret)).
			WithDetail(detail, args...))
	}
	if q.Command != planner.CmdSelect && len(q.Returning) == 0 {
		mismatch("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	}
	have := queryColumns(q)
	row := b.composite(body.Ret) != nil || body.Ret == sqltypes.OIDRecord
	if row && len(have) == 1 && (have[0].Type.OID == body.Ret || body.Ret == sqltypes.OIDRecord && len(body.Cols) != 1 && have[0].Type.OID == sqltypes.OIDRecord) {
		return q
	}
	if body.Cols == nil {
		return q
	}
	if len(have) != len(body.Cols) {
		switch {
		case !row:
			mismatch("Final statement must return exactly one column.")
		case len(have) > len(body.Cols):
			mismatch("Final statement returns too many columns.")
		default:
			mismatch("Final statement returns too few columns.")
		}
	}
	s := b.newScope(nil)
	convert := func(i int, e expr.Expr) expr.Expr {
		want := body.Cols[i]
		if r := s.coerceToTarget(e, want.OID, want.TypMod, assignment, -1); r != nil {
			return r
		}
		if row {
			mismatch("Final statement returns %s instead of %s at column %d.", b.typeName(typeOf(e)), b.typeName(want.OID), i+1)
		}
		mismatch("Actual return type is %s.", b.typeName(typeOf(e)))
		return nil
	}
	if q.Command != planner.CmdSelect {
		for i := range q.Returning {
			q.Returning[i].Expr = convert(i, q.Returning[i].Expr)
		}
		return q
	}
	same := true
	for i, c := range have {
		same = same && c.Type.OID == body.Cols[i].OID
	}
	if same {
		return q
	}
	return s.wrapQuery(q, convert)
}

// ResultColumns are the types of the columns of a call's result, as its body has
// to give them: the OUT parameters', the composite's fields or the type itself. Nil:
// the call does not tell (record).
func ResultColumns(types func(sqltypes.OID) *sqltypes.Type, p *sqltypes.Proc, ret sqltypes.ColumnType) []sqltypes.ColumnType {
	var out []sqltypes.ColumnType
	for i, m := range p.ArgModes {
		if m == 'o' || m == 'b' || m == 't' {
			if isPoly(p.AllArgTypes[i]) {
				out = nil
				break
			}
			out = append(out, sqltypes.ColumnType{OID: p.AllArgTypes[i], TypMod: noTypMod})
		}
	}
	if ret.OID == sqltypes.OIDRecord {
		return out
	}
	if t := types(ret.OID); t != nil && len(t.Fields) > 0 && t.Base == nil {
		out = nil
		for _, f := range t.Fields {
			out = append(out, f.ColumnType)
		}
		return out
	}
	return []sqltypes.ColumnType{{OID: ret.OID, TypMod: noTypMod}}
}

// CheckFunctionBody binds the body of a SQL function that is about to be stored;
// ctx's catalogue has it already. Bodies of polymorphic functions are only parsed.
func CheckFunctionBody(ctx *planner.Context, f *catalog.Function) (err error) {
	defer catch(&err)
	stmts, err := parse.Parse(f.Body)
	if err != nil {
		return err
	}
	b := newBinder(ctx)
	p := b.userProc(f)
	for _, t := range p.AllArgTypes {
		if isPoly(t) {
			return nil
		}
	}
	ret := f.RetType
	if len(stmts) == 0 {
		if ret == sqltypes.OIDVoid {
			return nil
		}
		return pgerror.New(pgerror.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", b.typeName(ret)).
			WithDetail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	}
	for i, st := range stmts {
		c := *ctx
		c.Source, c.ParamTypes = f.Body, p.ArgTypes
		c.Body = &planner.FunctionBody{ArgNames: inputNames(p)}
		final := i == len(stmts)-1
		switch st.AST.GetNode().(type) {
		case *pg.Node_SelectStmt, *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt:
		default:
			if final && ret != sqltypes.OIDVoid {
				return pgerror.New(pgerror.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", b.typeName(ret)).
					WithDetail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
			}
			continue
		}
		if final {
			c.Body.Final, c.Body.Ret = true, ret
			c.Body.Cols = ResultColumns(b.typ, p, sqltypes.ColumnType{OID: ret, TypMod: noTypMod})
		}
		if _, _, err := Bind(&c, st.AST); err != nil {
			return err
		}
	}
	return nil
}

// OutTypes are the types of a function's output parameters in a call with arguments
// of those types.
func OutTypes(ctx *planner.Context, p *sqltypes.Proc, args []sqltypes.ColumnType) (out []sqltypes.OID) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(*pgerror.Error); !ok {
				panic(r)
			}
		}
	}()
	exprs := make([]expr.Expr, len(args))
	for i, a := range args {
		exprs[i] = &expr.Const{T: tt(a)}
	}
	for _, f := range newBinder(ctx).outFields(p, exprs) {
		out = append(out, f.typ.OID)
	}
	return out
}

// BodyNames are the names by which the body of a SQL function knows its parameters.
func BodyNames(p *sqltypes.Proc) []string { return inputNames(p) }
