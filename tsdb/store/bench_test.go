package store

import (
	"context"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/bench/timeseries"
	"ostraka/sqltypes"
	"ostraka/tsdb/chunk"
)

const (
	benchSeries = 1000
	benchRows   = 10_000
	benchDay    = 86_400_000_000
)

// cpu is the processor time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var benchStore struct {
	once   sync.Once
	st     *Store
	tab    *Table
	ingest time.Duration
	bytes  uint64
}

// filled makes the store of 10 M rows that the benchmarks read.
func filled(b *testing.B) (*Store, *Table) {
	s := &benchStore
	s.once.Do(func() {
		dir, err := tempDir()
		if err != nil {
			b.Fatal(err)
		}
		st, err := Open(Options{Dir: dir, Cache: pebble.NewCache(64 << 20)})
		if err != nil {
			b.Fatal(err)
		}
		tab, err := st.Define(TableSpec{ID: 1, Tags: 4, Fields: []Field{{ID: 6, Kind: chunk.Float}}, Window: benchDay})
		if err != nil {
			b.Fatal(err)
		}
		gen := timeseries.New(benchSeries)
		series := make([]*Series, len(gen))
		for i, g := range gen {
			if series[i], err = st.Series(tab, []Tag{{Value: g.Host}, {Value: g.DC}, {Value: g.Rack}, {Value: g.Kind}}); err != nil {
				b.Fatal(err)
			}
		}
		vals := make([]float64, benchSeries*10)
		row := make([]sqltypes.Datum, 1)
		bt := st.NewBatch()
		for at := 0; at < benchRows; at += 10 {
			for k := range 10 {
				for i, g := range gen {
					vals[k*benchSeries+i] = g.Next()
				}
			}
			from := cpu()
			for k := range 10 {
				bt.Reset()
				for i := range series {
					row[0] = sqltypes.Float(vals[k*benchSeries+i])
					bt.Put(series[i], int64(at+k)*timeseries.Step, row)
				}
				if err := st.Append(context.Background(), bt, false); err != nil {
					b.Fatal(err)
				}
			}
			s.ingest += cpu() - from
		}
		from := cpu()
		if err := st.Compact(); err != nil {
			b.Fatal(err)
		}
		s.ingest += cpu() - from
		p := u64key([]byte{'C'}, tab.ID)
		if s.bytes, err = st.db.EstimateDiskUsage(p, prefixEnd(p)); err != nil {
			b.Fatal(err)
		}
		s.st, s.tab = st, tab
	})
	return s.st, s.tab
}

// BenchmarkStore/ingest counts flush and compaction in; the figures are per second
// of one processor.
func BenchmarkStore(b *testing.B) {
	st, tab := filled(b)
	ctx := context.Background()
	b.Run("ingest", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(benchSeries*benchRows/benchStore.ingest.Seconds()/1e6, "Msamples/cpu-s")
		b.ReportMetric(float64(benchStore.bytes)/(benchSeries*benchRows), "B/sample")
	})
	b.Run("scan", func(b *testing.B) {
		from, n := cpu(), int64(0)
		for b.Loop() {
			snap := st.Snapshot()
			sc := snap.Scan(ctx, tab, nil, All, nil)
			for sc.Next() {
				n += int64(len(sc.Rows().Time))
			}
			sc.Close()
			snap.Close()
		}
		b.ReportMetric(float64(n)/(cpu()-from).Seconds()/1e6, "Mrows/cpu-s")
	})
	b.Run("bucket", func(b *testing.B) { // 5 minutes: count, sum, min, max, first, last
		from, n := cpu(), int64(0)
		for b.Loop() {
			snap := st.Snapshot()
			sc := snap.Scan(ctx, tab, nil, All, nil)
			if err := sc.Buckets(6, 300_000_000, 0, func(x *Bucket) error { n += x.Count; return nil }); err != nil {
				b.Fatal(err)
			}
			sc.Close()
			snap.Close()
		}
		b.ReportMetric(float64(n)/(cpu()-from).Seconds()/1e6, "Mrows/cpu-s")
	})
	b.Run("hour", func(b *testing.B) {
		from, n := cpu(), 0
		all := tab.Select(nil)
		for b.Loop() {
			snap := st.Snapshot()
			x := all[n%len(all)]
			series := tab.Select([]Matcher{{Tag: 0, Values: []string{x.Tags[0].Value}}})
			lo := int64(n*7919%(benchRows-360)) * timeseries.Step
			sc := snap.Scan(ctx, tab, series, Range{lo, lo + 3600e6 - 1}, nil)
			rows := 0
			for sc.Next() {
				rows += len(sc.Rows().Time)
			}
			sc.Close()
			snap.Close()
			if rows != 360 {
				b.Fatalf("%d rows in an hour", rows)
			}
			n++
		}
		b.ReportMetric(float64(n)/(cpu()-from).Seconds()/1e3, "kqueries/cpu-s")
	})
}

// tempDir outlives the benchmark that makes it: others read the same store.
func tempDir() (string, error) { return os.MkdirTemp("", "ostraka-ts-bench") }

func TestMain(m *testing.M) {
	code := m.Run()
	if benchStore.st != nil {
		_ = benchStore.st.Close()
		_ = os.RemoveAll(benchStore.st.opt.Dir)
	}
	os.Exit(code)
}
