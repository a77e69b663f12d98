package store

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// TestConcurrent: while writers write, memory is flushed and chunks are merged, every
// snapshot sees whole batches only, and in the end everything is there.
func TestConcurrent(t *testing.T) {
	st := openMem(t, vfs.NewMem(), func(o *Options) { o.FlushBytes = 64 << 10 })
	defer st.Close()
	tab, err := st.Define(TableSpec{ID: 7, Tags: 1, Fields: testFields(), Window: 500})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c"}
	const writers, batches = 3, 300
	var writing, reading sync.WaitGroup
	var stop atomic.Bool
	for w := range writers {
		writing.Go(func() {
			for i := range batches {
				b := st.NewBatch()
				for _, n := range names {
					s, err := st.Series(tab, []Tag{{Value: n}})
					if err != nil {
						t.Error(err)
						return
					}
					b.Put(s, int64(i*writers+w), []sqltypes.Datum{sqltypes.Float(float64(i)), sqltypes.Int(int64(w))})
				}
				if err := st.Append(context.Background(), b, i%3 == 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	reading.Go(func() {
		for !stop.Load() {
			count := map[int64]int{}
			snap := st.Snapshot()
			sc := snap.Scan(context.Background(), tab, nil, All, nil)
			for sc.Next() {
				for _, tm := range sc.Rows().Time {
					count[tm]++
				}
			}
			if err := sc.Err(); err != nil {
				t.Error(err)
			}
			sc.Close()
			snap.Close()
			for tm, n := range count {
				if n != len(names) {
					t.Errorf("time %d is seen in %d series of %d", tm, n, len(names))
					return
				}
			}
		}
	})
	reading.Go(func() {
		for !stop.Load() {
			if err := st.Compact(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	writing.Wait()
	stop.Store(true)
	reading.Wait()
	if n := rowsOf(t, st); n != writers*batches*len(names) {
		t.Errorf("%d rows, want %d", n, writers*batches*len(names))
	}
}

// TestLogFails: after an error of the log nothing is acknowledged any more, and what
// had been is there when the store is opened again.
func TestLogFails(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var failing atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Kind == errorfs.OpFileSync {
			return syscall.EIO
		}
		return nil
	}))
	var told atomic.Int32
	st := openMem(t, fs, func(o *Options) { o.Fatal = func(error) { told.Add(1) } })
	tab, err := st.Define(TableSpec{ID: 7, Tags: 1, Fields: testFields(), Window: 1000})
	if err != nil {
		t.Fatal(err)
	}
	put := func(tm int64) error {
		s, err := st.Series(tab, []Tag{{Value: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		b := st.NewBatch()
		b.Put(s, tm, []sqltypes.Datum{sqltypes.Float(1)})
		return st.Append(context.Background(), b, true)
	}
	if err := put(1); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	for tm := range int64(3) {
		if err := put(10 + tm); !pgerror.Is(err, pgerror.IoError) {
			t.Errorf("append after the log failed: %v", err)
		}
	}
	if told.Load() == 0 {
		t.Error("nobody was told")
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	_ = st.Close()
	st = openMem(t, crashed, nil)
	defer st.Close()
	if n := rowsOf(t, st); n != 1 {
		t.Errorf("%d rows after the restart, want 1", n)
	}
}
