package shard

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/colcache"
	"ostraka/engine/commitlog/memlog"
	"ostraka/engine/storage"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// columnEngine is an engine that leaves the columns of every scan in memory.
func columnEngine(t testing.TB, bytes int64) (*Shard, *colcache.Budget) {
	t.Helper()
	b := colcache.NewBudget(bytes)
	b.Worth = 1
	s, err := Open(Options{Dir: "shard", FS: storage.MemFS(), FlushInterval: -1, MemTableSize: 16 << 20, Columns: b})
	if err != nil {
		t.Fatal(err)
	}
	l := memlog.New(s.Applier())
	s.owned = l
	s.AttachLog(l)
	if _, err := s.leading(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := b.Used(); n != 0 {
			t.Errorf("%d bytes of columns are left", n)
		}
	})
	return s, b
}

func columnTable(t testing.TB, s *Shard) *catalog.Relation {
	num := column("num", sqltypes.OIDNumeric)
	return createTable(t, s, testTable{name: "m", cols: []*catalog.Column{column("a", sqltypes.OIDInt4), column("b", sqltypes.OIDInt8),
		column("s", sqltypes.OIDText), column("f", sqltypes.OIDFloat8), num, column("few", sqltypes.OIDText)}, pk: []int16{1}})
}

func randomRow(rng *rand.Rand, key int64) []sqltypes.Datum {
	row := []sqltypes.Datum{sqltypes.Int(key), sqltypes.Int(rng.Int63n(1 << (1 + rng.Intn(60)))), {S: fmt.Sprintf("text %d", rng.Int())},
		sqltypes.Float(rng.NormFloat64()), {I: rng.Int63n(100000), Aux: 2}, {S: []string{"", "x", "yes", "no"}[rng.Intn(4)]}}
	if rng.Intn(500) == 0 {
		row[4].Aux = 3
	}
	for i := 1; i < len(row); i++ {
		if rng.Intn(20) == 0 {
			row[i] = sqltypes.Null
		}
	}
	return row
}

func remove(t testing.TB, tx *Txn, r *catalog.Relation, key int64) {
	t.Helper()
	ref, row, found, err := scanOne(tx, r, key)
	if err != nil {
		t.Fatal(err)
	}
	if found {
		if err := tx.Delete(context.Background(), &engine.WriteTarget{Rel: r}, ref, row); err != nil {
			t.Fatal(err)
		}
	}
}

// sameAsRows compares a scan with the same scan of the rows themselves.
func sameAsRows(t testing.TB, v engine.View, spec engine.ScanSpec) int {
	t.Helper()
	got := rows(t, v, spec)
	spec.Steady = true
	want := rows(t, v, spec)
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("row %d of %d: memory says %q, the store %q", i, len(want), got[i], want[i])
			}
		}
		t.Fatalf("%d rows from memory, %d in the store", len(got), len(want))
	}
	return len(got)
}

// Scans see what is in the store, whatever the columns in memory are of: through
// random writes, old views, transactions with writes of their own, ranges.
func TestColumnsInMemory(t *testing.T) {
	for seed := range int64(3) {
		bytes := int64(1 << 30)
		if seed == 2 {
			bytes = 40_000
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewSource(seed))
			s, b := columnEngine(t, bytes)
			r := columnTable(t, s)
			tx := begin(t, s)
			for i := range int64(4000) {
				insert(t, tx, r, randomRow(rng, 3*i)...)
			}
			commit(t, tx)
			var old []engine.View
			for range 40 {
				switch rng.Intn(4) {
				case 0: // a run of keys is replaced
					from, n := rng.Int63n(12000), rng.Int63n(40)
					tx := begin(t, s)
					for k := from; k < from+n; k++ {
						remove(t, tx, r, k)
						if rng.Intn(3) > 0 {
							insert(t, tx, r, randomRow(rng, k)...)
						}
					}
					commit(t, tx)
				case 1:
					old = append(old, openView(t, s))
				case 2: // own writes are merged
					tx := begin(t, s)
					remove(t, tx, r, rng.Int63n(12000))
					sameAsRows(t, tx, engine.ScanSpec{Rel: r, Own: true})
					tx.Rollback()
				}
				spec := engine.ScanSpec{Rel: r}
				switch rng.Intn(3) {
				case 0:
					spec.Cols = []int16{int16(1 + rng.Intn(6)), int16(1 + rng.Intn(6))}
				case 1:
					lo := rng.Int63n(9000)
					spec.Spans = []engine.Span{{Lo: ints(lo), Hi: ints(lo + rng.Int63n(9000)), LoInc: rng.Intn(2) == 0, HiInc: rng.Intn(2) == 0}}
				}
				v := openView(t, s)
				sameAsRows(t, v, spec)
				v.Close()
				if len(old) > 0 {
					sameAsRows(t, old[rng.Intn(len(old))], spec)
				}
			}
			for _, v := range old {
				v.Close()
			}
			if b.Served() == 0 {
				t.Error("nothing was answered from memory")
			}
			if b.Used() > bytes {
				t.Errorf("%d bytes in use of %d", b.Used(), bytes)
			}
		})
	}
}

// A writer moves an amount between two rows all the time: no scan may see it twice
// or not at all.
func TestColumnsUnderWrites(t *testing.T) {
	s, b := columnEngine(t, 1<<30)
	r := counterTable(t, s, 20000)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		rng := rand.New(rand.NewSource(1))
		for ctx.Err() == nil {
			// Most writes stay in one corner, so that chunks live.
			x, y := rng.Int63n(500), 500+rng.Int63n(500)
			if rng.Intn(50) == 0 {
				y = 1000 + rng.Int63n(19000)
			}
			tx := begin(t, s)
			if err := addTo(tx, r, x, 1); err != nil {
				t.Error(err)
			}
			if err := addTo(tx, r, y, -1); err != nil {
				t.Error(err)
			}
			commit(t, tx)
		}
	})
	for range 40 {
		v := openView(t, s)
		var sum, n int64
		sc, err := v.Scan(ctx, engine.ScanSpec{Rel: r, Cols: []int16{2}})
		if err != nil {
			t.Fatal(err)
		}
		sumOf(t, sc, &sum, &n)
		if sum != 0 || n != 20000 {
			t.Errorf("%d rows with sum %d", n, sum)
		}
		v.Close()
	}
	stop()
	wg.Wait()
	if b.Served() == 0 {
		t.Error("nothing was answered from memory")
	}
}

// A column that a transaction adds and takes back leaves nothing behind.
func TestColumnsOfOwnSchema(t *testing.T) {
	s, _ := columnEngine(t, 1<<30)
	r := counterTable(t, s, 3000)
	for _, missing := range []int64{5, 7} {
		tx := begin(t, s)
		next := *r
		c := column("later", sqltypes.OIDInt4)
		c.Num, c.HasMissing, c.Missing = 3, true, sqltypes.Int(missing)
		next.Columns = append(slices.Clone(r.Columns), c)
		tx.Schema().PutRelation(&next)
		own := tx.Catalog().Relation(r.OID)
		for range 3 {
			got := rows(t, tx, engine.ScanSpec{Rel: own, Cols: []int16{3}})
			if want := fmt.Sprint(missing); len(got) != 3000 || got[0] != want || got[2999] != want {
				t.Fatalf("%d rows, the first %q, want %s", len(got), got[0], want)
			}
		}
		tx.Rollback()
	}
}

func sumOf(t testing.TB, sc engine.Scanner, sum, n *int64) {
	t.Helper()
	defer sc.Close()
	var b expr.Batch
	for {
		got, err := sc.Next(&b)
		if err != nil {
			t.Fatal(err)
		}
		if got == 0 {
			return
		}
		*n += int64(got)
		for _, x := range b.Cols[0].I64[:got] {
			*sum += x
		}
	}
}

// Conditions pass over chunks without losing a row that fulfils them.
func TestColumnsPassedOver(t *testing.T) {
	s, _ := columnEngine(t, 1<<30)
	r := counterTable(t, s, 20000)
	tx := begin(t, s)
	for k := range int64(200) {
		if err := addTo(tx, r, 97*k, k); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, tx)
	skipped := int64(0)
	for _, c := range []engine.Cond{{Attr: 1, Op: '<', Values: ints(700)}, {Attr: 1, Op: 'l', Values: ints(1024)}, {Attr: 1, Op: '>', Values: ints(19999)},
		{Attr: 1, Op: 'g', Values: ints(9000)}, {Attr: 1, Op: '=', Values: ints(5000)}, {Attr: 2, Op: 'g', Values: ints(150)}} {
		for range 3 {
			v := openView(t, s)
			keep := func(lines []string) (out []string) {
				for _, l := range lines {
					var a, n int64
					fmt.Sscan(l, &a, &n)
					x := []int64{a, n}[c.Attr-1]
					w := c.Values[0].I
					if c.Op == '<' && x < w || c.Op == 'l' && x <= w || c.Op == '>' && x > w || c.Op == 'g' && x >= w || c.Op == '=' && x == w {
						out = append(out, l)
					}
				}
				return out
			}
			spec := engine.ScanSpec{Rel: r, Cols: []int16{1, 2}, Conds: []engine.Cond{c}}
			sc, err := v.Scan(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			got := drain(t, v.Catalog(), spec, sc)
			skipped += 20000 - int64(len(got))
			expect(t, keep(got), keep(rows(t, v, engine.ScanSpec{Rel: r, Steady: true}))...)
			v.Close()
		}
	}
	if skipped < 100000 {
		t.Errorf("%d rows passed over", skipped)
	}
}

// A range that begins with the key at which a chunk ends has that row, once, also
// when its first batch is a large one.
func TestColumnsAtTheEdge(t *testing.T) {
	s, _ := columnEngine(t, 1<<30)
	r := counterTable(t, s, 6000)
	from := func(lo int64) engine.ScanSpec {
		return engine.ScanSpec{Rel: r, RowHint: 4000, Spans: []engine.Span{{Lo: ints(lo), LoInc: true}}}
	}
	check := func(spec engine.ScanSpec) {
		t.Helper()
		v := openView(t, s)
		defer v.Close()
		sameAsRows(t, v, spec)
	}
	for range 2 {
		check(from(100)) // leaves chunks that do not begin where those of a whole scan do
	}
	for range 3 {
		check(engine.ScanSpec{Rel: r})
	}
	for lo := int64(0); lo < 6000; lo++ {
		if m := lo % 1024; m < 2 || m > 1021 || lo%100 == 0 {
			check(from(lo))
		}
	}
}

// A scan that asks Keep about every row answers the same from memory, in transactions
// with writes of their own and while chunks die.
func TestColumnsKept(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	s, b := columnEngine(t, 1<<30)
	key, doc := column("key", sqltypes.OIDBytea), column("doc", sqltypes.OIDJsonb)
	key.NotNull, doc.NotNull = true, true
	r := createTable(t, s, testTable{name: "k", cols: []*catalog.Column{key, doc}, pk: []int16{1}})
	row := func(k int) []sqltypes.Datum {
		j, err := sqltypes.ParseJSONB(fmt.Sprintf(`{"k":%d,"n":%d}`, k, rng.Intn(1000)))
		if err != nil {
			t.Fatal(err)
		}
		return []sqltypes.Datum{sqltypes.Text(fmt.Sprintf("%05d", k)), j.Datum()}
	}
	tx := begin(t, s)
	for k := range 5000 {
		insert(t, tx, r, row(2*k)...)
	}
	commit(t, tx)
	for range 60 {
		bound := int64(rng.Intn(1000))
		if rng.Intn(3) == 0 {
			bound = 3
		}
		spec := engine.ScanSpec{Rel: r, Cols: [][]int16{{2}, {2, 1}}[rng.Intn(2)], KeepAttr: 2, Keep: func(val string) bool {
			v, _ := sqltypes.JSONOf(sqltypes.Text(val)).Lookup("n")
			return v.Number().I < bound
		}}
		tx := begin(t, s)
		for range rng.Intn(3) {
			insert(t, tx, r, row(10001+2*rng.Intn(1<<20))...)
		}
		spec.Own = true
		sameAsRows(t, tx, spec)
		if rng.Intn(4) == 0 {
			commit(t, tx)
			v := openView(t, s)
			sameAsRows(t, v, spec)
			v.Close()
		} else {
			tx.Rollback()
		}
	}
	if b.Served() == 0 {
		t.Error("nothing was answered from memory")
	}
}
