package exec

import (
	"context"
	"strings"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func wantErr(t testing.TB, err error, code pgerror.Code, msg, detail string) {
	t.Helper()
	e, ok := err.(*pgerror.Error)
	if !ok {
		t.Fatalf("got error %v, want %s", err, msg)
	}
	if e.Code != code || e.Message != msg || e.Detail != detail {
		t.Fatalf("got %s %q %q\nwant %s %q %q", e.Code, e.Message, e.Detail, code, msg, detail)
	}
}

func TestInsertUpdateDelete(t *testing.T) {
	h := newHarness(t)
	r := h.table("t", "a int4 pk", "b text notnull", "n int4 unique")
	ins := insertPlan(r, values(types(r), "1|x|10", "2|y|20"))
	ins.Returning = []expr.Expr{col(0, "int4"), call("int4pl", col(2, "int4"), lit("1", "int4"))}
	ins.Columns = exprCols(ins.Returning)
	h.expect(ins, "1|11", "2|21")
	h.statement()
	_, _, err := h.run(insertPlan(r, values(types(r), "3|NULL|5")))
	wantErr(t, err, pgerror.NotNullViolation, `null value in column "b" of relation "t" violates not-null constraint`, "Failing row contains (3, null, 5).")
	_, _, err = h.run(insertPlan(r, values(types(r), "1|z|5")))
	wantErr(t, err, pgerror.UniqueViolation, `duplicate key value violates unique constraint "t_pkey"`, "Key (a)=(1) already exists.")
	ins = insertPlan(r, values(types(r), "4|z|-5"))
	ins.Target.Checks = []expr.DomainCheck{{Name: "t_n_check", Cond: call("int4gt", col(2, "int4"), lit("0", "int4"))}}
	_, _, err = h.run(ins)
	wantErr(t, err, pgerror.CheckViolation, `new row for relation "t" violates check constraint "t_n_check"`, "Failing row contains (4, z, -5).")

	s, old := written(r)
	u := &planner.Update{Target: &planner.Target{Rel: r}, Input: s, RefSlot: 0, OldCols: old,
		Set:       []expr.Expr{nil, nil, call("int4pl", col(2, "int4"), lit("100", "int4"))},
		Returning: []expr.Expr{col(2, "int4"), col(3+2, "int4")}}
	u.Columns = exprCols(u.Returning)
	h.expect(u, "110|10", "120|20")
	h.statement()
	h.expect(scan(r), "1|x|110", "2|y|120")
	s.Filter = call("int4eq", col(0, "int4"), lit("1", "int4"))
	d := &planner.Delete{Target: &planner.Target{Rel: r}, Input: s, RefSlot: 0, OldCols: old}
	if _, n, err := h.run(d); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	h.statement()
	h.expect(scan(r), "2|y|120")
	// Joined twice, a row is updated once.
	s2, _ := written(r)
	nl := &planner.NestLoop{Base: base("a int4", "b text", "n int4", "v int4"), Left: s2, Right: values([]string{"int4"}, "5", "6"), Kind: planner.JoinInner}
	u = &planner.Update{Target: &planner.Target{Rel: r}, Input: nl, OldCols: old, Set: []expr.Expr{nil, nil, col(3, "int4")}}
	if _, n, err := h.run(u); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	h.statement()
	h.expect(scan(r), "2|y|5")
}

func TestOnConflict(t *testing.T) {
	h := newHarness(t)
	r := h.table("t", "a int4 pk", "n int4")
	h.fill(r, "1|10", "2|20")
	ins := insertPlan(r, values(types(r), "1|5", "3|30"))
	ins.OnConflict = &planner.OnConflict{}
	if _, n, err := h.run(ins); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	h.statement()
	ins = insertPlan(r, values(types(r), "1|5", "2|7", "4|9"))
	ins.OnConflict = &planner.OnConflict{Arbiters: r.Indexes[:1], DoUpdate: true,
		Set:   []expr.Expr{nil, call("int4pl", col(1, "int4"), col(3, "int4"))},
		Where: call("int4lt", col(1, "int4"), lit("20", "int4"))}
	ins.Returning = []expr.Expr{col(0, "int4"), col(1, "int4")}
	ins.Columns = exprCols(ins.Returning)
	h.expect(ins, "1|15", "4|9")
	h.statement()
	h.expect(scan(r), "1|15", "2|20", "3|30", "4|9")
	twice := insertPlan(r, values(types(r), "9|1", "9|2"))
	twice.OnConflict = ins.OnConflict
	_, _, err := h.run(twice)
	wantErr(t, err, pgerror.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time", "")
}

func TestMerge(t *testing.T) {
	h := newHarness(t)
	r := h.table("t", "a int4 pk", "n int4")
	h.fill(r, "1|10", "2|20", "3|30")
	s, _ := written(r)
	src := values([]string{"int4", "int4"}, "1|1", "2|-1", "5|50")
	join := &planner.HashJoin{Base: base("k int4", "v int4", "a int4", "n int4"), Left: src, Right: s, Kind: planner.JoinLeft,
		LeftKeys: []expr.Expr{col(0, "int4")}, RightKeys: []expr.Expr{col(0, "int4")}}
	m := &planner.Merge{Target: &planner.Target{Rel: r}, Input: join, OldCols: []int{2, 3}, Actions: []planner.MergeAction{
		{Matched: true, Kind: 'd', Cond: call("int4lt", col(1, "int4"), lit("0", "int4"))},
		{Matched: true, Kind: 'u', Set: []expr.Expr{nil, call("int4pl", col(3, "int4"), col(1, "int4"))}},
		{Kind: 'i', Set: []expr.Expr{col(0, "int4"), col(1, "int4")}}}}
	if _, n, err := h.run(m); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	h.statement()
	h.expect(scan(r), "1|11", "3|30", "5|50")
}

// recheck: a row that another transaction changed meanwhile is looked at again.
func TestReadCommittedRecheck(t *testing.T) {
	h := newHarness(t)
	r := h.table("t", "a int4 pk", "n int4")
	h.fill(r, "1|10", "2|20")
	h.commit()
	r = h.rel("t")
	cond := call("int4lt", col(1, "int4"), lit("100", "int4"))
	update := func(r *catalog.Relation, filter expr.Expr) planner.Node {
		s, old := written(r)
		s.Filter = filter
		return &planner.Update{Target: &planner.Target{Rel: r}, Input: s, OldCols: old, Recheck: cond,
			Set: []expr.Expr{nil, call("int4pl", col(1, "int4"), lit("1", "int4"))}}
	}
	// The snapshot is taken now; others change both rows and commit.
	other, err := h.s.Begin(context.Background(), engine.TxnOptions{Database: catalog.PostgresDB})
	if err != nil {
		t.Fatal(err)
	}
	_ = h.rows(scan(r))
	mine := h.tx
	h.tx = other
	h.statement()
	s, old := written(r)
	if _, _, err := h.run(&planner.Update{Target: &planner.Target{Rel: r}, Input: s, OldCols: old,
		Set: []expr.Expr{nil, &expr.Case{T: tt("int4"), Whens: []expr.When{{Cond: call("int4eq", col(0, "int4"), lit("1", "int4")), Result: lit("50", "int4")}}, Else: lit("500", "int4")}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.tx = mine
	if _, n, err := h.run(update(r, cond)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	h.statement()
	h.expect(scan(r), "1|51", "2|500")
}

// fkTables makes p(id pk, v) and c(id pk, pid → p) with the given actions.
func (h *harness) fkTables(onDelete, onUpdate byte, change func(*catalog.ForeignKey)) (p, c *catalog.Relation) {
	p = h.table("p", "id int4 pk", "v int4")
	c = h.table("c", "id int4 pk", "pid int4 index")
	n := *c
	fk := &catalog.ForeignKey{OID: 99999, Name: "c_pid_fkey", Attrs: []int16{2}, RefTable: p.OID, RefAttrs: []int16{1}, RefIndex: p.Indexes[0].OID,
		OnDelete: onDelete, OnUpdate: onUpdate, Match: 's'}
	if change != nil {
		change(fk)
	}
	n.ForeignKeys = []*catalog.ForeignKey{fk}
	h.tx.Schema().PutRelation(&n)
	h.statement()
	return h.rel("p"), h.rel("c")
}

func (h *harness) target(r *catalog.Relation) *planner.Target {
	return &planner.Target{Rel: r, Incoming: IncomingFKs(h.tx.Catalog(), r.OID)}
}

func (h *harness) deleteWhere(r *catalog.Relation, id string) error {
	s, old := written(r)
	s.Filter = call("int4eq", col(0, "int4"), lit(id, "int4"))
	_, _, err := h.run(&planner.Delete{Target: h.target(r), Input: s, OldCols: old})
	h.statement()
	return err
}

func (h *harness) updateKey(r *catalog.Relation, id, to string) error {
	s, old := written(r)
	s.Filter = call("int4eq", col(0, "int4"), lit(id, "int4"))
	_, _, err := h.run(&planner.Update{Target: h.target(r), Input: s, OldCols: old, Set: []expr.Expr{lit(to, "int4"), nil}})
	h.statement()
	return err
}

func TestForeignKeys(t *testing.T) {
	const missing = `insert or update on table "c" violates foreign key constraint "c_pid_fkey"`
	const referenced = `update or delete on table "p" violates foreign key constraint "c_pid_fkey" on table "c"`
	t.Run("no action", func(t *testing.T) {
		h := newHarness(t)
		p, c := h.fkTables('a', 'a', nil)
		h.fill(p, "1|0", "2|0")
		h.fill(c, "10|1", "11|NULL")
		_, _, err := h.run(insertPlan(c, values(types(c), "12|7")))
		wantErr(t, err, pgerror.ForeignKeyViolation, missing, `Key (pid)=(7) is not present in table "p".`)
		h.begin2(t)
		p, c = h.fkTables('a', 'a', nil)
		h.fill(p, "1|0", "2|0")
		h.fill(c, "10|1")
		wantErr(t, h.deleteWhere(p, "1"), pgerror.ForeignKeyViolation, referenced, `Key (id)=(1) is still referenced from table "c".`)
		h.begin2(t)
		p, c = h.fkTables('a', 'a', nil)
		h.fill(p, "1|0", "2|0")
		h.fill(c, "10|1")
		if err := h.deleteWhere(p, "2"); err != nil {
			t.Fatal(err)
		}
		wantErr(t, h.updateKey(p, "1", "5"), pgerror.ForeignKeyViolation, referenced, `Key (id)=(1) is still referenced from table "c".`)
	})
	t.Run("cascade", func(t *testing.T) {
		h := newHarness(t)
		p, c := h.fkTables('c', 'c', nil)
		h.fill(p, "1|0", "2|0")
		h.fill(c, "10|1", "11|2", "12|1")
		if err := h.deleteWhere(p, "1"); err != nil {
			t.Fatal(err)
		}
		h.expect(scan(c), "11|2")
		if err := h.updateKey(p, "2", "3"); err != nil {
			t.Fatal(err)
		}
		h.expect(scan(c), "11|3")
	})
	t.Run("set null", func(t *testing.T) {
		h := newHarness(t)
		p, c := h.fkTables('n', 'n', nil)
		h.fill(p, "1|0", "2|0")
		h.fill(c, "10|1", "11|2")
		if err := h.deleteWhere(p, "1"); err != nil {
			t.Fatal(err)
		}
		if err := h.updateKey(p, "2", "3"); err != nil {
			t.Fatal(err)
		}
		h.expect(scan(c), "10|null", "11|null")
	})
	t.Run("deferred", func(t *testing.T) {
		h := newHarness(t)
		p, c := h.fkTables('a', 'a', func(fk *catalog.ForeignKey) { fk.Deferrable, fk.InitiallyDeferred = true, true })
		h.fill(c, "10|1")
		if h.def.Len() != 1 {
			t.Fatal("the check does not wait")
		}
		h.fill(p, "1|0")
		h.commit()
		p, c = h.rel("p"), h.rel("c")
		h.fill(c, "11|5")
		err := h.def.Run(context.Background(), h.rt, h.tx, h.env, true)
		wantErr(t, err, pgerror.ForeignKeyViolation, missing, `Key (pid)=(5) is not present in table "p".`)
		_ = p
	})
}

// begin2 gives up the transaction (and its tables) and begins another.
func (h *harness) begin2(t *testing.T) {
	h.tx.Rollback()
	h.begin()
}

func TestModifyingCTE(t *testing.T) {
	h := newHarness(t)
	a := h.table("a", "id int4 pk", "v int4")
	h.fill(a, "1|10", "2|20", "3|30")
	s, old := written(a)
	del := &planner.Delete{Target: &planner.Target{Rel: a}, Input: s, OldCols: old, Returning: []expr.Expr{col(0, "int4"), col(1, "int4")}}
	del.Columns = cols("id int4", "v int4")
	cte := &planner.CTE{Name: "t", Root: del, Modifying: true, Columns: del.Columns}
	// The scan of the table sees the statement's snapshot, before the delete.
	both := &planner.Append{Base: planner.Base{Columns: del.Columns}, Inputs: []planner.Node{&planner.CTEScan{Base: planner.Base{Columns: del.Columns}, CTE: cte}, scan(a)}}
	expectRows(t, h.rows(both, func(p *planner.Plan, _ *Args) { p.CTEs = []*planner.CTE{cte} }), "1|10", "2|20", "3|30", "1|10", "2|20", "3|30")
	h.statement()
	h.expect(scan(a))
	// Not read at all, it runs anyway.
	ins := insertPlan(a, values(types(a), "7|70"))
	cte = &planner.CTE{Name: "t", Root: ins, Modifying: true}
	expectRows(t, h.rows(values([]string{"int4"}, "1"), func(p *planner.Plan, _ *Args) { p.CTEs = []*planner.CTE{cte} }), "1")
	h.statement()
	h.expect(scan(a), "7|70")
}

func TestHardLimit(t *testing.T) {
	h := newHarness(t)
	var rows []string
	for range 2000 {
		rows = append(rows, "1|"+strings.Repeat("x", 100))
	}
	v := values([]string{"int4", "text"}, rows...)
	h.arg.HardLimit = 50000
	_, _, err := h.run(&planner.NestLoop{Base: base("a int4", "b text", "c int4", "d text"), Left: v, Right: v, Kind: planner.JoinInner})
	if !pgerror.Is(err, pgerror.OutOfMemory) {
		t.Fatal(err)
	}
}

func TestCancel(t *testing.T) {
	h := newHarness(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	want := pgerror.New(pgerror.QueryCanceled, "canceling statement due to user request")
	cancel(want)
	p := &planner.Plan{Root: values([]string{"int4"}, "1"), Columns: cols("a int4")}
	x, err := Start(ctx, h.rt, p, Args{Txn: h.tx, Env: h.env})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var b expr.Batch
	if _, err := x.Next(&b); err != want {
		t.Fatal(err)
	}
	_ = sqltypes.Null
}

// TestLockRowsLimit: rows that a LIMIT does not take are not locked.
func TestLockRowsLimit(t *testing.T) {
	h := newHarness(t)
	h.table("queue", "id int4 pk", "data text")
	h.query("insert into queue values (1, 'a'), (2, 'b'), (3, 'c')")
	h.commit()
	other := *h
	other.begin()
	defer other.tx.Rollback()
	expectRows(t, h.query("select id from queue order by id limit 1 for update"), "1")
	expectRows(t, other.query("select id from queue order by id limit 1 for update skip locked"), "2")
	expectRows(t, h.query("select id from queue order by id offset 1 limit 5 for update skip locked"), "3")
}
