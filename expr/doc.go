// Package expr owns bound scalar expressions and their evaluation: the tree that
// the planner builds, the column vectors and batches that operators exchange,
// the typed kernels, the row-at-a-time evaluator and constant folding.
//
// It knows no storage and no plans; a subquery inside an expression is an opaque
// SubPlan that the executor runs. Trees are immutable and shared between
// sessions; a Program compiled from one belongs to one goroutine.
package expr
