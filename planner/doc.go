// Package planner turns SQL text into physical plans: parse (pg_query),
// classify (read, write or control, and which kind of relation), bind names and
// types by PostgreSQL's rules, rewrite, optimise over statistics.
//
// A Plan is immutable and shared between sessions; it is valid for one catalogue
// version and one set of planning-relevant settings. The package runs nothing:
// exec interprets plans, and utility statements go as syntax trees to the room
// that executes them.
package planner
