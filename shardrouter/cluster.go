package shardrouter

import (
	"context"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// Topology is what routing needs of the process: who the shards are and how they
// are reached. Safe for concurrent use.
type Topology interface {
	// Shards is the newest list and map that this process knows.
	Shards() *catalog.Shards
	// Refresh waits, for a moment, until Shards may be newer than version.
	Refresh(ctx context.Context, version uint64)
	// Backend reaches a shard that is not part of the session's own transaction
	// (base.own). read: a local replica may answer.
	Backend(id int32, read bool) (Backend, error)
}

// Cluster is the Topology of a node, which keeps the list of shards. Safe for concurrent use.
type Cluster interface {
	Topology
	// Home is shard 0's engine, for transactions of a database besides a session's.
	Home(db sqltypes.OID) EngineBackend
	// Replica is the engine of this process's replica of a shard, whoever leads it; nil
	// when it has none.
	Replica(id int32) engine.Engine
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

// TxnSession is what routing needs to know of a session's transaction.
type TxnSession interface {
	// Participant is the part of the transaction on another shard, nil without one;
	// Enlist makes p that part.
	Participant() Participant
	Enlist(Participant)
	// HasWritten reports that the transaction has written on the session's own shard.
	HasWritten() bool
	ReadOnly() bool
	Isolation() engine.Isolation
	// InBlock reports a transaction block, Now is the statement's time.
	InBlock() bool
	Now() time.Time
}

// txnSession is what routing needs of a node's session.
type txnSession interface {
	SessionContext
	TxnSession
	TopLevel() bool
	// Setting reads a parameter (ostraka.request_timeout).
	Setting(name string) (string, bool)
	Database() string
	// ReplicaReads is how the running statement may read replicas of other shards.
	ReplicaReads() ReplicaReads
}

// participant is a transaction on a shard as part of a session's.
type participant struct {
	Transaction
	shard int32
}
