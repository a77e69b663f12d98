package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// procedureCall is a bound CALL.
type procedureCall struct {
	call   *expr.Call        // with an argument for every parameter
	proc   *catalog.Function // nil: one of the product's own
	params []sqltypes.OID
	cols   []planner.Column // of the OUT parameters; nil: none
}

// bindCall resolves the procedure and binds its arguments.
func (s *Session) bindCall(p *prepared, n *pg.CallStmt) (*procedureCall, error) {
	cat := s.catalog()
	pc := s.planContext(cat, p.text, p.declared)
	pc.Body = p.body
	call, params, err := bind.BindCall(pc, n.Funccall)
	if err != nil {
		return nil, err
	}
	c := &procedureCall{call: call, params: params}
	for _, f := range cat.FunctionsByName(call.Proc.Namespace, call.Proc.Name) {
		if f.OID == call.Proc.OID {
			c.proc = f
		}
	}
	if c.proc == nil {
		if call.Proc.Kind != 'p' || call.Proc.Fn == nil {
			return nil, pgerror.NotSupported("calling procedure %s", call.Proc.Name)
		}
		return c, nil
	}
	for i, m := range c.proc.ArgModes {
		if m != 'o' && m != 'b' {
			continue
		}
		t := c.proc.ArgTypes[i]
		if d := sqltypes.LookupType(&s.env, t.OID); d != nil && d.TypType == 'p' && i < len(call.Args) {
			t = call.Args[i].Type()
		}
		name := c.proc.ArgNames[i]
		if name == "" {
			name = sprintf("column%d", len(c.cols)+1)
		}
		c.cols = append(c.cols, planner.Column{Name: name, Type: t})
	}
	return c, nil
}

// callStmt is CALL.
func (s *Session) callStmt(p *prepared, n *pg.CallStmt, po *portal) (*outcome, error) {
	c, err := s.bindCall(p, n)
	if err != nil {
		return nil, err
	}
	if c.proc == nil {
		return s.callOwn(c, po)
	}
	if err := s.mayExecute(c.proc); err != nil {
		return nil, err
	}
	queried := s.tx.queried
	_, release, err := s.statement(planner.ClassWrite)
	if err != nil {
		return nil, err
	}
	defer release()
	s.tx.queried = queried // the procedure's statements will have taken a snapshot
	proc := *call(c)
	inv := &sqltypes.Call{Env: &s.env, Proc: &proc, RetType: c.call.Typ}
	var inputs []expr.Expr
	for _, i := range bind.InputArgs(&proc, c.proc.ArgModes) {
		inputs = append(inputs, c.call.Args[i])
	}
	late, err := p.lateArgs(nil)
	if err != nil {
		return nil, err
	}
	if late != nil {
		po = &portal{args: late}
	}
	args, err := s.callArgs(inv, inputs, po)
	if err != nil {
		return nil, err
	}
	if proc.Lang == sqltypes.LangPLpgSQL {
		res, err := s.runProcedural(inv, args, p.atomic || s.inBlock() || s.calls > 0 && p.body == nil || c.proc.SecurityDefiner || len(c.proc.Config) > 0, nil)
		if err != nil || len(c.cols) == 0 {
			return tagged("CALL", err)
		}
		return rowsOutcome(c.cols, [][]sqltypes.Datum{res.Outs}, "CALL"), nil
	}
	var first []sqltypes.Datum
	if err := s.runBody(inv, args, func(row []sqltypes.Datum) error {
		if first == nil {
			first = append([]sqltypes.Datum{}, row...)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if len(c.cols) == 0 {
		return tagged("CALL", nil)
	}
	if first != nil {
		row, whole, err := s.resultRow(inv, first)
		if err != nil {
			return nil, err
		}
		if whole && len(c.cols) > 1 {
			row = expr.RecordFields(row[0], len(c.cols))
		}
		first = row
	}
	for len(first) < len(c.cols) {
		first = append(first, sqltypes.Null)
	}
	return rowsOutcome(c.cols, [][]sqltypes.Datum{first}, "CALL"), nil
}

// callOwn is CALL of one of the product's own procedures, which act on the node.
func (s *Session) callOwn(c *procedureCall, po *portal) (*outcome, error) {
	_, release, err := s.statement(planner.ClassNodeWrite)
	if err != nil {
		return nil, err
	}
	defer release()
	inv := &sqltypes.Call{Env: &s.env, Proc: c.call.Proc, RetType: c.call.Typ}
	args, err := s.callArgs(inv, c.call.Args, po)
	if err != nil {
		return nil, err
	}
	if _, err := c.call.Proc.Fn(inv, args); err != nil {
		return nil, err
	}
	return tagged("CALL", nil)
}

// callArgs computes the arguments of a call, and tells inv their types.
func (s *Session) callArgs(inv *sqltypes.Call, exprs []expr.Expr, po *portal) ([]sqltypes.Datum, error) {
	params := expr.Params{}
	if po != nil {
		params.Bind = po.args
	}
	types := func(oid sqltypes.OID) *sqltypes.Type { return sqltypes.LookupType(&s.env, oid) }
	var args []sqltypes.Datum
	for _, e := range exprs {
		prog, err := expr.Compile(e, types)
		if err != nil {
			return nil, err
		}
		d, err := prog.Row(nil, &params, &s.env)
		if err != nil {
			return nil, err
		}
		args = append(args, keepDatum(d))
		inv.ArgTypes = append(inv.ArgTypes, e.Type())
	}
	return args, nil
}

// call is the procedure as its body sees it: input parameters only.
func call(c *procedureCall) *sqltypes.Proc {
	p := *c.call.Proc
	p.ArgTypes = nil
	p.ArgModes = c.proc.ArgModes
	for i, m := range c.proc.ArgModes {
		if m != 'o' && m != 't' {
			p.ArgTypes = append(p.ArgTypes, c.proc.ArgTypes[i].OID)
		}
	}
	return &p
}

// mayExecute checks the privilege to call a function.
func (s *Session) mayExecute(f *catalog.Function) error {
	if cat := s.catalog(); s.role.Super || cat != nil && cat.Holds(s.role.OID, f.Owner, f.ACL, 'X', "X") {
		return nil
	}
	what := "function"
	if f.Kind == 'p' {
		what = "procedure"
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for %s %s", what, f.Name)
}
