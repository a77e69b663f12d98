package docstore

import (
	"context"
	"time"

	"ostraka/sqltypes/pgerror"
)

// expression is a compiled aggregation expression; a zero JSON is a missing value.
type expression interface {
	eval(env *exprEnv) (JSON, error)
}

// exprEnv is what expressions see. It belongs to one goroutine.
type exprEnv struct {
	root, current JSON
	vars          map[string]JSON
	now           time.Time
	err           error           // of an $expr in a filter
	ctx           context.Context // of the statement, nil when there is none; loops end with it
}

// maxValue bounds a value that an expression builds, in bytes.
const maxValue = 64 << 20

// errTooLarge is 54000, of a value larger than maxValue.
func errTooLarge() error {
	return pgerror.New(pgerror.ProgramLimitExceeded, "a value of an expression exceeds %d bytes", maxValue)
}

// built passes on a value that an expression has built, unless it is too large.
func built(v JSON) (JSON, error) {
	if len(v.Datum().S) > maxValue {
		return JSON{}, errTooLarge()
	}
	return v, nil
}

// sizeLimit adds up the parts of a value before it is built.
type sizeLimit int

func (l *sizeLimit) add(v JSON) error {
	if *l += sizeLimit(len(v.Datum().S)); *l > maxValue {
		return errTooLarge()
	}
	return nil
}

// canceled is the reason why the statement has to end, or nil.
func (env *exprEnv) canceled() error {
	if env == nil || env.ctx == nil {
		return nil
	}
	return context.Cause(env.ctx)
}
