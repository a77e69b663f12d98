package pgfront

import (
	"context"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/exec"
	"ostraka/pgfront/session"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/cache"
	"ostraka/planner/opt"
	"ostraka/planner/parse"
	"ostraka/sqltypes"

	_ "ostraka/sqltypes/builtin"
)

// realPlanner and realExec are the planner and the executor as a node wires them.
type realPlanner struct{}

func (realPlanner) Parse(sql string) ([]*planner.Statement, error) { return parse.Parse(sql) }

func (realPlanner) TypeName(pc *planner.Context, name *pg.TypeName) (sqltypes.ColumnType, error) {
	return bind.BindTypeName(pc, name)
}

func (realPlanner) Classify(pc *planner.Context, stmt *planner.Statement, prepared func(string) (planner.Class, bool)) planner.Class {
	return parse.Classify(stmt.AST, parse.CatalogLookups{Ctx: pc, PreparedClass: prepared})
}

func (realPlanner) Compile(pc *planner.Context, stmt *planner.Statement) (*planner.Plan, error) {
	q, params, err := bind.Bind(pc, stmt.AST)
	if err != nil {
		return nil, err
	}
	plan, err := opt.Optimize(pc, q, params)
	if err == nil {
		plan.Point = nil
	}
	return plan, err
}

type realExec struct{ rt *exec.Runtime }

func (e realExec) Start(ctx context.Context, run *session.Run, plan *planner.Plan, args []sqltypes.Datum) (session.Execution, error) {
	x, err := exec.Start(ctx, e.rt, plan, exec.Args{Txn: run.Txn, View: run.View, Params: args, Env: run.Env, WorkMem: run.WorkMem, Deferred: run.Deferred, Instrument: run.Instrument})
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (realExec) Point(context.Context, engine.Engine, *planner.Plan, *sqltypes.Env, []sqltypes.Datum, []sqltypes.Datum) (bool, bool, error) {
	return false, true, nil
}

func (realExec) Call(plan *planner.Plan, env *sqltypes.Env, args []sqltypes.Datum, emit func([]sqltypes.Datum) error) (bool, error) {
	return exec.QuickCall(plan, env, args, emit)
}

func (e realExec) RunDeferred(ctx context.Context, run *session.Run, commit bool) error {
	return run.Deferred.Run(ctx, e.rt, run.Txn, run.Env, commit)
}

type noRelations struct{}

func (noRelations) VirtualByName(string, string) *planner.VirtualRelation { return nil }
func (noRelations) VirtualByOID(sqltypes.OID) *planner.VirtualRelation    { return nil }
func (noRelations) AllVirtual(func(*planner.VirtualRelation) bool)        {}

func startReal(t testing.TB, change ...func(*Config)) (*Server, string) {
	return startFake(t, append([]func(*Config){func(c *Config) {
		rt := &exec.Runtime{Engine: c.Deps.Engine, Relations: noRelations{}, TempDir: t.TempDir()}
		rt.Target = func(cat *catalog.Catalog, rel *catalog.Relation) (*planner.Target, error) {
			return bind.FillTarget(&planner.Context{Catalog: cat, Relations: noRelations{}, Env: &sqltypes.Env{Formats: sqltypes.DefaultFormats()}}, rel)
		}
		c.Deps.Cache, c.Deps.Optimize = cache.New(1000), opt.Optimize
		c.Deps.Relations, c.Deps.Planner, c.Deps.Exec = noRelations{}, realPlanner{}, realExec{rt}
	}}, change...)...)
}
