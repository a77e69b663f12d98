package planner

import (
	"sync"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// Class says where a statement may run. It is decided from the syntax tree and
// the declared properties of the functions and relations it names, never from
// text or user data.
type Class uint8

const (
	// ClassRead only reads replicated state: any node's local replica may answer.
	ClassRead Class = iota
	// ClassWrite changes replicated state or takes locks: the leader executes it.
	ClassWrite
	// ClassControl is session state: BEGIN, SET, SHOW, PREPARE, LISTEN …
	ClassControl
	// ClassNodeWrite writes node-local relations only (time series).
	ClassNodeWrite
)

// Writes reports a class that changes something.
func (c Class) Writes() bool { return c == ClassWrite || c == ClassNodeWrite }

// Column describes one output column of a node or statement.
type Column struct {
	Name string
	Type sqltypes.ColumnType
	// Origin for RowDescription; 0 when the column is not a plain table column.
	TableOID sqltypes.OID
	Attr     int16
}

// Plan is a planned SELECT, INSERT, UPDATE, DELETE, MERGE or VALUES.
type Plan struct {
	Root    Node
	Columns []Column // what the client sees; empty for DML without RETURNING
	// Command is the command tag's word: SELECT, INSERT, UPDATE, DELETE, MERGE.
	Command string
	Class   Class
	Params  []sqltypes.OID // types of $1…
	// Inits run at most once, on first use of one of their ExecParams.
	Inits []*InitPlan
	CTEs  []*CTE
	// NumExecParams is the size of the execution's parameter array.
	NumExecParams int
	// SubPlans by their index, for EXPLAIN.
	SubPlans []*SubPlan
	// Relations that execution locks (AccessShare for reads, RowExclusive for writes …).
	Relations []RelationLock
	// Permissions are tested before each execution. Role is whom the plan was made for.
	Permissions []Permission
	Role        sqltypes.OID
	// Point is not nil when the statement may take the path without batches.
	Point *PointPlan
	// Call is not nil when the statement is one call of a function that knows a short
	// way (sqltypes.Proc.Quick) and shows its result as it is.
	Call *CallPlan
	// Early is the error of a constant expression. It is due when the statement is about
	// to run, even if the expression would not be evaluated, but not when it is only prepared.
	Early error
	// Volatile: contains a volatile function; Cacheable: may be kept for other executions.
	Cacheable      bool
	CatalogVersion uint64
	// ParamsMatter: knowing the parameters could give a much better plan (LIKE $1 on an
	// index, a partial index, a column of skewed values): worth planning again with
	// Context.ParamValues, at least the first few times.
	ParamsMatter bool
	// Catalog is the catalogue the plan was made with; point plans need it.
	Catalog *catalog.Catalog
}

type RelationLock struct {
	OID  sqltypes.OID
	Mode engine.RelLock
	Name string
}

// Row references: a Scan with RefSlot ≥ 0 attaches to each of its rows a reference
// that travels with the row through every node up to the LockRows, Update, Delete
// or Merge that names the slot; a row padded by an outer join has none. No
// Aggregate, SetOp, Append or Unique lies between.
//
// Pruning: a join yields all columns of both sides (semi and anti joins: of the
// left). When fewer are needed a Project whose expressions are plain Cols lies
// directly above; the executor may fuse the two.

// InitPlan computes uncorrelated subqueries: scalar (one ExecParam), exists, row
// (several) or array.
type InitPlan struct {
	Kind   expr.SubPlanKind
	Root   Node
	Params []int
	Name   string // "InitPlan 1 (returns $0)"
}

// SubPlan is what expr.SubPlan.Plan points to.
type SubPlan struct {
	Root Node
	// Hashed: uncorrelated IN list: build a hash table once, keyed by the output columns.
	Hashed bool
	// Volatile: runs a volatile function.
	Volatile bool
	Name     string
	Index    int
	// Cost of one run, for the planner.
	PerCall Estimate
}

// CTE is a WITH query that is not inlined.
type CTE struct {
	ID        int
	Name      string
	Root      Node // nil for recursive ones until RecursiveUnion
	Recursive bool
	// Modifying CTEs run to completion exactly once, even if nobody reads them.
	Modifying bool
	Columns   []Column
	// Deps are ExecParams (columns of outer queries) that Root reads: rows kept
	// from before one of them was set anew are void. Empty for most.
	Deps []int
	// WorkParam, of a recursive query, is an ExecParam that RecursiveUnion sets to
	// another value before each round: what reads the working table depends on it.
	WorkParam int
}

// Estimate is what the optimiser believes of a node (PostgreSQL's units).
type Estimate struct {
	Rows    float64
	Width   int
	Startup float64
	Total   float64
}

// Node is a physical operator. Expressions of a node refer to the columns of its
// input (joins: left columns, then right columns) by expr.Col.Idx, except where
// said otherwise.
type Node interface {
	Out() []Column
	Est() *Estimate
}

// Base is embedded in every node.
type Base struct {
	Columns  []Column
	Estimate Estimate
}

func (b *Base) Out() []Column  { return b.Columns }
func (b *Base) Est() *Estimate { return &b.Estimate }

// KeyRange gives index bounds as expressions over constants and parameters,
// evaluated when the scan starts. Eq are values of the leading key columns; then
// one optional range on the next column. A NULL bound yields no rows.
type KeyRange struct {
	Eq                 []expr.Expr
	Lower, Upper       expr.Expr
	LowerInc, UpperInc bool
	// EqNull[i]: the i-th equality is IS NULL (Eq[i] is nil).
	EqNull []bool
	// AnyArray >= 0: Eq[AnyArray] is an array; the range is repeated per distinct element.
	AnyArray int // -1 none
}

type (
	// Scan reads a table, in the order of Index (nil: its own key).
	Scan struct {
		Base
		Rel     *catalog.Relation
		Alias   string
		Index   *catalog.Index
		Ranges  []KeyRange // nil: everything
		Reverse bool
		// Attrs are the attribute numbers (system ones negative) of the output
		// columns, in order; Refs adds the row reference (for DML and locking),
		// which travels beside the batch (see exec).
		Attrs   []int16
		RefSlot int // -1, or the number under which this scan's row references are known to LockRows and ModifyTable
		// Filter is evaluated over the output columns.
		Filter expr.Expr
		// IndexCond is the part of the condition that Ranges stand for (EXPLAIN).
		IndexCond expr.Expr
		IndexOnly bool
		Newest    bool // referential actions
		Sample    *Sample
	}
	Sample struct {
		Method  string // bernoulli, system
		Percent expr.Expr
		Seed    expr.Expr // nil: random
	}

	// VirtualScan reads a relation served by a provider (pg_catalog …).
	VirtualScan struct {
		Base
		Rel    *VirtualRelation
		Alias  string
		Attrs  []int16
		Filter expr.Expr
		// Eq are equality conditions pushed down: column attribute → value.
		Eq []VirtualEq
	}
	VirtualEq struct {
		Attr  int16
		Value expr.Expr
	}

	// FunctionScan is FROM f(…), ROWS FROM(…), with ordinality.
	FunctionScan struct {
		Base
		Alias      string
		Calls      []*expr.Call
		ColCounts  []int // output columns per call
		Ordinality bool
		Filter     expr.Expr
	}
	// Values is VALUES lists.
	Values struct {
		Base
		Alias string
		Rows  [][]expr.Expr
	}
	// Result yields one row of no columns (SELECT without FROM), or none when
	// OneTime is not true.
	Result struct {
		Base
		OneTime expr.Expr
	}
	// Empty yields nothing (a condition folded to false).
	Empty   struct{ Base }
	CTEScan struct {
		Base
		CTE    *CTE
		Alias  string
		Filter expr.Expr
	}
	// WorkTableScan reads the working table of the RecursiveUnion with the same CTE.
	WorkTableScan struct {
		Base
		CTE    *CTE
		Alias  string
		Filter expr.Expr
	}
	RecursiveUnion struct {
		Base
		CTE      *CTE
		NonRec   Node
		Rec      Node
		Distinct bool // UNION, not UNION ALL
	}

	Filter struct {
		Base
		Input Node
		Cond  expr.Expr
	}
	Project struct {
		Base
		Input Node
		Exprs []expr.Expr
	}
	// ProjectSet is Project in which top-level expressions may be set-returning
	// calls, expanded in lockstep (shorter ones padded with NULL).
	ProjectSet struct {
		Base
		Input Node
		Exprs []expr.Expr
	}

	// NestLoop runs Right once per left row; Params pass left columns into Right
	// by ExecParam (LATERAL, parameterised index scans).
	NestLoop struct {
		Base
		Left, Right Node
		Kind        JoinKind
		Cond        expr.Expr // nil: none
		Params      []NestParam
	}
	NestParam struct {
		ID   int       // ExecParam
		Expr expr.Expr // over the left columns
	}
	// HashJoin builds a hash table of Right. Keys pair up; Eq functions are the
	// keys' equality operators; Cond is the rest (over left+right columns).
	HashJoin struct {
		Base
		Left, Right Node
		Kind        JoinKind
		LeftKeys    []expr.Expr // over left columns
		RightKeys   []expr.Expr // over right columns
		Cond        expr.Expr
		// NullAware: NOT IN semantics for an anti join.
		NullAware bool
	}
	// MergeJoin: both inputs sorted ascending on the keys (as SortKeys say).
	MergeJoin struct {
		Base
		Left, Right         Node
		Kind                JoinKind
		LeftKeys, RightKeys []expr.Expr
		Keys                []SortKey
		Cond                expr.Expr
	}

	// Aggregate groups by GroupBy (over the input). Output columns: the GroupBy
	// columns, then one per Agg, then, with Sets, one int4 bitmask column per
	// Grouping in Groupings.
	Aggregate struct {
		Base
		Input    Node
		Strategy AggStrategy
		GroupBy  []expr.Expr
		Aggs     []*expr.Agg
		// Sets: GROUPING SETS as lists of indexes into GroupBy; nil: the plain GROUP BY.
		Sets      [][]int
		Groupings []*expr.Grouping // Cols index GroupBy
	}
	// GapFill adds the buckets of time without rows between Start and Finish, once
	// per group: the other columns of such a row are NULL, but for one column per
	// Fill, which is appended for all rows. Input is sorted by Groups, then Bucket.
	GapFill struct {
		Base
		Input  Node
		Bucket int // column
		// Call computes buckets; its second argument is the time, the others are the
		// same for all rows.
		Call   *expr.Call
		Groups []int
		// Start is inclusive and the latest of the bounds counts, Finish is exclusive
		// and the earliest counts; NULLs do not.
		Start, Finish []GapBound
		Fills         []GapFillColumn
	}
	// GapBound is Value, or with Plus the next moment after it.
	GapBound struct {
		Value expr.Expr
		Plus  bool
	}
	// GapFillColumn carries Value over added rows (Kind 'l'), or interpolates it
	// ('i'). Before and After, over the row, are what stands in where a group has no
	// value on that side: a value, or for 'i' a record of time and value.
	GapFillColumn struct {
		Kind          byte
		Value         expr.Expr
		Before, After expr.Expr // nil: none
		SkipNull      expr.Expr // 'l': NULLs of rows are filled, too
	}
	// WindowAgg appends one column per function. Input is sorted by PartitionBy, OrderBy.
	WindowAgg struct {
		Base
		Input       Node
		PartitionBy []expr.Expr
		OrderBy     []SortKey
		Frame       Frame
		Funcs       []*expr.Window
	}
	Sort struct {
		Base
		Input Node
		Keys  []SortKey
		// Presorted: the input already has the first Presorted keys' order (incremental sort).
		Presorted int
		// Top: LIMIT + OFFSET above, when known to be small: keep only so many rows.
		Top expr.Expr
	}
	// Unique drops consecutive rows equal on Cols (sorted input), keeping the first.
	Unique struct {
		Base
		Input Node
		Cols  []int
	}
	Limit struct {
		Base
		Input         Node
		Count, Offset expr.Expr // nil: none
		WithTies      []SortKey // FETCH … WITH TIES: the ORDER BY
	}
	// Append yields the rows of its inputs one after the other.
	Append struct {
		Base
		Inputs []Node
		// Prune, when not nil, tells at each start which inputs can have rows.
		Prune *Pruning
	}
	// MergeAppend merges inputs that are sorted on Keys.
	MergeAppend struct {
		Base
		Inputs []Node
		Keys   []SortKey
		Prune  *Pruning
	}
	// SetOp is INTERSECT / EXCEPT [ALL] by hashing.
	SetOp struct {
		Base
		Left, Right Node
		Except, All bool
	}
	// Materialize keeps its input's rows for rescans.
	Materialize struct {
		Base
		Input Node
	}
	// LockRows is FOR UPDATE/SHARE.
	LockRows struct {
		Base
		Input Node
		Marks []RowMark
		// Recheck re-evaluates the query's conditions on a changed row.
		Recheck []Recheck
	}
	RowMark struct {
		Rel     *catalog.Relation
		RefSlot int
		Mode    engine.RowLock
		Wait    engine.WaitPolicy
		// Tree are the tables that Rel's name stands for, nil when it is Rel alone.
		Tree []*Member
		// Cols maps attributes of Rel to input columns that must be refreshed when the row changed.
		Cols []AttrCol
	}
	AttrCol struct {
		Attr int16
		Col  int
	}
	// Recheck: after a row of RefSlot changed, Cond over the node's input columns must hold.
	Recheck struct {
		Cond expr.Expr
	}

	// Insert writes the input's rows. Input columns map to attributes by Cols.
	Insert struct {
		Base
		Target *Target
		Input  Node
		Cols   []int16 // attribute of input column i
		// Overriding etc. are resolved by the planner: Row gives every attribute's
		// value over the input columns (defaults included, generated ones not).
		Row        []expr.Expr // by attribute - 1; nil for dropped
		OnConflict *OnConflict
		Returning  []expr.Expr // over the new row's attributes (Col.Idx = attribute-1)
	}
	OnConflict struct {
		Arbiters []*catalog.Index // empty: any
		DoUpdate bool
		// Set and Where are over existing row attributes (0…n-1), then the excluded row's (n…2n-1).
		Set   []expr.Expr // by attribute-1; nil: unchanged
		Where expr.Expr
	}
	// Update: the input yields, for each row to update, all live attributes of the
	// old row (Col.Idx = position in OldCols) and further columns of joined tables.
	Update struct {
		Base
		Target  *Target
		Input   Node
		RefSlot int
		OldCols []int       // input column of attribute i+1; -1 dropped
		Set     []expr.Expr // by attribute-1, over the input columns; nil: unchanged
		// Recheck is the whole condition over the input columns, re-evaluated when the row changed.
		Recheck   expr.Expr
		Returning []expr.Expr // over new row's attributes (0…n-1), then input columns (n…)
		// Tree are the tables whose rows the input has, nil when it is Target's alone.
		// TableOID is the input column that tells which, -1 if there is none.
		Tree     []*Member
		TableOID int
	}
	Delete struct {
		Base
		Target    *Target
		Input     Node
		RefSlot   int
		OldCols   []int
		Recheck   expr.Expr
		Returning []expr.Expr // over old row's attributes, then input columns
		Tree      []*Member   // as Update's
	}
	// Merge: input = source LEFT JOIN target; TargetRef absent means not matched.
	Merge struct {
		Base
		Target  *Target
		Input   Node
		RefSlot int
		OldCols []int
		Recheck expr.Expr
		Actions []MergeAction
		Tree    []*Member // as Update's
	}
	MergeAction struct {
		Matched bool
		Cond    expr.Expr   // over the input columns
		Kind    byte        // i insert, u update, d delete, n nothing
		Set     []expr.Expr // update: by attribute-1; insert: the whole row
	}
)

// Target is the table a DML node writes, with what must be evaluated per row.
type Target struct {
	Rel *catalog.Relation
	// Over the new row's attributes (Col.Idx = attribute-1):
	Generated  []expr.Expr // by attribute-1; nil where not generated
	Checks     []expr.DomainCheck
	IndexExprs map[sqltypes.OID][]expr.Expr // by index: one per key with Attr 0, else nil
	IndexPreds map[sqltypes.OID]expr.Expr
	// ViewChecks are WITH CHECK OPTION conditions (44000).
	ViewChecks []ViewCheck
	// Policies are row-level security's conditions, over a row's attributes.
	Policies []QueryPolicy
	// HideRows: messages must not show rows, since row-level security hides some from
	// who runs the statement.
	HideRows bool
	// Incoming are foreign keys of other tables that reference Rel.
	Incoming []IncomingFK
	// Defaults by attribute-1, over nothing; only for referential actions (SET DEFAULT).
	Defaults []expr.Expr
	// PartKeys are the expressions of a partition key, nil for plain columns.
	PartKeys []expr.Expr
}

// Member is one of the tables that the name of a partitioned table, or of one that
// others inherit from, stands for.
type Member struct {
	Rel *catalog.Relation
	// Attrs are Rel's attributes by attribute-1 of the table that was named.
	Attrs []int16
	// OldCols, for what writes: the input column of Rel's attribute i+1; -1 dropped.
	OldCols []int
}

// Pruning tells which inputs of an Append can have rows, by conditions on the
// partition key whose values are known when it starts.
type Pruning struct {
	Steps []PruneStep // all must keep an input
	// Removed counts the inputs that were left out while planning (EXPLAIN does not show them).
	Removed int
}

// PruneStep is the conditions on one partitioned table.
type PruneStep struct {
	Parts *catalog.Partitions
	Conds []PruneCond
	// Inputs are, by partition, the inputs of the Append below it.
	Inputs [][]int
}

// PruneCond is a catalog.KeyCond whose values are still to be computed.
type PruneCond struct {
	Key    int
	Op     byte
	Values []expr.Expr
	Array  bool // Values[0] is an array of the values
}

type ViewCheck struct {
	View string
	Cond expr.Expr
}

// IncomingFK is a foreign key of Table that references the target.
type IncomingFK struct {
	Table *catalog.Relation
	FK    *catalog.ForeignKey
	// RefAttrs are the referenced attributes of the target, which may be a partition of
	// the table that the key refers to; Above: it is.
	RefAttrs []int16
	Above    bool
}

type JoinKind uint8

const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinRight
	JoinFull
	JoinSemi
	JoinAnti
)

type AggStrategy uint8

const (
	AggPlain AggStrategy = iota // no GROUP BY: one row
	AggHash
	AggSorted // input sorted by GroupBy
)

// SortKey orders by an input expression.
type SortKey struct {
	Expr       expr.Expr
	Desc       bool
	NullsFirst bool
	// Lt, Eq are set when the order is not the type's default (USING op).
	Lt *sqltypes.Proc
}

// Frame is a window frame (PostgreSQL's frame clause).
type Frame struct {
	Mode       byte // 'R' range, 'W' rows, 'G' groups
	Start, End FrameBound
	Exclude    byte // 0 none, 'c' current row, 'g' group, 't' ties
	// InRange functions for RANGE offset frames: value ± offset.
	InRange *sqltypes.Proc
}

type FrameBound struct {
	Kind   byte      // 'u' unbounded preceding, 'p' offset preceding, 'c' current row, 'f' offset following, 'U' unbounded following
	Offset expr.Expr // over constants and parameters
}

// PointPlan is a statement that touches at most one row of one table by a
// complete unique key, executed without batches.
type PointPlan struct {
	Kind  byte // s select, u update, d delete, i insert of one row
	Rel   *catalog.Relation
	Index *catalog.Index
	Key   []expr.Expr // constants and parameters, coerced to the key's types
	// Select: Attrs fetched; Out over the fetched row; Filter the remaining condition.
	Attrs  []int16
	Out    []expr.Expr
	Filter expr.Expr
	// OutIsAttrs: Out is exactly the fetched attributes in order.
	OutIsAttrs bool
	// Prepared keeps what executors made of the plan, for the next execution.
	Prepared sync.Pool
}

// CallPlan is a statement that is one call of a function: SELECT * FROM f(…), or
// SELECT f(…) when it does not return a set. The arguments are constants and
// parameters, perhaps cast.
type CallPlan struct {
	Call *expr.Call
	// Prepared keeps what executors made of the plan, for the next execution.
	Prepared sync.Pool
}

// Statement is one parsed, classified statement.
type Statement struct {
	Text     string   // its part of the query string
	Location int      // byte offset of Text in the query string
	AST      *pg.Node // the statement node
	Class    Class
	// Tag of utility statements ("CREATE TABLE"); "" for planned ones.
	Tag string
	// Planned: goes through Plan (SELECT, VALUES, DML).
	Planned bool
}
