// Package opt turns a bound query (planner.Query) into a physical plan: it
// simplifies and unnests, pushes conditions down, chooses access paths, join
// order and join methods by cost over statistics, and builds planner's nodes.
//
// The way of a query level: WITH queries are inlined or planned (cte.go);
// sublinks become joins (unnest.go, decorrelate.go), simple subqueries are pulled
// up (pullup.go); expressions are folded (simplify.go); what is left of sublinks is
// planned as InitPlans and SubPlans (sublink.go); outer joins are reduced
// (outer.go); conditions are distributed over the join tree, giving equivalence
// classes and the constraints that outer, semi and anti joins put on the join
// order (deconstruct.go, equivalence.go); access paths (leaf.go, index.go), join
// search (joinsearch.go, joinpath.go); then grouping, windows, ordering, limits
// and DML on top (upper.go, modify.go), made directly as nodes.
//
// While planning, columns are planner.Var; building a node (build.go) resolves
// them to positions. Costs are in units of ten microseconds of our executor
// (cost.go). Optimize is safe for concurrent use and never changes its input.
package opt
