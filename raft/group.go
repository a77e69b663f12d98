package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
	"ostraka/raft/logstore"
	"ostraka/raft/snapshot"
	"ostraka/raft/transport"
)

// Group is one replicated log on a Host. It implements commitlog.Log.
type Group struct {
	cfg    GroupConfig
	host   *Host
	self   string
	timers Timers
	log    *slog.Logger

	store *logstore.Store
	snaps *snapshot.Store
	peers *transport.Peers
	trans *transport.Transport
	fsm   *fsm
	raft  *hraft.Raft

	lead    *leadership
	batcher *batcher

	appliedIndex atomic.Uint64 // end of the last applied batch
	committed    chan struct{} // buffered 1: something was applied; drives the nudge
	truncate     chan struct{} // buffered 1: Truncate was called
	durableAt    atomic.Uint64 // highest index given to Truncate
	led          atomic.Int64  // when the current leadership was established, unix ns
	transferred  atomic.Uint64 // newest term in which a transfer was begun: no lease in it

	removal removal

	admin sync.Mutex // one membership change at a time on this node

	stop  chan struct{}
	close sync.Once
	wg    sync.WaitGroup
}

var _ commitlog.Log = (*Group)(nil)

// OpenGroup starts this node's replica of a group. The applier is open and stays
// so until the Group is closed. A replica without state or log is inert until
// Bootstrap is called on it or another node adds it.
func (h *Host) OpenGroup(cfg GroupConfig) (*Group, error) {
	cfg = cfg.withDefaults()
	if cfg.StagingDir == "" {
		cfg.StagingDir = h.cfg.FS.PathJoin(h.cfg.Dir, fmt.Sprintf("staging-%d", cfg.ID))
	}
	g := &Group{
		cfg:       cfg,
		host:      h,
		self:      h.cfg.NodeID,
		timers:    h.cfg.Timers,
		log:       h.cfg.Logger.With("group", cfg.ID),
		peers:     transport.NewPeers(),
		committed: make(chan struct{}, 1),
		truncate:  make(chan struct{}, 1),
		stop:      make(chan struct{}),
	}
	if err := g.open(); err != nil {
		return nil, fmt.Errorf("group %d: %w", cfg.ID, err)
	}
	if err := h.register(g); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *Group) open() error {
	var err error
	if g.store, err = g.host.db.Log(g.cfg.ID, g.cfg.CacheBytes); err != nil {
		return err
	}
	state := g.cfg.Applier.Applied()
	if err := g.store.Repair(state.Position.Index, state.Term); err != nil {
		return err
	}
	if err := g.undoHalfBootstrap(state.Position.Index); err != nil {
		return err
	}
	g.appliedIndex.Store(state.Position.Index)
	if g.snaps, err = snapshot.Open(snapshot.Config{
		FS:           g.host.cfg.FS,
		Dir:          g.cfg.StagingDir,
		Applier:      g.cfg.Applier,
		DecodeConfig: decodeConfig,
		LogStart:     func() uint64 { i, _ := g.store.FirstIndex(); return i },
		Keep:         g.cfg.CheckpointKeep,
		Logger:       g.log,
	}); err != nil {
		return err
	}
	stream, err := g.host.mux.Layer(g.cfg.ID)
	if err != nil {
		return errors.Join(err, g.snaps.Close())
	}
	hl := newHclog(g.host.cfg.Logger, g.cfg.ID)
	// Transport and log call back into raft, which needs them to be made.
	ready := make(chan struct{})
	g.store.SetLazy(func() bool {
		select {
		case <-ready:
			// Alone there is nobody to send entries to meanwhile.
			return g.raft.State() == hraft.Leader && len(g.raft.GetConfiguration().Configuration().Servers) > 1
		default:
			return false
		}
	})
	g.trans = transport.New(transport.Config{
		NodeID:    g.self,
		Stream:    stream,
		Peers:     g.peers,
		Faults:    g.host.cfg.Faults,
		Timeout:   g.timers.RPC,
		VoteGrace: g.timers.Heartbeat,
		Leading:   g.leading,
		Term: func() uint64 {
			<-ready
			return g.raft.CurrentTerm()
		},
		Durable: g.store.Durable,
		Flush:   g.store.Sync,
		Logger:  hl,
	})
	g.fsm = &fsm{
		applier: g.cfg.Applier,
		log:     g.store,
		fatal:   g.host.fatal,
		applied: func(index uint64) {
			g.appliedIndex.Store(index)
			select {
			case g.committed <- struct{}{}:
			default:
			}
		},
	}
	g.lead = newLeadership(g)
	g.batcher = newBatcher(g.cfg,
		func(data []byte, patience time.Duration) hraft.ApplyFuture { return g.raft.Apply(data, patience) },
		func(term uint64) bool { l := g.lead.get(); return l.IsLeader && l.Term == term })
	g.fsm.answer = g.batcher.applied
	conf := hraft.DefaultConfig()
	conf.LocalID = hraft.ServerID(g.self)
	conf.HeartbeatTimeout = g.timers.Heartbeat
	conf.ElectionTimeout = g.timers.Election
	conf.LeaderLeaseTimeout = g.timers.Lease
	conf.CommitTimeout = g.timers.Commit
	conf.MaxAppendEntries = 256
	conf.ShutdownOnRemove = false
	conf.SnapshotThreshold = 1 << 60 // the state database is the snapshot
	conf.SnapshotInterval = 24 * time.Hour
	conf.TrailingLogs = 1 << 60 // truncation is ours too
	conf.NoSnapshotRestoreOnStart = true
	conf.NoLegacyTelemetry = true
	conf.Logger = hl
	g.raft, err = hraft.NewRaft(conf, g.fsm, g.store, g.host.db.Stable(g.cfg.ID), g.snaps, g.trans)
	if err == nil {
		close(ready)
	}
	if err != nil {
		return errors.Join(err, g.trans.Close(), g.snaps.Close())
	}
	g.spawn(g.lead.run)
	g.spawn(g.runTruncator)
	g.spawn(g.runNudge)
	g.spawn(g.campaignIfAlone)
	return nil
}

func (g *Group) spawn(f func()) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		f()
	}()
}

// Close stops the replica. Proposals in flight get an outcome first, if they get
// one soon. The applier is not used any more when it returns.
func (g *Group) Close() error {
	var err error
	g.close.Do(func() {
		g.host.unregister(g)
		g.batcher.shut(2*g.timers.Lease + g.timers.Heartbeat)
		close(g.stop)
		done := g.raft.Shutdown()
		err = g.trans.Close()
		err = errors.Join(err, done.Error())
		close(g.batcher.gone)
		g.wg.Wait()
		err = errors.Join(err, g.snaps.Close(), g.store.Close())
	})
	return err
}

// context returns a context that ends with the group or after d, and its cancel.
func (g *Group) context(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	go func() {
		select {
		case <-g.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// isRaftLeader reports whether raft leads in term, established or not.
func (g *Group) isRaftLeader(term uint64) bool {
	return g.raft.State() == hraft.Leader && g.raft.CurrentTerm() == term
}

// leading tells the transport whether calls to id in term are still wanted.
func (g *Group) leading(term uint64, id string) bool {
	if !g.isRaftLeader(term) {
		return false
	}
	_, ok := g.member(id)
	return ok
}

// servers is the newest membership in the log, committed or not.
func (g *Group) servers() []hraft.Server {
	return g.raft.GetConfiguration().Configuration().Servers
}

func (g *Group) member(id string) (hraft.Server, bool) {
	for _, s := range g.servers() {
		if string(s.ID) == id {
			return s, true
		}
	}
	return hraft.Server{}, false
}

func (g *Group) voters() []string {
	var out []string
	for _, s := range g.servers() {
		if s.Suffrage == hraft.Voter {
			out = append(out, string(s.ID))
		}
	}
	return out
}

// campaignIfAlone spares the only voter of a group the wait for an election.
func (g *Group) campaignIfAlone() {
	if v := g.voters(); len(v) != 1 || v[0] != g.self {
		return
	}
	ctx, cancel := g.context(g.timers.Heartbeat)
	defer cancel()
	g.trans.Campaign(ctx)
}

// Propose implements commitlog.Log.
func (g *Group) Propose(ctx context.Context, term uint64, payload []byte) (commitlog.Position, error) {
	if len(payload) > g.cfg.MaxPayload {
		return commitlog.Position{}, fmt.Errorf("%w: %d bytes, the maximum is %d", commitlog.ErrTooLarge, len(payload), g.cfg.MaxPayload)
	}
	if err := ctx.Err(); err != nil {
		return commitlog.Position{}, fmt.Errorf("%w: %w", commitlog.ErrNotAppended, err)
	}
	if l := g.lead.get(); !l.IsLeader || l.Term != term {
		return commitlog.Position{}, fmt.Errorf("%w: this node does not lead in term %d (now term %d, leader %q)", commitlog.ErrNotAppended, term, l.Term, l.LeaderID)
	}
	pos, err := g.batcher.propose(ctx, term, payload)
	if err == nil {
		g.plantedAgain(term, payload)
	}
	return pos, err
}

// Leadership implements commitlog.Log.
func (g *Group) Leadership() commitlog.Leadership { return g.lead.get() }

// LeadershipChanged implements commitlog.Log.
func (g *Group) LeadershipChanged() <-chan struct{} { return g.lead.next() }

// Truncate implements commitlog.Log. The group also follows Applier.Durable by
// itself.
func (g *Group) Truncate(durable commitlog.Position) {
	for {
		old := g.durableAt.Load()
		if durable.Index <= old || g.durableAt.CompareAndSwap(old, durable.Index) {
			break
		}
	}
	select {
	case g.truncate <- struct{}{}:
	default:
	}
}
