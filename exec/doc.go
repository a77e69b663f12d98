// Package exec runs physical plans: vectorised operators over batches of 1,024
// rows, data-modifying nodes with PostgreSQL's per-row semantics, foreign keys,
// and point plans that skip batches.
//
// An Execution is one run of one plan; it belongs to one goroutine and is closed
// by its owner. Rows leave it in batches that stay valid until the next call.
// Memory is accounted per query: an operator that outgrows work_mem writes to
// temporary files, past the hard limit the query fails with 53200.
//
// The package knows no protocol and no SQL text. It does not commit: the session
// owns the transaction, takes savepoints around statements, and runs the
// Deferred queue before it commits.
package exec
