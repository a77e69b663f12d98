package plpgsql

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// datum describes a variable of a function; statements name it by its index.
type datum struct {
	name    string
	typ     sqltypes.ColumnType // of a record: record or a composite type
	record  bool
	notNull bool
	fixed   bool // CONSTANT
	// varies: the type is known only when it runs (the operand of CASE).
	varies bool
	init   *Query
	line   int
	cursor *cursorDecl // a bound cursor
}

// cursorDecl is DECLARE name CURSOR (args) FOR query.
type cursorDecl struct {
	query  *Query
	args   []int // data that the arguments are assigned to
	scroll int8  // 1 SCROLL, -1 NO SCROLL
}

// target is what a value or a row is stored into: a variable, or a field of a record.
type target struct {
	datum int
	field string // "" the whole variable
	name  string // as it was written
}

// into is the INTO of a statement: one record, or a list.
type into struct {
	record int // -1: list
	list   []target
	strict bool
}

// assignment is target[subscripts].field := the query's value.
type assignment struct {
	target target
	// path: the query is an UPDATE that names what lies inside of the target.
	path bool
}

// Query is a piece of SQL in a function.
type Query struct {
	// Text is a complete statement: expressions became SELECT.
	Text string
	// Source is the text as it stands in the function, for CONTEXT and messages.
	Source string
	// Expr: one value is wanted.
	Expr bool
	// Path: Text is an UPDATE whose only assignment gives the new value of a variable.
	Path bool
	// Compiled is the host's.
	Compiled any

	ns     *nsItem
	refs   []ref
	shape  []shape
	target target // of Path
	fn     *Function
}

// stmt is a statement of the language.
type stmt interface {
	at() int
	// what is what CONTEXT calls the statement.
	what() string
}

// line is where a statement begins.
type line int

func (l line) at() int { return int(l) }

type (
	block struct {
		line
		label      string
		vars       []int // in order of declaration
		body       []stmt
		handlers   []*handler // nil: no EXCEPTION clause
		sqlstate   int        // variables sqlstate and sqlerrm of the handlers
		sqlerrm    int
		hasHandler bool
	}
	handler struct {
		conds []condition
		body  []stmt
		line  int
	}
	// condition is one name after WHEN: its codes; others takes nearly all.
	condition struct {
		codes  []pgerror.Code
		others bool
	}
	assignStmt struct {
		line
		assignment
		expr *Query
		from int // the record that is assigned as a whole, else -1
	}
	ifStmt struct {
		line
		conds  []*Query
		bodies [][]stmt
		orElse []stmt
	}
	caseStmt struct {
		line
		operand *Query // nil: searched
		tmp     int
		conds   []*Query
		bodies  [][]stmt
		orElse  []stmt
		hasElse bool
	}
	loopStmt struct {
		line
		label string
		cond  *Query // WHILE; nil: LOOP
		body  []stmt
	}
	forInt struct {
		line
		label            string
		v                int
		lower, upper, by *Query
		reverse          bool
		body             []stmt
	}
	forRows struct {
		line
		label string
		into  into
		query *Query   // static, or
		text  *Query   // EXECUTE,
		using []*Query // or
		// cursor: a bound cursor variable with the arguments given.
		cursor int
		args   []*Query
		body   []stmt
	}
	forEach struct {
		line
		label string
		into  into
		slice int
		array *Query
		body  []stmt
	}
	exitStmt struct {
		line
		label     string
		cond      *Query
		continues bool
	}
	returnStmt struct {
		line
		expr *Query
		v    int // the variable that is returned, -1: expr
	}
	returnNext struct {
		line
		expr *Query
		v    int
	}
	returnQuery struct {
		line
		query *Query
		text  *Query
		using []*Query
	}
	raiseStmt struct {
		line
		level   string
		cond    string // condition name or SQLSTATE as written
		code    pgerror.Code
		format  string
		hasText bool
		params  []*Query
		options []raiseOption
	}
	raiseOption struct {
		name string
		expr *Query
	}
	assertStmt struct {
		line
		cond, message *Query
	}
	sqlStmt struct {
		line
		query *Query
		into  *into
		kind  byte // 's' SQL statement, 'c' CALL, 'd' DO
		mod   bool // INSERT, UPDATE, DELETE or MERGE
	}
	performStmt struct {
		line
		query *Query
	}
	executeStmt struct {
		line
		text  *Query
		into  *into
		using []*Query
	}
	diagStmt struct {
		line
		stacked bool
		items   []diagItem
	}
	diagItem struct {
		kind   string
		target target
	}
	openStmt struct {
		line
		cursor int
		args   []*Query
		query  *Query
		text   *Query
		using  []*Query
		scroll int8
	}
	fetchStmt struct {
		line
		move   bool
		cursor int
		dir    string // next, prior, first, last, absolute, relative, forward, backward
		count  *Query // nil: 1
		all    bool
		into   *into
	}
	closeStmt struct {
		line
		cursor int
	}
	nullStmt   struct{ line }
	endTxnStmt struct {
		line
		commit, chain bool
	}
)

func (*block) what() string      { return "statement block" }
func (*assignStmt) what() string { return "assignment" }
func (*ifStmt) what() string     { return "IF" }
func (*caseStmt) what() string   { return "CASE" }
func (s *loopStmt) what() string {
	if s.cond != nil {
		return "WHILE"
	}
	return "LOOP"
}
func (*forInt) what() string { return "FOR with integer loop variable" }
func (s *forRows) what() string {
	switch {
	case s.query != nil:
		return "FOR over SELECT rows"
	case s.text != nil:
		return "FOR over EXECUTE statement"
	}
	return "FOR over cursor"
}
func (*forEach) what() string { return "FOREACH over array" }
func (s *exitStmt) what() string {
	if s.continues {
		return "CONTINUE"
	}
	return "EXIT"
}
func (*returnStmt) what() string  { return "RETURN" }
func (*returnNext) what() string  { return "RETURN NEXT" }
func (*returnQuery) what() string { return "RETURN QUERY" }
func (*raiseStmt) what() string   { return "RAISE" }
func (*assertStmt) what() string  { return "ASSERT" }
func (s *sqlStmt) what() string {
	switch s.kind {
	case 'c':
		return "CALL"
	case 'd':
		return "DO"
	}
	return "SQL statement"
}
func (*performStmt) what() string { return "PERFORM" }
func (*executeStmt) what() string { return "EXECUTE" }
func (s *diagStmt) what() string {
	if s.stacked {
		return "GET STACKED DIAGNOSTICS"
	}
	return "GET DIAGNOSTICS"
}
func (*openStmt) what() string { return "OPEN" }
func (s *fetchStmt) what() string {
	if s.move {
		return "MOVE"
	}
	return "FETCH"
}
func (*closeStmt) what() string { return "CLOSE" }
func (*nullStmt) what() string  { return "NULL" }
func (s *endTxnStmt) what() string {
	if s.commit {
		return "COMMIT"
	}
	return "ROLLBACK"
}
