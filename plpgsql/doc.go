// Package plpgsql is PostgreSQL's procedural language: a parser that makes a tree
// of a function's body (Parse) and an interpreter that runs it (Function.Call).
//
// It owns the language: blocks, variables, control flow, RAISE and EXCEPTION,
// cursors by name. The SQL inside a body it only cuts out of the text: a Host
// plans and runs it, resolves types and makes savepoints. Names of variables
// reach the binder through planner.Variables, which a Query with the frame that
// runs it implements, so that a fragment is planned once and gets the values of
// its variables as parameters.
//
// Errors are PostgreSQL's, with the lines of CONTEXT ("PL/pgSQL function f() line
// 3 at RAISE"). What is missing is refused by name (0A000).
//
// A Function is immutable after Parse but for what the host keeps in its queries,
// so one belongs to one session; calls may nest.
package plpgsql
