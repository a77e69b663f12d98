// Package engine owns one shard's store as the layers above see it: snapshots,
// transactions, row and relation locks, catalogue changes, sequences. Its parts
// are storage (keys, rows, the pebble database), catalog (descriptors), txn
// (locks, write buffer, commit) and commitlog (the interface to what makes
// writes durable).
package engine
