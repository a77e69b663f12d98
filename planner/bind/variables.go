package bind

import (
	"errors"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// columnRef binds a name: a column's or, in a procedural function, a variable's
// (PL/pgSQL's hooks into transformColumnRef).
func (s *scope) columnRef(c *pg.ColumnRef) expr.Expr {
	vars := s.b.vars
	if vars == nil {
		return s.columnOnly(c)
	}
	if vars.Conflict() == 'v' {
		if v, _ := s.variable(c); v != nil {
			return v
		}
		return s.columnOnly(c)
	}
	col, missing := s.tryColumn(c)
	if col != nil && vars.Conflict() == 'c' {
		return col
	}
	v, err := s.variable(c)
	switch {
	case v != nil && col != nil:
		panic(s.b.errAt(c.Location, pgerror.AmbiguousColumn, `column reference "%s" is ambiguous`, fieldsString(c.Fields)).
			WithDetail("It could refer to either a PL/pgSQL variable or a table column."))
	case v != nil:
		return v
	case col != nil:
		return col
	case err != nil:
		panic(err)
	}
	panic(missing)
}

// tryColumn is columnOnly that gives back the error of a name that is no column.
func (s *scope) tryColumn(c *pg.ColumnRef) (e expr.Expr, missing *pgerror.Error) {
	depth := s.b.depth
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *pgerror.Error:
			if r.Code != pgerror.UndefinedColumn && r.Code != pgerror.UndefinedTable {
				panic(r)
			}
			s.b.depth, e, missing = depth, nil, r
		default:
			panic(r)
		}
	}()
	return s.columnOnly(c), nil
}

// variable binds a name as a variable; nil if it is none. The error says that the
// variable has no such field.
func (s *scope) variable(c *pg.ColumnRef) (expr.Expr, *pgerror.Error) {
	fields, whole := c.Fields, false
	if n := len(fields); fields[n-1].GetAStar() != nil {
		fields, whole = fields[:n-1], true
	}
	if len(fields) == 0 || len(fields) > 3 {
		return nil, nil
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = strOf(f)
	}
	v, ok, err := s.b.vars.Variable(names, whole)
	if err != nil {
		if e, hard := err.(*pgerror.Error); hard {
			panic(e)
		}
		var e *pgerror.Error
		if errors.As(err, &e) {
			return nil, e
		}
		return nil, pgerror.New(pgerror.InternalError, "%s", err.Error())
	}
	if !ok {
		return nil, nil
	}
	return s.variableParam(v, c.Location), nil
}

// variableParam is the parameter that stands for a variable.
func (s *scope) variableParam(v planner.Variable, loc int32) expr.Expr {
	b := s.b
	for len(b.params) < v.Param {
		b.params = append(b.params, paramType{})
	}
	b.params[v.Param-1] = paramType{oid: v.Type.OID, declared: true, used: true, loc: loc}
	e := expr.Expr(&expr.Param{T: tt(b.columnTypeMod(v.Type.OID, v.Type.TypMod)), N: v.Param})
	if base, _ := b.baseTypeMod(v.Type.OID, noTypMod); base != v.Type.OID {
		// The variable's value has passed the domain's checks.
		e.(*expr.Param).T = tt(b.columnType(base))
		e = &expr.Relabel{T: tt(b.columnType(v.Type.OID)), Arg: e, Coercion: 'i'}
	}
	if v.Type.OID == sqltypes.OIDRecord && v.Fields != nil {
		if b.varFields == nil {
			b.varFields = map[expr.Expr][]field{}
		}
		out := make([]field, len(v.Fields))
		for i, f := range v.Fields {
			out[i] = field{f.Name, f.ColumnType}
		}
		b.varFields[e] = out
	}
	return e
}

// positional binds $n of a procedural function, where it names an argument.
func (s *scope) positional(p *pg.ParamRef) expr.Expr {
	v, ok, err := s.b.vars.Variable([]string{"$" + strconv.Itoa(int(p.Number))}, false)
	if err != nil {
		s.b.check(err, p.Location)
	}
	if !ok {
		s.b.fail(p.Location, pgerror.UndefinedParameter, "there is no parameter $%d", p.Number)
	}
	return s.variableParam(v, p.Location)
}

// starVariable expands name.* where name is a record variable; false: it is none.
func (s *scope) starVariable(c *pg.ColumnRef) ([]target, bool) {
	if s.b.vars == nil || len(c.Fields) < 2 {
		return nil, false
	}
	schema := ""
	n := len(c.Fields)
	if n >= 3 {
		schema = strOf(c.Fields[n-3])
	}
	if it, _ := s.lookupTable(schema, strOf(c.Fields[n-2]), c.Location); it != nil && s.b.vars.Conflict() != 'v' {
		return nil, false
	}
	v, _ := s.variable(c)
	if v == nil {
		return nil, false
	}
	return s.expandRowValue(v, c.Location), true
}

// assignPath binds an UPDATE whose only assignment writes into a part of a variable
// (v[1] := x, v.f := x): the query gives the variable's new value.
func (b *binder) assignPath(n *pg.UpdateStmt) *planner.Query {
	set := n.TargetList[0].GetResTarget()
	sel := &pg.SelectStmt{TargetList: []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: set.Val}}}}}
	v, err := b.vars.Assigned()
	b.check(err, -1)
	s := b.newScope(nil)
	q := s.selectStmt(sel)
	base := s.variableParam(v, -1)
	q.Targets[0].Expr = s.assignInto(base, set.Name, false, v.Type, set.Indirection, q.Targets[0].Expr, set.Val, -1)
	return q
}

// ColumnTypeOf is the type of a column, named table.column or schema.table.column.
func ColumnTypeOf(ctx *planner.Context, names []string) (ct sqltypes.ColumnType, err error) {
	defer catch(&err)
	if len(names) < 2 {
		return ct, pgerror.New(pgerror.UndefinedTable, "relation %q does not exist", names[0])
	}
	b := newBinder(ctx)
	rel := b.namedRelation(names[:len(names)-1])
	for _, c := range rel.Columns {
		if !c.Dropped && c.Name == names[len(names)-1] {
			return c.Type, nil
		}
	}
	return ct, pgerror.New(pgerror.UndefinedColumn, "column %q of relation %q does not exist", names[len(names)-1], rel.Name)
}

// RowTypeOf is the type of a relation's rows.
func RowTypeOf(ctx *planner.Context, names []string) (ct sqltypes.ColumnType, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	return b.relationRowType(b.namedRelation(names)), nil
}

func (b *binder) namedRelation(names []string) *catalog.Relation {
	rv := &pg.RangeVar{Relname: names[len(names)-1]}
	if n := len(names); n > 1 {
		rv.Schemaname = names[n-2]
	}
	rel, vr := b.findRelation(rv)
	if vr != nil {
		rel = vr.Rel
	}
	if rel == nil {
		b.relationMissing(rv)
	}
	return rel
}

// Coercion is how a value of one type is converted to another when it is assigned
// to a variable: by an assignment cast, otherwise through text. The expression's
// only parameter is $1.
func Coercion(ctx *planner.Context, from, to sqltypes.ColumnType) (e expr.Expr, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	s := b.newScope(nil)
	arg := s.variableParam(planner.Variable{Param: 1, Type: from}, -1)
	if r := s.coerceToTarget(arg, to.OID, to.TypMod, assignment, -1); r != nil {
		return r, nil
	}
	return s.throughText(arg, from, to), nil
}

// throughText converts by output and input functions, as PL/pgSQL does where there
// is no cast.
func (s *scope) throughText(arg expr.Expr, from, to sqltypes.ColumnType) expr.Expr {
	b := s.b
	if b.composite(to.OID) != nil || b.composite(from.OID) != nil || from.OID == sqltypes.OIDRecord || to.OID == sqltypes.OIDRecord {
		b.fail(-1, pgerror.DatatypeMismatch, "cannot cast type %s to %s", b.typeName(from.OID), b.typeName(to.OID))
	}
	text := s.coerceToTarget(arg, sqltypes.OIDText, noTypMod, explicit, -1)
	if text == nil {
		b.fail(-1, pgerror.CannotCoerce, "cannot cast type %s to %s", b.typeName(from.OID), b.typeName(to.OID))
	}
	r := s.coerceToTarget(text, to.OID, noTypMod, explicit, -1)
	if r != nil {
		r = s.coerceTypmod(r, to.OID, to.TypMod, assignment, -1)
	}
	if r == nil {
		b.fail(-1, pgerror.CannotCoerce, "cannot cast type %s to %s", b.typeName(from.OID), b.typeName(to.OID))
	}
	return r
}
