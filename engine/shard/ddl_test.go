package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/storage"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func TestBootstrap(t *testing.T) {
	s, _ := testEngine(t)
	c := s.Catalog(testDB)
	for name, oid := range map[string]sqltypes.OID{"public": 2200, "pg_catalog": 11} {
		if sc := c.SchemaByName(name); sc == nil || sc.OID != oid {
			t.Errorf("schema %s: %v", name, sc)
		}
	}
	if r := c.RoleByName("postgres"); r == nil || !r.Super || r.OID != 10 {
		t.Errorf("role postgres: %v", r)
	}
	for _, db := range []string{"postgres", "template1", "template0"} {
		if d := c.DatabaseByName(db); d == nil || s.Catalog(d.OID) == nil {
			t.Errorf("database %s: %v", db, d)
		}
	}
	if c.Type(23) == nil || c.Type(23).Name != "int4" {
		t.Error("no built-in types")
	}
	tx := begin(t, s)
	oid, err := tx.Schema().NewOID(context.Background())
	if err != nil || oid != catalog.FirstUserOID {
		t.Fatal(oid, err)
	}
}

// DDL is seen by its own transaction at once, by others after commit, and undone by savepoints.
func TestTransactionalDDL(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	tx := begin(t, s)
	r := createIn(t, tx, testTable{name: "t", cols: []*catalog.Column{column("a", 23)}, pk: []int16{1}})
	insert(t, tx, r, ints(1)...)
	sp := tx.Savepoint()
	r2 := *r
	r2.Columns = append(append([]*catalog.Column(nil), r.Columns...), &catalog.Column{Num: 2, Name: "b", Type: sqltypes.ColumnType{OID: 25, TypMod: -1},
		HasMissing: true, Missing: sqltypes.Text("dflt")})
	tx.Schema().PutRelation(&r2)
	now := tx.Catalog().Relation(r.OID)
	if err := tx.StartStatement(ctx); err != nil {
		t.Fatal(err)
	}
	insert(t, tx, now, sqltypes.Int(2), sqltypes.Text("x"))
	if err := tx.StartStatement(ctx); err != nil {
		t.Fatal(err)
	}
	expect(t, rows(t, tx, engine.ScanSpec{Rel: now}), "1 dflt", "2 x")
	if err := tx.RollbackTo(sp); err != nil {
		t.Fatal(err)
	}
	now = tx.Catalog().Relation(r.OID)
	if len(now.Columns) != 1 || s.Catalog(testDB).Relation(r.OID) != nil {
		t.Fatal(now.Columns)
	}
	tx.Schema().PutRelation(&r2)
	commit(t, tx)
	now = s.Catalog(testDB).Relation(r.OID)
	expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: now}), "1 dflt")
	if u := s.Catalog(testDB).TypeByName(catalog.SchemaPublic, "t"); u == nil || s.Catalog(testDB).Type(u.OID) == nil || len(s.Catalog(testDB).Type(u.OID).Fields) != 2 {
		t.Fatalf("row type %v", u)
	}
	// A writer with the old descriptor is told so.
	tx = begin(t, s)
	_, _, err := tx.Insert(ctx, &engine.WriteTarget{Rel: r}, ints(5), nil)
	if pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Fatal(err)
	}
	tx.Rollback()

	// TRUNCATE: a new storage id; an old snapshot still sees the rows.
	v := openView(t, s)
	tx = begin(t, s)
	if err := tx.LockRelation(ctx, now.OID, engine.AccessExclusive, engine.WaitBlock); err != nil {
		t.Fatal(err)
	}
	r3 := *now
	if r3.StorageID, err = tx.Schema().NewStorageID(ctx); err != nil {
		t.Fatal(err)
	}
	tx.Schema().DeleteStorage(now.StorageID)
	tx.Schema().PutRelation(&r3)
	commit(t, tx)
	expect(t, rows(t, v, engine.ScanSpec{Rel: now}), "1 dflt")
	r4 := s.Catalog(testDB).Relation(r.OID)
	if len(r4.Layouts) != 1 {
		t.Fatalf("%d layouts", len(r4.Layouts))
	}
	expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: r4}))
	for k := range dump(t, s) {
		if id, _, ok := storage.SplitData([]byte(k)); ok && id == now.StorageID {
			t.Fatalf("key %x left", k)
		}
	}
}

func TestTypesWithoutKey(t *testing.T) {
	s, _ := testEngine(t)
	tx := begin(t, s)
	createIn(t, tx, testTable{name: "t", cols: []*catalog.Column{column("a", sqltypes.OIDPoint)}, pk: []int16{1}})
	_, err := tx.Commit(context.Background())
	if err == nil || err.Error() != "data type point has no default operator class for access method \"btree\" (SQLSTATE 42704)" {
		t.Fatal(err)
	}
}

func TestUserTypes(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	tx := begin(t, s)
	w := tx.Schema()
	var oids []sqltypes.OID
	for range 12 {
		o, err := w.NewOID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		oids = append(oids, o)
	}
	enum := &catalog.UserType{OID: oids[0], ArrayOID: oids[1], Name: "mood", ArrayName: "_mood", Schema: catalog.SchemaPublic, Kind: 'e',
		Labels: []catalog.EnumLabel{{OID: oids[2], Label: "sad", Order: 1}, {OID: oids[3], Label: "happy", Order: 2}}}
	w.PutType(enum)
	w.PutType(&catalog.UserType{OID: oids[5], Name: "d", Schema: catalog.SchemaPublic, Kind: 'd', Base: sqltypes.ColumnType{OID: oids[0], TypMod: -1}})
	w.PutType(&catalog.UserType{OID: oids[6], Name: "r", Schema: catalog.SchemaPublic, Kind: 'r', Subtype: sqltypes.OIDFloat8, Multirange: oids[7]})
	r := createIn(t, tx, testTable{name: "t", cols: []*catalog.Column{column("a", oids[5]), column("b", oids[1])}, pk: []int16{1}})
	typ := tx.Catalog().Type(oids[0])
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	val := func(l string) sqltypes.Datum {
		d, err := typ.In(env, l, -1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	arr := sqltypes.MakeVector(typ, []sqltypes.Datum{val("happy")})
	insert(t, tx, r, val("happy"), arr)
	insert(t, tx, r, val("sad"), arr)
	commit(t, tx)
	expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: s.Catalog(testDB).Relation(r.OID)}), "sad {happy}", "happy {happy}")
	if m := s.Catalog(testDB).Type(oids[7]); m == nil || m.TypType != 'm' {
		t.Fatalf("multirange %v", m)
	}

	// ALTER TYPE ADD VALUE 'ok' BEFORE 'happy'
	tx = begin(t, s)
	e2 := *enum
	e2.Labels = append(append([]catalog.EnumLabel(nil), enum.Labels...), catalog.EnumLabel{OID: oids[4], Label: "ok", Order: 1.5})
	tx.Schema().PutType(&e2)
	commit(t, tx)
	tx = begin(t, s)
	typ = tx.Catalog().Type(oids[0])
	insert(t, tx, tx.Catalog().Relation(r.OID), val("ok"), arr)
	commit(t, tx)
	expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: s.Catalog(testDB).Relation(r.OID)}), "sad {happy}", "ok {happy}", "happy {happy}")
}

func createSequence(t testing.TB, s *Shard, def catalog.Sequence) *catalog.Relation {
	t.Helper()
	ctx := context.Background()
	tx := begin(t, s)
	oid, err := tx.Schema().NewOID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if def.StorageID, err = tx.Schema().NewStorageID(ctx); err != nil {
		t.Fatal(err)
	}
	tx.Schema().PutRelation(&catalog.Relation{OID: oid, Name: "s", Schema: catalog.SchemaPublic, Kind: catalog.KindSequence, Sequence: &def})
	commit(t, tx)
	return s.Catalog(testDB).Relation(oid)
}

func TestSequences(t *testing.T) {
	s, l := testEngine(t)
	ctx := context.Background()
	q := createSequence(t, s, catalog.Sequence{Type: 20, Start: 1, Increment: 1, Min: 1, Max: 1 << 40, Cache: 1})
	var mu sync.Mutex
	seen := map[int64]bool{}
	next := func() {
		tx := begin(t, s)
		v, err := tx.NextVal(ctx, q)
		if err != nil {
			t.Error(err)
		}
		commit(t, tx)
		mu.Lock()
		defer mu.Unlock()
		if seen[v] {
			t.Errorf("%d twice", v)
		}
		seen[v] = true
	}
	for term := uint64(2); term < 6; term++ {
		var wg sync.WaitGroup
		for range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 10 {
					next()
				}
			}()
		}
		wg.Wait()
		l.NextTerm()
		waitTerm(t, s, term)
	}
	for i := range int64(len(seen)) {
		if !seen[i+1] {
			t.Fatalf("a gap at %d", i+1)
		}
	}
	// setval is not undone, not even by a new term.
	tx := begin(t, s)
	if err := tx.SetVal(ctx, q, 7, true); err != nil {
		t.Fatal(err)
	}
	tx.Rollback()
	tx = begin(t, s)
	if v, err := tx.NextVal(ctx, q); err != nil || v != 8 {
		t.Fatal(v, err)
	}
	commit(t, tx)
	if last, called, err := s.SequenceState(q); err != nil || last != 8 || !called {
		t.Fatal(last, called, err)
	}
}

func TestSequenceBounds(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	for _, c := range []struct {
		def  catalog.Sequence
		want string
	}{
		{catalog.Sequence{Start: 2, Increment: 2, Min: 1, Max: 5}, `2 4 nextval: reached maximum value of sequence "s" (5) (SQLSTATE 2200H)`},
		{catalog.Sequence{Start: 2, Increment: 2, Min: 1, Max: 5, Cycle: true}, "2 4 1 3 5 1"},
		{catalog.Sequence{Start: -1, Increment: -1, Min: -2, Max: -1}, `-1 -2 nextval: reached minimum value of sequence "s" (-2) (SQLSTATE 2200H)`},
		{catalog.Sequence{Start: -1, Increment: -1, Min: -2, Max: -1, Cycle: true}, "-1 -2 -1 -2 -1 -2"},
	} {
		q := createSequence(t, s, c.def)
		got := ""
		for i := range 6 {
			tx := begin(t, s)
			v, err := tx.NextVal(ctx, q)
			if i > 0 {
				got += " "
			}
			if err != nil {
				got += err.Error()
				tx.Rollback()
				break
			}
			got += fmt.Sprint(v)
			commit(t, tx)
			if last, _, err := s.SequenceState(q); err != nil || last != v {
				t.Fatalf("state %d, value %d: %v", last, v, err)
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %q, want %q", c.def, got, c.want)
		}
		tx := begin(t, s)
		tx.Schema().DropRelation(q.OID)
		commit(t, tx)
	}
}

func TestBuildIndex(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	r := createTable(t, s, testTable{name: "t", cols: []*catalog.Column{column("a", 23), column("b", 23)}})
	tx := begin(t, s)
	for i := range int64(50) {
		insert(t, tx, r, ints(i, i%10)...)
	}
	commit(t, tx)
	for _, unique := range []bool{false, true} {
		tx = begin(t, s)
		insert(t, tx, r, ints(100, 3)...)
		w := tx.Schema()
		oid, err1 := w.NewOID(ctx)
		sid, err2 := w.NewStorageID(ctx)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		ix := &catalog.Index{OID: oid, Name: "t_b", Schema: r.Schema, Method: "btree", Unique: unique, StorageID: sid, Ready: true, Keys: keys(2)}
		c := *r
		c.Indexes = append(append([]*catalog.Index(nil), r.Indexes...), ix)
		w.PutRelation(&c)
		err := w.BuildIndex(ctx, &engine.WriteTarget{Rel: tx.Catalog().Relation(r.OID)}, ix)
		if unique {
			pe, _ := err.(*pgerror.Error)
			if pe == nil || pe.Message != `could not create unique index "t_b"` || pe.Detail != "Key (b)=(0) is duplicated." {
				t.Fatal(err)
			}
			tx.Rollback()
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
		r = s.Catalog(testDB).Relation(r.OID)
		got := rows(t, openView(t, s), engine.ScanSpec{Rel: r, Index: r.Indexes[0], Spans: []engine.Span{{Lo: ints(3), LoInc: true, Hi: ints(3), HiInc: true}}})
		expect(t, got, "3 3", "13 3", "23 3", "33 3", "43 3", "100 3")
		checkIndexes(t, s, r)
	}
}

func TestCopyDatabase(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	r := bulk(t, s, "t", 20)
	tx := begin(t, s)
	oid, err := tx.Schema().NewOID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx.Schema().PutDatabase(&catalog.Database{OID: oid, Name: "copy", AllowConn: true, ConnLimit: -1})
	if err := tx.Schema().CopyDatabase(ctx, testDB, oid); err != nil {
		t.Fatal(err)
	}
	commit(t, tx)
	v, err := s.View(ctx, oid)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	c := v.Catalog().RelationByName(catalog.SchemaPublic, "t")
	if c == nil || c.OID != r.OID || c.StorageID == r.StorageID {
		t.Fatal(c)
	}
	if n := len(rows(t, v, engine.ScanSpec{Rel: c})); n != 20 {
		t.Fatal(n)
	}
	tx = begin(t, s)
	tx.Schema().DropDatabase(oid)
	commit(t, tx)
	if s.Catalog(oid) != nil || s.Catalog(testDB).DatabaseByName("copy") != nil {
		t.Fatal("the database is still there")
	}
	for k := range dump(t, s) {
		if id, _, ok := storage.SplitData([]byte(k)); ok && id == c.StorageID {
			t.Fatalf("key %x left", k)
		}
	}
	if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); n != 20 {
		t.Fatal(n)
	}
}

func TestNotify(t *testing.T) {
	s, _ := testEngine(t)
	var got []engine.Notification
	cancel := s.Listen(testDB, func(n engine.Notification) { got = append(got, n) })
	tx := begin(t, s, func(o *engine.TxnOptions) { o.PID = 9 })
	for _, p := range []string{"a", "b", "a"} {
		if err := tx.Notify("ch", p); err != nil {
			t.Fatal(err)
		}
	}
	sp := tx.Savepoint()
	if err := tx.Notify("ch", "c"); err != nil {
		t.Fatal(err)
	}
	if err := tx.RollbackTo(sp); err != nil {
		t.Fatal(err)
	}
	commit(t, tx)
	cancel()
	if fmt.Sprint(got) != "[{5 ch a 9} {5 ch b 9}]" {
		t.Fatal(got)
	}
}

func TestAdvisoryLocks(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	a, b := engine.AdvisoryOwner{Node: "n", PID: 1}, engine.AdvisoryOwner{Node: "n", PID: 2}
	key := engine.AdvisoryKey{Database: testDB, Lo: 7}
	lock := func(o engine.AdvisoryOwner, exclusive bool, want bool) {
		t.Helper()
		if ok, err := s.AdvisoryLock(ctx, o, key, exclusive, false); err != nil || ok != want {
			t.Fatal(ok, err)
		}
	}
	lock(a, true, true)
	lock(a, true, true)
	lock(b, false, false)
	for _, want := range []bool{true, true, false} {
		if ok, err := s.AdvisoryUnlock(ctx, a, key, true); err != nil || ok != want {
			t.Fatal(ok, err)
		}
	}
	lock(b, false, true)
	lock(a, false, true)
	tx := begin(t, s)
	lock(engine.AdvisoryOwner{Txn: tx}, true, false)
	if err := s.AdvisoryUnlockAll(ctx, a); err != nil {
		t.Fatal(err)
	}
	if err := s.AdvisoryUnlockAll(ctx, b); err != nil {
		t.Fatal(err)
	}
	lock(engine.AdvisoryOwner{Txn: tx}, true, true)
	lock(a, false, false)
	tx.Rollback()
	lock(a, false, true)
}

// DDL in a database with many tables costs well under a millisecond.
func BenchmarkDDL(b *testing.B) {
	s, _ := testEngine(b)
	for i := range 500 {
		createTable(b, s, testTable{name: fmt.Sprint("t", i), cols: []*catalog.Column{column("a", 23), column("b", 25)}, pk: []int16{1}})
	}
	r := s.Catalog(testDB).RelationByName(catalog.SchemaPublic, "t7")
	b.ReportAllocs()
	for b.Loop() {
		tx := begin(b, s)
		c := *r
		tx.Schema().PutRelation(&c)
		commit(b, tx)
	}
}

// A scan that is open goes on over what its statement saw when the next
// statement takes a new snapshot.
func TestScanOutlivesStatement(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	r := counterTable(t, s, 100)
	tx := begin(t, s)
	sc, err := tx.Scan(ctx, engine.ScanSpec{Rel: r, Cols: []int16{1, 2}, RowHint: 10})
	if err != nil {
		t.Fatal(err)
	}
	other := begin(t, s)
	for i := range int64(100) {
		if err := addTo(other, r, i, 1); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, other, r, ints(1000, 0)...)
	commit(t, other)
	if err := tx.StartStatement(ctx); err != nil {
		t.Fatal(err)
	}
	if got := sum(t, tx, r); got != 100 {
		t.Fatal(got)
	}
	done, err := s.cur.Load().db.Flush()
	if err != nil {
		t.Fatal(err)
	}
	<-done
	lines := drain(t, tx.Catalog(), engine.ScanSpec{Rel: r, Cols: []int16{1, 2}}, sc)
	if len(lines) != 100 || lines[99] != "99 0" {
		t.Fatal(len(lines), lines[99])
	}
	tx.Rollback()
}

func TestSnapshotAge(t *testing.T) {
	s, _ := testEngine(t)
	now := time.Unix(1000, 0)
	s.opts.Now, s.opts.MaxSnapshotAge = func() time.Time { return now }, time.Minute
	r := counterTable(t, s, 1)
	v := openView(t, s)
	expect(t, rows(t, v, engine.ScanSpec{Rel: r}), "0 0")
	now = now.Add(2 * time.Minute)
	if _, err := v.Scan(context.Background(), engine.ScanSpec{Rel: r}); pgerror.CodeOf(err) != pgerror.SnapshotTooOld || s.SnapshotsTooOld() != 1 {
		t.Fatal(err)
	}
}

// nextval and ALTER SEQUENCE keep each other out until the transaction ends, and
// nextval then goes by the new definition.
func TestAlterSequenceWaits(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	q := createSequence(t, s, catalog.Sequence{Type: 20, Start: 1, Increment: 1, Min: 1, Max: 1 << 40, Cache: 1})
	alter := begin(t, s)
	if err := alter.LockRelation(ctx, q.OID, engine.ShareRowExclusive, engine.WaitBlock); err != nil {
		t.Fatal(err)
	}
	changed := *q
	def := *q.Sequence
	def.Increment = 10
	changed.Sequence = &def
	alter.Schema().PutRelation(&changed)
	user := begin(t, s)
	if v, err := begin(t, s).NextVal(ctx, createSequence(t, s, def)); err != nil || v != 1 {
		t.Fatal(v, err) // another sequence is not in the way
	}
	type result struct {
		v   int64
		err error
	}
	done := make(chan result)
	go func() {
		v, err := user.NextVal(ctx, q)
		done <- result{v, err}
	}()
	waitBlocked(t, s)
	commit(t, alter)
	if got := <-done; got.err != nil || got.v != 1 {
		t.Fatal(got)
	}
	if v, err := user.NextVal(ctx, q); err != nil || v != 11 {
		t.Fatal(v, err)
	}
	user.Rollback()
}

// Who waited for DDL with an older snapshot must not overwrite its work.
func TestLockRelationNewest(t *testing.T) {
	ctx := context.Background()
	for _, level := range []engine.Isolation{engine.ReadCommitted, engine.RepeatableRead} {
		s, _ := testEngine(t)
		r := counterTable(t, s, 1)
		first, second := begin(t, s), begin(t, s, isolation(level))
		if second.Catalog().Relation(r.OID) != r {
			t.Fatal("the catalogue is another")
		}
		if err := first.LockRelation(ctx, r.OID, engine.AccessExclusive, engine.WaitBlock); err != nil {
			t.Fatal(err)
		}
		changed := *r
		changed.Persistence = 'u'
		first.Schema().PutRelation(&changed)
		done := make(chan error)
		go func() { done <- second.LockRelation(ctx, r.OID, engine.AccessExclusive, engine.WaitBlock) }()
		waitBlocked(t, s)
		commit(t, first)
		err := <-done
		if level == engine.RepeatableRead {
			if !errors.Is(err, engine.ErrStale) {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatal(err)
		} else if err := second.StartStatement(ctx); err != nil {
			t.Fatal(err)
		} else if second.Catalog().Relation(r.OID).Persistence != 'u' {
			t.Fatal("READ COMMITTED does not see the change that it waited for")
		}
		second.Rollback()
	}
}
