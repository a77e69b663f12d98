package expr

import (
	"ostraka/sqltypes"
)

// Expr is one node of a bound scalar expression: names resolved, overloads
// chosen, coercions explicit. Nodes are immutable.
type Expr interface {
	// Type is the result type with modifier and collation.
	Type() sqltypes.ColumnType
}

// T is embedded in nodes to carry their type.
type T struct{ Typ sqltypes.ColumnType }

func (t T) Type() sqltypes.ColumnType { return t.Typ }

type (
	// Const is a literal or a folded expression.
	Const struct {
		T
		Val  sqltypes.Datum
		Name string // how it was written when not as a literal ("tableoid" in a definition)
	}

	// Col is column Idx of the row the expression is evaluated over: the single
	// input of Filter and Project, left columns then right columns for a join.
	Col struct {
		T
		Idx  int
		Name string // for EXPLAIN
	}

	// Param is $N (1-based) of a prepared statement.
	Param struct {
		T
		N int
	}

	// ExecParam is a value that the executor sets while running: a column of an
	// outer query (correlation), the result of an InitPlan, the outer side of a
	// parameterised nested loop. ID indexes the execution's parameter array.
	ExecParam struct {
		T
		ID   int
		Name string
	}

	// Call applies a function or operator. SetReturning calls never occur here:
	// the planner moves them to a ProjectSet or FunctionScan.
	Call struct {
		T
		Proc          *sqltypes.Proc
		Args          []Expr
		Collation     sqltypes.OID // input collation
		VariadicArray bool
		// Op is the operator's name when it was written as one ("+"), else "".
		Op string
		// Coercion: this call is a cast; 'e' explicit, 'i' implicit or assignment, 0 not a cast.
		Coercion byte
		// Names are the field names of arguments that are anonymous rows, see RecordNames.
		Names [][]string
		// RetFields is the column definition list of a call that returns record, see sqltypes.Call.
		RetFields []sqltypes.Field
		// Form 's': written in SQL's own syntax (EXTRACT … FROM, CURRENT_DATE); only for printing it again.
		Form byte
	}

	// And, Or with three-valued logic; evaluation of later arguments may be
	// skipped but is not reordered. Not.
	And struct {
		T
		Args []Expr
	}
	Or struct {
		T
		Args []Expr
	}
	Not struct {
		T
		Arg Expr
	}

	// NullTest is IS [NOT] NULL. For a row-typed argument Row is true: every
	// field is tested, as the standard says.
	NullTest struct {
		T
		Arg   Expr
		IsNot bool
		Row   bool
	}
	// BoolTest is IS [NOT] TRUE/FALSE/UNKNOWN.
	BoolTest struct {
		T
		Arg   Expr
		Value int8 // 1 true, 0 false, -1 unknown
		IsNot bool
	}

	// Distinct is a IS [NOT] DISTINCT FROM b; Eq is the equality function.
	Distinct struct {
		T
		Eq  *Call // Eq.Args are the two sides
		Not bool
	}
	// NullIf returns NULL when Eq holds, else Eq.Args[0] (Result: it may need a relabel).
	NullIf struct {
		T
		Eq *Call
	}

	// Case: when Arg is not nil, each When.Cond refers to it through CaseValue.
	Case struct {
		T
		Arg   Expr
		Whens []When
		Else  Expr // nil: NULL
	}
	When struct{ Cond, Result Expr }
	// CaseValue is the value of the innermost Case.Arg, or of the element in an ArrayCoerce, or of the domain CHECK's VALUE.
	CaseValue struct{ T }

	Coalesce struct {
		T
		Args []Expr
	}
	// MinMax is GREATEST / LEAST.
	MinMax struct {
		T
		Args  []Expr
		Least bool
	}

	// ArrayCtor is ARRAY[…]; Multi: elements are themselves arrays.
	ArrayCtor struct {
		T
		Elems []Expr
		Elem  sqltypes.OID
		Multi bool
	}
	// RowCtor is ROW(…).
	RowCtor struct {
		T
		Fields []Expr
		Names  []string
	}
	// Field selects field Num (0-based) of a composite value.
	Field struct {
		T
		Arg Expr
		Num int
	}
	// Subscript is arr[i], arr[l:u], jsonb[k]; with Assign the new container with the element replaced.
	Subscript struct {
		T
		Arg     Expr
		Lower   []Expr // nil entries: omitted bound
		Upper   []Expr
		IsSlice bool
		Assign  Expr
	}

	// ArrayOp is x op ANY (array) / ALL (array).
	ArrayOp struct {
		T
		Proc      *sqltypes.Proc // two-argument boolean operator function
		Op        string
		Left      Expr
		Array     Expr
		All       bool
		Collation sqltypes.OID
	}
	// RowCompare is (a,b) < (c,d): '<', 'l'(<=), '>', 'g'(>=). Equality is And of calls.
	RowCompare struct {
		T
		Op         byte
		Left       []Expr
		Right      []Expr
		Lt         []*sqltypes.Proc // per column: less-than function
		Eq         []*sqltypes.Proc // per column: equality function
		Collations []sqltypes.OID
	}

	// Relabel changes the type without touching the value (binary-coercible).
	Relabel struct {
		T
		Arg      Expr
		Coercion byte
	}
	// CoerceViaIO converts through the text forms.
	CoerceViaIO struct {
		T
		Arg      Expr
		Coercion byte
	}
	// ArrayCoerce converts each element by Elem, which refers to it as CaseValue.
	ArrayCoerce struct {
		T
		Arg      Expr
		Elem     Expr
		Coercion byte
	}
	// CoerceDomain checks the domain's constraints; Checks refer to the value as CaseValue.
	CoerceDomain struct {
		T
		Arg     Expr
		Domain  string
		NotNull bool
		Checks  []DomainCheck
	}
	DomainCheck struct {
		Name string
		Cond Expr
	}

	// SubPlan is a subquery that must run per row (correlated) or as an InitPlan
	// would be shared (then the planner uses ExecParam instead). Plan is a
	// *planner.SubPlan; the executor hands the evaluator a SubPlanRunner.
	SubPlan struct {
		T
		Kind SubPlanKind
		// Args are evaluated over the current row and stored in ParamIDs before the plan runs.
		Args     []Expr
		ParamIDs []int
		// Test compares for Any/All: it refers to the subquery's output columns by
		// ExecParam TestParams[i].
		Test       Expr
		TestParams []int
		Plan       any
		Name       string // "SubPlan 1"
	}

	// ItemPlaceholder kinds below exist only while planning and never reach the executor.

	// Agg is an aggregate call in a query's target list or HAVING; the planner
	// replaces it by a Col over the Aggregate node's output.
	Agg struct {
		T
		Proc          *sqltypes.Proc
		Args          []Expr // plain arguments (ordered-set: aggregated ones)
		Direct        []Expr
		ArgSorts      []SortItem // ORDER BY inside the call, or WITHIN GROUP; Expr index into Args
		Distinct      bool
		Filter        Expr
		Star          bool
		Collation     sqltypes.OID
		VariadicArray bool
		Names         [][]string // as Call.Names
		// Level is how many query levels up the aggregate belongs to (0: the query
		// whose expressions hold it); its arguments' Vars have levels ≥ Level.
		Level int
	}
	// SortItem orders by argument Arg.
	SortItem struct {
		Arg        int
		Desc       bool
		NullsFirst bool
	}
	// Grouping is GROUPING(…): the listed grouping columns.
	Grouping struct {
		T
		Cols  []int
		Level int // as in Agg
	}
	// Window is a window function call; the planner replaces it by a Col over the WindowAgg node's output.
	Window struct {
		T
		Proc      *sqltypes.Proc
		Args      []Expr
		Filter    Expr
		Star      bool
		Def       int // index into the query's window definitions
		Collation sqltypes.OID
	}
)

// SubPlanKind tells what the subquery's rows become.
type SubPlanKind uint8

const (
	SubExists SubPlanKind = iota
	SubScalar             // the single value, NULL for no row, 21000 for more than one
	SubAny                // Test true for any row
	SubAll
	SubArray // ARRAY(SELECT …)
	SubRow   // a row value with several columns, for (a,b) = (SELECT …): sets TestParams
)

// SubPlanRunner runs a SubPlan's query; the executor implements it.
// Params of the execution have been set by the evaluator before the call.
type SubPlanRunner interface {
	RunSubPlan(sp *SubPlan, params *Params, env *sqltypes.Env) (sqltypes.Datum, error)
}

// Params are the values an expression reads besides its input row.
type Params struct {
	Bind []sqltypes.Datum // Param.N-1
	Exec []sqltypes.Datum // ExecParam.ID
	// Runner runs SubPlans; nil where none can occur.
	Runner SubPlanRunner
	// Row is set while a SubPlan whose Test reads input columns runs: the current
	// row, with the columns that Test names.
	Row []sqltypes.Datum
}
