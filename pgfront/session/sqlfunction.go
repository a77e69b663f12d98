package session

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	sqltypes.RegisterUserFunctions(
		func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
			s, ok := sessionOf(c)
			if !ok {
				return sqltypes.Null, pgerror.NotSupported("calling function %s outside of a session", c.Proc.Name)
			}
			if c.Proc.Lang == sqltypes.LangPLpgSQL {
				r, err := s.runProcedural(c, args, true, nil)
				return r.Value, err
			}
			return s.callFunction(c, args)
		},
		func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.RowSource, error) {
			s, ok := sessionOf(c)
			if !ok {
				return nil, pgerror.NotSupported("calling function %s outside of a session", c.Proc.Name)
			}
			if c.Proc.Lang == sqltypes.LangPLpgSQL {
				return s.proceduralSet(c, args)
			}
			return s.callSetFunction(c, args)
		})
}

// maxCallDepth bounds functions that call each other.
const maxCallDepth = 200

// sqlBody is a SQL function's body at one call site, parsed and planned.
type sqlBody struct {
	stmts []*prepared
	cols  []sqltypes.ColumnType // the result's columns; nil: those of the last statement
}

// body prepares the function of a call; it is kept at the call site.
func (s *Session) body(c *sqltypes.Call) (*sqlBody, error) {
	if b, ok := c.Cache.(*sqlBody); ok {
		return b, nil
	}
	list, err := s.deps.Planner.Parse(c.Proc.Src)
	if err != nil {
		return nil, err
	}
	b := &sqlBody{cols: bind.ResultColumns(func(oid sqltypes.OID) *sqltypes.Type { return sqltypes.LookupType(&s.env, oid) }, c.Proc, c.RetType)}
	if len(c.RetFields) > 0 {
		b.cols = nil
		for _, f := range c.RetFields {
			b.cols = append(b.cols, f.ColumnType)
		}
	}
	var params []sqltypes.OID
	for i, t := range c.ArgTypes {
		oid := t.OID
		if i < len(c.Proc.ArgTypes) {
			if d := sqltypes.LookupType(&s.env, c.Proc.ArgTypes[i]); d != nil && d.TypType != 'p' {
				oid = c.Proc.ArgTypes[i]
			}
		}
		params = append(params, oid)
	}
	for i, st := range list {
		p := &prepared{text: c.Proc.Src, stmt: st, declared: params, body: &planner.FunctionBody{ArgNames: bind.BodyNames(c.Proc)}}
		if st.Planned && i == len(list)-1 {
			p.body.Final, p.body.Ret, p.body.Cols = true, c.RetType.OID, b.cols
		}
		b.stmts = append(b.stmts, p)
	}
	c.Cache = b
	return b, nil
}

// runBody runs the statements of a function; the rows of the last one go to emit.
func (s *Session) runBody(c *sqltypes.Call, args []sqltypes.Datum, emit func(row []sqltypes.Datum) error) (err error) {
	if s.calls++; s.calls > maxCallDepth {
		s.calls--
		return pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded").
			WithHint(`Increase the configuration parameter "max_stack_depth" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.`)
	}
	defer func() { s.calls-- }()
	b, err := s.body(c)
	if err != nil {
		return err
	}
	leave, err := s.enterFunction(c.Proc)
	if err != nil {
		return err
	}
	defer leave()
	args = append([]sqltypes.Datum(nil), args...)
	for i, p := range b.stmts {
		out := emit
		if i < len(b.stmts)-1 || !p.stmt.Planned {
			out = nil
		}
		if err := s.runInner(c.Proc, p, args, out); err != nil {
			return err
		}
	}
	return nil
}

// enterFunction takes on the role and the settings that a function runs with.
func (s *Session) enterFunction(p *sqltypes.Proc) (leave func(), err error) {
	var f *catalog.Function
	if cat := s.catalog(); cat != nil {
		for _, o := range cat.FunctionsByName(p.Namespace, p.Name) {
			if o.OID == p.OID {
				f = o
			}
		}
	}
	if f == nil || len(f.Config) == 0 && !f.SecurityDefiner {
		return nothing, nil
	}
	mark, role := s.set.Mark(), s.role
	leave = func() {
		s.set.RollbackTo(mark)
		s.role = role
		s.path.valid = false
	}
	if f.SecurityDefiner {
		if r := s.catalog().Role(f.Owner); r != nil {
			s.role = r
		}
		s.path.valid = false
	}
	for _, kv := range f.Config {
		name, value, _ := strings.Cut(kv, "=")
		if err := s.SetSetting(name, value, true); err != nil {
			leave()
			return nil, err
		}
	}
	s.path.valid = false
	return leave, nil
}

// runInner runs one statement of a function's body inside the statement that calls it.
func (s *Session) runInner(f *sqltypes.Proc, p *prepared, args []sqltypes.Datum, emit func(row []sqltypes.Datum) error) error {
	s.classify(s.catalog(), p.stmt, p.text)
	readOnly := f.Volatility != sqltypes.Volatile && f.Volatility != 0
	if readOnly && p.stmt.Class == planner.ClassWrite {
		return pgerror.New(pgerror.FeatureNotSupported, "%s is not allowed in a non-volatile function", p.stmt.Tag)
	}
	if !p.stmt.Planned {
		return s.innerUtility(p, args)
	}
	if p.plan == nil || p.key != s.planKey(s.catalog()) {
		if err := s.compile(p, s.catalog()); err != nil {
			return err
		}
	}
	po := &portal{s: s, p: p, plan: p.plan, cols: p.cols, args: args}
	defer po.close()
	if err := s.startNested(po, readOnly); err != nil {
		return err
	}
	var row []sqltypes.Datum
	_, _, err := po.forward(0, func(b *expr.Batch, i int) error {
		if emit == nil {
			return nil
		}
		row = row[:0]
		for k := range po.cols {
			row = append(row, keepDatum(b.Cols[k].Datum(i)))
		}
		return emit(row)
	})
	return err
}

// keepDatum copies what a value shares with its batch.
func keepDatum(d sqltypes.Datum) sqltypes.Datum {
	d.S = strings.Clone(d.S)
	return d
}

// innerUtility runs a utility statement in a function's body.
func (s *Session) innerUtility(p *prepared, args []sqltypes.Datum) error {
	if p.stmt.AST.GetTransactionStmt() != nil {
		return pgerror.New(pgerror.FeatureNotSupported, "%s is not allowed in an SQL function", p.stmt.Tag)
	}
	var outer *portal
	if p.stmt.AST.GetDeclareCursorStmt() != nil { // its query may use the function's arguments
		p.params = p.declared
		outer = &portal{s: s, p: p, args: args}
	}
	o, err := s.utility(p, outer)
	if err != nil || o.run == nil {
		return err
	}
	_, err = o.run(func(*expr.Batch, int) error { return nil })
	return err
}

// startNested starts a plan inside the running statement: with the same snapshot,
// and, unless the function is declared not to write, with what has been written so far.
func (s *Session) startNested(po *portal, readOnly bool) error { return s.nest(po, readOnly, false) }

// startNestedFresh is startNested for a volatile PL/pgSQL function, whose statements
// see what others have committed meanwhile.
func (s *Session) startNestedFresh(po *portal, readOnly bool) error {
	return s.nest(po, readOnly, true)
}

func (s *Session) nest(po *portal, readOnly, fresh bool) error {
	for try := 0; ; try++ {
		plan := po.plan
		if s.tx.readOnly && plan.Class == planner.ClassWrite && !s.writesTemporary(plan) {
			if err := s.checkReadOnly(writeName(plan)); err != nil {
				return err
			}
		}
		run := Run{Env: &s.env, WorkMem: s.conf.workMem, TempDir: s.deps.Limits.TempDir}
		release := nothing
		if s.tx.txn == nil && plan.Class == planner.ClassWrite {
			if err := s.beginTxn(); err != nil {
				return err
			}
		}
		switch {
		case s.tx.txn != nil:
			s.tx.queried = true
			switch {
			case readOnly:
			case fresh:
				release = s.tx.txn.NestFresh()
			default:
				release = s.tx.txn.NestStatement()
			}
			s.fillRun(&run)
			if len(plan.Relations) > 0 {
				if err := s.lockRelations(plan); err != nil {
					release()
					return err
				}
			}
		default:
			v, err := s.deps.Engine.View(s.env.Ctx, s.client.Database)
			if err != nil {
				return err
			}
			run.View, release = v, v.Close
		}
		if cat := run.View.Catalog(); cat != nil && cat.Version != plan.CatalogVersion && try < 10 {
			release()
			if err := s.replan(po, cat); err != nil {
				return err
			}
			continue
		}
		if cat := run.View.Catalog(); cat != nil {
			err := planner.Permitted(cat, s.role.OID, s.role.Super, plan.Permissions)
			if err == nil {
				err = planner.Populated(cat, plan.Permissions)
			}
			if err != nil {
				release()
				return err
			}
		}
		x, err := s.deps.Exec.Start(s.env.Ctx, &run, plan, po.args)
		if err != nil {
			release()
			return err
		}
		po.exec, po.release, po.started = x, release, true
		return nil
	}
}

// callFunction is a call that gives one value: the first row of the last statement.
func (s *Session) callFunction(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
	var first []sqltypes.Datum
	if err := s.runBody(c, args, func(row []sqltypes.Datum) error {
		if first == nil {
			first = append([]sqltypes.Datum{}, row...)
		}
		return nil
	}); err != nil {
		return sqltypes.Null, err
	}
	if first == nil || c.RetType.OID == sqltypes.OIDVoid {
		return sqltypes.Null, nil
	}
	row, whole, err := s.resultRow(c, first)
	if err != nil || whole {
		return row[0], err
	}
	return s.record(c, row), nil
}

// resultRow tells whether a row of the last statement is the result's value
// (whole) or its columns.
func (s *Session) resultRow(c *sqltypes.Call, row []sqltypes.Datum) ([]sqltypes.Datum, bool, error) {
	b := c.Cache.(*sqlBody)
	last := b.stmts[len(b.stmts)-1]
	t := sqltypes.LookupType(&s.env, c.RetType.OID)
	composite := c.RetType.OID == sqltypes.OIDRecord || t != nil && len(t.Fields) > 0 && t.Base == nil
	if !composite {
		return row, true, nil
	}
	if len(row) == 1 && len(last.cols) == 1 {
		have := last.cols[0].Type.OID
		if have == c.RetType.OID || have == sqltypes.OIDRecord && len(b.cols) != 1 {
			return row, true, nil
		}
	}
	return row, false, nil
}

// record makes the composite value of a result's columns.
func (s *Session) record(c *sqltypes.Call, row []sqltypes.Datum) sqltypes.Datum {
	b := c.Cache.(*sqlBody)
	last := b.stmts[len(b.stmts)-1]
	types := make([]*sqltypes.Type, len(row))
	for i := range row {
		oid := last.cols[i].Type.OID
		types[i] = sqltypes.LookupType(&s.env, oid)
	}
	return sqltypes.MakeRecord(types, row)
}

// callSetFunction is a call that gives rows: all of them are computed at once.
func (s *Session) callSetFunction(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.RowSource, error) {
	var sp *spool
	whole := false
	err := s.runBody(c, args, func(row []sqltypes.Datum) error {
		r, w, err := s.resultRow(c, row)
		if err != nil {
			return err
		}
		if sp == nil {
			sp, whole = s.newSpool(len(r)), w
		}
		for _, d := range r {
			sp.cur = appendDatum(sp.cur, d)
		}
		return sp.rowDone()
	})
	if err != nil {
		if sp != nil {
			sp.close()
		}
		return nil, err
	}
	if sp == nil {
		return &texts{}, nil
	}
	return &functionRows{spoolSource: spoolSource{sp: sp}, unpack: whole && c.RetType.OID != sqltypes.OIDRecord && compositeWidth(s, c) > 0, width: compositeWidth(s, c)}, nil
}

func compositeWidth(s *Session, c *sqltypes.Call) int {
	if t := sqltypes.LookupType(&s.env, c.RetType.OID); t != nil && t.Base == nil {
		return len(t.Fields)
	}
	return 0
}

// functionRows yields the rows of a function; with unpack each is one composite
// value, which stands for its fields.
type functionRows struct {
	spoolSource
	unpack bool
	width  int
}

// Close frees the rows that were not read.
func (r *functionRows) Close() { r.sp.close() }

func (r *functionRows) Next() ([]sqltypes.Datum, bool, error) {
	row, ok, err := r.spoolSource.Next()
	if !ok {
		r.sp.close()
		return row, ok, err
	}
	if r.unpack {
		return expr.RecordFields(row[0], r.width), true, err
	}
	return row, true, err
}
