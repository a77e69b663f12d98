package planner

import (
	"ostraka/engine/catalog"
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
	// ParamTypes are the types the client declared for $1… (0: infer).
	ParamTypes []sqltypes.OID
}

// Settings are the planner's own (enable_seqscan … as bits, work_mem).
type Settings struct {
	DisableSeqScan, DisableIndexScan, DisableHashJoin, DisableMergeJoin, DisableNestLoop, DisableHashAgg, DisableSort bool
	WorkMem                                                                                                           int64 // bytes
	JoinCollapseLimit                                                                                                 int
	RandomPageCost, SeqPageCost, CPUTupleCost, CPUIndexTupleCost, CPUOperatorCost                                     float64
}
