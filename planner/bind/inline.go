package bind

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// langSQL is the OID of language sql.
const langSQL = 14

// maxInlineDepth bounds SQL functions that call each other.
const maxInlineDepth = 32

// InlineFunctions replaces calls of SQL-language functions by their bodies: a
// body that is one expression by that expression, a query by a subquery. Other
// calls (several statements, statements that write, settings of its own, recursion)
// stay: they run as functions. Like PostgreSQL, it binds a body with the search
// path of the call.
func InlineFunctions(ctx *planner.Context, q *planner.Query) (_ *planner.Query, err error) {
	defer catch(&err)
	in := &inliner{b: newBinder(ctx)}
	return in.query(q), nil
}

type inliner struct {
	b     *binder
	depth int
	stack []sqltypes.OID // functions whose bodies are being inlined
}

// notInlined unwinds to the call whose body cannot take its place.
type notInlined struct{}

// try runs f; false: the call stays as it is.
func (in *inliner) try(f func()) (done bool) {
	depth, n := in.depth, len(in.stack)
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(notInlined); !ok {
				panic(r)
			}
			in.depth, in.stack, done = depth, in.stack[:n], false
		}
	}()
	f()
	return true
}

func (in *inliner) query(q *planner.Query) *planner.Query {
	var out *planner.Query
	out = planner.MapQuery(q, in.expr, in.query)
	for i, r := range out.Range {
		if r.Kind == planner.RTEFunction && len(r.Calls) == 1 && isSQLCall(r.Calls[0]) && !r.Ordinality {
			var n *planner.RTE
			if in.try(func() { n = in.rangeFunction(r) }) && n != nil {
				if out == q {
					c := *q
					c.Range = append([]*planner.RTE(nil), q.Range...)
					out = &c
				}
				out.Range[i] = n
			}
		}
	}
	return out
}

func (in *inliner) expr(e expr.Expr) expr.Expr {
	switch n := e.(type) {
	case nil:
		return nil
	case *planner.SubLink:
		test, sub := in.expr(n.Test), in.query(n.Sub)
		if test == n.Test && sub == n.Sub {
			return e
		}
		c := *n
		c.Test, c.Sub = test, sub
		return &c
	}
	e = planner.MapChildren(e, in.expr)
	if c, ok := e.(*expr.Call); ok && isSQLCall(c) && !c.Proc.RetSet {
		out := e
		in.try(func() { out = in.call(c) })
		return out
	}
	return e
}

func isSQLCall(c *expr.Call) bool {
	return c.Proc.Lang == langSQL && c.Proc.OID >= 16384
}

// body binds a function's body for a call; args are the call's, VARIADIC ones gathered.
func (in *inliner) body(c *expr.Call) (body *planner.Query, args []expr.Expr, s *scope) {
	b, p := in.b, c.Proc
	if in.depth >= maxInlineDepth || slices.Contains(in.stack, p.OID) {
		panic(notInlined{})
	}
	for _, f := range b.cat.FunctionsByName(p.Namespace, p.Name) {
		if f.OID == p.OID && b.ctx.Role != 0 && !b.cat.Holds(b.ctx.Role, f.Owner, f.ACL, 'X', "X") {
			b.fail(-1, pgerror.InsufficientPrivilege, "permission denied for function %s", p.Name)
		}
		if f.OID == p.OID && len(f.Config) > 0 {
			panic(notInlined{})
		}
	}
	args = c.Args
	if p.Variadic != 0 && !c.VariadicArray {
		fixed := len(p.ArgTypes) - 1
		array := &expr.ArrayCtor{T: tt(b.columnType(p.ArgTypes[fixed])), Elem: p.Variadic, Elems: args[fixed:]}
		args = append(append([]expr.Expr(nil), args[:fixed]...), array)
	}
	stmts, err := parse.Parse(p.Src)
	b.check(err, -1)
	if len(stmts) != 1 {
		panic(notInlined{})
	}
	if x, ok := stmts[0].AST.GetNode().(*pg.Node_SelectStmt); !ok || x.SelectStmt.IntoClause != nil {
		panic(notInlined{})
	}
	n := b.subBinder(p.Src)
	n.noPar, n.checkAs = false, 0
	for _, f := range b.cat.FunctionsByName(p.Namespace, p.Name) {
		if f.OID == p.OID && f.SecurityDefiner {
			n.checkAs = f.Owner
		}
	}
	for i, a := range args {
		oid := a.Type().OID
		if i < len(p.ArgTypes) && !isPseudo(p.ArgTypes[i]) {
			oid = p.ArgTypes[i]
		}
		n.params = append(n.params, paramType{oid: oid, declared: true})
	}
	n.argNames = inputNames(p)
	body = n.statement(nil, stmts[0].AST, true)
	if len(body.CTEs) > 0 {
		for _, cte := range body.CTEs {
			if cte.Query != nil && cte.Query.Command != planner.CmdSelect {
				panic(notInlined{})
			}
		}
	}
	in.depth++
	in.stack = append(in.stack, p.OID)
	body = in.query(body)
	in.stack = in.stack[:len(in.stack)-1]
	in.depth--
	return body, args, n.newScope(nil)
}

// call inlines a call in an expression.
func (in *inliner) call(c *expr.Call) expr.Expr {
	body, args, s := in.body(c)
	cols := visible(body)
	sub := &substitution{args: args, uses: make([]int, len(args))}
	var out expr.Expr
	if isExpression(body) {
		fields := make([]expr.Expr, len(cols))
		for i, t := range cols {
			fields[i] = sub.expr(t.Expr, 0)
		}
		out = in.result(s, c, cols, fields)
	} else {
		sub.shift = 2
		inner := sub.query(body, 0)
		w, fields := over(inner, cols)
		w.Targets = []planner.Target1{{Name: c.Proc.Name, Expr: in.result(s, c, cols, fields)}}
		w.Limit = &expr.Const{T: tt(s.b.columnType(sqltypes.OIDInt8)), Val: sqltypes.Int(1)}
		out = &planner.SubLink{T: tt(w.Targets[0].Expr.Type()), Kind: expr.SubScalar, Sub: w}
	}
	sub.check(c.Proc)
	if c.Proc.Strict && len(args) > 0 {
		null := &expr.Or{T: tt(s.b.columnType(sqltypes.OIDBool))}
		for _, a := range args {
			null.Args = append(null.Args, &expr.NullTest{T: null.T, Arg: a})
		}
		var cond expr.Expr = null
		if len(null.Args) == 1 {
			cond = null.Args[0]
		}
		out = &expr.Case{T: tt(out.Type()), Whens: []expr.When{{Cond: cond, Result: &expr.Const{T: tt(out.Type()), Val: sqltypes.Null}}}, Else: out}
	}
	return out
}

// result makes the function's value of the columns of its last statement.
func (in *inliner) result(s *scope, c *expr.Call, cols []planner.Target1, fields []expr.Expr) expr.Expr {
	ret := c.Typ.OID
	if ret == sqltypes.OIDVoid {
		return &expr.Const{T: c.T, Val: sqltypes.Null}
	}
	row := s.b.composite(ret)
	if row == nil && ret != sqltypes.OIDRecord || len(fields) == 1 && (typeOf(fields[0]) == ret || row == nil && ret != sqltypes.OIDRecord) {
		if len(fields) == 1 {
			if e := s.coerceToTarget(fields[0], ret, noTypMod, assignment, -1); e != nil {
				return e
			}
		}
		panic(pgerror.New(pgerror.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", s.b.typeName(ret)))
	}
	out := &expr.RowCtor{T: c.T}
	for i, f := range fields {
		name := cols[i].Name
		if row != nil {
			if i >= len(row.Fields) {
				panic(pgerror.New(pgerror.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", s.b.typeName(ret)))
			}
			name = row.Fields[i].Name
			if f = s.coerceToTarget(f, row.Fields[i].ColumnType.OID, noTypMod, assignment, -1); f == nil {
				panic(pgerror.New(pgerror.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", s.b.typeName(ret)))
			}
		}
		out.Fields, out.Names = append(out.Fields, f), append(out.Names, name)
	}
	return out
}

// rangeFunction makes a subquery of a function in FROM; nil: it stays, and is refused by name.
func (in *inliner) rangeFunction(r *planner.RTE) *planner.RTE {
	c := r.Calls[0]
	if c.Proc.RetSet && c.Proc.Strict {
		return nil
	}
	n := *r
	n.Kind, n.Calls, n.CallCols = planner.RTESubquery, nil, nil
	if !c.Proc.RetSet {
		// One row: its value, or the fields of its value.
		up := *c
		up.Args = make([]expr.Expr, len(c.Args))
		for i, a := range c.Args {
			up.Args[i] = shiftLevels(a, 1)
		}
		v := in.call(&up)
		q := &planner.Query{ResultRel: -1}
		for i, col := range r.Cols {
			e := v
			if len(r.Cols) > 1 || in.b.composite(typeOf(v)) != nil || typeOf(v) == sqltypes.OIDRecord {
				e = &expr.Field{T: tt(col.Type), Arg: v, Num: i}
			}
			q.Targets = append(q.Targets, planner.Target1{Name: col.Name, Expr: e})
		}
		n.Sub = q
		return &n
	}
	body, args, s := in.body(c)
	cols := visible(body)
	if len(cols) != len(r.Cols) {
		return nil
	}
	sub := &substitution{args: args, uses: make([]int, len(args)), shift: 2}
	w, fields := over(sub.query(body, 0), cols)
	sub.check(c.Proc)
	for i, col := range r.Cols {
		e := s.coerceToTarget(fields[i], col.Type.OID, col.Type.TypMod, assignment, -1)
		if e == nil {
			panic(pgerror.New(pgerror.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", s.b.typeName(c.Proc.RetType)))
		}
		w.Targets = append(w.Targets, planner.Target1{Name: col.Name, Expr: e})
	}
	n.Sub = w
	return &n
}

func isPseudo(oid sqltypes.OID) bool {
	t := sqltypes.TypeByOID(oid)
	return t != nil && t.TypType == 'p'
}

func visible(q *planner.Query) []planner.Target1 {
	var out []planner.Target1
	for _, t := range q.Targets {
		if !t.Junk {
			out = append(out, t)
		}
	}
	return out
}

// over is a query that reads q, and references to q's columns.
func over(q *planner.Query, cols []planner.Target1) (*planner.Query, []expr.Expr) {
	r := &planner.RTE{Kind: planner.RTESubquery, Sub: q, Lateral: true}
	fields := make([]expr.Expr, len(cols))
	for i, t := range cols {
		r.Cols = append(r.Cols, planner.Column{Name: t.Name, Type: t.Expr.Type()})
		fields[i] = &planner.Var{T: tt(t.Expr.Type()), Rel: 0, Col: i, Name: t.Name}
	}
	return &planner.Query{ResultRel: -1, Range: []*planner.RTE{r}, From: []planner.JoinItem{{Rel: 0}}}, fields
}

// isExpression reports whether a query is SELECT of expressions and nothing else.
func isExpression(q *planner.Query) bool {
	for _, r := range q.Range {
		if r.Kind != planner.RTEResult {
			return false
		}
	}
	return q.Command == planner.CmdSelect && q.Where == nil && !q.HasAggs && !q.HasWindow && !q.HasTargetSRF && len(q.GroupBy) == 0 && q.GroupSets == nil &&
		q.Having == nil && !q.Distinct && len(q.Sort) == 0 && q.Limit == nil && q.Offset == nil && q.SetOp == nil && len(q.CTEs) == 0
}

// substitution puts arguments in the place of parameters.
type substitution struct {
	args  []expr.Expr
	uses  []int
	shift int // query levels between the call and the body
}

func (s *substitution) query(q *planner.Query, depth int) *planner.Query {
	return planner.MapQuery(q, func(e expr.Expr) expr.Expr { return s.expr(e, depth) },
		func(sub *planner.Query) *planner.Query { return s.query(sub, depth+1) })
}

func (s *substitution) expr(e expr.Expr, depth int) expr.Expr {
	switch n := e.(type) {
	case nil:
		return nil
	case *expr.Param:
		s.uses[n.N-1]++
		return shiftLevels(s.args[n.N-1], s.shift+depth)
	case *planner.SubLink:
		c := *n
		c.Test, c.Sub = s.expr(n.Test, depth), s.query(n.Sub, depth+1)
		return &c
	}
	return planner.MapChildren(e, func(a expr.Expr) expr.Expr { return s.expr(a, depth) })
}

// check refuses what substitution would evaluate another number of times.
func (s *substitution) check(p *sqltypes.Proc) {
	for i, a := range s.args {
		if (s.uses[i] != 1 || p.Strict) && containsVolatile(a) {
			panic(notInlined{})
		}
	}
}

func containsVolatile(e expr.Expr) bool {
	found := false
	planner.Visit(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Call); ok && c.Proc != nil && c.Proc.Volatility == sqltypes.Volatile {
			found = true
		}
		return !found
	})
	return found
}
