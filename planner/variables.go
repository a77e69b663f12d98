package planner

import "ostraka/sqltypes"

// Variables are the names that a statement in a procedural function may use besides
// columns. Each becomes a parameter of the statement.
type Variables interface {
	// Variable resolves a name of one to three parts; whole: all of a row is meant
	// (name.*). Not ok: there is no such variable. An error that is to give way to a
	// column of the same name unwraps to an *pgerror.Error.
	Variable(names []string, whole bool) (v Variable, ok bool, err error)
	// Assigned is the variable into which an assignment to a part of it writes.
	Assigned() (v Variable, err error)
	// Conflict tells what a name means that is both a column's and a variable's:
	// 'e' an error, 'v' the variable, 'c' the column.
	Conflict() byte
}

// Variable is one: the parameter that stands for it, its type and, of type record,
// its fields.
type Variable struct {
	Param  int
	Type   sqltypes.ColumnType
	Fields []sqltypes.Field
}
