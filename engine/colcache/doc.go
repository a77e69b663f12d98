// Package colcache keeps what large scans have read as columns in memory, so that
// the next scan need not go through the rows again.
//
// The rows in the store are the truth; this is a copy that may be dropped at any
// moment. A table is remembered after its first large scan; later scans leave
// chunks behind: up to expr.BatchSize rows with consecutive keys, encoded column by
// column, only the columns that somebody read.
//
// Correctness. Every change of a key is told to the cache before it is committed
// to the store (Touches), with the position of its batch. A chunk dies with the
// first change inside its range of keys, so one that lives has the rows of every
// state from the position its builder's snapshot is known to contain (since) until
// now. A reader whose snapshot is known to contain since, and that finds the chunk
// alive after the snapshot was taken, may therefore use it. A builder hears of
// every change while it reads and leaves out chunks that one fell into; it may not
// begin when something has changed since its snapshot.
package colcache
