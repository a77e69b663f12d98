// Package snapshot moves an applier's checkpoints between the nodes of a group.
//
// Raft takes no snapshots of its own here: the state database is the snapshot.
// Store answers raft's questions about snapshots from what the applier has
// applied; a checkpoint is made only when a follower needs one, streamed with a
// checksum per file (format in docs/formats/raftlog.md), kept for a while for
// the next attempt, and removed. A received stream is unpacked and synced into
// the staging directory and then handed to the applier as a whole; a transfer
// that breaks leaves nothing behind.
package snapshot
