// Package logstore keeps the Raft logs of all groups of a node in segment files,
// and their stable records (term, vote) in a pebble database beside them.
//
// It owns the format described in docs/formats/raftlog.md. It promises that a
// successful StoreLogs or Set is on stable storage (a lazy StoreLogs: after
// WaitDurable), that a torn tail is cut at open, and that any other damage is
// refused with an error that names the place. It does not decide when a log may
// be truncated.
//
// A Store is safe for concurrent use as hashicorp/raft needs it: one appender
// (raft's main goroutine), any number of readers, and one truncating goroutine.
package logstore
