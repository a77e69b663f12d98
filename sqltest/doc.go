// Package sqltest runs sqllogictest files against any PostgreSQL-compatible
// server, over two drivers (pgx and lib/pq), and records expectations from a
// real PostgreSQL.
//
// The format is sqllogictest's (https://sqlite.org/sqllogictest) with these
// additions: a first line "# results: exact" makes expected values the server's
// text as it is; "statement error SQLSTATE" checks the code; "loop"/"foreach"
// expand their body; "connection NAME" runs the next record on a session of that
// name. A File is parsed whole before anything runs.
package sqltest
