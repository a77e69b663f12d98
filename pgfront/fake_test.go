package pgfront

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/shard"
	"ostraka/expr"
	"ostraka/pgfront/session"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// fakePlanner plans what the tests of the protocol need: lists of integer and
// string constants, $n::int4, 1/0, pg_sleep(n), and generate_series(1, n) as the only column.
type fakePlanner struct{}

func (fakePlanner) Parse(sql string) ([]*planner.Statement, error) { return parse.Parse(sql) }

func (fakePlanner) Classify(pc *planner.Context, stmt *planner.Statement, prepared func(string) (planner.Class, bool)) planner.Class {
	return parse.Classify(stmt.AST, parse.CatalogLookups{Ctx: pc, PreparedClass: prepared})
}

func (fakePlanner) TypeName(*planner.Context, *pg.TypeName) (sqltypes.ColumnType, error) {
	return sqltypes.ColumnType{OID: 23, TypMod: -1}, nil
}

// fakeRoot is the whole plan.
type fakeRoot struct {
	planner.Base
	items  []fakeItem
	series int64
}

type fakeItem struct {
	val   sqltypes.Datum
	param int
	sleep float64
}

func (fakePlanner) Compile(pc *planner.Context, stmt *planner.Statement) (*planner.Plan, error) {
	sel := stmt.AST.GetSelectStmt()
	if sel == nil || sel.FromClause != nil {
		return nil, pgerror.NotSupported("this statement in the fake planner")
	}
	root := &fakeRoot{}
	plan := &planner.Plan{Root: root, Command: "SELECT", Class: stmt.Class, Cacheable: true, CatalogVersion: pc.Catalog.Version}
	for _, t := range sel.TargetList {
		col := planner.Column{Name: "?column?", Type: sqltypes.ColumnType{OID: 23, TypMod: -1}}
		var it fakeItem
		val := t.GetResTarget().Val
		switch n := val.Node.(type) {
		case *pg.Node_AConst:
			switch c := n.AConst.Val.(type) {
			case *pg.A_Const_Ival:
				it.val = sqltypes.Int(int64(c.Ival.Ival))
			case *pg.A_Const_Sval:
				it.val = sqltypes.Text(c.Sval.Sval)
				col.Type.OID = 25
			}
		case *pg.Node_TypeCast:
			if p := n.TypeCast.Arg.GetParamRef(); p != nil {
				it.param = int(p.Number)
				for len(plan.Params) < it.param {
					plan.Params = append(plan.Params, 23)
				}
			}
			col.Name = "int4"
		case *pg.Node_AExpr:
			return nil, pgerror.New(pgerror.DivisionByZero, "division by zero")
		case *pg.Node_FuncCall:
			name := n.FuncCall.Funcname[len(n.FuncCall.Funcname)-1].GetString_().Sval
			arg := n.FuncCall.Args[len(n.FuncCall.Args)-1].GetAConst()
			f, err := strconv.ParseFloat(arg.GetFval().GetFval(), 64)
			if err != nil {
				f = float64(arg.GetIval().GetIval())
			}
			col.Name = name
			switch name {
			case "pg_sleep":
				it.sleep = f
				col.Type.OID = 2278
			case "generate_series":
				root.series = int64(f)
			}
		default:
			return nil, pgerror.NotSupported("expression %T in the fake planner", n)
		}
		root.items = append(root.items, it)
		plan.Columns = append(plan.Columns, col)
	}
	return plan, nil
}

type fakeExec struct{}

type fakeRun struct {
	ctx  context.Context
	run  *session.Run
	root *fakeRoot
	args []sqltypes.Datum
	next int64
}

func (fakeExec) Start(ctx context.Context, run *session.Run, plan *planner.Plan, args []sqltypes.Datum) (session.Execution, error) {
	return &fakeRun{ctx: ctx, run: run, root: plan.Root.(*fakeRoot), args: args}, nil
}

func (fakeExec) Point(context.Context, engine.Engine, *planner.Plan, *sqltypes.Env, []sqltypes.Datum, []sqltypes.Datum) (bool, bool, error) {
	return false, true, nil
}

func (r *fakeRun) Next(b *expr.Batch) (int, error) {
	end := max(r.root.series, 1)
	n := int(min(end-r.next, 3)) // small batches find more mistakes
	if n == 0 {
		return 0, nil
	}
	b.N, b.Sel, b.Cols = n, nil, nil
	for _, it := range r.root.items {
		v := &expr.Vec{Kind: sqltypes.KDatum, Null: expr.Bitmap{0}}
		for i := range n {
			d := it.val
			switch {
			case it.param > 0:
				d = r.args[it.param-1]
			case it.sleep > 0:
				c := &sqltypes.Call{Env: r.run.Env, Proc: sqltypes.ProcsByName("pg_sleep")[0]}
				if _, err := c.Proc.Fn(c, []sqltypes.Datum{sqltypes.Float(it.sleep)}); err != nil {
					return 0, err
				}
			case r.root.series > 0:
				d = sqltypes.Int(r.next + int64(i) + 1)
			}
			if d.Null {
				v.Null.Set(i)
			}
			v.Dat = append(v.Dat, d)
		}
		b.Cols = append(b.Cols, v)
	}
	r.next += int64(n)
	return n, nil
}

func (fakeExec) Call(*planner.Plan, *sqltypes.Env, []sqltypes.Datum, func([]sqltypes.Datum) error) (bool, error) {
	return false, nil
}

func (r *fakeRun) Affected() int64 { return 0 }
func (r *fakeRun) Close()          {}

// startFake serves the fake planner and executor over an engine in memory.
func startFake(t testing.TB, change ...func(*Config)) (*Server, string) {
	t.Helper()
	eng, _, err := shard.OpenMem()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Deps: session.Deps{Engine: eng, Planner: fakePlanner{}, Exec: fakeExec{}, Registry: session.NewRegistry(0)}, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(l); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error("shutdown:", err)
		}
		<-done
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	port := l.Addr().(*net.TCPAddr).Port
	return srv, fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
}

var _ = catalog.PostgresDB
