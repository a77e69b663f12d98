package tsdb

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

func seriesRelation(oid sqltypes.OID, storage uint64, cols ...sqltypes.OID) *catalog.Relation {
	r := &catalog.Relation{OID: oid, Name: fmt.Sprintf("r%d", oid), Kind: catalog.KindTable, StorageID: storage, TimeSeries: true,
		TS: &catalog.TimeSeries{Time: 1, Tags: []int16{2}, Window: 40}}
	for i, t := range cols {
		r.Columns = append(r.Columns, &catalog.Column{Num: int16(i + 1), Name: fmt.Sprintf("c%d", i+1), Type: sqltypes.ColumnType{OID: t, TypMod: -1}})
	}
	return r
}

// rollupWorld is a raw table and a continuous aggregate (bucket, host, count, sum) of it.
type rollupWorld struct {
	db        *DB
	fs        *vfs.MemFS
	raw, view *catalog.Relation
	buckets   *catalog.Relation
}

func newRollupWorld(b sqltypes.Buckets) *rollupWorld {
	w := &rollupWorld{fs: vfs.NewCrashableMem(), raw: seriesRelation(1, 11, oidInt8, oidText, oidInt8), buckets: seriesRelation(2, 12, oidInt8, oidText, oidInt8, sqltypes.OIDNumeric)}
	w.view = &catalog.Relation{OID: 3, Name: "v", Kind: catalog.KindView, Rollup: &catalog.Rollup{Raw: 1, Store: 2, Bucket: 1, Time: 1, Buckets: b}}
	return w
}

func (w *rollupWorld) open(t testing.TB) {
	st, err := store.Open(store.Options{Dir: "ts", FS: w.fs, ChunkRows: 8, CompactAfter: 2, FlushBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w.db = New(nil, st, Options{})
}

// rows gives f all rows of a scan.
func (r *reader) rows(rel *catalog.Relation, cols []int16, conds []engine.Cond, f func(row []sqltypes.Datum)) error {
	sc, err := r.scan(context.Background(), engine.ScanSpec{Rel: rel, Cols: cols, Conds: conds})
	if err != nil {
		return err
	}
	defer sc.Close()
	b := &expr.Batch{}
	for {
		n, err := sc.Next(b)
		if err != nil || n == 0 {
			return err
		}
		for i := range n {
			row := make([]sqltypes.Datum, len(cols))
			for k := range cols {
				row[k] = b.Cols[k].Datum(i)
			}
			f(row)
		}
	}
}

type groupKey struct {
	bucket int64
	host   string
}

// group is SELECT bucket, host, count(*), sum(v) … GROUP BY 1, 2 over raw rows.
func (w *rollupWorld) group(r *reader, conds []engine.Cond) (map[groupKey][2]int64, error) {
	out := map[groupKey][2]int64{}
	err := r.rows(w.raw, []int16{1, 2, 3}, conds, func(row []sqltypes.Datum) {
		b, err := floorBuckets(w.view.Rollup.Buckets, row[0].I)
		if err != nil {
			panic(err)
		}
		g := out[groupKey{b, row[1].S}]
		out[groupKey{b, row[1].S}] = [2]int64{g[0] + 1, g[1] + row[2].I}
	})
	return out, err
}

func between(lo, hi int64) []engine.Cond {
	return []engine.Cond{{Attr: 1, Op: 'g', Values: []sqltypes.Datum{sqltypes.Int(lo)}}, {Attr: 1, Op: '<', Values: []sqltypes.Datum{sqltypes.Int(hi)}}}
}

// refresh is refresh_continuous_aggregate; during runs in the middle of each part.
func (w *rollupWorld) refresh(lo, hi int64, during func()) error {
	_, err := w.db.Refresh(context.Background(), w.view, w.buckets, []*catalog.Relation{w.raw}, lo, hi, func(_ context.Context, lo, hi int64, f func([]sqltypes.Datum) error) error {
		r := &reader{db: w.db}
		defer r.close()
		groups, err := w.group(r, between(lo, hi))
		if err != nil {
			return err
		}
		during()
		for k, g := range groups {
			row := []sqltypes.Datum{sqltypes.Int(k.bucket), sqltypes.Text(k.host), sqltypes.Int(g[0]), sqltypes.Int(g[1])}
			if err := f(row); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func dumpGroups(m map[groupKey][2]int64) string {
	var out []string
	for k, g := range m {
		out = append(out, fmt.Sprintf("%d %s %d %d", k.bucket, k.host, g[0], g[1]))
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// check compares what the aggregate shows with a GROUP BY of all raw rows, on one snapshot.
func (w *rollupWorld) check(t interface{ Fatalf(string, ...any) }, r *reader) {
	defer r.close()
	part := func(op byte) []engine.Cond {
		return []engine.Cond{{Attr: 1, Op: op, Values: []sqltypes.Datum{sqltypes.Int(12), sqltypes.Int(11)}}}
	}
	got, err := w.group(r, part('r'))
	if err != nil {
		t.Fatalf("%v", err)
	}
	err = r.rows(w.buckets, []int16{1, 2, 3, 4}, part('s'), func(row []sqltypes.Datum) {
		k := groupKey{row[0].I, row[1].S}
		if _, twice := got[k]; twice {
			t.Fatalf("bucket %v is stored and computed", k)
		}
		got[k] = [2]int64{row[2].I, row[3].I}
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	want, err := w.group(r, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if g, x := dumpGroups(got), dumpGroups(want); g != x {
		t.Fatalf("the aggregate shows\n%s\nthe raw rows give\n%s", g, x)
	}
}

// TestRollupModel: a continuous aggregate shows what GROUP BY over the raw rows
// gives, after whatever writes, late ones, replacements and deletions, refreshes
// with writes in their middle, flushes, merges and losses of power; a transaction
// sees its own writes in it.
func TestRollupModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newRollupWorld(sqltypes.Buckets{Width: rapid.SampledFrom([]int64{1, 7, 10, 40, 100}).Draw(rt, "width"), Origin: rapid.Int64Range(-3, 3).Draw(rt, "origin")})
		w.open(t)
		defer func() { w.db.st.Close() }()
		batch := func(rt *rapid.T) *store.Batch {
			rel, table, err := w.db.Define(w.raw)
			if err != nil {
				rt.Fatal(err)
			}
			x := txn{db: w.db, batch: w.db.st.NewBatch()}
			for range rapid.IntRange(1, 8).Draw(rt, "rows") {
				row := []sqltypes.Datum{sqltypes.Int(rapid.Int64Range(-60, 200).Draw(rt, "time")), sqltypes.Text(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "host")), sqltypes.Int(rapid.Int64Range(0, 9).Draw(rt, "v"))}
				s, err := x.place(rel, table, row)
				if err != nil {
					rt.Fatal(err)
				}
				if rapid.IntRange(0, 4).Draw(rt, "delete") == 0 {
					x.batch.Delete(s, row[0].I)
				} else {
					x.put(rel, table, s, row)
				}
			}
			return x.batch
		}
		write := func(rt *rapid.T) {
			if err := w.db.Write(context.Background(), w.raw, batch(rt), rapid.Bool().Draw(rt, "sync")); err != nil {
				rt.Fatal(err)
			}
		}
		var held *reader
		rt.Repeat(map[string]func(*rapid.T){
			"write": write,
			"refresh": func(rt *rapid.T) {
				lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
				if rapid.Bool().Draw(rt, "bounded") {
					lo = rapid.Int64Range(-80, 200).Draw(rt, "lo")
					hi = lo + rapid.Int64Range(1, 150).Draw(rt, "len")
				}
				busy := rapid.Bool().Draw(rt, "busy")
				if err := w.refresh(lo, hi, func() {
					if busy {
						write(rt)
					}
				}); err != nil {
					rt.Fatal(err)
				}
			},
			"flush": func(rt *rapid.T) {
				if err := w.db.st.Flush(); err != nil {
					rt.Fatal(err)
				}
			},
			"compact": func(rt *rapid.T) {
				if err := w.db.st.Compact(); err != nil {
					rt.Fatal(err)
				}
			},
			"crash": func(rt *rapid.T) {
				if held != nil {
					held.close()
					held = nil
				}
				crashed := w.fs.CrashClone(vfs.CrashCloneCfg{})
				w.db.st.Close()
				w.fs = crashed
				w.open(t)
			},
			"hold": func(rt *rapid.T) { // an older snapshot stays whole
				if held != nil {
					w.check(rt, held)
				}
				held = &reader{db: w.db}
				held.snapshot()
			},
			"own": func(rt *rapid.T) { // writes of a transaction that is not committed
				x := &txn{db: w.db, batch: batch(rt)}
				x.reader = reader{db: w.db, txn: x}
				w.check(rt, &x.reader)
			},
			"": func(rt *rapid.T) { w.check(rt, &reader{db: w.db}) },
		})
		if held != nil {
			held.close()
		}
	})
}

// put writes a row of each time.
func put(t testing.TB, w *rollupWorld, times ...int64) {
	t.Helper()
	rel, table, err := w.db.Define(w.raw)
	if err != nil {
		t.Fatal(err)
	}
	x := txn{db: w.db, batch: w.db.st.NewBatch()}
	for _, at := range times {
		row := []sqltypes.Datum{sqltypes.Int(at), sqltypes.Text("a"), sqltypes.Int(1)}
		s, err := x.place(rel, table, row)
		if err != nil {
			t.Fatal(err)
		}
		x.put(rel, table, s, row)
	}
	if err := w.db.Write(context.Background(), w.raw, x.batch, true); err != nil {
		t.Fatal(err)
	}
}

// TestRefreshStores: after a refresh nothing is computed from raw rows where nobody
// has written, and only the buckets written to where somebody has.
func TestRefreshStores(t *testing.T) {
	w := newRollupWorld(sqltypes.Buckets{Width: 10})
	w.open(t)
	defer func() { w.db.st.Close() }()
	put := func(times ...int64) {
		t.Helper()
		put(t, w, times...)
	}
	stale := func(want string) {
		t.Helper()
		r := &reader{db: w.db}
		defer r.close()
		got, err := w.group(r, []engine.Cond{{Attr: 1, Op: 'r', Values: []sqltypes.Datum{sqltypes.Int(12), sqltypes.Int(11)}}})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for k := range got {
			list = append(list, fmt.Sprint(k.bucket))
		}
		sort.Strings(list)
		if s := strings.Join(list, " "); s != want {
			t.Fatalf("computed from raw rows: %q, want %q", s, want)
		}
	}
	put(1, 11, 12, 25, 99)
	stale("0 10 20 90")
	if err := w.refresh(5, 90, func() {}); err != nil {
		t.Fatal(err)
	}
	stale("0 90")
	if err := w.refresh(math.MinInt64, math.MaxInt64, func() { put(12) }); err != nil {
		t.Fatal(err)
	}
	stale("10")
	put(55)
	stale("10 50")
	crashed := w.fs.CrashClone(vfs.CrashCloneCfg{})
	w.db.st.Close()
	w.fs = crashed
	w.open(t)
	stale("10 50")
	put(26)
	stale("10 20 50")
	if err := w.refresh(math.MinInt64, math.MaxInt64, func() {}); err != nil {
		t.Fatal(err)
	}
	stale("")
}
