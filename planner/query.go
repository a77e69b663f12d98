package planner

import (
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// Query is a bound statement: names and types resolved, views expanded, nothing
// optimised. bind makes it, the optimiser turns it into a Plan. It follows
// PostgreSQL's query tree: a range table, a join tree over it, a target list.
type Query struct {
	Command Command
	// Range is the range table; Var.Rel indexes it.
	Range []*RTE
	// From is the join tree: its items are joined by cross product, restricted by Where.
	From  []JoinItem
	Where expr.Expr

	// Targets: visible ones first in order of output, then junk ones that only
	// ORDER BY, GROUP BY, DISTINCT ON or row marks need.
	Targets []Target1
	// GroupBy and others index Targets.
	GroupBy       []int
	GroupSets     [][]int // lists of indexes into GroupBy; nil: plain
	Having        expr.Expr
	HasAggs       bool
	HasWindow     bool
	HasTargetSRF  bool
	Windows       []WindowDef
	Distinct      bool
	DistinctOn    []int      // indexes into Targets; nil with Distinct: all visible
	Sort          []SortItem // ORDER BY
	Limit, Offset expr.Expr
	WithTies      bool

	// SetOp: this query is a set operation over two sub-queries (then Range, From are empty);
	// Targets are Vars of Rel -1 by position.
	SetOp *SetOpQuery
	// Values: VALUES lists as a query of its own are a single RTE of kind RTEValues.

	CTEs     []*CTEQuery
	RowMarks []QueryMark

	// DML.
	ResultRel int // index into Range of the target; -1 for SELECT
	// Insert: TargetAttrs[i] is the attribute that Targets[i] is assigned to; the
	// source is this query's From (or RTEValues); defaults are filled in by the
	// binder as further Targets.
	TargetAttrs []int16
	// Named are the attributes that an INSERT gives itself, without defaults.
	Named []int16
	// Through are the views that the target was named by, outermost first.
	Through    []*ViewUse
	OnConflict *QueryConflict
	Returning  []Target1 // over Range[ResultRel] (new row; old row for DELETE) and the other RTEs
	Merge      []QueryMergeAction
	WriteInfo  *Target // checks, generated columns, index expressions of the target
	// Policies are what row-level security demands of the rows that are written,
	// over Range[ResultRel].
	Policies []QueryPolicy

	// SubQueries inside expressions are *SubLink nodes.
}

// Command of a Query.
type Command uint8

const (
	CmdSelect Command = iota
	CmdInsert
	CmdUpdate
	CmdDelete
	CmdMerge
)

// Target1 is one entry of a target list.
type Target1 struct {
	Name string
	Expr expr.Expr
	Junk bool
	// Origin of a plain column reference.
	TableOID sqltypes.OID
	Attr     int16
}

// RTE is a range-table entry.
type RTE struct {
	Kind  RTEKind
	Alias string
	// Cols are the entry's columns (names after aliasing); Var.Col indexes them.
	Cols    []Column
	Lateral bool

	Rel             *catalog.Relation // RTERelation; Cols[i] is live attribute Attrs[i]
	Attrs           []int16
	Only            bool             // RTERelation: without what inherits from it
	Virtual         *VirtualRelation // RTEVirtual
	Sample          *Sample
	Sub             *Query // RTESubquery (views too: ViewOID tells)
	ViewOID         sqltypes.OID
	SecurityBarrier bool
	// SecurityQuals are conditions that hide rows (row-level security): each, in this
	// order, is evaluated before the next one and before any condition of the statement
	// that could tell something about a hidden row.
	SecurityQuals []expr.Expr
	Calls         []*expr.Call // RTEFunction
	CallCols      []int
	Ordinality    bool
	Values        [][]expr.Expr // RTEValues
	CTE           *CTEQuery     // RTECTE; SelfRef: the recursive reference
	SelfRef       bool
	// NeedSelect, NeedInsert … are for privilege checks.
	RequiredPrivs string
	CheckAs       sqltypes.OID // role whose privileges count (view owner), 0: current
}

type RTEKind uint8

const (
	RTERelation RTEKind = iota
	RTEVirtual
	RTESubquery
	RTEFunction
	RTEValues
	RTECTE
	RTEResult // no FROM
)

// JoinItem is a leaf (Rel ≥ 0, Join nil) or a join.
type JoinItem struct {
	Rel  int
	Join *JoinTree
}

type JoinTree struct {
	Kind        JoinKind // Inner, Left, Right, Full
	Left, Right JoinItem
	On          expr.Expr
	// Using are the columns of USING, Natural says that it was NATURAL; On has their
	// equalities. They only serve to print the join again.
	Using   []string
	Natural bool
	// Alias is the join's own name and Cols its columns by it, AliasCols their names
	// as far as they were given; without one Cols are the merged columns of a full
	// join, which have no table's name. UsingAlias is that of USING (…) AS. For printing.
	Alias, UsingAlias string
	AliasCols         []string
	Cols              []JoinCol
	// USING/NATURAL columns and join aliases have been resolved by the binder into
	// Vars (COALESCE for FULL), so no RTE stands for a join.
}

// JoinCol is a column of a join and what it stands for.
type JoinCol struct {
	Name string
	Expr expr.Expr
}

// Var is a column reference while planning: column Col (0-based into RTE.Cols) of
// Range[Rel], Level query levels up. A whole-row reference has Col == -1; system
// columns have Col = their negative attribute number - 1 (AttrXmin -2 → -3).
type Var struct {
	expr.T
	Rel, Col int
	Level    int
	Name     string
}

// SubLink is a subquery in an expression before planning.
type SubLink struct {
	expr.T
	Kind expr.SubPlanKind
	Sub  *Query
	// Any/All: Test compares Left expressions with SubCol placeholders.
	Test expr.Expr
	Name string
}

// SubCol stands for output column N of the SubLink's query inside its Test.
type SubCol struct {
	expr.T
	N int
}

type SortItem struct {
	Target     int
	Desc       bool
	NullsFirst bool
	Lt         *sqltypes.Proc // USING operator other than the default < or >
}

type WindowDef struct {
	Name        string
	PartitionBy []int // Targets
	OrderBy     []SortItem
	Frame       Frame
}

type SetOpQuery struct {
	Op          byte // u union, i intersect, e except
	All         bool
	Left, Right *Query
}

type CTEQuery struct {
	Name         string
	Query        *Query
	Cols         []Column
	Recursive    bool // refers to itself: Query.SetOp's right side has the self reference
	Materialized byte // 0 default, m, n
	Refs         int
	// SearchCycle is what the binder has expanded, nil without such a clause.
	SearchCycle *SearchCycle
}

// SearchCycle is the SEARCH and CYCLE of a recursive query, as written. The
// sides of the expanded query's UNION select from the original ones.
type SearchCycle struct {
	Columns     int      // of the query as written
	Named       bool     // with a column list
	Search      []string // nil: no SEARCH
	Breadth     bool
	Seq         string
	Cycle       []string // nil: no CYCLE
	Mark, Path  string
	Default     bool // marks true and false; else Value and Else
	Value, Else expr.Expr
}

// Original is the query as written.
func (c *CTEQuery) Original() (*Query, []Column) {
	x := c.SearchCycle
	if x == nil {
		return c.Query, c.Cols
	}
	inner := func(q *Query) *Query {
		for _, r := range q.Range {
			if r.Kind == RTESubquery {
				cp := *r.Sub
				if len(cp.Targets) > x.Columns {
					cp.Targets = cp.Targets[:x.Columns]
				}
				return &cp
			}
		}
		return q
	}
	q, op := *c.Query, *c.Query.SetOp
	op.Left, op.Right = inner(op.Left), inner(op.Right)
	q.SetOp, q.Targets = &op, q.Targets[:x.Columns]
	return &q, c.Cols[:x.Columns]
}

type QueryMark struct {
	Rel  int
	Mode engine.RowLock
	Wait engine.WaitPolicy
}

type QueryConflict struct {
	Arbiters []*catalog.Index
	DoUpdate bool
	// Excluded is the RTE index of EXCLUDED.
	Excluded int
	Set      []Target1
	SetAttrs []int16
	Where    expr.Expr
}

// QueryPolicy is a condition of row-level security on a row that is written.
type QueryPolicy struct {
	Kind PolicyKind
	Name string // of a restrictive policy; "" the permissive ones together
	Cond expr.Expr
}

// PolicyKind says which row a QueryPolicy is about, and when it is tested.
type PolicyKind uint8

const (
	// PolicyInsert and PolicyUpdate: the new row (WITH CHECK).
	PolicyInsert PolicyKind = iota
	PolicyUpdate
	// PolicyConflict: the row that ON CONFLICT DO UPDATE found (USING).
	PolicyConflict
	// PolicyMergeUpdate and PolicyMergeDelete: the row that MERGE matched (USING).
	PolicyMergeUpdate
	PolicyMergeDelete
)

type QueryMergeAction struct {
	Matched  bool
	Cond     expr.Expr
	Kind     byte // i, u, d, n
	Set      []Target1
	SetAttrs []int16
	Named    []int16 // as Query.Named
}
