package planner

import (
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// Context is what binding and planning depend on besides the catalogue.
type Context struct {
	Catalog   *catalog.Catalog
	Relations Relations
	// SearchPath are the schemas to look in, effective order (pg_temp and
	// pg_catalog included explicitly).
	SearchPath []sqltypes.OID
	TempSchema sqltypes.OID // 0 none
	Role       sqltypes.OID
	Env        *sqltypes.Env // for folding stable-free calls and reading literals
	Settings   Settings
	// Source is the query string that syntax tree locations index; error positions
	// are counted in it.
	Source string
	// ParamTypes are the types the client declared for $1… (0: infer).
	ParamTypes []sqltypes.OID
	// Body: the statement stands in the body of a SQL-language function; nil otherwise.
	Body *FunctionBody
	// SkipBodyCheck: check_function_bodies is off.
	SkipBodyCheck bool
	// SizeHint returns about how many bytes a table occupies (engine.View's
	// EstimateBytes), used where ANALYZE has not been run; nil or < 0: unknown.
	SizeHint func(rel *catalog.Relation) int64
	// IndexExprs returns an index's key expressions (nil entries for plain columns)
	// and predicate, bound over the table's attributes (Col.Idx = attribute-1); asked
	// only for indexes that have either. Nil: such indexes are not used for reading.
	IndexExprs func(rel *catalog.Relation, ix *catalog.Index) (keys []expr.Expr, pred expr.Expr)
	// PartitionExprs returns the expressions of a table's partition key (nil entries for
	// plain columns), bound over its attributes. Nil: such keys do not prune.
	PartitionExprs func(rel *catalog.Relation) []expr.Expr
	// Explain: the plan is to be shown; columns get the texts that EXPLAIN prints.
	Explain bool
	// ParamValues, when not nil, are the values a custom plan is made for: the plan
	// may depend on them and is not to be kept.
	ParamValues []sqltypes.Datum
}

// FunctionBody is what a statement of a SQL-language function depends on.
type FunctionBody struct {
	// ArgNames are the names of the parameters $1…, "" for those without.
	ArgNames []string
	// Final: it is the statement whose rows are the function's result of type Ret.
	Final bool
	Ret   sqltypes.OID
	// Cols are the types of the result's columns, which the statement's are converted
	// to; nil: as they are.
	Cols []sqltypes.ColumnType
	// Vars, when not nil, are the variables of a procedural function. Assign: the
	// statement is an UPDATE that stands for writing into a part of a variable.
	Vars   Variables
	Assign bool
}

// Settings are the planner's own (enable_seqscan … as bits, work_mem).
type Settings struct {
	DisableSeqScan, DisableIndexScan, DisableHashJoin, DisableMergeJoin, DisableNestLoop, DisableHashAgg, DisableSort bool
	WorkMem                                                                                                           int64 // bytes
	// RowSecurityOff: statements whose rows a policy would hide fail instead.
	RowSecurityOff                                                                bool
	JoinCollapseLimit                                                             int
	RandomPageCost, SeqPageCost, CPUTupleCost, CPUIndexTupleCost, CPUOperatorCost float64
}
