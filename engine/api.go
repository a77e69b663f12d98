package engine

import (
	"context"
	"errors"
	"time"

	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// Isolation is a transaction's isolation level (READ UNCOMMITTED is READ COMMITTED).
type Isolation uint8

const (
	ReadCommitted Isolation = iota
	RepeatableRead
	Serializable
)

// TxnOptions start a transaction.
type TxnOptions struct {
	Database   sqltypes.OID
	Isolation  Isolation
	ReadOnly   bool
	Deferrable bool
	// Local: never leaves this node, only reads, works without leadership.
	Local bool
	// LockTimeout 0 waits for ever (until ctx ends or a deadlock is found).
	LockTimeout time.Duration
	// Async: Commit of node-local rows need not wait for the disk (synchronous_commit = off).
	Async bool
	// PID names the session in lock tables and deadlock details.
	PID int32
	// Sender is the process id that notifications carry: the one its client was told, on whichever node; 0: PID.
	Sender int32
}

// View is a consistent state to read from: a snapshot of the local replica, with
// a transaction's own writes merged over it if it belongs to one. A View is used
// by one goroutine at a time unless it says otherwise.
type View interface {
	// Catalog is the catalogue of exactly this state.
	Catalog() *catalog.Catalog
	// Position of the newest entry the state contains.
	Position() commitlog.Position

	// Get reads one row by a complete unique key of index ix (nil: the table's own
	// key). cols are attribute numbers; dst[i] receives cols[i]. The values of dst
	// stay valid. It also returns the row's reference.
	Get(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (ref RowRef, found bool, err error)

	// Scan starts a scan; the Scanner holds a snapshot of its own, so writes made
	// through the transaction after the call are not seen (statement semantics).
	Scan(ctx context.Context, spec ScanSpec) (Scanner, error)

	// EstimateBytes is the approximate size of a key range of the relation on disk.
	EstimateBytes(rel *catalog.Relation, ix *catalog.Index) int64

	// Close releases the snapshot.
	Close()
}

// RowRef names one version of a row: its primary storage key and its writer.
type RowRef struct {
	Key string
	Xid uint64 // xmin
	// Seq tells versions that the transaction itself wrote apart; 0 for committed rows.
	Seq uint32
}

// ErrNotLeader is wrapped by errors that say a transaction cannot begin, or go
// on, because this node does not lead the shard.
var ErrNotLeader = errors.New("engine: not the leader of the shard")

// ErrStale is wrapped by errors of writes and locks that were asked for with a
// descriptor which a concurrent DDL has replaced. Nothing was written; when the
// statement has had no effect yet, it can be planned again (after StartStatement).
// Towards the client such an error is a 40001.
var ErrStale = errors.New("engine: relation has changed")

// System columns that a scan can be asked for as negative attribute numbers
// (PostgreSQL's: ctid -1, xmin -2, cmin -3, xmax -4, cmax -5, tableoid -6).
const (
	AttrCtid     int16 = -1
	AttrXmin     int16 = -2
	AttrCmin     int16 = -3
	AttrXmax     int16 = -4
	AttrCmax     int16 = -5
	AttrTableOID int16 = -6
)

// ScanSpec says what to scan.
type ScanSpec struct {
	Rel   *catalog.Relation
	Index *catalog.Index // nil: the table in its own key order
	// Spans are ranges over the leading key columns, ascending and disjoint in key
	// order; nil scans everything.
	Spans   []Span
	Reverse bool
	// Cols are attribute numbers, the order of the output vectors.
	Cols []int16
	// Refs: the scanner also returns RowRefs.
	Refs bool
	// Own: writes that the running statement itself has made are seen too.
	Own bool
	// Conds hold for every row that the caller keeps; it tests them itself. A scanner
	// may use them to read less.
	Conds []Cond
	// KeyFilter, when set, is a condition on the columns that make up a time series
	// (catalog.TimeSeries.Tags, values in their order): rows of series for which it
	// is false are not wanted.
	KeyFilter func(tags []sqltypes.Datum) (bool, error)
	// Keep, when not nil, is asked about every row before it is decoded, with the
	// value of attribute KeepAttr (not NULL, of a variable-length type; valid during
	// the call only): rows for which it answers false are left out.
	Keep     func(val string) bool
	KeepAttr int16
	// Steady: the batches of a scan of the same rows are to be the same every time.
	Steady bool
	// Cluster: rows of a time-series table that other nodes have are wanted, too.
	Cluster bool
	// Partial, with Cluster: not by this scan, since they are asked for aggregates.
	Partial bool
	// RowHint: about how many rows the caller will take (0: all); small values
	// avoid read-ahead.
	RowHint int
}

// Cond is a condition on one attribute: Op is '=' (the value is one of Values, or
// NULL when Null is set), '<', '>', 'l' (at most) or 'g' (at least) Values[0]. The
// order is that of the type's default btree operators. Two more stand for all rows of
// a continuous aggregate's tables, given the storage ids of its buckets' table and of
// the raw rows' as Values, and are not tested by the caller: 's' the row's bucket is
// stored and up to date, 'r' it is not.
type Cond struct {
	Attr   int16
	Op     byte
	Values []sqltypes.Datum
	Null   bool
}

// Span is one range of index keys. Lo and Hi give values of leading key columns
// (in index column order, whatever its direction); nil is unbounded. An inclusive
// Hi with fewer columns than the key includes all keys with that prefix.
// A point is Lo == Hi, both inclusive. NULL values are legal and sort as the index says.
type Span struct {
	Lo, Hi       []sqltypes.Datum
	LoInc, HiInc bool
}

// Scanner yields batches. After Next returned n rows, b.Cols[i].(0..n-1) hold
// ScanSpec.Cols[i], b.Sel is nil and Refs()[0..n-1] the references, all valid
// until the next call of Next.
type Scanner interface {
	// Next returns 0 at the end.
	Next(b *expr.Batch) (n int, err error)
	Refs() []RowRef
	Close()
}

// FindsRow reports whether a scan finds any row, and ends it. It takes what Scan returns;
// ScanSpec.RowHint is to be 1.
func FindsRow(sc Scanner, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	defer sc.Close()
	var b expr.Batch
	n, err := sc.Next(&b)
	return n > 0, err
}

// PeerAggregator is a View that can have the other nodes of the cluster aggregate the
// rows that they have of a time-series table. A node that cannot be asked is an error.
type PeerAggregator interface {
	AggregatePeers(ctx context.Context, q PeerAggregate) ([]PeerRows, error)
}

// PeerAggregate is a question to other nodes, in SQL that means the same everywhere.
type PeerAggregate struct {
	Rel   *catalog.Relation
	Cols  []PeerColumn
	Keys  int    // the first of Cols are the GROUP BY
	Where string // "" none
	Zone  string // the time zone that matters; "" none
}

// PeerColumn is an expression and its type.
type PeerColumn struct {
	SQL  string
	Type sqltypes.OID
}

// PeerRows are the rows that one other node answers with.
type PeerRows interface {
	// Next gives the next row; false at the end. It is only valid until the next call,
	// its values for ever.
	Next() (row []sqltypes.Datum, ok bool, err error)
	Close()
}

// SeriesScanner is a Scanner of a time-series table that can hand out rows as the
// store has them, instead of batches.
type SeriesScanner interface {
	Scanner
	// NextRun is the next rows of one series, in ascending order of time; nil at the
	// end. They are valid until the next call. Columns are ScanSpec.Cols, which must
	// be the time or no tags.
	NextRun() (*SeriesRun, error)
	// HasRuns reports whether NextRun may be called, instead of Next.
	HasRuns() bool
}

// SeriesRun is rows of one series.
type SeriesRun struct {
	Tags []sqltypes.Datum // in key order
	// Same: of the series of the run before.
	Same bool
	Time []int64
	Cols []SeriesColumn
}

// SeriesColumn has one value per row, in the slice of its kind; all are NULL when
// none is set.
type SeriesColumn struct {
	I64  []int64
	F64  []float64
	Str  []string
	Null []bool // nil: none
}

// RowLock is a row-lock mode, weakest first (PostgreSQL: explicit locking).
type RowLock uint8

const (
	LockKeyShare RowLock = iota + 1
	LockShare
	LockNoKeyUpdate
	LockUpdate
)

// WaitPolicy of FOR UPDATE.
type WaitPolicy uint8

const (
	WaitBlock WaitPolicy = iota
	WaitSkip             // SKIP LOCKED
	WaitError            // NOWAIT: 55P03
)

// RelLock is a relation-lock mode, PostgreSQL's eight.
type RelLock uint8

const (
	AccessShare RelLock = iota + 1
	RowShare
	RowExclusive
	ShareUpdateExclusive
	Share
	ShareRowExclusive
	Exclusive
	AccessExclusive
)

// LockOutcome is what LockRow found after it had the lock.
type LockOutcome uint8

const (
	// Locked: the row is still the version of the reference.
	Locked LockOutcome = iota
	// Changed: a newer committed version exists; LockRow filled row and ref with
	// it and the lock is held: the caller re-evaluates its condition on it
	// (READ COMMITTED; other levels get 40001 from LockRow instead).
	Changed
	// Gone: the row was deleted meanwhile; no lock is held.
	Gone
	// Skipped: WaitSkip, someone else holds it.
	Skipped
	// OwnWrite: this transaction itself changed the row after the reference was
	// read (in the same statement: the second update of one row is ignored).
	OwnWrite
)

// WriteTarget is a table prepared for writing. Eval computes, for an index with
// expressions or a predicate, the key values of a row and whether the row
// belongs into the index; it is nil when the table has only plain indexes.
type WriteTarget struct {
	Rel  *catalog.Relation
	Eval func(ix *catalog.Index, row []sqltypes.Datum) (key []sqltypes.Datum, belongs bool, err error)
	// EvalMany computes, when it is not nil, all keys of a row in an index that has
	// any number of them (multikey): distinct, and the same for equal rows.
	EvalMany func(ix *catalog.Index, row []sqltypes.Datum) (keys [][]sqltypes.Datum, err error)
}

// Conflict tells which unique index a row to insert collided with.
type Conflict struct {
	Index *catalog.Index
	Ref   RowRef
	// Own: the conflicting row was written by this transaction in this command (21000 for DO UPDATE).
	Own bool
}

// Txn is a read-write (or snapshot-only) transaction on this node. It is used by
// one goroutine. Any error with class 40, and an error of Commit, means that the
// transaction is over. Statement atomicity is the caller's, by savepoints.
//
// Rows given and returned have one Datum per attribute of the relation, index =
// attribute number - 1, dropped attributes NULL.
type Txn interface {
	View

	Options() TxnOptions
	// Xid is the transaction's id, assigned at the first call.
	Xid(ctx context.Context) (uint64, error)
	// XidIfAssigned returns 0 before that.
	XidIfAssigned() uint64

	// SetToken gives the transaction a name, at most MaxToken bytes, under which its
	// outcome can be asked for. With once, it cannot commit if another one has
	// committed under the name (23505).
	SetToken(token string, once bool)

	// StartStatement begins a statement: READ COMMITTED takes a new snapshot.
	// Writes of earlier statements become visible to it.
	StartStatement(ctx context.Context) error
	// NestStatement begins a statement inside the running one (of a function that it
	// calls): it reads the same snapshot and what has been written so far. The
	// function returned ends it; the outer statement goes on seeing what it saw.
	NestStatement() (end func())
	// NestFresh is NestStatement for a function that is declared VOLATILE: at READ
	// COMMITTED its statement reads a new snapshot; the outer one keeps its own.
	NestFresh() (end func())

	// Insert checks unique indexes (waiting for concurrent inserters of the same
	// key) and writes row and index entries. With arbiters not nil a collision on
	// one of them (empty non-nil: on any) is returned as Conflict instead of 23505.
	Insert(ctx context.Context, t *WriteTarget, row []sqltypes.Datum, arbiters []*catalog.Index) (RowRef, *Conflict, error)
	// Update replaces the row; the caller holds the row lock (LockRow) and gives
	// the newest old row.
	Update(ctx context.Context, t *WriteTarget, ref RowRef, old, row []sqltypes.Datum) (RowRef, error)
	Delete(ctx context.Context, t *WriteTarget, ref RowRef, old []sqltypes.Datum) error
	// LockRow locks a row that a scan or Get returned and compares it with the
	// newest committed version. On Changed, *ref and row (len = attributes) are
	// overwritten with the newest version.
	LockRow(ctx context.Context, rel *catalog.Relation, ref *RowRef, mode RowLock, wait WaitPolicy, row []sqltypes.Datum) (LockOutcome, error)
	// LookupNewest locks the key of a unique index (present or absent) in the mode
	// and reads the newest committed row, or the own one: foreign-key checks.
	LookupNewest(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, mode RowLock, row []sqltypes.Datum) (RowRef, bool, error)
	// CountNewest locks a key of a unique index whose constraint is deferrable and
	// counts the rows of the newest state that have it, own writes included; it
	// stops at 2. NULLs count as distinct unless the index says otherwise: 0.
	CountNewest(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum) (int, error)
	// ScanNewest scans the newest committed state instead of the snapshot (with
	// own writes): referential actions see what committed after the snapshot.
	ScanNewest(ctx context.Context, spec ScanSpec) (Scanner, error)
	// LockRelation takes a relation lock until the end of the transaction.
	LockRelation(ctx context.Context, rel sqltypes.OID, mode RelLock, wait WaitPolicy) error
	// LockName makes creators of objects of one name take turns until the end of the
	// transaction: what the newest catalogue does not have then, nobody else can make.
	// Scope is what the name is unique in: a schema, NamesOfSchemas for those, or 0 for
	// what all databases share. A function's name is given with "()" behind it.
	LockName(ctx context.Context, scope sqltypes.OID, name string) error
	// AdvisoryXactLock and friends are in the engine's session locks.

	// Savepoints nest; RollbackTo keeps the savepoint. Row locks taken after it are released.
	Savepoint() SavepointID
	RollbackTo(id SavepointID) error
	Release(id SavepointID)

	// Catalogue changes; visible to this transaction's later statements at once.
	Schema() CatalogWriter

	// Sequences. NextVal is not undone by rollback.
	NextVal(ctx context.Context, seq *catalog.Relation) (int64, error)
	SetVal(ctx context.Context, seq *catalog.Relation, value int64, isCalled bool) error
	SequenceState(seq *catalog.Relation) (last int64, isCalled bool, err error)

	// Notify queues a notification, sent to listeners of every node at commit;
	// identical ones within a transaction are sent once.
	Notify(channel, payload string) error

	// AppendFeed adds to the feed of a relation; it is readable once the transaction
	// has committed, at the place of its commit.
	AppendFeed(ctx context.Context, rel *catalog.Relation, val []byte) error
	// TrimFeed removes at commit what was before a place already; DropFeed removes all,
	// with what the transaction itself has added.
	TrimFeed(rel *catalog.Relation, before FeedPos)
	DropFeed(rel *catalog.Relation)

	// BulkLoad tells that many rows follow: effects may spill and be staged.
	BulkLoad()
	// MemoryUsed is the size of the write buffer in bytes.
	MemoryUsed() int64

	// Commit makes the transaction durable and applied locally. A transaction
	// without effects returns the snapshot's position at once. Errors: 40001
	// (serialization, lost leadership before the proposal), 40003 (outcome
	// unknown), 53100, 54000 (too large), 25006.
	Commit(ctx context.Context) (commitlog.Position, error)
	// Rollback is idempotent and never fails.
	Rollback()
}

// MaxToken bounds the name of a transaction, bytes.
const MaxToken = 128

// TxnStatus is the outcome of a transaction.
type TxnStatus uint8

const (
	// TxnUnknown: too old, or from before outcomes were recorded; a name under which
	// nothing has committed.
	TxnUnknown TxnStatus = iota
	TxnInProgress
	TxnCommitted
	TxnAborted
)

func (s TxnStatus) String() string {
	return [...]string{"unknown", "in progress", "committed", "aborted"}[s]
}

// SavepointID is a mark in a transaction's write buffer.
type SavepointID int

// CatalogWriter changes descriptors inside a transaction. Put inserts or replaces
// by OID; the descriptor must not be changed by the caller afterwards.
type CatalogWriter interface {
	NewOID(ctx context.Context) (sqltypes.OID, error)
	NewStorageID(ctx context.Context) (uint64, error)

	PutSchema(*catalog.Schema)
	DropSchema(oid sqltypes.OID)
	PutRelation(*catalog.Relation)
	DropRelation(oid sqltypes.OID)
	PutType(*catalog.UserType)
	DropType(oid sqltypes.OID)
	PutFunction(*catalog.Function)
	DropFunction(oid sqltypes.OID)
	PutOperator(*catalog.Operator)
	DropOperator(oid sqltypes.OID)
	PutCast(*catalog.Cast)
	DropCast(oid sqltypes.OID)
	PutPublication(*catalog.Publication)
	DropPublication(oid sqltypes.OID)
	PutSubscription(*catalog.Subscription)
	DropSubscription(oid sqltypes.OID)
	PutRole(*catalog.Role)
	DropRole(oid sqltypes.OID)
	PutDatabase(*catalog.Database)
	DropDatabase(oid sqltypes.OID)
	// CopyDatabase makes the new database's catalogue and rows a copy of template's.
	CopyDatabase(ctx context.Context, template, db sqltypes.OID) error
	PutDefaultACL(*catalog.DefaultACL)
	PutStats(*catalog.TableStats)
	// PutShards and PutOwned replace the descriptors of sharding, which belong to no database.
	PutShards(*catalog.Shards)
	PutOwned(*catalog.Owned)

	// DeleteStorage range-deletes the rows or index entries under a storage id at commit.
	DeleteStorage(storageID uint64)
	// BuildIndex fills ix (already put into the relation, Ready false or true) from
	// the rows visible to the newest state, checking uniqueness (23505).
	BuildIndex(ctx context.Context, t *WriteTarget, ix *catalog.Index) error
}

// NamesOfSchemas is the scope of schemas' names in Txn.LockName: the OID of pg_namespace.
const NamesOfSchemas sqltypes.OID = 2615

// Engine is one shard's store on this node.
type Engine interface {
	// Begin starts a transaction. A non-Local one needs leadership: else 25006 or
	// an error that wraps ErrNotLeader.
	Begin(ctx context.Context, opts TxnOptions) (Txn, error)
	// View opens a read-only snapshot of the newest applied local state.
	View(ctx context.Context, db sqltypes.OID) (View, error)
	// Catalog is the newest applied catalogue of a database (a pointer load), nil if there is no such database.
	Catalog(db sqltypes.OID) *catalog.Catalog
	// GetNewest reads one row of the newest applied local state without opening a
	// snapshot: the point-read path. cat must be the catalogue that the plan was
	// made with; stale is true, and nothing read, when a newer one is current.
	GetNewest(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (found, stale bool, err error)
	// ReadNewest lets read look at a few rows of the newest applied local state. What
	// it has seen counts only if stale is false: else a newer catalogue than cat is current.
	ReadNewest(ctx context.Context, cat *catalog.Catalog, read func(r NewestReader) error) (stale bool, err error)

	// ReadFeed calls f for what a relation's feed has behind a place, in order, until it
	// answers false or the end of the newest applied local state; val is valid during
	// the call only. The place of the first addition of all is told even if f is nil.
	ReadFeed(ctx context.Context, rel *catalog.Relation, after FeedPos, f func(pos FeedPos, val []byte) (more bool, err error)) (Feed, error)

	// Applied is the newest applied position; WaitApplied blocks until it is reached.
	Applied() commitlog.Position
	WaitApplied(ctx context.Context, pos commitlog.Position) error
	// WaitFresh blocks until the applied state has everything that was acknowledged,
	// on any node, more than max before the call.
	WaitFresh(ctx context.Context, max time.Duration) error
	Log() commitlog.Log

	// TransactionStatus tells what became of a transaction, TokenStatus of the one with
	// a name. Only the leader can (ErrNotLeader otherwise), and only while a majority
	// confirms that it leads: the answer then is final unless it is TxnInProgress.
	TransactionStatus(ctx context.Context, xid uint64) (TxnStatus, error)
	TokenStatus(ctx context.Context, token string) (xid uint64, st TxnStatus, err error)

	// Listen registers a receiver for NOTIFY; it must not block.
	Listen(db sqltypes.OID, recv func(n Notification)) (cancel func())
	// Notified returns when the notifications of all that Applied says have been received.
	Notified()

	// Locks describes held and awaited locks (pg_locks).
	Locks() []LockInfo

	// Session-level advisory locks.
	AdvisoryLock(ctx context.Context, s AdvisoryOwner, key AdvisoryKey, exclusive, wait bool) (bool, error)
	AdvisoryUnlock(ctx context.Context, s AdvisoryOwner, key AdvisoryKey, exclusive bool) (bool, error)
	AdvisoryUnlockAll(ctx context.Context, s AdvisoryOwner) error
}

// Notification is one NOTIFY delivered at apply.
type Notification struct {
	Database sqltypes.OID
	Channel  string
	Payload  string
	PID      int32
}

// AdvisoryKey is an advisory lock's key: one int8 or two int4.
type AdvisoryKey struct {
	Database sqltypes.OID
	Hi, Lo   uint32
	TwoInts  bool
}

// AdvisoryOwner is the session (or, with Xact, the transaction) that holds an advisory lock.
type AdvisoryOwner struct {
	Node string
	PID  int32
	Txn  Txn // not nil: released at its end
}

// LockInfo is one row of pg_locks.
type LockInfo struct {
	Type     string // relation, tuple, transactionid, advisory
	Database sqltypes.OID
	Relation sqltypes.OID
	Advisory AdvisoryKey // of type advisory
	Key      string
	Mode     string
	Granted  bool
	PID      int32
	Xid      uint64
	Since    time.Time
}
