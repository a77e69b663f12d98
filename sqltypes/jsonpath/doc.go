// Package jsonpath is the SQL/JSON path language as PostgreSQL 15 has it: the
// parser and printer of the type jsonpath, and the evaluator behind
// jsonb_path_query and its relatives. Importing it gives the type its input and
// output functions.
//
// A *Path is immutable and may be shared between goroutines. Errors of
// evaluation carry the SQLSTATEs of class 22 that PostgreSQL gives.
package jsonpath
