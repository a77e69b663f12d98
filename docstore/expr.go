package docstore

import (
	"time"
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
	err           error // of an $expr in a filter
}
