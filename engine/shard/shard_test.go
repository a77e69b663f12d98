package shard

import (
	"context"
	"fmt"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog/memlog"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// testEngine is a ready engine in memory.
func testEngine(t testing.TB) (*Shard, *memlog.Log) {
	t.Helper()
	s, l, err := OpenMem()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, l
}

const testDB = catalog.PostgresDB

func begin(t testing.TB, s *Shard, opts ...func(*engine.TxnOptions)) *Txn {
	t.Helper()
	o := engine.TxnOptions{Database: testDB}
	for _, f := range opts {
		f(&o)
	}
	tx, err := s.Begin(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.StartStatement(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tx.(*Txn)
}

func commit(t testing.TB, tx *Txn) {
	t.Helper()
	if _, err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func column(name string, typ sqltypes.OID) *catalog.Column {
	return &catalog.Column{Name: name, Type: sqltypes.ColumnType{OID: typ, TypMod: -1}}
}

type testTable struct {
	name  string
	cols  []*catalog.Column
	pk    []int16
	other []*catalog.Index
}

func keys(attrs ...int16) (ks []catalog.IndexKey) {
	for _, a := range attrs {
		ks = append(ks, catalog.IndexKey{Attr: a})
	}
	return ks
}

// createTable commits a table in schema public.
func createTable(t testing.TB, s *Shard, d testTable) *catalog.Relation {
	t.Helper()
	tx := begin(t, s)
	createIn(t, tx, d)
	commit(t, tx)
	return s.Catalog(testDB).RelationByName(catalog.SchemaPublic, d.name)
}

func createIn(t testing.TB, tx *Txn, d testTable) *catalog.Relation {
	t.Helper()
	ctx := context.Background()
	w := tx.Schema()
	oid := func() sqltypes.OID {
		o, err := w.NewOID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	sid := func() uint64 {
		o, err := w.NewStorageID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	r := &catalog.Relation{OID: oid(), Name: d.name, Schema: catalog.SchemaPublic, Kind: catalog.KindTable, Persistence: 'p',
		Owner: catalog.BootstrapRole, RowType: oid(), StorageID: sid(), Columns: d.cols}
	for i, c := range d.cols {
		c.Num = int16(i + 1)
	}
	if d.pk != nil {
		r.Indexes = append(r.Indexes, &catalog.Index{OID: oid(), Name: d.name + "_pkey", Schema: r.Schema, Method: "btree", Unique: true,
			Primary: true, Clustered: true, Ready: true, Keys: keys(d.pk...), Constraint: d.name + "_pkey"})
	}
	for _, ix := range d.other {
		ix.OID, ix.Schema, ix.Method, ix.Ready, ix.StorageID = oid(), r.Schema, "btree", true, sid()
		r.Indexes = append(r.Indexes, ix)
	}
	w.PutRelation(r)
	return tx.Catalog().Relation(r.OID)
}

func ints(vs ...int64) (ds []sqltypes.Datum) {
	for _, v := range vs {
		ds = append(ds, sqltypes.Int(v))
	}
	return ds
}

func insert(t testing.TB, tx *Txn, r *catalog.Relation, row ...sqltypes.Datum) engine.RowRef {
	t.Helper()
	ref, c, err := tx.Insert(context.Background(), &engine.WriteTarget{Rel: r}, row, nil)
	if err != nil || c != nil {
		t.Fatalf("insert: %v %v", c, err)
	}
	return ref
}

// rows scans all columns into text, one line per row.
func rows(t testing.TB, v engine.View, spec engine.ScanSpec) []string {
	t.Helper()
	if spec.Cols == nil {
		for i, c := range spec.Rel.Columns {
			if !c.Dropped {
				spec.Cols = append(spec.Cols, int16(i+1))
			}
		}
	}
	sc, err := v.Scan(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return drain(t, v.Catalog(), spec, sc)
}

func drain(t testing.TB, cat *catalog.Catalog, spec engine.ScanSpec, sc engine.Scanner) []string {
	t.Helper()
	defer sc.Close()
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	var out []string
	var b expr.Batch
	for {
		n, err := sc.Next(&b)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return out
		}
		for i := 0; i < n; i++ {
			line := ""
			for j, num := range spec.Cols {
				if j > 0 {
					line += " "
				}
				d := b.Cols[j].Datum(i)
				if d.Null {
					line += "NULL"
					continue
				}
				if num < 0 {
					line += fmt.Sprint(d)
					continue
				}
				line += string(cat.Type(spec.Rel.Columns[num-1].Type.OID).Out(env, nil, d))
			}
			out = append(out, line)
		}
	}
}

func expect(t testing.TB, got []string, want ...string) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func openView(t testing.TB, s *Shard) engine.View {
	t.Helper()
	v, err := s.View(context.Background(), testDB)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func TestFirstSlice(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	r := createTable(t, s, testTable{name: "t", cols: []*catalog.Column{column("a", 23), column("b", 25)}, pk: []int16{1},
		other: []*catalog.Index{{Name: "t_b", Keys: keys(2)}}})
	tx := begin(t, s)
	for i := int64(5); i > 0; i-- {
		insert(t, tx, r, sqltypes.Int(i), sqltypes.Text(fmt.Sprintf("v%d", 9-i)))
	}
	expect(t, rows(t, tx, engine.ScanSpec{Rel: r}))
	if err := tx.StartStatement(ctx); err != nil {
		t.Fatal(err)
	}
	expect(t, rows(t, tx, engine.ScanSpec{Rel: r}), "1 v8", "2 v7", "3 v6", "4 v5", "5 v4")
	commit(t, tx)
	v := openView(t, s)
	expect(t, rows(t, v, engine.ScanSpec{Rel: r, Reverse: true}), "5 v4", "4 v5", "3 v6", "2 v7", "1 v8")
	expect(t, rows(t, v, engine.ScanSpec{Rel: r, Index: r.Indexes[1]}), "5 v4", "4 v5", "3 v6", "2 v7", "1 v8")
	expect(t, rows(t, v, engine.ScanSpec{Rel: r, Spans: []engine.Span{{Lo: ints(2), LoInc: true, Hi: ints(4)}}}), "2 v7", "3 v6")

	// Update and delete, before and after commit.
	tx = begin(t, s)
	row := make([]sqltypes.Datum, 2)
	ref, found, err := tx.Get(ctx, r, nil, ints(2), []int16{1, 2}, row)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if out, err := tx.LockRow(ctx, r, &ref, engine.LockNoKeyUpdate, engine.WaitBlock, row); err != nil || out != engine.Locked {
		t.Fatal(out, err)
	}
	if _, err := tx.Update(ctx, &engine.WriteTarget{Rel: r}, ref, row, []sqltypes.Datum{sqltypes.Int(7), sqltypes.Text("new")}); err != nil {
		t.Fatal(err)
	}
	ref, _, err = tx.Get(ctx, r, nil, ints(3), []int16{1, 2}, row)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Delete(ctx, &engine.WriteTarget{Rel: r}, ref, row); err != nil {
		t.Fatal(err)
	}
	if err := tx.StartStatement(ctx); err != nil {
		t.Fatal(err)
	}
	want := []string{"7 new", "5 v4", "4 v5", "1 v8"}
	expect(t, rows(t, tx, engine.ScanSpec{Rel: r, Index: r.Indexes[1]}), want...)
	commit(t, tx)
	expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: r, Index: r.Indexes[1]}), want...)
	expect(t, rows(t, v, engine.ScanSpec{Rel: r}), "1 v8", "2 v7", "3 v6", "4 v5", "5 v4") // the old snapshot

	dst := make([]sqltypes.Datum, 1)
	found, stale, err := s.GetNewest(ctx, s.Catalog(testDB), r, nil, ints(7), []int16{2}, dst)
	if err != nil || stale || !found || dst[0].S != "new" {
		t.Fatal(found, stale, err, dst)
	}
}

func TestUniqueViolation(t *testing.T) {
	s, _ := testEngine(t)
	r := createTable(t, s, testTable{name: "t", cols: []*catalog.Column{column("a", 23), column("b", 25)}, pk: []int16{1, 2}})
	tx := begin(t, s)
	insert(t, tx, r, sqltypes.Int(1), sqltypes.Text("x"))
	commit(t, tx)
	tx = begin(t, s)
	_, _, err := tx.Insert(context.Background(), &engine.WriteTarget{Rel: r}, []sqltypes.Datum{sqltypes.Int(1), sqltypes.Text("x")}, nil)
	if err == nil || err.Error() != `duplicate key value violates unique constraint "t_pkey" (SQLSTATE 23505)` {
		t.Fatal(err)
	}
	tx.Rollback()
}
