// Package raft is the commit log by quorum: hashicorp/raft behind
// engine/commitlog.Log.
//
// A Host is a node: it owns the Raft port, the log database and the groups. A
// Group is one replicated log; it drives one commitlog.Applier. What is
// proposed is durable on a majority, applied locally, then acknowledged; see
// DESIGN.md beside this file for the argument, docs/formats/raftlog.md for
// bytes on disk.
//
// The package knows nothing of what is replicated. Everything exported is safe
// for concurrent use.
package raft
