package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// paramType is what is known of one $n. As in PostgreSQL's variable parameters,
// the first context that needs a type fixes it.
type paramType struct {
	oid      sqltypes.OID
	declared bool // by the client
	used     bool
	loc      int32
	nodes    []*expr.Param // still without a type
}

// maxParams is the protocol's limit of parameters (a 16-bit count).
const maxParams = 65535

func (s *scope) paramRef(p *pg.ParamRef) expr.Expr {
	b := s.b
	if b.vars != nil {
		return s.positional(p)
	}
	n := int(p.Number)
	if b.noPar || n <= 0 || n > maxParams {
		b.fail(p.Location, pgerror.UndefinedParameter, "there is no parameter $%d", n)
	}
	for len(b.params) < n {
		b.params = append(b.params, paramType{})
	}
	pt := &b.params[n-1]
	if !pt.used {
		pt.used, pt.loc = true, p.Location
	}
	if pt.oid == 0 {
		pt.oid = oidUnknown
	}
	base, mod := b.baseTypeMod(pt.oid, noTypMod)
	e := &expr.Param{T: tt(b.columnType(base)), N: n}
	if base != pt.oid {
		// A domain's constraints are checked here; the value comes as its base type.
		return s.toDomain(e, pt.oid, mod, implicit, p.Location)
	}
	if isUnknown(pt.oid) {
		pt.nodes = append(pt.nodes, e)
		if b.paramLocs == nil {
			b.paramLocs = map[*expr.Param]int32{}
		}
		b.paramLocs[e] = p.Location
	}
	return e
}

// coerceParam is variable_coerce_param_hook: a parameter of unknown type takes
// the type it is coerced to. nil: the ordinary coercion applies.
func (b *binder) coerceParam(p *expr.Param, dst sqltypes.OID, loc int32) expr.Expr {
	pt := &b.params[p.N-1]
	if l, ok := b.paramLocs[p]; ok {
		loc = l
	}
	switch {
	case isUnknown(pt.oid):
		pt.oid = dst
	case pt.oid != dst:
		panic(b.errAt(loc, pgerror.AmbiguousParameter, "inconsistent types deduced for parameter $%d", p.N).
			WithDetail("%s versus %s", b.typeName(pt.oid), b.typeName(dst)))
	}
	for _, n := range pt.nodes {
		if n == p {
			n.Typ = b.columnType(b.baseType(pt.oid))
		}
	}
	return p
}

// finishParams settles what no context decided (check_variable_parameters).
func (b *binder) finishParams() []sqltypes.OID {
	out := make([]sqltypes.OID, len(b.params))
	for i := range b.params {
		pt := &b.params[i]
		if pt.used && isUnknown(pt.oid) {
			b.fail(pt.loc, pgerror.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
		for _, n := range pt.nodes {
			if isUnknown(n.Typ.OID) {
				b.fail(b.paramLocs[n], pgerror.AmbiguousParameter, "could not determine data type of parameter $%d", i+1)
			}
		}
		out[i] = pt.oid
		if !pt.used && isUnknown(out[i]) {
			// PostgreSQL refuses a gap in the numbers.
			b.fail(-1, pgerror.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
	}
	return out
}

// BindParam binds the argument of an EXECUTE or a stand-alone value to a type
// (assignment rules): params lists the prepared statement's types.
func BindParam(ctx *planner.Context, n *pg.Node, index int, want sqltypes.OID) (e expr.Expr, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	s := b.newScope(nil)
	s.kind = kindExecuteParameter
	e = s.expr(n)
	got := typeOf(e)
	e = s.coerceToTarget(e, want, noTypMod, assignment, exprLoc(n))
	if e == nil {
		panic(b.errAt(exprLoc(n), pgerror.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s", index+1, b.typeName(got), b.typeName(want)).
			WithHint("You will need to rewrite or cast the expression."))
	}
	b.finishParams()
	return e, nil
}
