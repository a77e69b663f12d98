package shardrouter

import (
	"context"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// Cluster is what routing needs of the process: who the shards are and how they
// are reached. Safe for concurrent use.
type Cluster interface {
	// Shards is the newest list and map that this process knows.
	Shards() *catalog.Shards
	// Refresh waits, for a moment, until Shards may be newer than version.
	Refresh(ctx context.Context, version uint64)
	// Backend reaches a shard other than shard 0. read: a local replica may answer.
	Backend(id int32, read bool) (Backend, error)
	// Home is shard 0's engine, for transactions of a database besides a session's.
	Home(db sqltypes.OID) EngineBackend
	// ChangeShards changes the list in a transaction of its own on shard 0, whose
	// leader this process must be.
	ChangeShards(ctx context.Context, f func(*catalog.Shards) error) (*catalog.Shards, error)
}

// Participant is the part of a session's transaction that is on another shard.
// Savepoints are numbered by their depth, from 0.
type Participant interface {
	Savepoint(ctx context.Context, level int) error
	RollbackTo(ctx context.Context, level int) error
	Release(ctx context.Context, level int) error
	// Commit makes it durable; after an error it is rolled back or its outcome is unknown.
	Commit(ctx context.Context) error
	// Rollback is idempotent.
	Rollback()
}

// txnSession is what routing needs of a session with transactions.
type txnSession interface {
	SessionContext
	Participant() Participant
	Enlist(Participant)
	HasWritten() bool
	ReadOnly() bool
	Isolation() engine.Isolation
	TopLevel() bool
	// Setting reads a parameter (ostraka.request_timeout).
	Setting(name string) (string, bool)
	Database() string
}

// participant is a transaction on a shard as part of a session's.
type participant struct {
	Transaction
	shard int32
}
