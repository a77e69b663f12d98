package shard

import (
	"context"
	"fmt"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog/memlog"
	"ostraka/engine/storage"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// BenchmarkUpdateOne is an autocommit UPDATE of one row by key: everything but
// SQL and the log.
func BenchmarkUpdateOne(b *testing.B) {
	ctx := context.Background()
	for _, how := range []string{"lookup", "scan"} {
		b.Run(how, func(b *testing.B) {
			s, _ := testEngine(b)
			r := counterTable(b, s, 1000)
			wt := &engine.WriteTarget{Rel: r}
			row, next := make([]sqltypes.Datum, 2), make([]sqltypes.Datum, 2)
			key := make([]sqltypes.Datum, 1)
			b.ReportAllocs()
			i := int64(0)
			for b.Loop() {
				i++
				key[0] = sqltypes.Int(i % 1000)
				tx, err := s.Begin(ctx, engine.TxnOptions{Database: testDB})
				if err != nil {
					b.Fatal(err)
				}
				if err := tx.StartStatement(ctx); err != nil {
					b.Fatal(err)
				}
				var ref engine.RowRef
				if how == "lookup" {
					ref, _, err = tx.LookupNewest(ctx, r, nil, key, engine.LockNoKeyUpdate, row)
				} else {
					ref, _, err = tx.Get(ctx, r, nil, key, []int16{1, 2}, row)
					if err == nil {
						_, err = tx.LockRow(ctx, r, &ref, engine.LockNoKeyUpdate, engine.WaitBlock, row)
					}
				}
				if err != nil {
					b.Fatal(err)
				}
				copy(next, row)
				next[1].I++
				if _, err := tx.Update(ctx, wt, ref, row, next); err != nil {
					b.Fatal(err)
				}
				if _, err := tx.Commit(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGetNewest(b *testing.B) {
	ctx := context.Background()
	s, _ := testEngine(b)
	r := counterTable(b, s, 10000)
	cat := s.Catalog(testDB)
	key, dst := make([]sqltypes.Datum, 1), make([]sqltypes.Datum, 1)
	b.ReportAllocs()
	i := int64(0)
	for b.Loop() {
		i++
		key[0] = sqltypes.Int(i * 7919 % 10000)
		if found, stale, err := s.GetNewest(ctx, cat, r, nil, key, []int16{2}, dst); err != nil || !found || stale {
			b.Fatal(found, stale, err)
		}
	}
}

// BenchmarkScan reads the columns of TPC-H's Q1 from rows of lineitem's shape.
func BenchmarkScan(b *testing.B) {
	ctx := context.Background()
	cache := storage.NewCache(256 << 20)
	defer cache.Unref()
	s, err := Open(Options{Dir: "s", FS: storage.MemFS(), FlushInterval: -1, Cache: cache})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.AttachLog(memlog.New(s.Applier()))
	if _, err := s.leading(ctx); err != nil {
		b.Fatal(err)
	}
	num := func(name string) *catalog.Column {
		c := column(name, sqltypes.OIDNumeric)
		c.Type.TypMod = 4 + 15<<16 + 2
		return c
	}
	r := createTable(b, s, testTable{name: "l", cols: []*catalog.Column{column("orderkey", 20), column("linenumber", 23), column("partkey", 20),
		column("suppkey", 20), num("quantity"), num("price"), num("discount"), num("tax"), column("returnflag", 25), column("linestatus", 25),
		column("shipdate", 1082), column("commitdate", 1082), column("receiptdate", 1082), column("instruct", 25), column("mode", 25),
		column("comment", 25)}, pk: []int16{1, 2}})
	const n = 200000
	for i := 0; i < n; {
		tx := begin(b, s)
		for range 20000 {
			d := func(v int64) sqltypes.Datum { return sqltypes.Datum{I: v, Aux: 2} }
			k := int64(i)
			insert(b, tx, r, sqltypes.Int(k/4), sqltypes.Int(k%4), sqltypes.Int(k*7), sqltypes.Int(k%100), d(k%5000), d(k), d(k%10), d(k%8),
				sqltypes.Text("N"), sqltypes.Text("O"), sqltypes.Int(k%2500), sqltypes.Int(k%2500), sqltypes.Int(k%2500),
				sqltypes.Text("DELIVER IN PERSON"), sqltypes.Text("TRUCK"), sqltypes.Text(fmt.Sprintf("comment number %012d", k)))
			i++
		}
		commit(b, tx)
	}
	done, err := s.cur.Load().db.Flush()
	if err != nil {
		b.Fatal(err)
	}
	<-done
	for name, cols := range map[string][]int16{"none": {}, "q1": {5, 6, 7, 8, 9, 10, 11}, "all": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, err := s.View(ctx, testDB)
				if err != nil {
					b.Fatal(err)
				}
				sc, err := v.Scan(ctx, engine.ScanSpec{Rel: r, Cols: cols})
				if err != nil {
					b.Fatal(err)
				}
				total := 0
				var batch expr.Batch
				for {
					k, err := sc.Next(&batch)
					if err != nil {
						b.Fatal(err)
					}
					if k == 0 {
						break
					}
					total += k
				}
				sc.Close()
				v.Close()
				if total != n {
					b.Fatal(total)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}

// BenchmarkBulk is COPY of rows like pgbench's accounts in one transaction.
func BenchmarkBulk(b *testing.B) {
	for _, how := range []string{"into new", "into existing"} {
		b.Run(how, func(b *testing.B) {
			const n = 100000
			for b.Loop() {
				s, _, err := OpenMem()
				if err != nil {
					b.Fatal(err)
				}
				d := testTable{name: "t", cols: []*catalog.Column{column("aid", 23), column("bid", 23), column("abalance", 23), column("filler", 25)}, pk: []int16{1}}
				var r *catalog.Relation
				if how != "into new" {
					r = createTable(b, s, d)
				}
				tx := begin(b, s)
				if how == "into new" {
					r = createIn(b, tx, d)
				}
				tx.BulkLoad()
				filler := sqltypes.Text("                                                                                    ")
				for i := range n {
					insert(b, tx, r, sqltypes.Int(int64(i)), sqltypes.Int(1), sqltypes.Int(0), filler)
				}
				commit(b, tx)
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
