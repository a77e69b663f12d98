// Package shardrouter owns the doc functions: their declaration in pg_proc, the
// decoding of their arguments into commands of package docstore, and the Router
// that decides which shards execute a command and merges their answers.
package shardrouter
