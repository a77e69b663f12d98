package catalog

import (
	"ostraka/sqltypes"
)

// OID is short for sqltypes.OID.
type OID = sqltypes.OID

// RelKind is pg_class.relkind.
type RelKind byte

const (
	KindTable     RelKind = 'r'
	KindIndex     RelKind = 'i'
	KindSequence  RelKind = 'S'
	KindView      RelKind = 'v'
	KindMatView   RelKind = 'm'
	KindComposite RelKind = 'c'
	// KindPartitioned is a partitioned table: its rows are in its partitions.
	KindPartitioned RelKind = 'p'
	KindVirtual     RelKind = 'V' // served by a provider: pg_catalog, information_schema, ostraka.*
	// KindCollection is a collection of documents: columns key and doc, reached
	// through the doc functions only.
	KindCollection RelKind = 'D'
)

// Relation is a table, view, sequence, materialised view or composite type.
// Descriptors are immutable once in a Catalog: DDL puts a changed copy.
type Relation struct {
	OID         OID
	Name        string
	Schema      OID
	Kind        RelKind
	Persistence byte // p permanent, t temporary, u unlogged
	// OnCommit is what a temporary table does at COMMIT: 0 keeps its rows, 'd' is dropped, 'r' loses its rows.
	OnCommit byte `json:",omitempty"`
	Owner    OID
	ACL      []ACLItem
	RowType  OID // pg_type row of its row type
	OfType   OID `json:",omitempty"` // the composite type of a typed table
	Comment  string
	Options  []string // reloptions, "name=value"

	Columns     []*Column // by attribute number - 1; dropped ones stay, marked
	Checks      []*Check
	ForeignKeys []*ForeignKey
	Indexes     []*Index // of this table, primary key first

	// StorageID is the key prefix of the rows (TRUNCATE and rewrites change it);
	// RowFormat counts the changes to the columns' physical layout, Layouts[v]
	// says which attributes a row written under version v has (see docs/formats/rows.md).
	StorageID uint64
	Layouts   []Layout

	ViewDef     string // view, matview: the SELECT's text, deparsed and fully qualified
	ViewOptions ViewOptions
	Populated   bool // matview
	Sequence    *Sequence
	// TimeSeries: rows live in this node's tsdb, not in the shard.
	TimeSeries bool
	TS         *TimeSeries `json:",omitempty"` // how; set when TimeSeries is
	// Rollup: this view is a continuous aggregate; ViewDef is its query over the raw rows.
	Rollup *Rollup `json:",omitempty"`
	// ReplicaIdentity is relreplident: 0 the primary key, i an index, f all columns, n nothing.
	ReplicaIdentity byte `json:",omitempty"`

	// Triggers are the user's, in order of their names.
	Triggers []*Trigger `json:",omitempty"`
	// Statistics are the extended statistics (CREATE STATISTICS), in order of creation.
	Statistics []*Statistic `json:",omitempty"`
	// Policies are the row-level security policies, in order of their names. They
	// count while RowSecurity is on; ForceRowSecurity: for the owner too.
	Policies         []*Policy `json:",omitempty"`
	RowSecurity      bool      `json:",omitempty"`
	ForceRowSecurity bool      `json:",omitempty"`

	// Parents are the tables that it inherits from, in order; a partition has one.
	Parents []OID `json:",omitempty"`
	// Partitioning is how the rows of a partitioned table are spread, nil for others.
	Partitioning *Partitioning `json:",omitempty"`
	// Bound is which rows of its parent a partition has, nil for others.
	Bound *PartitionBound `json:",omitempty"`

	phys *physical // what the store derived from the descriptor; see Physical
}

// Trigger is a user's trigger on a table or view (pg_trigger).
type Trigger struct {
	OID  OID
	Name string
	Func OID
	// Timing is b BEFORE, a AFTER or i INSTEAD OF; Row: FOR EACH ROW.
	Timing byte
	Row    bool
	// Insert, Update, Delete and Truncate are the events.
	Insert, Update, Delete, Truncate bool
	// Columns are the attributes of UPDATE OF; none: all.
	Columns []int16  `json:",omitempty"`
	Args    []string `json:",omitempty"`
	// When is the condition's SQL text over OLD and NEW, "" none.
	When string `json:",omitempty"`
	// Enabled is tgenabled: O, D, R or A.
	Enabled byte
	// Parent is the trigger of the partitioned table that this one is the clone of.
	Parent OID `json:",omitempty"`
	// Constraint, Deferrable and Deferred are CREATE CONSTRAINT TRIGGER's.
	Constraint, Deferrable, Deferred bool
	// OldTable and NewTable name the transition tables, "" none.
	OldTable, NewTable string `json:",omitempty"`
	// From is the other table of a constraint trigger (FROM), 0 none.
	From    OID    `json:",omitempty"`
	Comment string `json:",omitempty"`
}

// Statistic is an object of CREATE STATISTICS (pg_statistic_ext): kept and shown.
type Statistic struct {
	OID     OID
	Name    string
	Schema  OID
	Owner   OID
	Kinds   string // of d, f, m, e
	Columns []int16
	Exprs   []string `json:",omitempty"` // SQL text
	Target  int      // -1: the default
	Comment string   `json:",omitempty"`
}

// Policy is a row-level security policy (pg_policy).
type Policy struct {
	OID  OID
	Name string
	// Command is polcmd: r, a, w, d or * for all.
	Command     byte
	Restrictive bool
	Roles       []OID // whom it is for; 0 is PUBLIC
	// Using and Check are queries SELECT condition FROM the table, so that names in
	// them are kept as those in views are; "" none.
	Using, Check string `json:",omitempty"`
	Comment      string `json:",omitempty"`
}

type ViewOptions struct {
	CheckOption     byte // 0 none, l local, c cascaded
	SecurityBarrier bool
	SecurityInvoker bool // the privileges of who reads count, not the owner's
}

// Layout lists attribute numbers in physical order and, for each, the class of
// its physical form (layout.go). The engine keeps Layouts: what a caller of
// PutRelation puts there is not looked at.
type Layout struct {
	Attrs   []int16
	Classes []byte
}

// Column is an attribute (pg_attribute).
type Column struct {
	Num        int16 // attribute number, from 1
	Name       string
	Type       sqltypes.ColumnType
	NotNull    bool
	Dropped    bool
	HasDefault bool
	Default    string // SQL text of the default or generation expression
	Identity   byte   // 0, a always, d by default
	Generated  byte   // 0, s stored
	// Missing is the value that rows written before the column was added have, when HasMissing.
	HasMissing    bool
	Missing       sqltypes.Datum
	Storage       byte // 0: the type's; shown only
	Compression   byte `json:",omitempty"` // p, l, 0 the default; shown only
	StatTarget    int
	Options       []string `json:",omitempty"` // attoptions, "name=value"
	Comment       string
	ACL           []ACLItem
	OwnedSequence OID // serial, identity
	// Inherited counts the direct parents that have the column (attinhcount);
	// NotLocal: it is there only because they have (attislocal is false).
	Inherited int  `json:",omitempty"`
	NotLocal  bool `json:",omitempty"`
}

// Index is a secondary index or the primary key. The primary key has no key
// range of its own: the table is clustered by it (StorageID 0), unless it was
// added later to a table with hidden row ids (then it is an ordinary unique index).
type Index struct {
	OID                           OID
	Name                          string
	Schema                        OID
	Owner                         OID
	Method                        string // access method; only btree and hash have entries, see Stored
	Unique                        bool
	Primary                       bool
	Clustered                     bool // the table's own key
	NullsNotDistinct              bool
	Keys                          []IndexKey
	Include                       []int16 // attribute numbers
	Predicate                     string  // partial index: SQL text, "" none
	StorageID                     uint64
	Ready                         bool   // false while it is built: writers maintain it, readers do not use it
	Constraint                    string // name of the PRIMARY KEY / UNIQUE constraint it serves, "" none
	ConstraintOID                 OID
	Deferrable, InitiallyDeferred bool
	Options                       []string
	Comment                       string
	ConstraintComment             string
	ClusterOn                     bool // CLUSTER … USING it: shown, rows are where the table's key puts them
	ReplicaIdentity               bool
	// Parent is the index of the partitioned table that this one is part of.
	Parent OID `json:",omitempty"`
	// Invalid: an index of a partitioned table that not all partitions have part in.
	Invalid bool `json:",omitempty"`
}

// Stored reports whether the index has entries. Indexes of the other access
// methods are known to the catalogue and searched by nobody.
func (ix *Index) Stored() bool {
	return ix.Method == "" || ix.Method == "btree" || ix.Method == "hash"
}

// UniqueAtOnce reports whether no two rows have the same key at any time: the
// index is unique and its constraint cannot wait for the end of a statement or
// transaction.
func (ix *Index) UniqueAtOnce() bool { return (ix.Unique || ix.Primary) && !ix.Deferrable }

type IndexKey struct {
	Attr       int16  // 0: expression
	Name       string `json:",omitempty"` // of an expression's column; "": see IndexColumnNames
	Expr       string // SQL text
	Type       sqltypes.ColumnType
	Desc       bool
	NullsFirst bool
	OpClass    OID
	StatTarget int // of an expression, + 1; 0: the default
}

// Check is a CHECK constraint.
type Check struct {
	OID       OID
	Name      string
	Expr      string // SQL text, deparsed
	Attrs     []int16
	NotValid  bool
	NoInherit bool
	Comment   string
	// Inherited and NotLocal are as a Column's.
	Inherited int  `json:",omitempty"`
	NotLocal  bool `json:",omitempty"`
}

// ForeignKey is a foreign key of the relation that holds it.
type ForeignKey struct {
	OID                           OID
	Name                          string
	Attrs                         []int16
	RefTable                      OID
	RefAttrs                      []int16
	RefIndex                      OID
	OnUpdate, OnDelete            byte    // a no action, r restrict, c cascade, n set null, d set default
	SetAttrs                      []int16 // ON DELETE SET NULL (columns)
	Match                         byte    // s simple, f full
	Deferrable, InitiallyDeferred bool
	NotValid                      bool
	Comment                       string
	// Parent is the foreign key of the partitioned table that this one is the clone of.
	Parent OID `json:",omitempty"`
}

// Sequence is the definition of a sequence (pg_sequence); its value is in the state.
type Sequence struct {
	Type                              OID
	Start, Increment, Min, Max, Cache int64
	Cycle                             bool
	OwnerTable                        OID // OWNED BY; 0 none
	OwnerAttr                         int16
	// Internal: an identity column's sequence (dependency type i).
	Internal  bool
	StorageID uint64 // RESTART and TRUNCATE … RESTART IDENTITY change it
}

// Schema is a namespace.
type Schema struct {
	OID     OID
	Name    string
	Owner   OID
	ACL     []ACLItem
	Comment string
}

// UserType is an enum, domain, composite, range or shell type of the user; built-in types are in sqltypes.
type UserType struct {
	OID, ArrayOID OID
	Name          string
	ArrayName     string
	Schema        OID
	Owner         OID
	ACL           []ACLItem
	Kind          byte // e enum, d domain, c composite, r range, m multirange; a array of Subtype, made by the catalogue from ArrayOID
	Labels        []EnumLabel
	Base          sqltypes.ColumnType
	NotNull       bool
	Default       string
	HasDefault    bool
	Checks        []*Check
	Relation      OID // composite
	Subtype       OID // range
	Multirange    OID
	Comment       string
}

type EnumLabel struct {
	OID   OID
	Label string
	Order float32
}

// Function is a user function (SQL language).
type Function struct {
	OID             OID
	Name            string
	Schema          OID
	Owner           OID
	ACL             []ACLItem
	Kind            byte // f, p
	Language        string
	ArgTypes        []sqltypes.ColumnType
	ArgNames        []string
	ArgModes        []byte
	ArgDefaults     []string
	RetType         OID
	RetSet          bool
	Volatility      sqltypes.Volatility
	Strict          bool
	SecurityDefiner bool
	Leakproof       bool
	Parallel        byte
	Cost, Rows      float32
	Body            string
	Config          []string
	Comment         string
	Agg             *AggregateDef // Kind a
}

// AggregateDef is what makes a function an aggregate (pg_aggregate).
type AggregateDef struct {
	Trans, Final, Combine OID // functions; 0: none
	SortOp                OID
	TransType             sqltypes.ColumnType
	InitVal               *string // nil: NULL
	FinalExtra            bool    // the final function gets NULLs for the arguments
	FinalModify           byte    // r, s, w
	// What is kept and shown, and not used: this server neither aggregates in several
	// processes nor takes values out of a moving frame by the inverse function.
	Serial, Deserial         OID     `json:",omitempty"`
	MTrans, MInverse, MFinal OID     `json:",omitempty"`
	MTransType               OID     `json:",omitempty"`
	MInitVal                 *string `json:",omitempty"`
	MFinalExtra              bool    `json:",omitempty"`
	MFinalModify             byte    `json:",omitempty"`
	TransSpace, MTransSpace  int32   `json:",omitempty"`
}

// Operator is a user's operator (pg_operator). Proc 0 makes it a shell: named as
// another operator's commutator or negator and not defined yet.
type Operator struct {
	OID                 OID
	Name                string
	Schema              OID
	Owner               OID
	Left, Right, Result OID // Left 0: prefix
	Proc                OID
	Commutator, Negator OID
	Restrict, Join      OID // selectivity estimators; kept and shown, not used
	Merges, Hashes      bool
	Comment             string
}

// Cast is a user's cast (pg_cast).
type Cast struct {
	OID            OID
	Source, Target OID
	Func           OID  // 0 for methods b and i
	Context        byte // i implicit, a assignment, e explicit
	Method         byte // f function, i by text, b binary-coercible
	Comment        string
}

// Role is a user or group; roles and databases are shared by all databases.
type Role struct {
	OID                                                                 OID
	Name                                                                string
	Super, Inherit, CreateRole, CreateDB, Login, Replication, BypassRLS bool
	ConnLimit                                                           int32
	Password                                                            string // SCRAM-SHA-256$… verifier, "" none
	ValidUntil                                                          int64  // µs since 2000-01-01, 0 none
	MemberOf                                                            []Membership
	Config                                                              []string // ALTER ROLE SET
	Comment                                                             string
}

type Membership struct {
	Role, Grantor OID
	Admin         bool
}

// Database is a named set of schemas with its own catalogue.
type Database struct {
	OID                   OID
	Name                  string
	Owner                 OID
	ACL                   []ACLItem
	IsTemplate, AllowConn bool
	ConnLimit             int32
	Config                []string
	Comment               string
}

// ACLItem is one grant: privileges as a set of pg's letters ("arwdDxt").
type ACLItem struct {
	Grantee      OID // 0 public
	Grantor      OID
	Privs        string // "arwd"
	GrantOptions string
}

// DefaultACL is ALTER DEFAULT PRIVILEGES.
type DefaultACL struct {
	Role, Schema OID
	ObjType      byte // r, S, f, T, n
	ACL          []ACLItem
}

// TableStats are ANALYZE's results for one relation (pg_class.reltuples, pg_statistic).
type TableStats struct {
	Relation   OID
	Rows       float64
	Bytes      int64
	Columns    map[int16]*ColumnStats
	AnalyzedAt int64
}

type ColumnStats struct {
	NullFrac    float64
	AvgWidth    float64
	NDistinct   float64 // > 0 absolute, < 0 minus fraction of rows
	MCV         []sqltypes.Datum
	MCVFreq     []float64
	Histogram   []sqltypes.Datum
	Correlation float64
}
