package docstore

import (
	"ostraka/sqltypes/pgerror"
)

// compileExpr reads an aggregation expression; vars are the names it may use.
func compileExpr(j JSON, vars []string) (expression, error) {
	return nil, pgerror.NotSupported("expression %s", shown(j))
}

// PipelineWrites reports a pipeline that ends with $out or $merge.
func PipelineWrites(p JSON) (bool, error) { return false, nil }
