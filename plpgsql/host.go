package plpgsql

import (
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// RowFunc receives a row of a statement with its columns. The row is valid during the
// call only. ErrStop ends the statement without an error.
type RowFunc func(cols []planner.Column, row []sqltypes.Datum) error

// Outcome is what a statement answered.
type Outcome struct {
	// Columns are those of its rows, nil if it returns none.
	Columns []planner.Column
	Rows    int64 // that it returned or changed
	Tag     string
	// Outs are the parameters that the columns of CALL are values of: their places
	// among all parameters and their names.
	Outs []OutParam
}

// OutParam is an output parameter of a procedure.
type OutParam struct {
	Place int
	Name  string
}

// Host is the session in which a function runs.
type Host interface {
	Types
	Env() *sqltypes.Env
	// Cancelled is the error that ends the running statement, nil while it may go on.
	Cancelled() error

	// Evaluate computes an expression: the one value of the one row.
	Evaluate(q *Query, names Names) (sqltypes.Datum, sqltypes.ColumnType, error)
	// Execute runs a statement. rows may be nil. At most limit rows are asked for (0: all).
	Execute(q *Query, names Names, limit int64, rows RowFunc) (Outcome, error)
	// Dynamic runs a statement that was put together, with values for $1….
	Dynamic(text string, args []sqltypes.Datum, types []sqltypes.OID, limit int64, rows RowFunc) (Outcome, error)
	// CallProcedure runs CALL; the outcome tells which arguments are output.
	CallProcedure(q *Query, names Names, atomic bool, rows RowFunc) (Outcome, error)
	// Buffered makes a function's rows independent of the statement that yields them:
	// they are read before it goes on.
	Buffered(run func(rows RowFunc) (Outcome, error), rows RowFunc) (Outcome, error)
	// Coerce converts a value for a variable.
	Coerce(d sqltypes.Datum, from, to sqltypes.ColumnType) (sqltypes.Datum, error)

	// Begin makes a savepoint; RollbackTo undoes what came after it, Release forgets it.
	Begin() (savepoint int, err error)
	RollbackTo(savepoint int) error
	Release(savepoint int) error

	// Setting is the value of a parameter of the session.
	Setting(name string) (string, bool)
	// Notice sends a message that is no error.
	Notice(*pgerror.Error)

	// Open opens a cursor for a query; name "" makes one up, which it returns.
	Open(name string, q *Query, names Names, scroll int8) (string, error)
	OpenDynamic(name, text string, args []sqltypes.Datum, types []sqltypes.OID, scroll int8) (string, error)
	// Fetch moves a cursor as FETCH does; the last row passed goes to rows.
	Fetch(name, direction string, count int64, all, move bool, rows RowFunc) (int64, error)
	CloseCursor(name string) error
	// Pin makes a cursor survive EndTransaction.
	Pin(name string, on bool)

	// EndTransaction is COMMIT or ROLLBACK in a procedure.
	EndTransaction(commit, chain bool) error
}

// Result is what a call gave.
type Result struct {
	Value sqltypes.Datum
	// Outs are the values of the output parameters of a procedure.
	Outs []sqltypes.Datum
	// Row is the row that a trigger function returned; nil: NULL.
	Row []sqltypes.Datum
}
