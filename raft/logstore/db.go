package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options of Open.
type Options struct {
	// FS is the file system; nil means vfs.Default.
	FS vfs.FS
	// Logger receives pebble's background errors. nil discards.
	Logger *slog.Logger
	// Fatal is called once, with a named error, when the log cannot be written
	// or read any more. It should end the process: an fsync error cannot be
	// retried. If it returns, every later write fails.
	Fatal func(error)
}

// DB is the log database of one node: the stable records of all groups in a pebble
// database, and beside it a directory of segments for each group's log.
type DB struct {
	path      string
	db        *pebble.DB
	opts      Options
	failed    atomic.Pointer[error]
	syncTimes syncTimes

	mu     sync.Mutex
	stores []*Store // guarded by mu
}

// Open opens or creates the log database in dir. Only one process (and one DB)
// may have it open; pebble's lock file sees to that.
func Open(dir string, opts Options) (*DB, error) {
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := checkTails(opts.FS, dir); err != nil {
		return nil, err
	}
	d := &DB{path: dir, opts: opts}
	cache := pebble.NewCache(1 << 20)
	defer cache.Unref()
	po := &pebble.Options{
		FS: opts.FS,
		// Newer than FormatWALSyncChunks: a damaged middle of the WAL is told
		// apart from a torn tail.
		FormatMajorVersion:          pebble.FormatNewest,
		Cache:                       cache,
		MemTableSize:                1 << 20, // a few small records
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		MaxOpenFiles:                64,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		Logger:                      pebbleLogger{d},
	}
	for i := range po.Levels {
		po.Levels[i].BlockSize = 32 << 10
		po.Levels[i].Compression = func() *sstable.CompressionProfile { return block.NoCompression }
	}
	fresh, err := isNew(opts.FS, dir)
	if err != nil {
		return nil, fmt.Errorf("raft log %s: %w", dir, err)
	}
	db, err := pebble.Open(dir, po)
	if err == nil && fresh {
		// The WAL of a database that is being made is written in the oldest format,
		// without the sync offsets that checkTails needs; the next one has them.
		if err = db.Close(); err == nil {
			db, err = pebble.Open(dir, po)
		}
	}
	if err != nil {
		return nil, explain(opts.FS, dir, err)
	}
	d.db = db
	syncParents(opts.FS, dir)
	if err := errors.Join(d.checkFormat(), d.removeDropped()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

// syncParents makes the way to dir survive a loss of power. pebble does that for
// directories it creates itself, but whoever made the parents may not have, and
// then the whole log would be gone. Parents that may not be opened were not made
// by this program.
func syncParents(fs vfs.FS, dir string) {
	for {
		parent := fs.PathDir(dir)
		d, err := fs.OpenDir(parent)
		if err != nil {
			return
		}
		err = d.Sync()
		d.Close()
		if err != nil || parent == dir || parent == "." {
			return
		}
		dir = parent
	}
}

// formatVersion of the directory; raised when an older program could not read it.
// 1 had the logs in the database too.
const formatVersion = 2

func (d *DB) checkFormat() error {
	key := []byte{spaceFormat}
	v, closer, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		buf := binary.LittleEndian.AppendUint32(make([]byte, headerLen), formatVersion)
		seal(key, buf)
		return d.write(func() error { return d.db.Set(key, buf, pebble.Sync) })
	}
	if err != nil {
		return fmt.Errorf("raft log %s: reading its format: %w", d.path, err)
	}
	defer closer.Close()
	body, err := unseal(key, v)
	if err != nil || len(body) != 4 {
		return &CorruptError{Path: d.path, Name: "format", Reason: fmt.Sprint(err)}
	}
	if got := binary.LittleEndian.Uint32(body); got != formatVersion {
		return fmt.Errorf("raft log %s: format %d, this program knows %d", d.path, got, formatVersion)
	}
	return nil
}

// Close closes the database. The stores must not be used any more.
func (d *DB) Close() error {
	d.mu.Lock()
	stores := slices.Clone(d.stores)
	d.mu.Unlock()
	var errs []error
	for _, s := range stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, d.db.Close())...)
}

// write runs a pebble write. pebble reports a failed WAL write or sync to
// Logger.Fatalf and then returns nil, so success is only success if nothing
// has failed since.
func (d *DB) write(f func() error) error {
	if err := f(); err != nil {
		d.fail(fmt.Errorf("raft log %s: write: %w", d.path, err))
	}
	return d.err()
}

// err is the first fatal error.
func (d *DB) err() error {
	if p := d.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// fail records the first fatal error and reports it.
func (d *DB) fail(err error) {
	if d.failed.CompareAndSwap(nil, &err) && d.opts.Fatal != nil {
		d.opts.Fatal(err)
	}
}

// pebbleLogger bridges pebble's logger to slog and to Options.Fatal.
type pebbleLogger struct{ d *DB }

func (l pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.d.opts.Logger.Warn("raft log database", "path", l.d.path, "error", fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.d.fail(fmt.Errorf("raft log %s: %s", l.d.path, fmt.Sprintf(format, args...)))
}
