package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// written makes a store with n batches of one row in its log.
func written(t *testing.T, fs *vfs.MemFS, n int) string {
	t.Helper()
	st := openMem(t, fs, nil)
	tab, err := st.Define(TableSpec{ID: 7, Tags: 1, Fields: testFields(), Window: 1000})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.Series(tab, []Tag{{Value: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		b := st.NewBatch()
		b.Put(s, int64(i), []sqltypes.Datum{sqltypes.Float(float64(i)), sqltypes.Int(1), sqltypes.Text("x")})
		if err := st.Append(context.Background(), b, true); err != nil {
			t.Fatal(err)
		}
	}
	path := fs.PathJoin("ts", "log", walName(st.wal.number))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func change(t *testing.T, fs *vfs.MemFS, path string, f func([]byte) []byte) {
	t.Helper()
	r, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	w, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(f(b)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t *testing.T, st *Store) int {
	t.Helper()
	text := dump(t, st, st.Table(7), nil, All)
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// TestTornTail: a record that was cut short is dropped, those before it stay.
func TestTornTail(t *testing.T) {
	for _, cut := range []int{1, 5, 9, 20} {
		fs := vfs.NewMem()
		path := written(t, fs, 10)
		change(t, fs, path, func(b []byte) []byte { return b[:len(b)-cut] })
		st := openMem(t, fs, nil)
		if n := rowsOf(t, st); n != 9 {
			t.Errorf("cut by %d: %d rows, want 9", cut, n)
		}
		_ = st.Close()
	}
}

// TestDamagedLog: a flipped bit in what was acknowledged is an error that names the file.
func TestDamagedLog(t *testing.T) {
	fs := vfs.NewMem()
	path := written(t, fs, 10)
	change(t, fs, path, func(b []byte) []byte {
		b[walHeader+frameHeader+4] ^= 1
		return b
	})
	_, err := Open(Options{Dir: "ts", FS: fs})
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("open: %v", err)
	}
}

// TestLimits: too many series and too much memory are refused, with their codes.
func TestLimits(t *testing.T) {
	st := openMem(t, vfs.NewMem(), func(o *Options) { o.MaxSeries = 5 })
	defer st.Close()
	tab, err := st.Define(TableSpec{ID: 1, Tags: 1, Fields: testFields(), Window: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		_, err := st.Series(tab, []Tag{{Value: fmt.Sprint(i)}})
		if i < 5 && err != nil || i == 5 && !pgerror.Is(err, pgerror.ConfigurationLimitExceeded) {
			t.Errorf("series %d: %v", i, err)
		}
	}
	long := openMem(t, vfs.NewMem(), func(o *Options) { o.MaxTagBytes = 100 })
	defer long.Close()
	define := func(id uint64) *Table {
		tab, err := long.Define(TableSpec{ID: id, Tags: 1, Fields: testFields(), Window: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	series := func(tab *Table, size int) error {
		_, err := long.Series(tab, []Tag{{Value: strings.Repeat("x", size)}})
		return err
	}
	if err := series(define(1), 60); err != nil {
		t.Error(err)
	}
	if err := series(define(2), 60); !pgerror.Is(err, pgerror.ConfigurationLimitExceeded) {
		t.Errorf("tags past the limit: %v", err)
	}
	if err := long.DropTable(1); err != nil {
		t.Fatal(err)
	}
	if err := series(define(2), 60); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
