package disk

import (
	"io"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// OpenReadWrite implements vfs.FS: such a file is written in place.
func (f *FS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, category, opts...)
	if err != nil {
		return nil, err
	}
	return &placed{File: file, fs: f}, nil
}

// placed is a file that is written in place; reads see what was written, also what
// a power cut would lose.
type placed struct {
	vfs.File
	fs *FS

	mu      sync.Mutex
	pending []piece // in the order of the writes; guarded by mu
	bytes   int64
}

type piece struct {
	off  int64
	data []byte
}

func (p *placed) WriteAt(b []byte, off int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, piece{off, append([]byte(nil), b...)})
	p.bytes += int64(len(b))
	p.fs.pending.Add(int64(len(b)))
	if p.bytes > maxPending {
		return len(b), p.out()
	}
	return len(b), nil
}

func (p *placed) ReadAt(b []byte, off int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.File.ReadAt(b, off)
	clear(b[n:])
	for _, w := range p.pending {
		from, to := max(off, w.off), min(off+int64(len(b)), w.off+int64(len(w.data)))
		if from < to {
			copy(b[from-off:to-off], w.data[from-w.off:to-w.off])
			n = max(n, int(to-off))
		}
	}
	if n == len(b) {
		return n, nil
	}
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// out hands what is held to the operating system. p.mu is held.
func (p *placed) out() error {
	for _, w := range p.pending {
		if _, err := p.File.WriteAt(w.data, w.off); err != nil {
			return err
		}
	}
	p.pending = p.pending[:0]
	p.fs.pending.Add(-p.bytes)
	p.bytes = 0
	return nil
}

func (p *placed) sync() error {
	if d := p.fs.delay.Load(); d > 0 {
		p.fs.slow.Add(1)
		time.Sleep(time.Duration(d))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out()
}

func (p *placed) Sync() error     { return p.sync() }
func (p *placed) SyncData() error { return p.sync() }

// SyncTo promises nothing.
func (p *placed) SyncTo(int64) (bool, error) { return false, nil }

func (p *placed) Close() error {
	p.mu.Lock()
	err := p.out()
	p.mu.Unlock()
	if cerr := p.File.Close(); err == nil {
		err = cerr
	}
	return err
}

// Fd keeps callers from going around this file.
func (p *placed) Fd() uintptr { return vfs.InvalidFd }
