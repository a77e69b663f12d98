package sqltypes

import "context"

// Volatility is pg_proc.provolatile.
type Volatility byte

const (
	Immutable Volatility = 'i'
	Stable    Volatility = 's'
	Volatile  Volatility = 'v'
)

// Proc is one function, procedure, aggregate or window function: a row of
// pg_proc plus its implementation. Built-in rows are facts of PostgreSQL 15
// (procs_gen.go); implementations register themselves by Src, the name of the
// internal C function ("int4pl"), from the table of their family, so that one
// implementation serves every row that shares it. A Proc without an
// implementation is known to the binder and refused by name (0A000) when called.
type Proc struct {
	OID        OID
	Name       string
	Namespace  OID
	Kind       byte // f function, p procedure, a aggregate, w window
	Strict     bool // NULL in, NULL out; the caller checks, Impl never sees NULL
	RetSet     bool
	Volatility Volatility
	ArgTypes   []OID // input arguments
	// AllArgTypes, ArgModes, ArgNames are nil when the row has none (all IN, unnamed).
	AllArgTypes []OID
	ArgModes    []byte // i, o, b, v, t
	ArgNames    []string
	NumDefaults int
	Defaults    []string // SQL text of the defaults, last NumDefaults arguments
	Variadic    OID      // element type of the VARIADIC argument, 0 if none
	RetType     OID
	Src         string
	Cost, Rows  float32
	Lang        OID  // 12 internal, 13 C, 14 SQL
	Parallel    byte // proparallel: s, r, u
	Leakproof   bool

	// Writes: calling it changes replicated state, so the statement runs on the
	// leader (nextval, setval, doc.insert …).
	Writes bool
	// Node: the result depends on the node it runs on (pg_backend_pid, raft_metrics);
	// such a call is never moved to another node.
	Node bool

	// Explain, when not nil, tells how a call with these arguments is executed, as
	// pairs of label and value, for EXPLAIN.
	Explain func(c *Call, args []Datum) ([][2]string, error)

	// NextBucket, of a function that floors its second argument to buckets of time,
	// is the start of the bucket after the one that args[1] is the start of.
	NextBucket ScalarFunc
	// Buckets, of such a function whose buckets are the same in all sessions, are
	// those that its arguments give.
	Buckets func(args []Datum) (Buckets, error)
	// ZoneBuckets, of such a function whose buckets are those of a zone's wall clock,
	// are those that its arguments give.
	ZoneBuckets func(args []Datum) (Buckets, error)
	// Rollup marks a condition on the time of a time-series table that its store
	// answers by itself: 's' the bucket is stored and up to date, 'r' it is not (the
	// arguments are the storage ids of the buckets' table and of the rows', and the
	// time), 'b' the time is in [first, second argument).
	Rollup byte
	// Gapfill, of a function that groups by buckets and adds those without rows, is
	// the one that computes a row's bucket, from the first of the same arguments.
	Gapfill *Proc
	// Fill is 'l' or 'i' for functions that say what goes into added buckets: the
	// last value, or what lies between the last and the next.
	Fill byte

	// Quick, when not nil, answers a call from the newest committed state if that
	// takes few reads: of a statement that is nothing but the call, without a snapshot.
	// It gives emit the rows of a set, or the one value. done is false when the call
	// must be made by Fn or Set; nothing has happened and been emitted then.
	Quick func(c *Call, args []Datum, emit func(row []Datum) error) (done bool, err error)

	Fn  ScalarFunc // Kind f
	Set SetFunc    // Kind f with RetSet
	Agg *Aggregate // Kind a: never nil; Agg.New is nil without an implementation
	// AggRow is the aggregate's row of pg_aggregate (nil for Ostraka's own).
	AggRow *AggregateRow
	// Kind w (row_number, lag …) is implemented in exec.

	key string // what implementations register under: Src or the signature
}

// Buckets are half-open spans of time of one length, counted from an origin: Months,
// or Width units of the time, which are µs since 2000-01-01 for timestamps.
type Buckets struct {
	Width, Months int64
	Origin        int64
	// Zone: by the wall clock of a time zone.
	Zone string `json:",omitempty"`
	// Step: they are made of whole buckets of this width from StepOrigin; 0: of times.
	Step       int64 `json:",omitempty"`
	StepOrigin int64 `json:",omitempty"`
}

// Call is one call site of a Proc while it runs. It is owned by one goroutine.
type Call struct {
	Env      *Env
	Proc     *Proc
	ArgTypes []ColumnType // actual types (polymorphic arguments resolved)
	RetType  ColumnType   // actual result type
	// Collation is the call's derived input collation (0 = default).
	Collation OID
	// RecordNames are the field names of arguments of type record (nil entries: f1,
	// f2 …), RetFields the column definition list of a function that returns record.
	RecordNames [][]string
	RetFields   []Field
	// VariadicArray: the last argument is the VARIADIC array itself (called with VARIADIC).
	VariadicArray bool
	// Sort is the ORDER BY of an ordered-set aggregate, one key for each
	// aggregated argument; hypothetical-set aggregates place their direct
	// arguments by it. Whoever runs the aggregate fills it.
	Sort []SortKey
	// Cache is for the implementation (a compiled pattern, say), kept between rows.
	Cache any
}

// SortKey is the direction of one ORDER BY key.
type SortKey struct{ Desc, NullsFirst bool }

// ScalarFunc computes one value. args is only valid during the call.
type ScalarFunc func(c *Call, args []Datum) (Datum, error)

// RowSource yields the rows of a set-returning function; the row is only valid until the next call.
type RowSource interface {
	Next() (row []Datum, ok bool, err error)
}

// SetFunc starts a set-returning function. A function that returns a scalar type yields rows of one column.
type SetFunc func(c *Call, args []Datum) (RowSource, error)

// Aggregate is the behaviour of an aggregate function.
type Aggregate struct {
	// New starts a group. For ordered-set aggregates Step sees the sorted
	// arguments and Final the direct ones.
	New          func(c *Call) AggState
	OrderedSet   bool // kind o or h of pg_aggregate
	NumDirect    int
	Hypothetical bool
	// SkipNull: rows in which an argument is NULL are not given to Step (a strict transition function).
	SkipNull bool
}

// AggState accumulates one group.
type AggState interface {
	Step(c *Call, args []Datum) error
	Final(c *Call, direct []Datum) (Datum, error)
}

// AggMerger is an AggState that takes in what the same aggregate has computed over
// other rows, in parts that exec's questions to other nodes and it agree on.
type AggMerger interface {
	Merge(c *Call, parts []Datum) error
}

// Env is what an evaluation needs from its session and statement. One goroutine uses it at a time.
type Env struct {
	Ctx context.Context
	Formats
	// StatementTime and TxnTime are µs since 2000-01-01 UTC.
	StatementTime, TxnTime int64
	Session                SessionEnv // nil in constant folding of immutable calls
}

// SessionEnv is the session as functions see it (implemented by the session; see pgfront).
type SessionEnv interface {
	// Clock is the wall clock, µs since 2000-01-01 UTC (clock_timestamp).
	Clock() int64
	// Random returns a float in [0,1); SetSeed as setseed().
	Random() float64
	SetSeed(seed float64)
	// Setting and SetSetting are current_setting and set_config.
	Setting(name string) (value string, ok bool)
	SetSetting(name, value string, local bool) error
	// Identity.
	CurrentUser() string
	SessionUser() string
	Database() string
	BackendPID() int32
	SearchPath(includeImplicit bool) []string
	// Notice sends a NOTICE or WARNING to the client.
	Notice(severity, sqlstate, message string)
	// Type finds a user-defined type; built-in ones are found without a session.
	Type(oid OID) *Type
	// Ext gives functions of higher layers what they need (catalogue, sequences,
	// cluster …); the layer that registers the function knows the concrete type.
	Ext() any
}
