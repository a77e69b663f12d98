package session

import (
	"errors"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/plpgsql"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// procHost is where a PL/pgSQL function runs: plpgsql.Host over a session.
type procHost struct {
	plpgsql.ContextTypes
	s        *Session
	readOnly bool // declared STABLE or IMMUTABLE
	unnest   []func()
}

var _ plpgsql.Host = (*procHost)(nil)

// fragment is a piece of SQL of a function, planned.
type fragment struct {
	p   *prepared
	key planKey
	// simple: an expression that needs no plan; idle are the programs of it that do
	// not run (a function may call itself).
	simple expr.Expr
	idle   []*simpleRun
	// calls: the expression calls a user's function, which may read what this one wrote.
	calls bool
}

type simpleRun struct {
	prog   *expr.Program
	params expr.Params
}

// maxIdle bounds the idle programs of one expression.
const maxIdle = 8

func (h *procHost) Env() *sqltypes.Env { return &h.s.env }

func (h *procHost) Cancelled() error {
	if h.s.ctx.fired.Load() {
		return errContextCanceled
	}
	return nil
}

func (h *procHost) Setting(name string) (string, bool) { return h.s.set.Get(name) }

func (h *procHost) Notice(e *pgerror.Error) {
	h.s.NoticeError(e)
	h.s.out.Flush()
}

// Type implements plpgsql.Types: types made meanwhile are known too.
func (h *procHost) Type(oid sqltypes.OID) *sqltypes.Type { return sqltypes.LookupType(&h.s.env, oid) }

// inQuery marks an error as one of a text that is not the client's.
func inQuery(err error, text string) error {
	var e *pgerror.Error
	if !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	c := *e
	c.InternalQuery, c.InternalPosition, c.Position = text, c.Position, 0
	return &c
}

// inFragment is inQuery for a piece of a function, as it stands there.
func inFragment(err error, q *plpgsql.Query) error {
	err = inQuery(err, q.Text)
	var e *pgerror.Error
	if before := len(q.Text) - len(q.Source); q.Expr && !q.Path && errors.As(err, &e) && e.InternalQuery == q.Text && e.InternalPosition > before {
		c := *e
		c.InternalQuery, c.InternalPosition = q.Source, e.InternalPosition-before
		return &c
	}
	return err
}

// prepare parses a fragment and plans it, again if what it depends on has changed.
func (h *procHost) prepare(q *plpgsql.Query, names plpgsql.Names, anew bool) (*fragment, error) {
	s := h.s
	f, _ := q.Compiled.(*fragment)
	if f != nil && !anew && (f.p.plan != nil && f.p.plan.Cacheable && f.key == s.planKey(s.catalog()) || !f.p.stmt.Planned) {
		return f, nil
	}
	if f == nil {
		list, err := s.deps.Planner.Parse(q.Text)
		if err != nil {
			return nil, inFragment(err, q)
		}
		if len(list) != 1 {
			return nil, pgerror.New(pgerror.SyntaxError, "syntax error at end of input")
		}
		f = &fragment{p: &prepared{text: q.Text, stmt: list[0], body: &planner.FunctionBody{Vars: names, Assign: q.Path}}}
	}
	f.p.body = &planner.FunctionBody{Vars: names, Assign: q.Path}
	f.simple, f.idle = nil, nil
	q.Compiled = nil
	names.Begin()
	cat := s.catalog()
	if q.Path {
		f.p.stmt.Class = planner.ClassRead
	} else {
		s.classify(cat, f.p.stmt, f.p.text)
	}
	if f.p.stmt.Planned {
		if err := s.compile(f.p, cat); err != nil {
			return nil, inFragment(err, q)
		}
		if q.Expr {
			f.simple = simpleExpr(f.p.plan)
			f.calls = f.simple != nil && callsUser(f.simple)
			if f.simple != nil {
				if err := planner.Permitted(cat, s.role.OID, s.role.Super, f.p.plan.Permissions); err != nil {
					return nil, err
				}
			}
		}
	}
	f.key = s.planKey(cat)
	q.Compiled = f
	return f, nil
}

// simpleExpr is the expression of a plan that computes one and nothing else.
func simpleExpr(plan *planner.Plan) expr.Expr {
	if len(plan.CTEs) > 0 || len(plan.Inits) > 0 || plan.NumExecParams > 0 || len(plan.Relations) > 0 || len(plan.Columns) != 1 || plan.Command != "SELECT" {
		return nil
	}
	p, ok := plan.Root.(*planner.Project)
	if !ok || len(p.Exprs) != 1 {
		return nil
	}
	if r, ok := p.Input.(*planner.Result); !ok || r.OneTime != nil {
		return nil
	}
	simple := true
	planner.Visit(p.Exprs[0], func(e expr.Expr) bool {
		switch n := e.(type) {
		case *planner.SubLink, *expr.SubPlan, *expr.ExecParam, *expr.Col:
			simple = false
		case *expr.Call:
			simple = simple && (n.Proc == nil || !n.Proc.RetSet)
		}
		return simple
	})
	if !simple {
		return nil
	}
	return p.Exprs[0]
}

// callsUser reports whether an expression calls a function that a user has defined.
func callsUser(e expr.Expr) bool {
	found := false
	planner.Visit(e, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Call); ok && c.Proc != nil && c.Proc.OID >= catalog.FirstUserOID {
			found = true
		}
		return !found
	})
	return found
}

// values are the fragment's parameters now; it is planned anew when their types changed.
func (h *procHost) values(q *plpgsql.Query, names plpgsql.Names, dst []sqltypes.Datum) (*fragment, []sqltypes.Datum, error) {
	for try := 0; ; try++ {
		f, err := h.prepare(q, names, try > 0)
		if err != nil {
			return nil, nil, err
		}
		vals, ok, err := names.Values(dst)
		if err != nil || ok {
			return f, vals, err
		}
		if try > 2 {
			return nil, nil, pgerror.New(pgerror.DatatypeMismatch, "types of variables changed while the statement was planned")
		}
	}
}

// Evaluate implements plpgsql.Host.
func (h *procHost) Evaluate(q *plpgsql.Query, names plpgsql.Names) (sqltypes.Datum, sqltypes.ColumnType, error) {
	s := h.s
	f, err := h.prepare(q, names, false)
	if err != nil {
		return sqltypes.Null, sqltypes.ColumnType{}, err
	}
	if f.simple != nil {
		run, err := f.take(h)
		if err != nil {
			return sqltypes.Null, sqltypes.ColumnType{}, err
		}
		vals, ok, err := names.Values(run.params.Bind)
		if err != nil {
			return sqltypes.Null, sqltypes.ColumnType{}, err
		}
		if ok {
			run.params.Bind = vals
			typ := f.simple.Type()
			if f.calls && !h.readOnly && s.tx.txn != nil {
				defer s.tx.txn.NestFresh()()
			}
			d, err := run.prog.Row(nil, &run.params, &s.env)
			if len(f.idle) < maxIdle {
				f.idle = append(f.idle, run)
			}
			if d.S != "" {
				d = keepDatum(d)
			}
			return d, typ, err
		}
	}
	f, vals, err := h.values(q, names, nil)
	if err != nil {
		return sqltypes.Null, sqltypes.ColumnType{}, err
	}
	if f.simple != nil {
		return h.Evaluate(q, names)
	}
	if n := len(f.p.cols); n != 1 {
		word := "columns"
		if f.p.cols == nil {
			return sqltypes.Null, sqltypes.ColumnType{}, pgerror.New(pgerror.SyntaxError, "query %q did not return data", q.Source)
		}
		return sqltypes.Null, sqltypes.ColumnType{}, pgerror.New(pgerror.SyntaxError, "query returned %d %s", n, word)
	}
	out, n := sqltypes.Null, 0
	_, err = s.runPlanned(f.p, vals, h.readOnly, 2, func(row []sqltypes.Datum) error {
		if n++; n == 1 {
			out = row[0]
		}
		return nil
	})
	if err == nil && n > 1 {
		err = pgerror.New(pgerror.CardinalityViolation, "query returned more than one row")
	}
	if err != nil {
		return sqltypes.Null, sqltypes.ColumnType{}, sqlExpression(err, q.Source)
	}
	return out, f.p.cols[0].Type, nil
}

// sqlExpression adds the expression that failed to an error's CONTEXT.
func sqlExpression(err error, text string) error {
	var e *pgerror.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	if c.Where != "" {
		c.Where += "\n"
	}
	c.Where += "SQL expression \"" + text + "\""
	return &c
}

// take finds an idle program of a simple expression or makes one.
func (f *fragment) take(h *procHost) (*simpleRun, error) {
	if n := len(f.idle); n > 0 {
		run := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return run, nil
	}
	prog, err := expr.Compile(f.simple, h.Type)
	return &simpleRun{prog: prog}, err
}

// Execute implements plpgsql.Host.
func (h *procHost) Execute(q *plpgsql.Query, names plpgsql.Names, limit int64, rows plpgsql.RowFunc) (plpgsql.Outcome, error) {
	f, vals, err := h.values(q, names, nil)
	if err != nil {
		return plpgsql.Outcome{}, err
	}
	if !f.p.stmt.Planned {
		names.Begin()
		f.p.body.Vars, f.p.late = names, lateValues(names)
	}
	return h.runStatement(f.p, vals, limit, rows)
}

// lateValues gives the variables that a utility statement turned out to use.
func lateValues(names plpgsql.Names) func() ([]sqltypes.Datum, error) {
	return func() ([]sqltypes.Datum, error) {
		vals, _, err := names.Values(nil)
		return vals, err
	}
}

// CallProcedure implements plpgsql.Host.
func (h *procHost) CallProcedure(q *plpgsql.Query, names plpgsql.Names, atomic bool, rows plpgsql.RowFunc) (o plpgsql.Outcome, err error) {
	f, err := h.prepare(q, names, false)
	if err != nil {
		return o, err
	}
	n := f.p.stmt.AST.GetCallStmt()
	if n == nil {
		f.p.atomic = atomic
		return h.Execute(q, names, 0, rows)
	}
	names.Begin()
	f.p.body.Vars, f.p.late, f.p.atomic = names, lateValues(names), atomic
	c, err := h.s.bindCall(f.p, n)
	if err != nil {
		return o, inQuery(err, q.Text)
	}
	if c.proc != nil {
		for i, m := range c.proc.ArgModes {
			if m == 'o' || m == 'b' {
				o.Outs = append(o.Outs, plpgsql.OutParam{Place: i, Name: c.proc.ArgNames[i]})
			}
		}
	}
	names.Begin()
	outs := o.Outs
	o, err = h.runStatement(f.p, nil, 0, rows)
	o.Outs = outs
	return o, err
}

// runStatement runs a statement of a function.
func (h *procHost) runStatement(p *prepared, args []sqltypes.Datum, limit int64, rows plpgsql.RowFunc) (o plpgsql.Outcome, err error) {
	s := h.s
	o.Tag = p.stmt.Tag
	if h.readOnly && p.stmt.Class == planner.ClassWrite && !(p.stmt.Planned && p.plan != nil && p.plan.Command == "SELECT" && writeName(p.plan) == "SELECT") {
		return o, pgerror.New(pgerror.FeatureNotSupported, "%s is not allowed in a non-volatile function", p.stmt.Tag)
	}
	if !p.stmt.Planned {
		return h.runUtility(p, args, rows)
	}
	var n int64
	emit := func(row []sqltypes.Datum) error {
		n++
		if rows == nil {
			return nil
		}
		return rows(p.cols, row)
	}
	affected, err := s.runPlanned(p, args, h.readOnly, limit, emit)
	o.Columns, o.Rows, o.Tag = p.cols, n, p.plan.Command
	if p.plan.Command != "SELECT" {
		o.Rows = max(affected, n)
	}
	return o, err
}

// runPlanned runs a planned statement inside the running one.
func (s *Session) runPlanned(p *prepared, args []sqltypes.Datum, readOnly bool, limit int64, emit func(row []sqltypes.Datum) error) (affected int64, err error) {
	po := &portal{s: s, p: p, plan: p.plan, cols: p.cols, args: args}
	defer po.close()
	if err := s.startNestedFresh(po, readOnly); err != nil {
		return 0, err
	}
	var row []sqltypes.Datum
	_, _, err = po.forward(limit, func(b *expr.Batch, i int) error {
		row = row[:0]
		for k := range po.cols {
			row = append(row, keepDatum(b.Cols[k].Datum(i)))
		}
		return emit(row)
	})
	return po.affected, err
}

// runUtility runs a statement without a plan in a function.
func (h *procHost) runUtility(p *prepared, args []sqltypes.Datum, rows plpgsql.RowFunc) (o plpgsql.Outcome, err error) {
	s := h.s
	o.Tag = p.stmt.Tag
	switch n := p.stmt.AST.GetNode().(type) {
	case *pg.Node_TransactionStmt:
		return o, pgerror.New(pgerror.FeatureNotSupported, "unsupported transaction command in PL/pgSQL")
	case *pg.Node_CopyStmt:
		if n.CopyStmt.Filename == "" {
			return o, pgerror.New(pgerror.FeatureNotSupported, "cannot COPY to/from client in PL/pgSQL")
		}
	}
	if s.tx.txn != nil {
		defer s.tx.txn.NestFresh()()
	}
	if what := alone(p.stmt.AST); what != "" {
		return o, pgerror.New(pgerror.ActiveSqlTransaction, "%s cannot be executed from a function", what)
	}
	po := &portal{s: s, p: p, args: args}
	out, err := s.utility(p, po)
	if err != nil || out == nil {
		return o, err
	}
	if out.run == nil {
		o.Tag = tagWord(out.tag)
		o.Rows = tagRows(out.tag)
		return o, nil
	}
	o.Columns = out.cols
	var row []sqltypes.Datum
	tag, err := out.run(func(b *expr.Batch, i int) error {
		o.Rows++
		row = row[:0]
		for k := range out.cols {
			row = append(row, keepDatum(b.Cols[k].Datum(i)))
		}
		if rows == nil {
			return nil
		}
		return rows(out.cols, row)
	})
	o.Tag = tagWord(tag)
	return o, err
}

// tagWord is a command tag without its counts.
func tagWord(tag string) string {
	for i := 0; i < len(tag); i++ {
		if tag[i] >= '0' && tag[i] <= '9' {
			return tag[:max(i-1, 0)]
		}
	}
	return tag
}

// Dynamic implements plpgsql.Host.
func (h *procHost) Dynamic(text string, args []sqltypes.Datum, types []sqltypes.OID, limit int64, rows plpgsql.RowFunc) (o plpgsql.Outcome, err error) {
	s := h.s
	list, err := s.deps.Planner.Parse(text)
	if err != nil {
		return o, inQuery(err, text)
	}
	for i, st := range list {
		p := &prepared{text: text, stmt: st, declared: types}
		switch n := st.AST.GetNode().(type) {
		case *pg.Node_SelectStmt:
			if intoOf(n.SelectStmt) != nil {
				return o, pgerror.New(pgerror.FeatureNotSupported, "EXECUTE of SELECT ... INTO is not implemented").
					WithHint("You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead.")
			}
		case *pg.Node_TransactionStmt:
			return o, pgerror.New(pgerror.FeatureNotSupported, "EXECUTE of transaction commands is not implemented")
		}
		cat := s.catalog()
		s.classify(cat, st, text)
		if st.Planned {
			if err := s.compile(p, cat); err != nil {
				return o, inQuery(err, text)
			}
		}
		use := args
		if st.Planned {
			use = args[:min(len(args), len(p.params))]
		}
		sink := rows
		if i < len(list)-1 {
			sink = nil
		}
		if o, err = h.runStatement(p, use, limit, sink); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Buffered implements plpgsql.Host.
func (h *procHost) Buffered(run func(rows plpgsql.RowFunc) (plpgsql.Outcome, error), rows plpgsql.RowFunc) (plpgsql.Outcome, error) {
	var sp *spool
	var cols []planner.Column
	defer func() {
		if sp != nil {
			sp.close()
		}
	}()
	o, err := run(func(c []planner.Column, row []sqltypes.Datum) error {
		if sp == nil {
			sp, cols = h.s.newSpool(len(row)), c
		}
		for _, d := range row {
			sp.cur = appendDatum(sp.cur, d)
		}
		return sp.rowDone()
	})
	if err != nil || sp == nil {
		return o, err
	}
	for i := int64(0); i < sp.rows; i++ {
		row, err := sp.row(i)
		if err != nil {
			return o, err
		}
		if err := rows(cols, row); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Coerce implements plpgsql.Host.
func (h *procHost) Coerce(d sqltypes.Datum, from, to sqltypes.ColumnType) (sqltypes.Datum, error) {
	if d.Null {
		if t := h.Type(to.OID); t == nil || t.TypType != 'd' {
			return d, nil
		}
	}
	s := h.s
	key := coercion{from: from.OID, fromMod: from.TypMod, to: to.OID, toMod: to.TypMod}
	if s.coercions == nil || s.coercedFor != s.catalog() || len(s.coercions) > 500 {
		s.coercions, s.coercedFor = map[coercion]*expr.Program{}, s.catalog()
	}
	prog := s.coercions[key]
	delete(s.coercions, key) // while it runs: a cast may call a function
	if prog == nil {
		if from.OID == sqltypes.OIDUnknown {
			from.OID = sqltypes.OIDText
		}
		e, err := bind.Coercion(s.PlanContext(), from, to)
		if err != nil {
			return sqltypes.Null, err
		}
		if prog, err = expr.Compile(e, h.Type); err != nil {
			return sqltypes.Null, err
		}
	}
	out, err := prog.Row(nil, &expr.Params{Bind: []sqltypes.Datum{d}}, &s.env)
	s.coercions[key] = prog
	return keepDatum(out), err
}

// coercion is a key of the session's conversions for variables.
type coercion struct {
	from, to       sqltypes.OID
	fromMod, toMod int32
}
