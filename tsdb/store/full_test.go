package store

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// fullDisk fails writes to the files whose path has a part while it is on.
func fullDisk(mem vfs.FS, part string) (vfs.FS, *atomic.Bool) {
	on := &atomic.Bool{}
	return errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && strings.Contains(op.Path, part) && (part != "/chunks/" || strings.HasSuffix(op.Path, ".sst")) && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpCreate) {
			return syscall.ENOSPC
		}
		return nil
	})), on
}

func put(t *testing.T, st *Store, at int64, text string) error {
	t.Helper()
	tab, err := st.Define(TableSpec{ID: 7, Tags: 1, Fields: testFields(), Window: 1000})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.Series(tab, []Tag{{Value: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	b := st.NewBatch()
	b.Put(s, at, []sqltypes.Datum{sqltypes.Float(1), sqltypes.Int(1), sqltypes.Text(text)})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return st.Append(ctx, b, true)
}

// TestDiskFull: a log that cannot be written refuses with 53100 and tells the
// node, nothing more is acknowledged, and what was acknowledged is there after.
func TestDiskFull(t *testing.T) {
	mem := vfs.NewCrashableMem()
	fs, full := fullDisk(mem, "/log/")
	var told atomic.Int32
	st := openMem(t, fs, func(o *Options) { o.Fatal = func(error) { told.Add(1) } })
	for i := range 5 {
		if err := put(t, st, int64(i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	full.Store(true)
	if err := put(t, st, 5, "x"); !pgerror.Is(err, pgerror.DiskFull) {
		t.Errorf("a full disk: %v", err)
	}
	full.Store(false)
	if err := put(t, st, 6, "x"); !pgerror.Is(err, pgerror.DiskFull) {
		t.Errorf("after the log failed: %v", err)
	}
	if told.Load() == 0 {
		t.Error("the node was not told")
	}
	if n := rowsOf(t, st); n != 5 {
		t.Errorf("%d rows to be seen, want 5", n)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	_ = st.Close()
	st = openMem(t, crashed, nil)
	defer st.Close()
	if n := rowsOf(t, st); n != 5 {
		t.Errorf("%d rows after the start, want 5", n)
	}
}

// TestMemoryFull: while rows cannot be flushed memory does not grow past its limit:
// writes are refused with 53200, and taken again once the disk is.
func TestMemoryFull(t *testing.T) {
	mem := vfs.NewMem()
	fs, full := fullDisk(mem, "/chunks/")
	const limit = 64 << 10
	st := openMem(t, fs, func(o *Options) { o.FlushBytes, o.MaxBytes = limit/2, limit })
	defer st.Close()
	text := strings.Repeat("x", 1000)
	if err := put(t, st, -1, text); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	var err error
	n := 0
	for ; n < 10*limit/1000 && err == nil; n++ {
		err = put(t, st, int64(n), text)
	}
	if !pgerror.Is(err, pgerror.OutOfMemory) {
		t.Fatalf("after %d rows: %v", n, err)
	}
	if used, _, _ := st.Usage(); used > limit+4096 {
		t.Errorf("%d bytes in memory, the limit is %d", used, limit)
	}
	full.Store(false)
	deadline := time.Now().Add(20 * time.Second)
	for err = put(t, st, int64(n), text); pgerror.Is(err, pgerror.OutOfMemory) && time.Now().Before(deadline); err = put(t, st, int64(n), text) {
		if err := st.Flush(); err != nil {
			t.Log(err)
		}
	}
	if err != nil {
		t.Fatalf("with room on the disk again: %v", err)
	}
	if got := rowsOf(t, st); got != n+1 {
		t.Errorf("%d rows, want %d", got, n+1)
	}
}
