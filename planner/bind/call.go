package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// BindCall binds CALL. The call's arguments are those of all parameters, OUT ones
// too, whose values do not matter; params are the types of $1….
func BindCall(ctx *planner.Context, fc *pg.FuncCall) (call *expr.Call, params []sqltypes.OID, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	if ctx.Body != nil {
		b.vars = ctx.Body.Vars
	}
	b.outArgs = true
	s := b.newScope(nil)
	s.kind, s.callNode = kindCallArgument, fc
	e := s.funcCall(fc)
	c, ok := e.(*expr.Call)
	if !ok {
		b.fail(fc.Location, pgerror.WrongObjectType, "%s is not a procedure", fieldsString(fc.Funcname))
	}
	return c, b.finishParams(), nil
}

// withOutArgs is a procedure as CALL sees it: its OUT parameters are arguments.
func withOutArgs(p *sqltypes.Proc) *sqltypes.Proc {
	if p.Kind != 'p' || p.ArgModes == nil {
		return p
	}
	out := false
	for _, m := range p.ArgModes {
		out = out || m == 'o'
	}
	if !out {
		return p
	}
	c := *p
	c.ArgTypes, c.ArgNames = nil, nil
	c.ArgModes = make([]byte, len(p.ArgModes))
	for i, m := range p.ArgModes {
		c.ArgTypes = append(c.ArgTypes, p.AllArgTypes[i])
		c.ArgModes[i] = m
		if m == 'o' {
			c.ArgModes[i] = 'b'
		}
	}
	c.ArgNames = p.ArgNames
	return &c
}

// InputArgs picks of a call's arguments those that the procedure's body gets.
func InputArgs(p *sqltypes.Proc, modes []byte) []int {
	var in []int
	if modes == nil {
		for i := range p.ArgTypes {
			in = append(in, i)
		}
		return in
	}
	for i, m := range modes {
		if m != 'o' && m != 't' {
			in = append(in, i)
		}
	}
	return in
}
