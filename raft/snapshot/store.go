package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
)

// liveID names the state itself; received checkpoints have other names.
const liveID = "live"

// Config configures a Store.
type Config struct {
	FS vfs.FS
	// Dir is the staging directory, on the applier's file system. The Store owns
	// it and empties it when it is opened.
	Dir     string
	Applier commitlog.Applier
	// DecodeConfig reads AppliedState.Config.
	DecodeConfig func([]byte) (hraft.Configuration, error)
	// LogStart is the index of the first entry of the log, 0 when empty. A kept
	// checkpoint that ends before it is of no use any more: the entry at its end
	// is needed to continue from it.
	LogStart func() uint64
	// Keep is how long a checkpoint is kept after its last use; 0 means 30 s.
	Keep   time.Duration
	Logger *slog.Logger
}

// Store implements raft.SnapshotStore.
type Store struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	make   sync.Mutex // one checkpoint is made at a time; before mu

	mu       sync.Mutex
	seq      int
	current  *checkpoint // newest checkpoint, nil if none; guarded by mu
	making   uint64      // index that a checkpoint being made will reach at least, 0 if none; guarded by mu
	open     map[*checkpoint]struct{}
	received map[string]*Received
}

type checkpoint struct {
	dir   string
	state commitlog.AppliedState
	refs  int // readers; guarded by Store.mu
	timer *time.Timer
}

// Open empties the staging directory and returns a Store.
func Open(cfg Config) (*Store, error) {
	if cfg.Keep == 0 {
		cfg.Keep = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := cfg.FS.RemoveAll(cfg.Dir); err != nil {
		return nil, err
	}
	if err := cfg.FS.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, open: map[*checkpoint]struct{}{}, received: map[string]*Received{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Close removes what is kept.
func (s *Store) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	for c := range s.open {
		s.removeLocked(c)
	}
	return nil
}

// Floor returns the index from which on, itself included, the log must be kept
// because a checkpoint that ends there may be installed soon; ok is false if
// there is none.
func (s *Store) Floor() (index uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making != 0 {
		index, ok = s.making, true
	}
	for c := range s.open {
		if i := c.state.Position.Index; !ok || i < index {
			index, ok = i, true
		}
	}
	return index, ok
}

func (s *Store) meta(id string, st commitlog.AppliedState, size int64) (*hraft.SnapshotMeta, error) {
	conf, err := s.cfg.DecodeConfig(st.Config)
	if err != nil {
		return nil, fmt.Errorf("membership in the state: %w", err)
	}
	return &hraft.SnapshotMeta{
		Version:            hraft.SnapshotVersionMax,
		ID:                 id,
		Index:              st.Position.Index,
		Term:               st.Term,
		Configuration:      conf,
		ConfigurationIndex: st.ConfigIndex,
		Size:               size,
	}, nil
}

// List returns the state itself as the one snapshot there is, or nothing if it
// is empty. raft begins to replay the log after its index.
func (s *Store) List() ([]*hraft.SnapshotMeta, error) {
	st := s.cfg.Applier.Applied()
	if st.ConfigIndex == 0 {
		return nil, nil
	}
	m, err := s.meta(liveID, st, 0)
	if err != nil {
		return nil, err
	}
	return []*hraft.SnapshotMeta{m}, nil
}

// Open returns a stream: of a checkpoint of the state, or of a received one.
func (s *Store) Open(id string) (*hraft.SnapshotMeta, io.ReadCloser, error) {
	if id != liveID {
		s.mu.Lock()
		r := s.received[id]
		s.mu.Unlock()
		if r == nil {
			return nil, nil, fmt.Errorf("no received checkpoint %q", id)
		}
		m, err := s.meta(id, r.State, r.size)
		return m, r, err
	}
	c, err := s.acquire()
	if err != nil {
		return nil, nil, err
	}
	p, err := newPacker(s.cfg.FS, c.dir, c.state)
	if err == nil {
		var m *hraft.SnapshotMeta
		if m, err = s.meta(liveID, c.state, p.total); err == nil {
			return m, &outgoing{packer: p, store: s, c: c}, nil
		}
	}
	s.release(c)
	return nil, nil, err
}

// acquire returns a checkpoint, the kept one if it still joins the log.
func (s *Store) acquire() (*checkpoint, error) {
	s.make.Lock()
	defer s.make.Unlock()
	s.mu.Lock()
	if c := s.current; c != nil && c.state.Position.Index >= s.cfg.LogStart() {
		c.refs++
		s.mu.Unlock()
		return c, nil
	}
	s.seq++
	dir := s.cfg.FS.PathJoin(s.cfg.Dir, fmt.Sprintf("out-%d", s.seq))
	s.making = s.cfg.Applier.Applied().Position.Index
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.making = 0
		s.mu.Unlock()
	}()

	begin := time.Now()
	st, err := s.cfg.Applier.Checkpoint(s.ctx, dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a checkpoint: %w", err), s.cfg.FS.RemoveAll(dir))
	}
	s.cfg.Logger.Info("made a checkpoint for a follower", "index", st.Position.Index, "duration", time.Since(begin))
	c := &checkpoint{dir: dir, state: st, refs: 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errors.Join(s.ctx.Err(), s.cfg.FS.RemoveAll(dir))
	}
	if old := s.current; old != nil && old.refs == 0 {
		s.removeLocked(old)
	}
	s.current = c
	s.open[c] = struct{}{}
	return c, nil
}

func (s *Store) release(c *checkpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.refs--
	if c.refs > 0 {
		return
	}
	if s.current != c {
		s.removeLocked(c)
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(s.cfg.Keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.refs == 0 {
			s.removeLocked(c)
		}
	})
}

func (s *Store) removeLocked(c *checkpoint) {
	if _, ok := s.open[c]; !ok {
		return
	}
	delete(s.open, c)
	if s.current == c {
		s.current = nil
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if err := s.cfg.FS.RemoveAll(c.dir); err != nil {
		s.cfg.Logger.Warn("removing a checkpoint", "error", err)
	}
}

// outgoing is the stream of a checkpoint.
type outgoing struct {
	*packer
	store *Store
	c     *checkpoint
	once  sync.Once
}

func (o *outgoing) Close() error {
	o.once.Do(func() {
		o.packer.close()
		o.store.release(o.c)
	})
	return nil
}

// Received is a checkpoint of another node, whole and synced in Dir.
type Received struct {
	Dir   string
	State commitlog.AppliedState
	size  int64
	store *Store
	id    string
}

// Read is not how a received checkpoint is used.
func (r *Received) Read([]byte) (int, error) {
	return 0, errors.New("a received checkpoint is restored from its directory")
}

// Close forgets the checkpoint and removes what Restore has left of it.
func (r *Received) Close() error {
	r.store.mu.Lock()
	delete(r.store.received, r.id)
	r.store.mu.Unlock()
	return r.store.cfg.FS.RemoveAll(r.Dir)
}

// Unwrap finds the received checkpoint behind the readers raft wraps around it.
func Unwrap(rc io.ReadCloser) (*Received, error) {
	for {
		switch r := rc.(type) {
		case *Received:
			return r, nil
		case hraft.ReadCloserWrapper:
			rc = r.WrappedReadCloser()
		default:
			return nil, fmt.Errorf("restore from %T, not from a received checkpoint", rc)
		}
	}
}

// Create begins to receive a checkpoint.
func (s *Store) Create(_ hraft.SnapshotVersion, index, term uint64, _ hraft.Configuration, _ uint64, _ hraft.Transport) (hraft.SnapshotSink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	id := fmt.Sprintf("in-%d-%d", index, s.seq)
	pr, pw := io.Pipe()
	k := &sink{
		store: s, id: id, index: index, term: term, pw: pw,
		dir:  s.cfg.FS.PathJoin(s.cfg.Dir, id),
		done: make(chan error, 1),
	}
	go func() {
		st, err := unpack(s.cfg.FS, pr, k.dir)
		k.state = st
		pr.CloseWithError(err)
		k.done <- err
	}()
	return k, nil
}

// sink receives a stream.
type sink struct {
	store       *Store
	id, dir     string
	index, term uint64
	pw          *io.PipeWriter
	size        int64
	state       commitlog.AppliedState // valid after done
	done        chan error
	closed      bool
}

func (k *sink) ID() string { return k.id }

func (k *sink) Write(b []byte) (int, error) {
	n, err := k.pw.Write(b)
	k.size += int64(n)
	return n, err
}

// Close ends the stream and registers the checkpoint.
func (k *sink) Close() error {
	if k.closed {
		return nil
	}
	k.closed = true
	k.pw.Close()
	err := <-k.done
	if err == nil && (k.state.Position.Index != k.index || k.state.Term != k.term) {
		err = fmt.Errorf("%w: it contains index %d of term %d, announced were %d and %d", ErrStream,
			k.state.Position.Index, k.state.Term, k.index, k.term)
	}
	if err == nil {
		err = syncDir(k.store.cfg.FS, k.store.cfg.Dir)
	}
	if err != nil {
		return errors.Join(err, k.store.cfg.FS.RemoveAll(k.dir))
	}
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	k.store.received[k.id] = &Received{Dir: k.dir, State: k.state, size: k.size, store: k.store, id: k.id}
	return nil
}

// Cancel ends the stream and removes what has arrived.
func (k *sink) Cancel() error {
	if k.closed {
		return nil
	}
	k.closed = true
	k.pw.CloseWithError(errors.New("transfer was cancelled"))
	<-k.done
	return k.store.cfg.FS.RemoveAll(k.dir)
}

// Context ends when the store closes.
func (r *Received) Context() context.Context { return r.store.ctx }
