// Package disk is a file system whose power can fail: what was written to an open
// file and not synced is held in memory, so that kill -9 loses it, as a power cut
// would. Syncs can be made slow. It is put under a node's databases by the
// programs that torture it.
//
// A sync hands the bytes to the operating system and does not wait for the
// device: the machine is not what fails here. Closing a file does the same, and
// directories are not modelled: creating, renaming and removing survive.
package disk

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is a file system over another one. Its methods are safe for concurrent use.
type FS struct {
	vfs.FS
	delay   atomic.Int64
	slow    atomic.Int64
	pending atomic.Int64
}

// New returns a file system over base.
func New(base vfs.FS) *FS { return &FS{FS: base} }

// Default returns one over the operating system's.
func Default() *FS { return New(vfs.Default) }

// SetDelay makes every sync take at least d.
func (f *FS) SetDelay(d time.Duration) { f.delay.Store(int64(d)) }

// Slow counts the syncs that were delayed.
func (f *FS) Slow() int64 { return f.slow.Load() }

// Unsynced is the number of bytes that a power cut would lose now.
func (f *FS) Unsynced() int64 { return f.pending.Load() }

// Unwrap implements vfs.FS.
func (f *FS) Unwrap() vfs.FS { return f.FS }

// Create implements vfs.FS.
func (f *FS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(f.FS.Create(name, category))
}

// ReuseForWrite implements vfs.FS.
func (f *FS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(f.FS.ReuseForWrite(oldname, newname, category))
}

func (f *FS) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &volatile{File: file, fs: f}, nil
}

// volatile is a file that is written from its beginning to its end.
type volatile struct {
	vfs.File
	fs *FS

	mu  sync.Mutex
	buf []byte // written and not synced; guarded by mu
}

// maxPending bounds what one file holds back; beyond it the oldest bytes go out
// early, as a page cache would write them.
const maxPending = 32 << 20

func (v *volatile) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.buf = append(v.buf, p...)
	v.fs.pending.Add(int64(len(p)))
	if len(v.buf) > maxPending {
		if err := v.out(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// out hands what is held to the operating system. v.mu is held.
func (v *volatile) out() error {
	n := len(v.buf)
	if n == 0 {
		return nil
	}
	_, err := v.File.Write(v.buf)
	v.buf = v.buf[:0]
	v.fs.pending.Add(int64(-n))
	return err
}

func (v *volatile) sync() error {
	if d := v.fs.delay.Load(); d > 0 {
		v.fs.slow.Add(1)
		time.Sleep(time.Duration(d))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.out()
}

func (v *volatile) Sync() error     { return v.sync() }
func (v *volatile) SyncData() error { return v.sync() }

// SyncTo promises nothing, like its kin that only begins to write.
func (v *volatile) SyncTo(int64) (bool, error) { return false, nil }

func (v *volatile) Close() error {
	v.mu.Lock()
	err := v.out()
	v.mu.Unlock()
	if cerr := v.File.Close(); err == nil {
		err = cerr
	}
	return err
}

// Fd keeps callers from going around this file.
func (v *volatile) Fd() uintptr { return vfs.InvalidFd }
