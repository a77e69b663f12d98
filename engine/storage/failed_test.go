package storage_test

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"ostraka/engine/storage"
)

// A store whose disk is full tries again and again; who opened it is told once.
func TestBackgroundErrorOnce(t *testing.T) {
	var full atomic.Bool
	var tries atomic.Int64
	tried := make(chan struct{}, 1)
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !full.Load() || op.Kind != errorfs.OpCreate {
			return nil
		}
		if tries.Add(1) == 10 {
			tried <- struct{}{}
		}
		return syscall.ENOSPC
	}))
	var told atomic.Int64
	var last atomic.Value
	db, err := storage.Open("db", storage.Options{FS: fs, Fatal: func(err error) {
		told.Add(1)
		last.Store(err)
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch(false)
	if err := b.Set([]byte("k"), []byte("v"), nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Commit(b); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	flushed, err := db.Flush()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-tried:
	case <-time.After(20 * time.Second):
		t.Fatal("the store does not try again")
	}
	full.Store(false)
	<-flushed
	if told.Load() != 1 {
		t.Errorf("told %d times", told.Load())
	}
	if err, _ := last.Load().(error); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("told of %v", err)
	}
	if err := db.Release(); err != nil {
		t.Error(err)
	}
}
