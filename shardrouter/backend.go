package shardrouter

import (
	"context"
	"errors"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Backend is one shard as a front end reaches it: an engine of this process, a
// session on the node that leads the shard, or a server elsewhere. Safe for
// concurrent use.
type Backend interface {
	// Run executes a request in a transaction of its own. Docs, if the answer has
	// them, are closed by the caller; the context must live until then. An error
	// with code StaleMap means that nothing was done. When the outcome of a write
	// cannot be known the code is 08007 or 40003.
	Run(ctx context.Context, req *Request) (docstore.Result, error)
	// Begin starts a transaction.
	Begin(ctx context.Context, o TxnOptions) (Transaction, error)
}

// TxnOptions of a transaction on a shard.
type TxnOptions struct {
	Isolation engine.Isolation
	ReadOnly  bool
}

// Transaction is one on a shard, used by one goroutine. Savepoints are numbered
// by their depth.
type Transaction interface {
	Run(ctx context.Context, req *Request) (docstore.Result, error)
	Savepoint(ctx context.Context, level int) error
	RollbackTo(ctx context.Context, level int) error
	Release(ctx context.Context, level int) error
	Commit(ctx context.Context) error
	// Rollback is idempotent.
	Rollback()
}

// EngineBackend is a shard whose engine is in this process and leads, as far as this
// node knows. What is read of another shard than shard 0 is confirmed first: it has
// everything that was acknowledged before, also if the shard is led elsewhere by now.
type EngineBackend struct {
	Engine engine.Engine
	// Home says that it is shard 0. DB is then the database of the collections;
	// other shards keep all in one.
	Home bool
	DB   sqltypes.OID
	// fresh, when not nil, waits until the state is as new as reads need it, in the
	// place of a confirmation.
	fresh func(ctx context.Context) error
}

var _ Backend = EngineBackend{}

func (b EngineBackend) database() sqltypes.OID {
	if b.DB != 0 {
		return b.DB
	}
	return catalog.PostgresDB
}

// Run implements Backend.
func (b EngineBackend) Run(ctx context.Context, req *Request) (docstore.Result, error) {
	writes, err := req.Writes()
	if err != nil {
		return docstore.Result{}, err
	}
	if !writes {
		if err := b.confirm(ctx); err != nil {
			return docstore.Result{}, err
		}
		v, err := b.Engine.View(ctx, b.database())
		if err != nil {
			return docstore.Result{}, err
		}
		defer v.Close() // streams hold snapshots of their own
		return Serve(ctx, b.Engine, &docstore.State{View: v, Now: req.Now}, b.Home, req)
	}
	for try := 0; ; try++ {
		res, err := b.write(ctx, req)
		// A descriptor was replaced under it: nothing has happened.
		if err == nil || try == maxStale || !errors.Is(err, engine.ErrStale) {
			return res, err
		}
	}
}

// maxStale bounds how often a write begins anew because of concurrent DDL.
const maxStale = 10

// confirm waits for the newest state of another shard; what sessions read of shard 0
// is as ostraka.read_consistency says.
func (b EngineBackend) confirm(ctx context.Context) error {
	switch {
	case b.Home:
		return nil
	case b.fresh != nil:
		return b.fresh(ctx)
	}
	return engine.Confirm(ctx, b.Engine)
}

func (b EngineBackend) write(ctx context.Context, req *Request) (docstore.Result, error) {
	t, err := b.begin(ctx, TxnOptions{})
	if err != nil {
		return docstore.Result{}, err
	}
	defer t.Rollback()
	res, err := t.Run(ctx, req)
	if err != nil {
		return docstore.Result{}, err
	}
	if res.Docs != nil { // before the transaction ends
		docs, err := docstore.ReadAll(res.Docs)
		if err != nil {
			return docstore.Result{}, err
		}
		res.Docs = docstore.Slice(docs)
	}
	return res, t.Commit(ctx)
}

// Begin implements Backend.
func (b EngineBackend) Begin(ctx context.Context, o TxnOptions) (Transaction, error) {
	return b.begin(ctx, o)
}

func (b EngineBackend) begin(ctx context.Context, o TxnOptions) (*engineTxn, error) {
	opts := engine.TxnOptions{Database: b.database(), Isolation: o.Isolation, ReadOnly: o.ReadOnly}
	tx, err := b.Engine.Begin(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &engineTxn{b: b, tx: tx, saves: map[int]engine.SavepointID{}}, nil
}

type engineTxn struct {
	b     EngineBackend
	tx    engine.Txn
	saves map[int]engine.SavepointID
}

func (t *engineTxn) Run(ctx context.Context, req *Request) (docstore.Result, error) {
	if err := t.b.confirm(ctx); err != nil { // before the statement takes its snapshot
		return docstore.Result{}, err
	}
	if err := t.tx.StartStatement(ctx); err != nil {
		return docstore.Result{}, err
	}
	st := &docstore.State{View: t.tx, Txn: t.tx, Now: req.Now, Owner: catalog.BootstrapRole}
	return Serve(ctx, t.b.Engine, st, t.b.Home, req)
}

func (t *engineTxn) Savepoint(_ context.Context, level int) error {
	t.saves[level] = t.tx.Savepoint()
	return nil
}

func (t *engineTxn) RollbackTo(_ context.Context, level int) error {
	return t.tx.RollbackTo(t.saves[level])
}

func (t *engineTxn) Release(_ context.Context, level int) error {
	t.tx.Release(t.saves[level])
	return nil
}

func (t *engineTxn) Commit(ctx context.Context) error {
	_, err := t.tx.Commit(ctx)
	if err != nil {
		t.tx.Rollback()
	}
	return unknownOutcome(err)
}

func (t *engineTxn) Rollback() { t.tx.Rollback() }

// unknownOutcome gives an outcome that nobody knows its SQLSTATE.
func unknownOutcome(err error) error {
	if err == nil || !errors.Is(err, commitlog.ErrAmbiguous) {
		return err
	}
	return pgerror.Wrap(err, pgerror.TransactionResolutionUnknown, "the outcome of the write is unknown").
		WithHint("It may or may not have been made; look before you repeat it.")
}
