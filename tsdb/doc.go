// Package tsdb gives time-series tables to SQL: it stands between the sessions and
// a shard's engine and takes the reads and writes of relations whose rows live in
// the node's store (tsdb/store) instead of the shard.
//
// What is replicated of such a table is its descriptor; its rows are on the node
// they were written to. A transaction writes either replicated relations or time
// series: one that tries both is refused (0A000), since no log could make both
// durable at once. Rows are buffered until COMMIT, which appends them to the
// store as one batch.
//
// (time, tags) is unique and the last write wins: a plain INSERT of an existing
// key replaces the row. Statements that read before they write (UPDATE, DELETE,
// ON CONFLICT) take turns on a table, so that none works on a row that another
// has changed.
package tsdb
