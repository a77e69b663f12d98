package tsdb

import (
	"context"
	"log/slog"
	"sync"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/store"
)

// DB is a node's time series together with the engine that has their descriptors.
type DB struct {
	inner  engine.Engine
	st     *store.Store
	log    *slog.Logger
	locks  *tableLocks
	maxTxn int64
	opt    Options

	marks marksTable

	mu   sync.Mutex
	rels map[*catalog.Relation]*Relation // descriptors are immutable; guarded by mu
}

// Options of a DB.
type Options struct {
	Logger *slog.Logger
	// MaxTransaction bounds what one transaction writes, in bytes of the log; 256 MiB.
	MaxTransaction int64
	// Elsewhere reports that other nodes may have rows, too; nil: there are none.
	Elsewhere func() bool
	// Holders names the other nodes that have rows of a table, by its storage id, as
	// far as is known; nil: none.
	Holders func(storage uint64) []string
	// Remotes begins a scan on every other node; a node that cannot be asked is an
	// error. Nil: there are no others.
	Remotes func(ctx context.Context, q RemoteScan) ([]engine.PeerRows, error)
	// Node is the name of this node, for messages.
	Node string
	// Refused, if not nil, is asked before every commit; its error is the commit's.
	Refused func() error
}

// New joins a store to an engine.
func New(inner engine.Engine, st *store.Store, opt Options) *DB {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.MaxTransaction <= 0 {
		opt.MaxTransaction = 256 << 20
	}
	if opt.Refused == nil {
		opt.Refused = func() error { return nil }
	}
	db := &DB{inner: inner, st: st, log: opt.Logger, locks: newTableLocks(), maxTxn: opt.MaxTransaction, opt: opt, rels: map[*catalog.Relation]*Relation{}}
	db.loadMarks()
	return db
}

// Store is the store of the rows.
func (db *DB) Store() *store.Store { return db.st }

// Where is the name of this node, and whether others may have rows, too.
func (db *DB) Where() (node string, elsewhere bool) {
	return db.opt.Node, db.opt.Elsewhere != nil && db.opt.Elsewhere()
}

const maxRelations = 1000

// Relation maps a time-series relation to the store's table; its table is nil as
// long as nobody has written to it on this node.
func (db *DB) Relation(rel *catalog.Relation) (*Relation, *store.Table, error) {
	db.mu.Lock()
	r := db.rels[rel]
	db.mu.Unlock()
	if r == nil {
		var err error
		if r, err = relation(rel); err != nil {
			return nil, nil, err
		}
		db.mu.Lock()
		if len(db.rels) >= maxRelations {
			clear(db.rels)
		}
		db.rels[rel] = r
		db.mu.Unlock()
	}
	return r, db.st.Table(rel.StorageID), nil
}

// Define is Relation with the table made, and given the relation's fields, when it
// is not there.
func (db *DB) Define(rel *catalog.Relation) (*Relation, *store.Table, error) {
	r, t, err := db.Relation(rel)
	if err != nil || t != nil && len(t.Fields()) >= len(r.spec.Fields) {
		return r, t, err
	}
	t, err = db.st.Define(r.spec)
	return r, t, err
}

// LatestXid is the shard's.
func (e tsEngine) LatestXid() uint64 {
	l, ok := e.Engine.(interface{ LatestXid() uint64 })
	if !ok {
		return 2
	}
	return l.LatestXid()
}

// Engine is the shard's engine with time-series relations in it.
func (db *DB) Engine() engine.Engine { return tsEngine{db.inner, db} }

type tsEngine struct {
	engine.Engine
	db *DB
}

func (e tsEngine) Begin(ctx context.Context, opts engine.TxnOptions) (engine.Txn, error) {
	tx, err := e.Engine.Begin(ctx, opts)
	if err != nil {
		return nil, err
	}
	t := &txn{Txn: tx, db: e.db, opts: opts}
	t.reader = reader{db: e.db, txn: t, database: opts.Database}
	return t, nil
}

func (e tsEngine) AdvisoryLock(ctx context.Context, who engine.AdvisoryOwner, key engine.AdvisoryKey, exclusive, wait bool) (bool, error) {
	if t, ok := who.Txn.(*txn); ok {
		who.Txn = t.Txn
	}
	return e.Engine.AdvisoryLock(ctx, who, key, exclusive, wait)
}

func (e tsEngine) View(ctx context.Context, db sqltypes.OID) (engine.View, error) {
	v, err := e.Engine.View(ctx, db)
	if err != nil {
		return nil, err
	}
	return &view{View: v, reader: reader{db: e.db, database: db}}, nil
}

// view is a View that also reads time series.
type view struct {
	engine.View
	reader
}

func (v *view) Scan(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	if !spec.Rel.TimeSeries {
		return v.View.Scan(ctx, spec)
	}
	return v.reader.scan(ctx, spec)
}

func (v *view) Get(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (engine.RowRef, bool, error) {
	if !rel.TimeSeries {
		return v.View.Get(ctx, rel, ix, key, cols, dst)
	}
	return v.reader.get(ctx, rel, key, cols, dst)
}

func (v *view) EstimateBytes(rel *catalog.Relation, ix *catalog.Index) int64 {
	if !rel.TimeSeries {
		return v.View.EstimateBytes(rel, ix)
	}
	return v.db.estimate(rel)
}

// SequenceState is the engine's view's: SELECT … FROM a sequence asks for it.
func (v *view) SequenceState(rel *catalog.Relation) (last int64, isCalled bool, err error) {
	s, ok := v.View.(interface {
		SequenceState(rel *catalog.Relation) (int64, bool, error)
	})
	if !ok {
		return 0, false, pgerror.NotSupported("reading sequence %q here", rel.Name)
	}
	return s.SequenceState(rel)
}

func (v *view) Close() {
	v.reader.close()
	v.View.Close()
}

// estimate is about how many bytes the table's rows would take in a row store:
// what the optimiser makes row counts of.
func (db *DB) estimate(rel *catalog.Relation) int64 {
	t := db.st.Table(rel.StorageID)
	if t == nil {
		return 0
	}
	return db.st.EstimateRows(t) * int64(24+12*len(rel.Columns))
}
