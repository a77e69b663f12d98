package plpgsql

import (
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ContextTypes resolves types in a planning context.
type ContextTypes struct{ Ctx *planner.Context }

// TypeName implements Types.
func (c ContextTypes) TypeName(text string) (sqltypes.ColumnType, error) {
	n, err := parse.TypeName(text)
	if err != nil {
		if e, ok := err.(*pgerror.Error); ok && e.Code == pgerror.SyntaxError {
			return sqltypes.ColumnType{}, pgerror.New(pgerror.SyntaxError, "invalid type name \"%s\"", text)
		}
		return sqltypes.ColumnType{}, err
	}
	quiet := *c.Ctx
	quiet.Body = &planner.FunctionBody{}
	return bind.BindTypeName(&quiet, n)
}

// ColumnType implements Types.
func (c ContextTypes) ColumnType(names []string) (sqltypes.ColumnType, error) {
	return bind.ColumnTypeOf(c.Ctx, names)
}

// RowType implements Types.
func (c ContextTypes) RowType(names []string) (sqltypes.ColumnType, error) {
	return bind.RowTypeOf(c.Ctx, names)
}

// Type implements Types.
func (c ContextTypes) Type(oid sqltypes.OID) *sqltypes.Type {
	if t := sqltypes.TypeByOID(oid); t != nil {
		return t
	}
	return c.Ctx.Catalog.Type(oid)
}

// CheckSyntax parses every piece of SQL in the function.
func (f *Function) CheckSyntax() error {
	for _, q := range f.Queries {
		if _, err := parse.One(q.Text); err != nil {
			e, ok := err.(*pgerror.Error)
			if !ok {
				return err
			}
			c := *e
			c.InternalQuery, c.InternalPosition, c.Position = q.Text, c.Position, 0
			return &c
		}
	}
	return nil
}
