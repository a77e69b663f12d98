package shardrouter

import (
	"context"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// Router executes a command wherever its documents are.
type Router interface {
	Run(ctx context.Context, sess SessionContext, cmd *docstore.Command) (docstore.Result, error)
}

// SessionContext is what a Router needs of the session that calls a doc
// function. It is implemented by the front end's session; one goroutine uses it.
type SessionContext interface {
	// DocNode is the node's handle: it has a method DocRouter() Router.
	DocNode() any
	// WriteTxn is the transaction of the running statement, on shard 0; an error
	// (25006) in a read-only transaction. what names the function for the error.
	WriteTxn(what string) (engine.Txn, error)
	// ReadView is the state that the running statement reads on shard 0, with what
	// releases it.
	ReadView() (view engine.View, release func(), err error)
	// InBlock reports a transaction block.
	InBlock() bool
	// Now is the statement's time.
	Now() time.Time
	// RoleOID is the current role; MayUse says whether it may read or write a collection.
	RoleOID() sqltypes.OID
	MayUse(rel *catalog.Relation, write bool) bool
}

// Local is the Router of a node that has one shard: every command runs in the
// session's own transaction.
type Local struct {
	// Fetch is how pipelines read other collections, nil: in the same transaction.
	Fetch func(ctx context.Context, cmd *docstore.Command) (docstore.Result, error)
}

// Run implements Router.
func (l Local) Run(ctx context.Context, sess SessionContext, cmd *docstore.Command) (docstore.Result, error) {
	writes, err := Writes(cmd)
	if err != nil {
		return docstore.Result{}, err
	}
	if cmd.Op == docstore.OpWatch {
		return watchHome(ctx, sess, cmd)
	}
	st := &docstore.State{Now: sess.Now(), Owner: sess.RoleOID(), May: sess.MayUse, Fetch: l.Fetch}
	release := func() {}
	if writes {
		if st.Txn, err = sess.WriteTxn("doc." + cmd.Op.String() + "()"); err != nil {
			return docstore.Result{}, err
		}
		st.View = st.Txn
	} else if st.View, release, err = sess.ReadView(); err != nil {
		return docstore.Result{}, err
	}
	res, err := docstore.Run(ctx, st, cmd)
	// Streams hold snapshots of their own.
	release()
	return res, err
}

// Writes reports a command that needs a transaction on the leader.
func Writes(cmd *docstore.Command) (bool, error) {
	if cmd.Op == docstore.OpAggregate {
		return docstore.PipelineWrites(cmd.Pipeline)
	}
	return cmd.Op.Writes(), nil
}
