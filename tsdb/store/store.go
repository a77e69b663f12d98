package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/sqltypes/pgerror"
)

// Store is a node's time series.
type Store struct {
	opt Options
	db  *pebble.DB
	wal wal

	// order makes writers take turns: log, then memory.
	order sync.Mutex
	// work is held by whoever changes chunks: flush, compaction, drops.
	work sync.Mutex

	mu     sync.RWMutex // guards what follows
	tables map[uint64]*Table
	byID   []*Series // by series number; nil: none
	known  int
	tags   int64 // bytes of the known series' tags
	mem    *memtable
	frozen *memtable // being flushed
	seq    uint64    // of the newest record
	closed bool
	flush  chan struct{} // closed and replaced when a flush ends
	broken error         // the last flush failed so

	batches sync.Pool     // of *Batch that are done with
	visible atomic.Uint64 // sequence number that new snapshots see
	dirty   map[windowID]int
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
}

type windowID struct {
	table  uint64
	window int64
}

// ErrDamaged is wrapped by errors about files that are not what was written.
var ErrDamaged = errors.New("file is damaged")

var metaLog = []byte("Mlog") // → the first log segment that is still needed

// Open opens or makes a store. The background work runs until Close.
func Open(opt Options) (_ *Store, err error) {
	opt.fill()
	st := &Store{opt: opt, tables: map[uint64]*Table{}, dirty: map[windowID]int{}, flush: make(chan struct{}),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	fs := opt.FS
	logDir := fs.PathJoin(opt.Dir, "log")
	for _, d := range []string{fs.PathJoin(opt.Dir, "chunks"), logDir} {
		if err := fs.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{opt.Dir, fs.PathDir(opt.Dir)} {
		d, err := fs.OpenDir(dir)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return nil, err
		}
	}
	po := chunkOptions(opt)
	po.EventListener = &pebble.EventListener{BackgroundError: func(err error) { go st.stuck(err) }} // it is called with locks held
	st.db, err = pebble.Open(fs.PathJoin(opt.Dir, "chunks"), po)
	if err != nil {
		return nil, named("open", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.db.Close())
		}
	}()
	if err := st.loadDefinitions(); err != nil {
		return nil, err
	}
	st.wal.fs, st.wal.dir = fs, logDir
	if err := st.recover(); err != nil {
		return nil, err
	}
	go st.background()
	return st, nil
}

func chunkOptions(opt Options) *pebble.Options {
	o := &pebble.Options{FS: opt.FS, Cache: opt.Cache, DisableWAL: true, MemTableSize: uint64(min(max(opt.FlushBytes/4, 256<<10), 16<<20)), MemTableStopWritesThreshold: 4,
		Logger: quiet{opt}, FormatMajorVersion: pebble.FormatNewest}
	for i := range o.Levels {
		// Chunks are packed already.
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return block.NoCompression }
		o.Levels[i].BlockSize = 16 << 10
		o.Levels[i].IndexBlockSize = 32 << 10
	}
	return o
}

// quiet passes pebble's complaints on.
type quiet struct{ opt Options }

func (q quiet) Infof(string, ...any) {}
func (q quiet) Errorf(f string, a ...any) {
	q.opt.Logger.Warn("time-series chunks", "error", fmt.Sprintf(f, a...))
}
func (q quiet) Fatalf(f string, a ...any) {
	err := fmt.Errorf("time-series chunks: "+f, a...)
	if q.opt.Fatal != nil {
		q.opt.Fatal(err)
		return
	}
	panic(err)
}

// named gives an error of the database the name of what it is about.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pebble.ErrCorruption) {
		return fmt.Errorf("time-series chunks, %s: %w: %w", what, ErrDamaged, err)
	}
	return fmt.Errorf("time-series chunks, %s: %w", what, err)
}

// loadDefinitions reads tables and series.
func (st *Store) loadDefinitions() error {
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: []byte{'T'}, UpperBound: []byte{'U'}})
	if err != nil {
		return named("tables", err)
	}
	for it.First(); it.Valid(); it.Next() {
		var spec TableSpec
		if err := json.Unmarshal(it.Value(), &spec); err != nil {
			return errors.Join(fmt.Errorf("time series: definition of a table: %w: %w", ErrDamaged, err), it.Close())
		}
		st.tables[spec.ID] = newTable(spec)
	}
	if err := it.Close(); err != nil {
		return named("tables", err)
	}
	if it, err = st.db.NewIter(&pebble.IterOptions{LowerBound: []byte{'S'}, UpperBound: []byte{'T'}}); err != nil {
		return named("series", err)
	}
	for it.First(); it.Valid(); it.Next() {
		k := it.Key()
		if len(k) != 13 {
			continue
		}
		t := st.tables[binary.BigEndian.Uint64(k[1:])]
		if t == nil {
			continue
		}
		tags, _, err := parseTagKey(it.Value(), t.Tags)
		if err != nil {
			return errors.Join(err, it.Close())
		}
		s := &Series{SID: binary.BigEndian.Uint32(k[9:]), Table: t, Tags: tags, persisted: true}
		s.logged.Store(true)
		t.add(s, string(it.Value()))
		st.enter(s)
	}
	return named("series", it.Close())
}

// recover replays the log, flushes what was in it and begins a new segment.
func (st *Store) recover() error {
	needed := uint64(0)
	switch v, closer, err := st.db.Get(metaLog); {
	case err == nil:
		needed = binary.BigEndian.Uint64(v)
		if err := closer.Close(); err != nil {
			return err
		}
	case !errors.Is(err, pebble.ErrNotFound):
		return named("open", err)
	}
	list, err := listSegments(st.opt.FS, st.wal.dir)
	if err != nil {
		return err
	}
	next := max(needed, 1)
	st.mem = &memtable{wal: next}
	a := applier{st: st, mem: st.mem}
	for i, n := range list {
		next = max(next, n+1)
		if n < needed {
			continue
		}
		err := replay(st.opt.FS, st.wal.dir, n, i == len(list)-1, func(seq uint64, ops []byte) error {
			// Sequence numbers begin anew at every start; the order is the log's.
			st.seq++
			a.seq = st.seq
			return a.apply(ops)
		})
		if err != nil {
			return err
		}
	}
	// The first segments of a start: the one that is flushed here, and the new one.
	st.mem.wal = next
	if st.mem.rows > 0 {
		if err := st.writeChunks(st.mem, next, next); err != nil {
			return err
		}
		next++
	}
	st.mem = &memtable{base: st.seq, wal: next}
	st.visible.Store(st.seq)
	if err := st.wal.start(next); err != nil {
		return fmt.Errorf("time-series log: %w", err)
	}
	return st.wal.removeBelow(next)
}

// enter gives a series its place by number; mu is held or the store is being opened.
func (st *Store) enter(s *Series) {
	if int(s.SID) >= len(st.byID) {
		st.byID = append(st.byID, make([]*Series, int(s.SID)+1-len(st.byID))...)
	}
	if st.byID[s.SID] == nil {
		st.known++
		st.tags += tagBytes(s.Tags)
	}
	st.byID[s.SID] = s
}

func tagBytes(tags []Tag) (n int64) {
	for _, t := range tags {
		n += int64(len(t.Value)) + 1
	}
	return n
}

func (st *Store) seriesByID(sid uint32) *Series {
	if int(sid) < len(st.byID) {
		return st.byID[sid]
	}
	return nil
}

// Table finds a table; nil if it is not defined.
func (st *Store) Table(id uint64) *Table {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.tables[id]
}

// Tables lists all tables.
func (st *Store) Tables() []*Table {
	st.mu.RLock()
	defer st.mu.RUnlock()
	out := make([]*Table, 0, len(st.tables))
	for _, t := range st.tables {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *Table) int { return int(min(max(int64(a.ID)-int64(b.ID), -1), 1)) })
	return out
}

// Define makes a table or adds fields to it. It is durable when it returns.
func (st *Store) Define(spec TableSpec) (*Table, error) {
	if spec.Window <= 0 {
		return nil, fmt.Errorf("time series: window of table %d is not positive", spec.ID)
	}
	st.order.Lock() // no record between the old and the new definition
	defer st.order.Unlock()
	st.mu.RLock()
	t := st.tables[spec.ID]
	st.mu.RUnlock()
	if t != nil {
		if t.Tags != spec.Tags || t.Window != spec.Window {
			return nil, fmt.Errorf("time series: tags and window of table %d cannot change", spec.ID)
		}
		fields := append([]Field(nil), t.Fields()...)
		for _, f := range spec.Fields {
			if !slices.ContainsFunc(fields, func(g Field) bool { return g.ID == f.ID }) {
				fields = append(fields, f)
			}
		}
		if len(fields) == len(t.Fields()) {
			return t, nil
		}
		spec.Fields = fields
	}
	if err := st.db.Set(tableKey(spec.ID), spec.encode(), pebble.NoSync); err != nil {
		return nil, named("define", err)
	}
	if err := st.db.Flush(); err != nil {
		return nil, named("define", err)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if t != nil {
		t.mu.Lock()
		t.fields = spec.Fields
		t.mu.Unlock()
		return t, nil
	}
	t = newTable(spec)
	st.tables[spec.ID] = t
	return t, nil
}

// Series finds or makes the series of these tags. A new one becomes durable with
// the first row.
func (st *Store) Series(t *Table, tags []Tag) (*Series, error) {
	if len(tags) != t.Tags {
		return nil, fmt.Errorf("time series: %d tags for a table of %d", len(tags), t.Tags)
	}
	key := tagKey(tags)
	t.mu.RLock()
	s := t.byKey[key]
	t.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.byKey[key]; s != nil {
		return s, nil
	}
	if st.known >= st.opt.MaxSeries {
		return nil, pgerror.New(pgerror.ConfigurationLimitExceeded, "too many time series: the limit of %d is reached", st.opt.MaxSeries).
			WithHint("Use fewer tag values, or raise the limit.")
	}
	if st.tags+tagBytes(tags) > st.opt.MaxTagBytes {
		return nil, pgerror.New(pgerror.ConfigurationLimitExceeded, "too many time series: the limit of %d bytes of tags is reached", st.opt.MaxTagBytes).
			WithHint("Use shorter tag values, or fields for what does not name a series.")
	}
	s = &Series{SID: uint32(max(len(st.byID), 1)), Table: t, Tags: slices.Clone(tags)}
	t.add(s, key)
	st.enter(s)
	return s, nil
}

// SeriesByID finds a series by its number; nil if there is none.
func (st *Store) SeriesByID(sid uint32) *Series {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.seriesByID(sid)
}

// Append writes a batch: all of it or nothing. With sync it returns after the
// batch is on disk. Errors: 53200 when memory stays full, 53100 when the disk is,
// 58030 when the log has failed; the batch is then not written, except that after
// an error of the fsync itself it may be.
func (st *Store) Append(ctx context.Context, b *Batch, sync bool) error {
	if b.err != nil {
		return b.err
	}
	if b.rows == 0 {
		return nil
	}
	if err := st.room(ctx); err != nil {
		return err
	}
	seq, m, err := st.write(b)
	if err != nil {
		return logError(err)
	}
	if sync {
		if err := st.wal.sync(m); err != nil {
			st.fatal(err)
			return logError(err)
		}
	}
	for {
		v := st.visible.Load()
		if v >= seq || st.visible.CompareAndSwap(v, seq) {
			return nil
		}
	}
}

func (st *Store) write(b *Batch) (uint64, mark, error) {
	st.order.Lock()
	defer st.order.Unlock()
	seq := st.seq + 1
	m, err := st.wal.append(seq, b.defs, b.buf)
	if err != nil {
		st.fatal(err)
		return 0, m, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.seq = seq
	st.mem.add(seq, b.buf, b.rows)
	if st.mem.full() {
		st.drain()
	}
	for _, s := range b.defined {
		s.logged.Store(true)
	}
	if st.mem.bytes >= st.opt.FlushBytes || st.mem.seqFull(seq) {
		st.kick()
	}
	return seq, m, nil
}

// drain puts all rows in memory where readers look for them; mu is held for writing.
func (st *Store) drain() {
	if err := st.mem.drain(st); err != nil {
		st.fatal(err) // rows that were read from a batch's log form must be readable
	}
}

// seqFull reports that the sequence numbers of a memtable's rows do not fit much longer.
func (m *memtable) seqFull(seq uint64) bool { return seq-m.base > 1<<31 }

func (st *Store) fatal(err error) {
	if st.opt.Fatal != nil {
		st.opt.Fatal(err)
	}
}

// logError gives an error of the log its SQLSTATE.
func logError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return pgerror.New(pgerror.DiskFull, "could not write the time-series log: %v", err)
	}
	return pgerror.New(pgerror.IoError, "could not write the time-series log: %v", err)
}

// room waits until there is memory for more rows.
func (st *Store) room(ctx context.Context) error {
	for {
		st.mu.RLock()
		used, wait, broken, closed := st.used(), st.flush, st.broken, st.closed
		st.mu.RUnlock()
		switch {
		case closed:
			return pgerror.New(pgerror.AdminShutdown, "the time-series store is closed")
		case used < st.opt.MaxBytes:
			return nil
		case broken != nil:
			return pgerror.New(pgerror.OutOfMemory, "out of memory for time-series rows").WithDetail("%d bytes wait for a flush that failed: %v", used, broken)
		}
		st.kick()
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stuck notes that chunks cannot be written for now: the database tries again until
// they can, and writers must not wait for that.
func (st *Store) stuck(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.frozen == nil {
		return // nobody waits, or the flush has come through
	}
	st.broken = err
	close(st.flush)
	st.flush = make(chan struct{})
}

func (st *Store) used() int64 {
	n := st.mem.bytes
	if st.frozen != nil {
		n += st.frozen.bytes
	}
	return n
}

func (st *Store) kick() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// Close flushes nothing: the log has what memory has. It waits for the background work.
func (st *Store) Close() error {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return nil
	}
	st.closed = true
	st.mu.Unlock()
	close(st.stop)
	<-st.done
	st.order.Lock()
	defer st.order.Unlock()
	return errors.Join(st.wal.close(), named("close", st.db.Close()))
}

// FS is the file system of the store, for tests.
func (st *Store) FS() vfs.FS { return st.opt.FS }
