// Package shard owns one shard's engine on one node: engine.Engine towards the
// executor and commitlog.Applier (Shard.Applier) towards the log.
//
// Ordering argument: all writes reach the store through ApplyBatch, called by the
// log from one goroutine in log order, with the applied position in the same
// batch. A pebble snapshot is therefore a consistent state, and the published
// state (catalogue, position, database) is what readers pair it with. Everything
// that only the leader has (locks, counters, sequences) hangs on a term, which
// ends with the leadership. docs/LOCKS.md has the order of mutexes.
package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/colcache"
	"ostraka/engine/commitlog"
	"ostraka/engine/commitlog/memlog"
	"ostraka/engine/rowcache"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/sqltypes"
)

// Options of a shard's engine.
type Options struct {
	// Dir holds the state; FS nil is the operating system's.
	Dir string
	FS  storage.FS
	// Cache is shared by the databases of the process; nil: a small own one.
	Cache  *storage.Cache
	Logger *slog.Logger // nil: discarded
	// Superuser is the name of the role a new shard starts with; "": postgres.
	Superuser string
	// MemTableSize in bytes, 0: 64 MiB.
	MemTableSize uint64
	// FlushInterval is how often memory is flushed when there is something to
	// flush, so that the log can be truncated; 0: 30 s, negative: never.
	FlushInterval time.Duration
	// MaxLocks bounds the lock table, 0: txn.DefaultMaxLocks.
	MaxLocks int64
	// Columns bounds the memory for columns of tables that large scans leave behind,
	// of all shards of the process; nil: none are kept.
	Columns *colcache.Budget
	// Rows bounds the memory, in bytes, for what short reads have found; 0: none.
	Rows int64
	// StageThreshold is the size of a commit entry above which it goes out in
	// pieces, in bytes; 0: 1 MiB. MaxTxnBytes is where 54000 begins; 0: 1 GiB.
	StageThreshold int
	MaxTxnBytes    int64
	// SpillBytes is how much of a transaction's changes is held in memory; beyond it
	// they go to files in SpillDir. 0: 32 MiB; "": Dir/spill, or the system's
	// directory for temporary files when FS is not the operating system's.
	SpillBytes int64
	SpillDir   string
	// MaxSnapshotAge is how old a snapshot may get before reading from it answers
	// 72000 (it keeps old versions from being dropped); 0: 24 h, negative: no limit.
	MaxSnapshotAge time.Duration
	// Now is the clock for that; nil: time.Now.
	Now func() time.Time
	// Fatal is called when the replica cannot continue; nil: logged only.
	Fatal func(error)
	// Damaged is called when a file of the state turns out to be damaged; reads that
	// need it fail with XX001. It must not block. nil: logged only.
	Damaged func(path string, err error)
	// Restored is called when the state was replaced by a checkpoint: receivers (see
	// Listen) have missed what was between. It must not block. nil: nobody is told.
	Restored func()
}

// Shard implements engine.Engine; Applier is its other side.
type Shard struct {
	opts Options
	log  *slog.Logger

	// cur is what readers see: replaced by the applier after each batch.
	cur atomic.Pointer[state]
	// ddl is odd while a batch that changes the catalogue, or a restore, is being
	// applied; ddlMu is held for writing then and for reading while a snapshot is
	// paired with cur.
	ddl   atomic.Uint64
	ddlMu sync.RWMutex

	apply   applier
	waiters positionWaiters
	durable durableState
	listen  listeners
	tooOld  atomic.Int64
	fresh   freshness
	gate    sync.RWMutex          // see gatedLog
	refusal atomic.Pointer[error] // see Refuse
	known   sync.Map              // damaged files, by path
	usages  usages

	clogMu sync.Mutex
	clog   commitlog.Log // guarded by clogMu
	term   atomic.Pointer[term]
	termMu sync.Mutex
	termUp chan struct{} // guarded by termMu; closed and replaced when term changes

	stop   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	owned  commitlog.Log // closed with the shard (OpenMem)
}

var _ engine.Engine = (*Shard)(nil)

// state is one published state. Immutable.
type state struct {
	db      *storage.DB
	cols    *colcache.Cache
	rows    *rowcache.Cache
	cats    *catalog.Set
	applied commitlog.AppliedState
	// inert: cats is not replicated state but what ServeInert made up.
	inert bool
}

// ServeInert lets sessions read the catalogue that the shard would start with,
// until the first real one is applied: so that a node without a cluster can be
// asked to start one. Call it before AttachLog; it has no effect on a shard with data.
func (s *Shard) ServeInert() {
	st := s.cur.Load()
	if !st.cats.Empty() {
		return
	}
	s.cur.Store(&state{db: st.db, cols: st.cols, rows: st.rows, cats: catalog.NewSet().Apply(catalog.Bootstrap(s.opts.Superuser)), applied: st.applied, inert: true})
}

// Open opens or creates the state in opts.Dir. The engine cannot write before
// AttachLog.
func Open(opts Options) (*Shard, error) {
	if opts.FS == nil {
		opts.FS = storage.DefaultFS
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Superuser == "" {
		opts.Superuser = "postgres"
	}
	if opts.FlushInterval == 0 {
		opts.FlushInterval = 30 * time.Second
	}
	if opts.SpillBytes == 0 {
		opts.SpillBytes = 32 << 20
	}
	if opts.SpillDir == "" {
		opts.SpillDir = os.TempDir()
		if opts.FS == storage.DefaultFS {
			opts.SpillDir = filepath.Join(opts.Dir, "spill")
			if err := os.MkdirAll(opts.SpillDir, 0o700); err != nil {
				return nil, err
			}
		}
	}
	if opts.MaxSnapshotAge == 0 {
		opts.MaxSnapshotAge = 24 * time.Hour
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.StageThreshold == 0 {
		opts.StageThreshold = 1 << 20
	}
	if opts.MaxTxnBytes == 0 {
		opts.MaxTxnBytes = 1 << 30
	}
	s := &Shard{opts: opts, log: opts.Logger, termUp: make(chan struct{})}
	s.stop, s.cancel = context.WithCancel(context.Background())
	dir, err := liveDir(opts.FS, opts.Dir)
	if err != nil {
		return nil, err
	}
	st, err := s.openState(dir)
	if err != nil {
		return nil, err
	}
	s.cur.Store(st)
	if err := s.durable.init(st.db); err != nil {
		return nil, errors.Join(err, st.db.Release())
	}
	s.wg.Add(1)
	go s.flushLoop()
	return s, nil
}

// openState opens the database in dir and reads what the applier keeps in memory.
func (s *Shard) openState(dir string) (*state, error) {
	db, err := storage.Open(dir, storage.Options{FS: s.opts.FS, Cache: s.opts.Cache, Logger: s.log,
		MemTableSize: s.opts.MemTableSize, Fatal: s.fatal, Damaged: s.damaged})
	if err != nil {
		return nil, err
	}
	st := &state{db: db}
	if st.applied, err = db.Applied(false); err != nil {
		return nil, errors.Join(err, db.Release())
	}
	if st.cats, err = loadCatalogs(db); err != nil {
		return nil, errors.Join(err, db.Release())
	}
	if err := s.apply.load(db); err != nil {
		return nil, errors.Join(err, db.Release())
	}
	st.cols = colcache.New(s.opts.Columns, st.applied.Position.Index)
	st.rows = rowcache.New(s.opts.Rows)
	return st, nil
}

func loadCatalogs(db *storage.DB) (*catalog.Set, error) {
	prefix := storage.DescriptorKey(nil)
	it, err := db.NewIter(context.Background(), prefix, storage.PrefixEnd(append([]byte(nil), prefix...)))
	if err != nil {
		return nil, err
	}
	var changes []catalog.Change
	for ok := it.First(); ok; ok = it.Next() {
		ch, err := catalog.DecodeChange(it.Key()[len(prefix):], it.Value())
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		changes = append(changes, ch)
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return catalog.NewSet(), nil
	}
	return catalog.NewSet().Apply(changes), nil
}

func (s *Shard) damaged(path string, err error) {
	if _, again := s.known.LoadOrStore(path, true); !again {
		s.log.Error("a file of the state is damaged: rebuild this node from its peers (--rebuild)", "path", path, "error", err)
	}
	if s.opts.Damaged != nil {
		s.opts.Damaged(path, err)
	}
}

func (s *Shard) fatal(err error) {
	err = storage.ReadError(err)
	if s.opts.Fatal == nil {
		s.log.Error("engine cannot continue", "error", err)
		return
	}
	s.opts.Fatal(err)
}

// AttachLog gives the engine its commit log. Called once.
func (s *Shard) AttachLog(l commitlog.Log) {
	s.clogMu.Lock()
	s.clog = gatedLog{l, &s.gate}
	s.clogMu.Unlock()
	s.wg.Add(1)
	go s.leadershipLoop(l)
}

// Log is the attached commit log, nil before AttachLog.
func (s *Shard) Log() commitlog.Log {
	s.clogMu.Lock()
	defer s.clogMu.Unlock()
	return s.clog
}

// OpenMem returns a ready engine in memory that leads: for tests.
func OpenMem() (*Shard, *memlog.Log, error) {
	s, err := Open(Options{Dir: "shard", FS: storage.MemFS(), FlushInterval: -1, MemTableSize: 16 << 20, Rows: 1 << 20})
	if err != nil {
		return nil, nil, err
	}
	l := memlog.New(s.Applier())
	s.owned = l
	s.AttachLog(l)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := s.leading(ctx); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, l, nil
}

// Close ends every wait, flushes and closes the state. The log is to be closed
// (or to apply no more) before.
func (s *Shard) Close() error {
	s.cancel()
	s.endTerm()
	s.wg.Wait()
	st := s.cur.Load()
	var errs []error
	if done, err := st.db.Flush(); err == nil {
		<-done
	} else {
		errs = append(errs, err)
	}
	st.db.Retire()
	st.cols.Close()
	errs = append(errs, st.db.Release())
	if s.owned != nil {
		errs = append(errs, s.owned.Close())
	}
	return errors.Join(errs...)
}

// Catalog is the newest applied catalogue of a database.
func (s *Shard) Catalog(db sqltypes.OID) *catalog.Catalog { return s.cur.Load().cats.Database(db) }

// Shared is a catalogue of roles and databases only, for sessions that have no database yet.
func (s *Shard) Shared() *catalog.Catalog { return s.cur.Load().cats.Shared() }

// snapshot pairs the published state with a snapshot of exactly its catalogue and
// at least its position. The database is referenced for the caller.
func (s *Shard) snapshot() (*state, *storage.Snapshot) {
	s.ddlMu.RLock()
	defer s.ddlMu.RUnlock()
	st := s.cur.Load()
	st.db.Acquire() // cannot fail: cur holds a reference while ddlMu is held
	return st, st.db.NewSnapshot()
}

func (s *Shard) String() string { return fmt.Sprintf("shard %s", s.opts.Dir) }

// SnapshotsTooOld counts reads refused because their snapshot was too old or its
// state was replaced.
func (s *Shard) SnapshotsTooOld() int64 { return s.tooOld.Load() }

// usable answers 72000 for a state that was replaced or a snapshot that is too old.
func (s *Shard) usable(st *state, opened time.Time) error {
	if !st.db.Retired() && (s.opts.MaxSnapshotAge < 0 || s.opts.Now().Sub(opened) <= s.opts.MaxSnapshotAge) {
		return nil
	}
	s.tooOld.Add(1)
	return errSnapshotTooOld()
}

// lockTable is the current term's, for reports.
func (s *Shard) lockTable() *txn.Table {
	if t := s.term.Load(); t != nil {
		return t.locks
	}
	return nil
}
