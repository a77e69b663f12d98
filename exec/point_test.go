package exec

import (
	"context"
	"testing"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// pointTable is a table of accounts with rows 1…n.
func (h *harness) pointTable() *catalog.Relation {
	r := h.table("accounts", "aid int4 pk", "bid int4", "abalance int4", "filler text")
	h.fill(r, "1|1|10|x", "2|1|20|y")
	h.commit()
	return h.rel("accounts")
}

func pointSelectPlan(h *harness, r *catalog.Relation) *planner.Plan {
	return &planner.Plan{Catalog: h.s.Catalog(catalog.PostgresDB), Command: "SELECT", Columns: cols("abalance int4"),
		Point: &planner.PointPlan{Kind: 's', Rel: r, Index: r.Indexes[0], Key: []expr.Expr{par(1, "int4")}, Attrs: []int16{3},
			Out: []expr.Expr{col(0, "int4")}, OutIsAttrs: true}}
}

func pointUpdatePlan(h *harness, r *catalog.Relation) *planner.Plan {
	s, old := written(r)
	u := &planner.Update{Target: &planner.Target{Rel: r}, Input: s, OldCols: old,
		Set:       []expr.Expr{nil, nil, call("int4pl", col(2, "int4"), par(2, "int4")), nil},
		Returning: []expr.Expr{col(2, "int4")}}
	return &planner.Plan{Catalog: h.s.Catalog(catalog.PostgresDB), Command: "UPDATE", Root: u, Columns: cols("abalance int4"),
		Point: &planner.PointPlan{Kind: 'u', Rel: r, Index: r.Indexes[0], Key: []expr.Expr{par(1, "int4")}, Attrs: s.Attrs}}
}

func TestPointPlans(t *testing.T) {
	h := newHarness(t)
	r := h.pointTable()
	ctx := context.Background()
	sel := pointSelectPlan(h, r)
	out := make([]sqltypes.Datum, 1)
	get := func(id int64) (int64, bool) {
		t.Helper()
		found, stale, err := PointSelect(ctx, h.s, sel, h.env, []sqltypes.Datum{sqltypes.Int(id)}, out)
		if err != nil || stale {
			t.Fatal(stale, err)
		}
		return out[0].I, found
	}
	if v, ok := get(2); !ok || v != 20 {
		t.Fatal(v, ok)
	}
	if _, ok := get(3); ok {
		t.Fatal("found a row that is not there")
	}
	upd := pointUpdatePlan(h, r)
	write := func(p *planner.Plan, params ...sqltypes.Datum) (int64, error) {
		n, _, err := PointWrite(ctx, h.rt, p, Args{Txn: h.tx, Env: h.env, Params: params}, out)
		h.statement()
		return n, err
	}
	for i := range 3 {
		n, err := write(upd, sqltypes.Int(2), sqltypes.Int(5))
		if err != nil || n != 1 || out[0].I != int64(25+5*i) {
			t.Fatal(n, err, out)
		}
	}
	if n, err := write(upd, sqltypes.Int(9), sqltypes.Int(5)); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	ins := insertPlan(r, &planner.Result{})
	ins.Input = project(&planner.Result{}, par(1, "int4"), lit("1", "int4"), par(2, "int4"), lit("z", "text"))
	insPlan := &planner.Plan{Catalog: sel.Catalog, Command: "INSERT", Root: ins,
		Point: &planner.PointPlan{Kind: 'i', Rel: r, Index: r.Indexes[0], Out: ins.Input.(*planner.Project).Exprs}}
	if n, err := write(insPlan, sqltypes.Int(7), sqltypes.Int(70)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	_, err := write(insPlan, sqltypes.Int(7), sqltypes.Int(70))
	wantErr(t, err, pgerror.UniqueViolation, `duplicate key value violates unique constraint "accounts_pkey"`, "Key (aid)=(7) already exists.")
	s, old := written(r)
	delPlan := &planner.Plan{Catalog: sel.Catalog, Command: "DELETE", Root: &planner.Delete{Target: &planner.Target{Rel: r}, Input: s, OldCols: old},
		Point: &planner.PointPlan{Kind: 'd', Rel: r, Index: r.Indexes[0], Key: []expr.Expr{par(1, "int4")}, Attrs: s.Attrs}}
	if n, err := write(delPlan, sqltypes.Int(1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	h.expect(scan(r), "2|1|35|y", "7|1|70|z")
	h.commit()
	if v, _ := get(2); v != 35 {
		t.Fatal(v)
	}
}

func BenchmarkPointSelect(b *testing.B) {
	h := newHarness(b)
	r := h.pointTable()
	sel := pointSelectPlan(h, r)
	out := make([]sqltypes.Datum, 1)
	args := []sqltypes.Datum{sqltypes.Int(2)}
	ctx := context.Background()
	b.Run("exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if found, _, err := PointSelect(ctx, h.s, sel, h.env, args, out); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
	b.Run("engine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if found, _, err := h.s.GetNewest(ctx, sel.Catalog, r, r.Indexes[0], args, []int16{3}, out); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}

func BenchmarkPointUpdate(b *testing.B) {
	h := newHarness(b)
	r := h.pointTable()
	upd := pointUpdatePlan(h, r)
	out := make([]sqltypes.Datum, 1)
	args := Args{Txn: h.tx, Env: h.env, Params: []sqltypes.Datum{sqltypes.Int(2), sqltypes.Int(1)}}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if n, _, err := PointWrite(ctx, h.rt, upd, args, out); err != nil || n != 1 {
			b.Fatal(n, err)
		}
	}
}
