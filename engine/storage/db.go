package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FormatVersion is the version of the whole database that this program reads and writes.
const FormatVersion = 1

// Options of a database.
type Options struct {
	FS     vfs.FS        // nil: the operating system's
	Cache  *pebble.Cache // shared by all databases of the process; nil: a small one of its own
	Logger *slog.Logger
	// MemTableSize in bytes; 0: 64 MiB. Bigger ones make replay longer.
	MemTableSize uint64
	// Fatal is called with an error that the database cannot recover from (a
	// failed write or sync). nil: logged only.
	Fatal func(error)
	// Damaged is called when a file turns out to be damaged, with its path; it may be
	// called often for one file and must not block.
	Damaged func(path string, err error)
}

// Aliases, so that users of this package need not import pebble.
type (
	Iter     = pebble.Iterator
	Batch    = pebble.Batch
	Snapshot = pebble.Snapshot
	Cache    = pebble.Cache
)

// FS is the file system a database lives on; MemFS is for tests.
type FS = vfs.FS

// DiskUsage is how full a file system is.
type DiskUsage = vfs.DiskUsage

var DefaultFS FS = vfs.Default

// MemFS is a file system in memory.
func MemFS() FS { return vfs.NewMem() }

// CreateFile creates a file for writing.
func CreateFile(fs FS, name string) (vfs.File, error) {
	return fs.Create(name, vfs.WriteCategoryUnspecified)
}

// NewCache makes a block cache to share.
func NewCache(bytes int64) *Cache { return pebble.NewCache(bytes) }

// DB is one database. Reference counted: Restore retires it while readers still
// have snapshots; it closes when the last one is gone.
type DB struct {
	Dir  string
	FS   vfs.FS
	p    *pebble.DB
	refs atomic.Int64
	// retired: readers are to stop (a newer state has replaced this one).
	retired atomic.Bool
	failed  atomic.Bool   // a background error was told of
	closed  chan struct{} // closed after the pebble database is

	flushMu sync.Mutex
	flushed chan struct{} // guarded by flushMu; closed at the next flush
}

// Open opens or creates the database in dir. The caller has one reference.
func Open(dir string, opts Options) (*DB, error) {
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{Dir: dir, FS: opts.FS, closed: make(chan struct{}), flushed: make(chan struct{})}
	po := pebbleOptions(opts, db)
	if opts.Cache == nil {
		po.Cache = pebble.NewCache(8 << 20)
		defer po.Cache.Unref()
	}
	p, err := pebble.Open(dir, po)
	if err != nil {
		return nil, fmt.Errorf("storage: opening %s: %w", dir, ReadError(err))
	}
	db.p = p
	db.refs.Store(1)
	if err := db.checkFormat(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return db, nil
}

func pebbleOptions(opts Options, db *DB) *pebble.Options {
	if opts.MemTableSize == 0 {
		opts.MemTableSize = 64 << 20
	}
	po := &pebble.Options{
		FS: opts.FS, Cache: opts.Cache,
		FormatMajorVersion: pebble.FormatNewest,
		DisableWAL:         true, // the commit log is the log
		MaxOpenFiles:       4096,
		MemTableSize:       opts.MemTableSize, MemTableStopWritesThreshold: 4,
		L0CompactionThreshold: 2, L0StopWritesThreshold: 20,
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
		Logger:                     pebbleLogger{opts.Logger},
	}
	po.EventListener = &pebble.EventListener{
		// Called with the database's mutex held.
		FlushEnd: func(pebble.FlushInfo) { db.noteFlush() },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			if opts.Damaged != nil {
				opts.Damaged(i.Path, i.Details)
			}
		},
		BackgroundError: func(err error) {
			// The store tries again at once, hundreds of times a second on a full disk.
			if db.failed.Swap(true) {
				return
			}
			if opts.Fatal == nil {
				opts.Logger.Error("storage background error", "dir", db.Dir, "error", err)
				return
			}
			opts.Fatal(fmt.Errorf("storage: %s: %w", db.Dir, err))
		},
	}
	for i := range po.Levels {
		l := &po.Levels[i]
		l.BlockSize, l.IndexBlockSize = 32<<10, 256<<10
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return block.NoCompression }
	}
	for _, i := range []int{5, 6} {
		po.Levels[i].Compression = func() *sstable.CompressionProfile { return block.MinLZCompression }
	}
	po.TargetFileSizes[0] = 8 << 20 // fewer files make checkpoints faster
	// Sampling what is read, for compactions, costs a scan 5 % and finds little: few
	// files overlap.
	po.Experimental.ReadSamplingMultiplier = -1
	return po
}

func (db *DB) checkFormat() error {
	val, closer, err := db.p.Get(formatKey)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		it, err := db.p.NewIter(nil)
		if err != nil {
			return err
		}
		some := it.First()
		if err := it.Close(); err != nil {
			return err
		}
		if some {
			return fmt.Errorf("storage: %s is not a database of this program: it has no format record", db.Dir)
		}
		return db.p.Set(formatKey, binary.BigEndian.AppendUint32(nil, FormatVersion), pebble.NoSync)
	case err != nil:
		return err
	}
	defer closer.Close()
	if len(val) != 4 || binary.BigEndian.Uint32(val) != FormatVersion {
		return fmt.Errorf("storage: %s has format %x, this program reads format %d", db.Dir, val, FormatVersion)
	}
	return nil
}

// Acquire takes a reference; it fails once the database is closed.
func (db *DB) Acquire() bool {
	for {
		n := db.refs.Load()
		if n == 0 {
			return false
		}
		if db.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back; the last one closes the database.
func (db *DB) Release() error {
	if n := db.refs.Add(-1); n > 0 {
		return nil
	} else if n < 0 {
		panic("storage: reference released twice")
	}
	err := db.p.Close()
	close(db.closed)
	return err
}

// Retire tells readers to stop.
func (db *DB) Retire() { db.retired.Store(true) }

// Retired reports whether a newer state has replaced this one.
func (db *DB) Retired() bool { return db.retired.Load() }

// Closed is closed once the last reference is gone and the files are closed.
func (db *DB) Closed() <-chan struct{} { return db.closed }

// Get reads one key; found is false when it is absent. The value is valid until
// the closer is closed.
func (db *DB) Get(key []byte) (val []byte, closer io.Closer, found bool, err error) {
	val, closer, err = db.p.Get(key)
	if err != nil {
		if errors.Is(err, pebble.ErrNotFound) {
			return nil, nil, false, nil
		}
		return nil, nil, false, ReadError(err)
	}
	return val, closer, true, nil
}

// GetSnapshot is Get in a snapshot.
func GetSnapshot(s *Snapshot, key []byte) (val []byte, closer io.Closer, found bool, err error) {
	val, closer, err = s.Get(key)
	if err != nil {
		if errors.Is(err, pebble.ErrNotFound) {
			return nil, nil, false, nil
		}
		return nil, nil, false, ReadError(err)
	}
	return val, closer, true, nil
}

// NewSnapshot of the current state.
func (db *DB) NewSnapshot() *Snapshot { return db.p.NewSnapshot() }

// NewIter over [lo, hi) of the current state.
func (db *DB) NewIter(ctx context.Context, lo, hi []byte) (*Iter, error) {
	return db.p.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lo, UpperBound: hi})
}

// NewSnapshotIter over [lo, hi) of a snapshot.
func NewSnapshotIter(ctx context.Context, s *Snapshot, lo, hi []byte) (*Iter, error) {
	return s.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lo, UpperBound: hi})
}

// NewBatch makes an empty batch; an indexed one can be read.
func (db *DB) NewBatch(indexed bool) *Batch {
	if indexed {
		return db.p.NewIndexedBatch()
	}
	return db.p.NewBatch()
}

// BatchGet reads through an indexed batch.
func BatchGet(b *Batch, key []byte) (val []byte, closer io.Closer, found bool, err error) {
	val, closer, err = b.Get(key)
	if err != nil {
		if errors.Is(err, pebble.ErrNotFound) {
			return nil, nil, false, nil
		}
		return nil, nil, false, ReadError(err)
	}
	return val, closer, true, nil
}

// Commit applies a batch. It is not synced: the commit log has it.
func (db *DB) Commit(b *Batch) error { return b.Commit(pebble.NoSync) }

// EstimateBytes is the approximate size of a key range on disk.
func (db *DB) EstimateBytes(lo, hi []byte) int64 {
	n, err := db.p.EstimateDiskUsage(lo, hi)
	if err != nil {
		return 0
	}
	return int64(n)
}

// Flush starts writing what is in memory to disk; done is closed afterwards.
func (db *DB) Flush() (done <-chan struct{}, err error) { return db.p.AsyncFlush() }

// DurableGet reads a key in the state that survives a crash.
func (db *DB) DurableGet(key []byte) ([]byte, bool, error) {
	it, err := db.p.NewIter(&pebble.IterOptions{OnlyReadGuaranteedDurable: true, LowerBound: key,
		UpperBound: append(append([]byte(nil), key...), 0)})
	if err != nil {
		return nil, false, err
	}
	var val []byte
	found := it.First()
	if found {
		val = append([]byte(nil), it.Value()...)
	}
	return val, found, it.Close()
}

// Flushed returns a channel that is closed at the next flush.
func (db *DB) Flushed() <-chan struct{} {
	db.flushMu.Lock()
	defer db.flushMu.Unlock()
	return db.flushed
}

func (db *DB) noteFlush() {
	db.flushMu.Lock()
	defer db.flushMu.Unlock()
	close(db.flushed)
	db.flushed = make(chan struct{})
}

// Verify reads every table file of a checkpoint and compares its checksums; the
// error names the first file that is damaged. The checkpoint is not open.
func Verify(fs FS, dir string) error {
	po := pebbleOptions(Options{FS: fs, Logger: slog.New(slog.DiscardHandler)}, &DB{Dir: dir})
	po.EnsureDefaults()
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			if err := verifyTable(fs, fs.PathJoin(dir, name), po.MakeReaderOptions()); err != nil {
				return fmt.Errorf("storage: %s is damaged: %w", name, ReadError(err))
			}
		}
	}
	return nil
}

func verifyTable(fs FS, path string, opts sstable.ReaderOptions) error {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	src, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), src, opts)
	if err != nil {
		return errors.Join(err, src.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// Checkpoint makes a copy of the durable state in dir, which must not exist. What
// is only in memory is not in it: Flush first.
func (db *DB) Checkpoint(dir string) error { return db.p.Checkpoint(dir) }

// Metrics renders pebble's own.
func (db *DB) Metrics() string { return db.p.Metrics().String() }

type pebbleLogger struct{ l *slog.Logger }

func (p pebbleLogger) Infof(format string, args ...any) {
	p.l.Debug("pebble", "message", fmt.Sprintf(format, args...))
}
func (p pebbleLogger) Errorf(format string, args ...any) {
	p.l.Error("pebble", "message", fmt.Sprintf(format, args...))
}
func (p pebbleLogger) Fatalf(format string, args ...any) {
	panic("pebble: " + fmt.Sprintf(format, args...))
}
