package exec

import (
	"context"
	"log/slog"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// Runtime is what all executions of a node share.
type Runtime struct {
	Engine    engine.Engine
	Relations planner.Relations
	// TempDir is where operators spill; "" is the system's.
	TempDir string
	Logger  *slog.Logger
	// Target gives the write information (checks, generated columns, index
	// expressions) of a table that a referential action writes. Nil: only tables
	// without such expressions can be written by actions.
	Target func(cat *catalog.Catalog, rel *catalog.Relation) (*planner.Target, error)
}

// Defaults of Args.
const (
	DefaultWorkMem   = 16 << 20
	DefaultHardLimit = 1 << 30
)

// Args are the circumstances of one execution.
type Args struct {
	// Txn is the transaction to write through; nil for a read-only execution over View.
	Txn engine.Txn
	// View is the state to read; nil: Txn.
	View   engine.View
	Params []sqltypes.Datum // $1…
	Env    *sqltypes.Env
	// WorkMem is what one operator may hold before it spills, HardLimit what the
	// whole query may hold (53200 beyond); bytes, 0: the defaults.
	WorkMem, HardLimit int64
	// Instrument collects NodeStats (EXPLAIN ANALYZE).
	Instrument bool
	// Deferred receives the checks that wait for COMMIT; nil: all are made at the
	// end of the statement.
	Deferred *Deferred
}

// Execution is one run of a plan.
type Execution struct {
	ctx  context.Context
	rt   *Runtime
	plan *planner.Plan
	txn  engine.Txn
	view engine.View
	// partial are scans of time series whose rows on other nodes are aggregated there.
	partial map[*planner.Scan]bool
	types   expr.TypeFinder
	params  expr.Params
	env     *sqltypes.Env
	args    Args
	mem     account
	root    operator
	spills  spillDir
	fk      fkQueue

	inits    []*initState // by ExecParam; nil: not an InitPlan's
	ctes     map[*planner.CTE]*cteState
	work     map[*planner.CTE]*worktable
	subs     map[*expr.SubPlan]*subState
	affected int64
	stats    map[planner.Node]*NodeStats
	onClose  []func() // what outlives the closing of single operators
	opened   bool
	finished bool
	dml      bool // the root writes: it runs to completion at the first Next
}

// Start prepares an execution. The caller has locked the plan's relations and
// keeps txn or view open until Close.
func Start(ctx context.Context, rt *Runtime, plan *planner.Plan, args Args) (*Execution, error) {
	if CanPoint(plan) && !args.Instrument && (plan.Point.Kind == 's' || args.Txn != nil) {
		return startPoint(ctx, rt, plan, args), nil
	}
	x := newExecution(ctx, rt, plan, args)
	root, err := x.build(plan.Root, nil)
	if err != nil {
		return nil, err
	}
	x.root = root.op
	switch plan.Root.(type) {
	case *planner.Insert, *planner.Update, *planner.Delete, *planner.Merge:
		x.dml = true
	}
	return x, nil
}

// newExecution makes an execution without operators.
func newExecution(ctx context.Context, rt *Runtime, plan *planner.Plan, args Args) *Execution {
	x := &Execution{ctx: ctx, rt: rt, plan: plan, txn: args.Txn, view: args.View, env: args.Env, args: args}
	if x.view == nil {
		x.view = args.Txn
	}
	if x.args.WorkMem <= 0 {
		x.args.WorkMem = DefaultWorkMem
	}
	if x.args.HardLimit <= 0 {
		x.args.HardLimit = DefaultHardLimit
	}
	if x.env == nil {
		x.env = &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	}
	x.mem.limit = x.args.HardLimit
	x.spills.parent = rt.TempDir
	if x.view != nil {
		if cat := x.view.Catalog(); cat != nil {
			x.types = cat.Type
		}
	}
	x.params = expr.Params{Bind: args.Params, Exec: make([]sqltypes.Datum, plan.NumExecParams), Runner: x}
	for i := range x.params.Exec {
		x.params.Exec[i] = sqltypes.Null
	}
	if len(plan.Inits) > 0 {
		x.inits = make([]*initState, plan.NumExecParams)
		for _, in := range plan.Inits {
			st := &initState{plan: in}
			for _, id := range in.Params {
				x.inits[id] = st
			}
		}
	}
	if args.Instrument {
		x.stats = map[planner.Node]*NodeStats{}
	}
	return x
}

// Next stores the next batch of the plan's output columns in b and returns its
// number of rows, 0 at the end. Sel may be set. The batch is valid until the next call.
func (x *Execution) Next(b *expr.Batch) (int, error) {
	if !x.opened {
		x.opened = true
		if err := x.root.open(); err != nil {
			return 0, err
		}
	}
	out, err := x.root.next()
	if err != nil {
		return 0, err
	}
	if (out == nil || x.dml) && !x.finished {
		x.finished = true
		if err := x.finish(); err != nil {
			return 0, err
		}
	}
	if out == nil {
		return 0, nil
	}
	b.N, b.Sel = out.N, out.Sel
	b.Cols = append(b.Cols[:0], out.Cols[:min(len(out.Cols), max(len(x.plan.Columns), 0))]...)
	return b.Rows(), nil
}

// finish runs what belongs to the end of the statement: modifying WITH queries
// that nobody read to their end, then foreign keys.
func (x *Execution) finish() error {
	for _, cte := range x.plan.CTEs {
		if cte.Modifying {
			if err := x.completeCTE(cte); err != nil {
				return err
			}
		}
	}
	return x.fk.run(x)
}

// Affected is the number of rows a data-modifying root has inserted, updated or deleted.
func (x *Execution) Affected() int64 { return x.affected }

// Close frees everything. It is idempotent.
func (x *Execution) Close() {
	if x.root != nil {
		x.root.close()
		x.root = nil
	}
	for _, f := range x.onClose {
		f()
	}
	x.onClose = nil
	x.spills.remove()
}

// cancelled is called once per batch by everything that loops.
func (x *Execution) cancelled() error {
	if x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	return nil
}

func (x *Execution) compile(e expr.Expr) (*expr.Program, error) {
	if e == nil {
		return nil, nil
	}
	return expr.Compile(e, x.types)
}

func (x *Execution) compileAll(es []expr.Expr) ([]*expr.Program, error) {
	out := make([]*expr.Program, len(es))
	for i, e := range es {
		p, err := x.compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// scalar evaluates an expression without input columns.
func (x *Execution) scalar(p *expr.Program) (sqltypes.Datum, error) {
	return p.Row(nil, &x.params, x.env)
}

func (x *Execution) kind(t sqltypes.ColumnType) sqltypes.Kind { return x.types.KindOf(t.OID) }

// typ finds a runtime type; nil if unknown.
func (x *Execution) typ(oid sqltypes.OID) *sqltypes.Type { return x.types.Find(oid) }
