package node

import (
	"context"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/exec"
	"ostraka/expr"
	"ostraka/pgfront/session"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/cache"
	"ostraka/planner/opt"
	"ostraka/planner/parse"
	"ostraka/raft"
	"ostraka/sqltypes"

	_ "ostraka/sqltypes/builtin" // the implementations of built-in functions
)

// sessionDeps is what the node's sessions are built on.
func sessionDeps(n *Node, reg *session.Registry) session.Deps {
	return depsOn(n, reg, homeShard, n.series.Engine(), n.group)
}

// depsOn is what sessions of one shard are built on.
func depsOn(n *Node, reg *session.Registry, id int32, e engine.Engine, group *raft.Group) session.Deps {
	fw := forwarder{n: n, group: group}
	if id != homeShard {
		fw.shard = strconv.Itoa(int(id))
	}
	rels := n.relations(reg)
	rt := &exec.Runtime{Engine: e, Relations: rels, TempDir: n.tempDir(), Logger: n.log}
	rt.Target = func(cat *catalog.Catalog, rel *catalog.Relation) (*planner.Target, error) {
		return bind.FillTarget(&planner.Context{Catalog: cat, Relations: rels, Env: &sqltypes.Env{Formats: sqltypes.DefaultFormats()}}, rel)
	}
	ex := executor{rt: rt}
	return session.Deps{
		Engine: e, Planner: newStatements(e), Exec: ex, Utility: utility{rt: rt}, Explainer: explainer{},
		Forwarder: fw, Member: notMember(group), Relations: rels, Registry: reg, Logger: n.log, Now: n.cfg.now, NodeName: n.cfg.NodeID, Node: n, Shard: id,
		Limits: session.Limits{TempDir: n.tempDir()}, Started: n.started, Settings: n.settings,
		Cache: cache.New(planCacheEntries), Optimize: optimize,
	}
}

// planCacheEntries bounds the plans kept for the simple protocol, for all sessions of the node.
const planCacheEntries = 10000

func (n *Node) tempDir() string {
	if n.cfg.TempDir != "" {
		return n.cfg.TempDir
	}
	return n.dir.path("tmp")
}

// statements is session.Planner over the planner's rooms.
type statements struct{ sizes *tableSizes }

func newStatements(e engine.Engine) statements { return statements{newTableSizes(e)} }

func (statements) Parse(sql string) ([]*planner.Statement, error) { return parse.Parse(sql) }

func (statements) TypeName(pc *planner.Context, name *pg.TypeName) (sqltypes.ColumnType, error) {
	return bind.BindTypeName(pc, name)
}

func (statements) Classify(pc *planner.Context, stmt *planner.Statement, prepared func(string) (planner.Class, bool)) planner.Class {
	return parse.Classify(stmt.AST, lookups{pc, prepared})
}

func (st statements) Compile(pc *planner.Context, stmt *planner.Statement) (*planner.Plan, error) {
	if st.sizes != nil && pc.SizeHint == nil {
		pc.SizeHint = st.sizes.hint
	}
	return compile(pc, stmt.AST)
}

func compile(pc *planner.Context, node *pg.Node) (*planner.Plan, error) {
	q, params, err := bind.Bind(pc, node)
	if err != nil {
		return nil, err
	}
	if pc.IndexExprs == nil {
		pc.PartitionExprs = func(rel *catalog.Relation) []expr.Expr { return partitionExprs(pc, rel) }
		pc.IndexExprs = func(rel *catalog.Relation, ix *catalog.Index) ([]expr.Expr, expr.Expr) {
			return indexExprs(pc, rel, ix)
		}
	}
	return optimize(pc, q, params)
}

// optimize plans a bound query, SQL functions inlined and row-level security applied:
// whatever a session runs passes here.
func optimize(pc *planner.Context, q *planner.Query, params []sqltypes.OID) (*planner.Plan, error) {
	q, err := bind.InlineFunctions(pc, q)
	if err != nil {
		return nil, err
	}
	if q, err = bind.ApplyRowSecurity(pc, q); err != nil {
		return nil, err
	}
	return opt.Optimize(pc, q, params)
}

// indexExprs binds an index's expressions and predicate for the optimiser; one
// that does not bind leaves the index unused.
func indexExprs(pc *planner.Context, rel *catalog.Relation, ix *catalog.Index) (keys []expr.Expr, pred expr.Expr) {
	keys = make([]expr.Expr, len(ix.Keys))
	for i, k := range ix.Keys {
		if k.Attr == 0 {
			if e, err := bind.RelationExpr(pc, rel, k.Expr); err == nil {
				keys[i] = e
			}
		}
	}
	if ix.Predicate != "" {
		if e, err := bind.RelationExpr(pc, rel, ix.Predicate); err == nil {
			pred = e
		}
	}
	return keys, pred
}

// partitionExprs are the expressions of a partition key, nil for plain columns.
func partitionExprs(pc *planner.Context, rel *catalog.Relation) []expr.Expr {
	out := make([]expr.Expr, len(rel.Partitioning.Keys))
	for i, k := range rel.Partitioning.Keys {
		if k.Attr == 0 {
			if e, err := bind.RelationExpr(pc, rel, k.Expr); err == nil {
				out[i] = e
			}
		}
	}
	return out
}

// executor is session.Executor over package exec.
type executor struct{ rt *exec.Runtime }

func (e executor) Start(ctx context.Context, run *session.Run, plan *planner.Plan, args []sqltypes.Datum) (session.Execution, error) {
	x, err := exec.Start(ctx, e.rt, plan, execArgs(run, args))
	if err != nil {
		return nil, err
	}
	return x, nil
}

func execArgs(run *session.Run, params []sqltypes.Datum) exec.Args {
	return exec.Args{Txn: run.Txn, View: run.View, Params: params, Env: run.Env, WorkMem: run.WorkMem, Instrument: run.Instrument, Deferred: run.Deferred}
}

// RunDeferred implements session.DeferredRunner.
func (e executor) RunDeferred(ctx context.Context, run *session.Run, commit bool) error {
	return run.Deferred.Run(ctx, e.rt, run.Txn, run.Env, commit)
}

func (e executor) Point(ctx context.Context, eng engine.Engine, plan *planner.Plan, env *sqltypes.Env, args, out []sqltypes.Datum) (found, stale bool, err error) {
	if !exec.CanPoint(plan) {
		return false, true, nil
	}
	return exec.PointSelect(ctx, eng, plan, env, args, out)
}

func (e executor) Call(plan *planner.Plan, env *sqltypes.Env, args []sqltypes.Datum, emit func(row []sqltypes.Datum) error) (bool, error) {
	return exec.QuickCall(plan, env, args, emit)
}

var _ session.Execution = (*exec.Execution)(nil)
var _ expr.Batch
