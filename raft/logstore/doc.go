// Package logstore keeps the Raft logs and the stable records (term, vote) of
// all groups of a node in one pebble database, so that they share one fsync.
//
// It owns the format described in docs/formats/raftlog.md. It promises that a
// successful StoreLogs or Set is on stable storage, that a torn tail is cut at
// open, and that any other damage is refused with a *CorruptError that names
// the place. It does not decide when a log may be truncated.
//
// A Store is safe for concurrent use as hashicorp/raft needs it: one appender
// (raft's main goroutine), any number of readers, and one truncating goroutine.
package logstore
