// Package pgerror owns the one error type that reaches a client and the table
// of SQLSTATE codes it may carry.
//
// Every layer that can fail because of what a user asked returns an *Error (or
// wraps one with %w). pgfront turns it into an ErrorResponse; an error that is
// not an *Error reaches the client as XX000 with an id that the log has.
// An *Error is immutable once returned: the With methods return the receiver
// and are for use while it is built.
package pgerror

import (
	"errors"
	"fmt"
)

// Error carries the fields of a PostgreSQL ErrorResponse
// (PostgreSQL documentation, chapter "Error and Notice Message Fields").
type Error struct {
	Severity         string // ERROR, FATAL, PANIC; empty means ERROR
	Code             Code   // SQLSTATE
	Message          string
	Detail           string
	Hint             string
	Position         int // 1-based character (not byte) position in the query; 0 = none
	InternalPosition int
	InternalQuery    string
	Where            string
	Schema           string
	Table            string
	Column           string
	DataType         string
	Constraint       string
	cause            error
}

// New returns an error with a formatted message in PostgreSQL's style
// (lower case, no full stop).
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap is New with a cause that errors.Is and errors.As can see; the client
// never sees the cause.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// NotSupported refuses something by name (SQLSTATE 0A000): "<what> is not supported".
func NotSupported(format string, args ...any) *Error {
	return New(FeatureNotSupported, format+" is not supported", args...)
}

func (e *Error) Error() string { return e.Message + " (SQLSTATE " + string(e.Code) + ")" }
func (e *Error) Unwrap() error { return e.cause }

func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// At sets the 1-based character position in the query text.
func (e *Error) At(pos int) *Error {
	e.Position = pos
	return e
}

func (e *Error) WithTable(schema, table string) *Error {
	e.Schema, e.Table = schema, table
	return e
}

func (e *Error) WithColumn(column string) *Error {
	e.Column = column
	return e
}

func (e *Error) WithConstraint(name string) *Error {
	e.Constraint = name
	return e
}

func (e *Error) WithDataType(schema, name string) *Error {
	e.Schema, e.DataType = schema, name
	return e
}

// CodeOf returns the SQLSTATE of err, or InternalError when err carries none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return InternalError
}

// Is reports whether err carries the given SQLSTATE.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
