package session

import (
	"context"
	"log/slog"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/commitlog"
	"ostraka/exec"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/cache"
	"ostraka/sqltypes"
)

// Deps is what a session is built on. Engine, Planner, Exec and Registry are required.
type Deps struct {
	Engine    engine.Engine
	Planner   Planner
	Exec      Executor
	Utility   Utility // nil: DDL is refused
	Explainer Explainer
	Copier    Copier // nil: COPY FROM goes through a planned INSERT
	// Cache keeps plans of the simple protocol's statements, made by Optimize; nil:
	// every one is parsed and planned. Both are shared by all sessions.
	Cache     *cache.Cache
	Optimize  cache.Planner
	Forwarder Forwarder // nil: this node always executes itself
	// Member says why the replica gets no changes any more, nil while it does; a nil
	// Member: it always does. It is called for every read and must be cheap.
	Member    func() error
	Relations planner.Relations
	Registry  *Registry
	Logger    *slog.Logger
	// Now is the wall clock.
	Now func() time.Time
	// Started is when the server started (pg_postmaster_start_time); zero: not known.
	Started time.Time
	// Settings are the server's own parameters, by name, in the form of pg_settings.setting:
	// port, work_mem … They are every session's defaults.
	Settings map[string]string
	// Shard is the id of the shard that the session works on; 0: the home shard.
	Shard int32
	// NodeName names this node in advisory locks.
	NodeName string
	// Node is the handle of the process for functions that its owner registers.
	Node   any
	Limits Limits
}

// Limits bound a session. Zero values mean the defaults named here.
type Limits struct {
	// MaxMessage is the longest client message in bytes: 256 MiB.
	MaxMessage int
	// SpoolMemory is what a cursor's rows may take in memory before they go to a file: 4 MiB.
	SpoolMemory int
	// TempDir holds spool files; "" is the system's.
	TempDir string
}

func (l *Limits) defaults() {
	if l.MaxMessage <= 0 {
		l.MaxMessage = 256 << 20
	}
	if l.SpoolMemory <= 0 {
		l.SpoolMemory = 4 << 20
	}
}

// Planner parses and plans.
type Planner interface {
	// Parse splits a query string into statements (tags filled in, classes not).
	Parse(sql string) ([]*planner.Statement, error)
	// Classify decides where a statement may run.
	Classify(pc *planner.Context, stmt *planner.Statement, prepared func(name string) (planner.Class, bool)) planner.Class
	// TypeName resolves a type's name.
	TypeName(pc *planner.Context, name *pg.TypeName) (sqltypes.ColumnType, error)
	// Compile binds and optimises a statement with stmt.Planned.
	Compile(pc *planner.Context, stmt *planner.Statement) (*planner.Plan, error)
}

// Run is what an execution reads and writes: exactly one of Txn and View is the
// source; View is Txn when there is one.
type Run struct {
	View engine.View
	Txn  engine.Txn // nil: reads only
	Env  *sqltypes.Env
	// Deferred is the transaction's queue of deferred checks, nil without Txn.
	Deferred *exec.Deferred
	// Instrument: EXPLAIN ANALYZE wants to know what each node did.
	Instrument bool
	WorkMem    int64 // bytes
	TempDir    string
}

// Executor runs plans.
type Executor interface {
	// Start begins an execution; plan.Params are coerced values in args.
	Start(ctx context.Context, run *Run, plan *planner.Plan, args []sqltypes.Datum) (Execution, error)
	// Point answers a plan with plan.Point.Kind 's' from the newest applied state
	// without a snapshot: out receives the output columns. stale: the catalogue
	// moved on, nothing was read and the caller plans again.
	Point(ctx context.Context, eng engine.Engine, plan *planner.Plan, env *sqltypes.Env, args, out []sqltypes.Datum) (found, stale bool, err error)
	// Call answers a plan whose Call is not nil by the function's short way, if it can.
	Call(plan *planner.Plan, env *sqltypes.Env, args []sqltypes.Datum, emit func(row []sqltypes.Datum) error) (done bool, err error)
}

// DeferredRunner is implemented by an Executor that queues deferred checks (in
// Run.Deferred): it makes those that are due, all of them with commit.
type DeferredRunner interface {
	RunDeferred(ctx context.Context, run *Run, commit bool) error
}

// Execution is a plan that runs.
type Execution interface {
	// Next fills b and returns the number of its physical rows, 0 at the end.
	// What b refers to is valid until the next call.
	Next(b *expr.Batch) (int, error)
	// Affected is the number of rows that DML inserted, changed or deleted, valid at the end.
	Affected() int64
	Close()
}

// Result is what a utility statement answers.
type Result struct {
	Tag     string // command tag
	Columns []planner.Column
	Rows    [][]sqltypes.Datum
}

// Utility executes statements that change the catalogue. The transaction has
// been started, with a fresh statement; atomicity is the caller's.
type Utility interface {
	Run(ctx context.Context, s *Session, stmt *planner.Statement) (*Result, error)
	// BeforeCommit does what temporary tables do at COMMIT (ON COMMIT DROP, DELETE
	// ROWS), in the transaction. It is called in sessions that have said NoteOnCommit.
	BeforeCommit(ctx context.Context, s *Session) error
}

// Explainer prints plans.
type Explainer interface {
	// Explain returns the lines of EXPLAIN's answer. With analyze the execution has run to its end.
	Explain(pc *planner.Context, plan *planner.Plan, exec Execution, opts ExplainOptions) ([]string, error)
}

// ExplainOptions are EXPLAIN's; times are in milliseconds.
type ExplainOptions struct {
	Analyze, Verbose, Costs, Settings, Buffers, WAL, Timing, Summary bool
	Format                                                           string // text, json, xml, yaml
	PlanningTime, ExecutionTime                                      float64
}

// Copier makes the writing side of COPY FROM.
type Copier interface {
	// StartCopy prepares inserting rows into a table: one value per entry of attrs.
	// Defaults of the other columns are the copier's affair.
	StartCopy(ctx context.Context, pc *planner.Context, run *Run, target CopyTarget) (CopySink, error)
}

// CopyTarget is COPY FROM's table and columns.
type CopyTarget struct {
	Relation sqltypes.OID
	Attrs    []int16 // attribute numbers, in the order of the input
	// Where is the WHERE clause's syntax tree (a *pg.Node), nil if there is none.
	Where any
}

// CopySink takes rows. Row values are valid during the call only.
type CopySink interface {
	Row(ctx context.Context, row []sqltypes.Datum) error
	// Finish writes what is buffered and returns the number of rows inserted.
	Finish(ctx context.Context) (int64, error)
	Close()
}

// Forwarder opens sessions on the node that leads the shard. Safe for concurrent use.
//
// A forwarded statement goes as the client's own messages, unbound; its answer
// comes back as the server's own frames and is relayed byte for byte, except what
// the session answers itself (ReadyForQuery, ParameterStatus, BackendKeyData).
type Forwarder interface {
	// Open returns a session on the leader for this identity. Nothing has been
	// executed when it fails: the statement may be tried again. Errors carry
	// their SQLSTATE (57P03, 08006, 25006 when there is no leader).
	Open(ctx context.Context, id Identity) (Upstream, error)
}

// Identity is who a forwarded session acts for. Only a peer may assert it.
type Identity struct {
	SessionUser, Role, Database, Application string
	PID                                      int32
	Node                                     string
}

// Upstream is a session on another node. It is used by one goroutine, but Cancel
// may be called from any.
type Upstream interface {
	// Send writes one front-end message (its type and body, without the length) into the
	// connection's buffer; Flush sends the buffer.
	Send(kind byte, body []byte) error
	Flush() error
	// Receive returns the next frame; body is valid until the next call. When ctx
	// ends the upstream statement is cancelled and the answer still awaited.
	Receive(ctx context.Context) (kind byte, body []byte, err error)
	// Cancel asks the other node to cancel what runs.
	Cancel()
	// Position is the newest position that the other node reported for this
	// session's writes: the session reads its own writes after waiting for it.
	Position() commitlog.Position
	// Transaction names what the other node executes now, as that node will record it
	// with the commit (see engine.Txn.SetToken).
	Transaction() string
	// State is what only the other session has: letters of stateTemp and its like.
	State() string
	// Stale reports, without waiting, that the connection is broken or that its
	// node no longer leads.
	Stale() bool
	// Moved reports that its node no longer leads in the term in which the session was
	// opened. Safe from any goroutine.
	Moved() bool
	// Close ends the upstream session (its transaction is rolled back).
	Close()
}
