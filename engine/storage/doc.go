// Package storage owns the bytes of one shard's state: the pebble database, the
// key space in it, the order-preserving encoding of keys and the encoding of rows.
//
// It knows descriptors (engine/catalog) but no transactions: it reads snapshots
// and writes batches that others make. Formats are specified in
// docs/formats/keys.md and docs/formats/rows.md.
//
// Tables and codecs are immutable and safe for concurrent use; decoders, batches
// and iterators belong to one goroutine.
package storage
